"""The command ``report``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli import scoring_options as options
from citebed.cli.output import check_page, typed
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.evaluation.scoring.study import Study


def report(
    context: typer.Context,
    qrels: options.QrelsFile,
    runs: options.RunFiles,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output HTML file.")] = Path(
        "report.html"
    ),
    measures: options.Measures = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Baseline run for comparisons (default: the first run)."),
    ] = None,
    test: options.Test = "t",
    correct: Annotated[
        str,
        typer.Option(
            help="Correction for multiple comparisons: none, bonferroni, holm, bh or "
            "tukey (all pairs)."
        ),
    ] = "none",
    alpha: options.Alpha = 0.05,
    complete: options.Complete = False,
    scores: options.Scores = "double",
    cluster: options.Cluster = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            help="Queries (JSON Lines) for texts and --cluster (default: those next to the "
            "judgements).",
        ),
    ] = None,
    collection: Annotated[
        Path | None,
        typer.Option(
            "--collection",
            help="Collection for document titles (default: the collection that contains the "
            "judgements).",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", help="Also save the figures as SVG files in this folder."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    samples: options.Samples = None,
    seed: options.Seed = 0,
    level: options.Level = 0.95,
) -> None:
    """Write an evaluation report as one HTML page: tables, interval plots, every query, coverage.

    The page is a single file that loads nothing from the network. For any two runs it shows the
    differences per query and, for a chosen query, its text and both rankings side by side. Query
    texts and titles come from the collection that contains the judgements, or from --queries and
    --collection.

    Example: citebed report acm-cr/qrels/sentences.qrels *.run -m nDCG@10 -o report.html
    """
    from citebed.evaluation.scoring.comparison import Design
    from citebed.evaluation.scoring.evaluation import DEFAULT_MEASURES
    from citebed.evaluation.scoring.run_scores import make_resampling
    from citebed.evaluation.scoring.study import Plan
    from citebed.evaluation.scoring.study import study as make_study
    from citebed.files.output_files import write_file
    from citebed.report.evaluation_page import Front, evaluation_page, texts_beside, titles_around

    read = [qrels, *runs, *([queries] if queries else []), *([Path(cluster)] if cluster else [])]
    check_page(output, {os.path.realpath(path) for path in read})
    base = _baseline(baseline, runs, correct)
    plan = Plan(
        measures=measures or DEFAULT_MEASURES,
        settings=options.settings_of(complete, scores),
        design=Design(baseline=base, test=test, correction=correct, alpha=alpha),
        resampling=make_resampling(cluster, qrels, queries, samples, seed, level),
    )
    texts, titles = texts_beside(qrels, queries), titles_around(qrels, collection)
    study = make_study(qrels, runs, plan)
    front = Front(
        title=title or f"{study.qrels.name}: {count(len(runs), 'run')}",
        command=typed(context),
        texts=texts,
        titles=titles,
    )
    page = evaluation_page(study, front)
    drawn = _draw(study, figures) if figures else 0
    write_file(output, printable(page))
    _say(study, output, figures, drawn)


def _baseline(baseline: str | None, runs: Sequence[Path], correct: str) -> str | None:
    """Return the baseline's name (default: the first run), or ``None`` for tests of all pairs."""
    from citebed.runs.reader import find_run_name

    if baseline is None and correct == "tukey":
        return None
    return find_run_name(baseline or str(runs[0]), runs)


def _draw(study: Study, folder: Path) -> int:
    from citebed.report.evaluation_figures import evaluation_figures
    from citebed.report.figure_style import write_files

    files = evaluation_figures(study.evaluation.runs, study.summaries, study.plan.design.baseline)
    return len(write_files(folder, files.items()))


def _say(study: Study, output: Path, figures: Path | None, drawn: int) -> None:
    for scores in study.evaluation.runs:
        for note in scores.ledger.notes():
            typer.echo(f"note: {scores.run}: {note}", err=True)
    typer.echo(
        f"{printable(output)}: {count(len(study.runs), 'run')}, "
        f"{count(len(study.qrels.query_ids), 'judged query', 'judged queries')}, "
        f"{output.stat().st_size / 1e6:.1f} MB"
    )
    if figures:
        typer.echo(f"{printable(figures)}: {count(drawn, 'figure')}")
