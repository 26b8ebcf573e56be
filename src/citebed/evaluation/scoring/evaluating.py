"""Scoring runs: every measure for every judged query, and what the scores rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.grammar import measures as parse_measures
from citebed.evaluation.measures.rankings import Rankings, match
from citebed.evaluation.scoring.ledger import Ledger, ledger_of
from citebed.runs.ranking import PreparedQrels, Ranked, ScoreType, check_twice, prepare, rank
from citebed.runs.reading import as_qrels, as_runs
from citebed.runs.tables import Flags, Floats, Run

_MANY_ROWS = 1_000_000
DEFAULT_MEASURES = ("nDCG@10", "R@10", "AP", "RR")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How runs are scored.

    ``complete`` averages over all judged queries, a query that the run lacks counting 0
    (trec_eval's ``-c``); otherwise over those that are judged and in the run, as trec_eval does
    by default. ``score_type`` is ``double`` (trec_eval 10) or ``float`` (trec_eval 9).
    """

    complete: bool = False
    score_type: ScoreType = "double"


TREC_EVAL = Settings()


@dataclass(frozen=True, eq=False)
class RunScores:
    """A run's scores: one row of ``values`` a measure, one column a query of ``query_ids``."""

    run: str
    measures: tuple[Measure, ...]
    query_ids: pl.Series
    values: Floats
    ledger: Ledger

    def of(self, measure: Measure | str) -> Floats:
        """The scores under one measure, query by query."""
        wanted = parse_measures([measure])[0]
        if wanted not in self.measures:
            raise CitebedError(f"{self.run} was not scored under {wanted}.")
        return np.asarray(self.values[self.measures.index(wanted)])

    @property
    def summaries(self) -> dict[Measure, float]:
        """The mean (or what the measure has in its place) of each measure."""
        return {
            measure: measure.summary(row)
            for measure, row in zip(self.measures, self.values, strict=True)
        }

    def table(self) -> pl.DataFrame:
        """A row a query and measure: ``run, measure, query_id, value``."""
        queries = len(self.query_ids)
        return pl.DataFrame(
            {
                "run": pl.Series([self.run]).new_from_index(0, queries * len(self.measures)),
                "measure": np.repeat([str(m) for m in self.measures], queries),
                "query_id": pl.concat([self.query_ids] * len(self.measures)),
                "value": self.values.ravel(),
            },
            schema={
                "run": pl.String,
                "measure": pl.String,
                "query_id": pl.String,
                "value": pl.Float64,
            },
        )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Runs scored under the same judgements and measures."""

    qrels: str
    measures: tuple[Measure, ...]
    runs: tuple[RunScores, ...]

    def table(self) -> pl.DataFrame:
        """A row a run, measure and query: ``run, measure, query_id, value``."""
        return pl.concat([scores.table() for scores in self.runs])

    def summary(self) -> pl.DataFrame:
        """A row a run and measure: ``run, measure, value``."""
        rows = [
            {"run": scores.run, "measure": str(measure), "value": value}
            for scores in self.runs
            for measure, value in scores.summaries.items()
        ]
        return pl.DataFrame(rows, schema={"run": pl.String, "measure": pl.String, "value": float})

    def __getitem__(self, run: str) -> RunScores:
        for scores in self.runs:
            if scores.run == run:
                return scores
        raise CitebedError(f"there is no run '{run}': {', '.join(s.run for s in self.runs)}.")


def evaluate(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    settings: Settings = TREC_EVAL,
) -> Evaluation:
    """Score one run or several.

    ``qrels`` and ``runs`` are files, tables, dicts of dicts, or what ir_measures, ir_datasets
    and PyTerrier give (`citebed.runs.converting`). Several runs come as a list, or as a dict
    from their names.

    >>> scores = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR"])
    >>> scores.summary().rows()
    [('run', 'RR', 0.5)]
    """
    chosen = tuple(parse_measures(measures))
    judged = prepare(as_qrels(qrels))
    scored = tuple(score_each(judged, as_runs(runs), chosen, settings))
    return Evaluation(judged.name, chosen, scored)


def score_each(
    judged: PreparedQrels, runs: Iterable[Run], measures: Sequence[Measure], settings: Settings
) -> Iterator[RunScores]:
    """Score runs one after the other, holding one at a time."""
    for run in runs:
        yield score_run(judged, run, measures, settings)


def score_run(
    judged: PreparedQrels, run: Run, measures: Sequence[Measure], settings: Settings = TREC_EVAL
) -> RunScores:
    """Score one run under judgements that are ready."""
    ranked = rank(run, settings.score_type)
    rankings = _matched(judged, ranked)
    if not rankings.in_run.any():
        raise CitebedError(_nothing_shared(judged, run.name, ranked.query_ids))
    counted: Flags = np.ones_like(rankings.in_run) if settings.complete else rankings.in_run
    values = np.stack([measure.values(rankings) for measure in measures])
    ledger = ledger_of(ranked, rankings, measures, values, counted)
    kept = judged.query_ids.filter(pl.Series(counted))
    return RunScores(run.name, tuple(measures), kept, values[:, counted], ledger)


def _matched(judged: PreparedQrels, ranked: Ranked) -> Rankings:
    """Match, and look for documents that stand twice: beside it where there are many."""
    if len(ranked.scores) < _MANY_ROWS:
        check_twice(ranked)
        return match(judged, ranked)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as beside:
        checked = beside.submit(check_twice, ranked)
        rankings = match(judged, ranked)
        checked.result()
    return rankings


def _nothing_shared(judged: PreparedQrels, run: str, query_ids: pl.Series) -> str:
    if not len(query_ids) or not len(judged.query_ids):
        return f"the {'judgements' if len(query_ids) else f'run {run!r}'} are empty."
    ours, theirs = (
        ", ".join(f"'{x}'" for x in ids.head(3)) for ids in (judged.query_ids, query_ids)
    )
    return (
        f"the run '{run}' and the judgements '{judged.name}' have no query in common: "
        f"{ours} … are judged, {theirs} … are in the run. Do they belong together?"
    )
