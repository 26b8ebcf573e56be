"""Rank runs by score descending, then by document id descending, as trec_eval does.

Ids are compared by their bytes. If a run is already sorted by score, only ties are sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.runs.tables import Floats, Hashes, Ints, Qrels, Run, raise_duplicate

ScoreType = Literal["double", "float"]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_CELLS = 1 << 21
_FEW = 1 << 14
_Value = TypeVar("_Value", np.uint32, np.uint64, np.float64)


class Permutation(NamedTuple):
    """The rows of a ranking (ascending) that were moved, and their original rows in the run."""

    rows: Ints
    sources: Ints

    def original_rows(self, rows: Ints) -> Ints:
        """Return the original rows of these rows."""
        if not len(self.rows):
            return rows
        if self.rows[-1] < len(self.rows) and rows.max(initial=0) < len(self.rows):
            return np.asarray(self.sources[rows])  # all of them moved
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[at] == rows, self.sources[at], rows)


@dataclass(frozen=True, eq=False)
class Ranked:
    """A run in rank order, query by query.

    Rows ``starts[i]`` to ``starts[i + 1] - 1`` are the ranking of ``query_ids[i]``, best first.
    ``given_ids`` are the documents in the run's order, ``moved`` the rows whose position changed,
    and ``hashes`` the hashes of document ids in rank order. ``tied`` are the rows (ascending) with
    the same score as the row before them in the same query.
    """

    run: Run
    query_ids: pl.Series
    starts: Ints
    given_ids: pl.Series
    moved: Permutation
    scores: Floats
    hashes: Hashes
    tied: Ints

    @cached_property
    def doc_ids(self) -> pl.Series:
        """The document id of each row."""
        if not len(self.moved.rows):
            return self.given_ids
        return self.ids_at(np.arange(len(self.given_ids)))

    def ids_at(self, rows: Ints) -> pl.Series:
        """Return the document ids of some rows without sorting all of them."""
        return self.given_ids.gather(self.moved.original_rows(rows))

    @property
    def name(self) -> str:
        """The run's name."""
        return self.run.name

    @property
    def lengths(self) -> Ints:
        """The number of documents of each query."""
        return np.diff(self.starts)


def rank(run: Run, score_type: ScoreType = "double") -> Ranked:
    """Sort a run into rank order.

    With ``score_type="float"``, scores are first rounded to 32 bits, as in trec_eval 9, so that
    scores that differ only in later digits become ties.
    """
    scores = _in_32_bits(run) if score_type == "float" else run.rows["score"].to_numpy()
    order, starts, query_ids = _by_query(run)
    if order is not None:
        scores = scores[order]
    before = np.ones(max(len(scores) - 1, 0), bool)  # whether the row before has the same query
    before[starts[1:-1] - 1] = False
    if (before & (scores[1:] > scores[:-1])).any():
        best = _best_first(scores, starts)
        scores = scores[best]
        order = best if order is None else order[best]
    hashes, ids = run.doc_hashes, run.rows["doc_id"]
    moved = Permutation(np.empty(0, np.int64), np.empty(0, np.int64))
    if order is not None:
        hashes, moved = hashes[order], Permutation(np.arange(len(order)), order)
    tied = np.flatnonzero(before & (scores[1:] == scores[:-1])) + 1
    if len(tied):
        hashes = hashes if hashes.flags.writeable else hashes.copy()
        moved = _break_ties(ids, tied, moved, hashes)
    return Ranked(run, query_ids, starts, ids, moved, scores, hashes, tied)


def rank_in_32_bits(run: Run, ranked: Ranked) -> Ranked | None:
    """Rank again, with 32-bit scores, the queries in which this creates new ties.

    Return ``None`` without such queries.
    """
    with np.errstate(over="ignore"):  # scores beyond the 32-bit range all become infinite
        narrow = ranked.scores.astype(np.float32)
    rows = np.flatnonzero((narrow[1:] == narrow[:-1]) & (ranked.scores[1:] != ranked.scores[:-1]))
    query = np.searchsorted(ranked.starts, rows, side="right") - 1
    query = np.unique(query[rows + 1 < ranked.starts[query + 1]])
    if not len(query):
        return None
    names = ranked.query_ids.gather(query).implode()
    some = run.only(run.rows["query_id"].cast(pl.String).is_in(names))
    largest = float(np.finfo(np.float32).max)
    scores = pl.col("score").clip(-largest, largest)
    return rank(replace(some, rows=some.rows.with_columns(scores)), "float")


def _in_32_bits(run: Run) -> Floats:
    """Round scores to 32 bits, as in trec_eval 9; raise an error if one is out of range."""
    with np.errstate(over="ignore"):  # checked below
        scores = run.table["score"].to_numpy().astype(np.float32)
    if not np.isfinite(scores).all():
        row = run.table.row(int(np.flatnonzero(~np.isfinite(scores))[0]), named=True)
        query, document, score = row["query_id"], row["doc_id"], row["score"]
        raise CitebedError(
            f"{run.source or run.name}: the score {score:g} of document '{document}' for query "
            f"'{query}' is larger than 32-bit floats can be ({np.finfo(np.float32).max:.2g}). "
            "Compare scores as double."
        )
    return scores.astype(np.float64)


def _by_query(run: Run) -> tuple[Ints | None, Ints, pl.Series]:
    """Group rows by query.

    Return the order (``None`` if the rows are already grouped), the starts, and the query ids, in
    the order of first occurrence.
    """
    codes, order = run.query_codes, None
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    firsts = np.concatenate((np.zeros(min(1, len(codes)), np.int64), changes))
    starts = np.append(firsts, len(codes))
    if np.bincount(codes[firsts]).max(initial=0) > 1:
        places = _placed(codes, np.sort(_first_rows(codes)))
        # 16 bits at a time, the upper ones last: numpy uses a radix sort for 16-bit integers.
        order = np.argsort(places.astype(np.uint16), kind="stable")
        if (upper := (places >> 16).astype(np.uint16)).any():
            order = order[np.argsort(upper[order], kind="stable")]
        starts = np.append(0, np.cumsum(np.bincount(places)))
        firsts = order[starts[:-1]]
    return order, starts, run.rows["query_id"].gather(firsts).cast(pl.String)


def _first_rows(codes: Ints) -> Ints:
    """Return the first row of each code."""
    first = np.full(int(codes.max(initial=0)) + 1, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first[first < len(codes)]


def _placed(codes: Ints, rows: Ints) -> Ints:
    """Return each code's position in the order of ``rows``, which has one row for each code."""
    place = np.empty(int(codes.max(initial=0)) + 1, np.int64)
    place[codes[rows]] = np.arange(len(rows))
    return place[codes]


def _best_first(scores: Floats, starts: Ints) -> Ints:
    """Sort the rows of each query by score, best first, in blocks (see `find_repeated`)."""
    order = np.empty(len(scores), np.int64)
    for first, last in query_blocks(np.diff(starts)):
        begin, end = starts[first], starts[last]
        lengths = np.diff(starts[first : last + 1])
        places = np.argsort(_as_matrix(-scores[begin:end], lengths, np.inf), axis=1)
        places += starts[first:last, None]
        inside = np.arange(places.shape[1]) < lengths[:, None]
        order[begin:end] = places[inside]
    return order


def _break_ties(
    given_ids: pl.Series, tied: Ints, moved: Permutation, hashes: Hashes
) -> Permutation:
    """Sort documents of equal score by id, descending; change ``hashes`` in place."""
    first, size = tie_groups(tied)
    rows = np.sort(np.concatenate((first, tied)))
    group = np.repeat(np.arange(len(first)), size)
    sources = moved.original_rows(rows)
    ties = pl.DataFrame({"group": group, "doc_id": given_ids.gather(sources), "row": rows})
    now = ties.sort("group", "doc_id", descending=[False, True])["row"].to_numpy()
    hashes[rows] = hashes[now]
    if not len(moved.rows):
        return Permutation(rows, now)
    moved.sources[rows] = moved.sources[now]
    return moved


def tie_groups(tied: Ints) -> tuple[Ints, Ints]:
    """Return the first row and the size of each group of equal scores."""
    at = np.flatnonzero(np.diff(tied, prepend=-1) != 1)
    return tied[at] - 1, np.diff(at, append=len(tied)) + 1


def check_repeated_documents(ranked: Ranked) -> None:
    """Raise an error if a document occurs twice for a query."""
    for query, row in find_repeated(ranked.hashes, ranked.starts):
        ids = ranked.ids_at(np.arange(ranked.starts[query], ranked.starts[query + 1]))
        if ids.is_duplicated().any():
            raise_duplicate(
                ranked.run, ranked.query_ids[query], ids[row - int(ranked.starts[query])]
            )


def find_repeated(hashes: Hashes, starts: Ints, cells: int = _CELLS) -> list[tuple[int, int]]:
    """Return the queries in which two rows have the same hash, each with one such row.

    A block of queries is sorted as a matrix with padded rows, which is much faster than one long
    sort. For short rankings only half of each hash is sorted, in a third of the time; the full
    hashes are compared if halves are equal.
    """
    lengths = np.diff(starts)
    few = lengths.max(initial=0) <= _FEW
    parts: NDArray[Any] = (hashes >> np.uint64(32)).astype(np.uint32) if few else hashes
    doubles: list[tuple[int, int]] = []
    for first, last in query_blocks(lengths, cells):
        block, rows = parts[starts[first] : starts[last]], lengths[first:last]
        matrix = _as_matrix(block, rows, np.iinfo(block.dtype).max)
        matrix.sort(axis=1)
        same = matrix[:, 1:] == matrix[:, :-1]
        same &= np.arange(1, matrix.shape[1]) < rows[:, None]
        for query in (first + np.flatnonzero(same.any(axis=1))).tolist():
            own = hashes[starts[query] : starts[query + 1]]
            ordered = np.sort(own)
            again = ordered[1:][ordered[1:] == ordered[:-1]]
            if len(again):
                row = int(np.flatnonzero(own == again[0])[-1])
                doubles.append((query, int(starts[query]) + row))
    return doubles


def _as_matrix(values: NDArray[_Value], lengths: Ints, filled: Any) -> NDArray[_Value]:
    """Return a matrix with one row per query, padded with ``filled``."""
    if (lengths == lengths[0]).all():
        return values.reshape(len(lengths), -1).copy()
    inside = np.arange(lengths.max()) < lengths[:, None]
    matrix = np.full(inside.shape, filled, values.dtype)
    matrix[inside] = values
    return matrix


def query_blocks(lengths: Ints, cells: int = _CELLS) -> Iterator[tuple[int, int]]:
    """Yield ranges of queries whose padded matrix has at most ``cells`` cells (or one query)."""
    first = 0
    while first < len(lengths):
        ahead = lengths[first : first + 4096]
        size = np.maximum.accumulate(ahead) * np.arange(1, len(ahead) + 1)
        last = first + max(1, int(np.searchsorted(size, cells, "right")))
        yield first, last
        first = last


def spread(codes: Ints) -> Hashes:
    """Hash query codes, to be combined with document hashes by XOR."""
    return (codes.astype(np.uint64) + np.uint64(1)) * _SPREAD


@dataclass(frozen=True, eq=False)
class SortedQrels:
    """Judgements sorted for scoring any number of runs.

    ``query_ids`` are sorted by their bytes. Rows are sorted by query and then by relevance,
    highest first; ``starts`` has the first row of each query. ``highest`` is the highest grade of
    all judgements (at least 1), even if these are only a part of them.
    """

    name: str
    query_ids: pl.Series
    starts: Ints
    doc_ids: pl.Series
    relevance: Ints
    keys: Hashes
    highest: int
    source: Path | None = None

    @property
    def query(self) -> Ints:
        """The query number of each row."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.starts))


def rehash(qrels: SortedQrels) -> SortedQrels:
    """Compute the hashes again, for judgements that were sorted on another machine."""
    return replace(qrels, keys=qrels.doc_ids.hash().to_numpy() ^ spread(qrels.query))


def prepare(qrels: Qrels) -> SortedQrels:
    """Sort judgements for scoring; a document judged twice for a query is an error."""
    return sort_qrels(qrels)[0]


def sort_qrels(qrels: Qrels) -> tuple[SortedQrels, Ints]:
    """Sort judgements for scoring, and return the original row of each sorted row."""
    table = qrels.rows
    codes = qrels.query_codes
    firsts = _first_rows(codes)
    query_ids = table["query_id"].gather(firsts).cast(pl.String)
    by_id = query_ids.arg_sort().to_numpy()
    query_ids, codes = query_ids.gather(by_id), _placed(codes, firsts[by_id])
    # By query and grade, highest first; by one combined number if it fits.
    grades = table["relevance"].to_numpy()
    top, low = int(grades.max(initial=0)), int(grades.min(initial=0))
    if top - low < 1 << 20:
        order = np.argsort(codes * (top - low + 1) + (top - grades), kind="stable")
    else:
        order = np.lexsort((-grades, codes))
    codes = codes[order]
    doc_ids = table["doc_id"].gather(order)
    hashes = qrels.doc_hashes[order]
    starts = np.searchsorted(codes, np.arange(len(query_ids) + 1))
    for query, row in find_repeated(hashes, starts):
        ids = doc_ids[int(starts[query]) : int(starts[query + 1])]
        if ids.is_duplicated().any():
            raise_duplicate(qrels, query_ids[query], doc_ids[row])
    relevance = grades[order]
    keys = hashes ^ spread(codes)
    highest = int(relevance.max(initial=1))
    judged = SortedQrels(
        qrels.name, query_ids, starts, doc_ids, relevance, keys, highest, qrels.source
    )
    return judged, order


def encode_values(column: pl.Series, names: pl.Series) -> Ints:
    """Return the position of each value in ``names``, or -1."""
    wanted = pl.DataFrame({"name": column})
    known = pl.DataFrame({"name": names, "code": np.arange(len(names), dtype=np.int64)})
    joined = wanted.join(known, on="name", how="left", maintain_order="left")
    return joined["code"].fill_null(-1).to_numpy()


def encode_queries(of: Qrels | Run, names: pl.Series) -> Ints:
    """Return the position of each row's query in ``names``, or -1."""
    codes = of.query_codes
    firsts = _first_rows(codes)
    place = np.empty(int(codes.max(initial=0)) + 1, np.int64)
    place[codes[firsts]] = encode_values(of.rows["query_id"].gather(firsts).cast(pl.String), names)
    return place[codes]


# --- pairs of a query and a document as whole numbers ---------------------------------------


class Pairs(NamedTuple):
    """The sorted ids of several tables, and for each table one number per row.

    Numbers have the order of their pairs (by query, then by document), so that millions of rows can
    be sorted, matched and checked for duplicates without comparing strings.
    """

    query_ids: pl.Series
    doc_ids: pl.Series
    keys: tuple[Ints, ...]

    def queries(self, keys: Ints) -> Ints:
        """Return the position of each pair's query in ``query_ids``."""
        return np.asarray(keys // len(self.doc_ids))

    def table(self, keys: Ints) -> pl.DataFrame:
        """Return the pairs as a table ``query_id, doc_id``."""
        query, document = np.divmod(keys, max(len(self.doc_ids), 1))
        return pl.DataFrame(
            {"query_id": self.query_ids.gather(query), "doc_id": self.doc_ids.gather(document)}
        )


def number_pairs(*tables: pl.DataFrame) -> Pairs:
    """Number the pairs of tables with the columns ``query_id`` and ``doc_id``."""
    query_ids, doc_ids = (
        pl.concat([table[name].unique() for table in tables]).unique().sort()
        for name in ("query_id", "doc_id")
    )
    keys = tuple(
        encode_values(table["query_id"], query_ids) * len(doc_ids)
        + encode_values(table["doc_id"], doc_ids)
        for table in tables
    )
    return Pairs(query_ids, doc_ids, keys)


def distinct(keys: Ints) -> Ints:
    """Return the distinct numbers, sorted; much faster than numpy's ``unique`` for integers."""
    ordered = np.sort(keys)
    return np.asarray(ordered[np.diff(ordered, prepend=-1) != 0])


def check_repeated_pairs(of: Qrels | Run, keys: Ints) -> None:
    """Raise an error if a pair occurs twice in a table."""
    ordered = np.sort(keys)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(again):
        row = int(np.flatnonzero(keys == again[0])[0])
        raise_duplicate(of, of.table["query_id"][row], of.table["doc_id"][row])


def in_rank_order(run: Run) -> pl.DataFrame:
    """Return a run in rank order, queries ascending: ``query_id, doc_id, score, rank`` (from 1).

    A document that occurs twice for a query is an error.
    """
    ranked = rank(run)
    check_repeated_documents(ranked)
    by_id = ranked.query_ids.arg_sort().to_numpy()
    lengths = ranked.lengths[by_id]
    place = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(ranked.starts[:-1][by_id], lengths) + place
    return pl.DataFrame(
        {
            "query_id": ranked.query_ids.gather(np.repeat(by_id, lengths)),
            "doc_id": ranked.doc_ids.gather(rows),
            "score": ranked.scores[rows],
            "rank": place + 1,
        }
    )
