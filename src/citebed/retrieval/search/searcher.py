"""Searching an index with a model, by scoring every document or by upper bounds."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.processes import Worker, WorkerDied, WorkerError
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.feedback.base import TermWeights, summed
from citebed.retrieval.index.arrays import in_threads
from citebed.retrieval.index.index import Index
from citebed.retrieval.memory import LruCache, free_memory
from citebed.retrieval.models.base import Corpus, Floats, Model
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields
from citebed.retrieval.search.view import View, Whole
from citebed.retrieval.vectors.vectors import Docs


class Hits(NamedTuple):
    """Documents by number with their scores, best first; of equal scores the later id first."""

    docs: NDArray[np.int64]
    scores: NDArray[np.float64]


Allowed = NDArray[np.bool_] | None
"""A mask of the documents that may be found; ``None`` for all."""

_LOAD_KERNELS = "citebed.retrieval.index.builder:load_kernels"
_NO_DOCS, _NO_SCORES = np.zeros(0, np.int64), np.zeros(0, np.float64)
NOTHING = Hits(_NO_DOCS, _NO_SCORES)

FREQUENT = 32
"""A term is frequent if more than one document in 32 contains it.

Frequent terms are added first, then the others, both in the order of terms. A sum of floats depends
on its order, so every code path must add in this order.
"""


def score_all(view: View, query: TermWeights) -> tuple[Floats, NDArray[np.bool_]]:
    """Return every document's score, and a mask of the documents with a term of the query."""
    documents = len(view.index.ids)
    order = np.argsort(query.df * FREQUENT <= view.stats.documents, kind="stable")
    terms = list(zip(query.ids[order].tolist(), query.weights[order].tolist(), strict=True))
    docs = np.concatenate([_NO_DOCS, *(view.term(term).docs for term, _ in terms)])
    gains = [weight * view.impacts(term).astype(np.float64) for term, weight in terms]
    # ``summed`` adds in the order of its input.
    scores = summed(docs, np.concatenate([_NO_SCORES, *gains]), documents)
    has_term = np.zeros(documents, bool)
    has_term[docs] = True
    if view.document_scores is not None:
        scores += view.document_weight(query) * view.document_scores
    return scores + view.constant(query), has_term


def score_and_rank(
    view: View, query: TermWeights, k: int, allowed: Allowed, excluded: Docs
) -> Hits:
    """Return the best ``k`` documents; ``query`` has final weights."""
    if not len(query.ids):
        return NOTHING
    scores, eligible = score_all(view, query)
    if allowed is not None:
        eligible &= allowed
    eligible[excluded] = False
    docs = np.flatnonzero(eligible)
    scores = scores[docs]
    if len(docs) > k:
        least = np.partition(scores, len(docs) - k)[len(docs) - k]
        docs, scores = docs[scores >= least], scores[scores >= least]
    order = np.lexsort((-docs, -scores))[:k]
    return Hits(docs[order], scores[order])


_BATCH = 32
"""Number of queries that a thread takes at a time."""
_VIEWS = 4
"""Cached views, each without one paper's citing text; queries of a paper come together."""
_LOG = logging.getLogger("citebed")
_TOO_LARGE = (
    "note: preloading the index needs %.1f GB of memory, but only %.1f GB are free; "
    "citebed searches without preloading, which takes longer"
)


_SHARE = 4
"""If preparing needs too much memory, cached terms take a quarter of the free memory."""
_POSTINGS_FOR_THREAD, _BYTES_PER_POSTING = 5_000_000, 32
"""Number of postings from which a query gets its own thread, and the bytes of each posting."""


StatisticsSource = Callable[[str | None], Whole | None]
"""Gives the index of a shard the statistics of the whole collection, without the citing text of a
paper if one is given; ``None`` if the paper has none."""


class Searcher:
    """An index, a model and the fields' weights, ready to search.

    Results are exact. A new searcher scores every document; after ``prepare`` it finds the same
    results much faster. ``wholes`` has the statistics of the whole collection, for a shard.
    """

    def __init__(
        self,
        index: Index,
        model: Model,
        fields: Fields = DEFAULT_FIELDS,
        wholes: StatisticsSource | None = None,
    ) -> None:
        self.index = index
        self.model = model
        self._wholes, whole = wholes, None if wholes is None else wholes(None)
        self.fields = fields.of(index.fields if whole is None else whole.tokens)
        self.view = View(index, model, self.fields, whole=whole)
        self._prepared: Any = None
        self._waits = False
        self._workspaces: list[Any] = []
        self._views: LruCache[str, View] = LruCache(_VIEWS)

    def prepare(self, *, wait: bool = True) -> None:
        """Prepare for many searches, which takes a second for 100,000 documents.

        If memory is too small, log a note and stay slow. Results do not change. Without ``wait``,
        stay slow until another process has compiled the search, once on each machine.
        """
        self._waits |= wait
        if self._prepared is None:
            from citebed.retrieval.search.impact_index import bytes_of, prepare

            needed, free = bytes_of(self.index), free_memory()
            if needed > free:
                _LOG.warning(_TOO_LARGE, needed / 1e9, free / 1e9)
                self.view.remember(free // _SHARE)
                return
            self._prepared = prepare(self.view)
            if self._prepared is not None:
                self._prepared.arrays  # noqa: B018 - computed before threads search
                self.view.terms_of = self._prepared.terms_of

    def query(
        self, text: str, view: View | None = None, *, keep: Callable[[str], bool] = is_telling
    ) -> TermWeights:
        """Return a text as a query: its terms that the index contains, and their frequencies.

        ``keep`` selects terms; by default it drops single letters and digits.
        """
        counts: dict[int, float] = {}
        for term in filter(keep, self.index.analyser.terms(text)):
            number = self.index.term_number(term)
            if number >= 0:
                counts[number] = counts.get(number, 0.0) + 1.0
        return query_of_counts(view or self.view, counts)

    def without(self, paper: str | None) -> View:
        """Return the view without the citing text of a paper."""
        if not paper:
            return self.view

        def make() -> View:
            whole = None if self._wholes is None else self._wholes(paper)
            if self._wholes is not None and whole is None:
                return self.view
            view = View(self.index, self.model, self.fields, paper, whole)
            return self.view if whole is None and view.is_whole else view

        return self._views.get(paper, make)

    def search(
        self, query: TermWeights, k: int, *, excluded: Docs = _NO_DOCS, allowed: Allowed = None
    ) -> Hits:
        """Return the best ``k`` documents for one query."""
        return self.search_all([query], k, excluded=[excluded], allowed=allowed, threads=1)[0]

    def contributions(self, terms: Docs, docs: Docs) -> NDArray[np.float64]:
        """Return the impact of each term (column) on each document (row)."""
        if self._prepared is None:
            return self.view.contributions(terms, docs)
        from citebed.retrieval import kernels

        order = np.argsort(docs)
        rows = np.zeros((len(docs), len(terms)))
        postings = (self._prepared.offsets, self._prepared.docs, self._prepared.impacts)
        kernels.contributions(*postings, terms, docs[order], rows)
        table = np.empty_like(rows)
        table[order] = rows
        return table

    def search_all(
        self,
        queries: Sequence[TermWeights],
        k: int,
        *,
        excluded: Sequence[Docs] | None = None,
        allowed: Allowed = None,
        threads: int = 0,
        paper: str | None = None,
    ) -> list[Hits]:
        """Return the best ``k`` documents for each query, without its ``excluded`` documents.

        The citing text of ``paper`` does not count.
        """
        if k < 1:
            return [NOTHING] * len(queries)
        view = self.without(paper)
        final = [finish_query(query, view) for query in queries]
        excluded_docs, threads = excluded or [_NO_DOCS] * len(final), threads or os.cpu_count() or 1
        ready = self._prepared is not None and view is self.view
        ready = ready and (self._waits or not _is_compiling())
        prunable = [i for i, query in enumerate(final) if ready and (query.weights > 0).all()]
        others = [i for i in range(len(final)) if i not in set(prunable)]
        parts = [prunable[at : at + _BATCH] for at in range(0, len(prunable), _BATCH)]
        # Other queries read all their postings; they get threads only if they have many.
        largest, thread_count = max((int(final[at].df.sum()) for at in others), default=0), 1
        if largest >= _POSTINGS_FOR_THREAD:
            fitting = int(free_memory() // (2 * _BYTES_PER_POSTING * largest))
            thread_count = max(1, min(threads, len(others), fitting))

        def search_pruned(part: list[int]) -> list[Hits]:
            queries, excluded = [final[i] for i in part], [excluded_docs[i] for i in part]
            return self._search_with_bounds(queries, excluded, k, allowed)

        def score(at: int) -> Hits:
            return score_and_rank(view, final[at], k, allowed, excluded_docs[at])

        found = dict(zip(others, in_threads(score, others, thread_count), strict=True))
        pruned = in_threads(search_pruned, parts, threads if len(parts) > 1 else 1)
        for part, hits in zip(parts, pruned, strict=True):
            found |= zip(part, hits, strict=True)
        return [found[at] for at in range(len(final))]

    def _search_with_bounds(
        self, queries: list[TermWeights], excluded: Sequence[Docs], k: int, allowed: Allowed
    ) -> list[Hits]:
        from citebed.retrieval import kernels

        prepared = self._prepared
        k = min(k, prepared.documents)
        try:
            workspace = self._workspaces.pop()
        except IndexError:  # a check before it would be a race between threads
            workspace = prepared.workspace()
        out = (
            np.empty((len(queries), k), np.int64),
            np.empty((len(queries), k)),
            np.empty(len(queries), np.int64),
        )
        kernels.search_many(
            prepared.arrays,
            (
                _starts([query.ids for query in queries]),
                np.concatenate([query.ids for query in queries]),
                np.concatenate([query.weights for query in queries]),
                np.array([self.view.document_weight(query) for query in queries]),
                np.array([self.view.constant(query) for query in queries]),
            ),
            (_starts(excluded), np.concatenate([_NO_DOCS, *excluded])),
            np.zeros(0, bool) if allowed is None else allowed,
            k,
            workspace,
            out,
        )
        self._workspaces.append(workspace)
        return [Hits(d[:n], s[:n]) for d, s, n in zip(out[0], out[1], out[2].tolist(), strict=True)]


def _is_compiling() -> bool:
    """Return True while a process compiles the search; start it if that is necessary."""
    from citebed.retrieval import kernels
    from citebed.retrieval.numba_cache import must_compile

    return must_compile(kernels.search_many) and _start_compiler().is_alive()


@cache
def _start_compiler() -> threading.Thread:
    """Compile the search in another process, whose cache this one then uses."""

    def run() -> None:
        with (
            suppress(WorkerDied, WorkerError, CitebedError),
            closing(Worker(_LOAD_KERNELS)) as worker,
        ):
            worker.run(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def query_of_counts(view: View, counts: dict[int, float]) -> TermWeights:
    """Return counts by term number as a query, without terms that no document of the view has."""
    ids = np.array(sorted(counts), np.int64)
    weights = np.array([counts[number] for number in ids.tolist()], np.float64)
    df, cf = view.frequencies(ids)
    has_docs = df > 0
    return TermWeights(ids[has_docs], weights[has_docs], df[has_docs], cf[has_docs])


def finish_query(query: TermWeights, view: View) -> TermWeights:
    """Return the query with its final weights, without terms of weight 0."""
    return finish_query_with(query, view.model, view.stats)


def finish_query_with(query: TermWeights, model: Model, stats: Corpus) -> TermWeights:
    """Do the same as `finish_query`, given a model and the statistics of a collection."""
    final = query.finished(model, stats)
    return final if final.weights.all() else final.chosen(final.weights != 0)


def _starts(parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
