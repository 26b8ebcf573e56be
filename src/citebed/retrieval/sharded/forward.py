"""What each shard puts forward for a query, and the best of all shards.

A signal's list of one index of everything is made of the lists of its shards: the best of these, by
the same values and in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.retrieval.query import Query
from citebed.retrieval.ranking.candidates import (
    OF_SENTENCE,
    SAID,
    WORDS,
    Allowed,
    Liked,
    allowed_for,
    put_forward,
)
from citebed.retrieval.ranking.constants import Constants
from citebed.retrieval.ranking.features import Signals
from citebed.retrieval.search.exhaustive import Hits
from citebed.retrieval.vectors.vectors import Docs, Similarities

FORWARD: Mapping[str, Any] = {
    "query": pl.Int64, "name": pl.String, "doc_id": pl.String, "value": pl.Float64,
    "least": pl.Float64, "most": pl.Float64,
}  # fmt: skip
"""A document that a signal puts forward for a query, with the value that it has for it; and without
a document, the least and the greatest similarity of all."""


def forward(
    signals: Signals,
    queries: Sequence[Query],
    first: Sequence[Hits],
    in_time: Iterable[Allowed],
    depth: int,
) -> pl.DataFrame:
    """What a shard puts forward; ``first`` are its best by words, ``in_time`` which of its
    documents are not too late for each query."""
    found, ends = list[_List](), [pl.DataFrame(schema=FORWARD)]
    every = zip(queries, first, signals.embedded_in_turn(queries), in_time, strict=True)
    for number, (query, hits, own, times) in enumerate(every):
        _, said = signals.said(query, own)
        similar = signals.similar(own)
        allowed = allowed_for(query, times, len(signals.index.ids))
        lists = put_forward(
            hits, similar, dict.fromkeys(similar), said,
            allowed=allowed, depth=depth, constants=signals.constants,
        )  # fmt: skip
        for name, docs in lists:
            chosen = hits.docs if name == WORDS else docs
            found.append(_List(number, name, chosen, _values(name, chosen, hits, said, similar)))
        ends += [_ends(number, kind, each) for kind, each in similar.items()]
    return pl.concat([_rows(found, signals.index.ids.series()), *ends], how="diagonal")


class _List(NamedTuple):
    """What a signal puts forward for a query, by its place."""

    query: int
    name: str
    docs: Docs
    values: NDArray[np.float64]


def _values(
    name: str, docs: Docs, hits: Hits, said: Liked, similar: dict[str, Similarities]
) -> NDArray[np.float64]:
    if name == WORDS:
        return hits.scores
    if name == SAID:
        return np.asarray(said.likeness[np.searchsorted(said.docs, docs)], np.float64)
    kind, row = name.removesuffix(OF_SENTENCE), int(name.endswith(OF_SENTENCE))
    return np.asarray(similar[kind].exact(docs)[row], np.float64)


def _rows(lists: Sequence[_List], ids: pl.Series) -> pl.DataFrame:
    """Lists as rows; ids are looked up for all of them at once."""
    sizes = [len(each.docs) for each in lists]
    places = np.concatenate([np.zeros(0, np.int64), *(each.docs for each in lists)])
    columns = {
        "query": np.repeat(np.array([each.query for each in lists], np.int64), sizes),
        "name": np.repeat(np.array([each.name for each in lists], object), sizes),
        "doc_id": ids.gather(places),
        "value": np.concatenate([np.zeros(0), *(each.values for each in lists)]),
    }
    return pl.DataFrame(columns, schema={name: FORWARD[name] for name in columns})


def _ends(number: int, kind: str, similar: Similarities) -> pl.DataFrame:
    rows = range(len(similar.rough))
    bounds = [similar.bounds(row) for row in rows]
    return pl.DataFrame(
        {
            "query": [number] * len(bounds),
            "name": [f"{kind}{OF_SENTENCE if row else ''}" for row in rows],
            "least": [least for least, _ in bounds],
            "most": [most for _, most in bounds],
        },
        schema={name: FORWARD[name] for name in ("query", "name", "least", "most")},
    )


def best_of(rows: pl.DataFrame, depth: int, constants: Constants) -> pl.DataFrame:
    """What all shards together put forward: of each list as many as one index would."""
    documents = rows.filter(pl.col("doc_id").is_not_null())
    ends = rows.filter(pl.col("doc_id").is_null())
    wanted = max(constants.candidates, depth)
    counts = {WORDS: max(depth, constants.by_words), SAID: constants.cited_candidates}
    # Of equal ones the later id first, as everywhere; of what is said all that are equal.
    ranked = (
        documents.drop("most")
        .sort("query", "name", "value", "doc_id", descending=[False, False, True, True])
        .with_columns(
            wanted=pl.col("name").replace_strict(counts, default=wanted, return_dtype=pl.Int64),
            place=pl.int_range(pl.len()).over("query", "name"),
        )
    )
    is_first = pl.col("place") < pl.col("wanted")
    last = pl.col("value").filter(is_first).min().over("query", "name")
    is_said = (pl.col("name") == SAID) & (pl.col("value") >= last)
    chosen = ranked.filter(is_first | is_said).drop("place", "wanted")
    whole = ends.group_by("query", "name").agg(pl.col("least").min(), pl.col("most").max())
    return pl.concat([chosen, whole], how="diagonal")
