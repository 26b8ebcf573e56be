"""The verb ``timeline``: how good systems are over time."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import AsCsv, AsJson, a_number, print_csv, print_json
from citebed.cli.scoring_options import Format, Level, Measures, Seed, check_queries, style_of
from citebed.cli.timeline_official import (
    Official,
    check_options,
    official_truth,
    print_official,
)
from citebed.cli.timeline_report import Focus, Look, Plots, Report, look_of, write_look
from citebed.errors import CitebedError
from citebed.wording import count, printable

if TYPE_CHECKING:
    import polars as pl

    from citebed.evaluation.measures.base import Measure
    from citebed.timeline.scoring.query_slices import Cells
    from citebed.timeline.scoring.stream_scores import StreamScores
    from citebed.timeline.scoring.trends import Trend
    from citebed.timeline.streams.stream_runs import StreamRun
    from citebed.timeline.streams.truth import Reading, Truth

    _Trend = tuple[StreamScores, str, Trend]

Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weight", "-w", help="How slices count: uniform, burst or recency:30d; may be repeated."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the verb of this file."""
    app.command("timeline")(timeline)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What is to be scored: judgements with the name of their file, and how."""

    judged: pl.DataFrame
    qrels: Path
    slicing: str | None
    ends: tuple[str | None, str | None]
    measures: list[str] | None
    seed: int
    utc: bool
    assessors: str
    rel: int
    binary: bool
    threshold: float | None


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """What is printed, and how."""

    style: str
    weights: list[str]
    per_query: bool
    per_slice: bool
    trends: bool
    level: float
    samples: int
    seed: int
    alpha: float

    @property
    def machine(self) -> bool:
        return self.style in ("json", "csv")


def timeline(
    context: typer.Context,
    qrels: Annotated[
        Path, typer.Argument(help="Judgements: TREC qrels, KBA's, or Parquet.", metavar="QRELS")
    ],
    runs: Annotated[
        list[Path],
        typer.Argument(help="Runs: TREC's or KBA's, gzip or not, or Parquet.", metavar="RUN…"),
    ],
    slicing: Annotated[
        str | None,
        typer.Option(
            "--slice",
            help="12h, 1d, 7d, 1mo; all; equal:20 relevant documents; random:30 visits; burst "
            "(7d, in bursts 1d); or a file of boundaries. Default: 7d; 1d or 1h for short streams.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", help="Where slices start (UTC midnight before the first judged)."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", help="Where they end (after the last judged document).")
    ] = None,
    weights: Weights = None,
    measures: Measures = None,
    times: Annotated[
        Path | None,
        typer.Option(
            "--times", help="Times: lines 'doc_id time', a stream (JSON Lines), or a collection."
        ),
    ] = None,
    utc: Annotated[
        bool, typer.Option("--utc", help="Times in files that name no time zone are UTC.")
    ] = False,
    assessors: Annotated[
        str,
        typer.Option(help="Several on one pair: any-dissent-negative, any, majority or max."),
    ] = "any-dissent-negative",
    rel: Annotated[int, typer.Option(min=1, help="The lowest grade that is relevant.")] = 1,
    binary: Annotated[
        bool, typer.Option("--binary", help="All relevant documents are alike, as in the paper.")
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(help="Measures of sets (SetP, SetR, SetF, SU) look above this score."),
    ] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", "-q", help="Every query's scores too.")
    ] = False,
    per_slice: Annotated[
        bool, typer.Option("--per-slice", "-s", help="Every slice's scores too.")
    ] = False,
    trends: Annotated[
        bool | None,
        typer.Option(
            "--trend/--no-trend",
            help="Does a system degrade? (In tables yes; with --json or --csv in place of scores.)",
        ),
    ] = None,
    official: Annotated[
        bool, typer.Option("--official", help="TREC KBA's scoring at confidence cut-offs instead.")
    ] = False,
    cutoff_step: Annotated[int, typer.Option(help="Official cut-offs: 0 to 999 by this.")] = 1,
    all_cutoffs: Annotated[
        bool, typer.Option("--all-cutoffs", help="Official: every cut-off, not the best ones.")
    ] = False,
    unjudged_negative: Annotated[
        bool, typer.Option("--unjudged-negative", help="Official: unjudged pairs are negatives.")
    ] = False,
    require_positives: Annotated[
        bool | None,
        typer.Option(
            "--require-positives/--all-entities",
            help="Official: without entities that have no positives, or with (else both).",
        ),
    ] = None,
    report: Report = None,
    plots: Plots = None,
    focus: Focus = None,
    samples: Annotated[int, typer.Option(min=100, help="Resamples of a trend.")] = 1000,
    alpha: Annotated[
        float,
        typer.Option(min=0, max=1, callback=a_number, help="A p-value below this is significant."),
    ] = 0.05,
    level: Level = 0.95,
    seed: Seed = 0,
    format: Format = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Score runs over a stream slice by slice: how good are they, and do they stay good?

    Each document has a time: an epoch second in front of its id, as in TREC KBA, or from
    --times. A run's documents in a slice are scored against the relevant ones in it; slices
    without any are left out. A query's score is the weighted mean over slices, a system's the
    mean over queries.

    Example: citebed timeline kba.qrels *.run --slice 7d --weight uniform --weight burst -m AP
    """
    style = style_of(format, as_json, as_csv)
    check_options(context, official, drawn=bool(report or plots))
    if threshold is not None and not math.isfinite(threshold):
        raise CitebedError(f"the threshold {threshold} is no score.")
    if trends and style in ("json", "csv") and (per_query or per_slice):
        raise CitebedError("--trend prints rows of trends: leave out --per-query and --per-slice.")
    shown = _Shown(
        style=style, weights=list(dict.fromkeys(weights or ["uniform"])), per_query=per_query,
        per_slice=per_slice, trends=style not in ("json", "csv") if trends is None else trends,
        level=level, samples=samples, seed=seed, alpha=alpha,
    )  # fmt: skip
    from citebed.files.reading import at_hand
    from citebed.runs.reading import read_judged
    from citebed.timeline.streams.stream_runs import without_times

    # Judgements are short, and are read while nothing else keeps the processors busy.
    with at_hand(qrels) as file:
        judged = read_judged(file)
    asked = _Asked(
        judged=judged, qrels=qrels, slicing=slicing, ends=(since, until),
        measures=measures, seed=seed, utc=utc, assessors=assessors, rel=rel, binary=binary,
        threshold=threshold,
    )  # fmt: skip
    sliced = Path(slicing) if slicing and Path(slicing).is_file() else None
    look = look_of(context, (report, plots), focus, [qrels, *runs, times, sliced])
    with ExitStack() as held:
        files = {path: held.enter_context(at_hand(path)) for path in _each_once(runs)}
        if not official:
            with _opened(files, ahead=times is None) as opened:
                table = _times(times, utc)
                cells = _cells(asked, table)
                look.check(cells)
                _print(_scored(opened, cells, asked, table), cells, shown, look)
            return
        how = Official(
            step=cutoff_step, unjudged_negative=unjudged_negative, style=style,
            require_positives=require_positives, all_cutoffs=all_cutoffs,
        )  # fmt: skip
        table = _times(times, utc)
        truth = official_truth(judged, qrels, table, assessors)
        with _opened(files, timeless=lambda run: without_times(run, table)) as opened:
            if not look:
                print_official(truth, opened, how)
                return
            cells = _cells(asked, table)  # what is wrong is told before anything is printed
            look.check(cells)
            _check(asked, shown, cells)
            best = print_official(truth, opened, how)
        with _opened(files, ahead=False) as opened:  # a page has both, so runs are read twice
            kept = list(_scored(opened, cells, asked, table))
        write_look(look, kept, shown.weights, list(_trends(kept, shown)), alpha, best)


# --- reading --------------------------------------------------------------------------------


def _times(path: Path | None, utc: bool) -> pl.DataFrame | None:
    """Times from a file, or from the dates of a collection's documents."""
    if path is None:
        return None
    from citebed.runs.times import date_time
    from citebed.timeline.streams.times import read_times, times_table

    if not path.is_dir():
        from citebed.files.reading import at_hand

        with at_hand(path) as file:
            return read_times(file, utc=utc)
    from citebed.collection import open_collection

    rows = open_collection(path).scan_documents().select("doc_id", "date", "year").collect()
    dated = ((doc, date or (year and f"{year:04d}")) for doc, date, year in rows.iter_rows())
    return times_table(((doc, date_time(date)) for doc, date in dated if date), printable(path))


def _each_once(runs: list[Path]) -> list[Path]:
    for path in runs:
        if runs.count(path) > 1:
            raise CitebedError(f"the file '{printable(path)}' is given twice.")
    return runs


@contextmanager
def _opened(
    files: dict[Path, Path],
    ahead: bool = True,
    timeless: Callable[[StreamRun], StreamRun] = lambda run: run,
) -> Iterator[Iterator[StreamRun]]:
    """The runs, one at a time; the first is read already while everything else gets ready."""
    from citebed.timeline.streams.stream_runs import open_run, read_ahead

    names = _names(list(files))

    def opened(path: Path) -> StreamRun:
        return timeless(replace(open_run(files[path]), called=names[path]))

    paths = iter(files)
    first = opened(next(paths))
    with read_ahead(first) if ahead and first.careful else nullcontext(first) as begun:
        yield chain([begun], map(opened, paths))


def _names(paths: list[Path]) -> dict[Path, str | Path]:
    """Names that tell runs apart; a path stands for its own, found when it is needed."""
    if len({path.name.partition(".")[0] for path in paths}) == len(paths):
        return {path: path for path in paths}
    from citebed.runs.reading import distinct_names

    return dict(zip(paths, distinct_names(paths), strict=True))


def _truth(asked: _Asked, times: pl.DataFrame | None, reading: Reading) -> Truth:
    from citebed.runs.reading import name_of
    from citebed.timeline.streams.truth import truth_of

    return truth_of(asked.judged, name_of(asked.qrels), times, reading)


def _cells(asked: _Asked, times: pl.DataFrame | None) -> Cells:
    from citebed.runs.times import parse_time
    from citebed.timeline.scoring.stream_scores import measured_cells
    from citebed.timeline.slices import slices_of, usual_slicing
    from citebed.timeline.streams.truth import Reading

    truth = _truth(asked, times, Reading(asked.assessors, asked.rel, asked.binary))
    start, end = (None if text is None else parse_time(text, utc=True) for text in asked.ends)
    over = truth.range(start, end)
    slicing = asked.slicing or usual_slicing(over)
    return measured_cells(truth, slices_of(slicing, over, seed=asked.seed, utc=asked.utc))


def _scored(
    runs: Iterator[StreamRun], cells: Cells, asked: _Asked, times: pl.DataFrame | None
) -> Iterator[StreamScores]:
    """The runs' scores, one run at a time."""
    from citebed.timeline.scoring.measuring import DEFAULT_MEASURES, slice_measures
    from citebed.timeline.scoring.stream_scores import score_stream

    chosen = slice_measures(asked.measures or DEFAULT_MEASURES)
    for run in runs:
        yield score_stream(run, cells, chosen, times, asked.threshold)


# --- printing -------------------------------------------------------------------------------


def _check(asked: _Asked | None, shown: _Shown, cells: Cells) -> None:
    """A wrong weighting or measure is better known before a long run is read."""
    from citebed.timeline.scoring.measuring import slice_measures
    from citebed.timeline.scoring.weights import weights_of

    for weight in shown.weights:
        weights_of(weight, cells)
    if asked is not None:
        slice_measures(asked.measures or ())


def _print(scored: Iterator[StreamScores], cells: Cells, shown: _Shown, look: Look) -> None:
    _check(None, shown, cells)
    kept = list(scored)
    trends = list(_trends(kept, shown)) if shown.trends or look.page else []
    if shown.machine:
        rows = _trend_rows(trends, shown) if shown.trends else _score_rows(kept, shown)
        (print_csv if shown.style == "csv" else print_json)(rows)
    else:
        _print_tables(kept, shown)
        if shown.trends:
            _say_trends(kept, trends, shown)
    _say_notes(kept, cells, err=shown.style != "table")
    if look:
        write_look(look, kept, shown.weights, trends, shown.alpha, {})


def _score_rows(scored: list[StreamScores], shown: _Shown) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for scores in scored:
        if shown.per_query and shown.per_slice:
            rows += scores.slice_queries().to_dicts()
        if shown.per_query:
            rows += check_queries(scores.queries(shown.weights).to_dicts())
        if shown.per_slice:
            rows += scores.slices().to_dicts()
        rows += scores.systems(shown.weights).to_dicts()
    return rows


def _print_tables(scored: list[StreamScores], shown: _Shown) -> None:
    from citebed.report.timeline_table import queries_grid, slices_grid, systems_grid

    for scores in scored:
        if shown.per_query:
            typer.echo(queries_grid(scores, shown.weights).written(shown.style))
        if shown.per_slice:
            typer.echo(slices_grid(scores).written(shown.style))
    typer.echo(systems_grid(scored, shown.weights).written(shown.style), nl=shown.style == "table")


def _trends(scored: list[StreamScores], shown: _Shown) -> Iterator[_Trend]:
    from concurrent.futures import ThreadPoolExecutor

    from citebed.timeline.scoring.trends import trend

    series = [(scores, measure) for scores in scored for measure in scores.measures]

    def found(scores: StreamScores, measure: Measure) -> _Trend:
        of = trend(
            scores.cells.slices.middles, scores.by_slice(measure), level=shown.level,
            samples=shown.samples, seed=shown.seed,
        )  # fmt: skip
        return scores, str(measure), of

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        yield from pool.map(found, *zip(*series, strict=True))


def _trend_rows(trends: list[_Trend], shown: _Shown) -> list[dict[str, Any]]:
    from citebed.report.timeline_table import trend_row

    return [trend_row(scores.run, measure, found, shown.alpha) for scores, measure, found in trends]


def _say_trends(scored: list[StreamScores], trends: list[_Trend], shown: _Shown) -> None:
    from citebed.report.timeline_table import stability_sentence, trend_sentence
    from citebed.timeline.scoring.trends import stability

    err = shown.style != "table"
    said = (trend_sentence(of.run, measure, found, shown.alpha) for of, measure, found in trends)
    for sentence in dict.fromkeys(said):
        typer.echo(sentence, err=err)
    if len(scored) > 2:
        for each in scored[0].measures:
            stable = stability({scores.run: scores.by_slice(each) for scores in scored})
            typer.echo(stability_sentence(str(each), stable), err=err)


def _say_notes(scored: list[StreamScores], cells: Cells, err: bool) -> None:
    """What the scores rest on; on standard error where programs read the output."""
    from citebed.runs.times import format_time
    from citebed.timeline.scoring.ledger import judged_ledger

    for note in judged_ledger(cells).notes():
        typer.echo(f"note: {note}", err=err)
    for scores in scored:
        for note in scores.ledger.notes():
            typer.echo(f"note: {scores.run}: {note}", err=err)
    bounds = cells.slices.bounds
    queries = count(len(cells.queries), "query")
    typer.echo(
        f"{queries} in {count(len(cells.slices), 'slice')} from {format_time(bounds[0])} to "
        f"{format_time(bounds[-1])}; {count(len(scored), 'run')} of "
        f"{count(sum(scores.ledger.lines for scores in scored), 'document')}",
        err=err,
    )
