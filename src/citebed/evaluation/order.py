"""The one order of a ranking: score descending, then document id descending, as trec_eval's.

Ids compare by their bytes. Most runs come sorted already; then nothing is moved, and only ties
are put in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from citebed.evaluation.tables import Flags, Floats, Hashes, Ints, Qrels, Run, duplicate

ScoreType = Literal["double", "float"]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Ranked:
    """A run in rank order, query after query.

    Rows ``starts[i]`` to ``starts[i + 1]`` are the ranking of ``query_ids[i]``, best first.
    ``hashes`` are of the document ids. ``tied`` says which rows have the score of the row
    before them in the same query; ``None`` when no row has.
    """

    name: str
    query_ids: pl.Series
    starts: Ints
    doc_ids: pl.Series
    scores: Floats
    hashes: Hashes
    tied: Flags | None

    @property
    def lengths(self) -> Ints:
        """How many documents each query has."""
        return np.diff(self.starts)


def rank(run: Run, score_type: ScoreType = "double") -> Ranked:
    """Put a run in rank order; a document that stands twice for a query is an error.

    With ``score_type="float"`` scores are rounded to 32 bits first, as trec_eval 9 keeps them,
    so that scores which differ only beyond become ties.
    """
    table, starts, query_ids = _grouped(run.table)
    scores = table["score"].to_numpy()
    if score_type == "float":
        scores = scores.astype(np.float32).astype(np.float64)
    doc_ids = table["doc_id"]
    before = _same_query(starts, len(scores))
    if (before & (scores[1:] > scores[:-1])).any():
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        order = np.lexsort((-scores, group))
        scores, doc_ids = scores[order], doc_ids.gather(order)
    tied = before & (scores[1:] == scores[:-1])
    if tied.any():
        doc_ids = _break_ties(doc_ids, tied)
    ranked = Ranked(
        run.name,
        query_ids,
        starts,
        doc_ids,
        scores,
        doc_ids.hash().to_numpy(),
        np.concatenate(([False], tied)) if tied.any() else None,
    )
    _check_twice(run, ranked)
    return ranked


def _grouped(table: pl.DataFrame) -> tuple[pl.DataFrame, Ints, pl.Series]:
    """The table with each query's rows together, where they start, and the queries' ids."""
    starts = _group_starts(table["query_id"])
    query_ids = table["query_id"].gather(starts)
    if query_ids.n_unique() != len(query_ids):
        table = table.sort("query_id", maintain_order=True)
        starts = _group_starts(table["query_id"])
        query_ids = table["query_id"].gather(starts)
    return table, np.append(starts, table.height), query_ids


def _group_starts(column: pl.Series) -> Ints:
    codes = column.rle_id().to_numpy()
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return np.concatenate((np.zeros(min(1, len(codes)), np.int64), changes))


def _same_query(starts: Ints, rows: int) -> Flags:
    """For every row but the first: does the row before belong to the same query?"""
    same = np.ones(max(rows - 1, 0), bool)
    same[starts[1:-1] - 1] = False
    return same


def _break_ties(doc_ids: pl.Series, tied: Flags) -> pl.Series:
    """Documents of equal score by id, last first; only they are moved."""
    in_tie = np.concatenate(([False], tied)) | np.concatenate((tied, [False]))
    rows = np.flatnonzero(in_tie)
    group = np.cumsum(~np.concatenate(([False], tied)))[rows]
    moved = (
        pl.DataFrame({"group": group, "doc_id": doc_ids.gather(rows)})
        .sort("group", "doc_id", descending=[False, True])
        .get_column("doc_id")
    )
    return doc_ids.scatter(rows, moved)


def _check_twice(run: Run, ranked: Ranked) -> None:
    for query, row in repeated(ranked.hashes, ranked.starts):
        first, last = ranked.starts[query], ranked.starts[query + 1]
        ids = ranked.doc_ids[int(first) : int(last)]
        twice = ids.filter(ids.is_duplicated())
        if len(twice):
            duplicate(run, ranked.query_ids[query], ranked.doc_ids[row])


def repeated(hashes: Hashes, starts: Ints, cells: int = 1 << 21) -> list[tuple[int, int]]:
    """Queries in which two rows have the same hash, each with one such row.

    Queries are sorted a block at a time as the rows of a matrix, filled up with the largest
    number: much faster than one long sort.
    """
    lengths = np.diff(starts)
    found: list[tuple[int, int]] = []
    first = 0
    while first < len(lengths):
        last = _block_end(lengths, first, cells)
        widest = int(lengths[first:last].max(initial=0))
        inside = np.arange(widest) < lengths[first:last, None]
        matrix = np.full(inside.shape, np.iinfo(np.uint64).max, np.uint64)
        matrix[inside] = hashes[starts[first] : starts[last]]
        matrix.sort(axis=1)
        same = (matrix[:, 1:] == matrix[:, :-1]) & inside[:, 1:]
        for row in np.flatnonzero(same.any(axis=1)).tolist():
            value = matrix[row, 1:][same[row]][0]
            at = starts[first + row] + np.flatnonzero(
                hashes[starts[first + row] : starts[first + row + 1]] == value
            )
            found.append((first + row, int(at[-1])))
        first = last
    return found


def _block_end(lengths: Ints, first: int, cells: int) -> int:
    """The end of a block of queries whose matrix has at most that many cells (or one query)."""
    ahead = lengths[first : first + 4096]
    size = np.maximum.accumulate(ahead) * np.arange(1, len(ahead) + 1)
    return first + max(1, int(np.searchsorted(size, cells, "right")))


def keys(query_codes: Ints, hashes: Hashes) -> Hashes:
    """One number for a query and a document."""
    return hashes ^ ((query_codes.astype(np.uint64) + np.uint64(1)) * _SPREAD)


@dataclass(frozen=True, eq=False)
class Judged:
    """Judgements made ready to be met by any number of runs.

    ``query_ids`` are sorted by their bytes; rows by query, then by relevance, best first, and
    ``starts`` says where a query's rows begin.
    """

    name: str
    query_ids: pl.Series
    starts: Ints
    doc_ids: pl.Series
    relevance: Ints
    keys: Hashes

    @property
    def query(self) -> Ints:
        """The number of each row's query."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.starts))


def prepare(qrels: Qrels) -> Judged:
    """Judgements in order; a document judged twice for a query is an error."""
    table = qrels.table
    query_ids = table["query_id"].unique().sort()
    codes = codes_of(table["query_id"], query_ids)
    order = np.lexsort((-table["relevance"].to_numpy(), codes))
    codes = codes[order]
    doc_ids = table["doc_id"].gather(order)
    hashes = doc_ids.hash().to_numpy()
    starts = np.searchsorted(codes, np.arange(len(query_ids) + 1))
    for query, row in repeated(hashes, starts):
        ids = doc_ids[int(starts[query]) : int(starts[query + 1])]
        if ids.is_duplicated().any():
            duplicate(qrels, query_ids[query], doc_ids[row])
    relevance = table["relevance"].to_numpy()[order]
    return Judged(qrels.name, query_ids, starts, doc_ids, relevance, keys(codes, hashes))


def codes_of(column: pl.Series, names: pl.Series) -> Ints:
    """The place of each value among the names; -1 where it is none of them."""
    wanted = pl.DataFrame({"name": column})
    known = pl.DataFrame({"name": names, "code": np.arange(len(names), dtype=np.int64)})
    joined = wanted.join(known, on="name", how="left", maintain_order="left")
    return joined["code"].fill_null(-1).to_numpy()
