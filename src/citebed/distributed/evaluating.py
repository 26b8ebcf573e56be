"""Evaluating on an engine: runs of any size, scored as on one machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from citebed.distributed.arrow import Schema
from citebed.distributed.places import COLUMNS, Carried, arrived, places, rankings_of
from citebed.distributed.run_rows import Part, run_rows
from citebed.distributed.sessions import Engine
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.measures.rankings import match
from citebed.evaluation.scoring.evaluation import DEFAULT_MEASURES, Evaluation
from citebed.evaluation.scoring.run_scores import TREC_EVAL, AlignedRun, Settings, score_aligned
from citebed.runs.ranking import (
    Ranked,
    ScoreType,
    SortedQrels,
    check_repeated_documents,
    encode_values,
    prepare,
    rank,
    rank_in_32_bits,
)
from citebed.runs.reader import as_qrels, distinct_names
from citebed.runs.tables import Run
from citebed.runs.texts import group_by_query

_NARROW = "in_32_bits"
_PLACES: Schema = {"query_id": pl.String, **COLUMNS, _NARROW: pl.Int64}
"""``in_32_bits`` is 1 in rows of a ranking by scores of 32 bits, where these make another."""


def evaluate_on(
    engine: Engine,
    qrels: Any,
    runs: Sequence[str | Path],
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    settings: Settings = TREC_EVAL,
) -> Evaluation:
    """Score runs that the engine reads: TREC's or KBA's text, or Parquet, files or folders of them.

    The judgements are read here and travel to the workers; of a run only the places of judged
    documents come back, so that the memory of this machine does not grow with it.
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
    """A run that the engine reads, laid beside the judgements."""
    rows = run_rows(engine, path)
    table = rows.by_query(_placing(judged, score_type), _PLACES, group_by_query)
    table, narrow = (table.filter(pl.col(_NARROW) == flag) for flag in (0, 1))
    queries = table["query_id"].drop_nulls().sort()
    in_32_bits = rankings_of(judged, narrow) if narrow.height else None
    return AlignedRun(name, rows.text.tag, queries, rankings_of(judged, table), in_32_bits)


def _placing(judged: SortedQrels, score_type: ScoreType) -> Part:
    data = Carried(judged)

    def place(run: Run) -> pl.DataFrame:
        (known,) = arrived(data)
        ranked = rank(run, score_type)
        check_repeated_documents(ranked)
        narrow = None if score_type == "float" else rank_in_32_bits(run, ranked)
        both = [ranked] if narrow is None else [ranked, narrow]
        return pl.concat(placed(known, each, flag) for flag, each in enumerate(both))

    def placed(known: SortedQrels, ranked: Ranked, flag: int) -> pl.DataFrame:
        numbers = encode_values(ranked.query_ids, known.query_ids)
        names = {"query_id": ranked.query_ids}
        found = places(numbers, ranked.lengths, match(known, ranked), names)
        return found.with_columns(pl.lit(flag, pl.Int64).alias(_NARROW))

    return place
