"""Options that the verbs of evaluating share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from citebed.cli.output import a_number

if TYPE_CHECKING:
    from citebed.evaluation.scoring.run_scores import Settings


DEBUG = "CITEBED_DEBUG"


def debugged(context: typer.Context, wanted: bool) -> bool:
    """While the command runs, all that is told is wanted."""
    if wanted:
        before = {DEBUG: os.environ[DEBUG]} if DEBUG in os.environ else {}
        os.environ[DEBUG] = "1"
        context.call_on_close(lambda: os.environ.pop(DEBUG) and os.environ.update(before))
    return wanted


ScoreType = Literal["double", "float"]
TableFormat = Literal["table", "json", "csv", "markdown", "latex"]
QrelsFile = Annotated[
    Path, typer.Argument(help="The judgements: TREC qrels, KBA's, or Parquet.", metavar="QRELS")
]
RunFiles = Annotated[
    list[Path],
    typer.Argument(help="Runs: TREC's or KBA's, gzip or not, or Parquet.", metavar="RUN…"),
]
RunSources = Annotated[
    list[str],
    typer.Argument(
        help="Runs: TREC's or KBA's, gzip or not, or Parquet; with --on whatever the engine reads.",
        metavar="RUN…",
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        help="Work on an engine: local, sc://host:15002 (Spark Connect), or a master of Spark's.",
        show_default=False,
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option(help="A setting of Spark's for --on, key=value; may be repeated."),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Show all that the engine of --on says; as CITEBED_DEBUG=1 in the environment.",
        callback=debugged,
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", help="A measure, e.g. nDCG@10; may be repeated."),
]
PerQuery = Annotated[bool, typer.Option("--per-query", "-q", help="Every query's scores too.")]
Intervals = Annotated[
    bool, typer.Option("--intervals/--no-intervals", help="Bootstrap intervals of the means.")
]
Relevant = Annotated[int, typer.Option(help="The lowest grade that is relevant.")]
QrelsFiles = Annotated[list[Path], typer.Argument(help="Sets of judgements.", metavar="QRELS…")]
Complete = Annotated[
    bool,
    typer.Option(
        "--complete", "-c", help="Average over all judged queries; one the run lacks counts 0."
    ),
]
Scores = Annotated[
    ScoreType, typer.Option("--scores", help="Scores as double (trec_eval 10) or float (9).")
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Queries that belong together: 'paper' (a field of the queries), or a file of "
        "lines 'query_id cluster'.",
    ),
]
Queries = Annotated[
    Path | None, typer.Option("--queries", help="The queries (JSON Lines), for --cluster.")
]
Samples = Annotated[
    int | None, typer.Option("--samples", min=100, help="Resamples (default 10,000).")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The seed of what is drawn at random.")]
Level = Annotated[
    float,
    typer.Option(
        "--level", min=0.5, max=0.9999, callback=a_number, help="The level of the intervals."
    ),
]
Baseline = Annotated[
    str | None, typer.Option(help="The run that the others are compared with (else all pairs).")
]
Test = Annotated[
    str, typer.Option(help="t, permutation, wilcoxon, sign or bootstrap, paired by query.")
]
Correct = Annotated[
    str, typer.Option(help="For many comparisons: none, bonferroni, holm, bh or tukey.")
]
Alpha = Annotated[float, typer.Option(help="A p-value below this is significant.")]
Format = Annotated[
    TableFormat | None, typer.Option("--format", help="How to print it (else as a table).")
]


def settings_of(complete: bool, scores: ScoreType) -> Settings:
    """How runs are scored."""
    from citebed.evaluation.scoring.run_scores import Settings

    return Settings(complete=complete, score_type=scores)
