"""Queries searched in a collection in shards: terms are counted everywhere, weighed once with the
numbers of the whole, and searched for in each shard; the best of all are those of one index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError
from citebed.retrieval.analysis import Analyser, analyser_of, is_telling
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.pipeline import Pipeline, Ranking
from citebed.retrieval.running.runner import RUN_COLUMNS, RunOptions, pays, without_words
from citebed.retrieval.search.queries import query_text
from citebed.retrieval.search.searcher import usable_by
from citebed.retrieval.sharded.counting import COUNTS, CountTerms, WholeCounts, whole_counts
from citebed.retrieval.sharded.indexed import IndexedShards, facts_of, fields_in
from citebed.retrieval.sharded.ranking import AT_ONCE, ShardedRanking
from citebed.retrieval.sharded.shard import HITS, SearchShard, ShardQuery
from citebed.retrieval.sharded.spreading import Spread
from citebed.text.sentences import split_sentences

if TYPE_CHECKING:
    from citebed.runs.tables import Run

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

        _check(pipeline, options)
        fields = fields_in(self.indexed, options.fields, self.collection.folder)
        options = replace(options, fields=fields)
        progress.step("searching", table.height)
        at_once = AT_ONCE if isinstance(pipeline.stage, Ranking) else _AT_ONCE
        parts, empty, facts = [pl.DataFrame(schema=RUN_COLUMNS)], list[str](), dict[str, Any]()
        is_ready = pays(table.height, self.indexed.postings)
        for start in range(0, table.height, at_once):
            some = table[start : start + at_once]
            found, unknown, facts = self._part(some, pipeline, options, is_ready)
            parts.append(found)
            empty += unknown
            progress.add(some.height)
        notes = (without_words(empty),) if empty else ()
        return Run(pl.concat(parts), str(pipeline), notes=notes, facts=facts)

    def _part(
        self, table: pl.DataFrame, pipeline: Pipeline, options: RunOptions, is_ready: bool
    ) -> tuple[pl.DataFrame, list[str], dict[str, Any]]:
        """What is found for some queries, those of them that have no word of the index, and what
        the run says of it."""
        ranks = isinstance(pipeline.stage, Ranking)
        asked = asked_queries(table, analyser_of(self.indexed.analyser), as_is=options.as_is)
        counts = self.counted(asked, options, _of_sentences(table, self) if ranks else ())
        terms = [counts.weighted(each.counts, each.paper) for each in asked]
        empty = [e.query_id for e, own in zip(asked, terms, strict=True) if not len(own.ids)]
        queries = [
            shard_query(at, each, own, pipeline, counts)
            for at, (each, own) in enumerate(zip(asked, terms, strict=True))
            if ranks or len(own.ids)
        ]
        if ranks:
            ranking = ShardedRanking(
                self.collection, self.indexed, self.spread, pipeline, options, is_ready
            )
            runner, found = ranking.ranked(table, counts, queries)
            return found, empty, {"ranking": runner.ranks.facts}
        work = SearchShard(pipeline, options, counts, tuple(queries))
        hits = self.spread.best(work, HITS, options.depth)
        return as_run(asked, hits), empty, {}

    def counted(
        self, asked: Sequence[AskedQuery], options: RunOptions, more: Iterable[str] = ()
    ) -> WholeCounts:
        """The terms of queries, and some ``more``, counted in all shards; fields are those of the
        index."""
        terms = sorted(set(more).union(*(each.counts for each in asked)))
        papers = sorted({each.paper for each in asked if each.paper})
        if "citing" not in options.fields.weights:
            papers = []
        work = CountTerms(tuple(terms), tuple(papers), options.fields)
        sums = self.spread.sums(work, COUNTS, ("paper", "term"))
        return whole_counts(self.indexed, options.fields, sums)

    def is_current(self) -> bool:
        """Whether the shards are still those that were indexed."""
        return True

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


def _of_sentences(table: pl.DataFrame, search: ShardedSearch) -> set[str]:
    """The terms of queries' sentences, which may be others than those of the whole text: a word
    that goes on after a sentence's end is two."""
    analyser = analyser_of(search.indexed.analyser)
    texts = (query_text(text or "") for text in table["text"])
    return {
        term
        for text in texts
        for sentence in split_sentences(text)
        for term in analyser.terms(sentence)
    }


def _check(pipeline: Pipeline, options: RunOptions) -> None:
    """Refuse what shards are not searched with."""
    ranking = isinstance(pipeline.stage, Ranking)
    if ranking and "citing" in options.fields.weights:
        raise CitebedError(
            f"'{pipeline}' does not work on shards with the field 'citing': leave it out, or index "
            "the collection without --on and search there."
        )
    part = pipeline.feedback or (None if ranking else pipeline.stage)
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
