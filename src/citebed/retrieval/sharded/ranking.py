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
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.retrieval.execution.masks import DocumentMasks, find_numbers
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import Totals
from citebed.retrieval.index.layout import FOLDER, Description
from citebed.retrieval.pipeline import Learned, Pipeline
from citebed.retrieval.query import Docs, Mask, Query
from citebed.retrieval.ranking.features import (
    BATCH,
    CITING,
    SENTENCE,
    WORDS,
    CitingScores,
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
    authors_in,
    dates_of,
    extract,
    index_of,
    packed,
    unpacked,
)
from citebed.retrieval.sharded.sharded_index import Shard
from citebed.retrieval.sharded.term_counts import WholeCounts, Wholes
from citebed.retrieval.sharded.workers import SearchShard, SeenWhole, ShardQuery, Spread
from citebed.retrieval.vectors.vectors import Bounds, Similarities

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
    found, ends = list[_List](), [pl.DataFrame(schema=FORWARD)]
    every = zip(queries, first, signals.embed_in_batches(queries), in_time, strict=True)
    for number, (query, hits, own, times) in enumerate(every):
        _, said = signals.compare_citing(query, own)
        similar = signals.compare(query, own)
        allowed = allowed_documents(query, times, len(signals.index.ids))
        lists = propose_candidates(
            hits, similar, dict.fromkeys(similar), said,
            allowed=allowed, depth=depth, constants=signals.constants,
        )  # fmt: skip
        for name, docs in lists:
            chosen = hits.docs if name == WORDS else docs
            found.append(_List(number, name, chosen, _values(name, chosen, hits, said, similar)))
        ends += [_ends(number, kind, each) for kind, each in similar.items()]
    return pl.concat([_rows(found, signals.index.ids.series()), *ends], how="diagonal")


class _List(NamedTuple):
    """The documents that a signal proposes for a query, given by its position."""

    query: int
    name: str
    docs: Docs
    values: NDArray[np.float64]


def _values(
    name: str, docs: Docs, hits: Hits, said: CitingScores, similar: dict[str, Similarities]
) -> NDArray[np.float64]:
    if name == WORDS:
        return hits.scores
    if name == CITING:
        return np.asarray(said.scores[np.searchsorted(said.docs, docs)], np.float64)
    kind, row = name.removesuffix(SENTENCE), int(name.endswith(SENTENCE))
    return np.asarray(similar[kind].exact(docs)[row], np.float64)


def _rows(lists: Sequence[_List], ids: pl.Series) -> pl.DataFrame:
    """Return lists as rows; the ids of all are looked up at once."""
    sizes = [len(each.docs) for each in lists]
    places = np.concatenate([np.zeros(0, np.int64), *(each.docs for each in lists)])
    columns = {
        "query": np.repeat(np.array([each.query for each in lists], np.int64), sizes),
        "name": np.repeat(np.array([each.name for each in lists], object), sizes),
        "doc_id": ids.gather(places),
        "value": np.concatenate([np.zeros(0), *(each.values for each in lists)]),
    }
    return pl.DataFrame(columns, schema={name: FORWARD[name] for name in columns})


def _ends(number: int, kind: str, similar: Similarities) -> pl.DataFrame:
    rows = range(len(similar.rough))
    bounds = [similar.bounds(row) for row in rows]
    return pl.DataFrame(
        {
            "query": [number] * len(bounds),
            "name": [f"{kind}{SENTENCE if row else ''}" for row in rows],
            "least": [least for least, _ in bounds],
            "most": [most for _, most in bounds],
        },
        schema={name: FORWARD[name] for name in ("query", "name", "least", "most")},
    )


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


class Gathered(NamedTuple):
    """Data for some queries: ``extracts`` of documents, ``counts`` of the queries' terms, and the
    ``ends`` (lowest and highest similarity) by query position and signal."""

    extracts: Sequence[Extract]
    counts: WholeCounts
    ends: pl.DataFrame


class SomeRunner(Runner):
    """Runs a pipeline on the data gathered for some queries of a sharded collection."""

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
        self.masks = DocumentMasks(collection, index, dates_of(gathered.extracts))
        self.masks.present = None  # each shard omits removed documents
        self._ends = gathered.ends

    def answers(self, queries: Sequence[Query], depth: int) -> list[Hits]:
        """Return the best documents of the whole collection for the queries with gathered data."""
        bounds, ends = _bounds_by_place(self._ends), dict[str, dict[bytes, Bounds]]()
        for place, vectors in enumerate(self.ranker.signals.embed_in_batches(queries)):
            for kind, rows in vectors.items():
                ends.setdefault(kind, {})[rows.tobytes()] = bounds[place, kind]
        for kind, known in ends.items():
            self.index.vectors_of(self.ranker.models[kind], kind).use_bounds(known)
        return [each.hits for each in self.run(queries, depth)]


def _bounds_by_place(ends: pl.DataFrame) -> Mapping[tuple[int, str], Bounds]:
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for query, name, least, most in (
        ends.select("query", "name", "least", "most").sort("query", "name").rows()
    ):
        found.setdefault((query, name.removesuffix(SENTENCE)), []).append((least, most))
    return found


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
            docs = np.setdiff1d(_cited_works(shard, texts, self.authors), docs)
        parts = (docs[start : start + _DOCUMENTS] for start in range(0, len(docs), _DOCUMENTS))
        data = [packed(extract(shard.index, texts, part, self.terms)) for part in parts]
        return pl.DataFrame({"data": data}, schema=EXTRACTS)


@lru_cache(_TEXTS)
def _texts_of(shard: Shard) -> ShardTexts:
    """Return the authors and dates of a shard, read once per process."""
    return ShardTexts(shard.collection, shard.index)


def _cited_works(shard: Shard, texts: ShardTexts, authors: tuple[str, ...]) -> Docs:
    """Return the documents of a shard that are cited and by one of some authors."""
    citing, records = shard.index.citing, shard.index.records
    if citing is None or not texts.authors:
        return np.zeros(0, np.int64)
    wanted = pl.Series(texts.authors, dtype=pl.String).is_in(list(authors)).to_numpy()
    documents = np.repeat(np.arange(len(records.years)), np.diff(records.starts))
    return np.intersect1d(documents[wanted[records.authors]], citing.docs.astype(np.int64))


@dataclass(frozen=True)
class ShardedRanking:
    """Ranks the documents of a sharded collection; ``is_ready`` says whether one machine would have
    prepared its index for all the queries."""

    collection: Collection
    seen: SeenWhole
    spread: Spread
    is_ready: bool

    def ranked(
        self, table: pl.DataFrame, queries: Sequence[ShardQuery]
    ) -> tuple[SomeRunner, pl.DataFrame]:
        """Return the run of some queries (rows of a table), and the runner that made it."""
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
        asked = [runner.row_query(row) for row in table.iter_rows(named=True)]
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
        """The description and totals of an index of all documents."""
        of = self.seen.indexed
        described = Description(
            analyser=of.analyser, documents=of.documents, terms=0, postings=of.postings,
            citing_papers=0, citing_sources=(), sources={}, hashing="", citebed=of.citebed,
            vectors=of.vectors, fit=of.fit,
        )  # fmt: skip
        return described, Totals(of.documents, of.latest, of.latest_citing)
