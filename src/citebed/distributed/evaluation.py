"""Evaluation and timelines on an engine: runs of any size, scored as on one machine.

The qrels travel to the workers. Only the ranks of judged documents, or partial scores, come back.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from citebed.distributed.arrow import Schema
from citebed.distributed.run_rows import Part, run_rows
from citebed.distributed.sessions import Engine
from citebed.distributed.shuffle import pack_table, unpack_table
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.measures.rankings import Rankings, match
from citebed.evaluation.options import DEFAULT_MEASURES, TREC_EVAL, Settings
from citebed.evaluation.scoring.coverage import AlignedRun
from citebed.evaluation.scoring.evaluation import Evaluation
from citebed.evaluation.scoring.run_scores import score_aligned
from citebed.runs.ranking import (
    Ranked,
    ScoreType,
    SortedQrels,
    check_repeated_documents,
    encode_values,
    prepare,
    rank,
    rank_in_32_bits,
    rehash,
)
from citebed.runs.reader import as_qrels, distinct_names
from citebed.runs.tables import Run
from citebed.runs.texts import group_by_query
from citebed.timeline.scoring.partial_scores import Scored, Scoring, part_rows, together
from citebed.timeline.streams.run_sources import RunSource

NUMBER = "number"
COLUMNS = dict.fromkeys(
    (NUMBER, "retrieved", "rank", "relevance", "tie_first", "tie_size"), pl.Int64
)
"""For a query (by its number in the qrels) the number of retrieved documents; for a judged document
its rank."""
_COMPRESSION = "zstd"
_OF_DOCUMENTS = ("rank", "relevance", "tie_first", "tie_size")


def pack_broadcast(qrels: SortedQrels, *more: Any) -> bytes:
    """Pack judgements and other data for each task."""
    import pyarrow as pa

    table = pl.DataFrame({"doc_id": qrels.doc_ids, "relevance": qrels.relevance})
    few = replace(
        qrels, doc_ids=qrels.doc_ids[:0], relevance=qrels.relevance[:0], keys=qrels.keys[:0]
    )
    rest = pickle.dumps((few, *more))
    packed = pa.compress(rest, _COMPRESSION, asbytes=True)
    return pickle.dumps((pack_table(table), packed, len(rest)))


@lru_cache(2)
def unpack_broadcast(data: bytes) -> Any:
    """Unpack a broadcast, and hash its document ids as on this machine; once per worker."""
    import pyarrow as pa

    rows, packed, size = pickle.loads(data)
    table = unpack_table(rows)
    qrels, *more = pickle.loads(pa.decompress(packed, size, _COMPRESSION))
    doc_ids, relevance = table["doc_id"], table["relevance"].to_numpy()
    return rehash(replace(qrels, doc_ids=doc_ids, relevance=relevance)), *more


def rankings_of(qrels: SortedQrels, table: pl.DataFrame) -> Rankings:
    """Combine what workers sent from all parts into the rankings of one machine."""
    of_queries = table.filter(pl.col("retrieved").is_not_null() & (pl.col(NUMBER) >= 0))
    of_documents = table.filter(pl.col("rank").is_not_null())
    retrieved = np.zeros(len(qrels.query_ids), np.int64)
    in_run = np.zeros(len(qrels.query_ids), bool)
    numbers = of_queries[NUMBER].to_numpy()
    retrieved[numbers], in_run[numbers] = of_queries["retrieved"].to_numpy(), True
    query = of_documents[NUMBER].to_numpy()
    order = np.lexsort((of_documents["rank"].to_numpy(), query))
    rank, relevance, tie_first, tie_size = (
        of_documents[name].to_numpy()[order] for name in _OF_DOCUMENTS
    )
    return Rankings(
        qrels.query_ids, in_run, retrieved, query[order], rank, relevance, tie_first, tie_size,
        qrels.query, qrels.relevance, qrels.highest,
    )  # fmt: skip


_NARROW = "in_32_bits"
_PLACES: Schema = {"query_id": pl.String, **COLUMNS, _NARROW: pl.Int64}
"""``in_32_bits`` is 1 in the ranking by 32-bit scores, which is included if it differs."""


def evaluate_on(
    engine: Engine,
    qrels: Any,
    runs: Sequence[str | Path],
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    settings: Settings = TREC_EVAL,
) -> Evaluation:
    """Score runs that the engine reads: TREC or KBA text or Parquet, in files or folders.

    This machine reads the judgements and sends them to the workers. Only the ranks of judged
    documents come back, so the memory of this machine does not grow with the run.
    """
    judged, chosen = as_qrels(qrels), tuple(parse_measures(measures))
    paths = list(map(str, runs))
    names = distinct_names(list(map(Path, paths)))
    ready = prepare(judged)
    matched = (
        _matched(engine, ready, path, name, settings.score_type)
        for path, name in zip(paths, names, strict=True)
    )
    scores = tuple(score_aligned(judged.name, each, chosen, settings) for each in matched)
    return Evaluation(judged.name, chosen, scores, judged.source, judged.notes)


def _matched(
    engine: Engine, judged: SortedQrels, path: str, name: str, score_type: ScoreType
) -> AlignedRun:
    """Match a run that the engine reads with the qrels."""
    rows = run_rows(engine, path)
    table = rows.by_query(_placing(judged, score_type), _PLACES, group_by_query)
    table, narrow = (table.filter(pl.col(_NARROW) == flag) for flag in (0, 1))
    queries = table["query_id"].drop_nulls().sort()
    in_32_bits = rankings_of(judged, narrow) if narrow.height else None
    return AlignedRun(name, rows.text.tag, queries, rankings_of(judged, table), in_32_bits)


def _placing(judged: SortedQrels, score_type: ScoreType) -> Part:
    data = pack_broadcast(judged)

    def place(run: Run) -> pl.DataFrame:
        (known,) = unpack_broadcast(data)
        ranked = rank(run, score_type)
        check_repeated_documents(ranked)
        narrow = None if score_type == "float" else rank_in_32_bits(run, ranked)
        both = [ranked] if narrow is None else [ranked, narrow]
        return pl.concat(placed(known, each, flag) for flag, each in enumerate(both))

    def placed(known: SortedQrels, ranked: Ranked, flag: int) -> pl.DataFrame:
        """Return a row per query with its number of documents, and one per judged document."""
        numbers = encode_values(ranked.query_ids, known.query_ids)
        found = match(known, ranked)
        of_queries = pl.DataFrame(
            {NUMBER: numbers, "retrieved": ranked.lengths, "query_id": ranked.query_ids}
        )
        own = {column: getattr(found, column) for column in _OF_DOCUMENTS}
        of_documents = pl.DataFrame({NUMBER: found.query, **own})
        both = pl.concat([of_queries, of_documents], how="diagonal")
        return both.with_columns(pl.lit(flag, pl.Int64).alias(_NARROW))

    return place


def runs_on(engine: Engine, runs: Sequence[str | Path]) -> list[RunSource]:
    """Runs that the engine reads, for `citebed.timeline`."""
    paths = list(map(str, runs))
    names = distinct_names(list(map(Path, paths)))
    pairs = zip(names, paths, strict=True)
    read: Any = [partial(_Elsewhere, engine, *pair) for pair in pairs]
    return list(map(RunSource, names, read))


class _Elsewhere:
    """A run that the engine reads."""

    def __init__(self, engine: Engine, name: str, path: str) -> None:
        self.name, self._rows = name, run_rows(engine, path)
        self.team = self._rows.text.team

    def scored(self, how: Scoring) -> Scored:
        """Return the scores of the run; workers send only partial scores."""
        first = how.pairs.qrels.first()
        rest = how._replace(pairs=replace(how.pairs, qrels=first, pair_qrels=first))
        data = pack_broadcast(how.pairs.pair_qrels, rest)
        table = self._rows.by_query(lambda run: part_rows(run, _arrived(data)), {}, *how.groupings)
        return together(self.name, table, how)


@lru_cache(2)
def _arrived(data: bytes) -> Scoring:
    """On a worker: unpack the broadcast scoring, ready for parts."""
    pair_qrels, rest = unpack_broadcast(data)
    how: Scoring = rest._replace(pairs=replace(rest.pairs, pair_qrels=pair_qrels))
    return how.for_parts()
