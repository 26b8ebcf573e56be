"""Places of judged documents: what workers send back of a run, and the rankings made of them."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl

from citebed.distributed.parcels import packed, unpacked
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.ranking import SortedQrels, rehash
from citebed.runs.tables import Ints

NUMBER = "number"
COLUMNS = dict.fromkeys(
    (NUMBER, "retrieved", "rank", "relevance", "tie_first", "tie_size"), pl.Int64
)
"""Of a query, by its number among the judged, how many documents the run has; of a judged document
in it where it stands."""
_COMPRESSION = "zstd"
_OF_DOCUMENTS = ("rank", "relevance", "tie_first", "tie_size")


class Carried:
    """Judgements, and what else there is, as they travel to each task. The same are known again
    without being unpacked."""

    def __init__(self, qrels: SortedQrels, *more: Any) -> None:
        import pyarrow as pa

        table = pl.DataFrame({"doc_id": qrels.doc_ids, "relevance": qrels.relevance})
        few = replace(
            qrels, doc_ids=qrels.doc_ids[:0], relevance=qrels.relevance[:0], keys=qrels.keys[:0]
        )
        rest = pickle.dumps((few, *more))
        self.rows, self.size = packed(table), len(rest)
        self.rest: bytes = pa.compress(rest, _COMPRESSION, asbytes=True)
        self.digest = sha256(self.rows + self.rest).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Carried) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@lru_cache(2)
def arrived(what: Carried) -> Any:
    """The same, with documents' ids as this machine hashes them: once in each worker."""
    import pyarrow as pa

    table = unpacked(what.rows)
    qrels, *more = pickle.loads(pa.decompress(what.rest, what.size, _COMPRESSION))
    doc_ids, relevance = table["doc_id"], table["relevance"].to_numpy()
    return rehash(replace(qrels, doc_ids=doc_ids, relevance=relevance)), *more


def places(
    queries: Ints, retrieved: Ints, found: Rankings, more: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """A row a query with its number of documents (and ``more``), and a row a judged document."""
    own = {column: getattr(found, column) for column in _OF_DOCUMENTS}
    of_queries = pl.DataFrame({NUMBER: queries, "retrieved": retrieved, **(more or {})})
    return pl.concat([of_queries, pl.DataFrame({NUMBER: found.query, **own})], how="diagonal")


def rankings_of(qrels: SortedQrels, table: pl.DataFrame) -> Rankings:
    """What workers sent of all parts, as if one machine had found it."""
    of_queries = table.filter(pl.col("retrieved").is_not_null() & (pl.col(NUMBER) >= 0))
    of_documents = table.filter(pl.col("rank").is_not_null())
    retrieved = np.zeros(len(qrels.query_ids), np.int64)
    in_run = np.zeros(len(qrels.query_ids), bool)
    numbers = of_queries[NUMBER].to_numpy()
    retrieved[numbers], in_run[numbers] = of_queries["retrieved"].to_numpy(), True
    query = of_documents[NUMBER].to_numpy()
    order = np.lexsort((of_documents["rank"].to_numpy(), query))
    rank, relevance, tie_first, tie_size = (
        of_documents[name].to_numpy()[order] for name in _OF_DOCUMENTS
    )
    return Rankings(
        qrels.query_ids, in_run, retrieved, query[order], rank, relevance, tie_first, tie_size,
        qrels.query, qrels.relevance, qrels.highest,
    )  # fmt: skip
