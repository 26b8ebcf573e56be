"""Answers of a ranking by several signals, from what shards have of the documents that count.

The documents that shards put forward are gathered with all that the ranking asks of them, and so
are the cited works of their authors. Of these a small index is made, and the pipeline asks it as it
would ask one index of everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from citebed.collection import Collection
from citebed.retrieval.execution.masks import Dates
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import Totals
from citebed.retrieval.index.layout import FOLDER, Description
from citebed.retrieval.pipeline import Pipeline
from citebed.retrieval.query import Query
from citebed.retrieval.ranking.candidates import OF_SENTENCE
from citebed.retrieval.search.exhaustive import Hits
from citebed.retrieval.search.searcher import Searcher
from citebed.retrieval.sharded.counting import WholeCounts, Wholes
from citebed.retrieval.sharded.extracts import Extract, dates_of, index_of
from citebed.retrieval.vectors.vectors import Bounds


class Gathered(NamedTuple):
    """What was gathered for some queries: ``extracts`` of documents, the ``counts`` of the terms
    that they were asked for, and the ``ends`` of similarities by query (its place) and signal."""

    extracts: Sequence[Extract]
    counts: WholeCounts
    ends: pl.DataFrame


class SomeRunner(Runner):
    """A pipeline at work on what was gathered for some queries of a collection in shards."""

    def __init__(
        self,
        collection: Collection,
        about: tuple[Description, Totals],
        gathered: Gathered,
        pipeline: Pipeline,
        options: RunOptions,
    ) -> None:
        counts, terms = gathered.counts, gathered.counts.table["term"].to_list()
        index = index_of(collection.folder / FOLDER, gathered.extracts, terms, *about)
        wholes = Wholes(counts, index)
        searcher = Searcher(index, pipeline.model, counts.fields, wholes)
        super().__init__(collection, index, pipeline, options, searcher=searcher)
        self._dates = Dates(collection, index, dates_of(gathered.extracts))
        self._ends = gathered.ends
        self.there = None  # each shard leaves out what is gone

    def answers(self, queries: Sequence[Query], depth: int) -> list[Hits]:
        """The best documents of the whole collection for each of the queries that it was gathered
        for."""
        bounds, ends = _bounds_by_place(self._ends), dict[str, dict[bytes, Bounds]]()
        for place, vectors in enumerate(self.ranks.signals.embedded_in_turn(queries)):
            for kind, rows in vectors.items():
                ends.setdefault(kind, {})[rows.tobytes()] = bounds[place, kind]
        for kind, known in ends.items():
            self.index.vectors_of(self.ranks.models[kind], kind).use_bounds(known)
        return [each.hits for each in self.results(queries, depth)]


def _bounds_by_place(ends: pl.DataFrame) -> Mapping[tuple[int, str], Bounds]:
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for query, name, least, most in (
        ends.select("query", "name", "least", "most").sort("query", "name").rows()
    ):
        found.setdefault((query, name.removesuffix(OF_SENTENCE)), []).append((least, most))
    return found
