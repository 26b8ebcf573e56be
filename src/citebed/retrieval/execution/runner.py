"""Run a pipeline on queries: analysis, search, feedback, dates, filters, re-ranking.

``Runner`` is the only way from a text to its documents; ``run_queries`` makes a run with it, and
the recommender explains what it finds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from citebed.collection import Collection, open_collection
from citebed.collection.filters import Filter
from citebed.collection.progress import SILENT, Progress
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.pipeline import Pipeline, Ranking, Stage, parse_pipeline
from citebed.retrieval.query import (
    Candidates,
    Docs,
    DocumentMasks,
    Mask,
    Query,
    Reals,
    combine_masks,
)
from citebed.retrieval.search.feedback import NOT_JUDGED, Judged, moved_terms
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields
from citebed.retrieval.search.queries import query_text, read_queries
from citebed.retrieval.search.searcher import NOTHING, Hits, Searcher, finish_query
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.retrieval.ranking.signal_ranker import SignalRanker
    from citebed.retrieval.rerank import CrossEncoder, Encoder
    from citebed.runs.tables import Run

RUN_COLUMNS = {"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int32, "score": pl.Float64}
_LOG = logging.getLogger("citebed")
_PREPARE_FROM, _COMPILE_FROM = 200_000_000, 5_000_000_000
"""Work (queries times postings) from which preparing is worth it, and compiling for a minute."""


@dataclass(frozen=True)
class RunOptions:
    """How deep to search, the weights of fields, the number of threads (0: all cores).

    With ``as_is``, queries keep their citation markers, line-end hyphens and single letters.
    """

    depth: int = 1000
    fields: Fields = DEFAULT_FIELDS
    threads: int = 0
    as_is: bool = False


class Runner:
    """A collection, its index and a pipeline, ready for queries.

    ``notes`` and ``facts`` describe the queries that were run.
    """

    def __init__(
        self,
        collection: Collection,
        index: Index,
        pipeline: Pipeline,
        options: RunOptions,
        progress: Progress = SILENT,
        searcher: Searcher | None = None,
    ) -> None:
        self.collection, self.index, self.pipeline = collection, index, pipeline
        self.options, self.progress = options, progress
        self.searcher = searcher or Searcher(index, pipeline.model, options.fields)
        self.notes: list[str] = []
        self.facts: dict[str, Any] = {}
        self.masks = DocumentMasks(collection, index)
        self._queries, self._is_prepared = 0, False

    def query(  # noqa: PLR0913 - what to search with, by name
        self,
        text: str,
        query_id: str = "",
        *,
        exclude: Iterable[str] = (),
        before: str | None = None,
        paper: str | None = None,
        sentences: Sequence[str] = (),
        among: Filter | None = None,
        judged: Judged = NOT_JUDGED,
    ) -> Query:
        """Return the query of a text; ``exclude`` are ids, ``paper`` is the citing paper, ``among``
        a filter, ``judged`` the user's feedback (relevant documents count as cited)."""
        raw, text = text, text if self.options.as_is else query_text(text)
        view = self.searcher.without(paper)
        terms = self.searcher.query(text, view, keep=bool if self.options.as_is else is_telling)
        excluded = self.index.ids.find_all(exclude)
        year = self._years_of_papers.get(paper) if paper and before is None else None
        return Query(
            text, terms, query_id, raw, sentences, excluded,
            cites=np.concatenate([excluded, judged.relevant]), before=before, paper=paper,
            year=int(before[:4]) if before else year,
            hidden_paper=None if view.is_whole else paper,
            filter_mask=self.masks.matching(among), judged=judged,
        )  # fmt: skip

    @cached_property
    def _years_of_papers(self) -> dict[str, int]:
        known = self.collection.papers.select("paper_id", "year").drop_nulls()
        return dict(known.iter_rows())

    def row_query(self, row: Mapping[str, Any]) -> Query:
        """Return the query in a row of a query set."""
        return self.query(
            row["text"] or "",
            row["query_id"],
            exclude=row["exclude"] or (),
            before=row["before"],
            paper=row["paper_id"],
        )

    def in_time(self, query: Query) -> Mask | None:
        """Return which documents are in the collection and not too late for a query."""
        return combine_masks(self.masks.present, self.masks.not_later(query.before))

    @property
    def missing_note(self) -> tuple[str, ...]:
        """A note on indexed documents that the search skips because the collection lost them."""
        if self.masks.present is None:
            return ()
        missing = int(np.count_nonzero(~self.masks.present))
        are = "is" if missing == 1 else "are"
        name = printable(self.collection.folder)
        what = f"skipped {count(missing, 'document')} that {are} in the index but no longer in the"
        return (f"{what} collection. Run: citebed index {name}",)

    @cached_property
    def ranker(self) -> SignalRanker:
        """The ranking by several signals; its models are loaded on first use."""
        from citebed.retrieval.ranking.signal_ranker import SignalRanker

        assert isinstance(self.pipeline.stage, Ranking)
        return SignalRanker(self.searcher, self.pipeline.stage)

    @property
    def ranking_notes(self) -> tuple[str, ...]:
        """Notes on documents that the encoder has not read yet, if the ranking was used."""
        return self.ranker.notes if "ranker" in self.__dict__ else ()

    @cached_property
    def encoder(self) -> Encoder | CrossEncoder:
        """The second stage's model, loaded on first use."""
        from citebed.retrieval.rerank import load_reranker

        stage = self.pipeline.stage
        name = stage.encoder if isinstance(stage, Stage) else ""
        self.progress.step(f"loading {name}", 0)
        return load_reranker(name)

    # --- Preparing ---

    def prepare_for(self, queries: int) -> bool:
        """Prepare if it is worth it for these queries and all before; return True if prepared."""
        self._queries += queries
        if not self._is_prepared and is_worth_preparing(
            self._queries, self.index.description.postings
        ):
            self.progress.step("preparing", 0)
            self.prepare()
        return self._is_prepared

    def prepare(self, *, wait: bool = True) -> None:
        """Load what many queries need; warn if the search must be compiled first (``wait``)."""
        if wait and _must_compile():
            _LOG.warning("note: compiling the search, once on this machine: about a minute")
        self.searcher.prepare(wait=wait)
        if isinstance(self.pipeline.stage, Ranking):
            self.ranker.signals.prepare()
        self._is_prepared = True

    # --- Searching ---

    def search(self, queries: Sequence[Query], depth: int) -> list[Hits]:
        """Return the best documents by words for each query."""
        found = [NOTHING] * len(queries)
        # Queries with the same allowed documents and the same citing text are searched together.
        groups: dict[tuple[str | None, str | None, int], list[int]] = {}
        for place, query in enumerate(queries):
            key = (query.before, query.hidden_paper, id(query.filter_mask))
            groups.setdefault(key, []).append(place)
        for (_, paper, _), places in groups.items():
            some = [queries[place] for place in places]
            hits = self.searcher.search_all(
                [query.terms for query in some],
                depth,
                excluded=[
                    np.concatenate([query.excluded, query.judged.nonrelevant]) for query in some
                ],
                allowed=combine_masks(self.in_time(some[0]), some[0].filter_mask),
                threads=self.options.threads,
                paper=paper,
            )
            for place, each in zip(places, hits, strict=True):
                found[place] = each
            self.progress.add(len(places))
        return found

    def run(self, queries: Sequence[Query], depth: int) -> Iterator[Candidates]:
        """Return the best ``depth`` documents for each query; a second stage re-ranks its first
        ``top``."""
        queries, stage = self._add_feedback(queries), self.pipeline.stage
        if isinstance(stage, Ranking):
            return self.ranker.rank(queries, *self._first_hits(queries, depth), depth)
        found = self.search(queries, depth if stage is None else max(depth, stage.top))
        if stage is not None:
            found = self._rerank(queries, found, stage)
        no_columns = np.zeros((depth, 0))
        return (
            Candidates(query, docs[:depth], scores[:depth], none, none)
            for query, (docs, scores) in zip(queries, found, strict=True)
            for none in (no_columns[: len(docs)],)
        )

    def compute_signals(self, queries: Sequence[Query], depth: int) -> Iterator[Candidates]:
        """Return the candidates of each query with the signals of a ranking, not ranked."""
        return self.ranker.compute(queries, *self._first_hits(queries, depth), depth)

    def similarity(self, query: Query, docs: Docs) -> Reals:
        """Return the similarity of documents by words, normalised by the length of the query."""
        final = finish_query(query.terms, self.searcher.view)
        scores = self.searcher.contributions(final.ids, docs) @ final.weights
        return np.asarray(scores / max(float(np.linalg.norm(final.weights)), 1e-9))

    def _first_hits(
        self, queries: Sequence[Query], depth: int
    ) -> tuple[list[Hits], Iterator[Mask | None]]:
        """Return the best by words for each query, with a filter also the best of all documents;
        and the masks of documents that are not too late."""
        depth = max(depth, self.ranker.constants.bm25_depth)
        everything = [replace(query, filter_mask=None, judged=NOT_JUDGED) for query in queries]
        first = self.search(everything, depth)
        filtered = [at for at, query in enumerate(queries) if query.filter_mask is not None]
        for at, hits in zip(
            filtered, self.search([queries[at] for at in filtered], depth), strict=True
        ):
            docs, rows = np.unique(np.concatenate([first[at].docs, hits.docs]), return_index=True)
            scores = np.concatenate([first[at].scores, hits.scores])[rows]
            order = np.lexsort((-docs, -scores))
            first[at] = Hits(docs[order], scores[order])
        return first, map(self.in_time, queries)

    def _add_feedback(self, queries: Sequence[Query]) -> list[Query]:
        """Return queries with the terms of feedback: the user's marks, or else the pipeline's."""
        feedback, found = self.pipeline.feedback, list(queries)
        others = [at for at, query in enumerate(found) if not query.judged.moves]
        if feedback is not None and others:
            from citebed.retrieval.search.feedback import (  # with the readers of judgements
                better_query,
                equal_hits,
                read_judged,
                told_of_judged,
            )

            some = [found[at] for at in others]
            self.progress.step("feedback", len(some))
            if feedback.source is None:
                sources = [(hits, NOTHING) for hits in self.search(some, feedback.docs or 0)]
            else:
                judged = read_judged(self.collection, feedback.source, self.index.ids.choose_known)
                names = [query.query_id for query in some]
                facts, notes = told_of_judged(judged, self.collection, names)
                self.facts |= facts
                self.notes += notes
                hits = (map(self.index.ids.find_all, judged.documents(name)) for name in names)
                sources = [(equal_hits(one), equal_hits(other)) for one, other in hits]
            for at, query, documents in zip(others, some, sources, strict=True):
                view = self.searcher.without(query.hidden_paper)
                terms = better_query(view, feedback, query.terms, *documents)
                found[at] = replace(query, terms=terms)
        for at, query in enumerate(found):
            if query.judged.moves:
                view = self.searcher.without(query.hidden_paper)
                judged_here = query.judged._replace(
                    moving=query.judged.moving.less(len(query.sentences))
                )
                terms = moved_terms(view, query.terms, judged_here, feedback)
                found[at] = replace(
                    query, terms=terms, original_terms=query.terms, judged=judged_here
                )
        return found

    def _rerank(self, queries: Sequence[Query], found: Sequence[Hits], stage: Stage) -> list[Hits]:
        from citebed.retrieval.rerank import second_stage

        model, top = self.encoder, stage.top
        first = self.table(queries, [Hits(hits.docs[:top], hits.scores[:top]) for hits in found])
        is_raw = stage.query == "raw"
        texts = {query.query_id: query.raw if is_raw else query.text for query in queries}
        ranked = second_stage(self.collection, stage, first, texts, model, self.progress)
        parts = ranked.partition_by("query_id", as_dict=True)
        reranked = []
        for query in queries:
            part = parts.get((query.query_id,), ranked.clear())
            numbers = [self.index.ids.find(name) for name in part["doc_id"]]
            reranked.append(Hits(np.array(numbers, np.int64), part["score"].to_numpy()))
        return reranked

    # --- Runs ---

    def table(self, queries: Sequence[Query], found: Sequence[Hits | Candidates]) -> pl.DataFrame:
        """Return what was found as the table of a run."""
        counts = [len(each.docs) for each in found]
        numbers = np.concatenate([np.zeros(0, np.int64), *(each.docs for each in found)])
        ranks = np.concatenate([np.zeros(0, np.int64), *(np.arange(n) + 1 for n in counts)])
        columns = {
            "query_id": np.repeat(np.array([query.query_id for query in queries], object), counts),
            "doc_id": self.names(numbers),
            "rank": ranks,
            "score": np.concatenate([np.zeros(0), *(each.scores for each in found)]),
        }
        return pl.DataFrame(columns, schema=RUN_COLUMNS)

    def names(self, numbers: Docs) -> Any:
        """Return the documents' ids; for many documents, all ids are read at once."""
        if len(numbers) < len(self.index.ids):
            return [self.index.ids[number] for number in numbers.tolist()]
        return np.array(list(self.index.ids), object)[numbers]


def run_queries(
    collection: str | Path | Collection,
    index: Index | None,
    queries: str | pl.DataFrame,
    pipeline: str | Pipeline,
    options: RunOptions | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Search for every query, and return a run that is named after the pipeline.

    ``queries`` is a table, or the name of a query set or file; ``None`` as index opens the
    collection's.
    """
    from citebed.runs.tables import Run

    collection = open_collection(collection)
    table = read_queries(collection, queries)
    index = index or open_index(collection, verified=True)
    parsed = parse_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    runner = Runner(collection, index, parsed, options or RunOptions(), progress)
    runner.prepare_for(table.height)
    if isinstance(parsed.stage, Stage):
        runner.encoder  # noqa: B018 - a missing model is an error before the search, not after
    progress.step("searching", table.height)
    ready = [runner.row_query(row) for row in table.iter_rows(named=True)]
    empty = [query.query_id for query in ready if not len(query.terms.ids)]
    if empty:
        runner.notes.append(empty_queries_note(empty))
    found = [each.hits for each in runner.run(ready, runner.options.depth)]
    if isinstance(parsed.stage, Ranking):
        runner.facts["ranking"] = runner.ranker.facts
    elif parsed.stage is not None:
        model = runner.encoder
        about = {"name": model.name, "fingerprint": model.fingerprint, "runtime": model.runtime}
        runner.facts["encoder"] = about
    notes = (*runner.notes, *runner.ranking_notes, *runner.missing_note)
    return Run(runner.table(ready, found), str(pipeline), notes=notes, facts=runner.facts)


def is_worth_preparing(queries: int, postings: int) -> bool:
    """Return True if preparing first is faster for this many queries and postings."""
    work = queries * postings
    return work >= _PREPARE_FROM and (work >= _COMPILE_FROM or not _must_compile())


def _must_compile() -> bool:
    """Return True if the first prepared search has to wait for the compiler."""
    from citebed.retrieval import kernels  # with numba, which is slow to load
    from citebed.retrieval.numba_cache import must_compile

    return must_compile(kernels.search_many)


def empty_queries_note(names: Sequence[str]) -> str:
    """Return a note on queries without a word of the index."""
    have = "has" if len(names) == 1 else "have"
    return f"{count(len(names), 'query')} {have} no word in the index: {', '.join(names[:3])}"
