"""Operations on judgement sets: sample, subset, difference, merge.

They accept files, tables, dicts or `Qrels` and return `Qrels`. They do not change their inputs, and
keep the order of the rows and the labels (`labels`). As in trec_eval, a grade below 0 means pooled
but not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.judgements.labels import LABEL, as_labelled, set_label
from citebed.runs.ranking import check_repeated_pairs, distinct, in_rank_order, number_pairs
from citebed.runs.tables import Flags, Ints, Qrels, Run
from citebed.runs.trec_files import LARGEST_GRADE

PAIR = ["query_id", "doc_id"]
SampleBy = Literal["judgement", "query"]


def as_checked_qrels(data: Any) -> Qrels:
    """Convert judgements; raise an error if a document is judged twice for a query."""
    qrels = as_labelled(data)
    check_repeated_pairs(qrels, number_pairs(qrels.table).keys[0])
    return qrels


# --- sample and subset ------------------------------------------------------------------------


def sample(qrels: Any, share: float, seed: int = 0, by: SampleBy = "judgement") -> Qrels:
    """Draw a random share of the judgements, or of the queries with all their judgements.

    By judgement, a query with n judgements keeps ⌊share·n⌋ or one more, so that each judgement
    stays with probability ``share`` (a single judgement may be lost). By query, the nearest whole
    number of queries stays. The draw depends only on the seed and the ids, not on the order of the
    rows. With one seed, a smaller sample is part of a larger one.
    """
    if not 0 < share <= 1:
        raise CitebedError(f"the share {share} is not above 0 and up to 1.")
    if by not in ("judgement", "query"):
        raise UnknownName("way of sampling", by, ("judgement", "query"))
    judgements = as_labelled(qrels)
    pairs = number_pairs(judgements.table)
    keys = pairs.keys[0]
    check_repeated_pairs(judgements, keys)
    order = np.argsort(keys)
    query = pairs.queries(keys[order])
    starts = np.searchsorted(query, np.arange(len(pairs.query_ids)))
    draw = np.random.default_rng(seed)
    drawn = np.zeros(len(keys), bool)
    if by == "query":
        lots = np.argsort(np.argsort(draw.random(len(starts))))
        drawn[order] = (lots < round_half_up(share * len(starts)))[query]
    else:
        drawn[order] = _drawn(draw, starts, query, share)
    return Qrels(judgements.table.filter(pl.Series(drawn)), judgements.name)


def round_half_up(value: float) -> int:
    """Round to the nearest integer, halves up."""
    return int(np.floor(value + 0.5))


def _drawn(draw: np.random.Generator, starts: Ints, query: Ints, share: float) -> Flags:
    """Return which rows stay."""
    sizes = np.diff(np.append(starts, len(query)))
    # First draw for the sizes of the queries, then for the rows; neither draw depends on share.
    wanted = np.floor(share * sizes + draw.random(len(starts)))
    order = np.lexsort((draw.random(len(query)), query))
    place = np.empty(len(query), np.int64)
    place[order] = np.arange(len(query)) - starts[query]
    return np.asarray(place < wanted[query])


def subset(
    qrels: Any,
    *,
    queries: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
    min_relevance: int | None = None,
    sources: Iterable[str] | None = None,
) -> Qrels:
    """Select judgements by query, document, source and lowest grade.

    Dropped judgements count as unjudged, unlike with a measure's ``rel``; this matters for bpref
    and judged-only measures.
    """
    conditions = []
    if queries is not None:
        conditions.append(pl.col("query_id").is_in(_ids("query_id", queries)))
    if documents is not None:
        conditions.append(pl.col("doc_id").is_in(_ids("doc_id", documents)))
    if min_relevance is not None:
        conditions.append(pl.col("relevance") >= min_relevance)
    judged = as_checked_qrels(qrels)
    if sources is not None:
        conditions.append(_from(judged, _ids("source", sources)))
    return Qrels(judged.table.filter(*conditions) if conditions else judged.table, judged.name)


def _from(qrels: Qrels, sources: list[str]) -> pl.Expr:
    known = qrels.table[LABEL].unique().sort().to_list() if LABEL in qrels.table.columns else []
    if not known:
        raise CitebedError(
            f"{qrels.name} does not name the sources of its judgements in the second field."
        )
    for source in sources:
        if source not in known:
            raise UnknownName("source", source, known)
    return pl.col(LABEL).is_in(sources)


def _ids(name: str, values: Iterable[str]) -> list[str]:
    return pl.Series(name, list(values), pl.String).unique().to_list()


def pooled(qrels: Any, runs: Iterable[Run], depth: int) -> Qrels:
    """Select the judgements in a pool of this depth: documents in the first ``depth`` of a run."""
    if depth < 1:
        raise CitebedError(f"the depth {depth} is not a rank from 1.")
    tops = [in_rank_order(run).filter(pl.col("rank") <= depth).select(PAIR) for run in runs]
    if not tops:
        raise CitebedError("a pool needs at least one run.")
    judgements = as_labelled(qrels)
    ours, *pool = number_pairs(judgements.table, *tops).keys
    check_repeated_pairs(judgements, ours)
    inside = np.isin(ours, np.concatenate(pool))
    return Qrels(judgements.table.filter(pl.Series(inside)), judgements.name)


# --- difference -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Difference:
    """The judgements of one set that other sets lack.

    ``shared`` counts the judgements that others have, too, and ``changed`` those among them with
    another grade; both are left out.
    """

    qrels: Qrels
    shared: int
    changed: int


def difference(qrels: Any, *others: Any) -> Difference:
    """Return the judgements of pairs that no other set judges.

    In the study of cited and non-cited papers, for example, ``difference(j12, j1)`` is what the
    second phase judged. Grades below 0 in other sets are not judgements, and remove nothing.
    """
    if not others:
        raise CitebedError("difference needs at least one other judgement set.")
    judged = as_checked_qrels(qrels)
    mine = judged.table.select(*PAIR, "relevance")
    known = [as_checked_qrels(other).table.filter(pl.col("relevance") >= 0) for other in others]
    theirs = pl.concat([table.select(*PAIR, other="relevance") for table in known])
    shared = mine.join(theirs, on=PAIR)
    return Difference(
        Qrels(
            judged.table.join(theirs, on=PAIR, how="anti", maintain_order="left"),
            judged.name,
        ),
        shared=shared.select(PAIR).n_unique(),
        changed=shared.filter(pl.col("relevance") != pl.col("other")).select(PAIR).n_unique(),
    )


# --- merge ------------------------------------------------------------------------------------


class _Grades(NamedTuple):
    """Grades with one row per pair and one column per set; ``there`` marks judgements."""

    grades: Ints
    there: Flags

    def first(self) -> Ints:
        """Return the first judgement of each pair."""
        return np.asarray(self.grades[np.arange(len(self.grades)), self.there.argmax(axis=1)])

    def highest(self) -> Ints:
        """Return the highest judgement of each pair."""
        return np.asarray(np.where(self.there, self.grades, _LOW).max(axis=1))

    def lowest(self) -> Ints:
        """Return the lowest judgement of each pair."""
        return np.asarray(np.where(self.there, self.grades, _HIGH).min(axis=1))

    def alike(self) -> Flags:
        """Return which pairs have equal judgements in all sets."""
        return np.asarray(self.highest() <= self.lowest())


Answer = tuple[Ints, Flags]
"""A grade per pair, and whether the pair has one."""

_LOW, _HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def _always(grades: Ints) -> Answer:
    return grades, np.ones(len(grades), bool)


def _mean(of: _Grades) -> Answer:
    total, number = np.where(of.there, of.grades, 0).sum(axis=1), of.there.sum(axis=1)
    return _always((2 * total + number) // np.maximum(2 * number, 1))


def _majority(of: _Grades) -> Answer:
    """Return the grade with the most votes; none if several grades tie."""
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
    "mean": ("the mean, rounded; halves go up", _mean),
    "majority": ("the grade of most sets; ties are left out", _majority),
    "undisputed": ("left out if two sets disagree", lambda of: (of.first(), of.alike())),
    "agreed": ("kept only if all sets give the same grade", _agreed),
}


@dataclass(frozen=True, eq=False)
class Merged:
    """The result of merging several sets.

    ``conflicts`` has the pairs on which sets disagree: ``query_id``, ``doc_id``, one column per set
    (null if it does not judge the pair) and ``merged`` (null if the pair was left out). ``pairs``
    counts all pairs, ``shared`` those judged in several sets, and ``left_out`` those to which the
    rule gave no grade.
    """

    qrels: Qrels
    conflicts: pl.DataFrame
    rule: str
    pairs: int
    shared: int
    left_out: int


def merge(
    sets: Sequence[Any],
    rule: str,
    maps: Mapping[str, Mapping[int, int]] | None = None,
) -> Merged:
    """Merge judgement sets by a rule; ``maps`` first changes the grades of single sets.

    A pair that only one set judges keeps its grade, except under ``agreed``. Grades below 0 mean
    unjudged: any judgement replaces them without a conflict; otherwise the highest of them is kept.
    Rows are sorted by query and document. The ``label`` of a pair comes from the first set that
    judges it, or is this set's name.
    """
    if rule not in RULES:
        raise UnknownName("rule", rule, RULES)
    if not sets:
        raise CitebedError("merge needs at least one judgement set.")
    judged = [as_labelled(one) for one in sets]
    names = _names(judged)
    for name in maps or {}:
        if name not in names:
            raise UnknownName("set of judgements", name, names)
    pairs = number_pairs(*(one.table for one in judged))
    for one, keys in zip(judged, pairs.keys, strict=True):
        check_repeated_pairs(one, keys)
    every = distinct(np.concatenate(pairs.keys))
    rows = [np.searchsorted(every, keys) for keys in pairs.keys]
    matrix = np.zeros((len(every), len(judged)), np.int64)
    there = np.zeros(matrix.shape, bool)
    for at, (one, name, row) in enumerate(zip(judged, names, rows, strict=True)):
        matrix[row, at], there[row, at] = _mapped(one, (maps or {}).get(name, {})), True
    grades = _Grades(matrix, there)
    labels = _labels(judged, rows, grades)
    return _merged(pairs.table(every), grades, names, rule, labels)


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
    """Map the grades of a set, all at once."""
    old = qrels.table["relevance"]
    unknown = sorted(set(grades) - set(old.unique()))
    if unknown:
        raise CitebedError(
            f"{qrels.name} has no grade {unknown[0]} to map; "
            f"its grades are {', '.join(map(str, sorted(old.unique())))}."
        )
    if any(abs(grade) > LARGEST_GRADE for grade in grades.values()):
        raise CitebedError(f"{qrels.name}: a grade to map to is too large.")
    new = old.replace(list(grades), list(grades.values())) if grades else old
    return new.to_numpy()


def _labels(sets: Sequence[Qrels], rows: Sequence[Ints], grades: _Grades) -> pl.Series:
    """Return each pair's label in the first set that judges it."""
    judged = grades.there & (grades.grades >= 0)
    first = np.where(judged.any(axis=1), judged.argmax(axis=1), grades.there.argmax(axis=1))
    labels = pl.Series(LABEL, [set_label(one.name) for one in sets]).gather(first)
    for at, (one, row) in enumerate(zip(sets, rows, strict=True)):
        if LABEL in one.table.columns:
            own = first[row] == at
            labels = labels.scatter(row[own], one.table[LABEL].filter(pl.Series(own)))
    return labels


def _merged(
    pairs: pl.DataFrame, grades: _Grades, names: list[str], rule: str, labels: pl.Series
) -> Merged:
    judged = _Grades(grades.grades, grades.there & (grades.grades >= 0))
    number = judged.there.sum(axis=1)
    grade, has_grade = RULES[rule][1](judged)
    grade = np.where(number > 0, grade, grades.highest())
    merged = has_grade | (number == 0)
    disputed = (number > 1) & ~judged.alike()
    table = pairs.with_columns(labels, relevance=grade).select(*PAIR, "relevance", LABEL)
    return Merged(
        Qrels(table.filter(pl.Series(merged)), "merged"),
        _conflicts(pairs, grades, names, (grade, merged), disputed),
        rule,
        pairs=len(grade),
        shared=int((number > 1).sum()),
        left_out=int((~merged).sum()),
    )


def _conflicts(
    pairs: pl.DataFrame, grades: _Grades, names: list[str], merged: Answer, which: Flags
) -> pl.DataFrame:
    columns = [*zip(names, grades.grades.T, grades.there.T, strict=True), ("merged", *merged)]
    series = [
        pl.Series(name, values[which]).set(pl.Series(~there[which]), None)
        for name, values, there in columns
    ]
    return pairs.filter(pl.Series(which)).with_columns(series)
