"""Align two judgement sets: the queries to compare, and the differences between the sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from citebed.errors import CitebedError
from citebed.runs.ranking import prepare
from citebed.runs.tables import Qrels
from citebed.wording import count

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
    lost, changed = _disagreement(first, second, rel)
    return Sets(
        before=first,
        after=second,
        query_ids=tuple(sorted(queries)),
        only_before=tuple(sorted(ours - theirs)),
        only_after=tuple(sorted(theirs - ours)),
        emptied=tuple(sorted(emptied)),
        kept_empty=keep_empty,
        alike=_alike(first, second),
        lost=lost,
        changed=changed,
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


def _disagreement(before: Qrels, after: Qrels, rel: int) -> tuple[int, int]:
    """Count the judgements that the second set lacks, and those with other relevance."""
    known = [q.table.filter(pl.col("relevance") >= 0) for q in (before, after)]
    both = known[0].join(known[1], on=_PAIR, suffix="_after")
    other = (pl.col("relevance") >= rel) != (pl.col("relevance_after") >= rel)
    return known[0].height - both.height, both.filter(other).height
