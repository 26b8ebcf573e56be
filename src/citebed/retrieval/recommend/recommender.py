"""Recommending: a text goes in, the documents it should cite come out, each with its reasons.

The stages: a passage becomes a ``Query``, unless it gets no answer (``silence``); the runner finds
its ``Result`` (candidates, features, ranking, calibration: in ``learned``); of that is shown what
is likely enough, one document a work, explained (``explaining``) and with a key to type.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.collection import Collection, open_collection
from citebed.collection.filters import Filter
from citebed.collection.progress import SILENT, Progress
from citebed.drafts.citation_placeholders import put_placeholders_first
from citebed.drafts.reader import DraftLike, resolve_draft
from citebed.drafts.records import Draft, Passage, Place, pieces
from citebed.errors import CitebedError
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.analyser_choice import sample_languages
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.memory import trim_heap
from citebed.retrieval.pipeline import CALIBRATION_DEPTH, Pipeline, parse_pipeline
from citebed.retrieval.query import Query
from citebed.retrieval.ranking.fitted_weights import KNOWN, language_in
from citebed.retrieval.recommend.abstention import NothingToAsk, Silence, silence_notes
from citebed.retrieval.recommend.cite_keys import keys_for
from citebed.retrieval.recommend.cited import Known
from citebed.retrieval.recommend.explaining import MORE, Citers, explain, reprint, works_of
from citebed.retrieval.recommend.metadata import Card, Cards
from citebed.retrieval.recommend.options import How, divided, how_of, judged_of
from citebed.retrieval.recommend.recommendation import Recommendation
from citebed.retrieval.recommend.recommendations import Recommendations
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields, fields_of
from citebed.retrieval.search.searcher import Searcher
from citebed.wording import printable

DEFAULT_MODEL = "bm25+learned"
"""What recommends unless another way of retrieval is named."""
DEFAULT_NUMBER, DEFAULT_OF_SEVERAL = 10, 3
"""So many documents a text gets, and each of several passages, unless a number is asked for."""

_ANY = "A text is asked, so that the first one that somebody has finds all ready."


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
        self.pipeline = parse_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
        if self.pipeline.feedback is not None and self.pipeline.feedback.judged:
            raise CitebedError(
                "recommending knows no judgements: leave out from=… so that the feedback takes "
                "the first documents found"
            )
        options = RunOptions(fields=fields_of(fields) if isinstance(fields, str) else fields)
        self._runner = Runner(self.collection, self.index, self.pipeline, options, progress)
        has_feedback = self.pipeline.feedback is not None
        self._cards = Cards(self.collection, self.index, keywords=has_feedback)
        self._known = Known(self._cards)
        self._lock, self._is_prepared = threading.Lock(), False
        if warm:
            self.prepare()

    @property
    def searcher(self) -> Searcher:
        """What finds documents by their words."""
        return self._runner.searcher

    def prepare(self) -> None:
        """Make ready for many texts; from then on several threads may ask at once."""
        with self._lock:
            if not self._is_prepared:
                self._runner.prepare()
                self._cards.prepare()
                with suppress(CitebedError):  # what is made once is made now
                    self.recommend(_ANY, min_probability=0)
                self.index.release()
                trim_heap()
                self._is_prepared = True

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
        among: Filter | None = None,
        relevant: Iterable[str] = (),
        nonrelevant: Iterable[str] = (),
    ) -> Recommendations:
        """The ``k`` documents that ``text`` should cite most, never those in ``exclude``: the rule
        of ``recommend_for``, for a text that is prose already.

        ``sentences`` are the text's, where they are known already. ``least`` is what
        ``min_probability`` was called.
        """
        passage = Passage(text, sentences=tuple(sentences))
        how = how_of(k, exclude, before, min_probability, least, among)
        judged, notes = judged_of(self._runner, self._known, relevant, nonrelevant)
        asking = [_Asking(Draft((passage,)), [passage])]
        return self._answered(asking, (), notes, how.said(self.index, judged))

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
        among: Filter | None = None,
        in_bib: bool = False,
        relevant: Iterable[str] = (),
        nonrelevant: Iterable[str] = (),
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

        With a filter the answers are the best ``among`` those that it lets through, and with
        ``in_bib`` among those that stand in these .bib files; what is said of a document, its
        probability too, is the same without a filter.

        ``relevant`` and ``nonrelevant`` are documents (by id, DOI, arXiv id or key) that a person
        said are right for the text, and are not. The latter never come back, in no other edition
        either. The former stay in the list, mostly at its top, and beside them there are as many
        others as without them: these are ranked anew, by the text moved towards what is right and
        away from what is not. Such a text gets an answer whatever it says. Of several passages each
        document is said of the one that it is most like.
        """
        how = how_of(k, exclude, before, min_probability, least, among)
        libraries = _texts_of([bib] if isinstance(bib, str | Path) else bib)
        given = list(_each(texts))
        asking = [self._asking(one, each, keep_cited=keep_cited) for one in given]
        libraries += [text for one in asking for text in one.draft.library]
        if self._runner.prepare_for(sum(len(one.passages) for one in asking)):
            self.prepare()
        notes = [
            note
            for one, source in zip(asking, given, strict=True)
            for note in (() if isinstance(source, Draft) else one.draft.notes)
        ]
        judged, unknown = judged_of(self._runner, self._known, relevant, nonrelevant)
        how = how.said(self.index, judged)
        if in_bib:
            how = replace(how, among=self._in_bib(libraries, among))
        return self._answered(asking, libraries, [*notes, *unknown], how)

    def _in_bib(self, libraries: Sequence[str], among: Filter | None) -> Filter:
        """A filter that lets through what stands in .bib files, too."""
        mine, asked = self._known.in_libraries(libraries), among or Filter()
        names = mine if asked.doc_ids is None else mine & asked.doc_ids
        return replace(asked, doc_ids=names)

    def _asking(self, given: DraftLike, each: str | None, *, keep_cited: bool) -> _Asking:
        """What asks in a text or a draft: by default each paragraph of a draft, the whole of a
        text."""
        draft, by_default = resolve_draft(given)
        unit: Any = each or by_default  # checked by those who cut the draft
        passages = put_placeholders_first(pieces(draft, unit))
        if not passages:
            raise CitebedError("there is no prose in the text; expected a sentence or a paragraph")
        if keep_cited:
            return _Asking(draft, passages)
        return _Asking(draft, passages, *self._known.cited(draft))

    def _answered(
        self,
        asking: Sequence[_Asking],
        libraries: Sequence[str],
        notes: Iterable[str],
        how: How,
    ) -> Recommendations:
        pairs = [(passage, one) for one in asking for passage in one.passages]
        judged = divided(self._runner, [passage for passage, _ in pairs], how.judged)
        passages: list[Passage] = []
        found: list[dict[str, Any]] = []
        silent: list[tuple[str, Passage]] = []
        strong, weak = set[str](), set[str]()
        for number, (passage, one) in enumerate(pairs, 1):
            several = DEFAULT_NUMBER if len(one.passages) == 1 else DEFAULT_OF_SEVERAL
            own = how.but(exclude=one.no_answers(passage), judged=judged[number - 1])
            try:
                rows = list(self._found(passage, own, several))
            except NothingToAsk as error:
                if len(pairs) == 1 and error.is_unsearchable:
                    raise
                silent.append((error.kind, passage))
                continue
            if not rows and how.min_probability is None:
                what = "among these documents" if how.among else "in the collection"
                silent.append((f"passage that nothing {what} fits", passage))
                continue
            passages.append(replace(passage, number=number))
            for row, at, is_weak in rows:
                found.append({**row, **_placed(number, passage, at, one.draft)})
                (weak if is_weak else strong).add(row["doc_id"])
        untold = dict.fromkeys(self._silence.untold(each.text) for each in passages)
        cards = self._cards.of(list(dict.fromkeys(row["doc_id"] for row in found)))
        drafts = [one.draft for one in asking]
        keys, about_keys = keys_for(cards, self.collection, libraries, drafts)
        for row in found:
            row["key"], row["in_bib"] = keys[row["doc_id"]]
        return Recommendations(
            tuple(Recommendation(**row) for row in found),
            tuple(passages),
            frozenset().union(*(one.left_out for one in asking)),
            (
                *notes, *self._runner.notes_of_gone, *self._runner.ranking_notes,
                *silence_notes(silent), *about_keys,
            ),
            self.collection,
            tuple(libraries),
            tuple(filter(None, untold)),
            len(silent),
            frozenset(weak - strong),
        )  # fmt: skip

    @cached_property
    def _silence(self) -> Silence:
        return Silence(self._runner)

    @cached_property
    def _citers(self) -> Citers:
        return Citers(self.collection)

    def _found(
        self, passage: Passage, how: How, by_default: int
    ) -> Iterator[tuple[dict[str, Any], int | None, bool]]:
        """The documents for a passage as fields of recommendations, each with the number of the
        sentence that asked for it, and whether it is below the threshold: only ``how.k`` shows
        it."""
        query = self._runner.query(
            passage.text, exclude=how.exclude, before=how.before, sentences=passage.sentences,
            among=how.among, judged=how.judged,
        )  # fmt: skip
        least = self._least(query, how.min_probability)
        self._silence.check(passage, query, least)
        number = by_default if how.k is None else how.k
        deep = max(number, CALIBRATION_DEPTH) + MORE + len(how.judged.relevant)
        (best,) = self._runner.results([query], deep)
        tail, wanted = how.k is not None, bool(passage.wanted)
        result = self._silence.shown(best, least, tail=tail, wanted=wanted)
        above = result if least is not None else self._silence.without_tail(result)
        strong = {*self._ids(above.hits.docs), *self._ids(how.judged.relevant)}
        cards = self._cards.of(self._ids(result.hits.docs))
        works = self._works(cards, how, number)
        result = result.only([work[0] for work in works])
        strengths = self._silence.strengths(result)
        first = [cards[work[0]] for work in works]
        rows = explain(self._runner, result, first, self._citers.named, strengths)
        reprints = {
            cards[best]["doc_id"]: tuple(reprint(cards[each]) for each in others)
            for best, *others in works
        }
        return (
            ({**row, "reprints": reprints[name]}, at, name not in strong)
            for row, at in rows
            for name in (row["doc_id"],)
        )

    def _works(self, cards: Sequence[Card], how: How, number: int) -> list[list[int]]:
        """The works that are shown: so many, and beside them those that are known to be right; and
        none that is known to be wrong."""
        wrong = self._cards.of(how.never)
        right = set(self._ids(how.judged.relevant))
        shown: list[list[int]] = []
        for work in works_of([*wrong, *cards]):
            if work[0] < len(wrong):
                continue
            places = [place - len(wrong) for place in work]
            is_right = any(cards[place]["doc_id"] in right for place in places)
            if is_right or number > 0:
                shown.append(places)
                number -= not is_right
        return shown

    def _ids(self, numbers: NDArray[np.int64]) -> list[str]:
        return [self.index.ids[each] for each in numbers.tolist()]

    def _least(self, query: Query, asked: float | None) -> float | None:
        """The least probability of what is shown, where none is asked for: what is silent was
        learned from English texts, and in another language that the collection has nothing is."""
        language = language_in(self.index, query.language)
        is_other = language not in KNOWN and language in self._languages
        return 0.0 if asked is None and is_other else asked

    @cached_property
    def _languages(self) -> frozenset[str]:
        return frozenset(sample_languages(self.collection))


def _each(texts: DraftLike | Sequence[DraftLike]) -> Iterable[DraftLike]:
    """The texts one by one; what is none of them is one too, of which its reader will say so."""
    several = isinstance(texts, Iterable) and not isinstance(texts, str | bytes | Path | Draft)
    return texts if several else [texts]  # type: ignore[return-value, list-item]


def _texts_of(paths: Sequence[str | Path]) -> list[str]:
    if not paths:
        return []
    from citebed.drafts.bibliography import bib_text  # with the reader of BibTeX

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
