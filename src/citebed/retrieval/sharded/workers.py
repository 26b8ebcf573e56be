"""The work of a search on one shard, and how it is sent to the shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl

from citebed.retrieval.execution.runner import Runner, RunOptions, is_worth_preparing
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.pipeline import Pipeline
from citebed.retrieval.query import Query
from citebed.retrieval.search.searcher import Searcher, finish_query_with
from citebed.retrieval.sharded.sharded_index import IndexedShards, Shard
from citebed.retrieval.sharded.term_counts import WholeCounts, Wholes, read_sums

HITS: Mapping[str, Any] = {"query": pl.Int64, "doc_id": pl.String, "score": pl.Float64}
"""The best documents of a shard for queries, given by number."""
DOCUMENT_TERMS: Mapping[str, Any] = {
    "of": pl.Int64, "place": pl.Int64, "term": pl.String, "tf": pl.Float64, "df": pl.Int64,
    "cf": pl.Float64, "length": pl.Float64, "x": pl.Float64,
}  # fmt: skip
"""The terms of documents that are requested together (``of``), by the document's ``place``, with
its length and its number x_d. A row without a term shows that the document exists."""
FOUND: Mapping[str, Any] = {"doc_id": pl.String}


class ShardQuery(NamedTuple):
    """A query for shards: the ids of its terms are their numbers in the counts.

    The citing text of ``hidden`` does not count. Only rankings by several signals need the
    ``text``, its ``paper`` and the ``year`` of the paper.
    """

    number: int
    query_id: str
    terms: TermWeights
    exclude: tuple[str, ...]
    before: str | None
    hidden: str | None
    text: str
    paper: str | None
    year: int | None


@dataclass(frozen=True, eq=False)
class SeenWhole:
    """Applies a pipeline to a shard, with the statistics of the whole collection."""

    pipeline: Pipeline
    options: RunOptions
    indexed: IndexedShards
    counts: WholeCounts
    everything: Path | None = None
    """The collection's folder if the frequencies of all terms are stored beside the indexes."""

    def finish(self, queries: Sequence[ShardQuery]) -> list[ShardQuery]:
        """Return the queries with their final weights, computed once for all shards."""
        model, finished = self.pipeline.model, []
        for query in queries:
            corpus = self.counts.corpus(query.hidden)
            final = finish_query_with(query.terms, model, corpus)
            constant = model.constant(final.weights, final.df, final.cf, corpus)
            extra = model.document_weight(final.weights), constant
            finished.append(query._replace(terms=replace(final, extra=extra)))
        return finished

    def runner(self, shard: Shard, queries: int) -> tuple[Runner, Wholes]:
        """Return a runner of the shard, prepared if that pays for this many queries."""
        everything = None
        if self.everything is not None:
            everything = read_sums(self.everything, self.indexed, self.counts.fields, shard)
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

    def queries_in(self, shard: Shard, queries: Sequence[ShardQuery]) -> tuple[Runner, list[Query]]:
        """Return a runner of the shard, and finished queries with the shard's term numbers."""
        runner, wholes = self.runner(shard, len(queries))
        found = []
        for query in queries:
            numbers = wholes.number_of_term[query.terms.ids]
            here = numbers >= 0
            df, cf = runner.searcher.without(query.hidden).frequencies(numbers[here])
            weights = query.terms.weights[here]
            terms = replace(query.terms, ids=numbers[here], weights=weights, df=df, cf=cf)
            found.append(
                Query(
                    query.text, terms, excluded=runner.index.ids.find_all(query.exclude),
                    before=query.before, paper=query.paper, year=query.year,
                    hidden_paper=query.hidden,
                )
            )  # fmt: skip
        return runner, found


def search_shard(
    seen: SeenWhole, queries: Sequence[ShardQuery], depth: int, shard: Shard
) -> pl.DataFrame:
    """Return the best documents of a shard for each query."""
    runner, own = seen.queries_in(shard, queries)
    found = runner.search(own, depth)
    docs = np.concatenate([np.zeros(0, np.int64), *(hits.docs for hits in found)])
    columns = {
        "query": np.repeat([each.number for each in queries], [len(hits.docs) for hits in found]),
        "doc_id": runner.names(docs),
        "score": np.concatenate([np.zeros(0), *(hits.scores for hits in found)]),
    }
    return pl.DataFrame(columns, schema=HITS)


class WantedDocuments(NamedTuple):
    """Ids of documents whose terms are requested. The citing text of ``hidden`` does not count."""

    of: int
    names: Sequence[str]
    hidden: str | None


def document_terms(
    seen: SeenWhole, requests: Sequence[WantedDocuments], shard: Shard
) -> pl.DataFrame:
    runner, _ = seen.runner(shard, len(requests))
    index, parts = runner.index, [pl.DataFrame(schema=DOCUMENT_TERMS)]
    for wanted in requests:
        view = runner.searcher.without(wanted.hidden)
        for place, name in enumerate(wanted.names):
            number = index.ids.find(name)
            if number < 0:
                continue
            ((ids, tf),) = view.documents(np.array([number]))
            df, cf = view.frequencies(ids)
            columns = {
                "term": ["", *(index.terms[each] for each in ids.tolist())],
                "tf": np.r_[0, tf], "df": np.r_[0, df], "cf": np.r_[0, cf],
            }  # fmt: skip
            table = pl.DataFrame(columns).with_columns(
                of=wanted.of, place=place, length=float(view.stats.lengths[number]),
                x=float(view.per_document[number]),
            )  # fmt: skip
            kinds = DOCUMENT_TERMS.items()
            parts.append(table.select(pl.col(each).cast(kind) for each, kind in kinds))
    return pl.concat(parts)


def find_documents(names: Sequence[str], shard: Shard) -> pl.DataFrame:
    return pl.DataFrame({"doc_id": shard.index.ids.choose_known(names)}, schema=FOUND)


def best(found: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return the best documents of each query from all shards, in ranking order."""
    order = found.sort("query", "score", "doc_id", descending=[False, True, True])
    return order.group_by("query", maintain_order=True).head(depth)


def sum_terms(table: pl.DataFrame) -> pl.DataFrame:
    """Replace the numbers of each term by their sums over all shards."""
    return table.with_columns(pl.col(pl.Int64).sum().over("term"))


Schema = Mapping[str, Any]
Work = Callable[[Shard], pl.DataFrame]
"""Work on a shard that returns rows. It is pickled and sent to workers."""


class Spread(Protocol):
    """The shards of a collection on an engine."""

    def rows(self, work: Work, schema: Schema) -> pl.DataFrame:
        """Return the rows of all shards."""

    def sums(self, work: Work, schema: Schema, keys: Sequence[str]) -> pl.DataFrame:
        """Return the rows of all shards; the numbers of rows with equal keys are added up."""

    def best(self, work: Work, schema: Schema, depth: int) -> pl.DataFrame:
        """Return the best documents of each query from all shards."""

    def handed_back(
        self, count: Work, schema: Schema, keep: Callable[[pl.DataFrame], pl.DataFrame]
    ) -> None:
        """Count the terms of all shards, and give each shard the sums of its own terms."""
