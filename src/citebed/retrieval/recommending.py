"""Recommending: a text goes in, the documents it should cite come out, each with its reasons."""

from __future__ import annotations

from collections.abc import Collection as Some
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.errors import CitebedError
from citebed.records import Document
from citebed.retrieval.dates import allowed_before, checked_date
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.pipeline import Pipeline, pipeline_of
from citebed.retrieval.queries import is_telling, query_text
from citebed.retrieval.search.feeding import better_query
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields
from citebed.retrieval.search.hits import NOTHING, Hits
from citebed.retrieval.search.searcher import Searcher, usable
from citebed.text.sentences import split_sentences

_REASONS = 6
_SHOWN = ("doc_id", "title", "authors", "year", "venue", "doi")


class NothingToAsk(CitebedError):
    """A text of which no word can be searched for."""


@dataclass(frozen=True)
class Recommendation:
    """A document, and why: ``terms`` are the words of the text that asked for it, best first.

    ``sentence`` is the sentence of the text that asked most for it.
    """

    rank: int
    doc_id: str
    score: float
    title: str
    authors: tuple[str, ...]
    year: int | None
    venue: str
    doi: str
    terms: tuple[str, ...]
    sentence: str


class Recommender:
    """A collection ready to recommend from.

    ``warm`` makes it ready for many texts, which takes about a second for 100,000 documents;
    otherwise the first text is answered soonest.
    """

    def __init__(
        self,
        collection: Collection,
        index: Index,
        pipeline: str | Pipeline = "bm25",
        fields: Fields = DEFAULT_FIELDS,
        *,
        warm: bool = False,
    ) -> None:
        self.collection = collection
        self.index = index
        self.pipeline = pipeline_of(pipeline) if isinstance(pipeline, str) else pipeline
        if self.pipeline.feedback is not None and self.pipeline.feedback.judged:
            raise CitebedError(
                "recommending knows no judgements: leave out from=… so that the feedback takes "
                "the first documents found"
            )
        self._searcher = Searcher(index, self.pipeline.model, fields)
        self._dates: dict[str, NDArray[np.bool_] | None] = {}
        if warm:
            self._searcher.prepare()
            self._cards  # noqa: B018 - read now, not with the first text

    def recommend(
        self,
        text: str,
        k: int = 10,
        *,
        exclude: Iterable[str] = (),
        before: str | None = None,
        sentences: Sequence[str] = (),
    ) -> list[Recommendation]:
        """The ``k`` documents that ``text`` should cite most, never those in ``exclude``.

        ``before`` leaves out what is later than a date; ``sentences`` are the text's, where
        they are known already.
        """
        clean = query_text(text)
        query = self._searcher.query(clean)
        if not len(query.ids):
            raise NothingToAsk(self._nothing_to_ask(clean))
        numbers = [self.index.ids.find(name) for name in exclude]
        excluded = np.array([number for number in numbers if number >= 0], np.int64)
        query, hits = self._search(query, clean, k, excluded, self._allowed(before))
        return self._explained(query, hits, sentences or split_sentences(clean))

    def document(self, doc_id: str) -> Document:
        """The whole record of a document."""
        return self.collection.document(doc_id)

    def _nothing_to_ask(self, text: str) -> str:
        words = self.index.analyser.words(text)
        if not words:
            return "the text has no words. Give a sentence or a paragraph of prose."
        if not any(map(is_telling, self.index.analyser.terms(text))):
            return "the text has only stop words. Give a sentence or a paragraph of prose."
        return (
            f"none of the text's {len(words)} words is in the index of "
            f"{self.collection.folder}: is it in another language, or on another subject?"
        )

    def _allowed(self, before: str | None) -> NDArray[np.bool_] | None:
        if before is None:
            return None
        before = checked_date(before)
        if before not in self._dates:
            self._dates[before] = allowed_before(self.collection, self.index, before)
        return self._dates[before]

    def _search(
        self,
        query: TermWeights,
        text: str,
        k: int,
        excluded: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None,
    ) -> tuple[TermWeights, Hits]:
        search, feedback, stage = self._searcher.search, *self._later_parts
        if feedback is not None:
            first = search(query, feedback.docs or 0, excluded=excluded, allowed=allowed)
            query = better_query(self._searcher.view, feedback, query, first, NOTHING)
        depth = k if stage is None else max(k, stage.top)
        hits = search(query, depth, excluded=excluded, allowed=allowed)
        if stage is not None:
            hits = self._reordered(text, hits)
        return query, Hits(hits.docs[:k], hits.scores[:k])

    @property
    def _later_parts(self) -> tuple[Any, Any]:
        return self.pipeline.feedback, self.pipeline.stage

    @cached_property
    def _encoder(self) -> Any:
        from citebed.retrieval.rerank import load_reranker

        return load_reranker(self.pipeline.stage.encoder) if self.pipeline.stage else None

    def _reordered(self, text: str, hits: Hits) -> Hits:
        from citebed.collection.reading.reader import SILENT
        from citebed.retrieval.second_stage import second_stage

        if self.pipeline.stage is None or not len(hits.docs):
            return hits
        names = [self.index.ids[int(number)] for number in hits.docs]
        table = pl.DataFrame(
            {"query_id": [""] * len(names), "doc_id": names, "score": hits.scores}
        ).with_columns(pl.int_range(1, pl.len() + 1).alias("rank"))
        again, _ = second_stage(
            self.collection, self.pipeline.stage, table, {"": text}, SILENT, self._encoder
        )
        numbers = [self.index.ids.find(name) for name in again["doc_id"]]
        return Hits(np.array(numbers, np.int64), again["score"].to_numpy())

    def _explained(
        self, query: TermWeights, hits: Hits, sentences: Sequence[str]
    ) -> list[Recommendation]:
        final = usable(query, self._searcher.view)
        shares = self._searcher.contributions(final.ids, hits.docs) * final.weights
        words, terms, places = self._words(final.ids, sentences)
        # A term's share goes to the sentences that have it, in parts.
        often = np.bincount(terms, minlength=len(words))[terms]
        cards = self._cards_of([self.index.ids[int(number)] for number in hits.docs])
        return [
            Recommendation(
                rank=place + 1,
                score=float(hits.scores[place]),
                terms=tuple(words[t] for t in _best(shares[place])),
                sentence=_asking_most(sentences, places, shares[place, terms] / often),
                **card,
            )
            for place, card in enumerate(cards)
        ]

    def _words(
        self, ids: NDArray[np.int64], sentences: Sequence[str]
    ) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
        """The query's terms as the text spells them; where they occur: the term, the sentence."""
        analyser = self.index.analyser
        place = {self.index.terms[int(number)]: at for at, number in enumerate(ids)}
        spelled: dict[int, str] = {}
        found: list[tuple[int, int]] = []
        for number, sentence in enumerate(sentences):
            for word in analyser.words(sentence):
                at = place.get(analyser.term(word) or "", -1)
                if at >= 0:
                    found.append((at, number))
                    spelled.setdefault(at, word)
        words = [spelled.get(at, term) for at, term in enumerate(place)]
        terms, places = np.array(found, np.int64).reshape(-1, 2).T
        return words, terms, places

    @cached_property
    def _cards(self) -> dict[str, dict[str, Any]]:
        return {card["doc_id"]: card for card in self._read_cards(None)}

    def _cards_of(self, names: Sequence[str]) -> list[dict[str, Any]]:
        if "_cards" in self.__dict__:
            found = self._cards
        else:
            found = {card["doc_id"]: card for card in self._read_cards(names)}
        missing = [name for name in names if name not in found]
        if missing:
            raise CitebedError(
                f"document '{missing[0]}' is in the index but no longer in the collection. "
                f"Run: citebed index {self.collection.folder}"
            )
        return [found[name] for name in names]

    def _read_cards(self, names: Some[str] | None) -> Iterable[dict[str, Any]]:
        scan = self.collection.scan_documents().select(_SHOWN)
        if names is not None:
            scan = scan.filter(pl.col("doc_id").is_in(list(names)))
        for row in scan.collect().iter_rows(named=True):
            texts = {name: row[name] or "" for name in ("doc_id", "title", "venue", "doi")}
            yield {**texts, "authors": tuple(row["authors"] or ()), "year": row["year"]}


def _best(shares: NDArray[np.float64]) -> list[int]:
    order = np.argsort(-shares, kind="stable")[:_REASONS]
    return [int(at) for at in order if shares[at] > 0]


def _asking_most(
    sentences: Sequence[str], places: NDArray[np.int64], parts: NDArray[np.float64]
) -> str:
    """The sentence whose parts are the most; none where only feedback's terms asked."""
    sums = np.bincount(places, weights=parts)
    return sentences[int(sums.argmax())] if sums.max(initial=0.0) > 0 else ""


def recommend(folder: str | Path, text: str, k: int = 10, **options: Any) -> list[Recommendation]:
    """The ``k`` papers of the collection at ``folder`` that ``text`` should cite.

    For one text; a ``Recommender`` is quicker for many, and takes the same options.
    """
    collection = Collection(folder)
    index = open_index(collection.folder, verified=True)
    return Recommender(collection, index).recommend(text, k, **options)
