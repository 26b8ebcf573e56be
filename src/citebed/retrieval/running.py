"""Running queries: a set of queries, a pipeline, and out of them a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.reading.reader import SILENT, Progress
from citebed.errors import CitebedError
from citebed.files.writing import own_folder
from citebed.retrieval.dates import allowed_before
from citebed.retrieval.feedback.base import Feedback, TermWeights
from citebed.retrieval.index.index import Index
from citebed.retrieval.judged import Judged, read_judged
from citebed.retrieval.pipeline import Pipeline
from citebed.retrieval.queries import is_telling, query_text
from citebed.retrieval.search.feeding import better_query
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields
from citebed.retrieval.search.hits import NOTHING, Hits
from citebed.retrieval.search.searcher import Searcher

Docs = NDArray[np.int64]
RUN_COLUMNS = ("query_id", "doc_id", "rank", "score")
_PREPARE_FROM = 200_000_000
"""From so much work on (queries times postings), preparing pays."""


@dataclass(frozen=True)
class RunOptions:
    """How deep to search, which fields count, how many threads; ``as_is`` leaves queries alone.

    Otherwise citation markers, line-end hyphens and single letters do not count in a query.
    """

    depth: int = 1000
    fields: Fields = DEFAULT_FIELDS
    threads: int = 0
    as_is: bool = False


@dataclass(frozen=True)
class Run:
    """A run: ``query_id``, ``doc_id``, ``rank``, ``score``, and what there is to say about it."""

    table: pl.DataFrame
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Asked:
    """A query made ready: terms, what it must not find, and whose citing text does not count."""

    query_id: str
    text: str
    paper: str | None
    whole: bool
    terms: TermWeights
    excluded: Docs
    before: str | None


def run_queries(
    collection: Collection,
    index: Index,
    queries: pl.DataFrame,
    pipeline: Pipeline,
    options: RunOptions | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Search for every query; the table is in the queries' order, each ranking best first."""
    options = options or RunOptions()
    runner = _Runner(collection, index, pipeline, options, progress)
    return runner.run(queries)


@dataclass
class _Runner:
    collection: Collection
    index: Index
    pipeline: Pipeline
    options: RunOptions
    progress: Progress
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def run(self, queries: pl.DataFrame) -> Run:
        """All of it."""
        self.searcher = Searcher(self.index, self.pipeline.model, self.options.fields)
        if queries.height * self.index.description.postings >= _PREPARE_FROM:
            self.progress.step("preparing", 0)
            self.searcher.prepare()
        self.progress.step("searching", queries.height)
        asked = [self._asked(row) for row in queries.iter_rows(named=True)]
        empty = [query.query_id for query in asked if not len(query.terms.ids)]
        if empty:
            some = ", ".join(empty[:3])
            self.notes.append(f"{len(empty)} queries have no word that is in the index: {some}")
        if self.pipeline.feedback is not None:
            asked = self._fed(asked, self.pipeline.feedback)
        table = self._table(asked, self._search(asked, self.options.depth))
        if self.pipeline.stage is not None:
            table = self._second_stage(asked, table)
        return Run(table, tuple(self.notes), self.facts)

    def _asked(self, row: Mapping[str, Any]) -> _Asked:
        text = row["text"] or ""
        if not self.options.as_is:
            text = query_text(text)
        view = self.searcher.without(row["paper_id"])
        keep = bool if self.options.as_is else is_telling
        numbers = [self.index.ids.find(name) for name in row["exclude"] or ()]
        return _Asked(
            query_id=row["query_id"],
            text=text,
            paper=row["paper_id"],
            whole=view.is_whole,
            terms=self.searcher.query(text, view, keep=keep),
            excluded=np.array([number for number in numbers if number >= 0], np.int64),
            before=row["before"],
        )

    def _search(self, asked: Sequence[_Asked], depth: int) -> list[Hits]:
        found = [NOTHING] * len(asked)
        for before, places in _grouped(asked).items():
            allowed = allowed_before(self.collection, self.index, before)
            whole = [place for place in places if asked[place].whole]
            hits = self.searcher.search_all(
                [asked[place].terms for place in whole],
                depth,
                excluded=[asked[place].excluded for place in whole],
                allowed=allowed,
                threads=self.options.threads,
            )
            for place, each in zip(whole, hits, strict=True):
                found[place] = each
            self.progress.add(len(whole))
            for place in sorted(set(places) - set(whole)):
                one = asked[place]
                view = self.searcher.without(one.paper)
                found[place] = self.searcher.search_view(
                    view, one.terms, depth, one.excluded, allowed
                )
                self.progress.add(1)
        return found

    def _fed(self, asked: Sequence[_Asked], feedback: Feedback) -> list[_Asked]:
        self.progress.step("feedback", len(asked))
        judged = self._judged(feedback, asked) if feedback.source else None
        if judged is None:
            first = self._search(asked, feedback.docs or 0)
            sources = [(hits, NOTHING) for hits in first]
        else:
            sources = [judged.hits(one.query_id) for one in asked]
        return [
            replace(one, terms=self._better(one, feedback, documents))
            for one, documents in zip(asked, sources, strict=True)
        ]

    def _better(self, one: _Asked, feedback: Feedback, documents: tuple[Hits, Hits]) -> TermWeights:
        return better_query(self.searcher.without(one.paper), feedback, one.terms, *documents)

    def _judged(self, feedback: Feedback, asked: Sequence[_Asked]) -> Judged:
        judged = read_judged(self.collection, self.index, feedback.source or "")
        names = [one.query_id for one in asked]
        self.facts["feedback_from"] = judged.facts
        shared = judged.shared_with(self.collection, names)
        self.facts["feedback_from_evaluation_judgements"] = sorted(shared)
        if shared:
            sets = ", ".join(sorted(shared))
            self.notes.append(
                f"the feedback comes from judgements that {sets} evaluates with: figures against "
                "them show how much feedback can help, not how good a system is"
            )
        without = sum(not len(judged.hits(name)[0].docs) for name in names)
        if without:
            self.notes.append(f"{without} queries have no judged document and stay as they are")
        return judged

    def _table(self, asked: Sequence[_Asked], found: Sequence[Hits]) -> pl.DataFrame:
        counts = [len(hits.docs) for hits in found]
        numbers = np.concatenate([np.zeros(0, np.int64), *(hits.docs for hits in found)])
        names = np.array(list(self.index.ids), object)
        return pl.DataFrame(
            {
                "query_id": np.repeat(np.array([a.query_id for a in asked], object), counts),
                "doc_id": names[numbers],
                "rank": np.concatenate([np.zeros(0, np.int64), *(np.arange(n) for n in counts)])
                + 1,
                "score": np.concatenate([np.zeros(0), *(hits.scores for hits in found)]),
            },
            schema={
                "query_id": pl.String,
                "doc_id": pl.String,
                "rank": pl.Int32,
                "score": pl.Float64,
            },
        )

    def _second_stage(self, asked: Sequence[_Asked], table: pl.DataFrame) -> pl.DataFrame:
        from citebed.retrieval.second_stage import second_stage

        if self.pipeline.stage is None:
            raise CitebedError("there is no second stage to run")
        texts = {one.query_id: one.text for one in asked}
        reranked, facts = second_stage(
            self.collection, self.pipeline.stage, table, texts, self.progress
        )
        self.facts["encoder"] = facts
        order = pl.DataFrame({"query_id": list(texts)}, schema={"query_id": pl.String})
        ranked = reranked.with_columns(
            pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_id").alias("rank")
        )
        joined = order.join(ranked, on="query_id", how="inner", maintain_order="left_right")
        return joined.select(RUN_COLUMNS)


def _grouped(asked: Sequence[_Asked]) -> dict[str | None, list[int]]:
    groups: dict[str | None, list[int]] = {}
    for place, one in enumerate(asked):
        groups.setdefault(one.before, []).append(place)
    return groups


def document_texts(collection: Collection, doc_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Title, abstract and keywords of some documents, as one text each."""
    wanted = collection.scan_documents().select("doc_id", "title", "abstract", "keywords")
    chosen = wanted.filter(pl.col("doc_id").is_in(list(doc_ids))).collect()
    for doc_id, title, abstract, keywords in chosen.iter_rows():
        parts = (title, abstract, ", ".join(keywords or ()))
        yield doc_id, ". ".join(part for part in parts if part)


def vectors_folder(collection: Collection) -> Path:
    """Where the collection keeps its documents' vectors."""
    return own_folder(collection.folder / "vectors")
