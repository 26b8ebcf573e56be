"""Evaluating on an engine: runs of any size, scored as on one machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from citebed.distributed.arrow import ERROR, Schema, brought
from citebed.distributed.places import COLUMNS, places, rankings_of
from citebed.distributed.run_rows import Part, run_rows
from citebed.distributed.sessions import Engine
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.measures.rankings import match
from citebed.evaluation.scoring.evaluating import DEFAULT_MEASURES, Evaluation
from citebed.evaluation.scoring.run_scores import TREC_EVAL, Matched, Settings, score_matched
from citebed.runs.ranking import ScoreType, SortedQrels, check_twice, codes_of, prepare, rank
from citebed.runs.reading import as_qrels, distinct_names
from citebed.runs.tables import Qrels, Run

_PLACES: Schema = {"query_id": pl.String, **COLUMNS, ERROR: pl.String}


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
    matched = (
        _matched(engine, judged, path, name, settings.score_type)
        for path, name in zip(paths, names, strict=True)
    )
    scores = tuple(score_matched(judged.name, each, chosen, settings) for each in matched)
    return Evaluation(judged.name, chosen, scores, judged.source, judged.notes)


def _matched(engine: Engine, qrels: Qrels, path: str, name: str, score_type: ScoreType) -> Matched:
    """A run that the engine reads, laid beside the judgements."""
    rows = run_rows(engine, path)
    table = brought(rows.by_query(_placing(qrels, score_type), _PLACES))
    judged = prepare(qrels)
    rankings = rankings_of(judged, table, lambda of: codes_of(of["query_id"], judged.query_ids))
    queries = table.filter(pl.col("retrieved").is_not_null())["query_id"].sort()
    return Matched(name, rows.tag, queries, rankings)


def _placing(qrels: Qrels, score_type: ScoreType) -> Part:
    data = qrels.table.write_ipc(None).getvalue()

    def place(run: Run) -> pl.DataFrame:
        ranked = rank(run, score_type)
        check_twice(ranked)
        found = match(_in_order(data), ranked)
        return places("query_id", ranked.query_ids, ranked.lengths, found)

    return place


@cache
def _in_order(data: bytes) -> SortedQrels:
    """The judgements in order: once in each worker."""
    return prepare(Qrels(pl.read_ipc(data)))
