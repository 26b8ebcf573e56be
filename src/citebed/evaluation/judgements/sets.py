"""Operations on judgement sets: sample, subset, difference, merge.

They accept files, tables, dicts or `Qrels` and return `Qrels`. They do not change their inputs, and
keep the order of the rows and the labels. As in trec_eval, a grade below 0 means pooled but not
judged.

The second field of a file may name the source of each judgement. Evaluation programs ignore this
field. A campaign's export has ``cited``, ``manual`` or ``automatic`` there; a merged set has the
name of the first set that judged, and an expanded set ``cocited``. In tables it is the column
``label``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.files.input_files import reusable_path
from citebed.files.parquet import read_parquet
from citebed.runs.kba_files import detect_kba_form
from citebed.runs.ranking import check_repeated_pairs, distinct, in_rank_order, number_pairs
from citebed.runs.reader import as_qrels, distinct_names, read_qrels, run_name
from citebed.runs.tables import Flags, Ints, Qrels, Run, is_parquet
from citebed.runs.trec_files import LARGEST_GRADE, QRELS, read_coded

LABEL = "label"
_SECOND = QRELS._replace(columns=("iteration", "doc_id", "relevance"))
_A_NUMBER = r"^Q?[0-9]+$"
"""An iteration or the number of a reference, which is not a source."""
PAIR = ["query_id", "doc_id"]
SampleBy = Literal["judgement", "query"]


def read_labelled(path: str | Path) -> Qrels:
    """Read judgements, with a column ``label`` if their second field has words."""
    path = Path(path)
    with reusable_path(path) as file:
        qrels = replace(read_qrels(file), name=run_name(path), source=path)
        labels = _read_labels(file)
    if labels is None or labels.str.contains(_A_NUMBER).all():
        return qrels
    return replace(qrels, rows=qrels.table.with_columns(labels.alias(LABEL)))


def _read_labels(file: Path) -> pl.Series | None:
    if not is_parquet(file):
        if detect_kba_form(file) is not None:
            return None  # in KBA's files the second field is the document
        return read_coded(file, _SECOND)["iteration"]
    table = read_parquet(file)
    # Without a column "relevance", "label" is PyTerrier's name for the relevance.
    known = {"relevance", LABEL} <= set(table.columns)
    return table[LABEL].cast(pl.String).fill_null("0") if known else None


def read_labelled_sets(paths: Sequence[Path]) -> list[Qrels]:
    """Read judgement sets with labels, under distinct names."""
    names = distinct_names(paths)
    return [
        replace(read_labelled(path), name=name) for path, name in zip(paths, names, strict=True)
    ]


def _as_labelled(data: Any) -> Qrels:
    """Convert judgements; read files with their labels."""
    return read_labelled(data) if isinstance(data, str | Path) else as_qrels(data)


def as_checked_qrels(data: Any) -> Qrels:
    """Convert judgements; raise an error if a document is judged twice for a query."""
    qrels = _as_labelled(data)
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
    judgements = _as_labelled(qrels)
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
        drawn[order] = (lots < np.floor(share * len(starts) + 0.5))[query]
    else:
        # First draw for the sizes of the queries, then for the rows; neither depends on share.
        sizes = np.diff(np.append(starts, len(query)))
        wanted = np.floor(share * sizes + draw.random(len(starts)))
        shuffled = np.lexsort((draw.random(len(query)), query))
        place = np.empty(len(query), np.int64)
        place[shuffled] = np.arange(len(query)) - starts[query]
        drawn[order] = place < wanted[query]
    return Qrels(judgements.table.filter(pl.Series(drawn)), judgements.name)


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
        wanted, column = _ids("source", sources), judged.table.get_column(LABEL, default=None)
        known = [] if column is None else column.unique().sort().to_list()
        if not known:
            raise CitebedError(
                f"{judged.name} does not name the sources of its judgements in the second field."
            )
        for source in wanted:
            if source not in known:
                raise UnknownName("source", source, known)
        conditions.append(pl.col(LABEL).is_in(wanted))
    return Qrels(judged.table.filter(*conditions) if conditions else judged.table, judged.name)


def _ids(name: str, values: Iterable[str]) -> list[str]:
    return pl.Series(name, list(values), pl.String).unique().to_list()


def pooled(qrels: Any, runs: Iterable[Run], depth: int) -> Qrels:
    """Select the judgements in a pool of this depth: documents in the first ``depth`` of a run."""
    if depth < 1:
        raise CitebedError(f"the depth {depth} is not a rank from 1.")
    tops = [in_rank_order(run).filter(pl.col("rank") <= depth).select(PAIR) for run in runs]
    if not tops:
        raise CitebedError("a pool needs at least one run.")
    judgements = _as_labelled(qrels)
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


RULES: dict[str, tuple[str, Callable[[_Grades], Answer]]] = {
    "first": ("the grade of the first set that judges it", lambda of: _always(of.first())),
    "max": ("the highest grade", lambda of: _always(of.highest())),
    "min": ("the lowest grade", lambda of: _always(of.lowest())),
    "mean": ("the mean, rounded; halves go up", _mean),
    "majority": ("the grade of most sets; ties are left out", _majority),
    "undisputed": ("left out if two sets disagree", lambda of: (of.first(), of.alike())),
    "agreed": (
        "kept only if all sets give the same grade",
        lambda of: (of.first(), of.alike() & of.there.all(axis=1)),
    ),
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
    judged = [_as_labelled(one) for one in sets]
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
    every_grade, table = _Grades(matrix, there), pairs.table(every)
    grades = _Grades(matrix, there & (matrix >= 0))
    number = grades.there.sum(axis=1)
    grade, has_grade = RULES[rule][1](grades)
    grade = np.where(number > 0, grade, every_grade.highest())
    merged = has_grade | (number == 0)
    labelled = table.with_columns(_labels(judged, rows, every_grade), relevance=grade)
    disputed = (number > 1) & ~grades.alike()
    columns = [*zip(names, matrix.T, there.T, strict=True), ("merged", grade, merged)]
    series = [
        pl.Series(name, values[disputed]).set(pl.Series(~known[disputed]), None)
        for name, values, known in columns
    ]
    return Merged(
        Qrels(labelled.select(*PAIR, "relevance", LABEL).filter(pl.Series(merged)), "merged"),
        table.filter(pl.Series(disputed)).with_columns(series),
        rule,
        pairs=len(grade),
        shared=int((number > 1).sum()),
        left_out=int((~merged).sum()),
    )


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
    labels = pl.Series(LABEL, ["-".join(one.name.split()) or "0" for one in sets]).gather(first)
    for at, (one, row) in enumerate(zip(sets, rows, strict=True)):
        if LABEL in one.table.columns:
            own = first[row] == at
            labels = labels.scatter(row[own], one.table[LABEL].filter(pl.Series(own)))
    return labels
