"""Places of judged documents: what workers send back of a run, and the rankings made of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.ranking import SortedQrels
from citebed.runs.tables import Ints

COLUMNS = dict.fromkeys(("retrieved", "rank", "relevance", "tie_first", "tie_size"), pl.Int64)
"""Of a query how many documents the run has; of a judged document in it where it stands."""
_OF_DOCUMENTS = ("rank", "relevance", "tie_first", "tie_size")


def places(name: str, queries: pl.Series, retrieved: Ints, found: Rankings) -> pl.DataFrame:
    """A row a query with its number of documents, and a row a judged document; ``name`` is the
    column of the queries."""
    own = {column: getattr(found, column) for column in _OF_DOCUMENTS}
    of_queries = pl.DataFrame({name: queries, "retrieved": retrieved})
    of_documents = pl.DataFrame({name: found.query_ids.gather(found.query), **own})
    return pl.concat([of_queries, of_documents.cast({name: queries.dtype})], how="diagonal")


def rankings_of(
    qrels: SortedQrels, table: pl.DataFrame, number: Callable[[pl.DataFrame], Ints]
) -> Rankings:
    """What workers sent of all parts, as if one machine had found it; ``number`` gives the number
    of each row's query among the judged, -1 for one that is not."""
    of_queries = table.filter(pl.col("retrieved").is_not_null())
    of_documents = table.filter(pl.col("rank").is_not_null())
    codes = number(of_queries)
    retrieved = np.zeros(len(qrels.query_ids), np.int64)
    retrieved[codes[codes >= 0]] = of_queries["retrieved"].to_numpy()[codes >= 0]
    query = number(of_documents)
    order = np.lexsort((of_documents["rank"].to_numpy(), query))
    rank, relevance, tie_first, tie_size = (
        of_documents[name].to_numpy()[order] for name in _OF_DOCUMENTS
    )
    return Rankings(
        qrels.query_ids, np.isin(np.arange(len(retrieved)), codes), retrieved, query[order], rank,
        relevance, tie_first, tie_size, qrels.query, qrels.relevance,
    )  # fmt: skip
