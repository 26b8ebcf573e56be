"""Features: what speaks for a document, signal by signal, for each candidate of a query.

What a signal says is brought to one measure, so that a weight means the same for all texts: BM25 as
a share of the best, similarities between the least (0) and the greatest (1) of all documents.
Nothing comes from the asking paper itself, or from papers of its year or later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.citation_contexts import CitingSentences
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.records import Authorship, Reals
from citebed.retrieval.memory import LruCache
from citebed.retrieval.query import Features, Query
from citebed.retrieval.ranking.candidates import (
    NOBODY,
    Allowed,
    Candidates,
    Liked,
    allowed_for,
    candidates,
    liked,
)
from citebed.retrieval.ranking.constants import Constants
from citebed.retrieval.ranking.expecting import with_expected
from citebed.retrieval.search.feedback import moved_vectors
from citebed.retrieval.search.searcher import Hits, Searcher, usable
from citebed.retrieval.vectors.static_model import StaticModel
from citebed.retrieval.vectors.vectors import Docs, DocumentVectors, Embedder, Similarities, Vectors
from citebed.wording import printable

_AHEAD = 64 << 20
"""Bytes of similarities that are computed for some texts together."""
AT_ONCE = 64
"""Queries whose texts are given to the models at a time."""
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

OF_RECORDS: dict[str, Callable[[Index, Docs], Reals]] = {
    "length": lambda index, docs: index.records.log_pages(docs),
    "title_only": lambda index, docs: (index.lengths["abstract"][docs] == 0).astype(np.float64),
}
"""Those that documents have by themselves, whatever is asked."""

_ASKERS = 4
"""Papers and years whose known authors are remembered: queries of one come together."""


RAW = ("bm25", "static", "static_sentence", "encoder", "encoder_sentence")
_LIKENESSES = ("bm25_sentence", *RAW)


class Signals:
    """A collection's index and models, ready to tell what speaks for documents."""

    def __init__(
        self, searcher: Searcher, models: dict[str, Embedder], constants: Constants
    ) -> None:
        self._searcher, self.index, self._models = searcher, searcher.index, models
        self.constants = constants
        self._vectors = {
            kind: self.index.vectors_of(model, kind, incomplete=True)
            for kind, model in models.items()
        }
        self._cited_authors: LruCache[tuple[str | None, int | None], Reals] = LruCache(_ASKERS)

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of vectors that are missing."""
        shares = [self.share(kind) for kind in self._vectors]
        folder = printable(self.index.folder.parent)
        return tuple(
            f"{int(100 * share)} % of the documents are encoded so far; the others are ranked by "
            f"what words say of them. To go on: citebed index {folder} --neural"
            for share in shares
            if share < 1
        )

    def share(self, kind: str) -> float:
        """The share of documents that have a vector of a kind."""
        vectors = self._vectors[kind]
        return 1 - vectors.missing / max(len(vectors), 1)

    def prepare(self) -> None:
        """Make ready for many texts."""
        for vectors in self._vectors.values():
            vectors.prepare()
        for model in self._models.values():
            if isinstance(model, StaticModel):
                model.prepare()
        if self.citing is not None:
            self.citing.vectors.prepare()
            self._by_cited_authors  # noqa: B018 - read now

    def embedded(self, queries: Sequence[Query]) -> list[dict[str, Vectors]]:
        """The vectors of each text and its sentences, by kind: the first row is the text's."""
        texts = [query.texts for query in queries]
        flat = [text for some in texts for text in some]
        ends = np.cumsum([len(some) for some in texts])[:-1]
        parts = {k: np.split(model.queries(flat), ends) for k, model in self._models.items()}
        return [{kind: parts[kind][at] for kind in parts} for at in range(len(queries))]

    def embedded_in_turn(self, queries: Sequence[Query]) -> Iterator[dict[str, Vectors]]:
        """The same for many texts, some at a time."""
        for start in range(0, len(queries), AT_ONCE):
            yield from self.embedded(queries[start : start + AT_ONCE])

    def score_ahead(self, embedded: Sequence[dict[str, Vectors]]) -> Iterator[dict[str, Vectors]]:
        """The vectors of many texts one after another; what `features` asks of the documents is
        computed for some texts together, as many as there is room for."""
        rows = max((len(each) for one in embedded for each in one.values()), default=1)
        some = max(1, _AHEAD // (4 * rows * max(len(self.index.ids), 1)))
        for start in range(0, len(embedded), some):
            for kind, documents in self._vectors.items():
                documents.precompute([one[kind] for one in embedded[start : start + some]])
            yield from embedded[start : start + some]

    def features(
        self,
        query: Query,
        hits: Hits,
        vectors: dict[str, Vectors],
        depth: int,
        in_time: Allowed = None,
    ) -> Features:
        """The features of what a query may be answered with; ``hits`` are the best by BM25, and
        ``in_time`` which documents are not too late.

        Where a query asks among some documents, these are here with the best of all: what a
        document is a share of, and so what is said of it, is the same whoever is left out.
        """
        known, said = self.said(query, vectors)
        pairs = {kind: self._asked(query, kind, rows) for kind, rows in vectors.items()}
        allowed = [allowed_for(query, in_time, len(self.index.ids))]
        if query.among is not None:
            allowed.append(query.among if allowed[0] is None else query.among & allowed[0])
        found = candidates(hits, pairs, said, allowed, depth, self.constants)
        features = self._features(query, hits, found, known)
        return self._as_asked(query, vectors, features) if query.judged.moves else features

    def said(
        self, query: Query, vectors: dict[str, Vectors]
    ) -> tuple[NDArray[np.bool_] | None, Liked]:
        """Which citing sentences may help a query, and what those say that are like it."""
        known = None if self.citing is None else self.known(query)
        if self.citing is None or known is None or "static" not in vectors:
            return known, NOBODY
        return known, liked(self.citing, vectors["static"], known, self.constants.alike)

    def similar(self, vectors: dict[str, Vectors]) -> dict[str, Similarities]:
        """How like all documents are to a query, by the kind of its vectors."""
        return {kind: self._vectors[kind].compare(rows) for kind, rows in vectors.items()}

    def _as_asked(self, query: Query, vectors: dict[str, Vectors], found: Features) -> Features:
        """Features of a text that a person's feedback moved, with the raw signals of the text as it
        is: probabilities were learned from these, and would be far too high."""
        raw = found.raw.copy()
        own = usable(query.own_terms or query.terms, self._searcher.view)
        table = self._searcher.contributions(own.ids, found.docs)
        raw[:, RAW.index("bm25")] = weighted_sums(table, own.weights)
        for kind, rows in vectors.items():
            values = self._vectors[kind].score_text(rows, found.docs)
            known = self._vectors[kind].scales[found.docs] > 0
            for name, row in ((kind, 0), (f"{kind}_sentence", -1)):
                at = RAW.index(name)
                raw[:, at] = np.where(known, values[row], raw[:, at])
        return found._replace(raw=raw)

    def _asked(self, query: Query, kind: str, rows: Vectors) -> tuple[DocumentVectors, Vectors]:
        """The documents' vectors of a kind, and those that ask for them."""
        documents, judged = self._vectors[kind], query.judged
        return documents, moved_vectors(rows, documents, judged) if judged.moves else rows

    def _features(
        self, query: Query, hits: Hits, found: Candidates, known: NDArray[np.bool_] | None
    ) -> Features:
        docs, raw = found.docs, {}
        columns = self._of_others(query, docs, known)
        columns["citing"] = _at(docs, *found.liked)
        raw["bm25"], columns["bm25_sentence"], shares = self._by_words(query, docs, hits)
        others = ~np.isin(hits.docs, query.judged.relevant)
        columns["bm25"] = _share(raw["bm25"], hits.scores[others])
        for kind, similar in found.similar.items():
            values = similar.exact(docs).astype(np.float64)
            known = self._vectors[kind].present
            if known is not None:
                told = [columns[name] for name in _LIKENESSES if name in columns]
                values = with_expected(values, known[docs], found.by_all, np.column_stack(told))
            for name, row in ((kind, 0), (f"{kind}_sentence", -1)):
                least, most = similar.bounds(row, query.judged.relevant)
                columns[name] = np.minimum((values[row] - least) / max(most - least, 1e-9), 1.0)
                raw[name] = values[row]
        alike = np.sum([columns[name] for name in _LIKENESSES if name in columns], axis=0)
        columns["peers"] = self._peers(docs, alike)
        return Features(docs, _table(columns, SIGNALS, docs), _table(raw, RAW, docs), shares)

    def _by_words(self, query: Query, docs: Docs, hits: Hits) -> tuple[Reals, Reals, Reals]:
        """The documents' BM25, also of those that were not found by it; the share that each has of
        the best for one of the sentences; and what each term adds."""
        final = usable(query.terms, self._searcher.view)
        table = self._searcher.contributions(final.ids, docs)
        scores = weighted_sums(table, final.weights)
        order = np.argsort(hits.docs)
        place = np.searchsorted(hits.docs, docs, sorter=order)
        place[place == len(hits.docs)] = 0
        if len(hits.docs):
            place = order[place]
            known = hits.docs[place] == docs
            scores[known] = hits.scores[place[known]]
        sentences, others = query.texts[1:], ~np.isin(docs, query.judged.relevant)
        shares = [self._share_of(sentence, final.ids, table, others) for sentence in sentences]
        best = np.max(shares, axis=0) if sentences else _share(scores, scores[others])
        return scores, best, table * final.weights

    def _share_of(
        self, sentence: str, terms: Docs, table: Reals, others: NDArray[np.bool_]
    ) -> Reals:
        """What share of the best of the ``others`` each document has for a sentence of a text whose
        ``terms`` add to documents what the ``table`` has."""
        own = usable(self._searcher.query(sentence), self._searcher.view)
        columns = np.searchsorted(terms, own.ids)
        there = columns < len(terms)
        there[there] = terms[columns[there]] == own.ids[there]
        scores = weighted_sums(table[:, columns[there]], own.weights[there])
        return _share(scores, scores[others])

    # --- What other papers say ---

    @cached_property
    def citing(self) -> CitingSentences | None:
        """The sentences that cite, where they have the vectors of the model at hand."""
        citing, model = self.index.citing, self._models.get("static")
        return citing if citing and model and citing.vectors.is_of(model) else None

    def known(self, query: Query) -> NDArray[np.bool_]:
        """Which citing sentences may help a query."""
        assert self.citing is not None
        paper = self.index.papers.find(query.paper) if query.paper else -1
        return self.citing.known_to(paper, query.year)

    def _of_others(
        self, query: Query, docs: Docs, known: NDArray[np.bool_] | None
    ) -> dict[str, Reals]:
        found = {name: values_of(self.index, docs) for name, values_of in OF_RECORDS.items()}
        found["age"] = self._ages(docs, query.year)
        if self.citing is None or known is None:
            return found
        found["authors"] = self._authors(query, known)[docs]
        is_candidate = np.zeros(len(self.index.ids), bool)
        is_candidate[docs] = True
        rows = np.flatnonzero(known & is_candidate[self.citing.docs])
        places = np.searchsorted(docs, self.citing.docs[rows])
        which, papers = _pairs(places, self.citing.papers[rows])
        found["cited"] = np.log1p(np.bincount(which, minlength=len(docs)))
        found["lately"] = self._lately(rows, places, docs, query.year)
        beside = np.isin(papers, self._papers_citing(query.cites))
        found["cocited"] = np.log1p(np.bincount(which[beside], minlength=len(docs)))
        return found

    def _authors(self, query: Query, known: NDArray[np.bool_]) -> Reals:
        """How much other works of each document's best known author are cited."""
        key = (query.paper, query.year)
        return self._cited_authors.get(key, lambda: self._of_cited_authors(known))

    def _of_cited_authors(self, known: NDArray[np.bool_]) -> Reals:
        assert self.citing is not None
        cited, _ = _pairs(self.citing.docs[known], self.citing.papers[known])
        counts = np.bincount(cited, minlength=len(self.index.ids)).astype(np.float64)
        return np.log1p(self._by_cited_authors.sum_other_works(counts))

    @cached_property
    def _by_cited_authors(self) -> Authorship:
        """All that those wrote of whom something is cited."""
        assert self.citing is not None
        return self.index.records.works_by_authors_of(np.unique(self.citing.docs).astype(np.int64))

    def _peers(self, docs: Docs, likeness: Reals) -> Reals:
        """How many of the documents that fit best are by an author of each, too."""
        among = np.zeros(len(docs))
        one_of = max(self.constants.fitting_one_of, 1)
        count = min(self.constants.fitting, self.index.totals.documents // one_of)
        among[np.argsort(-likeness, kind="stable")[:count]] = 1
        return np.log1p(self.index.records.authorship(docs).sum_other_works(among))

    def _lately(self, rows: Docs, places: Docs, docs: Docs, year: int | None) -> Reals:
        assert self.citing is not None
        last = np.zeros(len(docs))
        np.maximum.at(last, places, self.citing.years[rows])
        now = year or self.index.totals.latest_citing
        return np.where(last > 0, 1 / np.maximum(now - last, 1), 0.0)

    def _papers_citing(self, cites: Docs) -> Docs:
        assert self.citing is not None
        rows = [row for document in cites.tolist() for row in self.citing.of(document)]
        return np.unique(self.citing.papers[rows]).astype(np.int64)

    def _ages(self, docs: Docs, year: int | None) -> Reals:
        records = self.index.records
        years = records.years[docs].astype(np.int64)
        now = year or self.index.totals.latest
        return np.where(years > 0, np.log1p(np.clip(now - years, 0, None)), 0.0)


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


def weighted_sums(table: Reals, weights: Reals) -> Reals:
    """The weighted sum of each row. A row's sum does not depend on the other rows, to the last bit;
    a product of matrices does not promise that, and a shard must give the scores of one machine."""
    return np.asarray(np.einsum("rc,c->r", np.ascontiguousarray(table), weights), np.float64)


def _share(scores: Reals, of: Reals) -> Reals:
    """What share scores are of the best of some; no more than all of it."""
    best = float(of.max(initial=0.0))
    return np.minimum(scores / best, 1.0) if best > 0 else np.zeros_like(scores)


def _table(columns: dict[str, Reals], names: Iterable[str], docs: Docs) -> Reals:
    none = np.zeros(len(docs))
    return np.stack([columns.get(name, none) for name in names], axis=1)
