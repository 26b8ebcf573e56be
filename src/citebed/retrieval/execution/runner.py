"""A pipeline at work on queries, one or many: analysis, search, feedback, dates, re-ranking.

``Runner`` is the one way from a text to its documents; ``run_queries`` makes a run of it, and
recommending explains what it finds.
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
from numpy.typing import NDArray

from citebed.collection import Collection, open_collection
from citebed.collection.filters import Filter
from citebed.collection.progress import SILENT, Progress
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.execution.masks import Dates, Filters, Mask, both
from citebed.retrieval.feedback.base import Feedback
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.pipeline import Pipeline, Ranking, Stage, parse_pipeline
from citebed.retrieval.query import Features, Query, Result
from citebed.retrieval.search.feedback import NOT_JUDGED, Judged, moved_terms
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields
from citebed.retrieval.search.queries import query_text, read_queries
from citebed.retrieval.search.searcher import NOTHING, Hits, Searcher, usable
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.retrieval.ranking.ranking import Ranks
    from citebed.retrieval.rerank import CrossEncoder, Encoder
    from citebed.retrieval.search.feedback import JudgedFeedback
    from citebed.runs.tables import Run

Docs = NDArray[np.int64]
RUN_COLUMNS = {"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int32, "score": pl.Float64}
_LOG = logging.getLogger("citebed")
_PREPARE_FROM, _COMPILE_FROM = 200_000_000, 5_000_000_000
"""From so much work on (queries times postings), preparing pays; and from so much, where the search
is yet to be compiled, which takes a minute."""


@dataclass(frozen=True)
class RunOptions:
    """How deep to search, which fields count, how many threads; ``as_is`` leaves queries alone.

    Otherwise citation markers, line-end hyphens and single letters do not count in a query.
    """

    depth: int = 1000
    fields: Fields = DEFAULT_FIELDS
    threads: int = 0
    as_is: bool = False


class Runner:
    """A collection, its index and a pipeline, ready for queries.

    ``notes`` and ``facts`` are what there is to say of the queries that were run.
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
        self._dates, self._filters = Dates(collection, index), Filters(collection, index)
        self._asked, self._is_prepared = 0, False

    def query(  # noqa: PLR0913 - what is asked, by name
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
        """A text as a query; ``exclude`` are documents by id, ``paper`` the one that asks. Only
        what is ``among`` those is found. What is ``judged`` not to be right is never found, and
        what is right counts as cited."""
        raw, text = text, text if self.options.as_is else query_text(text)
        view = self.searcher.without(paper)
        terms = self.searcher.query(text, view, keep=bool if self.options.as_is else is_telling)
        numbers = (self.index.ids.find(name) for name in exclude)
        excluded = np.array([number for number in numbers if number >= 0], np.int64)
        cites = np.concatenate([excluded, judged.relevant])
        year = self._years_of_papers.get(paper) if paper and before is None else None
        return Query(
            text, terms, query_id, raw, sentences, excluded, cites=cites, before=before,
            paper=paper, year=int(before[:4]) if before else year,
            hidden=None if view.is_whole else paper,
            among=self._filters.allowed(among), judged=judged,
        )  # fmt: skip

    def query_of(self, row: Mapping[str, Any]) -> Query:
        """A query of a set, as its table has it."""
        return self.query(
            row["text"] or "",
            row["query_id"],
            exclude=row["exclude"] or (),
            before=row["before"],
            paper=row["paper_id"],
        )

    def in_time(self, query: Query) -> Mask | None:
        """Which documents are in the collection and not too late for a query."""
        return both(self.there, self._dates.allowed(query.before))

    @cached_property
    def there(self) -> Mask | None:
        """Which documents of the index are still in the collection; ``None`` if all are."""
        if self.index.is_current():
            return None
        ids = self.collection.scan_documents().select("doc_id").collect()["doc_id"]
        there = np.asarray(self.index.ids.series().is_in(ids.implode()), bool)
        return None if there.all() else there

    @property
    def notes_of_gone(self) -> tuple[str, ...]:
        """A note on the documents that are skipped because they are no longer there."""
        if self.there is None:
            return ()
        gone = count(int(np.count_nonzero(~self.there)), "document")
        are = "is" if gone.startswith("1 ") else "are"
        name = printable(self.collection.folder)
        what = f"skipped {gone} that {are} in the index but no longer in the collection"
        return (f"{what}; run: citebed index {name}",)

    def results(self, queries: Sequence[Query], depth: int) -> Iterator[Result]:
        """The best ``depth`` documents for each query; a second stage orders no more than its
        ``top``."""
        queries, stage = self._better(queries), self.pipeline.stage
        if isinstance(stage, Ranking):
            return self.ranks.rank(queries, *self._first(queries, depth), depth)
        found = self.search(queries, depth if stage is None else max(depth, stage.top))
        if stage is not None:
            found = [cut(hits, depth) for hits in self._reranked(queries, found, stage)]
        return map(Result, queries, found)

    def likeness(self, query: Query, docs: Docs) -> NDArray[np.float64]:
        """How like documents are to a query by words, for queries of any length."""
        final = usable(query.terms, self.searcher.view)
        scores = self.searcher.contributions(final.ids, docs) @ final.weights
        return np.asarray(scores / max(float(np.linalg.norm(final.weights)), 1e-9))

    def features(self, queries: Sequence[Query], depth: int) -> Iterator[Features]:
        """What a ranking by several signals has of each query's candidates."""
        found = self.ranks.features(queries, *self._first(queries, depth), depth)
        return (features for features, _ in found)

    def _first(
        self, queries: Sequence[Query], depth: int
    ) -> tuple[list[Hits], Iterator[Mask | None]]:
        """The best by words for each query, also of all documents where it asks among some; and
        which documents are not too late for it."""
        deep = max(depth, self.ranks.constants.by_words)
        everything = [replace(query, among=None, judged=NOT_JUDGED) for query in queries]
        first = self.search(everything, deep)
        some = [at for at, query in enumerate(queries) if query.among is not None]
        for at, hits in zip(some, self.search([queries[at] for at in some], deep), strict=True):
            first[at] = merged(first[at], hits)
        return first, map(self.in_time, queries)

    def _allowed(self, query: Query) -> Mask | None:
        """Which documents may be found for a query, but for those that it excludes."""
        return both(self.in_time(query), query.among)

    @cached_property
    def ranks(self) -> Ranks:
        """The ranking by several signals, its models loaded when it is first asked for."""
        from citebed.retrieval.ranking.ranking import Ranks

        assert isinstance(self.pipeline.stage, Ranking)
        return Ranks(self.searcher, self.pipeline.stage)

    @property
    def ranking_notes(self) -> tuple[str, ...]:
        """What there is to say of the ranking that was asked: of documents not encoded yet."""
        return self.ranks.notes if "ranks" in self.__dict__ else ()

    def prepare_for(self, queries: int) -> bool:
        """Make ready for so many queries if that pays, with those of before; whether it is ready.

        Who asks one at a time, and goes on asking, waits for it once.
        """
        self._asked += queries
        if pays(self._asked, self.index.description.postings) and not self._is_prepared:
            self.progress.step("preparing", 0)
            self.prepare()
        return self._is_prepared

    def prepare(self) -> None:
        """Make ready for many queries; if the search is yet to be compiled, it is said."""
        if _must_compile():
            _LOG.warning("note: compiling the search, once on this machine: about a minute")
        self.searcher.prepare()
        if isinstance(self.pipeline.stage, Ranking):
            self.ranks.prepare()
        self._is_prepared = True

    @cached_property
    def _years_of_papers(self) -> dict[str, int]:
        known = self.collection.papers.select("paper_id", "year").drop_nulls()
        return dict(known.iter_rows())

    def search(self, queries: Sequence[Query], depth: int) -> list[Hits]:
        """The best documents by words for each query."""
        found = [NOTHING] * len(queries)
        # Those that see the same documents and the same citing text are searched for at once.
        groups: dict[tuple[str | None, str | None, int], list[int]] = {}
        for place, query in enumerate(queries):
            groups.setdefault((query.before, query.hidden, id(query.among)), []).append(place)
        for (_, paper, _), places in groups.items():
            hits = self.searcher.search_all(
                [queries[place].terms for place in places],
                depth,
                excluded=[queries[place].unwanted for place in places],
                allowed=self._allowed(queries[places[0]]),
                threads=self.options.threads,
                paper=paper,
            )
            for place, each in zip(places, hits, strict=True):
                found[place] = each
            self.progress.add(len(places))
        return found

    def _better(self, queries: Sequence[Query]) -> list[Query]:
        """The queries with the terms of feedback: of what a person said, where that is known, else
        of what the pipeline takes for relevant."""
        feedback, found = self.pipeline.feedback, list(queries)
        others = [at for at, query in enumerate(found) if not query.judged.moves]
        if feedback is not None and others:
            fed = self._fed([found[at] for at in others], feedback)
            for at, query in zip(others, fed, strict=True):
                found[at] = query
        return [self._moved(query) if query.judged.moves else query for query in found]

    def _moved(self, query: Query) -> Query:
        view, judged = self.searcher.without(query.hidden), query.judged
        judged = judged._replace(moving=judged.moving.less(len(query.sentences)))
        terms = moved_terms(view, query.terms, judged, self.pipeline.feedback)
        return replace(query, terms=terms, own_terms=query.terms, judged=judged)

    def _fed(self, queries: Sequence[Query], feedback: Feedback) -> list[Query]:
        from citebed.retrieval.search.feedback import better_query  # with the readers of judgements

        self.progress.step("feedback", len(queries))
        if feedback.source is None:
            sources = [(hits, NOTHING) for hits in self.search(queries, feedback.docs or 0)]
        else:
            judged = self._judged(feedback.source, queries)
            sources = [judged.hits(query.query_id) for query in queries]
        better = (
            better_query(self.searcher.without(query.hidden), feedback, query.terms, *documents)
            for query, documents in zip(queries, sources, strict=True)
        )
        return [replace(query, terms=terms) for query, terms in zip(queries, better, strict=True)]

    def _judged(self, source: str, queries: Sequence[Query]) -> JudgedFeedback:
        from citebed.retrieval.search.feedback import read_judged, told_of_judged

        judged = read_judged(self.collection, self.index, source)
        names = [query.query_id for query in queries]
        facts, notes = told_of_judged(judged, self.collection, names)
        self.facts |= facts
        self.notes += notes
        return judged

    @cached_property
    def encoder(self) -> Encoder | CrossEncoder:
        """The second stage's model, loaded when it is first asked for."""
        from citebed.retrieval.rerank import load_reranker

        stage = self.pipeline.stage
        name = stage.encoder if isinstance(stage, Stage) else ""
        self.progress.step(f"loading {name}", 0)
        return load_reranker(name)

    def _reranked(
        self, queries: Sequence[Query], found: Sequence[Hits], stage: Stage
    ) -> list[Hits]:
        from citebed.retrieval.rerank.second_stage import second_stage

        model = self.encoder
        first = self.table(queries, [cut(hits, stage.top) for hits in found])
        raw = stage.query == "raw"
        texts = {query.query_id: query.raw if raw else query.text for query in queries}
        again = second_stage(self.collection, stage, first, texts, model, self.progress)
        parts = again.partition_by("query_id", as_dict=True)
        return [self._hits(parts.get((query.query_id,))) for query in queries]

    def _hits(self, ranking: pl.DataFrame | None) -> Hits:
        if ranking is None:
            return NOTHING
        numbers = [self.index.ids.find(name) for name in ranking["doc_id"]]
        return Hits(np.array(numbers, np.int64), ranking["score"].to_numpy())

    def table(self, queries: Sequence[Query], found: Sequence[Hits]) -> pl.DataFrame:
        """What was found as a run's table: ``query_id``, ``doc_id``, ``rank``, ``score``."""
        counts = [len(hits.docs) for hits in found]
        numbers = np.concatenate([np.zeros(0, np.int64), *(hits.docs for hits in found)])
        ranks = np.concatenate([np.zeros(0, np.int64), *(np.arange(n) + 1 for n in counts)])
        columns = {
            "query_id": np.repeat(np.array([query.query_id for query in queries], object), counts),
            "doc_id": self.names(numbers),
            "rank": ranks,
            "score": np.concatenate([np.zeros(0), *(hits.scores for hits in found)]),
        }
        return pl.DataFrame(columns, schema=RUN_COLUMNS)

    def names(self, numbers: Docs) -> Any:
        """The documents' ids; where many are asked for, all are read at once, which is quicker."""
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
    """Search for every query; the table is in the queries' order, each ranking best first.

    ``queries`` are a table, or the name of a set of the collection or of a file; the index is
    opened where none is given. The run is called as the pipeline was written.
    """
    from citebed.runs.tables import Run

    collection = open_collection(collection)
    queries = read_queries(collection, queries)
    index = index or open_index(collection, verified=True)
    options = options or RunOptions()
    written = parse_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    runner = Runner(collection, index, written, options, progress)
    ready, found = _run(runner, queries)
    if isinstance(written.stage, Ranking):
        runner.facts["ranking"] = runner.ranks.facts
    elif written.stage is not None:
        model = runner.encoder
        about = {"name": model.name, "fingerprint": model.fingerprint, "runtime": model.runtime}
        runner.facts["encoder"] = about
    table = runner.table(ready, found)
    notes = (*runner.notes, *runner.ranking_notes, *runner.notes_of_gone)
    return Run(table, str(pipeline), notes=notes, facts=runner.facts)


def pays(queries: int, postings: int) -> bool:
    """Whether it pays to make ready for so many queries of an index of so many postings."""
    work = queries * postings
    return work >= _PREPARE_FROM and (work >= _COMPILE_FROM or not _must_compile())


def _must_compile() -> bool:
    """Whether the first search that is prepared for has to wait for the compiler."""
    from citebed.retrieval import kernels  # with numba, which takes its time to load
    from citebed.retrieval.numba_cache import must_compile

    return must_compile(kernels.search_many)


def _run(runner: Runner, table: pl.DataFrame) -> tuple[list[Query], list[Hits]]:
    runner.prepare_for(table.height)
    if isinstance(runner.pipeline.stage, Stage):
        runner.encoder  # noqa: B018 - what is missing is told before the search, not after
    runner.progress.step("searching", table.height)
    queries = [runner.query_of(row) for row in table.iter_rows(named=True)]
    empty = [query.query_id for query in queries if not len(query.terms.ids)]
    if empty:
        runner.notes.append(without_words(empty))
    return queries, [each.hits for each in runner.results(queries, runner.options.depth)]


def without_words(names: Sequence[str]) -> str:
    """What is said of queries that ask for nothing."""
    some = ", ".join(names[:3])
    have = "has" if len(names) == 1 else "have"
    return f"{count(len(names), 'query')} {have} no word that is in the index: {some}"


def merged(left: Hits, right: Hits) -> Hits:
    """The documents of both, each once, best first."""
    docs, at = np.unique(np.concatenate([left.docs, right.docs]), return_index=True)
    scores = np.concatenate([left.scores, right.scores])[at]
    order = np.lexsort((-docs, -scores))
    return Hits(docs[order], scores[order])


def cut(hits: Hits, depth: int) -> Hits:
    """The first documents."""
    return Hits(hits.docs[:depth], hits.scores[:depth])
