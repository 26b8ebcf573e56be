"""Tools for sets of judgements: sample, subset, merge, describe.

They take and give `Qrels` tables, leave their inputs alone and keep the order of the rows. A
grade below 0 means what it means in trec_eval: in the pool, but not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.runs.ranking import distinct, in_rank_order, pairs_of, refuse_doubles
from citebed.runs.tables import Flags, Ints, Qrels, Run

PAIR = ["query_id", "doc_id"]
LARGEST_GRADE = 1_000_000_000
SampleBy = Literal["judgement", "query"]


def checked(qrels: Qrels) -> Qrels:
    """The same judgements, if no document is judged twice for a query."""
    refuse_doubles(qrels, pairs_of(qrels.table).keys[0])
    return qrels


# --- sample and subset ------------------------------------------------------------------------


def sample(qrels: Qrels, share: float, seed: int = 0, by: SampleBy = "judgement") -> Qrels:
    """A random share of the judgements, or of the queries with all their judgements.

    By judgement, every query keeps its share: of n judgements ⌊share·n⌋ or one more, drawn so
    that each judgement stays with probability ``share`` exactly (a query with one judgement may
    lose it). By query, the nearest whole number of queries stays. The draw depends on the seed
    and the ids alone, not on the order of the rows, and with one seed the smaller of two
    samples is part of the larger.
    """
    if not 0 < share <= 1:
        raise CitebedError(f"the share {share} is not above 0 and up to 1.")
    if by not in ("judgement", "query"):
        raise UnknownName("way of sampling", by, ("judgement", "query"))
    pairs = pairs_of(qrels.table)
    keys = pairs.keys[0]
    refuse_doubles(qrels, keys)
    order = np.argsort(keys)
    query = pairs.queries(keys[order])
    starts = np.searchsorted(query, np.arange(len(pairs.query_ids)))
    draw = np.random.default_rng(seed)
    kept = np.zeros(len(keys), bool)
    if by == "query":
        lots = np.argsort(np.argsort(draw.random(len(starts))))
        kept[order] = (lots < round_half_up(share * len(starts)))[query]
    else:
        kept[order] = _drawn(draw, starts, query, share)
    return Qrels(qrels.table.filter(pl.Series(kept)), qrels.name)


def round_half_up(value: float) -> int:
    """The nearest whole number, the upper one of two equally near."""
    return int(np.floor(value + 0.5))


def _drawn(draw: np.random.Generator, starts: Ints, query: Ints, share: float) -> Flags:
    """Which rows stay, query by query."""
    sizes = np.diff(np.append(starts, len(query)))
    # The random part of each query's size first, the rows' lots after: neither depends on share.
    wanted = np.floor(share * sizes + draw.random(len(starts)))
    order = np.lexsort((draw.random(len(query)), query))
    place = np.empty(len(query), np.int64)
    place[order] = np.arange(len(query)) - starts[query]
    return np.asarray(place < wanted[query])


def subset(
    qrels: Qrels,
    *,
    queries: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
    min_relevance: int | None = None,
) -> Qrels:
    """The judgements of these queries, of these documents, of this grade and above.

    What is dropped counts as unjudged afterwards, which is not the same as a measure's ``rel``:
    bpref and judged-only measures see the difference.
    """
    conditions = []
    if queries is not None:
        conditions.append(pl.col("query_id").is_in(_ids("query_id", queries)))
    if documents is not None:
        conditions.append(pl.col("doc_id").is_in(_ids("doc_id", documents)))
    if min_relevance is not None:
        conditions.append(pl.col("relevance") >= min_relevance)
    table = checked(qrels).table
    return Qrels(table.filter(*conditions) if conditions else table, qrels.name)


def _ids(name: str, values: Iterable[str]) -> list[str]:
    return pl.Series(name, list(values), pl.String).unique().to_list()


def pooled(qrels: Qrels, runs: Iterable[Run], depth: int) -> Qrels:
    """The judgements of documents that a run has among its first ``depth`` for the query.

    These are the judgements that a pool of that depth from these runs would have made.
    """
    if depth < 1:
        raise CitebedError(f"the depth {depth} is not a rank from 1.")
    tops = [in_rank_order(run).filter(pl.col("rank") <= depth).select(PAIR) for run in runs]
    if not tops:
        raise CitebedError("a pool needs at least one run. Name the runs it is made of.")
    ours, *pool = pairs_of(qrels.table, *tops).keys
    refuse_doubles(qrels, ours)
    inside = np.isin(ours, np.concatenate(pool))
    return Qrels(qrels.table.filter(pl.Series(inside)), qrels.name)


# --- merge ------------------------------------------------------------------------------------


class _Grades(NamedTuple):
    """A row a pair, a column a set; ``there`` says which cells are judgements."""

    grades: Ints
    there: Flags

    def first(self) -> Ints:
        """The first judgement of each pair that has one."""
        return np.asarray(self.grades[np.arange(len(self.grades)), self.there.argmax(axis=1)])

    def highest(self) -> Ints:
        """The highest of a pair's judgements."""
        return np.asarray(np.where(self.there, self.grades, _LOW).max(axis=1))

    def lowest(self) -> Ints:
        """The lowest of a pair's judgements."""
        return np.asarray(np.where(self.there, self.grades, _HIGH).min(axis=1))

    def alike(self) -> Flags:
        """Whether all judgements of a pair are the same."""
        return np.asarray(self.highest() <= self.lowest())


Answer = tuple[Ints, Flags]
"""A grade a pair, and whether there is one."""

_LOW, _HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def _always(grades: Ints) -> Answer:
    return grades, np.ones(len(grades), bool)


def _mean(of: _Grades) -> Answer:
    total, number = np.where(of.there, of.grades, 0).sum(axis=1), of.there.sum(axis=1)
    return _always((2 * total + number) // np.maximum(2 * number, 1))


def _majority(of: _Grades) -> Answer:
    """The votes of each cell's grade; two grades with the most votes are none."""
    same = of.grades[:, :, None] == of.grades[:, None, :]
    votes = (same & of.there[:, :, None] & of.there[:, None, :]).sum(axis=2)
    winners = of.there & (votes == votes.max(axis=1, keepdims=True))
    elected = _Grades(of.grades, winners)
    return elected.first(), elected.alike()


def _agreed(of: _Grades) -> Answer:
    return of.first(), of.alike() & of.there.all(axis=1)


RULES: dict[str, tuple[str, Callable[[_Grades], Answer]]] = {
    "first": ("the grade of the first set that judges it", lambda of: _always(of.first())),
    "max": ("the highest grade", lambda of: _always(of.highest())),
    "min": ("the lowest grade", lambda of: _always(of.lowest())),
    "mean": ("the mean, rounded, a half upwards", _mean),
    "majority": ("the grade most sets give; left out where grades tie", _majority),
    "undisputed": ("left out where two sets disagree", lambda of: (of.first(), of.alike())),
    "agreed": ("kept only where every set judges it, and all alike", _agreed),
}


@dataclass(frozen=True, eq=False)
class Merged:
    """Several sets made into one.

    ``conflicts`` has the pairs on which sets disagree: ``query_id``, ``doc_id``, a column a set
    (null where it does not judge the pair) and ``merged`` (null where the pair was left out).
    ``pairs`` counts all pairs, ``shared`` those that more than one set judges, ``left_out``
    those that the rule gave no grade.
    """

    qrels: Qrels
    conflicts: pl.DataFrame
    rule: str
    pairs: int
    shared: int
    left_out: int


def merge(
    sets: Sequence[Qrels],
    rule: str,
    maps: Mapping[str, Mapping[int, int]] | None = None,
) -> Merged:
    """One set of several by a rule; ``maps`` changes grades first, set by set.

    A pair that one set judges takes that grade (but under ``agreed``). A grade below 0 says
    "not judged": it gives way to any judgement and is no conflict; where there is nothing else,
    the highest of them stays. Rows are in order of query and document.
    """
    if rule not in RULES:
        raise UnknownName("rule", rule, RULES)
    if not sets:
        raise CitebedError("there is no set of judgements to merge.")
    names = _names(sets)
    for name in maps or {}:
        if name not in names:
            raise UnknownName("set of judgements", name, names)
    pairs = pairs_of(*(one.table for one in sets))
    for one, keys in zip(sets, pairs.keys, strict=True):
        refuse_doubles(one, keys)
    every = distinct(np.concatenate(pairs.keys))
    given = np.zeros((len(every), len(sets)), np.int64)
    there = np.zeros(given.shape, bool)
    for at, (one, name, keys) in enumerate(zip(sets, names, pairs.keys, strict=True)):
        row = np.searchsorted(every, keys)
        given[row, at], there[row, at] = _mapped(one, (maps or {}).get(name, {})), True
    return _merged(pairs.table(every), _Grades(given, there), names, rule)


def _names(sets: Sequence[Qrels]) -> list[str]:
    names = [one.name for one in sets]
    taken = {*PAIR, "merged"}
    for name in names:
        if names.count(name) > 1 or name in taken:
            raise CitebedError(
                f"two sets of judgements are called '{name}'; give them different names."
                if names.count(name) > 1
                else f"a set of judgements cannot be called '{name}'; rename it."
            )
    return names


def _mapped(qrels: Qrels, grades: Mapping[int, int]) -> Ints:
    """The grades of a set, changed all at once."""
    old = qrels.table["relevance"]
    unknown = sorted(set(grades) - set(old.unique()))
    if unknown:
        raise CitebedError(
            f"{qrels.name} has no grade {unknown[0]} to map; "
            f"its grades are {', '.join(map(str, sorted(old.unique())))}."
        )
    if any(abs(grade) > LARGEST_GRADE for grade in grades.values()):
        raise CitebedError(f"{qrels.name}: a grade to map to is too large for one.")
    new = old.replace(list(grades), list(grades.values())) if grades else old
    return new.to_numpy()


def _merged(pairs: pl.DataFrame, given: _Grades, names: list[str], rule: str) -> Merged:
    judged = _Grades(given.grades, given.there & (given.grades >= 0))
    number = judged.there.sum(axis=1)
    grade, has_grade = RULES[rule][1](judged)
    grade = np.where(number > 0, grade, given.highest())
    kept = has_grade | (number == 0)
    disputed = (number > 1) & ~judged.alike()
    return Merged(
        Qrels(pairs.with_columns(relevance=grade).filter(pl.Series(kept)), "merged"),
        _conflicts(pairs, given, names, (grade, kept), disputed),
        rule,
        pairs=len(grade),
        shared=int((number > 1).sum()),
        left_out=int((~kept).sum()),
    )


def _conflicts(
    pairs: pl.DataFrame, given: _Grades, names: list[str], merged: Answer, which: Flags
) -> pl.DataFrame:
    columns = [*zip(names, given.grades.T, given.there.T, strict=True), ("merged", *merged)]
    found = [
        pl.Series(name, values[which]).set(pl.Series(~there[which]), None)
        for name, values, there in columns
    ]
    return pairs.filter(pl.Series(which)).with_columns(found)


# --- describe ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgementStatistics:
    """What is in a set of judgements; ``grades`` counts the judgements of each grade."""

    name: str
    queries: int
    documents: int
    judgements: int
    grades: dict[int, int]
    judged_per_query: tuple[int, float, int]
    relevant_per_query: tuple[int, float, int]
    without_relevant: int

    def rows(self) -> list[dict[str, Any]]:
        """Flat rows ``qrels, figure, value``."""
        spreads = {"judged": self.judged_per_query, "relevant": self.relevant_per_query}
        figures: dict[str, float] = {
            "queries": self.queries,
            "documents": self.documents,
            "judgements": self.judgements,
            **{f"grade {grade}": number for grade, number in self.grades.items()},
            **{
                f"{what} per query, {name}": value
                for what, spread in spreads.items()
                for name, value in zip(("smallest", "median", "largest"), spread, strict=True)
            },
            "queries without relevant": self.without_relevant,
        }
        return [{"qrels": self.name, "figure": k, "value": v} for k, v in figures.items()]


def describe(qrels: Qrels, rel: int = 1) -> JudgementStatistics:
    """Count queries, judgements, grades; ``rel`` is the lowest grade that is relevant.

    A document below 0 is not judged, so it counts among the grades only.
    """
    table = checked(qrels).table
    if not table.height:
        raise CitebedError(f"{qrels.name} has no judgements.")
    grades = table["relevance"].value_counts().sort("relevance", descending=True)
    queries = table.group_by("query_id").agg(
        judged=(pl.col("relevance") >= 0).sum(), relevant=(pl.col("relevance") >= rel).sum()
    )
    return JudgementStatistics(
        name=qrels.name,
        queries=queries.height,
        documents=table["doc_id"].n_unique(),
        judgements=table.height,
        grades=dict(grades.rows()),
        judged_per_query=_spread(queries["judged"].to_numpy()),
        relevant_per_query=_spread(queries["relevant"].to_numpy()),
        without_relevant=int((queries["relevant"] == 0).sum()),
    )


def _spread(counts: Any) -> tuple[int, float, int]:
    return int(counts.min()), float(np.median(counts)), int(counts.max())
