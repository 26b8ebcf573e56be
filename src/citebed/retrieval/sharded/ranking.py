"""Ranking by several features over shards, with the results of one index.

Each shard proposes candidates. The best of all are gathered with everything that the ranker needs,
and a small index in memory ranks them as on one machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.retrieval.execution.runner import Runner
from citebed.retrieval.index.index import Totals
from citebed.retrieval.index.layout import FOLDER, Description
from citebed.retrieval.pipeline import Learned
from citebed.retrieval.query import Docs, DocumentMasks, Mask, Query, Reals, find_numbers
from citebed.retrieval.ranking.features import (
    BATCH,
    CITING,
    SENTENCE,
    WORDS,
    Constants,
    Signals,
    allowed_documents,
    propose_candidates,
)
from citebed.retrieval.ranking.ranker import read_ranker, shipped_ranker
from citebed.retrieval.search.queries import query_text
from citebed.retrieval.search.searcher import Hits, Searcher
from citebed.retrieval.sharded.partial_index import (
    Extract,
    ShardTexts,
    extract,
    index_of,
    packed,
    texts_in,
    unpacked,
)
from citebed.retrieval.sharded.sharded_index import Shard
from citebed.retrieval.sharded.term_counts import Wholes
from citebed.retrieval.sharded.workers import SearchShard, SeenWhole, ShardQuery, Spread
from citebed.retrieval.vectors.vectors import Bounds

FORWARD: Mapping[str, Any] = {
    "query": pl.Int64, "name": pl.String, "doc_id": pl.String, "value": pl.Float64,
    "least": pl.Float64, "most": pl.Float64,
}  # fmt: skip
"""A document that a signal proposes for a query, with its value; or without a document, the lowest
and the highest similarity of all documents."""


def forward(
    signals: Signals,
    queries: Sequence[Query],
    first: Sequence[Hits],
    in_time: Iterable[Mask | None],
    depth: int,
) -> pl.DataFrame:
    """Return the candidates of a shard.

    ``first`` are its best documents by words, ``in_time`` masks of documents that are old enough.
    """
    ids, found = signals.index.ids.series(), list[tuple[int, str, Docs, Reals]]()
    ends = list[tuple[int, str, float, float]]()
    every = zip(queries, first, signals.embed_in_batches(queries), in_time, strict=True)
    for number, (query, hits, own, times) in enumerate(every):
        _, said = signals.compare_citing(query, own)
        similar = signals.compare(query, own)
        lists = propose_candidates(
            hits, similar, dict.fromkeys(similar), said,
            allowed=allowed_documents(query, times, len(ids)), depth=depth,
            constants=signals.constants,
        )  # fmt: skip
        for name, docs in lists:
            if name == WORDS:
                found.append((number, name, hits.docs, hits.scores))
            elif name == CITING:
                values = said.scores[np.searchsorted(said.docs, docs)]
                found.append((number, name, docs, np.asarray(values, np.float64)))
            else:
                kind, row = name.removesuffix(SENTENCE), int(name.endswith(SENTENCE))
                values = similar[kind].exact(docs)[row]
                found.append((number, name, docs, np.asarray(values, np.float64)))
        for kind, each in similar.items():
            for row in range(len(each.rough)):
                ends.append((number, f"{kind}{SENTENCE if row else ''}", *each.bounds(row)))
    sizes = [len(docs) for _, _, docs, _ in found]
    columns = {
        "query": np.repeat(np.array([number for number, _, _, _ in found], np.int64), sizes),
        "name": np.repeat(np.array([name for _, name, _, _ in found], object), sizes),
        # The ids of all are looked up at once.
        "doc_id": ids.gather(np.concatenate([np.zeros(0, np.int64), *(row[2] for row in found)])),
        "value": np.concatenate([np.zeros(0), *(row[3] for row in found)]),
    }
    documents = pl.DataFrame(columns, schema={name: FORWARD[name] for name in columns})
    names = ("query", "name", "least", "most")
    bounds = pl.DataFrame(ends, schema={name: FORWARD[name] for name in names}, orient="row")
    return pl.concat([documents, bounds], how="diagonal")


def best_of(rows: pl.DataFrame, depth: int, constants: Constants) -> pl.DataFrame:
    """Return the best candidates of all shards: as many per list as one index would return."""
    documents = rows.filter(pl.col("doc_id").is_not_null())
    ends = rows.filter(pl.col("doc_id").is_null())
    wanted = max(constants.candidates_per_signal, depth)
    counts = {WORDS: max(depth, constants.bm25_depth), CITING: constants.cited_candidates}
    # Ties: the later id first, as everywhere; citing sentences keep all ties.
    ranked = (
        documents.drop("most")
        .sort("query", "name", "value", "doc_id", descending=[False, False, True, True])
        .with_columns(
            wanted=pl.col("name").replace_strict(counts, default=wanted, return_dtype=pl.Int64),
            place=pl.int_range(pl.len()).over("query", "name"),
        )
    )
    is_first = pl.col("place") < pl.col("wanted")
    last = pl.col("value").filter(is_first).min().over("query", "name")
    is_said = (pl.col("name") == CITING) & (pl.col("value") >= last)
    chosen = ranked.filter(is_first | is_said).drop("place", "wanted")
    whole = ends.group_by("query", "name").agg(pl.col("least").min(), pl.col("most").max())
    return pl.concat([chosen, whole], how="diagonal")


class SomeRunner(Runner):
    """Runs a pipeline on the data gathered for some queries of a sharded collection.

    ``extracts`` are of documents; ``ends`` are the lowest and the highest similarity by query
    position and signal.
    """

    def __init__(
        self,
        collection: Collection,
        seen: SeenWhole,
        extracts: Sequence[Extract],
        ends: pl.DataFrame,
    ) -> None:
        of, counts = seen.indexed, seen.counts
        described = Description(
            analyser=of.analyser, documents=of.documents, terms=0, postings=of.postings,
            citing_papers=0, citing_sources=(), sources={}, hashing="", citebed=of.citebed,
            vectors=of.vectors, fit=of.fit,
        )  # fmt: skip
        totals = Totals(of.documents, of.latest, of.latest_citing)
        terms = counts.table["term"].to_list()
        index = index_of(collection.folder / FOLDER, extracts, terms, described, totals)
        searcher = Searcher(index, seen.pipeline.model, counts.fields, Wholes(counts, index))
        super().__init__(collection, index, seen.pipeline, seen.options, searcher=searcher)
        # The dates of the documents, in the order of the index.
        texts = {"doc_id": texts_in(extracts, "ids"), "date": texts_in(extracts, "dates")}
        dates = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String)).sort("doc_id")
        dates = dates.with_columns(pl.col("date").replace("", None))
        self.masks = DocumentMasks(collection, index, dates)
        self.masks.present = None  # each shard omits removed documents
        self._ends = ends

    def answers(self, queries: Sequence[Query], depth: int) -> list[Hits]:
        """Return the best documents of the whole collection for the queries with gathered data."""
        bounds: dict[tuple[int, str], list[tuple[float, float]]] = {}
        rows = self._ends.select("query", "name", "least", "most").sort("query", "name").rows()
        for query, name, least, most in rows:
            bounds.setdefault((query, name.removesuffix(SENTENCE)), []).append((least, most))
        ends: dict[str, dict[bytes, Bounds]] = {}
        for place, vectors in enumerate(self.ranker.signals.embed_in_batches(queries)):
            for kind, texts in vectors.items():
                ends.setdefault(kind, {})[texts.tobytes()] = bounds[place, kind]
        for kind, known in ends.items():
            self.index.vectors_of(self.ranker.models[kind], kind).known_bounds = known
        return [each.hits for each in self.run(queries, depth)]


EXTRACTS: Mapping[str, Any] = {"data": pl.Binary}
"""Extracts of shards, as bytes."""
AT_ONCE = 4 * BATCH
"""Number of queries ranked together; models get as many texts at a time as on one machine."""

_DOCUMENTS = 16_384
"""Number of documents in an extract: engines prefer rows of a few MB to rows of hundreds."""
_TEXTS = 8
"""The number of shards whose authors and dates a process caches."""


class Text(NamedTuple):
    """The text of a query, its paper and the year of the paper."""

    text: str
    paper: str | None
    year: int | None


@dataclass(frozen=True, eq=False)
class ForwardShard:
    """Proposes documents of a shard for queries."""

    search: SearchShard
    texts: tuple[Text, ...] = field(repr=False)
    is_ready: bool = False
    """Whether one machine would have prepared its index for this many queries."""

    def __call__(self, shard: Shard) -> pl.DataFrame:
        """Return the candidates of the shard."""
        runner, found = self.search.asked_of(shard)
        ranks, depth = runner.ranker, self.search.depth
        if self.is_ready:
            ranks.signals.prepare()
        queries = [
            replace(query, text=text.text, paper=text.paper, year=text.year)
            for query, text in zip(found, self.texts, strict=True)
        ]
        first = runner.search(queries, max(depth, ranks.constants.bm25_depth))
        in_time = [runner.in_time(query) for query in queries]
        return forward(ranks.signals, queries, first, in_time, depth)


@dataclass(frozen=True, eq=False)
class ExtractShard:
    """Extracts documents of a shard: those with some ``ids``, and its first one so that there is
    always one; or with ``authors``, the other cited documents by one of these authors."""

    ids: pl.Series
    terms: tuple[str, ...]
    authors: tuple[str, ...] | None = None

    def __call__(self, shard: Shard) -> pl.DataFrame:
        """Return extracts of the documents in this shard."""
        texts = _texts_of(shard)
        docs = np.union1d(find_numbers(shard.index, self.ids), np.arange(len(shard.index.ids))[:1])
        if self.authors is not None:
            cited, citing, records = np.zeros(0, np.int64), shard.index.citing, shard.index.records
            if citing is not None and texts.authors:
                wanted = pl.Series(texts.authors, dtype=pl.String).is_in(list(self.authors))
                documents = np.repeat(np.arange(len(records.years)), np.diff(records.starts))
                of_authors = documents[wanted.to_numpy()[records.authors]]
                cited = np.intersect1d(of_authors, citing.docs.astype(np.int64))
            docs = np.setdiff1d(cited, docs)
        parts = (docs[start : start + _DOCUMENTS] for start in range(0, len(docs), _DOCUMENTS))
        data = [packed(extract(shard.index, texts, part, self.terms)) for part in parts]
        return pl.DataFrame({"data": data}, schema=EXTRACTS)


@lru_cache(_TEXTS)
def _texts_of(shard: Shard) -> ShardTexts:
    """Return the authors and dates of a shard, read once per process."""
    return ShardTexts(shard.collection, shard.index)


def rank_over_shards(
    collection: Collection,
    seen: SeenWhole,
    spread: Spread,
    table: pl.DataFrame,
    queries: Sequence[ShardQuery],
    *,
    is_ready: bool,
) -> tuple[SomeRunner, pl.DataFrame]:
    """Return the run of some queries (rows of a table) over all shards, and the runner that made
    it; ``is_ready`` if one machine would have prepared its index for all the queries."""
    options, stage = seen.options, seen.pipeline.stage
    source = stage.source if isinstance(stage, Learned) else None
    constants = (read_ranker(source) if source else shipped_ranker()).constants
    years = dict(collection.papers.select("paper_id", "year").drop_nulls().iter_rows())
    texts = tuple(
        Text(
            (text or "") if options.as_is else query_text(text or ""),
            paper,
            int(before[:4]) if before else years.get(paper),
        )
        for text, before, paper in table.select("text", "before", "paper_id").iter_rows()
    )
    search = SearchShard(seen, tuple(queries), options.depth)
    rows = spread.rows(ForwardShard(search, texts, is_ready), FORWARD)
    rows = best_of(rows, options.depth, constants)
    excluded = table["exclude"].explode().drop_nulls().cast(pl.String)
    ids = pl.concat([rows["doc_id"].drop_nulls(), excluded]).unique()
    terms = tuple(seen.counts.table["term"])
    extracts = list(map(unpacked, spread.rows(ExtractShard(ids, terms), EXTRACTS)["data"]))
    if seen.indexed.has_citing:
        authors = tuple(sorted(set(texts_in(extracts, "authors"))))
        others = ExtractShard(ids, terms, authors)
        extracts += map(unpacked, spread.rows(others, EXTRACTS)["data"])
    runner = SomeRunner(collection, seen, extracts, rows.filter(pl.col("doc_id").is_null()))
    if is_ready:
        runner.prepare()
    asked = [runner.row_query(row) for row in table.iter_rows(named=True)]
    return runner, runner.table(asked, runner.answers(asked, options.depth))
