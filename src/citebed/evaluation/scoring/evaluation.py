"""Evaluate runs: score, summarise and compare them, for all interfaces of citebed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import DEFAULT_MEASURES, TREC_EVAL, Design, Resampling, Settings
from citebed.evaluation.scoring.run_scores import (
    RunScores,
    Summary,
    find_run,
    have_same_queries,
    score_runs,
    summarise,
)
from citebed.frames import TableResult
from citebed.runs.ranking import SortedQrels, prepare
from citebed.runs.reader import as_qrels, as_runs
from citebed.runs.tables import Run

if TYPE_CHECKING:
    from citebed.evaluation.scoring.comparison import Comparison, Comparisons

_SUMMARY = {name: pl.Float64 if name in ("value", "low", "high") else pl.String
            for name in ("run", "measure", "value", "low", "high")}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(TableResult):
    """Runs scored under the same judgements and measures.

    ``source`` is the file of the judgements; their queries may be near it. ``read_as`` has notes on
    how files in other formats than TREC's were read.
    """

    qrels: str
    measures: tuple[Measure, ...]
    runs: tuple[RunScores, ...]
    source: Path | None = None
    read_as: tuple[str, ...] = ()

    def __getitem__(self, run: str) -> RunScores:
        return find_run(run, self.runs)

    def table(self) -> pl.DataFrame:
        """Return one row per run, measure and query: ``run, measure, query_id, value``."""
        return pl.concat([scores.table() for scores in self.runs])

    @cached_property
    def per_query(self) -> pl.DataFrame:
        """One row per run, query and measure: ``run, query_id, measure, value``."""
        return self.table().select("run", "query_id", "measure", "value")

    def summaries(self, resampling: Resampling | None) -> tuple[list[Summary], ...]:
        """Return each run's summaries, one per measure; without resampling, without intervals."""
        return tuple(summarise(scores, resampling) for scores in self.runs)

    def rows(
        self, resampling: Resampling | None = None, *, per_query: bool = False
    ) -> list[dict[str, Any]]:
        """Return flat rows as ``--json`` prints them: means, and optionally scores per query."""
        rows: list[dict[str, Any]] = []
        for scores, summaries in zip(self.runs, self.summaries(resampling), strict=True):
            if per_query:
                rows += check_queries(scores.table().to_dicts())
            rows += [summary.row(scores.run) for summary in summaries]
        return rows

    def summary(
        self,
        cluster: Mapping[str, str] | str | Path | None = None,
        *,
        samples: int | None = None,
        seed: int = 0,
        level: float = 0.95,
    ) -> pl.DataFrame:
        """Return one row per run and measure: ``run, measure, value, low, high``.

        The value is the mean over queries (the sum for counts, the geometric mean for GMAP), with a
        bootstrap interval from ``low`` to ``high``. With a ``cluster``, whole clusters are
        resampled. It is a mapping from queries to clusters, a file of lines ``query_id cluster``,
        or the name of a field of the queries in the judgements' collection, such as ``paper``.
        """
        chosen = Resampling(cluster=cluster, samples=samples, seed=seed, level=level)
        resampling = chosen.with_clusters(self.source)
        rows = [
            (scores.run, str(of.measure), of.value, of.low, of.high)
            for scores, summaries in zip(self.runs, self.summaries(resampling), strict=True)
            for of in summaries
        ]
        return pl.DataFrame(rows, _SUMMARY, orient="row").fill_nan(None)

    def compare(
        self,
        baseline: str | None = None,
        cluster: Mapping[str, str] | str | Path | None = None,
        *,
        test: str = "t",
        correction: str = "none",
        alpha: float = 0.05,
        seed: int = 0,
    ) -> Comparisons[Comparison]:
        """Compare the runs with a baseline, or all pairs; ``.table`` has the figures.

        ``test``, ``correction`` and ``alpha`` are fields of `Design`, ``cluster`` as in `summary`.
        """
        from citebed.evaluation.scoring.comparison import compare

        design = Design(baseline=baseline, test=test, correction=correction, alpha=alpha)
        resampling = Resampling(cluster=cluster, seed=seed)
        return compare(self, design, resampling.with_clusters(self.source))

    def notes(self, *, compared: bool = False) -> list[str]:
        """Return notes on the coverage of the scores; empty if there is nothing to note.

        With ``compared``, runs are averaged over the queries that they share.
        """
        ledgers = [scores.ledger for scores in self.runs]
        notes = [*self.read_as]
        notes += [f"{ledger.run}: {note}" for ledger in ledgers for note in ledger.notes()]
        if not compared and not have_same_queries(self.runs):
            notes.append(
                "the runs cover different queries; use --complete to average over all judged "
                "queries"
            )
        return notes

    def main_table(self) -> pl.DataFrame:
        """Return a table with a row per run and a column per measure, with intervals."""
        rows = [
            {"run": scores.run, "queries": scores.ledger.measured}
            | {str(of.measure): str(of) for of in summaries}
            for scores, summaries in zip(self.runs, self.summaries(Resampling()), strict=True)
        ]
        return pl.DataFrame(rows)


def check_queries(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Raise an error if a query has the name "all", which marks the mean in rows."""
    if any(row["query_id"] == "all" for row in rows):
        raise CitebedError(
            "a query is called 'all', but rows use this name for the mean. Rename the query, or "
            "leave out --per-query."
        )
    return rows


def evaluate(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    settings: Settings = TREC_EVAL,
) -> Evaluation:
    """Score one run or several.

    ``qrels`` and ``runs`` are files, tables, dicts of dicts, or what ir_measures, ir_datasets
    and PyTerrier give (`citebed.runs.reader`). Several runs come as a list, or as a dict from
    their names.

    >>> scores = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR"])
    >>> scores.summary().rows()
    [('run', 'RR', 0.5, None, None)]
    """
    table = as_qrels(qrels)
    (evaluation,) = evaluate_under([prepare(table)], runs, measures, settings)
    return replace(evaluation, read_as=(*table.notes, *evaluation.read_as))


def evaluate_under(
    sets: Sequence[SortedQrels],
    runs: Any,
    measures: str | Measure | Iterable[str | Measure],
    settings: Settings,
) -> list[Evaluation]:
    """Score the same runs under several judgement sets."""
    chosen = tuple(parse_measures(measures))
    kba: list[str] = []
    scored = score_runs(sets, _noting_kba(as_runs(runs), kba), chosen, settings)
    some = ", ".join(kba[:5]) + (" …" if len(kba) > 5 else "")
    note = f"read as KBA filter runs, with the confidence as score: {some}"
    read_as = (note,) if kba else ()
    return [
        Evaluation(qrels.name, chosen, scores, qrels.source, read_as)
        for qrels, scores in zip(sets, scored, strict=True)
    ]


def _noting_kba(runs: Iterable[Run], names: list[str]) -> Iterator[Run]:
    """Yield the runs, and append the names and teams of KBA runs to ``names``."""
    for run in runs:
        if run.team is not None:
            names.append(f"{run.name} ({run.team})" if run.team else run.name)
        yield run
