"""Paired tests between systems over a stream, by the tests of `citebed.evaluation`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from citebed.evaluation.scoring.comparison import Comparison, Comparisons, Design, compare_scores
from citebed.evaluation.scoring.run_scores import Resampling
from citebed.timeline.scoring.stream_scores import StreamScores


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
