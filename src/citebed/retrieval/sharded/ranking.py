"""A ranking by several signals over shards: each puts documents forward, the best of these are
gathered with all that counts for them, and ranked as on one machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.retrieval.execution.masks import numbers_of
from citebed.retrieval.index.index import Totals
from citebed.retrieval.index.layout import Description
from citebed.retrieval.pipeline import Learned
from citebed.retrieval.query import Docs
from citebed.retrieval.ranking import features
from citebed.retrieval.ranking.constants import Constants
from citebed.retrieval.ranking.ranker import read_ranker, shipped_ranker
from citebed.retrieval.search.queries import query_text
from citebed.retrieval.sharded.answering import Gathered, SomeRunner
from citebed.retrieval.sharded.extracts import (
    Extract,
    ShardTexts,
    authors_in,
    extract,
    packed,
    unpacked,
)
from citebed.retrieval.sharded.forward import FORWARD, best_of, forward
from citebed.retrieval.sharded.indexed import Shard
from citebed.retrieval.sharded.shard import SearchShard, SeenWhole, ShardQuery
from citebed.retrieval.sharded.spreading import Spread

EXTRACTS: Mapping[str, Any] = {"data": pl.Binary}
"""What shards have of documents, as bytes."""
AT_ONCE = 4 * features.AT_ONCE
"""Queries that are ranked together; models are given as many texts at a time as on one machine."""

_DOCUMENTS = 16_384
"""Documents of an extract: engines carry rows of some megabytes better than one of hundreds."""
_TEXTS = 8
"""Shards of which authors and dates are kept by a process."""


class Text(NamedTuple):
    """What a ranking asks of a query beside its terms: the text, and the paper that it is of."""

    text: str
    paper: str | None
    year: int | None


@dataclass(frozen=True, eq=False)
class ForwardShard:
    """Puts documents of a shard forward for queries."""

    search: SearchShard
    texts: tuple[Text, ...] = field(repr=False)
    is_ready: bool = False
    """Whether one machine would have made ready for so many queries."""

    def __call__(self, shard: Shard) -> pl.DataFrame:
        """What the shard's signals put forward."""
        runner, found = self.search.asked_of(shard)
        ranks, depth = runner.ranks, self.search.depth
        if self.is_ready:
            ranks.prepare()
        queries = [
            replace(query, text=text.text, paper=text.paper, year=text.year)
            for query, text in zip(found, self.texts, strict=True)
        ]
        first = runner.search(queries, max(depth, ranks.constants.by_words))
        in_time = [runner.in_time(query) for query in queries]
        return forward(ranks.signals, queries, first, in_time, depth)


@dataclass(frozen=True, eq=False)
class ExtractShard:
    """Takes out what a shard has of documents: of those with some ``ids`` and of its first, so that
    there are always some; or of others, those that are cited and by one of the ``authors``."""

    ids: pl.Series
    terms: tuple[str, ...]
    authors: tuple[str, ...] | None = None

    def __call__(self, shard: Shard) -> pl.DataFrame:
        """Extracts of those that the shard has."""
        texts = _texts_of(shard)
        docs = np.union1d(numbers_of(shard.index, self.ids), np.arange(len(shard.index.ids))[:1])
        if self.authors is not None:
            docs = np.setdiff1d(_cited_works(shard, texts, self.authors), docs)
        parts = (docs[start : start + _DOCUMENTS] for start in range(0, len(docs), _DOCUMENTS))
        data = [packed(extract(shard.index, texts, part, self.terms)) for part in parts]
        return pl.DataFrame({"data": data}, schema=EXTRACTS)


@lru_cache(_TEXTS)
def _texts_of(shard: Shard) -> ShardTexts:
    """What the index of a shard does not have, read once in each process."""
    return ShardTexts(shard.collection, shard.index)


def _cited_works(shard: Shard, texts: ShardTexts, authors: tuple[str, ...]) -> Docs:
    """The documents of a shard that are cited and by one of some authors."""
    citing, records = shard.index.citing, shard.index.records
    if citing is None or not texts.authors:
        return np.zeros(0, np.int64)
    wanted = pl.Series(texts.authors, dtype=pl.String).is_in(list(authors)).to_numpy()
    documents = np.repeat(np.arange(len(records.years)), np.diff(records.starts))
    return np.intersect1d(documents[wanted[records.authors]], citing.docs.astype(np.int64))


@dataclass(frozen=True)
class ShardedRanking:
    """A ranking of the documents of a collection in shards; ``is_ready`` says whether one machine
    would have made ready for all the queries."""

    collection: Collection
    seen: SeenWhole
    spread: Spread
    is_ready: bool

    def ranked(
        self, table: pl.DataFrame, queries: Sequence[ShardQuery]
    ) -> tuple[SomeRunner, pl.DataFrame]:
        """The run of some queries, rows of a table, and who made it."""
        options, counts = self.seen.options, self.seen.counts
        search = SearchShard(self.seen, tuple(queries), options.depth)
        work = ForwardShard(search, self._texts(table), self.is_ready)
        rows = best_of(self.spread.rows(work, FORWARD), options.depth, self._constants)
        excluded = table["exclude"].explode().drop_nulls().cast(pl.String)
        ids = pl.concat([rows["doc_id"].drop_nulls(), excluded]).unique()
        ends = rows.filter(pl.col("doc_id").is_null())
        extracts = self._extracts(ids, tuple(counts.table["term"]))
        gathered = Gathered(extracts, counts, ends)
        runner = SomeRunner(self.collection, self._about, gathered, self.seen.pipeline, options)
        if self.is_ready:
            runner.prepare()
        asked = [runner.query_of(row) for row in table.iter_rows(named=True)]
        return runner, runner.table(asked, runner.answers(asked, options.depth))

    def _texts(self, table: pl.DataFrame) -> tuple[Text, ...]:
        known = self.collection.papers.select("paper_id", "year").drop_nulls()
        years = dict(known.iter_rows())
        rows = table.select("text", "before", "paper_id").iter_rows()
        return tuple(
            Text(
                (text or "") if self.seen.options.as_is else query_text(text or ""),
                paper,
                int(before[:4]) if before else years.get(paper),
            )
            for text, before, paper in rows
        )

    @property
    def _constants(self) -> Constants:
        stage = self.seen.pipeline.stage
        source = stage.source if isinstance(stage, Learned) else None
        return (read_ranker(source) if source else shipped_ranker()).constants

    def _extracts(self, ids: pl.Series, terms: tuple[str, ...]) -> list[Extract]:
        found = self._taken_out(ExtractShard(ids, terms))
        if self.seen.indexed.has_citing:
            found += self._taken_out(ExtractShard(ids, terms, authors_in(found)))
        return found

    def _taken_out(self, work: ExtractShard) -> list[Extract]:
        return list(map(unpacked, self.spread.rows(work, EXTRACTS)["data"]))

    @property
    def _about(self) -> tuple[Description, Totals]:
        """What an index of all documents would say of itself."""
        of = self.seen.indexed
        described = Description(
            analyser=of.analyser, documents=of.documents, terms=0, postings=of.postings,
            citing_papers=0, citing_sources=(), sources={}, hashing="", citebed=of.citebed,
            vectors=of.vectors, fit=of.fit,
        )  # fmt: skip
        return described, Totals(of.documents, of.latest, of.latest_citing)
