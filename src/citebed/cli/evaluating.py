"""The commands ``evaluate``, ``compare`` and ``measures``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from citebed.cli import scoring_options as options
from citebed.cli.output import AsCsv, AsJson, print_rows, say_all, style_of
from citebed.errors import CitebedError
from citebed.wording import count

if TYPE_CHECKING:
    from citebed.evaluation.measures import Measure
    from citebed.evaluation.scoring.evaluation import Evaluation
    from citebed.evaluation.scoring.run_scores import Resampling


EvaluationFormat = Literal[options.TableFormat, "trec_eval"]


def evaluate(
    qrels: options.QrelsFile,
    runs: options.RunSources,
    measures: options.Measures = None,
    per_query: options.PerQuery = False,
    complete: options.Complete = False,
    relevance_level: Annotated[
        int | None,
        typer.Option(
            "--relevance-level",
            "-l",
            min=0,
            help="Lowest relevant grade, for measures without their own rel= parameter.",
        ),
    ] = None,
    judged_only: Annotated[
        bool, typer.Option("--judged-only", "-J", help="Remove unjudged documents before scoring.")
    ] = False,
    scores: options.Scores = "double",
    intervals: options.Intervals = True,
    cluster: options.Cluster = None,
    queries: options.Queries = None,
    samples: options.Samples = None,
    seed: options.Seed = 0,
    level: options.Level = 0.95,
    ledger: Annotated[
        bool,
        typer.Option(
            "--ledger",
            help="Print coverage instead of scores: judged queries, "
            "missing queries, unjudged documents, ties.",
        ),
    ] = False,
    on: options.On = None,
    spark_conf: options.SparkConf = None,
    debug: options.Debug = False,  # noqa: ARG001 - its callback does it
    format: Annotated[
        EvaluationFormat | None, typer.Option("--format", help="Output format (default: table).")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Score runs against judgements: means, confidence intervals and coverage.

    Scores equal trec_eval's. Measures: nDCG@10, R@10, AP and RR, unless you name others; also P@k,
    Rprec, Bpref, GMAP, infAP, Success@k, RBP(p=0.8), ERR@k, Judged@k, SetP, SetR, SetF, SU, AUC,
    with parameters as in AP(rel=2) or nDCG(judged_only=True)@10; trec_eval's names work too.

    Example: citebed evaluate paragraphs.qrels *.run -m nDCG@10 -m R@10
    """
    from citebed.runs.reader import read_runs

    style = style_of(format, as_json, as_csv)
    if on is None:
        begun = read_runs(list(map(Path, runs)))  # while the rest of the program loads

    from citebed.evaluation.scoring.evaluation import evaluate as evaluate_runs
    from citebed.evaluation.scoring.run_scores import make_resampling

    if ledger and style not in ("table", "json", "csv"):
        raise CitebedError(f"--ledger prints JSON or CSV only, not {style}.")
    switches = _switches(relevance_level, judged_only)
    chosen = _measures(measures, style, switches)
    drawn = make_resampling(cluster, qrels, queries, samples, seed, level)
    settings = options.settings_of(complete, scores)
    if on is None:
        evaluation = evaluate_runs(qrels, begun, chosen, settings)
    else:
        from citebed.distributed.engine import engine

        with engine(on, spark_conf or ()) as there:
            evaluation = there.evaluate(qrels, runs, chosen, settings)
    if style == "trec_eval":
        from citebed.report.evaluation_tables import trec_eval_text

        for each in evaluation.runs:
            sys.stdout.write(trec_eval_text(each, per_query, switches))
    elif ledger:
        print_rows([row for scored in evaluation.runs for row in scored.ledger.rows()], style)
    elif style in ("json", "csv"):
        _print_rows(evaluation, drawn if intervals else None, style, per_query)
    else:
        _print_table(evaluation, drawn if intervals else None, style, per_query)
    _say_notes(evaluation, "csv" if ledger else style)


def _switches(level: int | None, judged_only: bool) -> dict[str, Any]:
    """Turn trec_eval's switches into parameters of measures that do not set them."""
    switches: dict[str, Any] = {} if level is None else {"rel": level}
    return {**switches, "judged_only": True} if judged_only else switches


def _measures(
    names: list[str] | None, style: str, switches: dict[str, Any] | None = None
) -> list[Measure]:
    """Return the measures with these switches; in trec_eval's format its own names come first."""
    from citebed.evaluation.measures.names import measures
    from citebed.evaluation.measures.trec_names import sort_like_trec_eval, trec_lines
    from citebed.evaluation.scoring.evaluation import DEFAULT_MEASURES

    if style != "trec_eval":
        return measures(names or DEFAULT_MEASURES, switches)
    chosen: list[Measure] = []
    for text in names or ["official"]:
        chosen += trec_lines(text, switches) or measures(text, switches)
    return sort_like_trec_eval(dict.fromkeys(chosen), switches)


def _print_rows(
    evaluation: Evaluation, resampling: Resampling | None, style: str, per_query: bool
) -> None:
    print_rows(evaluation.rows(resampling, per_query=per_query), style)


def _print_table(
    evaluation: Evaluation, resampling: Resampling | None, style: str, per_query: bool
) -> None:
    from citebed.report.evaluation_tables import queries_table, scores_table, unjudged_table

    if per_query:
        each = (
            queries_table(of.run, of.query_ids, map(str, of.measures), of.values)
            for of in evaluation.runs
        )
        typer.echo("\n\n".join(table.written(style) for table in each))
    table = scores_table(evaluation, evaluation.summaries(resampling)).written(style)
    if style != "table":
        sys.stdout.write(table)
        return
    typer.echo(table)
    typer.echo(unjudged_table([scores.ledger for scores in evaluation.runs]).text(), nl=False)


def _say_notes(evaluation: Evaluation, style: str, *, compared: bool = False) -> None:
    """Print notes about the scores; to standard error if a program reads the output."""
    ledgers = [scores.ledger for scores in evaluation.runs]
    documents = count(sum(ledger.retrieved for ledger in ledgers), "document")
    judged = count(ledgers[0].judged, "judged query", "judged queries")
    say_all((f"note: {line}" for line in evaluation.notes(compared=compared)), style)
    say_all([f"{judged}; {count(len(ledgers), 'run')} of {documents}"], style)


def compare(
    qrels: options.QrelsFile,
    runs: options.RunFiles,
    baseline: options.Baseline = None,
    measures: options.Measures = None,
    test: options.Test = "t",
    correct: options.Correct = "none",
    alpha: options.Alpha = 0.05,
    complete: options.Complete = False,
    scores: options.Scores = "double",
    cluster: options.Cluster = None,
    queries: options.Queries = None,
    samples: options.Samples = None,
    seed: options.Seed = 0,
    level: options.Level = 0.95,
    format: options.Format = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Compare runs: differences with intervals, tests, effect sizes, wins and losses.

    citebed pairs runs by query id, over the queries that both have. --cluster paper resamples
    papers instead of queries, because queries of one paper are not independent. † marks
    differences whose p-value is below alpha after correction.

    Example: citebed compare s.qrels *.run --baseline bm25 -m nDCG@10 --correct holm --cluster paper
    """
    from citebed.evaluation.scoring.comparison import Design
    from citebed.evaluation.scoring.comparison import compare as compare_runs
    from citebed.evaluation.scoring.evaluation import evaluate as evaluate_runs
    from citebed.evaluation.scoring.run_scores import make_resampling
    from citebed.report.evaluation_tables import comparison_notes, comparison_table
    from citebed.runs.reader import find_run_name

    style = style_of(format, as_json, as_csv)
    named = None if baseline is None else find_run_name(baseline, runs)
    design = Design(baseline=named, test=test, correction=correct, alpha=alpha)
    drawn = make_resampling(cluster, qrels, queries, samples, seed, level)
    chosen = _measures(measures, style)
    evaluation = evaluate_runs(qrels, runs, chosen, options.settings_of(complete, scores))
    compared = compare_runs(evaluation, design, drawn)
    if style in ("json", "csv"):
        print_rows([comparison.row() for comparison in compared], style)
    else:
        typer.echo(comparison_table(compared).written(style), nl=False)
    say_all(comparison_notes(compared, design.alpha), style)
    _say_notes(evaluation, style, compared=True)


def measures_(
    name: Annotated[
        str | None, typer.Argument(help="Measure to explain in full.", metavar="[NAME]")
    ] = None,
) -> None:
    """List the measures, or explain one: formula, parameters, edge cases, reference.

    Example: citebed measures nDCG
    """
    from textwrap import fill

    from citebed.evaluation.measures import MEASURES
    from citebed.evaluation.measures.names import measure_class
    from citebed.evaluation.measures.trec_names import from_trec_name
    from citebed.report.measure_help import as_written, measure_paragraphs, trec_eval_name
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
