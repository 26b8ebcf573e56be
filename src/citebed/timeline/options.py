"""Options of a timeline, shared by the command line and Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from citebed.errors import CitebedError
from citebed.evaluation.options import TREC_EVAL, Resampling, Settings
from citebed.options import option

if TYPE_CHECKING:
    from citebed.evaluation.measures import Measure
else:
    Measure = Any

TIMES = "Document times: lines 'doc_id time', a stream (JSON Lines), or a collection."
UTC = "Treat times without a time zone as UTC."
ASSESSORS = (
    "How to combine several judgements of a pair: any-dissent-negative, any, majority or max."
)


@dataclass(frozen=True, kw_only=True)
class TimelineOptions:
    """Options of a timeline.

    ``slices`` is a length such as ``7d`` or another slicing (`parse_slicing`) from ``start`` to
    ``end``; by default citebed chooses a length that fits. ``weight`` is uniform, burst or
    recency:30d, or several of them. Document ids start with an epoch second; otherwise pass
    ``times``: a file, a table of ``doc_id`` and ``time``, or an open collection. Documents with
    grade ``rel`` or higher are relevant. Only measures with gains distinguish higher grades; with
    ``graded=True`` all measures do, with ``False`` none. ``teams`` keeps the best run of each team,
    by the first measure over the whole stream, and drops teams whose best run scores 0. Teams are
    named in KBA runs, or pass a mapping or file from run to team; ``slices`` is then ``all`` by
    default. Intervals and tests resample ``units``: ``queries``, ``both`` queries and slices, or
    None. ``focus`` is a query to show in figures.
    """

    slices: str | None = None
    weight: str | Sequence[str] = option(
        "uniform",
        "How slices count in the mean: uniform, burst (by their relevant documents) or recency:30d "
        "(the weight halves with every 30 days of age). Repeatable.",
        "--weight",
        "-w",
        kind=tuple[str, ...],
    )
    measures: str | Measure | Sequence[str | Measure] = option(
        (), "Measure (default AP, nDCG@R, Rprec).", "--measure", "-m", kind=tuple[str, ...]
    )
    start: str | None = option(
        None,
        "Start of the slices (default: UTC midnight before the first judged document).",
        "--from",
    )
    end: str | None = option(
        None, "End of the slices (default: after the last judged document).", "--to"
    )
    times: Any = option(None, TIMES, kind=Path | None)
    utc: bool = option(False, UTC)
    assessors: str = option("any-dissent-negative", ASSESSORS)
    rel: int = option(1, "Lowest relevant grade.", min=1)
    graded: bool | None = option(
        None,
        "Use grades (default for ERR and nDCG(dcg=exp-log2)), or treat relevant documents alike "
        "(default for other measures, as in Dietz, Dalton & Balog 2013).",
        "--graded/--binary",
    )
    threshold: float | None = option(None, "Score threshold for SetP, SetR, SetF and SU.")
    teams: bool | str | Path | Mapping[str, str] = False
    units: Literal["queries", "both"] | None = "queries"
    samples: int | None = option(
        None, "Number of resamples (default 10,000; for trends 1,000).", min=100
    )
    alpha: float = option(0.05, "Significance level for p-values.", min=0, max=1)
    level: float = option(0.95, "Confidence level, e.g. 0.95.", min=0.5, max=0.9999)
    seed: int = option(0, "Random seed.", min=0)
    focus: str | None = option(
        None, "Query to plot next to the average (default: the query with the strongest burst)."
    )

    def __post_init__(self) -> None:
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise CitebedError(f"the threshold {self.threshold} is not a number.")


@dataclass(frozen=True, kw_only=True)
class SnapshotOptions:
    """Options of scores in snapshots.

    Other runs are compared with the ``pivot`` within each snapshot. ``systems`` are folders that
    have a folder with a run for each snapshot, as LongEval collects runs. ``judgements`` names the
    judgement set to use if snapshots have several. With ``shared``, only queries that all
    snapshots judge count.
    """

    measures: str | Measure | Sequence[str | Measure] = option(
        "nDCG@10", "Measure (default nDCG@10; repeatable).", "--measure", "-m", kind=tuple[str, ...]
    )
    pivot: str | None = option(
        None, "Run to compare the other runs with in each snapshot, e.g. a BM25 baseline."
    )
    systems: tuple[Path, ...] = option(
        (), "Folder of a system with a folder per snapshot that has its run (repeatable).",
        "--system",
    )  # fmt: skip
    judgements: str | None = option(
        None, "Judgement set, if a snapshot has several, e.g. paragraphs.", "--qrels"
    )
    shared: bool = option(False, "Score only the queries that all snapshots judge.", "--shared")
    settings: Settings = TREC_EVAL
    resampling: Resampling = field(default_factory=Resampling)
