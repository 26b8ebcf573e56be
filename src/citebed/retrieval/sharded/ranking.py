"""Ranking by several features over shards, with the results of one index.

Each shard proposes candidates. The best of all are gathered with everything that the ranker needs,
and a small index in memory ranks them as on one machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.retrieval.execution.runner import Runner
from citebed.retrieval.index.index import Totals
from citebed.retrieval.index.layout import FOLDER, Description
from citebed.retrieval.pipeline import Learned
from citebed.retrieval.query import Docs, DocumentMasks, Query, Reals, find_numbers
from citebed.retrieval.ranking.features import (
    BATCH,
    CITING,
    SENTENCE,
    WORDS,
    Constants,
    allowed_documents,
    propose_candidates,
)
from citebed.retrieval.ranking.ranker import read_ranker, shipped_ranker
from citebed.retrieval.search.searcher import Searcher
from citebed.retrieval.sharded.partial_index import (
    Extract,
    extract,
    index_of,
    packed,
    shard_texts,
    texts_in,
    unpacked,
)
from citebed.retrieval.sharded.sharded_index import Shard
from citebed.retrieval.sharded.term_counts import Wholes
from citebed.retrieval.sharded.workers import SeenWhole, ShardQuery, Spread
from citebed.retrieval.vectors.vectors import Bounds

FORWARD: Mapping[str, Any] = {
    "query": pl.Int64, "name": pl.String, "doc_id": pl.String, "value": pl.Float64,
    "least": pl.Float64, "most": pl.Float64,
}  # fmt: skip
"""A document that a signal proposes for a query, with its value; or without a document, the lowest
and the highest similarity of all documents."""


def forward_shard(
    seen: SeenWhole, queries: Sequence[ShardQuery], is_ready: bool, shard: Shard
) -> pl.DataFrame:
    """Return the candidates of a shard for queries; ``is_ready`` if one machine would have prepared
    its index for this many queries."""
    runner, own = seen.queries_in(shard, queries)
    signals, depth = runner.ranker.signals, seen.options.depth
    if is_ready:
        signals.prepare()
    first = runner.search(own, max(depth, signals.constants.bm25_depth))
    ids, found = signals.index.ids.series(), list[tuple[int, str, Docs, Reals]]()
    ends = list[tuple[int, str, float, float]]()
    every = zip(own, first, signals.embed_in_batches(own), strict=True)
    for number, (query, hits, vectors) in enumerate(every):
        _, said = signals.compare_citing(query, vectors)
        similar = signals.compare(query, vectors)
        lists = propose_candidates(
            hits, similar, dict.fromkeys(similar), said,
            allowed=allowed_documents(query, runner.in_time(query), len(ids)), depth=depth,
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


def extract_shard(
    ids: pl.Series, terms: Sequence[str], authors: Sequence[str] | None, shard: Shard
) -> pl.DataFrame:
    """Return extracts of a shard's documents: those with some ``ids``, and its first one so that
    there is always one; or with ``authors``, the other cited documents by one of these authors."""
    index = shard.index
    docs = np.union1d(find_numbers(index, ids), np.arange(len(index.ids))[:1])
    if authors is not None:
        cited, citing, records = np.zeros(0, np.int64), index.citing, index.records
        names = pl.Series(shard_texts(shard)[0], dtype=pl.String)
        if citing is not None and len(names):
            documents = np.repeat(np.arange(len(records.years)), np.diff(records.starts))
            is_wanted = names.is_in(list(authors)).to_numpy()
            of_authors = documents[is_wanted[records.authors]]
            cited = np.intersect1d(of_authors, citing.docs.astype(np.int64))
        docs = np.setdiff1d(cited, docs)
    parts = (docs[start : start + _DOCUMENTS] for start in range(0, len(docs), _DOCUMENTS))
    data = [packed(extract(shard, part, terms)) for part in parts]
    return pl.DataFrame({"data": data}, schema=EXTRACTS)


EXTRACTS: Mapping[str, Any] = {"data": pl.Binary}
"""Extracts of shards, as bytes."""
AT_ONCE = 4 * BATCH
"""Number of queries ranked together; models get as many texts at a time as on one machine."""

_DOCUMENTS = 16_384
"""Number of documents in an extract: engines prefer rows of a few MB to rows of hundreds."""


def rank_over_shards(
    collection: Collection,
    seen: SeenWhole,
    spread: Spread,
    table: pl.DataFrame,
    queries: Sequence[ShardQuery],
    *,
    is_ready: bool,
) -> tuple[Runner, pl.DataFrame]:
    """Return the run of some queries (rows of a table) over all shards, and the runner that made
    it; ``is_ready`` if one machine would have prepared its index for all the queries."""
    depth, stage = seen.options.depth, seen.pipeline.stage
    source = stage.source if isinstance(stage, Learned) else None
    constants = (read_ranker(source) if source else shipped_ranker()).constants
    rows = spread.rows(partial(forward_shard, seen, queries, is_ready), FORWARD)
    rows = best_of(rows, depth, constants)
    excluded = table["exclude"].explode().drop_nulls().cast(pl.String)
    ids = pl.concat([rows["doc_id"].drop_nulls(), excluded]).unique()
    terms = seen.counts.table["term"].to_list()

    def gather(authors: Sequence[str] | None) -> Iterator[Extract]:
        work = partial(extract_shard, ids, terms, authors)
        return map(unpacked, spread.rows(work, EXTRACTS)["data"])

    extracts = list(gather(None))
    if seen.indexed.has_citing:
        extracts += gather(sorted(set(texts_in(extracts, "authors"))))
    runner = _make_runner(collection, seen, extracts)
    if is_ready:
        runner.prepare()
    asked = [runner.row_query(row) for row in table.iter_rows(named=True)]
    _set_bounds(runner, asked, rows.filter(pl.col("doc_id").is_null()))
    return runner, runner.table(asked, [each.hits for each in runner.run(asked, depth)])


def _make_runner(collection: Collection, seen: SeenWhole, extracts: Sequence[Extract]) -> Runner:
    """Return a runner of the pipeline on the extracts that were gathered for some queries."""
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
    runner = Runner(collection, index, seen.pipeline, seen.options, searcher=searcher)
    # The dates of the documents, in the order of the index.
    texts = {"doc_id": texts_in(extracts, "ids"), "date": texts_in(extracts, "dates")}
    dates = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String)).sort("doc_id")
    dates = dates.with_columns(pl.col("date").replace("", None))
    runner.masks = DocumentMasks(collection, index, dates)
    runner.masks.present = None  # each shard omits removed documents
    return runner


def _set_bounds(runner: Runner, queries: Sequence[Query], ends: pl.DataFrame) -> None:
    """Tell a runner the lowest and the highest similarity of all documents of the collection, by
    query position and signal."""
    bounds: dict[tuple[int, str], list[tuple[float, float]]] = {}
    rows = ends.select("query", "name", "least", "most").sort("query", "name").rows()
    for query, name, least, most in rows:
        bounds.setdefault((query, name.removesuffix(SENTENCE)), []).append((least, most))
    by_vectors: dict[str, dict[bytes, Bounds]] = {}
    for place, vectors in enumerate(runner.ranker.signals.embed_in_batches(queries)):
        for kind, texts in vectors.items():
            by_vectors.setdefault(kind, {})[texts.tobytes()] = bounds[place, kind]
    for kind, known in by_vectors.items():
        runner.index.vectors_of(runner.ranker.models[kind], kind).known_bounds = known
