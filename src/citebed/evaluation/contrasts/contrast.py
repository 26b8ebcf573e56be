"""Compare the same runs under two judgement sets.

Made for the study of Ritchie, Robertson & Teufel (2007), Creating a test collection: relevance
judgements of cited & non-cited papers. Authors first judge the papers that they cite (J1), then
papers from other sources (J1+2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.changes import (
    Agreement,
    Change,
    ContrastSummary,
    QueryChange,
    SignificanceChange,
    agreements,
    is_by_query,
    query_changes,
    score_changes,
    significance_changes,
    summarise_contrast,
)
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import CONTRASTED, ContrastOptions, Resampling
from citebed.evaluation.scoring.evaluation import Evaluation, evaluate_under
from citebed.frames import MultiTableResult
from citebed.runs.ranking import prepare
from citebed.runs.reader import as_qrels, check_names, read_sets
from citebed.runs.tables import Qrels
from citebed.wording import count


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(MultiTableResult):
    """The results of runs under two judgement sets."""

    PARTS = ("judgements", "summary", "changes", "correlations", "conclusions", "movers", "queries")
    MAIN = "changes"

    sets: Sets
    before: Evaluation
    after: Evaluation
    changes: tuple[Change, ...]
    agreements: tuple[Agreement, ...]
    conclusions: tuple[SignificanceChange, ...]
    movers: tuple[QueryChange, ...]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order given."""
        return self.before.measures

    @property
    def by_query(self) -> tuple[Measure, ...]:
        """The measures that have their own scores per query."""
        return tuple(measure for measure in self.measures if is_by_query(measure))

    @cached_property
    def summary(self) -> tuple[ContrastSummary, ...]:
        """The changes of each measure over all runs."""
        return tuple(
            summarise_contrast(self.changes, self.agreements, self.conclusions, self.movers)
        )

    def change(self, run: str, measure: Measure | str) -> Change:
        """Return the change of one run under one measure."""
        for row in self.changes:
            if (row.run, row.measure) == (run, str(measure)):
                return row
        raise CitebedError(f"{measure} of '{run}' was not contrasted.")

    def rows(self, part: str) -> list[dict[str, Any]]:
        """Return one of the ``PARTS`` as flat rows."""
        if part == "queries":
            return self.query_rows()
        parts: Mapping[str, Sequence[Any]] = {
            "judgements": self.sets.facts, "summary": self.summary, "changes": self.changes,
            "movers": self.movers, "correlations": self.agreements, "conclusions": self.conclusions,
        }  # fmt: skip
        return [row.row() for row in parts[part]]

    def query_rows(self) -> list[dict[str, Any]]:
        """Return the scores under both sets, one flat row per run, measure and query."""
        return [
            {"run": x.run, "measure": str(measure), "query_id": query, "before": a, "after": b}
            for x, y in zip(self.before.runs, self.after.runs, strict=True)
            for measure in self.by_query
            for query, a, b in zip(
                x.query_ids.to_list(), x.of(measure).tolist(), y.of(measure).tolist(), strict=True
            )
        ]

    def notes(self) -> list[str]:
        """Return notes on queries and measures that are treated specially."""
        notes = self.sets.notes()
        notes += [
            f"{measure} has no scores of its own per query (they are AP's), so it has no query "
            "correlations, movers or scatter plot; its differences are tested on logarithms"
            f"{self._otherwise_on_logarithms(measure)}"
            for measure in self.measures
            if not is_by_query(measure)
        ]
        missing = {x.run: x.ledger.missing for x in self.before.runs if x.ledger.missing}
        notes += [
            f"{run}: {number:,} of {count(len(self.sets.query_ids), 'query')} "
            f"{'is' if number == 1 else 'are'} not in the run"
            for run, number in missing.items()
        ]
        return notes

    def _otherwise_on_logarithms(self, measure: Measure) -> str:
        """Count the shifts of a geometric mean that have the other sign on logarithms, if any."""
        turned = 0
        for of in (of for of in self.conclusions if of.measure == str(measure)):
            run, base = self.change(of.run, measure), self.change(of.base, measure)
            tested = math.log(run.after / base.after) - math.log(run.before / base.before)
            turned += of.shift * tested < 0
        ratios = f"{count(turned, 'shift')} {'goes' if turned == 1 else 'go'} the other way"
        return f", as ratios, in which {ratios}" if turned else ""


def contrast(
    before: Any,
    after: Any,
    runs: Any,
    measures: Iterable[str | Measure] = CONTRASTED,
    options: ContrastOptions | None = None,
    *,
    cluster: Mapping[str, str] | str | Path | None = None,
) -> Contrast:
    """Score runs under two judgement sets and compare the scores.

    Judgements and runs are files, tables or dicts (`citebed.runs.reader`). Only queries judged in
    both sets count; `align` leaves out some of these, too. ``before`` is the earlier or smaller set
    (J1), ``after`` the later or larger one (J1+2); only signs and names depend on this. With a
    ``cluster`` (as in ``Evaluation.summary``) the tests use whole clusters of queries.
    """
    options = options or ContrastOptions()
    chosen = tuple(parse_measures(measures))
    counts = [str(measure) for measure in chosen if measure.SUMMARY == "sum"]
    if counts:
        raise CitebedError(
            f"{', '.join(counts)}: counts cannot be contrasted, because they grow with the "
            "judgements. Use measures such as AP or P@5."
        )
    rel = max(1, min(measure.rel for measure in chosen))
    if isinstance(before, str | Path) and isinstance(after, str | Path):
        both = read_sets([Path(before), Path(after)])  # under distinct names
    else:
        both = [as_qrels(before, "before"), as_qrels(after, "after")]
    resampling = options.resampling if cluster is None else Resampling(cluster=cluster)
    options = replace(options, resampling=resampling.with_clusters(both[1].source))
    sets = align(both[0], both[1], rel, options.keep_empty)
    first, second = evaluate_under(
        [prepare(sets.before), prepare(sets.after)], runs, chosen, options.settings
    )
    check_names([scores.run for scores in first.runs])
    movers: list[QueryChange] = []
    for measure in filter(is_by_query, chosen):
        lowest = max(1, measure.rel)
        relevant = relevant_counts(sets.before, lowest), relevant_counts(sets.after, lowest)
        for x, y in zip(first.runs, second.runs, strict=True):
            movers += query_changes(measure, x, y, relevant, options.largest)
    return Contrast(
        sets=sets,
        before=first,
        after=second,
        changes=tuple(score_changes(first, second)),
        agreements=tuple(agreements(first, second)),
        conclusions=tuple(significance_changes(first, second, options.design, options.resampling)),
        movers=tuple(movers),
    )


# --- the two sets, aligned ------------------------------------------------------------------

_PAIR = ("query_id", "doc_id")


@dataclass(frozen=True)
class JudgementSet:
    """Counts of one set, over the queries that are compared.

    ``empty`` queries have no relevant document, ``single`` queries exactly one.
    """

    name: str
    queries: int
    judged: int
    relevant: int
    empty: int
    single: int

    def row(self) -> dict[str, Any]:
        """Return a flat row; ``judged`` and ``relevant`` count judgements, not queries."""
        return {
            "judgements": self.name, "queries": self.queries, "judged": self.judged,
            "relevant": self.relevant, "not_relevant": self.judged - self.relevant,
            "empty": self.empty, "single": self.single,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sets:
    """Both sets, restricted to the queries that are compared, and what was left out.

    ``only_before`` and ``only_after`` are queries judged in one set only. ``emptied`` queries have
    no relevant document in one set; ``kept_empty`` says whether they are compared anyway. ``alike``
    queries have the same judgements in both sets. ``lost`` counts judgements of the first set that
    the second lacks, ``changed`` judgements that are relevant in only one of the sets.
    """

    before: Qrels
    after: Qrels
    query_ids: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    emptied: tuple[str, ...]
    kept_empty: bool
    alike: tuple[str, ...]
    lost: int
    changed: int
    facts: tuple[JudgementSet, JudgementSet]

    def notes(self) -> list[str]:
        """Return notes on queries that are left out, and on differences between the sets."""
        first, second = self.before.name, self.after.name
        notes = [
            f"{_are(ids)} judged in {name} alone and left out: {examples(ids)}"
            for ids, name in ((self.only_before, first), (self.only_after, second))
            if ids
        ]
        if self.emptied:
            done = "kept, scoring 0 there" if self.kept_empty else "left out"
            notes.append(
                f"{_are(self.emptied)} without a relevant document in {first} or in {second}, "
                f"and {done}: {examples(self.emptied)}"
            )
        if self.alike:
            notes.append(
                f"{_are(self.alike)} judged alike in {first} and {second}, so their scores do not "
                f"change: {examples(self.alike)}"
            )
        if self.lost or self.changed:
            notes.append(
                f"{second} does not extend {first}: it lacks {self.lost:,} of its judgements and "
                f"differs on the relevance of {self.changed:,}"
            )
        return notes


def _are(ids: tuple[str, ...]) -> str:
    return f"{count(len(ids), 'query')} {'is' if len(ids) == 1 else 'are'}"


def examples(ids: tuple[str, ...], shown: int = 5) -> str:
    """Join the first few ids."""
    return ", ".join(ids[:shown]) + (" …" if len(ids) > shown else "")


def align(before: Qrels, after: Qrels, rel: int = 1, keep_empty: bool = False) -> Sets:
    """Restrict two judgement sets to the queries that both judge.

    Queries without a relevant document (of grade ``rel``) in one of the sets are left out, as in
    the study, because every measure is 0 for them whatever the run. ``keep_empty`` keeps them.
    """
    for qrels in (before, after):
        prepare(qrels)  # raises an error if a document is judged twice
    ours, theirs = (set(qrels.table["query_id"].unique()) for qrels in (before, after))
    shared = ours & theirs
    if not shared:
        raise CitebedError(
            f"the judgements '{before.name}' and '{after.name}' have no query in common: "
            f"{examples(tuple(sorted(ours)), 3)} and {examples(tuple(sorted(theirs)), 3)}. "
            "Do they belong together?"
        )
    emptied = shared - (relevant_counts(before, rel).keys() & relevant_counts(after, rel).keys())
    queries = shared if keep_empty else shared - emptied
    if not queries:
        raise CitebedError(
            f"no query has a relevant document in both '{before.name}' and '{after.name}': "
            "there is nothing to contrast."
        )
    first, second = _cut(before, queries), _cut(after, queries)
    known = [q.table.filter(pl.col("relevance") >= 0) for q in (first, second)]
    shared_pairs = known[0].join(known[1], on=_PAIR, suffix="_after")
    other = (pl.col("relevance") >= rel) != (pl.col("relevance_after") >= rel)
    return Sets(
        before=first,
        after=second,
        query_ids=tuple(sorted(queries)),
        only_before=tuple(sorted(ours - theirs)),
        only_after=tuple(sorted(theirs - ours)),
        emptied=tuple(sorted(emptied)),
        kept_empty=keep_empty,
        alike=_alike(first, second),
        lost=known[0].height - shared_pairs.height,
        changed=shared_pairs.filter(other).height,
        facts=(_facts(first, rel), _facts(second, rel)),
    )


def relevant_counts(qrels: Qrels, rel: int) -> dict[str, int]:
    """Count the relevant documents of each query that has any."""
    counts = qrels.table.filter(pl.col("relevance") >= rel).group_by("query_id").len()
    return dict(counts.iter_rows())


def _cut(qrels: Qrels, queries: set[str]) -> Qrels:
    table = qrels.table.filter(pl.col("query_id").is_in(list(queries)))
    return Qrels(table, qrels.name, qrels.source)


def _facts(qrels: Qrels, rel: int) -> JudgementSet:
    counts = relevant_counts(qrels, rel)
    queries = qrels.table["query_id"].n_unique()
    return JudgementSet(
        name=qrels.name,
        queries=queries,
        judged=qrels.table.filter(pl.col("relevance") >= 0).height,
        relevant=sum(counts.values()),
        empty=queries - len(counts),
        single=sum(number == 1 for number in counts.values()),
    )


def _alike(before: Qrels, after: Qrels) -> tuple[str, ...]:
    """Return the queries whose judgements are the same in both sets."""
    judged = [*_PAIR, "relevance"]
    one, two = before.table.select(judged), after.table.select(judged)
    moved = [x.join(y, on=judged, how="anti")["query_id"] for x, y in ((one, two), (two, one))]
    same = set(one["query_id"]) - set(pl.concat(moved))
    return tuple(sorted(same))
