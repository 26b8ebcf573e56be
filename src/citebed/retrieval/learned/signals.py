"""What speaks for a document: the signals of one text, for each document that may be an answer.

Candidates are the best by BM25, by each kind of vectors, and by what citing sentences are like the
text's. What a signal says is brought to one measure, so that a weight means the same for all texts:
BM25 as a share of the best, similarities between the least (0) and the greatest (1) of all
documents. Nothing comes from the asking paper itself, or from papers of its year or later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.dense.embedder import Embedder, Vectors
from citebed.retrieval.dense.static_model import StaticModel
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.citing_sentences import CitingSentences
from citebed.retrieval.index.records import Authorship, Docs, Reals
from citebed.retrieval.search.exhaustive import Hits
from citebed.retrieval.search.searcher import Searcher, usable

SIGNALS = {
    "bm25": "BM25 of title, abstract and keywords, as a share of the best",
    "bm25_sentence": "BM25 of the sentence for which the document is best, as a share likewise",
    "static": "similarity of word vectors, of the whole text",
    "static_sentence": "similarity of word vectors, of the best sentence",
    "encoder": "similarity by the encoder, of the whole text",
    "encoder_sentence": "similarity by the encoder, of the best sentence",
    "peers": "other documents by one of its authors among the 50 most like the text (logarithm)",
    "citing": "how much other papers say like it when they cite the document (logarithm)",
    "cited": "by how many papers it is cited (logarithm)",
    "lately": "how lately it was cited: 1 in the year before the text's own, 1/2 a year earlier",
    "cocited": "papers that cite it together with what the text cites already (logarithm)",
    "authors": "by how many papers other works of its best known author are cited (logarithm)",
    "age": "years since it appeared (logarithm)",
    "length": "its pages as a share of a usual paper's (logarithm)",
    "title_only": "1 for a record without abstract",
}
"""The signals by name, and what each of them is."""

_CANDIDATES = 100
"""So many documents each signal may put forward, or as many as are asked for."""
_ALIKE = 0.35
"""Of sentences that are less alike no one would say that they ask for the same."""
_LIKE = 50
"""So many documents the citing sentences put forward."""
_FITTING, _ONE_OF = 50, 100
"""So many documents are those that fit best, but no more than one of so many: in one's own library
authors who are often there would win for any text."""
_ASKERS = 4
"""Papers and years whose known authors are remembered: questions of one come together."""


@dataclass(frozen=True)
class Question:
    """What is asked: the text, its sentences, its terms; what it cites; who asks, and in which
    year; which documents may be answers (``None`` for all)."""

    text: str
    sentences: Sequence[str]
    terms: TermWeights
    excluded: Docs
    cites: Docs
    allowed: NDArray[np.bool_] | None = None
    paper: str | None = None
    year: int | None = None


class Features(NamedTuple):
    """Candidates, and their signals: a column for each of ``SIGNALS``, and ``raw`` similarities
    and scores, which say how good the best is."""

    docs: Docs
    values: Reals
    raw: Reals


RAW = ("bm25", "static", "static_sentence", "encoder", "encoder_sentence")
_LIKENESSES = ("bm25_sentence", *RAW)


class Signals:
    """A collection's index and models, ready to weigh documents for texts."""

    def __init__(self, searcher: Searcher, models: dict[str, Embedder]) -> None:
        self._searcher, self.index, self._models = searcher, searcher.index, models
        self._vectors = {kind: self.index.vectors_of(models[kind], kind) for kind in models}
        self._cited_authors: dict[tuple[str | None, int | None], Reals] = {}

    def prepare(self) -> None:
        """Make ready for many texts."""
        for vectors in self._vectors.values():
            vectors.prepare()
        for model in self._models.values():
            if isinstance(model, StaticModel):
                model.prepare()
        if self.citing is not None:
            self._by_cited_authors  # noqa: B018 - read now

    def embedded(self, questions: Sequence[Question]) -> list[dict[str, Vectors]]:
        """The vectors of each text and its sentences, by kind: the first row is the text's."""
        texts = [[each.text, *_several(each.sentences)] for each in questions]
        flat = [text for some in texts for text in some]
        ends = np.cumsum([len(some) for some in texts])[:-1]
        parts = {k: np.split(model.queries(flat), ends) for k, model in self._models.items()}
        return [{kind: parts[kind][at] for kind in parts} for at in range(len(questions))]

    def weigh(
        self, asked: Question, found: Hits, vectors: dict[str, Vectors], depth: int
    ) -> Features:
        """The signals of what a question may be answered with; ``found`` is the best by BM25."""
        wanted = max(_CANDIDATES, depth)
        similar = {kind: self._vectors[kind].scores(rows) for kind, rows in vectors.items()}
        # That of the whole text, and that of its best sentence where there are several.
        both = {
            kind: scores if len(scores) == 1 else np.stack([scores[0], scores[1:].max(axis=0)])
            for kind, scores in similar.items()
        }
        may = self._may(asked)
        like, likeness = self._like(asked, vectors)
        lists = [found.docs[:wanted]]
        lists += [_best(each, may, wanted) for pair in both.values() for each in pair]
        lists += [like[_best(likeness, None if may is None else may[like], _LIKE)]]
        docs = np.unique(np.concatenate(lists))
        columns = self._of_others(asked, docs)
        columns["citing"] = _at(docs, like, likeness)
        raw = {}
        raw["bm25"], columns["bm25_sentence"] = self._by_words(asked, docs, found)
        columns["bm25"] = _share(raw["bm25"], found.scores)
        for kind, pair in both.items():
            for name, scores in ((kind, pair[0]), (f"{kind}_sentence", pair[-1])):
                columns[name] = _spread(scores, docs)
                raw[name] = scores[docs].astype(np.float64)
        alike = np.sum([columns[name] for name in _LIKENESSES if name in columns], axis=0)
        columns["peers"] = self._peers(docs, alike)
        return Features(docs, _table(columns, SIGNALS, docs), _table(raw, RAW, docs))

    def _may(self, asked: Question) -> NDArray[np.bool_] | None:
        """Which documents may be found; ``None`` for all."""
        if asked.allowed is None and not len(asked.excluded):
            return None
        may = np.ones(len(self.index.ids), bool) if asked.allowed is None else asked.allowed.copy()
        may[asked.excluded] = False
        return may

    def _by_words(self, asked: Question, docs: Docs, found: Hits) -> tuple[Reals, Reals]:
        """The documents' BM25, also of those that were not found by it; and the share that each has
        of the best for one of the sentences."""
        final = usable(asked.terms, self._searcher.view)
        table = self._searcher.contributions(final.ids, docs)
        scores = table @ final.weights
        order = np.argsort(found.docs)
        place = np.searchsorted(found.docs, docs, sorter=order)
        place[place == len(found.docs)] = 0
        if len(found.docs):
            place = order[place]
            known = found.docs[place] == docs
            scores[known] = found.scores[place[known]]
        if not _several(asked.sentences):
            return scores, _share(scores, scores)
        shares = [self._share_of(sentence, final.ids, table) for sentence in asked.sentences]
        return scores, np.max(shares, axis=0)

    def _share_of(self, sentence: str, terms: Docs, table: Reals) -> Reals:
        """What share of the best each document has for a sentence of a text whose ``terms`` add to
        documents what the ``table`` has."""
        own = usable(self._searcher.query(sentence), self._searcher.view)
        _, columns, places = np.intersect1d(terms, own.ids, assume_unique=True, return_indices=True)
        scores = table[:, columns] @ own.weights[places]
        return _share(scores, scores)

    # --- What other papers say ---

    @cached_property
    def citing(self) -> CitingSentences | None:
        """The sentences that cite, where they have the vectors of the model at hand."""
        citing, model = self.index.citing, self._models.get("static")
        return citing if citing and model and citing.vectors.is_of(model) else None

    def known(self, asked: Question) -> NDArray[np.bool_]:
        """Which citing sentences may help a question."""
        assert self.citing is not None
        paper = self.index.papers.find(asked.paper) if asked.paper else -1
        return self.citing.known_to(paper, asked.year)

    def _like(
        self, asked: Question, vectors: dict[str, Vectors]
    ) -> tuple[Docs, NDArray[np.float32]]:
        """Documents, and how much is said like the text when each is cited: the sum of what is
        alike (logarithm)."""
        if self.citing is None or "static" not in vectors:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        rows = vectors["static"]
        likeness = self.citing.vectors.scores(rows[1:] if len(rows) > 1 else rows).max(axis=0)
        alike = np.flatnonzero(self.known(asked) & (likeness > _ALIKE))
        docs, places = np.unique(self.citing.docs[alike], return_inverse=True)
        sums = np.zeros(len(docs), np.float32)
        np.add.at(sums, places, likeness[alike])
        return docs.astype(np.int64), np.log1p(sums)

    def _of_others(self, asked: Question, docs: Docs) -> dict[str, Reals]:
        found = {"title_only": (self.index.lengths["abstract"][docs] == 0).astype(float)}
        found["age"] = self._ages(docs, asked.year)
        found["length"] = self.index.records.lengths(docs)
        if self.citing is None:
            return found
        known = self.known(asked)
        found["authors"] = self._authors(asked, known)[docs]
        is_candidate = np.zeros(len(self.index.ids), bool)
        is_candidate[docs] = True
        rows = np.flatnonzero(known & is_candidate[self.citing.docs])
        places = np.searchsorted(docs, self.citing.docs[rows])
        which, papers = _pairs(places, self.citing.papers[rows])
        found["cited"] = np.log1p(np.bincount(which, minlength=len(docs)))
        found["lately"] = self._lately(rows, places, docs, asked.year)
        beside = np.isin(papers, self._papers_citing(asked.cites))
        found["cocited"] = np.log1p(np.bincount(which[beside], minlength=len(docs)))
        return found

    def _authors(self, asked: Question, known: NDArray[np.bool_]) -> Reals:
        """How much other works of each document's best known author are cited."""
        assert self.citing is not None
        key = (asked.paper, asked.year)
        if key not in self._cited_authors:
            while len(self._cited_authors) >= _ASKERS:
                del self._cited_authors[next(iter(self._cited_authors))]
            cited, _ = _pairs(self.citing.docs[known], self.citing.papers[known])
            counts = np.bincount(cited, minlength=len(self.index.ids)).astype(np.float64)
            of_others = self._by_cited_authors.of_other_works(counts)
            self._cited_authors[key] = np.log1p(of_others)
        return self._cited_authors[key]

    @cached_property
    def _by_cited_authors(self) -> Authorship:
        """All that those wrote of whom something is cited."""
        assert self.citing is not None
        return self.index.records.works_by_authors_of(np.unique(self.citing.docs).astype(np.int64))

    def _peers(self, docs: Docs, likeness: Reals) -> Reals:
        """How many of the documents that fit best are by an author of each, too."""
        among = np.zeros(len(docs))
        count = min(_FITTING, len(self.index.ids) // _ONE_OF)
        among[np.argsort(-likeness, kind="stable")[:count]] = 1
        return np.log1p(self.index.records.authorship(docs).of_other_works(among))

    def _lately(self, rows: Docs, places: Docs, docs: Docs, year: int | None) -> Reals:
        assert self.citing is not None
        last = np.zeros(len(docs))
        np.maximum.at(last, places, self.citing.years[rows])
        now = year or int(self.citing.years.max(initial=0))
        return np.where(last > 0, 1 / np.maximum(now - last, 1), 0.0)

    def _papers_citing(self, cites: Docs) -> Docs:
        assert self.citing is not None
        rows = [row for document in cites.tolist() for row in self.citing.of(document)]
        return np.unique(self.citing.papers[rows]).astype(np.int64)

    def _ages(self, docs: Docs, year: int | None) -> Reals:
        records = self.index.records
        years = records.years[docs].astype(np.int64)
        now = year or records.latest
        return np.where(years > 0, np.log1p(np.clip(now - years, 0, None)), 0.0)


def _several(sentences: Sequence[str]) -> Sequence[str]:
    """The sentences, where there is more than the text as a whole."""
    return sentences if len(sentences) > 1 else ()


def _best(scores: NDArray[np.float32], may: NDArray[np.bool_] | None, count: int) -> Docs:
    """The documents with the highest scores among those that may be found, by number; those that
    are equal to the last of them are there too."""
    if may is not None:
        scores = np.where(may, scores, -np.inf)
    if len(scores) > count:
        last = np.partition(scores, len(scores) - count)[len(scores) - count]
        return np.flatnonzero((scores >= last) & (scores > -np.inf))
    return np.flatnonzero(scores > -np.inf)


def _at(docs: Docs, known: Docs, values: NDArray[np.float32]) -> Reals:
    """The values of documents, of which some are known, in order; 0 for the others."""
    found = np.zeros(len(docs))
    places = np.searchsorted(docs, known)
    there = places < len(docs)
    there[there] = docs[places[there]] == known[there]
    found[places[there]] = values[there]
    return found


def _pairs(first: NDArray[Any], second: NDArray[Any]) -> tuple[Docs, Docs]:
    """Pairs of numbers, each once and in order."""
    both = np.unique(first.astype(np.int64) << 32 | second.astype(np.int64))
    return both >> 32, both & 0xFFFFFFFF


def _share(scores: Reals, all_scores: Reals) -> Reals:
    best = float(all_scores.max(initial=0.0))
    return scores / best if best > 0 else np.zeros_like(scores)


def _spread(scores: NDArray[np.float32], docs: Docs) -> Reals:
    least, most = float(scores.min(initial=0)), float(scores.max(initial=0))
    return (scores[docs].astype(np.float64) - least) / max(most - least, 1e-9)


def _table(columns: dict[str, Reals], names: Iterable[str], docs: Docs) -> Reals:
    none = np.zeros(len(docs))
    return np.stack([columns.get(name, none) for name in names], axis=1)
