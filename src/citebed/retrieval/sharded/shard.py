"""What a worker does for a search: one shard, searched with the numbers of the whole collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.models.base import Floats
from citebed.retrieval.pipeline import Pipeline
from citebed.retrieval.query import Docs, Query
from citebed.retrieval.running.runner import Runner, RunOptions
from citebed.retrieval.search.searcher import Searcher
from citebed.retrieval.sharded.all_terms import Frequencies, kept_frequencies, path_of
from citebed.retrieval.sharded.counting import WholeCounts, Wholes
from citebed.retrieval.sharded.indexed import IndexedShards, Shard

HITS: Mapping[str, Any] = {"query": pl.Int64, "doc_id": pl.String, "score": pl.Float64}
"""The best documents of a shard for queries by number."""


class ShardQuery(NamedTuple):
    """A query on its way to shards: terms by their numbers in the counts, with final weights; what
    it adds beside them; what must not be found, as of when, and whose citing text does not count.
    """

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

    pipeline: Pipeline
    options: RunOptions
    indexed: IndexedShards
    counts: WholeCounts
    queries: tuple[ShardQuery, ...] = field(repr=False)
    everything: Path | None = None
    """The collection's folder, where the frequencies of all terms are kept beside the indexes."""

    def __call__(self, shard: Shard) -> pl.DataFrame:
        """The best documents of each query."""
        wholes = Wholes(self.counts, shard.index, self._all_of(shard))
        searcher = Searcher(shard.index, self.pipeline.model, self.counts.fields, wholes)
        runner = Runner(
            shard.collection, shard.index, self.pipeline, self.options, searcher=searcher
        )
        if self.everything is not None:
            runner.prepare_for(len(self.queries))
        queries = [self._query(each, wholes, runner) for each in self.queries]
        found = runner.search(queries, self.options.depth)
        sizes = [len(hits.docs) for hits in found]
        docs = np.concatenate([np.zeros(0, np.int64), *(hits.docs for hits in found)])
        columns = {
            "query": np.repeat([each.number for each in self.queries], sizes),
            "doc_id": runner.names(docs),
            "score": np.concatenate([np.zeros(0), *(hits.scores for hits in found)]),
        }
        return pl.DataFrame(columns, schema=HITS)

    def _all_of(self, shard: Shard) -> Frequencies | None:
        if self.everything is None:
            return None
        name, fields = shard.index.folder.parent.name, self.counts.fields
        path = path_of(self.everything, name, self.indexed, fields)
        return kept_frequencies(path, shard.index, fields)

    def _query(self, asked: ShardQuery, wholes: Wholes, runner: Runner) -> Query:
        """A query as this shard understands it: of its terms those that are here."""
        numbers = wholes.number_of_term[asked.terms]
        here = numbers >= 0
        ids = numbers[here]
        df, cf = runner.searcher.without(asked.hidden).frequencies(ids)
        terms = TermWeights(ids, asked.weights[here], df, cf, final=True, extra=asked.extra)
        excluded = (runner.index.ids.find(name) for name in asked.exclude)
        unwanted = np.array([number for number in excluded if number >= 0], np.int64)
        return Query("", terms, excluded=unwanted, before=asked.before, hidden=asked.hidden)


def best(found: pl.DataFrame, depth: int) -> pl.DataFrame:
    """The best documents of each query, of those of all shards; in the one order of a ranking."""
    order = found.sort("query", "score", "doc_id", descending=[False, True, True])
    return order.group_by("query", maintain_order=True).head(depth)
