"""The recommender: from a text or draft to the papers it should cite, with evidence.

A passage becomes a query unless it is skipped. The runner finds and ranks its candidates, the
calibration drops unlikely ones, reprints are grouped, and the rest gets evidence and citation keys.
"""

from __future__ import annotations

import threading
from collections.abc import Collection as Sized
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.collection import Collection, open_collection
from citebed.collection.filters import Filter
from citebed.collection.progress import SILENT, Progress
from citebed.drafts.prose import put_placeholders_first
from citebed.drafts.reader import DraftLike, resolve_draft
from citebed.drafts.records import Cited, Draft, Passage, Place, pieces
from citebed.errors import CitebedError
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.memory import trim_heap
from citebed.retrieval.pipeline import CALIBRATION_DEPTH, Learned, Pipeline, parse_pipeline
from citebed.retrieval.query import Candidates, Docs
from citebed.retrieval.ranking.confidence import UNLIKELY, Confidence, shipped_confidence, sigmoid
from citebed.retrieval.recommend.citation_keys import assign_keys
from citebed.retrieval.recommend.documents import DocumentLookup, DocumentRecords
from citebed.retrieval.recommend.evidence import (
    SPARE_DOCUMENTS,
    CitingPapers,
    explain,
    group_reprints,
)
from citebed.retrieval.recommend.query_words import AuthorNames, count_terms
from citebed.retrieval.recommend.recommendations import Recommendation, Recommendations
from citebed.retrieval.recommend.skipped_passages import (
    WITHOUT_MATCH,
    PassageSkipped,
    check_passage,
    skipped_notes,
)
from citebed.retrieval.search.feedback import NOT_JUDGED, Judged
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields, fields_of
from citebed.retrieval.search.queries import checked_date
from citebed.retrieval.search.searcher import Searcher, finish_query, query_of_counts
from citebed.wording import count, printable

DEFAULT_MODEL = "bm25+learned"
DEFAULT_K, DEFAULT_K_OF_SEVERAL = 10, 3
"""Papers for a text, and for each of several passages."""
_PASSAGES_OF_A_DRAFT = 3
"""From this number of passages on, those of a draft are judged together."""
_CONTEXT_DEPTH = 60
"""Documents of a passage with context that are re-ranked."""
_CONTEXT_WEIGHT, _OWNED_WEIGHT = 0.6, 0.2
"""The weight of the score for a text around a passage, and of an entry in the user's .bib files,
per unit of the logarithm of the collection's size over theirs (see docs/fill.md)."""
_CONTEXT_ODDS = (-1.15, 0.63)
"""Intercept and slope from the mean log odds of a passage and its context to the log odds of a
document. Three odds for one place are more often high by chance than one."""
_WARM_UP_TEXT = "A text to search with, so that everything is loaded for the first real one."


@dataclass(frozen=True, kw_only=True)
class RecommendOptions:
    """The papers to recommend and to leave out.

    ``k``: number of papers; by default up to 10 for one text and 3 for each passage of a draft.
    ``each``: unit to recommend for, ``text``, ``paragraph`` or ``sentence``; by default the whole
    of a text, and each paragraph of a draft.
    ``before``: only papers published up to this date (``2019`` or ``2019-07-31``), inclusive.
    ``min_probability``: only papers with at least this probability of being right; 0 shows the best
    ``k`` papers however unlikely they are.
    ``among``: only papers that pass this filter. It does not change their scores and evidence.
    ``bib``: your .bib files, in addition to a draft's own. Papers in them are marked.
    ``in_bib``: only papers that are in one of these .bib files.
    ``keep_cited``: also recommend papers that the draft already cites.
    ``exclude``: ids of papers to leave out.
    ``relevant``, ``nonrelevant``: papers (by id, DOI, arXiv id or key) that you marked as good, or
    as not what you mean. Good papers stay in the list and re-rank the others; the others are left
    out, with all their editions. In a draft, a mark applies to the most similar passage.
    """

    k: int | None = None
    each: str | None = None
    before: str | None = None
    min_probability: float | None = None
    among: Filter | None = None
    bib: str | Path | Sequence[str | Path] = ()
    in_bib: bool = False
    keep_cited: bool = False
    exclude: Sized[str] = ()
    relevant: Sized[str] = ()
    nonrelevant: Sized[str] = ()

    def __post_init__(self) -> None:
        probability = self.min_probability
        if probability is not None and not 0 <= probability <= 1:
            raise CitebedError(
                f"the minimum probability is {probability}; expected a number from 0 to 1"
            )
        if self.before is not None:
            object.__setattr__(self, "before", checked_date(self.before))


@dataclass(frozen=True)
class _Source:
    """A draft with the passages to recommend for, and the documents that it cites.

    ``ambiguous`` are citations by authors and year with all documents that they can mean.
    """

    draft: Draft
    passages: Sequence[Passage]
    cited: frozenset[str] = frozenset()
    ambiguous: Mapping[str, frozenset[str]] = field(default_factory=dict)


class Recommender:
    """A collection, ready to recommend from.

    ``warm`` loads everything at once, about a second for 100,000 documents, which pays for many
    texts. Without it, the first answer comes sooner, later ones take longer.
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
        feedback = self.pipeline.feedback
        if feedback is not None and feedback.judged:
            raise CitebedError(
                "'from=' needs judgements, which recommend does not have. Remove it; feedback then "
                "uses the first documents."
            )
        options = RunOptions(fields=fields_of(fields) if isinstance(fields, str) else fields)
        self.runner = Runner(self.collection, self.index, self.pipeline, options, progress)
        has_feedback = feedback is not None
        self._records = DocumentRecords(self.collection, self.index, keywords=has_feedback)
        self.lookup = DocumentLookup(self._records)
        self._citing_papers = CitingPapers(self.collection)
        self._authors = AuthorNames(self.collection, self.index)
        self._lock, self._is_prepared = threading.Lock(), False
        if warm:
            self.prepare()

    @property
    def searcher(self) -> Searcher:
        return self.runner.searcher

    @cached_property
    def _confidence(self) -> Confidence | None:
        """Judges the candidates of the default ranking; ``None`` for others."""
        if not isinstance(self.pipeline.stage, Learned):
            return None
        words = self.runner.ranker.models["static"]
        is_shipped = words.fingerprint == shipped_confidence().fingerprint
        return Confidence(self.index, has_vectors=is_shipped)

    def prepare(self) -> None:
        """Load everything for many texts; then several threads can use the recommender."""
        with self._lock:
            if not self._is_prepared:
                self.runner.prepare(wait=False)
                self._records.prepare()
                with suppress(CitebedError):
                    self.recommend(_WARM_UP_TEXT, min_probability=0)
                self.index.release()
                trim_heap()
                self._is_prepared = True

    def recommend(
        self, text: str, k: int | None = None, *, sentences: Sequence[str] = (), **options: Any
    ) -> Recommendations:
        """Do what ``recommend_for`` does, for one text that is not parsed as LaTeX, Markdown ….

        ``sentences``: the text split into sentences, if you have them already.
        """
        passage = Passage(text, sentences=tuple(sentences))
        source = _Source(Draft((passage,)), [passage])
        return self._recommend([source], RecommendOptions(k=k, **options))

    def recommend_for(
        self, texts: DraftLike | Sequence[DraftLike], k: int | None = None, **options: Any
    ) -> Recommendations:
        """Recommend up to ``k`` papers for a text or for each paragraph of a draft.

        ``texts`` is a text, the path of a draft, or a list of both, whose passages are numbered
        consecutively. `RecommendOptions` describes the options. Sentences with a citation
        placeholder (``\\cite{}``, ``[?]``) come first, as passages of their own. The draft's own
        paper and the papers that it cites are left out; a work that appeared several times is one
        recommendation. Captions, headings, and passages that need no citation or are in another
        language than the collection are skipped, with a note.
        """
        chosen = RecommendOptions(k=k, **options)
        several = isinstance(texts, Iterable) and not isinstance(texts, str | bytes | Path | Draft)
        sources, notes = list[_Source](), list[str]()
        given: Iterable[DraftLike] = texts if several else [texts]  # type: ignore[assignment, list-item]
        for text in given:
            draft, default_unit = resolve_draft(text)
            unit: Any = chosen.each or default_unit  # checked by ``pieces``
            passages = put_placeholders_first(pieces(draft, unit))
            if not passages:
                raise CitebedError("the text contains no prose; expected a sentence or a paragraph")
            cited = () if chosen.keep_cited else self.lookup.cited_in(draft)
            sources.append(_Source(draft, passages, *cited))
            notes += () if isinstance(text, Draft) else draft.notes
        if self.runner.prepare_for(sum(len(source.passages) for source in sources)):
            self.prepare()
        return self._recommend(sources, chosen, notes)

    def _recommend(  # noqa: PLR0912, PLR0915 - one step after the other
        self, sources: Sequence[_Source], options: RecommendOptions, notes: Sequence[str] = ()
    ) -> Recommendations:
        bib_texts = [text for source in sources for text in source.draft.library]
        bib_files = (options.bib,) if isinstance(options.bib, str | Path) else options.bib
        if bib_files:
            from citebed.drafts.bibliography import bib_text  # reads BibTeX

            bib_texts = [*map(bib_text, bib_files), *bib_texts]
        if options.in_bib:
            among, in_bib = options.among or Filter(), self.lookup.in_libraries(bib_texts)
            doc_ids = in_bib if among.doc_ids is None else in_bib & among.doc_ids
            options = replace(options, among=replace(among, doc_ids=doc_ids))
        judged, unknown = self._resolve_marks(options)
        rejected = self._ids(judged.nonrelevant)
        pairs = [(passage, source) for source in sources for passage in source.passages]
        marks = self._divide_marks([passage for passage, _ in pairs], judged)
        passages, found = list[Passage](), list[dict[str, Any]]()
        skipped = list[tuple[str, Passage]]()
        strong, weak = set[str](), set[str]()
        searched = list[tuple[Passage, _Source, Judged, Candidates]]()
        owned = frozenset[str]()
        if bib_texts and any(passage.context for passage, _ in pairs):
            owned = self.lookup.in_libraries(bib_texts)
        for (passage, source), marked in zip(pairs, marks, strict=True):
            cited = source.cited.union(*(source.ambiguous.get(each, ()) for each in passage.cites))
            limited = replace(options, exclude={*options.exclude, *cited, *rejected})
            try:
                depth = _CONTEXT_DEPTH if passage.context else CALIBRATION_DEPTH
                candidates = self._search(passage, limited, marked, depth)
                if passage.context:
                    candidates = self._add_context(candidates, passage, limited, owned)
                searched.append((passage, source, marked, candidates))
            except PassageSkipped as error:
                if len(pairs) == 1 and error.is_unsearchable:
                    raise
                skipped.append((error.kind, passage))
        asks = self._adapted(searched)
        numbers = {id(passage): number for number, (passage, _) in enumerate(pairs, 1)}
        for (passage, source, marked, candidates), log_odds in zip(searched, asks, strict=True):
            default_k = DEFAULT_K if len(source.passages) == 1 else DEFAULT_K_OF_SEVERAL
            k = default_k if options.k is None else options.k
            try:
                likely = self._decide(candidates, log_odds, options, is_wanted=bool(passage.wanted))
                rows = list(self._explain(likely, k, marked, rejected))
            except PassageSkipped as error:
                skipped.append((error.kind, passage))
                continue
            if not rows and options.min_probability is None:
                where = "among these documents" if options.among else "in the collection"
                skipped.append((f"passage without a match {where}", passage))
                continue
            passages.append(replace(passage, number=numbers[id(passage)]))
            for arguments, sentence in rows:
                place = Place(passage.source, passage.line, passage.column)
                if sentence is not None and passage.places:
                    place = passage.places[sentence]
                found.append({
                    **arguments, "passage": numbers[id(passage)], "line": place.line,
                    "section": passage.section, "file": source.draft.file_of(place),
                    "column": place.column,
                })  # fmt: skip
                is_weak = (
                    options.min_probability is None
                    and arguments["probability"] is not None
                    and arguments["probability"] < UNLIKELY
                    and arguments["doc_id"] not in self._ids(marked.relevant)
                )
                (weak if is_weak else strong).add(arguments["doc_id"])
        records = self._records.get(list(dict.fromkeys(arguments["doc_id"] for arguments in found)))
        drafts = [source.draft for source in sources]
        keys, key_notes = assign_keys(records, self.collection, bib_texts, drafts)
        for arguments in found:
            arguments["key"], arguments["in_bib"] = keys[arguments["doc_id"]]
        return Recommendations(
            tuple(Recommendation(**arguments) for arguments in found),
            tuple(passages),
            frozenset().union(*(source.cited for source in sources)),
            (
                *notes, *unknown, *self.runner.missing_note, *self.runner.ranking_notes,
                *self._coverage_note(searched, skipped), *skipped_notes(skipped), *key_notes,
            ),
            self.collection,
            tuple(bib_texts),
            len(skipped),
            frozenset(weak - strong),
        )  # fmt: skip

    def _search(
        self,
        passage: Passage,
        options: RecommendOptions,
        marks: Judged,
        depth: int = CALIBRATION_DEPTH,
    ) -> Candidates:
        """Return at least ``depth`` candidates for a passage; ``marks`` are the user's for it."""
        query = self.runner.query(
            passage.text, exclude=options.exclude, before=options.before,
            sentences=passage.sentences, among=options.among, judged=marks,
        )  # fmt: skip
        if self._confidence is not None:
            terms = query_of_counts(self.searcher.view, count_terms(self.index, query.text))
            query = replace(query, terms=terms, named=self._authors.find(query.text))
        check_passage(passage, query, self.index, options.min_probability)
        k = DEFAULT_K if options.k is None else options.k
        wanted = max(k, depth) + SPARE_DOCUMENTS + len(marks.relevant)
        (found,) = self.runner.run([query], wanted)
        if self._confidence is None:
            return replace(found, asks=np.inf)
        ids = finish_query(found.query.terms, self.searcher.view).ids
        return self._confidence.assess(found, ids)

    def rank(self, text: str, k: int, *, exclude: Sized[str] = ()) -> list[str]:
        """Return the ids of the best ``k`` documents for a text, best first, without evidence.

        Raise `PassageSkipped` for a text without words to search for.
        """
        options = RecommendOptions(k=k, min_probability=0, exclude=exclude)
        return self._ids(self._search(Passage(text), options, NOT_JUDGED).docs)[:k]

    def citation_keys(
        self, doc_ids: Sequence[str], libraries: Sequence[str], draft: Draft
    ) -> dict[str, tuple[str, bool]]:
        """Return the key to type for each document, and whether a .bib file has it (``libraries``
        are their texts)."""
        rows = self._records.get(list(dict.fromkeys(doc_ids)))
        return assign_keys(rows, self.collection, libraries, [draft])[0]

    def own_documents(self, draft: Draft) -> frozenset[str]:
        without = replace(draft, cited=Cited(), passages=())
        return self.lookup.cited_in(without)[0]

    def _add_context(
        self, found: Candidates, passage: Passage, options: RecommendOptions, owned: Sized[str]
    ) -> Candidates:
        """Re-rank the candidates of a passage by the texts around it and by ``owned`` documents.

        A document that the search for a text around does not find counts like the last one there.
        """
        scores, odds, total = found.scores.copy(), _log_odds(found), 1.0
        for sentences in passage.context:
            around = Passage(" ".join(sentences), sentences=sentences)
            try:
                other = self._search(around, options, NOT_JUDGED, _CONTEXT_DEPTH)
            except PassageSkipped:
                continue
            if len(other):
                rows = {number: row for row, number in enumerate(other.docs.tolist())}
                at = [rows.get(number, len(other) - 1) for number in found.docs.tolist()]
                scores += _CONTEXT_WEIGHT * other.scores[at]
                odds += _CONTEXT_WEIGHT * _log_odds(other)[at]
                total += _CONTEXT_WEIGHT
        if owned:
            is_owned = np.array([each in owned for each in self._ids(found.docs)], float)
            scores += _OWNED_WEIGHT * np.log(len(self.index.ids) / len(owned)) * is_owned
        ranked = replace(found, scores=scores).take(np.lexsort((-found.docs, scores))[::-1])
        if found.probabilities is None:
            return replace(ranked, best=found.best)
        start, slope = _CONTEXT_ODDS
        # A document that moved up gets the probability of its new rank.
        probabilities = np.sort(sigmoid(start + slope * odds / total))[::-1]
        return replace(ranked, probabilities=probabilities, best=found.best)

    def _adapted(
        self, searched: Sequence[tuple[Passage, _Source, Judged, Candidates]]
    ) -> list[float]:
        """Return the log odds that each passage asks for a citation of the collection, given the
        other passages of its draft."""
        asks = np.array([candidates.asks for *_, candidates in searched])
        sources = np.array([id(source) for _, source, *_ in searched])
        for source in set(sources.tolist()):
            rows = np.flatnonzero(sources == source)
            if self._confidence is not None and len(rows) >= _PASSAGES_OF_A_DRAFT:
                queries = [searched[row][-1].query for row in rows.tolist()]
                asks[rows] = self._confidence.adapt_to_draft(queries, asks[rows].tolist())
        return list(asks.tolist())

    def _decide(
        self, candidates: Candidates, asks: float, options: RecommendOptions, *, is_wanted: bool
    ) -> Candidates:
        """Return the candidates to show, with their probabilities, or raise `PassageSkipped`."""
        least = options.min_probability
        if candidates.probabilities is None:
            if least:
                raise CitebedError(
                    "only --model bm25+learned has probabilities. Use it, or remove "
                    "--min-probability."
                )
            return candidates
        confidence = self._confidence
        assert confidence is not None
        if least is None and confidence.is_silent(candidates.query, asks) and not is_wanted:
            raise PassageSkipped(WITHOUT_MATCH)
        asked = 1.0 if is_wanted else sigmoid(asks)
        probabilities = candidates.probabilities * asked
        candidates = replace(candidates, probabilities=probabilities)
        limit = UNLIKELY if least is None and options.k is None else least or 0.0
        is_marked = np.isin(candidates.docs, candidates.query.judged.relevant)
        shown = (probabilities >= limit) | is_marked
        return candidates.take(np.flatnonzero(shown))

    def _explain(
        self, found: Candidates, k: int, marks: Judged, rejected: Sequence[str]
    ) -> Iterator[tuple[dict[str, Any], int | None]]:
        """Yield, for each of ``k`` works: the arguments of its `Recommendation`, and the number of
        the sentence that led to it. ``rejected`` are all ids marked as not relevant."""
        relevant, remaining = {*self._ids(marks.relevant)}, k
        rows, rejected_rows = self._records.get(self._ids(found.docs)), self._records.get(rejected)
        works: list[list[int]] = []
        for work in group_reprints([*rejected_rows, *rows]):
            if work[0] < len(rejected_rows):  # a reprint of a paper that is marked as not relevant
                continue
            rows_of_work = [row - len(rejected_rows) for row in work]
            is_relevant = any(rows[row]["doc_id"] in relevant for row in rows_of_work)
            if is_relevant or remaining > 0:
                works.append(rows_of_work)
                remaining -= not is_relevant
        found = found.take([work[0] for work in works])
        first = [rows[work[0]] for work in works]
        reprints = {}
        for best, *others in works:  # where else each work appeared
            parts = (
                (str(rows[n]["year"] or ""), rows[n]["venue"], rows[n]["doi"] or rows[n]["doc_id"])
                for n in others
            )
            reprints[rows[best]["doc_id"]] = tuple(", ".join(filter(None, each)) for each in parts)
        for arguments, sentence in explain(
            self.runner, found, first, self._records, self._citing_papers
        ):
            yield {**arguments, "reprints": reprints[arguments["doc_id"]]}, sentence

    def _coverage_note(
        self,
        searched: Sequence[tuple[Passage, _Source, Judged, Candidates]],
        skipped: Sequence[tuple[str, Passage]],
    ) -> tuple[str, ...]:
        """Return a note for a draft that the collection covers less than half, with the words of
        the other passages that the collection lacks most."""
        missing = [passage for kind, passage in skipped if kind == WITHOUT_MATCH]
        if self._confidence is None or len(searched) < _PASSAGES_OF_A_DRAFT:
            return ()
        covered = len(searched) - len(missing)
        if 2 * covered >= len(searched):
            return ()
        words = self._confidence.missing_words([passage.text for passage in missing])
        lacks = f"; it lacks: {', '.join(words)}" if words else ""
        passages = count(len(searched), "passage")
        return (f"this collection covers {covered:,} of the {passages} of prose{lacks}",)

    def _ids(self, numbers: Docs) -> list[str]:
        return [self.index.ids[each] for each in numbers.tolist()]

    def _resolve_marks(self, options: RecommendOptions) -> tuple[Judged, tuple[str, ...]]:
        """Return the user's marks by document, and a note on unknown names.

        A document that is marked as both is not relevant.
        """
        still_indexed, unknown = self.runner.masks.present, dict[str, None]()
        marks: list[set[int]] = []
        for names in (options.relevant, options.nonrelevant):
            numbers = set[int]()
            for name in names:
                number = self.index.ids.find(name)
                if number < 0 and (doc_id := self.lookup.find(name)) is not None:
                    number = self.index.ids.find(doc_id)
                if number >= 0 and (still_indexed is None or still_indexed[number]):
                    numbers.add(number)
                else:
                    unknown[name] = None
            marks.append(numbers)
        right, wrong = sorted(marks[0] - marks[1]), sorted(marks[1])
        judged = Judged(np.array(right, np.int64), np.array(wrong, np.int64))
        note = f"feedback ignored for unknown documents: {', '.join(map(repr, unknown))}"
        return judged, (note,) if unknown else ()

    def _divide_marks(self, passages: Sequence[Passage], judged: Judged) -> list[Judged]:
        """Return the user's marks for each passage: a document is judged for the passage that is
        most similar to it by words."""
        if len(passages) == 1 or not judged:
            return [judged] * len(passages)
        both = np.concatenate([judged.relevant, judged.nonrelevant])
        queries = [self.runner.query(passage.text) for passage in passages]
        nearest = np.argmax([self.runner.similarity(query, both) for query in queries], axis=0)
        of_relevant, of_others = np.split(nearest, [len(judged.relevant)])
        return [
            Judged(judged.relevant[of_relevant == at], judged.nonrelevant[of_others == at])
            for at in range(len(passages))
        ]


def _log_odds(candidates: Candidates) -> NDArray[np.float64]:
    """Return the log odds of candidates; 0 for a model without probabilities."""
    if candidates.probabilities is None:
        return np.zeros(len(candidates))
    clipped = np.clip(candidates.probabilities, 1e-4, 1 - 1e-4)
    return np.log(clipped / (1 - clipped))


def recommend(
    collection: str | Path | Collection,
    texts: DraftLike | Sequence[DraftLike],
    k: int | None = None,
    *,
    model: str | Pipeline = DEFAULT_MODEL,
    fields: str | Fields = DEFAULT_FIELDS,
    **options: Any,
) -> Recommendations:
    """Recommend up to ``k`` papers of a collection for a text or for each paragraph of a draft.

    `RecommendOptions` describes the options. For many texts, a `Recommender` is faster.
    """
    return Recommender(collection, None, model, fields).recommend_for(texts, k, **options)
