"""The commands ``evaluate``, ``compare``, ``measures``, ``report`` and ``trec_eval``."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from citebed.cli.options import (
    Measures,
    QrelsFile,
    RunFiles,
    RunSources,
    SparkOptions,
    TableFormat,
    TableOptions,
    typed,
)
from citebed.cli.output import check_page, print_lines, print_rows
from citebed.errors import CitebedError
from citebed.evaluation.options import DEFAULT_MEASURES, Design, Plan, Resampling, Settings
from citebed.options import argument, option, without
from citebed.wording import count, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from citebed.evaluation.measures import Measure
    from citebed.evaluation.scoring.evaluation import Evaluation
    from citebed.runs.tables import Run

PER_QUERY = "Also print per-query scores."


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(TableOptions):
    """The output of ``evaluate``."""

    per_query: bool = option(False, PER_QUERY, "-q")
    relevance_level: int | None = option(
        None, "Lowest relevant grade, for measures without their own rel= parameter.", "-l", min=0
    )
    judged_only: bool = option(False, "Remove unjudged documents before scoring.", "-J")
    intervals: bool = option(
        True, "Print bootstrap intervals of the means.", "--intervals/--no-intervals"
    )
    ledger: bool = option(
        False,
        "Print coverage instead of scores: judged queries, missing queries, unjudged documents, "
        "ties.",
    )
    machine: Path | None = option(
        None,
        "A machine's judgements of the whole pool. QRELS are a few human ones, and scores are "
        "corrected with both.",
    )
    plan: Path | None = option(
        None,
        "Plan by which people judged (default: they judged randomly drawn queries wholly).",
        needs="machine",
    )
    baseline: str | None = option(
        None, "Also print corrected differences from this run.", needs="machine"
    )
    generalise: bool = option(
        False,
        "Intervals about queries like these, not only about these.",
        "--generalise",
        needs="machine",
    )
    format: Literal[TableFormat, "trec_eval"] | None = option(  # type: ignore[assignment]
        None, "Output format (default: table)."
    )


def evaluate(
    qrels: QrelsFile,
    runs: RunSources,
    options: EvaluateOptions,
    settings: Settings,
    resampling: Resampling,
    spark: SparkOptions,
    measures: Measures = None,
) -> None:
    """Score runs against judgements: means, confidence intervals and coverage.

    Scores equal trec_eval's. By default, the measures are nDCG@10, R@10, AP and RR. Others are P@k,
    Rprec, Bpref, GMAP, infAP, Success@k, RBP(p=0.8), ERR@k, Judged@k, SetP, SetR, SetF, SU and AUC,
    with parameters as in AP(rel=2) or nDCG(judged_only=True)@10; trec_eval's names work too.

    With --machine, people judged only a few documents and a machine all of them; citebed prints the
    corrected score beside the human-only and the machine-only one.

    Example: citebed evaluate paragraphs.qrels *.run -m nDCG@10 -m R@10
    """
    from citebed.runs.reader import read_runs

    style = options.style
    if spark.on is None:
        begun = read_runs(list(map(Path, runs)))  # while the rest of the program loads

    from citebed.evaluation.scoring.evaluation import evaluate as evaluate_runs

    if options.ledger and style not in ("table", "json", "csv"):
        raise CitebedError(f"--ledger prints JSON or CSV only, not {style}.")
    switches: dict[str, Any] = {"judged_only": True} if options.judged_only else {}
    if options.relevance_level is not None:
        switches["rel"] = options.relevance_level
    chosen = _parse_measures(measures, style, switches)
    drawn = resampling.with_clusters(qrels)
    if options.machine is not None:
        if spark.on is not None or options.ledger or options.per_query or style == "trec_eval":
            raise CitebedError(
                "--machine prints corrected means only, and runs on this machine: leave out --on, "
                "--ledger, --per-query and --format trec_eval."
            )
        paths = list(map(Path, runs))
        _print_corrected(qrels, paths, begun, chosen, options, settings, drawn)
        return
    if spark.on is None:
        evaluation = evaluate_runs(qrels, begun, chosen, settings)
    else:
        with spark.engine() as there:
            evaluation = there.evaluate(qrels, runs, chosen, settings)
    shown = drawn if options.intervals else None
    if style == "trec_eval":
        from citebed.report.evaluation_tables import trec_eval_text

        for scores in evaluation.runs:
            sys.stdout.write(trec_eval_text(scores, options.per_query, switches))
    elif options.ledger:
        print_rows([row for scores in evaluation.runs for row in scores.ledger.rows()], style)
    elif style in ("json", "csv"):
        print_rows(evaluation.rows(shown, per_query=options.per_query), style)
    else:
        _print_tables(evaluation, shown, style, options.per_query)
    _print_notes(evaluation, "csv" if options.ledger else style)


def _print_corrected(
    qrels: Path, paths: list[Path], runs: Iterator[Run], measures: list[Measure],
    options: EvaluateOptions, settings: Settings, resampling: Resampling,
) -> None:  # fmt: skip
    """Print scores that a few human judgements correct."""
    from citebed.evaluation.scoring.machine import MachineOptions, evaluate_with_machine
    from citebed.report.evaluation_tables import machine_table
    from citebed.runs.reader import find_run_name

    baseline = None if options.baseline is None else find_run_name(options.baseline, paths)
    chosen = MachineOptions(
        plan=options.plan, baseline=baseline, generalise=options.generalise,
        settings=settings, resampling=resampling,
    )  # fmt: skip
    corrected = evaluate_with_machine(qrels, options.machine, runs, measures, chosen)
    if options.style in ("json", "csv"):
        print_rows([row.row() for row in corrected.rows], options.style)
    else:
        typer.echo(machine_table(corrected.rows).written(options.style), nl=False)
    print_lines([f"note: {note}" for note in corrected.notes], options.style)


def _parse_measures(
    names: list[str] | None, style: str, switches: dict[str, Any] | None = None
) -> list[Measure]:
    """Return the measures with these switches; in trec_eval's format its own names come first."""
    from citebed.evaluation.measures.names import measures
    from citebed.evaluation.measures.trec_names import sort_like_trec_eval, trec_lines

    if style != "trec_eval":
        return measures(names or DEFAULT_MEASURES, switches)
    chosen: list[Measure] = []
    for text in names or ["official"]:
        chosen += trec_lines(text, switches) or measures(text, switches)
    return sort_like_trec_eval(dict.fromkeys(chosen), switches)


def _print_tables(
    evaluation: Evaluation, resampling: Resampling | None, style: str, per_query: bool
) -> None:
    from citebed.report.evaluation_tables import queries_table, scores_table, unjudged_table

    if per_query:
        tables = (
            queries_table(of.run, of.query_ids, map(str, of.measures), of.values).written(style)
            for of in evaluation.runs
        )
        typer.echo("\n\n".join(tables))
    table = scores_table(evaluation, evaluation.summaries(resampling)).written(style)
    typer.echo(table, nl=style == "table")
    if style == "table":
        ledgers = [scores.ledger for scores in evaluation.runs]
        typer.echo(unjudged_table(ledgers).text(), nl=False)


def _print_notes(evaluation: Evaluation, style: str, *, compared: bool = False) -> None:
    """Print notes about the scores; to standard error if a program reads the output."""
    ledgers = [scores.ledger for scores in evaluation.runs]
    documents = count(sum(ledger.retrieved for ledger in ledgers), "document")
    judged = count(ledgers[0].judged, "judged query", "judged queries")
    print_lines((f"note: {line}" for line in evaluation.notes(compared=compared)), style)
    print_lines([f"{judged}; {count(len(ledgers), 'run')} of {documents}"], style)


def compare(
    qrels: QrelsFile,
    runs: RunFiles,
    design: Design,
    settings: Settings,
    resampling: Resampling,
    output: TableOptions,
    measures: Measures = None,
) -> None:
    """Compare runs: differences with intervals, tests, effect sizes, wins and losses.

    citebed compares two runs query by query, on the queries that both have. --cluster paper
    resamples papers instead of queries, because queries of one paper are not independent. † marks
    differences whose p-value is below alpha after correction.

    Example: citebed compare s.qrels *.run --baseline bm25 -m nDCG@10 --correct holm --cluster paper
    """
    from citebed.evaluation.scoring.comparison import compare as compare_runs
    from citebed.evaluation.scoring.evaluation import evaluate as evaluate_runs
    from citebed.report.evaluation_tables import comparison_notes, comparison_table
    from citebed.runs.reader import find_run_name

    style = output.style
    if design.baseline is not None:
        design = replace(design, baseline=find_run_name(design.baseline, runs))
    drawn = resampling.with_clusters(qrels)
    evaluation = evaluate_runs(qrels, runs, _parse_measures(measures, style), settings)
    compared = compare_runs(evaluation, design, drawn)
    if style in ("json", "csv"):
        print_rows([comparison.row() for comparison in compared], style)
    else:
        typer.echo(comparison_table(compared).written(style), nl=False)
    print_lines(comparison_notes(compared, design.alpha), style)
    _print_notes(evaluation, style, compared=True)


def measures_(
    name: str | None = argument(None, "Measure to explain in full.", metavar="[NAME]"),
) -> None:
    """List the measures, or explain one: formula, parameters, edge cases, reference.

    Example: citebed measures nDCG
    """
    from textwrap import fill

    from citebed.evaluation.measures import MEASURES
    from citebed.evaluation.measures.names import measure_class
    from citebed.evaluation.measures.trec_names import from_trec_name
    from citebed.report.evaluation_tables import as_written, measure_paragraphs, trec_eval_name
    from citebed.report.tables import text_table

    if name is not None:
        known = from_trec_name(name)
        kind = type(known) if known else measure_class(name.partition("@")[0].partition("(")[0])
        typer.echo(as_written(kind))
        for part in measure_paragraphs(kind):
            typer.echo("\n" + fill(part, 88))
        return
    rows = [
        [kind.NAME, trec_eval_name(kind), measure_paragraphs(kind)[0]] for kind in MEASURES.values()
    ]
    typer.echo(text_table(["measure", "trec_eval", "what it is"], rows, range(3)).text(), nl=False)


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The page of ``report`` and its contents besides the scores."""

    output: Path = option(Path("report.html"), "Output HTML file.", "-o")
    baseline: str | None = option(None, "Baseline run for comparisons (default: the first run).")
    queries: Path | None = option(
        None,
        "Queries (JSON Lines) for texts and --cluster (default: those next to the judgements).",
    )
    collection: Path | None = option(
        None,
        "Collection for document titles (default: the collection that contains the judgements).",
    )
    figures: Path | None = option(None, "Also save the figures as SVG files in this folder.")
    title: str | None = option(None, "Title of the page.")


def report(
    context: typer.Context,
    qrels: QrelsFile,
    runs: RunFiles,
    options: ReportOptions,
    design: Annotated[Design, without("baseline")],
    settings: Settings,
    resampling: Annotated[Resampling, without("queries")],
    measures: Measures = None,
) -> None:
    """Write an evaluation report as one HTML page: tables, interval plots, every query, coverage.

    The page is a single file that loads nothing from the network. For any two runs it shows the
    differences per query and, for a chosen query, its text and both rankings side by side. Query
    texts and titles come from the collection that contains the judgements, or from --queries and
    --collection.

    Example: citebed report acm-cr/qrels/sentences.qrels *.run -m nDCG@10 -o report.html
    """
    from citebed.evaluation.scoring.study import study as make_study
    from citebed.files.output_files import write_file
    from citebed.report.evaluation_figures import evaluation_figures
    from citebed.report.evaluation_page import Front, evaluation_page, texts_beside, titles_around
    from citebed.report.figure_style import write_files
    from citebed.runs.reader import find_run_name

    output, queries, figures = options.output, options.queries, options.figures
    cluster = [Path(str(resampling.cluster))] if resampling.cluster else []
    read = [qrels, *runs, *([queries] if queries else []), *cluster]
    check_page(output, {os.path.realpath(path) for path in read})
    if options.baseline is not None or design.correction != "tukey":  # tukey tests all pairs
        named = find_run_name(options.baseline or str(runs[0]), runs)
        design = replace(design, baseline=named)
    plan = Plan(
        measures=measures or DEFAULT_MEASURES,
        settings=settings,
        design=design,
        resampling=replace(resampling, queries=queries).with_clusters(qrels),
    )
    texts, titles = texts_beside(qrels, queries), titles_around(qrels, options.collection)
    study = make_study(qrels, runs, plan)
    title = options.title or f"{study.qrels.name}: {count(len(runs), 'run')}"
    front = Front(title=title, command=typed(context), texts=texts, titles=titles)
    page = evaluation_page(study, front)
    if figures:
        drawn = evaluation_figures(study.evaluation.runs, study.summaries, design.baseline)
        files = write_files(figures, drawn.items())
    write_file(output, printable(page))
    for scores in study.evaluation.runs:
        for note in scores.ledger.notes():
            typer.echo(f"note: {scores.run}: {note}", err=True)
    typer.echo(
        f"{printable(output)}: {count(len(study.runs), 'run')}, "
        f"{count(len(study.qrels.query_ids), 'judged query', 'judged queries')}, "
        f"{output.stat().st_size / 1e6:.1f} MB"
    )
    if figures:
        typer.echo(f"{printable(figures)}: {count(len(files), 'figure')}")


def trec_eval(
    context: typer.Context,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="QRELS RUN")] = None,
) -> None:
    """Score a run with the command line and the output of trec_eval 9.0.8 or 10.0.

    \b
    -q        also print every query's scores
    -n        print no summary
    -m NAME   a measure, or official, set, all_trec; parameters as in P.5,10
    -c        average over all judged queries
    -l N      the lowest relevant grade
    -J        use judged documents only
    -M N      use the first N documents of each query
    -N N      number of documents in the collection, for utility
    -Z FILE   print Z scores; FILE has lines of query, measure, mean, deviation
    -v, -h    print the version, or this text
    --as-version 9.0.8|10.0   the version to imitate (default 9.0.8); it must come first

    The long names of the options work too, and 'citebed measures' explains the measures.

    Example: citebed trec_eval -q -m map -m P.5,10 paragraphs.qrels bm25.run
    """
    from citebed.evaluation.trec_eval.options import read_options

    options = read_options(arguments or [])
    if options.info_request == "help":
        typer.echo(context.get_help())
    elif options.info_request == "version":
        typer.echo(f"trec_eval version {options.version}", err=True)  # as trec_eval does
    else:
        from citebed.evaluation.trec_eval.program import printed

        for text in printed(options):
            sys.stdout.write(text)
