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
from citebed.evaluation.judgements.sets import PAIR
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.options import TREC_EVAL, Resampling, Settings
from citebed.evaluation.scoring.run_scores import score_run
from citebed.evaluation.statistics.corrections import adjust
from citebed.evaluation.statistics.correlations import kendall_tau
from citebed.evaluation.statistics.intervals import mean_interval
from citebed.evaluation.statistics.resampling import flip_signs, resampled_sums
from citebed.evaluation.statistics.units import Floats, Integers, cluster_codes, make_units
from citebed.frames import FlatRow, TableResult, rows_to_frame
from citebed.runs.ranking import in_rank_order, prepare
from citebed.runs.reader import as_qrels, as_runs
from citebed.runs.tables import Qrels, Run

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
        figures = [*self.agreement, self.strictness, *([self.systems] if self.systems else [])]
        return rows_to_frame(figures)

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
    resampling = resampling or Resampling()
    tables = [
        as_qrels(one).table.select(*PAIR, pl.col("relevance").alias(name)).filter(pl.col(name) >= 0)
        for one, name in ((human, "human"), (machine, "machine"))
    ]
    both = tables[0].join(tables[1], on=PAIR).sort(PAIR)
    queries = both["query_id"].unique().sort().to_list()
    if len(queries) < 2:
        raise CitebedError(
            f"people and the machine judged {both.height:,} same documents of {len(queries)} "
            "queries; expected two queries or more."
        )
    labels = dict(zip(queries, resampling.labels(queries) or queries, strict=True))
    units = cluster_codes([labels[query] for query in both["query_id"]], both.height)
    long = pl.concat(
        both.select(item=pl.int_range(pl.len()), judge=pl.lit(name), value=pl.col(name))
        for name in ("human", "machine")
    )
    accepted = [(both[name] >= 1).cast(pl.Float64).to_numpy() for name in ("human", "machine")]
    laxer = accepted[1] - accepted[0]
    limits = mean_interval(laxer, clusters=units, level=resampling.level, bounds=(-1.0, 1.0))
    strictness = Agreement("strictness", float(laxer.mean()), limits.low, limits.high,
                           both.height, 2)  # fmt: skip
    systems = list(as_runs(runs)) if runs is not None else []
    return JudgeQuality(
        (raw_agreement(long), cohens_kappa(long), krippendorffs_alpha(long, "ordinal")),
        both.group_by("human", "machine").agg(judgements=pl.len()).sort("human", "machine"),
        strictness,
        tuple(_biases(both, accepted[1], units, systems, properties, resampling)),
        _systems(both, systems, measure, labels, resampling) if len(systems) > 1 else None,
    )


# --- biases -----------------------------------------------------------------------------------


def _biases(
    both: pl.DataFrame,
    accepted: Floats,
    units: Integers,
    systems: list[Run],
    properties: pl.DataFrame | None,
    resampling: Resampling,
) -> list[Bias]:
    """Test all properties, and correct their p-values together."""
    grades = np.unique(both["human"].to_numpy(), return_inverse=True)[1]
    indicators = np.eye(grades.max() + 1)[grades]
    tests: list[tuple[str, Floats, Floats]] = []
    if properties is not None:
        keys = [name for name in PAIR if name in properties.columns]
        joined = both.join(properties, on=keys, how="left", maintain_order="left")
        for name in properties.columns:
            if name not in PAIR:
                values = joined[name].cast(pl.Float64).to_numpy()
                tests.append((name, values, indicators))
    weights = {run.name: _rank_weights(both, run) for run in systems}
    for name, own in weights.items():
        every = np.mean(list(weights.values()), axis=0)[:, None]
        controls = [indicators, *([every] if len(weights) > 1 else [])]
        tests.append((f"system {name}", own, np.hstack(controls)))
    found = [_bias(name, accepted, x, controls, units, resampling) for name, x, controls in tests]
    p_values = adjust([bias.p for bias in found], "holm").tolist() if found else []
    return [replace(bias, p=p) for bias, p in zip(found, p_values, strict=True)]


def _rank_weights(both: pl.DataFrame, run: Run) -> Floats:
    """Return 1/log2(rank + 1) of each document in a run, 0 below the depth."""
    top = in_rank_order(run).filter(pl.col("rank") <= DEPTH).select(*PAIR, "rank")
    ranks = both.join(top, on=PAIR, how="left", maintain_order="left")["rank"]
    return (1.0 / (ranks + 1).log(2)).fill_null(0.0).to_numpy()


def _bias(
    name: str, accepted: Floats, values: Floats, controls: Floats, units: Integers,
    resampling: Resampling,
) -> Bias:  # fmt: skip
    """Regress acceptance on a property; rows where it is unknown are left out."""
    known = np.isfinite(values)
    y, x, controls, units = accepted[known], values[known], controls[known], units[known]
    nothing = Bias(name, np.nan, np.nan, np.nan, 1.0)
    if len(y) <= controls.shape[1] + 1 or not np.ptp(x):
        return nothing

    def rest(column: Floats) -> Floats:
        return np.asarray(column - controls @ np.linalg.lstsq(controls, column, rcond=None)[0])

    residual, own = rest(y), rest((x - x.mean()) / x.std())
    square = float(own @ own)
    if square <= 1e-9 * len(own):  # the grade or the mean of systems determines the property
        return nothing
    slope = float(own @ residual) / square
    sums = np.bincount(units, own * residual).astype(np.float64)
    errors = np.bincount(units, own * (residual - slope * own))
    groups = len(np.unique(units))
    from scipy.special import stdtrit

    error = float(np.sqrt(groups / max(groups - 1, 1) * np.sum(errors**2))) / square
    reach = float(stdtrit(max(groups - 1, 1), (1 + resampling.level) / 2)) * error
    p, _ = flip_signs(sums, resampling.samples or 10_000, resampling.seed)
    return Bias(name, slope, slope - reach, slope + reach, p)


# --- ranks of systems -------------------------------------------------------------------------


def _systems(
    both: pl.DataFrame,
    systems: list[Run],
    measure: str | Measure,
    labels: Mapping[str, str],
    resampling: Resampling,
    settings: Settings = TREC_EVAL,
) -> Agreement:
    """Correlate the systems' mean scores under both judges (Kendall's τ), resampling clusters."""
    from citebed.evaluation.measures.names import measure as parse_measure

    scores = []
    for name in ("human", "machine"):
        qrels = prepare(Qrels(both.select(*PAIR, relevance=pl.col(name)), name))
        for run in systems:
            scored = score_run(qrels, run, [parse_measure(measure)], settings)
            scores.append(dict(zip(scored.query_ids.to_list(), scored.values[0], strict=True)))
    shared = sorted(set.intersection(*(set(each) for each in scores)))
    matrix = np.array([[each[query] for each in scores] for query in shared])
    units = make_units(matrix, [labels[query] for query in shared])
    half = len(systems)
    drawn = resampled_sums(units.sums, resampling.samples or 2_000, resampling.seed)
    taus = np.array([kendall_tau(row[:half], row[half:]) for row in drawn])
    means = units.means
    known, tail = taus[~np.isnan(taus)], (1 - resampling.level) / 2
    low, high = np.quantile(known, [tail, 1 - tail]) if len(known) else (np.nan, np.nan)
    tau = kendall_tau(means[:half], means[half:])
    return Agreement(f"tau of {half} systems", tau, float(low), float(high), len(shared), 2)
