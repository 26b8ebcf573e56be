"""Evaluating on an engine: runs of any size, scored as on one machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from citebed.distributed.runs import match_on
from citebed.distributed.sessions import Engine
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.scoring.evaluating import DEFAULT_MEASURES, Evaluation
from citebed.evaluation.scoring.run_scores import TREC_EVAL, Settings, score_matched
from citebed.runs.reading import as_qrels, distinct_names


def evaluate_on(
    engine: Engine,
    qrels: Any,
    runs: Sequence[str | Path],
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    settings: Settings = TREC_EVAL,
) -> Evaluation:
    """Score runs that the engine reads: text of TREC's form or Parquet, files or folders of them.

    The judgements are read here and travel to the workers; of a run only the places of judged
    documents come back, so that the memory of this machine does not grow with it.
    """
    judged, chosen = as_qrels(qrels), tuple(parse_measures(measures))
    paths = list(map(str, runs))
    names = distinct_names(list(map(Path, paths)))
    matched = (
        match_on(engine, judged, path, name, settings.score_type)
        for path, name in zip(paths, names, strict=True)
    )
    scores = tuple(score_matched(judged.name, each, chosen, settings) for each in matched)
    return Evaluation(judged.name, chosen, scores, judged.source, judged.notes)
