"""Compare systems over a stream: paired tests, and means by kind of query.

The kinds follow Jones & Diaz: by the times of a query's relevant documents, *atemporal* queries
have no episode, *unambiguous* queries one, *ambiguous* queries several. An episode is a burst of
relevant documents by Kleinberg's automaton (`bursting`), one of their features. Queries with fewer
than five relevant documents are not classified (*few*).
Jones & Diaz, Temporal Profiles of Queries, ACM TOIS 25(3), 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from citebed.evaluation.options import Design, Resampling
from citebed.evaluation.scoring.comparison import Comparison, Comparisons, compare_scores
from citebed.runs.tables import Ints
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.slices import bursting


@dataclass(frozen=True)
class StreamComparison(Comparison):
    """A comparison of two runs under one measure and ``weight``.

    ``slices`` counts the slices with relevant documents; ``units`` were resampled.
    """

    weight: str
    units: str
    slices: int

    @property
    def named(self) -> StreamComparison:
        """This comparison with the weighting in the measure's name, for tables."""
        return replace(self, measure=f"{self.measure}, {self.weight}")


def compare_streams(
    runs: Sequence[StreamScores],
    weights: Sequence[str],
    design: Design | None = None,
    units: str = "queries",
    resampling: Resampling | None = None,
) -> Comparisons[StreamComparison]:
    """Compare runs over a stream with a baseline, or all pairs, under each weighting.

    Corrections are over the comparisons under one measure and weighting.
    """
    slices = runs[0].pairs.slices_scored
    return Comparisons(
        StreamComparison(**vars(of), weight=weight, units=units, slices=slices)
        for weight in weights
        for of in compare_scores(
            [scores.query_scores(weight, units) for scores in runs],
            design or Design(),
            resampling or Resampling(),
        )
    )


ATEMPORAL, UNAMBIGUOUS, AMBIGUOUS, FEW = KINDS = ("atemporal", "unambiguous", "ambiguous", "few")
FEWEST = 5
"""The smallest number of relevant documents of a classified query."""


def query_kinds(pairs: TopicSlices) -> pl.DataFrame:
    """Classify each query with relevant documents: ``query_id, kind, episodes, relevant``.

    The time considered is that from the start of the first slice to the end of the stream.
    """
    judged, times = pairs.qrels, pairs.qrels.times
    relevant = (judged.relevance > 0) & (pairs.slices.slice_index(times) >= 0)
    ends = int(pairs.slices.bounds[0]), int(pairs.slices.filled[-1])
    rows = []
    for number, name in zip(pairs.queries.tolist(), pairs.query_ids, strict=True):
        of_query = np.sort(times[relevant & (judged.query == number)])
        number_of = episodes(of_query, *ends)
        rows.append((name, _kind(len(of_query), number_of), number_of, len(of_query)))
    columns = {"query_id": pl.String, "kind": pl.String, "episodes": pl.Int32, "relevant": pl.Int32}
    return pl.DataFrame(rows, schema=columns, orient="row")


def episodes(times: Ints, start: int, end: int) -> int:
    """Count the bursts of documents, given their times in order."""
    if len(times) < FEWEST:
        return 0
    busy = np.concatenate(([False], bursting(times, start, end)))
    return int((busy[1:] & ~busy[:-1]).sum())


def _kind(relevant: int, bursts: int) -> str:
    return FEW if relevant < FEWEST else (ATEMPORAL, UNAMBIGUOUS, AMBIGUOUS)[min(bursts, 2)]


def scores_by_kind(
    runs: Sequence[StreamScores], weights: Sequence[str], kinds: pl.DataFrame
) -> pl.DataFrame:
    """Return one row per run, measure, weighting and kind: the mean over queries of that kind."""
    rows = []
    for scores in runs:
        for measure in scores.measures:
            for weight in weights:
                values = kinds.with_columns(value=pl.Series(scores.by_query(measure, weight)))
                for kind in KINDS:
                    of_kind = values.filter(kind=kind)["value"]
                    if len(of_kind):
                        name = scores.run, str(measure), weight, kind
                        rows.append((*name, len(of_kind), of_kind.mean()))
    names = ["run", "measure", "weight", "kind", "queries", "value"]
    return pl.DataFrame(rows, schema=names, orient="row")
