"""Queries searched in a collection in shards: terms are counted everywhere, weighed once with the
numbers of the whole, and searched for in each shard; the best of all are those of one index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError
from citebed.retrieval.analysis import Analyser, analyser_of, is_telling
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index import layout
from citebed.retrieval.index.layout import FOLDER
from citebed.retrieval.pipeline import Pipeline
from citebed.retrieval.running.runner import RUN_COLUMNS, RunOptions, without_words
from citebed.retrieval.search.fields import Fields
from citebed.retrieval.search.queries import query_text
from citebed.retrieval.search.searcher import usable_by
from citebed.retrieval.sharded.all_terms import CountAll, KeepAll, are_kept
from citebed.retrieval.sharded.counting import COUNTS, CountTerms, WholeCounts, whole_counts
from citebed.retrieval.sharded.indexed import IndexedShards, facts_of, fields_in
from citebed.retrieval.sharded.shard import HITS, SearchShard, ShardQuery
from citebed.retrieval.sharded.spreading import Spread

if TYPE_CHECKING:
    from citebed.runs.tables import Run

_KEEP_FROM = 5_000_000_000
"""From so much work on (queries times postings), shards are prepared for it."""
_AT_ONCE = 4096
"""Queries that go to the shards together."""


class AskedQuery(NamedTuple):
    """A query as it was asked: how often it has each term, and what else counts."""

    query_id: str
    counts: Counter[str]
    exclude: tuple[str, ...]
    before: str | None
    paper: str | None


def asked_queries(table: pl.DataFrame, analyser: Analyser, *, as_is: bool) -> list[AskedQuery]:
    """The queries of a table; their terms are analysed once, here."""
    keep = bool if as_is else is_telling

    def asked(row: dict[str, Any]) -> AskedQuery:
        text = row["text"] or ""
        terms = analyser.terms(text if as_is else query_text(text))
        return AskedQuery(
            row["query_id"], Counter(filter(keep, terms)), tuple(row["exclude"] or ()),
            row["before"], row["paper_id"] or None,
        )  # fmt: skip

    return [asked(row) for row in table.iter_rows(named=True)]


@dataclass(frozen=True)
class ShardedSearch:
    """A collection in shards with its indexes, ready for queries."""

    collection: Collection
    indexed: IndexedShards
    spread: Spread

    def run(
        self,
        table: pl.DataFrame,
        pipeline: Pipeline,
        options: RunOptions,
        progress: Progress = SILENT,
    ) -> Run:
        """Search for every query, as ``run_queries`` does on one machine."""
        from citebed.runs.tables import Run

        _check(pipeline)
        fields = fields_in(self.indexed, options.fields, self.collection.folder)
        options = replace(options, fields=fields)
        analyser = analyser_of(self.indexed.analyser)
        progress.step("searching", table.height)
        parts, empty = [], list[str]()
        for start in range(0, table.height, _AT_ONCE):
            asked = asked_queries(table[start : start + _AT_ONCE], analyser, as_is=options.as_is)
            found, unknown = self._part(asked, pipeline, options)
            parts.append(found)
            empty += unknown
            progress.add(len(asked))
        notes = [without_words(empty)] if empty else []
        return Run(
            pl.concat([pl.DataFrame(schema=RUN_COLUMNS), *parts]), str(pipeline), notes=tuple(notes)
        )

    def _part(
        self, asked: Sequence[AskedQuery], pipeline: Pipeline, options: RunOptions
    ) -> tuple[pl.DataFrame, list[str]]:
        """What is found for some queries, and those of them that have no word of the index."""
        counts = self.counted(asked, options)
        terms = [counts.weighted(each.counts, each.paper) for each in asked]
        empty = [e.query_id for e, own in zip(asked, terms, strict=True) if not len(own.ids)]
        queries = [
            shard_query(at, each, own, pipeline, counts)
            for at, (each, own) in enumerate(zip(asked, terms, strict=True))
            if len(own.ids)
        ]
        everything = self._all_terms(options.fields, pipeline, len(asked))
        work = SearchShard(pipeline, options, self.indexed, counts, tuple(queries), everything)
        hits = self.spread.best(work, HITS, options.depth)
        return as_run(asked, hits), empty

    def _all_terms(self, fields: Fields, pipeline: Pipeline, queries: int) -> Path | None:
        """The collection's folder where the frequencies of all terms are kept beside the indexes:
        they are made where the model needs them, or so many queries that preparing pays."""
        folder = self.collection.folder.resolve()
        needed = pipeline.model.sees_all_terms or queries * self.indexed.postings >= _KEEP_FROM
        if needed:
            self.keep_all_terms(fields)
        return folder if needed or are_kept(folder, self.indexed, fields) else None

    def keep_all_terms(self, fields: Fields) -> None:
        """Keep the frequencies of all terms beside the index of each shard, once."""
        folder = self.collection.folder.resolve()
        fields = fields_in(self.indexed, fields, folder)
        if not are_kept(folder, self.indexed, fields):
            keep = KeepAll(folder, self.indexed, fields)
            self.spread.handed_back(CountAll(fields), keep)

    def counted(self, asked: Sequence[AskedQuery], options: RunOptions) -> WholeCounts:
        """The terms of queries counted in all shards; fields are those of the index."""
        terms = sorted(set().union(*(each.counts for each in asked)))
        papers = sorted({each.paper for each in asked if each.paper})
        if "citing" not in options.fields.weights:
            papers = []
        work = CountTerms(tuple(terms), tuple(papers), options.fields)
        sums = self.spread.sums(work, COUNTS, ("paper", "term"))
        return whole_counts(self.indexed, options.fields, sums)

    def is_current(self) -> bool:
        """Whether the shards are still those that were indexed."""
        return all(
            layout.is_current(shard / FOLDER, layout.read_description(shard / FOLDER))
            for shard in self.collection.shards
        )

    @property
    def fields(self) -> Sequence[str]:
        """The fields that any shard has."""
        return tuple(self.indexed.tokens)

    @property
    def analyser(self) -> str:
        """How the texts become terms."""
        return self.indexed.analyser

    @property
    def facts(self) -> dict[str, Any]:
        """What a run says of the index."""
        return facts_of(self.collection, self.indexed)


def _check(pipeline: Pipeline) -> None:
    """Refuse what shards are not searched with."""
    part = pipeline.feedback or pipeline.stage
    if part is not None:
        raise CitebedError(
            f"'{pipeline}' does not work on shards: '{part}' needs an index in one piece. Search "
            f"with '{pipeline.model}' alone, or index the collection without --on and search there."
        )


def shard_query(
    number: int, asked: AskedQuery, terms: TermWeights, pipeline: Pipeline, counts: WholeCounts
) -> ShardQuery:
    """A query with its final weights, made once for all shards."""
    model = pipeline.model
    hidden = asked.paper if asked.paper in counts.papers else None
    corpus = counts.corpus(hidden)
    final = usable_by(terms, model, corpus)
    constant = model.constant(final.weights, final.df, final.cf, corpus)
    extra = (model.document_weight(final.weights), constant)
    return ShardQuery(number, final.ids, final.weights, extra, asked.exclude, asked.before, hidden)


def as_run(asked: Sequence[AskedQuery], hits: pl.DataFrame) -> pl.DataFrame:
    """What was found as a run's table, in the queries' order, each ranking best first."""
    order = hits.sort("query", "score", "doc_id", descending=[False, True, True])
    names = np.array([each.query_id for each in asked], object)[order["query"].to_numpy()]
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query")
    ranked = order.select(
        pl.Series("query_id", names, pl.String), "doc_id", rank.alias("rank"), "score"
    )
    return ranked.select(list(RUN_COLUMNS))
