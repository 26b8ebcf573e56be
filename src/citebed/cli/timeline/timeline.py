"""The verb ``timeline``: how good systems are over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import AsCsv, AsJson, a_number, is_given, print_rows, style_of
from citebed.cli.scoring_options import (
    Baseline,
    Correct,
    Format,
    Level,
    Measures,
    Seed,
    Test,
    check_queries,
)
from citebed.cli.timeline.comparing import (
    COMPARING,
    Intervals,
    Units,
    design_of,
    print_compared,
)
from citebed.cli.timeline.official import best_once, print_official
from citebed.cli.timeline.report import Areas, Focus, Pair, Plots, Report, look_of, write_look
from citebed.errors import CitebedError
from citebed.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from citebed.cli.timeline.comparing import Compared
    from citebed.evaluation.scoring.comparing import Design
    from citebed.runs.tables import Qrels
    from citebed.timeline.scoring.uncertainty import StreamComparisons
    from citebed.timeline.timelines import Timeline

Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weight", "-w", help="How slices count: uniform, burst or recency:30d; may be repeated."
    ),
]

_OFFICIAL = {"cutoff_step", "all_cutoffs", "unjudged_negative", "require_positives"}
_PRINTED_SLICES = {"per_slice", "trends", "by_kind"}
_SLICES = {
    "slicing", "since", "until", "weights", "measures", "rel", "graded", "threshold", "samples",
    "alpha", "level", "seed", "teams", "teams_file", "intervals", "units", *COMPARING,
}  # fmt: skip


@dataclass(frozen=True)
class _Shown:
    """What is printed, and how."""

    style: str
    per_query: bool
    per_slice: bool
    trends: bool
    by_kind: bool

    @property
    def machine(self) -> bool:
        return self.style in ("json", "csv")


def _a_score(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise CitebedError(f"the threshold {value} is no score.")
    return value


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
        list[str] | None,
        typer.Option(
            "--slice",
            help="12h, 1d, 7d, 1mo, 1y; all; equal:20 relevant documents; random:30 visits; burst "
            "(7d, in bursts 1d); or a file of boundaries; may be repeated, to see weeks and days "
            "side by side. Default: what makes some thirty slices.",
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
    graded: Annotated[
        bool | None,
        typer.Option(
            "--graded/--binary",
            help="Grades count, or all relevant documents are alike (as in the paper, and by "
            "default but for ERR and nDCG(dcg=exp-log2)).",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            callback=_a_score, help="Measures of sets (SetP, SetR, SetF, SU) look above this score."
        ),
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
    by_kind: Annotated[
        bool,
        typer.Option(
            "--by-kind",
            help="Scores by kind of query in time too: atemporal, unambiguous (one episode) or "
            "ambiguous (several). With --json or --csv in place of scores.",
        ),
    ] = False,
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
    teams: Annotated[
        bool,
        typer.Option(
            "--teams",
            help="Only the best run of each team, and no team at zero; as one batch if no --slice.",
        ),
    ] = False,
    teams_file: Annotated[
        Path | None,
        typer.Option("--teams-file", help="The same with teams from lines 'run team'."),
    ] = None,
    report: Report = None,
    plots: Plots = None,
    focus: Focus = None,
    pair: Pair = None,
    areas: Areas = "time",
    intervals: Intervals = True,
    units: Units = "queries",
    baseline: Baseline = None,
    test: Test = "t",
    correct: Correct = "none",
    samples: Annotated[
        int | None, typer.Option(min=100, help="Resamples (default 10,000; of a trend 1,000).")
    ] = None,
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
    _check_options(context, official, drawn=bool(report or plots))
    shown = _shown_of(style, (per_query, per_slice), trends, by_kind)
    from citebed.timeline.streams.run_sources import opened_runs

    # Judgements are short, and are read while nothing else keeps the processors busy.
    judged = _judged(qrels)
    slicings, files = _slicings(slicing, drawn=bool(report or plots))
    read = [qrels, *runs, times, *files]
    look = look_of(context, (report, plots), runs, (pair, areas), read)
    design = design_of(context, runs, baseline, (test, correct), alpha)
    if design:
        _check_rows(shown)
    with opened_runs(runs) as opened:
        # The first run is being read while this is loaded.
        from citebed.timeline.timelines import timeline as scored_timeline

        table = _times(times, utc)
        if not official or look:
            found = [scored_timeline(
                judged, opened, slices=each, weight=weights or "uniform",
                measures=measures or (), start=since, end=until, times=table, utc=utc,
                assessors=assessors, rel=rel, graded=graded, threshold=threshold,
                teams=teams_file or teams, seed=seed, level=level, samples=samples, alpha=alpha,
                units=units if intervals else None, focus=focus,
            ) for each in slicings]  # fmt: skip
        if official:
            from citebed.timeline.scoring.official import official_timeline

            scored = official_timeline(
                judged, opened, times=table, assessors=assessors, step=cutoff_step,
                unjudged_negative=unjudged_negative, require_positives=require_positives,
            )  # fmt: skip
    tests = [(_compared(each, design, units), design) for each in found] if design else []
    if official:
        print_official(scored, style, all_cutoffs, per_query)
    else:
        _print(found, shown, tests)
    if look:
        best = best_once(scored) if official else []
        write_look(look, found[0], best, tests[0] if tests else None)


def _slicings(
    given: Sequence[str] | None, *, drawn: bool
) -> tuple[Sequence[str | None], list[Path]]:
    """The slicings to score by, each once, and those that are files."""
    if given is None:
        return [None], []
    slicings = list(dict.fromkeys(given))
    if len(slicings) > 1 and drawn:
        raise CitebedError("a page and its pictures show one slicing: give --slice once.")
    return slicings, [path for path in map(Path, slicings) if path.is_file()]


def _check_rows(shown: _Shown) -> None:
    """Paired tests are rows of their own for programs."""
    if shown.machine and (shown.per_query or shown.per_slice or shown.trends or shown.by_kind):
        others = "--per-query, --per-slice, --trend and --by-kind"
        raise CitebedError(f"paired tests are rows of their own: leave out {others}.")


def _shown_of(style: str, per: tuple[bool, bool], trends: bool | None, by_kind: bool) -> _Shown:
    """What is printed, per query and slice or not: trends are told to people, unless they say
    otherwise."""
    machine = style in ("json", "csv")
    if trends and machine and (any(per) or by_kind):
        others = "--per-query, --per-slice and --by-kind"
        raise CitebedError(f"--trend prints rows of trends: leave out {others}.")
    if by_kind and machine and any(per):
        raise CitebedError("--by-kind prints rows of kinds: leave out --per-query and --per-slice.")
    return _Shown(style, *per, not machine if trends is None else trends, by_kind)


def _judged(path: Path) -> Qrels:
    from citebed.files.reading import at_hand
    from citebed.runs.reading import name_of, read_judged
    from citebed.runs.tables import Qrels

    with at_hand(path) as file:
        return Qrels(read_judged(file), name_of(path))


def _compared(found: Timeline, design: Design, units: str) -> StreamComparisons:
    how = {"test": design.test, "correction": design.correction, "units": units}
    return found.compare(design.baseline, **how)


def _times(path: Path | None, utc: bool) -> Any:
    """Times from a file, or from the dates of a collection's documents."""
    from citebed.timeline.streams.times import times_of

    if path is None or not path.is_dir():
        return times_of(path, utc=utc)
    from citebed.collection import open_collection

    return times_of(open_collection(path))


def _print(timelines: Sequence[Timeline], shown: _Shown, tests: Sequence[Compared]) -> None:
    if shown.machine:
        print_rows(_rows(timelines, shown, tests), shown.style)
    else:
        from citebed.report.timeline.table import systems_table

        for found in timelines:
            _print_details(found, shown)
        typer.echo(systems_table(timelines).written(shown.style), nl=shown.style == "table")
    for at, found in enumerate(timelines):
        err = shown.style != "table"
        if len(timelines) > 1 and not shown.machine:
            typer.echo(f"Slices of {found.pairs.slices.kind}:", err=err)
        if tests:
            print_compared(*tests[at], shown.style)
        if shown.trends and not shown.machine:
            _say_trends(found, err)
        _say_notes(found, err)


def _rows(
    timelines: Sequence[Timeline], shown: _Shown, tests: Sequence[Compared]
) -> list[dict[str, Any]]:
    """Rows for programs; where there are several slicings, each row says which it is of."""
    rows = []
    for at, found in enumerate(timelines):
        slicing = {"slicing": found.pairs.slices.kind} if len(timelines) > 1 else {}
        of = [test.row() for test in tests[at][0]] if tests else _machine_rows(found, shown)
        rows += [{**row, **slicing} for row in of]
    return rows


def _machine_rows(found: Timeline, shown: _Shown) -> list[dict[str, Any]]:
    if shown.by_kind:
        return found.by_kind.to_dicts()
    return found.trends.to_dicts() if shown.trends else _score_rows(found, shown)


def _score_rows(found: Timeline, shown: _Shown) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for scores in found.runs:
        if shown.per_query and shown.per_slice:
            rows += scores.slice_queries().to_dicts()
        if shown.per_query:
            rows += check_queries(scores.queries(found.weights).to_dicts())
        if shown.per_slice:
            rows += scores.slices().to_dicts()
        rows += found.table.filter(run=scores.run).to_dicts()
    return rows


def _print_details(found: Timeline, shown: _Shown) -> None:
    from citebed.report.timeline.table import kinds_table, queries_table, slices_table

    for scores in found.runs:
        if shown.per_query:
            typer.echo(queries_table(scores, found.weights).written(shown.style))
        if shown.per_slice:
            by_slice = {str(measure): scores.by_slice(measure) for measure in scores.measures}
            typer.echo(slices_table(scores.pairs, by_slice, scores.run).written(shown.style))
    if shown.by_kind:
        typer.echo(kinds_table(found).written(shown.style))


def _say_trends(found: Timeline, err: bool) -> None:
    from citebed.report.timeline.table import stability_sentences, trend_sentence

    if len(found.pairs.slices) == 1:
        return  # the evaluation that knows no time
    said = (trend_sentence(*each, found.alpha) for each in found.trends_found)
    for sentence in (*dict.fromkeys(said), *stability_sentences(found.runs)):
        typer.echo(sentence, err=err)


def _say_notes(found: Timeline, err: bool) -> None:
    """What the scores rest on; on standard error where programs read the output."""
    from citebed.runs.times import format_time

    for note in (*found.notes(), *found.run_notes()):
        typer.echo(f"note: {note}", err=err)
    slices = found.pairs.slices
    typer.echo(
        f"{count(len(found.pairs.queries), 'query')} in {count(len(slices), 'slice')} from "
        f"{format_time(slices.bounds[0])} to {format_time(slices.bounds[-1])}; "
        f"{count(len(found.runs), 'run')} of "
        f"{count(sum(scores.ledger.lines for scores in found.runs), 'document')}",
        err=err,
    )


# --- TREC KBA's official scoring --------------------------------------------------------------


def _check_options(context: typer.Context, official: bool, drawn: bool) -> None:
    """An option that would change nothing is an error: the scoring by slices has its own.

    ``drawn`` is whether a page or pictures are written, which show slices in any case.
    """
    unused = _OFFICIAL
    if official:
        unused = _PRINTED_SLICES if drawn else _PRINTED_SLICES | _SLICES
    given = ", ".join(
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in unused and is_given(context, parameter.name)
    )
    if given and official:
        page = "" if drawn else ", or write a page (--report), which shows slices too"
        raise CitebedError(f"--official scores without slices: leave out {given}{page}.")
    if given:
        raise CitebedError(f"{given}: for the official scoring only. Give --official too.")
