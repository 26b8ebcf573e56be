"""Options that the evaluation commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from citebed.cli.output import a_number, needs

if TYPE_CHECKING:
    from citebed.evaluation.scoring.run_scores import Settings


DEBUG = "CITEBED_DEBUG"


def debugged(context: typer.Context, wanted: bool) -> bool:
    """While the command runs, show all log messages."""
    if wanted:
        before = {DEBUG: os.environ[DEBUG]} if DEBUG in os.environ else {}
        os.environ[DEBUG] = "1"
        context.call_on_close(lambda: os.environ.pop(DEBUG) and os.environ.update(before))
    return wanted


ScoreType = Literal["double", "float"]
TableFormat = Literal["table", "json", "csv", "markdown", "latex"]
QrelsFile = Annotated[
    Path, typer.Argument(help="Judgements: TREC or KBA qrels, or Parquet.", metavar="QRELS")
]
RunFiles = Annotated[
    list[Path],
    typer.Argument(help="Runs in TREC or KBA format (.gz allowed), or Parquet.", metavar="RUN…"),
]
RunSources = Annotated[
    list[str],
    typer.Argument(
        help="Runs in TREC or KBA format (.gz allowed), or Parquet; with --on, any path that "
        "Spark reads.",
        metavar="RUN…",
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        is_eager=True,
        help="Run on Spark: local, sc://host:15002 (Spark Connect), or a Spark master URL.",
        show_default=False,
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option(help="Spark setting key=value for --on (repeatable).", callback=needs("on")),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Show full Spark logs and tracebacks (same as CITEBED_DEBUG=1).",
        callback=debugged,
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", help="Measure, e.g. nDCG@10 (repeatable)."),
]
PerQuery = Annotated[bool, typer.Option("--per-query", "-q", help="Also print per-query scores.")]
Intervals = Annotated[
    bool, typer.Option("--intervals/--no-intervals", help="Print bootstrap intervals of the means.")
]
Relevant = Annotated[int, typer.Option(help="Lowest relevant grade.")]
QrelsFiles = Annotated[list[Path], typer.Argument(help="Judgement sets.", metavar="QRELS…")]
Complete = Annotated[
    bool,
    typer.Option(
        "--complete",
        "-c",
        help="Average over all judged queries; a query missing from the run scores 0.",
    ),
]
Scores = Annotated[
    ScoreType, typer.Option("--scores", help="Scores as double (trec_eval 10) or float (9).")
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Clusters of queries: 'paper' (a field of the queries), or a file of lines 'query_id "
        "cluster'.",
    ),
]
Queries = Annotated[
    Path | None, typer.Option("--queries", help="Queries (JSON Lines) for --cluster.")
]
Samples = Annotated[
    int | None, typer.Option("--samples", min=100, help="Number of resamples (default 10,000).")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]
Level = Annotated[
    float,
    typer.Option(
        "--level", min=0.5, max=0.9999, callback=a_number, help="Confidence level, e.g. 0.95."
    ),
]
Baseline = Annotated[
    str | None, typer.Option(help="Baseline run for comparisons (default: compare all pairs).")
]
Test = Annotated[
    str, typer.Option(help="Test, paired by query: t, permutation, wilcoxon, sign or bootstrap.")
]
Correct = Annotated[
    str,
    typer.Option(help="Correction for multiple comparisons: none, bonferroni, holm, bh or tukey."),
]
Alpha = Annotated[float, typer.Option(help="Significance level for p-values.")]
Format = Annotated[
    TableFormat | None, typer.Option("--format", help="Output format (default: table).")
]


def settings_of(complete: bool, scores: ScoreType) -> Settings:
    """Options for scoring runs."""
    from citebed.evaluation.scoring.run_scores import Settings

    return Settings(complete=complete, score_type=scores)
