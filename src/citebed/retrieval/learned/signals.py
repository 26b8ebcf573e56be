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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.retrieval.dense.embedder import Embedder, Vectors
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.citing_sentences import CitingSentences
from citebed.retrieval.learned.documents import Authorship, Docs, Reals, Records
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


class Weighed(NamedTuple):
    """Candidates, and their signals: a column for each of ``SIGNALS``, and ``raw`` similarities
    and scores, which say how good the best is."""

    docs: Docs
    values: Reals
    raw: Reals


RAW = ("bm25", "static", "static_sentence", "encoder", "encoder_sentence")
_LIKENESSES = ("bm25_sentence", *RAW)


class Signals:
    """A collection's index and models, ready to weigh documents for texts."""

    def __init__(
        self,
        collection: Collection,
        searcher: Searcher,
        models: dict[str, Embedder],
    ) -> None:
        self._searcher, self.index = searcher, searcher.index
        self._models, self._records = models, Records(collection, self.index.ids)
        self._vectors = {kind: self.index.vectors_of(models[kind], kind) for kind in models}

    def prepare(self) -> None:
        """Make ready for many texts."""
        for vectors in self._vectors.values():
            vectors.prepare()
        self._records.years  # noqa: B018 - read now
        if self.citing is not None:
            self._by_cited_authors  # noqa: B018

    def embedded(self, questions: Sequence[Question]) -> list[dict[str, Vectors]]:
        """The vectors of each text and its sentences, by kind: the first row is the text's."""
        texts = [[each.text, *_several(each.sentences)] for each in questions]
        flat = [text for some in texts for text in some]
        ends = np.cumsum([len(some) for some in texts])[:-1]
        parts = {k: np.split(model.queries(flat), ends) for k, model in self._models.items()}
        return [{kind: parts[kind][at] for kind in parts} for at in range(len(questions))]

    def weigh(
        self, asked: Question, found: Hits, vectors: dict[str, Vectors], depth: int
    ) -> Weighed:
        """The signals of what a question may be answered with; ``found`` is the best by BM25."""
        wanted = max(_CANDIDATES, depth)
        similar = {kind: self._similar(kind, rows) for kind, rows in vectors.items()}
        may = self._may(asked)
        like = self._like(asked, vectors)
        lists = [found.docs[:wanted]]
        lists += [_best(each, may, wanted) for pair in similar.values() for each in pair]
        lists += [_best(like, may & (like > 0), _LIKE)]
        docs = np.unique(np.concatenate(lists))
        columns = self._of_others(asked, docs)
        columns["citing"] = like[docs].astype(np.float64)
        raw = {}
        raw["bm25"], columns["bm25_sentence"] = self._by_words(asked, docs, found)
        columns["bm25"] = _share(raw["bm25"], found.scores)
        for kind, (whole, best) in similar.items():
            columns[kind], columns[f"{kind}_sentence"] = _spread(whole, docs), _spread(best, docs)
            raw[kind] = whole[docs].astype(np.float64)
            raw[f"{kind}_sentence"] = best[docs].astype(np.float64)
        likeness = np.sum([columns[name] for name in _LIKENESSES if name in columns], axis=0)
        columns["peers"] = self._peers(docs, likeness)
        return Weighed(docs, _table(columns, SIGNALS, docs), _table(raw, RAW, docs))

    def _similar(self, kind: str, rows: Vectors) -> tuple[Vectors, Vectors]:
        scores = self._vectors[kind].scores(rows)
        return scores[0], scores[1:].max(axis=0) if len(scores) > 1 else scores[0]

    def _may(self, asked: Question) -> NDArray[np.bool_]:
        count = len(self.index.ids)
        may = np.ones(count, bool) if asked.allowed is None else asked.allowed.copy()
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

    def _like(self, asked: Question, vectors: dict[str, Vectors]) -> NDArray[np.float32]:
        """How much is said like the text when each document is cited: the sum of what is alike."""
        found = np.zeros(len(self.index.ids), np.float32)
        if self.citing is None or "static" not in vectors:
            return found
        rows = vectors["static"]
        likeness = self.citing.vectors.scores(rows[1:] if len(rows) > 1 else rows).max(axis=0)
        alike = np.flatnonzero(self.known(asked) & (likeness > _ALIKE))
        np.add.at(found, self.citing.docs[alike], likeness[alike])
        return np.log1p(found)

    def _of_others(self, asked: Question, docs: Docs) -> dict[str, Reals]:
        found = {"title_only": (self.index.lengths["abstract"][docs] == 0).astype(float)}
        found["age"] = self._ages(docs, asked.year)
        found["length"] = self._records.lengths(docs)
        if self.citing is None:
            return found
        known = self.known(asked)
        found["authors"] = self._authors(known, docs)
        rows = np.flatnonzero(known & np.isin(self.citing.docs, docs))
        pairs = np.unique(
            np.stack([np.searchsorted(docs, self.citing.docs[rows]), self.citing.papers[rows]]),
            axis=1,
        )
        found["cited"] = np.log1p(np.bincount(pairs[0], minlength=len(docs)))
        found["lately"] = self._lately(rows, docs, asked.year)
        beside = np.isin(pairs[1], self._papers_citing(asked.cites))
        found["cocited"] = np.log1p(np.bincount(pairs[0][beside], minlength=len(docs)))
        return found

    def _authors(self, known: NDArray[np.bool_], docs: Docs) -> Reals:
        """How much other works of each document's best known author are cited."""
        assert self.citing is not None
        pairs = np.stack([self.citing.docs[known], self.citing.papers[known]])
        cited = np.unique(pairs, axis=1)[0]
        counts = np.bincount(cited, minlength=len(self.index.ids)).astype(np.float64)
        return np.log1p(self._by_cited_authors.of_other_works(counts)[docs])

    @cached_property
    def _by_cited_authors(self) -> Authorship:
        """All that those wrote of whom something is cited."""
        assert self.citing is not None
        return self._records.works_by_authors_of(np.unique(self.citing.docs).astype(np.int64))

    def _peers(self, docs: Docs, likeness: Reals) -> Reals:
        """How many of the documents that fit best are by an author of each, too."""
        among = np.zeros(len(docs))
        count = min(_FITTING, len(self.index.ids) // _ONE_OF)
        among[np.argsort(-likeness, kind="stable")[:count]] = 1
        return np.log1p(self._records.authorship(docs).of_other_works(among))

    def _lately(self, rows: Docs, docs: Docs, year: int | None) -> Reals:
        assert self.citing is not None
        last = np.zeros(len(docs))
        np.maximum.at(last, np.searchsorted(docs, self.citing.docs[rows]), self.citing.years[rows])
        now = year or int(self.citing.years.max(initial=0))
        return np.where(last > 0, 1 / np.maximum(now - last, 1), 0.0)

    def _papers_citing(self, cites: Docs) -> Docs:
        assert self.citing is not None
        rows = [row for document in cites.tolist() for row in self.citing.of(document)]
        return np.unique(self.citing.papers[rows]).astype(np.int64)

    def _ages(self, docs: Docs, year: int | None) -> Reals:
        years = self._records.years
        now = year or int(years.max(initial=0))
        return np.where(years[docs] > 0, np.log1p(np.clip(now - years[docs], 0, None)), 0.0)


def _several(sentences: Sequence[str]) -> Sequence[str]:
    """The sentences, where there is more than the text as a whole."""
    return sentences if len(sentences) > 1 else ()


def _best(scores: NDArray[np.float32], may: NDArray[np.bool_], count: int) -> Docs:
    """The documents with the highest scores among those that may be found."""
    numbers = np.flatnonzero(may)
    if len(numbers) <= count:
        return numbers
    return numbers[np.argpartition(-scores[numbers], count - 1)[:count]]


def _share(scores: Reals, all_scores: Reals) -> Reals:
    best = float(all_scores.max(initial=0.0))
    return scores / best if best > 0 else np.zeros_like(scores)


def _spread(scores: NDArray[np.float32], docs: Docs) -> Reals:
    least, most = float(scores.min(initial=0)), float(scores.max(initial=0))
    return (scores[docs].astype(np.float64) - least) / max(most - least, 1e-9)


def _table(columns: dict[str, Reals], names: Iterable[str], docs: Docs) -> Reals:
    none = np.zeros(len(docs))
    return np.stack([columns.get(name, none) for name in names], axis=1)
