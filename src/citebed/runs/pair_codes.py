"""Pairs of a query and a document as whole numbers, for tables of millions of rows.

A number orders as its pair does (query, then document, by their bytes), so sorting, matching and
finding doubles need no more strings once the ids are counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from citebed.runs.ranking import check_twice, codes_of, rank
from citebed.runs.tables import Ints, Qrels, Run, duplicate


class Pairs(NamedTuple):
    """The ids of several tables, ascending, and for each table a number a row."""

    query_ids: pl.Series
    doc_ids: pl.Series
    keys: tuple[Ints, ...]

    def queries(self, keys: Ints) -> Ints:
        """The place of each pair's query among ``query_ids``."""
        return np.asarray(keys // len(self.doc_ids))

    def table(self, keys: Ints) -> pl.DataFrame:
        """The pairs as ``query_id, doc_id``."""
        query, document = np.divmod(keys, max(len(self.doc_ids), 1))
        return pl.DataFrame(
            {"query_id": self.query_ids.gather(query), "doc_id": self.doc_ids.gather(document)}
        )


def pairs_of(*tables: pl.DataFrame) -> Pairs:
    """Number the pairs of tables with the columns ``query_id`` and ``doc_id``."""
    query_ids, doc_ids = (
        pl.concat([table[name].unique() for table in tables]).unique().sort()
        for name in ("query_id", "doc_id")
    )
    keys = tuple(
        codes_of(table["query_id"], query_ids) * len(doc_ids) + codes_of(table["doc_id"], doc_ids)
        for table in tables
    )
    return Pairs(query_ids, doc_ids, keys)


def distinct(keys: Ints) -> Ints:
    """The numbers, each once, ascending; for whole numbers much faster than numpy's ``unique``."""
    ordered = np.sort(keys)
    return np.asarray(ordered[np.diff(ordered, prepend=-1) != 0])


def refuse_doubles(of: Qrels | Run, keys: Ints) -> None:
    """Say so where a pair stands twice in a table."""
    ordered = np.sort(keys)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(again):
        row = int(np.flatnonzero(keys == again[0])[0])
        duplicate(of, of.table["query_id"][row], of.table["doc_id"][row])


def in_rank_order(run: Run) -> pl.DataFrame:
    """A run in the one order, queries ascending: ``query_id, doc_id, score, rank`` (from 1).

    A document that stands twice for a query is an error.
    """
    ranked = rank(run)
    check_twice(ranked)
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
