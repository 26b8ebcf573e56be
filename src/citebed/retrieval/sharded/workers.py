"""The work of a search on one shard, and how it is sent to the shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl

from citebed.retrieval.execution.runner import Runner, RunOptions, is_worth_preparing
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.models.base import Floats
from citebed.retrieval.pipeline import Pipeline
from citebed.retrieval.query import Docs, Query
from citebed.retrieval.search.searcher import Searcher
from citebed.retrieval.sharded.sharded_index import IndexedShards, Shard, opened_shard
from citebed.retrieval.sharded.term_counts import (
    CountAll,
    KeepAll,
    KeptTerms,
    WholeCounts,
    Wholes,
)

HITS: Mapping[str, Any] = {"query": pl.Int64, "doc_id": pl.String, "score": pl.Float64}
"""The best documents of a shard for queries, given by number."""
DOCUMENT_TERMS: Mapping[str, Any] = {
    "of": pl.Int64, "place": pl.Int64, "term": pl.String, "tf": pl.Float64, "df": pl.Int64,
    "cf": pl.Float64, "length": pl.Float64, "x": pl.Float64,
}  # fmt: skip
"""The terms of documents that are requested together (``of``), by the document's ``place``; the row
without a term has a document's length and its number x_d."""
FOUND: Mapping[str, Any] = {"doc_id": pl.String}


@dataclass(frozen=True, eq=False)
class SeenWhole:
    """Applies a pipeline to a shard, with the statistics of the whole collection."""

    pipeline: Pipeline
    options: RunOptions
    indexed: IndexedShards
    counts: WholeCounts
    everything: Path | None = None
    """The collection's folder if the frequencies of all terms are stored beside the indexes."""

    def runner(self, shard: Shard, queries: int) -> tuple[Runner, Wholes]:
        """Return a runner of the shard, prepared if that pays for this many queries."""
        everything = None
        if self.everything is not None:
            kept = KeptTerms(self.everything, self.indexed, self.counts.fields)
            everything = kept(shard)
        wholes = Wholes(self.counts, shard.index, everything)
        searcher = Searcher(shard.index, self.pipeline.model, self.counts.fields, wholes)
        runner = Runner(
            shard.collection, shard.index, self.pipeline, self.options, searcher=searcher
        )
        # Decide as for all documents: the work of a query, apart from its postings, is the same in
        # each shard.
        if everything is not None and is_worth_preparing(queries, self.indexed.postings):
            runner.searcher.prepare()
        return runner, wholes


class ShardQuery(NamedTuple):
    """A query for shards: terms by their numbers in the counts, with final weights; ``extra`` is
    its document weight and constant. The citing text of ``hidden`` does not count."""

    number: int
    terms: Docs
    weights: Floats
    extra: tuple[float, float]
    exclude: tuple[str, ...] = ()
    before: str | None = None
    hidden: str | None = None


@dataclass(frozen=True, eq=False)
class SearchShard:
    """Finds the best documents of a shard for queries."""

    seen: SeenWhole
    queries: tuple[ShardQuery, ...] = field(repr=False)
    depth: int

    def __call__(self, shard: Shard) -> pl.DataFrame:
        """Return the best documents of each query."""
        runner, queries = self.asked_of(shard)
        found = runner.search(queries, self.depth)
        sizes = [len(hits.docs) for hits in found]
        docs = np.concatenate([np.zeros(0, np.int64), *(hits.docs for hits in found)])
        columns = {
            "query": np.repeat([each.number for each in self.queries], sizes),
            "doc_id": runner.names(docs),
            "score": np.concatenate([np.zeros(0), *(hits.scores for hits in found)]),
        }
        return pl.DataFrame(columns, schema=HITS)

    def asked_of(self, shard: Shard) -> tuple[Runner, list[Query]]:
        """Return a runner of the shard, and the queries with the term numbers of the shard."""
        runner, wholes = self.seen.runner(shard, len(self.queries))
        found = []
        for asked in self.queries:
            numbers = wholes.number_of_term[asked.terms]
            here = numbers >= 0
            ids = numbers[here]
            df, cf = runner.searcher.without(asked.hidden).frequencies(ids)
            terms = TermWeights(ids, asked.weights[here], df, cf, final=True, extra=asked.extra)
            excluded = runner.index.ids.find_all(asked.exclude)
            found.append(
                Query("", terms, excluded=excluded, before=asked.before, hidden_paper=asked.hidden)
            )
        return runner, found


class WantedDocuments(NamedTuple):
    """Ids of documents whose terms are requested. The citing text of ``hidden`` does not count."""

    of: int
    names: tuple[str, ...]
    hidden: str | None


@dataclass(frozen=True, eq=False)
class DocumentTerms:
    """Reads the terms of the documents that a shard contains."""

    seen: SeenWhole
    wanted: tuple[WantedDocuments, ...] = field(repr=False)

    def __call__(self, shard: Shard) -> pl.DataFrame:
        """Return the terms of the documents."""
        runner, _ = self.seen.runner(shard, len(self.wanted))
        index, parts = runner.index, [pl.DataFrame(schema=DOCUMENT_TERMS)]
        for wanted in self.wanted:
            view = runner.searcher.without(wanted.hidden)
            for place, name in enumerate(wanted.names):
                number = index.ids.find(name)
                if number < 0:
                    continue
                ((ids, tf),) = view.documents(np.array([number]))
                df, cf = view.frequencies(ids)
                length, x = float(view.stats.lengths[number]), float(view.per_document[number])
                names = [index.terms[each] for each in ids.tolist()]
                for columns in (
                    {"term": [""], "length": [length], "x": [x]},
                    {"term": names, "tf": tf, "df": df, "cf": cf},
                ):
                    table = pl.DataFrame(columns).with_columns(of=wanted.of, place=place)
                    parts.append(
                        table.select(
                            (pl.col(each) if each in table.columns else pl.lit(None))
                            .cast(kind)
                            .alias(each)
                            for each, kind in DOCUMENT_TERMS.items()
                        )
                    )
        return pl.concat(parts)


@dataclass(frozen=True)
class FindDocuments:
    """Finds which documents, given by id, a shard has."""

    names: tuple[str, ...]

    def __call__(self, shard: Shard) -> pl.DataFrame:
        """Return their ids."""
        found = [name for name in self.names if shard.index.ids.find(name) >= 0]
        return pl.DataFrame({"doc_id": found}, schema=FOUND)


def best(found: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return the best documents of each query from all shards, in ranking order."""
    order = found.sort("query", "score", "doc_id", descending=[False, True, True])
    return order.group_by("query", maintain_order=True).head(depth)


Schema = Mapping[str, Any]
Work = Callable[[Shard], pl.DataFrame]
"""Work on a shard that returns rows. It is pickled and sent to workers."""


class Spread(Protocol):
    """The shards of a collection, here or on an engine."""

    def rows(self, work: Work, schema: Schema) -> pl.DataFrame:
        """Return the rows of all shards."""

    def sums(self, work: Work, schema: Schema, keys: Sequence[str]) -> pl.DataFrame:
        """Return the rows of all shards; the numbers of rows with equal keys are added up."""

    def best(self, work: Work, schema: Schema, depth: int) -> pl.DataFrame:
        """Return the best documents of each query from all shards."""

    def handed_back(self, count: CountAll, keep: KeepAll) -> None:
        """Count the terms of all shards, and give each shard the sums of its own terms."""


@dataclass(frozen=True)
class Here:
    """Work on the shards one after another in this process."""

    folder: Path
    indexed: IndexedShards

    def rows(self, work: Work, schema: Schema) -> pl.DataFrame:
        """Return the rows of all shards."""
        shards = (opened_shard(self.folder, entry) for entry in self.indexed.shards)
        return pl.concat([pl.DataFrame(schema=schema), *map(work, shards)])

    def sums(self, work: Work, schema: Schema, keys: Sequence[str]) -> pl.DataFrame:
        """Return the rows of all shards; the numbers of rows with equal keys are added up."""
        return self.rows(work, schema).group_by(keys).sum()

    def best(self, work: Work, schema: Schema, depth: int) -> pl.DataFrame:
        """Return the best documents of each query."""
        return best(self.rows(work, schema), depth)

    def handed_back(self, count: CountAll, keep: KeepAll) -> None:
        """Count the terms of all shards, and give each shard the sums of its own terms."""
        added = summed(self.rows(count, count.schema), count.numbers)
        for table in added.partition_by("shard"):
            keep(table)


def summed(table: pl.DataFrame, numbers: Sequence[str]) -> pl.DataFrame:
    """Replace the numbers of each term by their sums over all shards."""
    return table.with_columns(pl.col(list(numbers)).sum().over("term"))
