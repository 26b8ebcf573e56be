"""Whether a machine can replace people as a judge: agreement, strictness, biases, system ranks.

All figures are about the documents that both judged, as a sample of those that the machine judges.
A **bias** is an error that depends on something that should not matter: with the same human grade,
does the machine accept more documents with a high position, a long text, a recent year, many
citations, or from one system? Its size is the coefficient of a linear regression of the machine's
acceptance on that property, with indicators of the human grade, and for a system with the mean rank
weight in all systems: documents that all systems rank high may be hard for any honest judge.
The p-value flips the signs of the sums over queries (or papers) of the scores of the model without
the bias: Kline & Santos (2012), A score based approach to wild bootstrap inference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.judgements.agreement import (
    Agreement,
    cohens_kappa,
    krippendorffs_alpha,
    raw_agreement,
)
from citebed.evaluation.judgements.sets import PAIR, load_grades
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import TREC_EVAL, Resampling
from citebed.evaluation.scoring.comparison import shared_queries
from citebed.evaluation.scoring.evaluation import evaluate_under
from citebed.evaluation.statistics.corrections import adjust
from citebed.evaluation.statistics.correlations import kendall_tau
from citebed.evaluation.statistics.intervals import mean_interval
from citebed.evaluation.statistics.resampling import flip_signs, resampled_sums
from citebed.evaluation.statistics.units import Floats, Integers, cluster_codes, make_units
from citebed.frames import FlatRow, TableResult, rows_to_frame
from citebed.runs.ranking import in_rank_order, prepare
from citebed.runs.reader import as_runs
from citebed.runs.tables import Qrels, Run
from citebed.wording import count

JUDGES = ("human", "machine")
DEPTH = 20
"""Ranks of a system that count for its bias."""


@dataclass(frozen=True)
class Bias(FlatRow):
    """How a machine's acceptance depends on a property, given the human grade.

    ``value`` is the rise of the probability of acceptance per standard deviation of the property,
    with its interval. ``p`` is corrected (Holm) over all properties.
    """

    name: str
    value: float
    low: float
    high: float
    p: float

    @property
    def is_flagged(self) -> bool:
        """Whether the machine favours the property; for systems, that is one it was tuned to."""
        return self.p < 0.05 and self.value > 0


@dataclass(frozen=True, eq=False, repr=False)
class JudgeQuality(TableResult):
    """How well a machine judges, on the documents that people judged too.

    ``grades`` counts pairs: ``human, machine, judgements``. ``strictness`` is the share that the
    machine accepts less the share that people accept; above 0 it is laxer. ``systems`` is the rank
    correlation of the runs' scores under both judges.
    """

    agreement: tuple[Agreement, ...]
    grades: pl.DataFrame
    strictness: Agreement
    biases: tuple[Bias, ...]
    systems: Agreement | None

    @cached_property
    def table(self) -> pl.DataFrame:
        """The figures: ``measure, value, low, high, items, judges, note``."""
        return rows_to_frame(filter(None, (*self.agreement, self.strictness, self.systems)))

    def main_table(self) -> pl.DataFrame:
        return self.table.drop("note").with_columns(pl.col(pl.Float64).round(4))


def assess_judge(
    human: Any,
    machine: Any,
    runs: Any = None,
    properties: pl.DataFrame | None = None,
    measure: str | Measure = "nDCG@10",
    resampling: Resampling | None = None,
) -> JudgeQuality:
    """Compare a machine's judgements with people's.

    ``properties`` has ``doc_id``, or ``query_id`` and ``doc_id``, and columns of numbers, such as
    ``position``, ``length``, ``year`` and ``fame``. For every run in ``runs``, a bias for its
    documents is tested, too. ``resampling`` names the clusters; by default these are the queries.
    """
    resampling, measures = resampling or Resampling(), parse_measures(measure)
    both = load_grades(human, "human").join(load_grades(machine, "machine"), on=PAIR).sort(PAIR)
    queries = both["query_id"].unique().sort().to_list()
    if len(queries) < 2:
        common = f"{count(both.height, 'document')} of {count(len(queries), 'query')}"
        raise CitebedError(
            f"people and the machine both judged {common}; expected two queries or more."
        )
    labels = dict(zip(queries, resampling.labels(queries) or queries, strict=True))
    units = cluster_codes([labels[query] for query in both["query_id"]], both.height)
    long = both.with_row_index("item").unpivot(
        JUDGES, index="item", variable_name="judge", value_name="value"
    )
    accepted = both.select((pl.col(JUDGES) >= 1).cast(pl.Float64))
    laxer = (accepted["machine"] - accepted["human"]).to_numpy()
    limits = mean_interval(laxer, clusters=units, level=resampling.level, bounds=(-1.0, 1.0))
    low, high = np.clip(limits[:2], -1.0, 1.0).tolist()  # those of few queries go beyond
    systems = list(as_runs(runs)) if runs is not None else []
    return JudgeQuality(
        (raw_agreement(long), cohens_kappa(long), krippendorffs_alpha(long, "ordinal")),
        both.group_by(JUDGES).agg(judgements=pl.len()).sort(JUDGES),
        Agreement("strictness", float(laxer.mean()), low, high, both.height, len(JUDGES)),
        tuple(find_biases(both, units, systems, properties, resampling)),
        _correlate(both, systems, measures, labels, resampling) if len(systems) > 1 else None,
    )


def find_biases(
    both: pl.DataFrame, units: Integers, systems: list[Run], properties: pl.DataFrame | None,
    resampling: Resampling,
) -> list[Bias]:  # fmt: skip
    """Test all properties, and correct their p-values together."""
    accepted = (both["machine"] >= 1).cast(pl.Float64).to_numpy()
    grades = both["human"].to_dummies().to_numpy().astype(np.float64)
    table, tests = both.select(PAIR), list[tuple[str, Floats, Floats]]()
    if properties is not None:
        keys = [name for name in PAIR if name in properties.columns]
        joined = table.join(properties, on=keys, how="left", maintain_order="left").drop(PAIR)
        tests += [(of.name, of.cast(pl.Float64).to_numpy(), grades) for of in joined]
    weights = []  # 1/log2(rank + 1) in each system
    for run in systems:
        top = in_rank_order(run).filter(pl.col("rank") <= DEPTH).select(*PAIR, "rank")
        ranks = table.join(top, on=PAIR, how="left", maintain_order="left")["rank"]
        weights.append((1.0 / (ranks + 1).log(2)).fill_null(0.0).to_numpy())
    controls = np.column_stack([grades, *([np.mean(weights, axis=0)] if len(weights) > 1 else [])])
    tests += [
        (f"system {run.name}", own, controls) for run, own in zip(systems, weights, strict=True)
    ]
    found = [_test_bias(*test, accepted, units, resampling) for test in tests]
    p_values = adjust([bias.p for bias in found], "holm").tolist()
    return [replace(bias, p=p) for bias, p in zip(found, p_values, strict=True)]


def _test_bias(
    name: str, values: Floats, controls: Floats, accepted: Floats, units: Integers,
    resampling: Resampling,
) -> Bias:  # fmt: skip
    """Regress acceptance on a property; rows where it is unknown are left out."""
    known = np.isfinite(values)
    y, x, controls, units = accepted[known], values[known], controls[known], units[known]
    nothing = Bias(name, np.nan, np.nan, np.nan, 1.0)
    if len(y) <= controls.shape[1] + 1 or not np.ptp(x):
        return nothing
    columns = np.stack([y, (x - x.mean()) / x.std()], axis=1)
    rest, own = (columns - controls @ np.linalg.lstsq(controls, columns, rcond=None)[0]).T
    square = float(own @ own)
    if square <= 1e-9 * len(own):  # the grade or the mean of systems determines the property
        return nothing
    slope = float(own @ rest) / square
    # The mean of these values is the slope, and their spread that of each row's influence on it.
    influence = slope + len(own) / square * own * (rest - slope * own)
    limits = mean_interval(influence, clusters=units, level=resampling.level, method="t")
    sums = make_units((own * rest)[:, None], units).sums[:, 0]
    p, _ = flip_signs(sums, resampling.samples or 10_000, resampling.seed)
    return Bias(name, slope, limits.low, limits.high, p)


def _correlate(
    both: pl.DataFrame, systems: list[Run], measures: list[Measure], labels: Mapping[str, str],
    resampling: Resampling,
) -> Agreement:  # fmt: skip
    """Correlate the systems' mean scores under both judges (Kendall's τ), resampling clusters."""
    sets = [prepare(Qrels(both.select(*PAIR, relevance=name), name)) for name in JUDGES]
    scored = evaluate_under(sets, systems, measures, TREC_EVAL)
    queries, scores = shared_queries(*(run for of in scored for run in of.runs))
    matrix = np.stack([values[0] for values in scores], axis=1)
    units = make_units(matrix, [labels[query] for query in queries])
    samples = resampled_sums(units.sums, resampling.samples or 2_000, resampling.seed)
    taus = pl.Series([kendall_tau(*np.split(row, 2)) for row in samples]).fill_nan(None)
    tail, tau = (1 - resampling.level) / 2, kendall_tau(*np.split(units.means, 2))
    low, high = (taus.quantile(at, "linear") for at in (tail, 1 - tail))
    name = f"tau of {len(systems)} systems"
    return Agreement(name, tau, low, high, len(queries), len(JUDGES))
