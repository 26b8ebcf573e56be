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
from citebed.evaluation.scoring.evaluating import DEFAULT_MEASURES, Evaluation
from citebed.evaluation.scoring.run_scores import TREC_EVAL, Matched, Settings, score_matched
from citebed.runs.ranking import ScoreType, SortedQrels, check_twice, codes_of, prepare, rank
from citebed.runs.reading import as_qrels, distinct_names
from citebed.runs.tables import Run
from citebed.runs.texts import queries_of

_PLACES: Schema = {"query_id": pl.String, **COLUMNS}


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
    scores = tuple(score_matched(judged.name, each, chosen, settings) for each in matched)
    return Evaluation(judged.name, chosen, scores, judged.source, judged.notes)


def _matched(
    engine: Engine, judged: SortedQrels, path: str, name: str, score_type: ScoreType
) -> Matched:
    """A run that the engine reads, laid beside the judgements."""
    rows = run_rows(engine, path)
    table = rows.by_query(_placing(judged, score_type), _PLACES, queries_of)
    queries = table["query_id"].drop_nulls().sort()
    return Matched(name, rows.text.tag, queries, rankings_of(judged, table))


def _placing(judged: SortedQrels, score_type: ScoreType) -> Part:
    data = Carried(judged)

    def place(run: Run) -> pl.DataFrame:
        (known,) = arrived(data)
        ranked = rank(run, score_type)
        check_twice(ranked)
        numbers = codes_of(ranked.query_ids, known.query_ids)
        names = {"query_id": ranked.query_ids}
        return places(numbers, ranked.lengths, match(known, ranked), names)

    return place
