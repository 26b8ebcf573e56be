"""Recommending: a text goes in, the documents it should cite come out, each with its reasons.

The stages: a passage becomes a ``Query``, unless it gets no answer (``silence``); the runner finds
its ``Result`` (candidates, features, ranking, calibration: in ``learned``); of that is shown what
is likely enough, one document a work, explained (``explaining``) and with a key to type.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from citebed.collection import Collection, open_collection
from citebed.collection.progress import SILENT, Progress
from citebed.drafts.reading import DraftLike, draft_in
from citebed.drafts.records import Draft, Passage, Place, pieces
from citebed.drafts.wanting import wanted_first
from citebed.errors import CitebedError
from citebed.retrieval.index.choosing import languages_of
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.learned.fit import KNOWN, language_in
from citebed.retrieval.pipeline import SEEN, Pipeline, pipeline_of
from citebed.retrieval.query import Query
from citebed.retrieval.recommending.explaining import MORE, Citers, explain, reprint, works_of
from citebed.retrieval.recommending.keying import keys_for
from citebed.retrieval.recommending.recommendation import Recommendation
from citebed.retrieval.recommending.recommendations import Recommendations
from citebed.retrieval.recommending.silence import NothingToAsk, Silence, silence_notes
from citebed.retrieval.running.runner import Runner, RunOptions
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields, fields_of
from citebed.retrieval.search.queries import checked_date
from citebed.wording import printable

DEFAULT_MODEL = "bm25+learned"
"""What recommends unless another way of retrieval is named."""
DEFAULT_NUMBER, DEFAULT_OF_SEVERAL = 10, 3
"""So many documents a text gets, and each of several passages, unless a number is asked for."""


class _How(NamedTuple):
    """How to answer: how many documents, which never, of which time, and how likely at least."""

    k: int | None
    exclude: frozenset[str]
    before: str | None
    min_probability: float | None


class _Asking(NamedTuple):
    """A draft with the passages of it that ask, and the documents that are no answer.

    Of citations by authors and year that can mean several documents, ``perhaps`` has these: they
    are no answer where they are cited so.
    """

    draft: Draft
    passages: Sequence[Passage]
    left_out: frozenset[str] = frozenset()
    perhaps: Mapping[str, frozenset[str]] = {}

    def no_answers(self, passage: Passage) -> frozenset[str]:
        """The documents that are no answer for a passage."""
        return self.left_out.union(*(self.perhaps.get(name, ()) for name in passage.cites))


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

    def recommend(  # noqa: PLR0913 - likewise
        self,
        text: str,
        k: int | None = None,
        *,
        exclude: Iterable[str] = (),
        before: str | None = None,
        sentences: Sequence[str] = (),
        min_probability: float | None = None,
        least: float | None = None,
    ) -> Recommendations:
        """The ``k`` documents that ``text`` should cite most, never those in ``exclude``: the rule
        of ``recommend_for``, for a text that is prose already.

        ``sentences`` are the text's, where they are known already. ``least`` is what
        ``min_probability`` was called.
        """
        passage = Passage(text, sentences=tuple(sentences))
        how = _how(k, exclude, before, min_probability, least)
        return self._answered([_Asking(Draft((passage,)), [passage])], (), (), how)

    def recommend_for(  # noqa: PLR0913 - the options of the command, by name
        self,
        texts: DraftLike | Sequence[DraftLike],
        k: int | None = None,
        *,
        each: str | None = None,
        before: str | None = None,
        exclude: Iterable[str] = (),
        keep_cited: bool = False,
        bib: str | Path | Sequence[str | Path] = (),
        min_probability: float | None = None,
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
        ``min_probability`` what is right with that probability is, and with 0 the best there is for
        any text (``least`` is what it was called). What stands in the .bib files of a draft, or in
        those of ``bib``, is marked, with the key that it has there. The passages of several texts
        are numbered through.
        """
        how = _how(k, exclude, before, min_probability, least)
        libraries = _texts_of([bib] if isinstance(bib, str | Path) else bib)
        given = list(_each(texts))
        asking = [self._asking(one, each, keep_cited=keep_cited) for one in given]
        libraries += [text for one in asking for text in one.draft.library]
        if self._runner.prepare_for(sum(len(one.passages) for one in asking)):
            self._cards  # noqa: B018 - all at once
        notes = [
            note
            for one, source in zip(asking, given, strict=True)
            for note in (() if isinstance(source, Draft) else one.draft.notes)
        ]
        return self._answered(asking, libraries, notes, how)

    def _asking(self, given: DraftLike, each: str | None, *, keep_cited: bool) -> _Asking:
        """What asks in a text or a draft: by default each paragraph of a draft, the whole of a
        text."""
        draft, by_default = draft_in(given)
        unit: Any = each or by_default  # checked by those who cut the draft
        passages = wanted_first(pieces(draft, unit))
        if not passages:
            raise CitebedError("there is no prose in the text; expected a sentence or a paragraph")
        if keep_cited:
            return _Asking(draft, passages)
        return _Asking(draft, passages, *_cited(self.collection, draft))

    def _answered(
        self,
        asking: Sequence[_Asking],
        libraries: Sequence[str],
        notes: Iterable[str],
        how: _How,
    ) -> Recommendations:
        pairs = [(passage, one) for one in asking for passage in one.passages]
        passages: list[Passage] = []
        found: list[dict[str, Any]] = []
        silent: list[tuple[str, Passage]] = []
        for number, (passage, one) in enumerate(pairs, 1):
            several = DEFAULT_NUMBER if len(one.passages) == 1 else DEFAULT_OF_SEVERAL
            exclude = how.exclude | one.no_answers(passage)
            try:
                rows = list(self._found(passage, how._replace(exclude=exclude), several))
            except NothingToAsk as error:
                if len(pairs) == 1 and error.is_unsearchable:
                    raise
                silent.append((error.kind, passage))
                continue
            if not rows and how.min_probability is None:
                silent.append(("passage that nothing in the collection fits", passage))
                continue
            passages.append(replace(passage, number=number))
            found += [{**row, **_placed(number, passage, at, one.draft)} for row, at in rows]
        untold = dict.fromkeys(self._silence.untold(each.text) for each in passages)
        cards = self._cards_of(list(dict.fromkeys(row["doc_id"] for row in found)))
        drafts = [one.draft for one in asking]
        keys, about_keys = keys_for(cards, self.collection, libraries, drafts)
        for row in found:
            row["key"], row["in_bib"] = keys[row["doc_id"]]
        return Recommendations(
            tuple(Recommendation(**row) for row in found),
            tuple(passages),
            frozenset().union(*(one.left_out for one in asking)),
            (*notes, *self._runner.ranking_notes, *silence_notes(silent), *about_keys),
            self.collection,
            tuple(libraries),
            tuple(filter(None, untold)),
            len(silent),
        )

    @cached_property
    def _silence(self) -> Silence:
        return Silence(self._runner)

    @cached_property
    def _citers(self) -> Citers:
        return Citers(self.collection)

    def _found(
        self, passage: Passage, how: _How, by_default: int
    ) -> Iterator[tuple[dict[str, Any], int | None]]:
        """The documents for a passage as fields of recommendations, each with the number of the
        sentence that asked for it."""
        query = self._runner.query(
            passage.text, exclude=how.exclude, before=how.before, sentences=passage.sentences
        )
        least = self._least(query, how.min_probability)
        self._silence.check(passage, query, least)
        number = by_default if how.k is None else how.k
        (best,) = self._runner.results([query], max(number, SEEN) + MORE)
        tail, wanted = how.k is not None, bool(passage.wanted)
        result = self._silence.shown(best, least, tail=tail, wanted=wanted)
        cards = self._cards_of([self.index.ids[each] for each in result.hits.docs.tolist()])
        works = works_of(cards)[:number]
        result = result.only([work[0] for work in works])
        strengths = self._silence.strengths(result)
        first = [cards[work[0]] for work in works]
        rows = explain(self._runner, result, first, self._citers.named, strengths)
        reprints = {
            cards[best]["doc_id"]: tuple(reprint(cards[each]) for each in others)
            for best, *others in works
        }
        return (({**row, "reprints": reprints[row["doc_id"]]}, at) for row, at in rows)

    def _least(self, query: Query, asked: float | None) -> float | None:
        """The least probability of what is shown, where none is asked for: what is silent was
        learned from English texts, and in another language that the collection has nothing is."""
        language = language_in(self.index, query.language)
        is_other = language not in KNOWN and language in self._languages
        return 0.0 if asked is None and is_other else asked

    @cached_property
    def _languages(self) -> frozenset[str]:
        return frozenset(languages_of(self.collection))

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
        # Keywords only spell what feedback added, and take a third of the time to read.
        words = pl.col("keywords").list.join(", ").fill_null("")
        words = pl.lit("").alias("keywords") if self.pipeline.feedback is None else words
        columns = ("doc_id", texts, words, "authors", "year", "arxiv", "keys")
        rows = documents.select(*columns).collect().iter_rows(named=True)
        lists = ("authors", "keys")
        return {
            row["doc_id"]: {**row, **{name: tuple(row[name] or ()) for name in lists}}
            for row in rows
        }

    def _scan(self, names: list[str]) -> pl.LazyFrame:
        return self.collection.scan_documents().filter(pl.col("doc_id").is_in(names))


def _each(texts: DraftLike | Sequence[DraftLike]) -> Iterable[DraftLike]:
    """The texts one by one; what is none of them is one too, of which its reader will say so."""
    several = isinstance(texts, Iterable) and not isinstance(texts, str | bytes | Path | Draft)
    return texts if several else [texts]  # type: ignore[return-value, list-item]


def _how(
    k: int | None,
    exclude: Iterable[str],
    before: str | None,
    min_probability: float | None,
    least: float | None,
) -> _How:
    if least is not None:
        warnings.warn("'least' is now 'min_probability'", DeprecationWarning, stacklevel=3)
    date = None if before is None else checked_date(before)
    return _How(k, frozenset(exclude), date, least if min_probability is None else min_probability)


def _cited(
    collection: Collection, draft: Draft
) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """The documents that a draft cites already or is itself, and what it cites perhaps: of a
    citation by authors and year that fits several documents, no one can tell which it means."""
    cited = draft.cited
    if not (
        draft.title or any((cited.keys, cited.dois, cited.arxiv, cited.entries, cited.authored))
    ):
        return frozenset(), {}
    from citebed.drafts import already_cited, is_the_paper
    from citebed.drafts.references import by_authors

    columns = ("doc_id", "title", "doi", "url", "aliases", "keys", "cite_key", "arxiv")
    documents = collection.scan_documents().select(*columns, "authors", "year").collect()
    found = already_cited(cited, documents) | is_the_paper(draft.title, None, documents)
    named = by_authors(cited.authored, documents)
    found = found.union(*(names for names in named.values() if len(names) == 1))
    return frozenset(found), {cite: names for cite, names in named.items() if len(names) > 1}


def _texts_of(paths: Sequence[str | Path]) -> list[str]:
    if not paths:
        return []
    from citebed.drafts.bibliography.bibliography import bib_text  # with the reader of BibTeX

    return list(map(bib_text, paths))


def _placed(number: int, passage: Passage, sentence: int | None, draft: Draft) -> dict[str, Any]:
    """Where the sentence that asked for a document stands, or its passage."""
    start = Place(passage.source, passage.line, passage.column)
    place = passage.places[sentence] if sentence is not None and passage.places else start
    return {
        "passage": number, "line": place.line, "section": passage.section,
        "file": draft.file_of(place), "column": place.column,
    }  # fmt: skip


def recommend(
    collection: str | Path | Collection,
    texts: DraftLike | Sequence[DraftLike],
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
