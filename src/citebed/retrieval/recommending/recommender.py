"""Recommending: a text goes in, the documents it should cite come out, each with its reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from citebed.collection import Collection, open_collection
from citebed.collection.progress import SILENT, Progress
from citebed.drafts.records import Draft, Passage, Place
from citebed.drafts.wanting import is_caption
from citebed.errors import CitebedError
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.pipeline import SEEN, Pipeline, pipeline_of
from citebed.retrieval.recommending.citers import Citers
from citebed.retrieval.recommending.explaining import Explained, explain
from citebed.retrieval.recommending.foreign import Languages
from citebed.retrieval.recommending.keying import with_keys
from citebed.retrieval.recommending.recommendation import Recommendation
from citebed.retrieval.recommending.recommendations import Recommendations
from citebed.retrieval.recommending.showing import Showing
from citebed.retrieval.recommending.works import MORE, reprint, works_of
from citebed.retrieval.running.runner import Runner, RunOptions
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields, fields_of
from citebed.retrieval.search.queries import checked_date
from citebed.text.boilerplate import is_boilerplate
from citebed.text.sentences import split_sentences
from citebed.text.words import speaks_of_itself
from citebed.wording import printable

if TYPE_CHECKING:
    from citebed.retrieval.recommending.questions import Given, Questions

DEFAULT_MODEL = "bm25+learned"
"""What recommends unless another way of retrieval is named."""
_WITHOUT_MATCH = "passage without a good match"
_WITHOUT_WORDS = "passage without a word that is in the index"


class NothingToAsk(CitebedError):
    """A text that gets no answer; ``kind`` is what such a passage is called.

    It is unsearchable where no word of it can be searched for.
    """

    def __init__(self, message: str, kind: str, *, is_unsearchable: bool = True) -> None:
        super().__init__(message)
        self.kind, self.is_unsearchable = kind, is_unsearchable


class _How(NamedTuple):
    """How to answer: how many documents, which never, of which time, and how likely at least."""

    k: int | None
    exclude: frozenset[str]
    before: str | None
    least: float | None
    by_default: int = 10

    def of(self, by_default: int, left_out: frozenset[str]) -> _How:
        """The same, with so many unless a number was asked for, and more that is no answer."""
        return self._replace(by_default=by_default, exclude=self.exclude | left_out)


class Recommender:
    """A collection ready to recommend from.

    ``warm`` makes it ready for many texts, which takes about a second for 100,000 documents;
    otherwise the first text is answered soonest.
    """

    def __init__(
        self,
        collection: str | Path | Collection,
        index: Index | None = None,
        pipeline: str | Pipeline = DEFAULT_MODEL,
        fields: str | Fields = DEFAULT_FIELDS,
        *,
        warm: bool = False,
        progress: Progress = SILENT,
    ) -> None:
        self.collection = open_collection(collection)
        self.index = index or open_index(self.collection, verified=True)
        if not len(self.index.ids):
            name = printable(self.collection.folder)
            raise CitebedError(
                f"there is nothing to recommend: '{name}' has no documents in its index. Run: "
                f"citebed import {name} FILES…, then citebed index {name}"
            )
        self.pipeline = pipeline_of(pipeline) if isinstance(pipeline, str) else pipeline
        if self.pipeline.feedback is not None and self.pipeline.feedback.judged:
            raise CitebedError(
                "recommending knows no judgements: leave out from=… so that the feedback takes "
                "the first documents found"
            )
        options = RunOptions(fields=fields_of(fields) if isinstance(fields, str) else fields)
        self._runner = Runner(self.collection, self.index, self.pipeline, options, progress)
        self._few_cards: dict[str, dict[str, Any]] = {}
        if warm:
            self.prepare()

    def prepare(self) -> None:
        """Make ready for many texts."""
        self._runner.prepare()
        self._cards  # noqa: B018 - read now, not with the first text

    def recommend(
        self,
        text: str,
        k: int | None = None,
        *,
        exclude: Iterable[str] = (),
        before: str | None = None,
        sentences: Sequence[str] = (),
        least: float | None = None,
    ) -> Recommendations:
        """The ``k`` documents that ``text`` should cite most, never those in ``exclude``: the rule
        of ``recommend_for``, for a text that is prose already.

        ``sentences`` are the text's, where they are known already.
        """
        from citebed.retrieval.recommending.questions import Questions

        passage = Passage(text, sentences=tuple(sentences))
        asked = Questions(Draft((passage,)), [passage])
        return self._answered([asked], (), _How(k, frozenset(exclude), _checked(before), least))

    def recommend_for(  # noqa: PLR0913 - the options of the command, by name
        self,
        texts: Given | Sequence[Given],
        k: int | None = None,
        *,
        each: str | None = None,
        before: str | None = None,
        exclude: Iterable[str] = (),
        keep_cited: bool = False,
        bib: str | Path | Sequence[str | Path] = (),
        least: float | None = None,
    ) -> Recommendations:
        """What texts and drafts should cite: ``k`` documents for each ``text`` (as a whole),
        ``paragraph`` or ``sentence``; by default for each paragraph of a draft. Unless ``k`` is
        given there are up to ten, three for each of several passages, and none that would hardly
        ever be right. What appeared more than once is one of them. Sentences in which a citation is
        still to come (``\\cite{}``, ``[?]``) are answered first, each by itself.

        Left out is what a draft cites already (unless ``keep_cited``), its own paper, and what is
        later than ``before``. Captions, headings, stubs, passages in a language that the collection
        does not have, and those without a good match get no answer, of which ``notes`` tell; with
        ``least`` what is right with that chance is, and with 0 the best there is for any text. What
        stands in the .bib files of a draft, or in those of ``bib``, is marked, with the key that
        it has there. The passages of several texts are numbered through.
        """
        from citebed.retrieval.recommending.questions import questions_of

        how = _How(k, frozenset(exclude), _checked(before), least)
        libraries = _texts_of([bib] if isinstance(bib, str | Path) else bib)
        asked = [
            questions_of(self.collection, given, each, keep_cited=keep_cited)
            for given in _each(texts)
        ]
        libraries += [text for questions in asked for text in questions.draft.library]
        if self._runner.prepare_for(sum(len(questions.passages) for questions in asked)):
            self._cards  # noqa: B018 - all at once
        return self._answered(asked, libraries, how)

    def _answered(
        self, asked: list[Questions], libraries: Sequence[str], how: _How
    ) -> Recommendations:
        from citebed.retrieval.recommending.questions import silence_notes

        pairs = [(passage, questions) for questions in asked for passage in questions.passages]
        passages: list[Passage] = []
        found: list[Recommendation] = []
        silent: list[tuple[str, Passage]] = []
        for number, (passage, questions) in enumerate(pairs, 1):
            try:
                best = self._found(passage, how.of(questions.number, questions.no_answers(passage)))
            except NothingToAsk as error:
                if len(pairs) == 1 and error.is_unsearchable:
                    raise
                silent.append((error.kind, passage))
                continue
            passages.append(replace(passage, number=number))
            found += [
                _placed(one, number, passage, sentence, questions.draft) for one, sentence in best
            ]
        notes = [note for questions in asked for note in questions.notes] + silence_notes(silent)
        untold = dict.fromkeys(self._showing.untold(each.text) for each in passages)
        left_out = frozenset().union(*(questions.left_out for questions in asked))
        cards = self._cards_of(list(dict.fromkeys(each.doc_id for each in found)))
        drafts = [each.draft for each in asked]
        keyed, about_keys = with_keys(found, cards, self.collection, libraries, drafts)
        notes += about_keys
        return Recommendations(
            keyed, tuple(passages), left_out, tuple(notes), self.collection, tuple(libraries),
            tuple(filter(None, untold)), len(silent),
        )  # fmt: skip

    def _silent(self, passage: Passage, least: float | None) -> str:
        """What a passage is that gets no answer, whatever could be found for it."""
        if passage.silent:
            return passage.silent
        if least != 0 and (language := self._languages.foreign(passage.text)):
            return f"passage in {language}"
        return _asks_nothing(passage) if least is None and not passage.wanted else ""

    @cached_property
    def _languages(self) -> Languages:
        return Languages(self.collection, self.index)

    @cached_property
    def _showing(self) -> Showing:
        return Showing(self._runner)

    @cached_property
    def _citers(self) -> Citers:
        return Citers(self.collection)

    def _found(self, passage: Passage, how: _How) -> list[Explained]:
        """The documents for a passage, each with the number of the sentence that asked for it."""
        if why := self._silent(passage, how.least):
            raise NothingToAsk(why, why, is_unsearchable=False)
        asked = self._runner.asked(passage.text, exclude=how.exclude, before=how.before)
        if not len(asked.terms.ids):
            raise self._nothing_to_ask(asked.text)
        asked = replace(asked, sentences=passage.sentences or split_sentences(asked.text))
        number = how.by_default if how.k is None else how.k
        (best,) = self._runner.answers([asked], max(number, SEEN) + MORE)
        answer = best if how.least is None else best.at_least(how.least)
        if how.least is None and self._showing.is_poor(asked.text, answer):
            raise NothingToAsk(_WITHOUT_MATCH, _WITHOUT_MATCH, is_unsearchable=False)
        if how.least is None and how.k is None:
            answer = self._showing.without_tail(asked.text, answer)
        cards = self._cards_of([self.index.ids[int(each)] for each in answer.hits.docs])
        works = works_of(cards)[:number]
        best_cards = [
            {**cards[best], "reprints": tuple(reprint(cards[each]) for each in others)}
            for best, others in works
        ]
        answer = answer.only([work.best for work in works])
        told = not self._showing.untold(asked.text) or not works
        matches = () if told else self._showing.matches(asked, answer)
        strengths = [match.strength() for match in matches]
        return explain(self._runner, asked, answer, best_cards, self._citers.named, strengths)

    def _nothing_to_ask(self, text: str) -> NothingToAsk:
        words = self.index.analyser.words(text)
        if not words:
            what = "the text has no words. Give a sentence or a paragraph of prose."
            return NothingToAsk(what, "passage without words")
        if not any(map(is_telling, self.index.analyser.terms(text))):
            what = "the text has only stop words. Give a sentence or a paragraph of prose."
            return NothingToAsk(what, "passage with only stop words")
        return NothingToAsk(_WITHOUT_WORDS, _WITHOUT_WORDS, is_unsearchable=False)

    # --- The documents ---

    @cached_property
    def _cards(self) -> dict[str, dict[str, Any]]:
        return self._read_cards(self.collection.scan_documents())

    def _cards_of(self, names: list[str]) -> list[dict[str, Any]]:
        # All of them, where they were read already; else those that were asked for so far.
        found = self.__dict__.get("_cards", self._few_cards)
        missing = [name for name in names if name not in found]
        if missing and found is self._few_cards:
            found |= self._read_cards(self._scan(missing))
            missing = [name for name in missing if name not in found]
        if missing:
            raise CitebedError(
                f"document '{missing[0]}' is in the index but no longer in the collection. "
                f"Run: citebed index {self.collection.folder}"
            )
        return [found[name] for name in names]

    def _read_cards(self, documents: pl.LazyFrame) -> dict[str, dict[str, Any]]:
        texts = pl.col("title", "venue", "doi", "url", "abstract", "cite_key").fill_null("")
        words = pl.col("keywords").list.join(", ").fill_null("")
        columns = ("doc_id", texts, words, "authors", "year", "arxiv", "keys")
        rows = documents.select(*columns).collect().iter_rows(named=True)
        lists = ("authors", "keys")
        return {
            row["doc_id"]: {**row, **{name: tuple(row[name] or ()) for name in lists}}
            for row in rows
        }

    def _scan(self, names: list[str]) -> pl.LazyFrame:
        return self.collection.scan_documents().filter(pl.col("doc_id").is_in(names))


def _each(texts: Given | Sequence[Given]) -> Iterable[Given]:
    """The texts one by one; what is none of them is one too, of which its reader will say so."""
    several = isinstance(texts, Iterable) and not isinstance(texts, str | bytes | Path | Draft)
    return texts if several else [texts]  # type: ignore[return-value, list-item]


def _checked(before: str | None) -> str | None:
    return None if before is None else checked_date(before)


def _asks_nothing(passage: Passage) -> str:
    """What a passage is that asks for nothing, whatever it was given as."""
    if is_caption(passage.text):
        return "caption"
    parts = passage.sentences or split_sentences(passage.text)
    is_own = speaks_of_itself(passage.text) or all(
        speaks_of_itself(each) or is_boilerplate(each) for each in parts
    )
    return "passage about the text itself" if is_own and parts else ""


def _texts_of(paths: Sequence[str | Path]) -> list[str]:
    if not paths:
        return []
    from citebed.drafts.bibliography.bibliography import bib_text  # with the reader of BibTeX

    return list(map(bib_text, paths))


def _placed(
    one: Recommendation, number: int, passage: Passage, sentence: int | None, draft: Draft
) -> Recommendation:
    """A recommendation with the place of the sentence that asked for it, or of its passage."""
    start = Place(passage.source, passage.line, passage.column)
    place = passage.places[sentence] if sentence is not None and passage.places else start
    return replace(
        one, passage=number, line=place.line, section=passage.section,
        file=draft.file_of(place), column=place.column,
    )  # fmt: skip


def recommend(
    collection: str | Path | Collection,
    texts: Given | Sequence[Given],
    k: int | None = None,
    *,
    model: str | Pipeline = DEFAULT_MODEL,
    fields: str | Fields = DEFAULT_FIELDS,
    **options: Any,
) -> Recommendations:
    """The ``k`` papers of a collection that a text should cite, or each paragraph of a draft; by
    default up to ten, and none that would hardly ever be right.

    ``texts`` is a text, the path of a draft (LaTeX, Markdown, plain text), or a list of either;
    the options are those of ``Recommender.recommend_for``. A ``Recommender`` that is kept is
    quicker for many.
    """
    return Recommender(collection, None, model, fields).recommend_for(texts, k, **options)
