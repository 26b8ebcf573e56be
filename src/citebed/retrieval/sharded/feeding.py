"""Feedback over shards: the terms of documents are read where they are, and the better query is
made once, here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights
from citebed.retrieval.search.feeding import JudgedFeedback, read_judged
from citebed.retrieval.sharded.counting import WholeCounts
from citebed.retrieval.sharded.shard import (
    DOCUMENT_TERMS,
    FOUND,
    DocumentTerms,
    FindDocuments,
    SeenWhole,
    WantedDocuments,
)
from citebed.retrieval.sharded.spreading import Spread

Ranked = tuple[tuple[str, ...], tuple[float, ...]]
"""Documents by id, and their scores."""
NOBODY: Ranked = ((), ())
Sources = tuple[Ranked, Ranked]
"""The documents of a query that are taken for relevant, and those that are not."""


def ranked(hits: pl.DataFrame) -> dict[int, Ranked]:
    """The documents that were found, by the number of the query; in the order of a ranking."""
    parts = hits.partition_by("query", as_dict=True, maintain_order=True)
    return {
        int(number): (tuple(part["doc_id"]), tuple(part["score"]))
        for (number,), part in parts.items()
    }


class Judged:
    """Judgements that feedback is taken from, of documents in shards."""

    def __init__(self, collection: Collection, source: str, spread: Spread) -> None:
        self._ids: list[str] = []
        self._spread = spread
        self.judged: JudgedFeedback = read_judged(collection, self._find, source)

    def _find(self, names: Sequence[str]) -> list[int]:
        """The numbers of documents among those that the shards have of these; -1 for others."""
        work = FindDocuments(tuple(sorted(set(names))))
        self._ids = self._spread.rows(work, FOUND)["doc_id"].sort().to_list()
        place = {name: number for number, name in enumerate(self._ids)}
        return [place.get(name, -1) for name in names]

    def of(self, query_id: str) -> Sources:
        """The judged documents of a query, in the order of their ids."""
        relevant, others = (
            (tuple(self._ids[n] for n in hits.docs.tolist()), tuple(hits.scores.tolist()))
            for hits in self.judged.hits(query_id)
        )
        return relevant, others


def better_terms(
    queries: Sequence[tuple[TermWeights, str | None]],
    sources: Sequence[Sources],
    feedback: Feedback,
    seen: SeenWhole,
    spread: Spread,
) -> tuple[list[TermWeights], WholeCounts]:
    """The better queries of queries (each with whose citing text does not count) and of documents;
    and the counts in which these are numbered."""
    wanted = tuple(
        WantedDocuments(2 * at + kind, names, hidden)
        for at, ((_, hidden), both) in enumerate(zip(queries, sources, strict=True))
        for kind, (names, _) in enumerate(both)
        if names
    )
    rows = spread.rows(DocumentTerms(seen, wanted), DOCUMENT_TERMS)
    counts, numbered = _numbered(seen.counts, rows)
    parts = numbered.partition_by("of", as_dict=True)
    model, better = seen.pipeline.model, []
    for at, ((terms, hidden), both) in enumerate(zip(queries, sources, strict=True)):
        own = replace(terms, ids=_renumbered(terms, seen.counts, counts))
        documents = _both(at, both, parts)
        better.append(feedback.expand(model, own, documents, counts.corpus(hidden)))
    return better, counts


def _numbered(counts: WholeCounts, rows: pl.DataFrame) -> tuple[WholeCounts, pl.DataFrame]:
    """Counts that know the terms of documents too, but only by name; and the rows with the number
    of each term, in the order of documents and terms."""
    known = pl.concat([counts.table["term"], rows["term"].filter(rows["term"] != "")])
    terms = pl.DataFrame({"term": known.unique().sort()})
    numbers = terms.with_columns(id=pl.int_range(pl.len(), dtype=pl.Int64))
    found = rows.join(numbers, on="term", how="left").sort("of", "place", "term")
    return replace(counts, table=terms), found


def _renumbered(terms: TermWeights, before: WholeCounts, now: WholeCounts) -> np.ndarray:
    names = before.table["term"].gather(terms.ids)
    return np.array([now.numbers[name] for name in names], np.int64)


def _both(
    at: int, both: Sources, parts: Mapping[tuple[int, ...], pl.DataFrame]
) -> FeedbackDocuments:
    """The documents of a query as feedback takes them."""
    none = pl.DataFrame(schema={**DOCUMENT_TERMS, "id": pl.Int64})
    relevant, others = (
        _documents(parts.get((2 * at + kind,), none), scores)
        for kind, (_, scores) in enumerate(both)
    )
    return replace(relevant, nonrelevant=others) if len(others) else relevant


def _documents(rows: pl.DataFrame, scores: Sequence[float]) -> FeedbackDocuments:
    whole = rows.filter(pl.col("term") == "")
    terms = rows.filter(pl.col("term") != "")
    places = terms["place"].to_numpy()
    sizes = np.bincount(places.astype(np.int64), minlength=len(scores))
    return FeedbackDocuments(
        starts=np.cumsum([0, *sizes.tolist()]),
        ids=terms["id"].to_numpy(),
        tf=terms["tf"].to_numpy(),
        df=terms["df"].to_numpy(),
        cf=terms["cf"].to_numpy(),
        lengths=whole["length"].to_numpy().astype(np.float32),
        scores=np.array(scores, np.float64),
        x=whole["x"].to_numpy(),
    )
