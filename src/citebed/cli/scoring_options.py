"""Options that the verbs of evaluating share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from citebed.evaluation.scoring import Settings
    from citebed.evaluation.summaries import Resampling


class ScoreType(StrEnum):
    """How exactly scores are compared."""

    double = "double"
    float = "float"


class TableFormat(StrEnum):
    """How a table is written."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"


QrelsFile = Annotated[
    Path, typer.Argument(help="The judgements: a TREC qrels file or Parquet.", metavar="QRELS")
]
RunFiles = Annotated[
    list[Path], typer.Argument(help="Runs: TREC files, gzip or not, or Parquet.", metavar="RUN…")
]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", help="A measure, e.g. nDCG@10; may be repeated."),
]
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
    float, typer.Option("--level", min=0.5, max=0.9999, help="The level of the intervals.")
]


def settings_of(complete: bool, scores: ScoreType) -> Settings:
    """How runs are scored."""
    from citebed.evaluation.scoring import Settings

    return Settings(complete=complete, score_type=scores.value)


def resampling_of(
    qrels: Path,
    cluster: str | None,
    queries: Path | None,
    samples: int | None,
    seed: int,
    level: float,
) -> Resampling:
    """How intervals and randomised tests draw."""
    from citebed.evaluation.clusters import read_clusters
    from citebed.evaluation.summaries import Resampling

    clusters = read_clusters(cluster, queries, qrels) if cluster else None
    return Resampling(samples=samples, seed=seed, level=level, clusters=clusters)


def style_of(format: StrEnum, as_json: bool, as_csv: bool) -> str:
    """How to print it: --json and --csv are short for a format."""
    return "json" if as_json else "csv" if as_csv else format.value
