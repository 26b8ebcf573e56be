"""Signals: which documents are candidates for a query, and what speaks for each of them.

A signal has one scale for all texts, so that its weight means the same for each: BM25 is a share of
the best score, and a similarity lies between the lowest (0) and highest (1) of all documents.
Nothing comes from the citing paper itself, or from papers of its year or later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.citation_contexts import CitingSentences
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.records import Authorship, Reals
from citebed.retrieval.memory import LruCache
from citebed.retrieval.query import Candidates, Mask, Query
from citebed.retrieval.search.feedback import moved_vectors
from citebed.retrieval.search.searcher import Hits, Searcher, finish_query
from citebed.retrieval.vectors.static_model import StaticModel
from citebed.retrieval.vectors.vectors import Docs, Embedder, Similarities, Vectors
from citebed.wording import printable

SIGNALS = {
    "bm25": "BM25 of title, abstract and keywords, as a share of the best score",
    "bm25_sentence": "the same for the text's sentence that fits the document best",
    "static": "similarity of word vectors, whole text",
    "static_sentence": "similarity of word vectors, best sentence",
    "encoder": "similarity by the encoder, whole text",
    "encoder_sentence": "similarity by the encoder, best sentence",
    "peers": "documents by one of its authors among the 50 most similar to the text (logarithm)",
    "citing": "similarity of the text and the sentences that cite the document (logarithm)",
    "cited": "number of papers that cite it (logarithm)",
    "lately": "its last citation: 1 in the year before the text's own, 1/2 a year earlier",
    "cocited": "papers that cite it together with what the text cites already (logarithm)",
    "authors": "citations of other works of its most cited author (logarithm)",
    "age": "years since it appeared (logarithm)",
    "length": "its number of pages as a share of a usual paper's (logarithm)",
    "title_only": "1 for a record without abstract",
    "named": "1 if the text names an author of it, less for a frequent name",
}
"""The signals by name, with their meaning."""
RECORD_SIGNALS: dict[str, Callable[[Index, Docs], Reals]] = {
    "length": lambda index, docs: index.records.log_pages(docs),
    "title_only": lambda index, docs: (index.lengths["abstract"][docs] == 0).astype(np.float64),
}
"""Signals that depend on the document only."""
RAW = ("bm25", "static", "static_sentence", "encoder", "encoder_sentence")
_TEXT_SIGNALS = ("bm25_sentence", *RAW)

WORDS, CITING, SENTENCE = "words", "said", "_sentence"
"""Names of lists of candidates: by BM25, by citing sentences; the suffix of those by a sentence."""
BATCH = 64
"""Queries whose texts the models embed together."""
_PRECOMPUTED_BYTES = 64 << 20
_CITED_AUTHORS = 4
"""Papers and years whose authors are cached: the queries of a paper come together."""
_RIDGE = 3.0
_CITING_LIKENESS = 0.24
"""How much more similar a text is to a sentence that cites a document than to its abstract, at the
same odds that the document is right (set by hand)."""
_NONE: Docs = np.zeros(0, np.int64)


class Constants(NamedTuple):
    """Numbers that were set by hand or chosen; ``ranker.json`` says what each is, and how."""

    bm25_depth: int
    candidates_per_signal: int
    min_citing_similarity: float
    cited_candidates: int
    peer_depth: int
    peer_divisor: int
    min_evidence_similarity: float
    min_sentence_words: int
    max_citing_sentences: int


# --- Candidates ---------------------------------------------------------------------------------


class CitingScores(NamedTuple):
    """Cited documents, the summed similarity of a text and their citing sentences (log), and the
    highest similarity."""

    docs: Docs
    scores: NDArray[np.float32]
    best: NDArray[np.float32]


def allowed_documents(query: Query, in_time: Mask | None, documents: int) -> Mask | None:
    """Return which documents may be found without a filter; ``None`` for all."""
    if in_time is None and not len(query.excluded):
        return None
    allowed = np.ones(documents, bool) if in_time is None else in_time.copy()
    allowed[query.excluded] = False
    return allowed


def propose_candidates(  # noqa: PLR0913 - the input of each signal
    hits: Hits,
    similarities: Mapping[str, Similarities],
    present: Mapping[str, Mask | None],
    citing: CitingScores,
    *,
    allowed: Mask | None,
    depth: int,
    constants: Constants,
) -> Iterator[tuple[str, Docs]]:
    """Yield the documents that each signal proposes: BM25 (``hits``), citing sentences, and each
    kind of vectors, for the text and for its best sentence (only documents with a vector)."""
    count = max(constants.candidates_per_signal, depth)
    yield WORDS, (hits.docs if allowed is None else hits.docs[allowed[hits.docs]])[:count]
    rows, most = np.arange(len(citing.docs)), constants.cited_candidates
    if allowed is not None:
        rows = np.flatnonzero(allowed[citing.docs])
    if len(rows) > most:  # and all that equal the last one
        last = np.partition(citing.scores[rows], len(rows) - most)[len(rows) - most]
        rows = rows[citing.scores[rows] >= last]
    yield CITING, citing.docs[rows]
    for kind, similar in similarities.items():
        mask = present[kind]
        if allowed is not None:
            mask = allowed if mask is None else allowed & mask
        for row in range(len(similar.rough)):
            yield f"{kind}{SENTENCE if row else ''}", similar.top(row, count, mask)


# --- Signals ------------------------------------------------------------------------------------


class Signals:
    """A collection's index and models, ready to compute the candidates of queries."""

    def __init__(
        self, searcher: Searcher, models: dict[str, Embedder], constants: Constants
    ) -> None:
        self._searcher, self.index, self._models = searcher, searcher.index, models
        self.constants = constants
        self._vectors = {
            kind: self.index.vectors_of(model, kind, incomplete=True)
            for kind, model in models.items()
        }
        self._cited: LruCache[tuple[str | None, int | None], Reals] = LruCache(_CITED_AUTHORS)

    @property
    def notes(self) -> tuple[str, ...]:
        shares = map(self.encoded_share, self._vectors)
        folder = printable(self.index.folder.parent)
        return tuple(
            f"{int(100 * share)} % of the documents are encoded so far; the others are ranked by "
            f"their words. To continue, run: citebed index {folder} --neural"
            for share in shares
            if share < 1
        )

    def encoded_share(self, kind: str) -> float:
        """Return the share of documents with a vector of a kind."""
        vectors = self._vectors[kind]
        return 1 - vectors.missing / max(len(vectors), 1)

    def prepare(self) -> None:
        """Load what many texts need."""
        for vectors in self._vectors.values():
            vectors.prepare()
        for model in self._models.values():
            if isinstance(model, StaticModel):
                model.prepare()
        if self.citing is not None:
            self.citing.vectors.prepare()
            self._authorship  # noqa: B018 - read now

    @cached_property
    def citing(self) -> CitingSentences | None:
        """The citing sentences, if they have vectors of this model."""
        citing, model = self.index.citing, self._models.get("static")
        return citing if citing and model and citing.vectors.is_of(model) else None

    @cached_property
    def _authorship(self) -> Authorship:
        """All works of the authors of cited documents."""
        assert self.citing is not None
        return self.index.records.works_by_authors_of(np.unique(self.citing.docs).astype(np.int64))

    def embed(self, queries: Sequence[Query]) -> list[dict[str, Vectors]]:
        """Return the vectors of each text (first row) and its sentences, by kind."""
        texts = [query.texts for query in queries]
        flat = [text for some in texts for text in some]
        ends = np.cumsum([len(some) for some in texts])[:-1]
        parts = {k: np.split(model.queries(flat), ends) for k, model in self._models.items()}
        return [{kind: parts[kind][at] for kind in parts} for at in range(len(queries))]

    def embed_in_batches(self, queries: Sequence[Query]) -> Iterator[dict[str, Vectors]]:
        """Yield the same for many texts."""
        for start in range(0, len(queries), BATCH):
            yield from self.embed(queries[start : start + BATCH])

    def precompute(self, embedded: Sequence[dict[str, Vectors]]) -> Iterator[dict[str, Vectors]]:
        """Yield the vectors of many texts, after computing their similarities in batches."""
        rows = max((len(each) for one in embedded for each in one.values()), default=1)
        size = max(1, _PRECOMPUTED_BYTES // (4 * rows * max(len(self.index.ids), 1)))
        for start in range(0, len(embedded), size):
            for kind, documents in self._vectors.items():
                documents.precompute([one[kind] for one in embedded[start : start + size]])
            yield from embedded[start : start + size]

    def compare(self, query: Query, vectors: Mapping[str, Vectors]) -> dict[str, Similarities]:
        """Return the similarity of all documents to a query, by kind of vectors."""
        found = {}
        for kind, rows in vectors.items():
            documents = self._vectors[kind]
            moved = moved_vectors(rows, documents, query.judged) if query.judged.moves else rows
            found[kind] = documents.compare(moved)
        return found

    def compare_citing(
        self, query: Query, vectors: Mapping[str, Vectors]
    ) -> tuple[Mask | None, CitingScores]:
        """Return which citing sentences the query may use, and the scores of what they cite."""
        if self.citing is None:
            return None, CitingScores(_NONE, *np.zeros((2, 0), np.float32))
        visible = self.visible_citing(query)
        if "static" not in vectors:
            return visible, CitingScores(_NONE, *np.zeros((2, 0), np.float32))
        similar = self.citing.vectors.compare(vectors["static"])
        sentences, likeness = similar.above(-1, self.constants.min_citing_similarity)
        allowed = visible[sentences]
        docs, rows = np.unique(self.citing.docs[sentences[allowed]], return_inverse=True)
        sums, best = np.zeros((2, len(docs)), np.float32)
        np.add.at(sums, rows, likeness[allowed])
        np.maximum.at(best, rows, likeness[allowed])
        return visible, CitingScores(docs.astype(np.int64), np.log1p(sums), best)

    def visible_citing(self, query: Query) -> Mask:
        """Return which citing sentences a query may use: those by other papers of earlier years."""
        assert self.citing is not None
        paper = self.index.papers.find(query.paper) if query.paper else -1
        known: Mask = self.citing.papers != paper
        if query.year is not None:
            known &= self.citing.years < query.year
        return known

    def compute(
        self,
        query: Query,
        hits: Hits,
        vectors: Mapping[str, Vectors],
        depth: int,
        in_time: Mask | None = None,
    ) -> Candidates:
        """Return the candidates of a query with their signals, in the order of documents.

        ``hits`` are the best by BM25, ``in_time`` documents that are not too late. With a filter,
        the best of all documents are candidates too: signals, which are shares of the best, are the
        same with and without it. The scores are BM25.
        """
        visible, citing = self.compare_citing(query, vectors)
        similarities = self.compare(query, vectors)
        masks = [allowed_documents(query, in_time, len(self.index.ids))]
        if query.filter_mask is not None:
            mask = query.filter_mask if masks[0] is None else query.filter_mask & masks[0]
            masks.append(mask)
        present = {kind: documents.present for kind, documents in self._vectors.items()}
        fair, others = [_NONE], list[Docs]()  # by signals that all documents have, and by others
        for allowed in masks:
            for name, docs in propose_candidates(
                hits, similarities, present, citing,
                allowed=allowed, depth=depth, constants=self.constants,
            ):  # fmt: skip
                is_fair = present.get(name.removesuffix(SENTENCE)) is None
                (fair if is_fair else others).append(docs)
            named, _ = query.named
            fair.append(named if allowed is None else named[allowed[named]])
        docs = np.unique(np.concatenate(fair + others))
        is_fair_candidate = np.isin(docs, np.concatenate(fair))

        raw, columns = {}, self._record_columns(query, docs, visible)
        columns["citing"], columns["named"] = np.zeros(len(docs)), np.zeros(len(docs))
        _, rows, found = np.intersect1d(docs, query.named[0], return_indices=True)
        columns["named"][rows] = query.named[1][found]
        is_cited = np.isin(docs, citing.docs)
        columns["citing"][is_cited] = citing.scores[np.isin(citing.docs, docs)]
        # A title says little, so a paper without abstract is what the sentences that cite it say.
        as_cited = np.full(len(docs), -1.0)
        as_cited[is_cited] = citing.best[np.isin(citing.docs, docs)] - _CITING_LIKENESS
        as_cited[columns["title_only"] == 0] = -1.0
        raw["bm25"], columns["bm25_sentence"], term_scores = self._word_columns(query, docs, hits)
        rivals = ~np.isin(hits.docs, query.judged.relevant)
        columns["bm25"] = _share_of_best(raw["bm25"], hits.scores[rivals])
        for kind, similar in similarities.items():
            values = similar.exact(docs).astype(np.float64)
            if (known := present[kind]) is not None:
                inputs = [columns[name] for name in _TEXT_SIGNALS if name in columns]
                values = impute(values, known[docs], is_fair_candidate, np.column_stack(inputs))
            if kind == "static":
                values[-1] = np.maximum(values[-1], as_cited)
            for name, row in ((kind, 0), (f"{kind}{SENTENCE}", -1)):
                least, most = similar.bounds(row, query.judged.relevant)
                columns[name] = np.minimum((values[row] - least) / max(most - least, 1e-9), 1.0)
                raw[name] = values[row]
        likeness = np.sum([columns[name] for name in _TEXT_SIGNALS if name in columns], axis=0)
        divided = self.index.totals.documents // max(self.constants.peer_divisor, 1)
        peers = np.zeros(len(docs))
        count = min(self.constants.peer_depth, divided)
        peers[np.argsort(-likeness, kind="stable")[:count]] = 1
        columns["peers"] = np.log1p(self.index.records.authorship(docs).sum_other_works(peers))
        if query.judged.moves:
            self._restore_raw(query, docs, vectors, raw)
        none = np.zeros(len(docs))
        return Candidates(
            query, docs, raw["bm25"],
            np.stack([columns.get(name, none) for name in SIGNALS], axis=1),
            np.stack([raw.get(name, none) for name in RAW], axis=1),
            term_scores, vectors=vectors,
        )  # fmt: skip

    def _restore_raw(
        self, query: Query, docs: Docs, vectors: Mapping[str, Vectors], raw: dict[str, Reals]
    ) -> None:
        """Compute raw signals of the text before feedback: probabilities were learned from these,
        and would be far too high."""
        own = finish_query(query.original_terms or query.terms, self._searcher.view)
        raw["bm25"] = weighted_sums(self._searcher.contributions(own.ids, docs), own.weights)
        for kind, rows in vectors.items():
            values = self._vectors[kind].score_text(rows, docs)
            known = self._vectors[kind].scales[docs] > 0
            for name, row in ((kind, 0), (f"{kind}{SENTENCE}", -1)):
                raw[name] = np.where(known, values[row], raw[name])

    def _word_columns(self, query: Query, docs: Docs, hits: Hits) -> tuple[Reals, Reals, Reals]:
        """Return BM25 (also of documents that BM25 did not find), the share of the best score for
        the best sentence, and what each term adds."""
        final = finish_query(query.terms, self._searcher.view)
        table = self._searcher.contributions(final.ids, docs)
        scores = weighted_sums(table, final.weights)
        _, rows, found = np.intersect1d(docs, hits.docs, assume_unique=True, return_indices=True)
        scores[rows] = hits.scores[found]
        rivals = ~np.isin(docs, query.judged.relevant)
        shares = []
        for sentence in query.texts[1:]:
            own = finish_query(self._searcher.query(sentence), self._searcher.view)
            _, columns, terms = np.intersect1d(
                final.ids, own.ids, assume_unique=True, return_indices=True
            )
            sums = weighted_sums(table[:, columns], own.weights[terms])
            shares.append(_share_of_best(sums, sums[rivals]))
        best = np.max(shares, axis=0) if shares else _share_of_best(scores, scores[rivals])
        return scores, best, table * final.weights

    def _record_columns(self, query: Query, docs: Docs, visible: Mask | None) -> dict[str, Reals]:
        """Return the signals of records, and of citations that are visible to the query."""
        index, year = self.index, query.year
        columns = {name: compute(index, docs) for name, compute in RECORD_SIGNALS.items()}
        years = index.records.years[docs].astype(np.int64)
        ages = np.log1p(np.clip((year or index.totals.latest) - years, 0, None))
        columns["age"] = np.where(years > 0, ages, 0.0)
        citing = self.citing
        if citing is None or visible is None:
            return columns

        def count_authors() -> Reals:
            cited, _ = _unique_pairs(citing.docs[visible], citing.papers[visible])
            counts = np.bincount(cited, minlength=len(index.ids)).astype(np.float64)
            return np.log1p(self._authorship.sum_other_works(counts))

        columns["authors"] = self._cited.get((query.paper, year), count_authors)[docs]
        is_candidate = np.zeros(len(index.ids), bool)
        is_candidate[docs] = True
        rows = np.flatnonzero(visible & is_candidate[citing.docs])
        places = np.searchsorted(docs, citing.docs[rows])
        which, papers = _unique_pairs(places, citing.papers[rows])
        columns["cited"] = np.log1p(np.bincount(which, minlength=len(docs)))
        last = np.zeros(len(docs))
        np.maximum.at(last, places, citing.years[rows])
        now = year or index.totals.latest_citing
        columns["lately"] = np.where(last > 0, 1 / np.maximum(now - last, 1), 0.0)
        cited_rows = [row for document in query.cites.tolist() for row in citing.of(document)]
        beside = np.isin(papers, np.unique(citing.papers[cited_rows]).astype(np.int64))
        columns["cocited"] = np.log1p(np.bincount(which[beside], minlength=len(docs)))
        return columns


def impute(values: Reals, known: Mask, fair: Mask, others: Reals) -> Reals:
    """Return similarities (a row for the text, perhaps one for its best sentence) with estimates
    for candidates that have no vector yet, so that they are neither favoured nor punished.

    The estimates are a ridge regression on the ``others`` (columns of signals), learned from known
    candidates that other signals proposed (``fair``): the nearest by vectors would bias it.
    """
    taught = known & fair if (known & fair).any() else known
    if known.all() or not taught.any():
        return values
    means = others[taught].mean(axis=0)
    inputs, unknown = others[taught] - means, others[~known] - means
    scale = np.maximum(inputs.std(axis=0), 1e-9)
    inputs, unknown = inputs / scale, unknown / scale
    found, middle = values.copy(), values[:, taught].mean(axis=1)
    gram = inputs.T @ inputs + _RIDGE * np.eye(inputs.shape[1])
    weights = np.linalg.solve(gram, inputs.T @ (values[:, taught].T - middle))
    least, most = values[:, taught].min(axis=1), values[:, taught].max(axis=1)
    found[:, ~known] = np.clip((unknown @ weights + middle).T, least[:, None], most[:, None])
    return found


def _unique_pairs(first: NDArray[Any], second: NDArray[Any]) -> tuple[Docs, Docs]:
    """Return pairs of numbers, each once and in order."""
    both = np.unique(first.astype(np.int64) << 32 | second.astype(np.int64))
    return both >> 32, both & 0xFFFFFFFF


def weighted_sums(table: Reals, weights: Reals) -> Reals:
    """Return the weighted sum of each row.

    A row's sum never depends on other rows, to the last bit: a shard must get the scores of a whole
    index, and a product of matrices does not promise that.
    """
    return np.asarray(np.einsum("rc,c->r", np.ascontiguousarray(table), weights), np.float64)


def _share_of_best(scores: Reals, rivals: Reals) -> Reals:
    """Return scores as a share of the best of some, at most 1."""
    best = float(rivals.max(initial=0.0))
    return np.minimum(scores / best, 1.0) if best > 0 else np.zeros_like(scores)
