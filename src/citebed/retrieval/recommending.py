"""Recommending: a text goes in, the documents it should cite come out, each with its reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection, open_collection
from citebed.errors import CitebedError
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.pipeline import Pipeline, pipeline_of
from citebed.retrieval.queries import checked_date
from citebed.retrieval.recommendations import Recommendation, Recommendations
from citebed.retrieval.running import Answer, Runner, RunOptions
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields, fields_of
from citebed.retrieval.search.searcher import usable
from citebed.text.sentences import split_sentences

if TYPE_CHECKING:
    from citebed.drafts import Passage
    from citebed.retrieval.questions import Given, Questions

_REASONS = 6
_WARM_FROM = 20
"""From so many passages on, making the recommender ready pays."""


class NothingToAsk(CitebedError):
    """A text of which no word can be searched for."""


class Recommender:
    """A collection ready to recommend from.

    ``warm`` makes it ready for many texts, which takes about a second for 100,000 documents;
    otherwise the first text is answered soonest.
    """

    def __init__(
        self,
        collection: str | Path | Collection,
        index: Index | None = None,
        pipeline: str | Pipeline = "bm25",
        fields: str | Fields = DEFAULT_FIELDS,
        *,
        warm: bool = False,
    ) -> None:
        self.collection = open_collection(collection)
        self.index = index or open_index(self.collection, verified=True)
        self.pipeline = pipeline_of(pipeline) if isinstance(pipeline, str) else pipeline
        if self.pipeline.feedback is not None and self.pipeline.feedback.judged:
            raise CitebedError(
                "recommending knows no judgements: leave out from=… so that the feedback takes "
                "the first documents found"
            )
        options = RunOptions(fields=fields_of(fields) if isinstance(fields, str) else fields)
        self._runner = Runner(self.collection, self.index, self.pipeline, options)
        if warm:
            self.prepare()

    def prepare(self) -> None:
        """Make ready for many texts."""
        self._runner.searcher.prepare()
        self._cards  # noqa: B018 - read now, not with the first text

    def recommend(
        self,
        text: str,
        k: int = 10,
        *,
        exclude: Iterable[str] = (),
        before: str | None = None,
        sentences: Sequence[str] = (),
    ) -> Recommendations:
        """The ``k`` documents that ``text`` should cite most, never those in ``exclude``.

        ``before`` leaves out what is later than a date; ``sentences`` are the text's, where
        they are known already. The text is prose: ``recommend_for`` reads drafts.
        """
        before = None if before is None else checked_date(before)
        asked = self._runner.asked(text, exclude=exclude, before=before)
        if not len(asked.terms.ids):
            raise NothingToAsk(self._nothing_to_ask(asked.text))
        (answer,) = self._runner.answers([asked], k)
        found = self._explained(answer, sentences or split_sentences(asked.text))
        return Recommendations(tuple(found))

    def recommend_for(
        self,
        texts: Given | Sequence[Given],
        k: int = 10,
        *,
        each: str | None = None,
        before: str | None = None,
        exclude: Iterable[str] = (),
        keep_cited: bool = False,
    ) -> Recommendations:
        """What texts and drafts should cite: ``k`` documents for each ``text`` (as a whole),
        ``paragraph`` or ``sentence``; by default for each paragraph of a draft.

        Left out is what a draft cites already (unless ``keep_cited``), and its own paper. The
        passages of several texts are numbered through.
        """
        from citebed.drafts import Draft
        from citebed.retrieval.questions import questions_of

        before = None if before is None else checked_date(before)
        asked = [
            questions_of(self.collection, given, each, keep_cited=keep_cited)
            for given in ([texts] if isinstance(texts, str | Path | Draft) else texts)
        ]
        if sum(len(questions.passages) for questions in asked) >= _WARM_FROM:
            self.prepare()
        return self._answered(asked, k, before, frozenset(exclude))

    def _answered(
        self, asked: list[Questions], k: int, before: str | None, exclude: frozenset[str]
    ) -> Recommendations:
        notes = [note for questions in asked for note in questions.notes]
        pairs = [(p, questions.left_out) for questions in asked for p in questions.passages]
        passages: list[Passage] = []
        found: list[Recommendation] = []
        for number, (passage, cited) in enumerate(pairs, 1):
            try:
                best = self.recommend(
                    passage.text,
                    k,
                    exclude=exclude | cited,
                    before=before,
                    sentences=passage.sentences,
                )
            except NothingToAsk as error:
                if len(pairs) == 1:
                    raise
                notes.append(f"line {passage.line}: {error}")
                continue
            passages.append(replace(passage, number=number))
            line, section = passage.line, passage.section
            found += [replace(one, passage=number, line=line, section=section) for one in best]
        left_out = frozenset().union(*(questions.left_out for questions in asked))
        return Recommendations(tuple(found), tuple(passages), left_out, tuple(notes))

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

    def _explained(self, answer: Answer, sentences: Sequence[str]) -> list[Recommendation]:
        searcher, hits = self._runner.searcher, answer.hits
        final = usable(answer.terms, searcher.view)
        shares = searcher.contributions(final.ids, hits.docs) * final.weights
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
        place = {number: at for at, number in enumerate(ids.tolist())}
        spelled: dict[int, str] = {}
        found: list[tuple[int, int]] = []
        for number, sentence in enumerate(sentences):
            for word in analyser.words(sentence):
                at = place.get(self.index.term_number(analyser.term(word) or ""), -1)
                if at >= 0:
                    found.append((at, number))
                    spelled.setdefault(at, word)
        words = [spelled.get(at) or self.index.terms[number] for number, at in place.items()]
        terms, places = np.array(found, np.int64).reshape(-1, 2).T
        return words, terms, places

    @cached_property
    def _cards(self) -> dict[str, dict[str, Any]]:
        return self._read_cards(self.collection.scan_documents())

    def _cards_of(self, names: list[str]) -> list[dict[str, Any]]:
        found = self.__dict__.get("_cards")  # all of them, where they were read already
        if found is None:
            wanted = pl.col("doc_id").is_in(names)
            found = self._read_cards(self.collection.scan_documents().filter(wanted))
        missing = [name for name in names if name not in found]
        if missing:
            raise CitebedError(
                f"document '{missing[0]}' is in the index but no longer in the collection. "
                f"Run: citebed index {self.collection.folder}"
            )
        return [found[name] for name in names]

    def _read_cards(self, documents: pl.LazyFrame) -> dict[str, dict[str, Any]]:
        texts = pl.col("title", "venue", "doi").fill_null("")
        rows = documents.select("doc_id", texts, "authors", "year").collect().iter_rows(named=True)
        return {row["doc_id"]: {**row, "authors": tuple(row["authors"] or ())} for row in rows}


def _best(shares: NDArray[np.float64]) -> list[int]:
    order = np.argsort(-shares, kind="stable")[:_REASONS]
    return [int(at) for at in order if shares[at] > 0]


def _asking_most(
    sentences: Sequence[str], places: NDArray[np.int64], parts: NDArray[np.float64]
) -> str:
    """The sentence whose parts are the most; none where only feedback's terms asked."""
    sums = np.bincount(places, weights=parts)
    return sentences[int(sums.argmax())] if sums.max(initial=0.0) > 0 else ""


def recommend(
    collection: str | Path | Collection,
    texts: Given | Sequence[Given],
    k: int = 10,
    *,
    model: str | Pipeline = "bm25",
    fields: str | Fields = DEFAULT_FIELDS,
    **options: Any,
) -> Recommendations:
    """The ``k`` papers of a collection that a text should cite, or each paragraph of a draft.

    ``texts`` is a text, the path of a draft (LaTeX, Markdown, plain text), or a list of either;
    the options are those of ``Recommender.recommend_for``. A ``Recommender`` that is kept is
    quicker for many.
    """
    return Recommender(collection, None, model, fields).recommend_for(texts, k, **options)
