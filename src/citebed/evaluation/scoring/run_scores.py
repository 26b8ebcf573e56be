"""A run scored: every measure for every judged query, and what the scores rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.grammar import measure as parse_measure
from citebed.evaluation.measures.rankings import Rankings, match
from citebed.evaluation.scoring.ledger import Ledger, ledger_of
from citebed.runs.ranking import PreparedQrels, Ranked, ScoreType, check_twice, rank
from citebed.runs.tables import Flags, Floats, Run

_MANY_ROWS = 1_000_000


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
    """A run's scores: one row of ``values`` a measure, one column a query of ``query_ids``.

    ``tag`` is what the run calls itself in its file.
    """

    run: str
    measures: tuple[Measure, ...]
    query_ids: pl.Series
    values: Floats
    ledger: Ledger
    tag: str | None = None

    def of(self, measure: Measure | str) -> Floats:
        """The scores under one measure, query by query."""
        wanted = parse_measure(measure)
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
        names, queries = [str(measure) for measure in self.measures], len(self.query_ids)
        return pl.DataFrame(
            {
                "run": pl.repeat(self.run, queries * len(names), dtype=pl.String, eager=True),
                "measure": pl.Series(np.repeat(names, queries), dtype=pl.String),
                "query_id": pl.concat([self.query_ids] * len(names)),
                "value": self.values.ravel(),
            }
        )


def run_called(name: str, runs: Sequence[RunScores]) -> RunScores:
    """The run of that name."""
    for scores in runs:
        if scores.run == name:
            return scores
    raise CitebedError(f"there is no run '{name}': {', '.join(s.run for s in runs)}.")


def score_runs(
    sets: Sequence[PreparedQrels], runs: Iterable[Run], measures: Sequence[Measure], how: Settings
) -> list[tuple[RunScores, ...]]:
    """Score runs under each of some judgement sets, one run after the other, holding one."""
    scored = [[score_run(judged, run, measures, how) for judged in sets] for run in runs]
    return [tuple(of_set) for of_set in zip(*scored, strict=True)] or [()] * len(sets)


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
    return RunScores(run.name, tuple(measures), kept, values[:, counted], ledger, run.tag)


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
