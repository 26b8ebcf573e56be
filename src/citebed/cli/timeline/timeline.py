"""The command ``timeline``: scores of systems over time."""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from citebed.cli.output import AsCsv, AsJson, a_number, is_given, say, style_of
from citebed.cli.scoring_options import (
    Baseline,
    Correct,
    Debug,
    Format,
    Intervals,
    Level,
    Measures,
    On,
    PerQuery,
    QrelsFile,
    RunSources,
    Seed,
    SparkConf,
    Test,
)
from citebed.cli.timeline.official import (
    Assessors,
    Times,
    Utc,
    best_once,
    print_official,
    read_once,
    timeline_official,
    times_from,
)
from citebed.cli.timeline.printing import Shown, print_timelines
from citebed.cli.timeline.report import Areas, Focus, Pair, Plots, Report, look_of, write_look
from citebed.errors import CitebedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from citebed.evaluation.scoring.comparison import Comparisons, Design
    from citebed.timeline.scoring.comparison import StreamComparison
    from citebed.timeline.scoring.official import OfficialTimeline
    from citebed.timeline.timelines import Timeline

Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weight", "-w", help="Slice weighting: uniform, burst or recency:30d (repeatable)."
    ),
]

UnitsDrawn = Literal["queries", "both"]
Units = Annotated[
    UnitsDrawn,
    typer.Option(
        "--units", help="Resampling unit for intervals and tests: queries, or queries and slices."
    ),
]
_COMPARING = {"baseline", "test", "correct"}
"""Options that request paired tests."""


_OFFICIAL = {"cutoff_step", "all_cutoffs", "unjudged_negative", "require_positives"}
_PRINTED_SLICES = {"per_slice", "trends", "by_kind", "on", "spark_conf", "debug"}
"""Options that the official scoring, which runs on this machine, does not support."""
_SLICES = {
    "slicing", "since", "until", "weights", "measures", "rel", "graded", "threshold", "samples",
    "alpha", "level", "seed", "teams", "teams_file", "intervals", "units", *_COMPARING,
}  # fmt: skip


def _a_score(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise CitebedError(f"--threshold: {value} is not a number.")
    return value


def timeline(
    context: typer.Context,
    qrels: QrelsFile,
    sources: RunSources,
    slicing: Annotated[
        list[str] | None,
        typer.Option(
            "--slice",
            help="12h, 1d, 7d, 1mo, 1y; all; equal:20 relevant documents; random:30 visits; burst "
            "(7d, in bursts 1d); or a file of boundaries (repeatable, e.g. weeks and days side by "
            "side). Default: about 30 slices.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Start of the slices (default: UTC midnight before the first judged document).",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--to", help="End of the slices (default: after the last judged document)."),
    ] = None,
    weights: Weights = None,
    measures: Measures = None,
    times: Times = None,
    utc: Utc = False,
    assessors: Assessors = "any-dissent-negative",
    rel: Annotated[int, typer.Option(min=1, help="Lowest relevant grade.")] = 1,
    graded: Annotated[
        bool | None,
        typer.Option(
            "--graded/--binary",
            help="Use grades, or treat all relevant documents alike (as in the paper; default "
            "except for ERR and nDCG(dcg=exp-log2)).",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            callback=_a_score, help="Score threshold for set measures (SetP, SetR, SetF, SU)."
        ),
    ] = None,
    per_query: PerQuery = False,
    per_slice: Annotated[
        bool, typer.Option("--per-slice", "-s", help="Also print per-slice scores.")
    ] = False,
    trends: Annotated[
        bool | None,
        typer.Option(
            "--trend/--no-trend",
            help="Test whether a system degrades (default in tables; --json and --csv then print "
            "trends instead of scores).",
        ),
    ] = None,
    by_kind: Annotated[
        bool,
        typer.Option(
            "--by-kind",
            help="Also print scores by kind of query: atemporal, unambiguous (one episode) or "
            "ambiguous (several). --json and --csv then print these instead of scores.",
        ),
    ] = False,
    official: Annotated[
        bool,
        typer.Option(
            "--official",
            help="With --report: also show TREC KBA's scores (without a page, use citebed "
            "timeline official).",
        ),
    ] = False,
    cutoff_step: Annotated[int, typer.Option(hidden=True)] = 1,
    all_cutoffs: Annotated[bool, typer.Option("--all-cutoffs", hidden=True)] = False,
    unjudged_negative: Annotated[bool, typer.Option("--unjudged-negative", hidden=True)] = False,
    require_positives: Annotated[
        bool | None, typer.Option("--require-positives/--all-entities", hidden=True)
    ] = None,
    teams: Annotated[
        bool,
        typer.Option(
            "--teams",
            help="Only the best run of each team, without teams that score zero; one batch unless "
            "--slice is given.",
        ),
    ] = False,
    teams_file: Annotated[
        Path | None,
        typer.Option(
            "--teams-file", help="Like --teams, with teams from a file of lines 'run team'."
        ),
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
        int | None,
        typer.Option(min=100, help="Number of resamples (default 10,000; for trends 1,000)."),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(min=0, max=1, callback=a_number, help="Significance level for p-values."),
    ] = 0.05,
    level: Level = 0.95,
    seed: Seed = 0,
    on: On = None,
    spark_conf: SparkConf = None,
    debug: Debug = False,  # noqa: ARG001 - its callback does it
    format: Format = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Score runs over a stream, slice by slice: how good are they, and do they stay good?

    Each document has a time: an epoch second in front of its id, as in TREC KBA, or from --times.
    A run's documents in a slice are scored against the relevant documents in that slice; slices
    without any are ignored. A query's score is the weighted mean over slices, a system's score the
    mean over queries.

    Example: citebed timeline kba.qrels *.run --slice 7d --weight uniform --weight burst -m AP
    """
    style = style_of(format, as_json, as_csv)
    _check_options(context, official, drawn=bool(report or plots))
    runs = list(map(Path, sources))
    if official and not (report or plots):
        say("note: 'timeline --official' is now 'timeline official'")
        timeline_official(
            qrels, runs, times, utc, assessors, cutoff_step, all_cutoffs, unjudged_negative,
            require_positives, per_query, format, as_json, as_csv,
        )  # fmt: skip
        return
    shown = _shown_of(style, (per_query, per_slice), trends, by_kind)

    # Judgements are small; read them while the processors are idle.
    judged = read_once(qrels)
    slicings, files = _slicings(slicing, drawn=bool(report or plots))
    look = look_of(context, (report, plots), runs, (pair, areas), [qrels, *runs, times, *files])
    design = _design_of(context, runs, baseline, (test, correct), alpha, shown)
    with _opened(sources, on, spark_conf or ()) as opened:
        # Load this while the first run is being read.
        from citebed.timeline.timelines import timeline as scored_timeline

        table = times_from(times, utc)
        timelines = [scored_timeline(
            judged, opened, slices=each, weight=weights or "uniform",
            measures=measures or (), start=since, end=until, times=table, utc=utc,
            assessors=assessors, rel=rel, graded=graded, threshold=threshold,
            teams=teams_file or teams, seed=seed, level=level, samples=samples, alpha=alpha,
            units=units if intervals else None, focus=focus,
        ) for each in slicings]  # fmt: skip
        if official:
            scored = _official_scores(
                judged, opened, times=table, assessors=assessors, step=cutoff_step,
                unjudged_negative=unjudged_negative, require_positives=require_positives,
            )  # fmt: skip
    tests = [(_compared(each, design, units), design) for each in timelines] if design else []
    if official:
        print_official(scored, style, all_cutoffs, per_query)
    else:
        print_timelines(timelines, shown, tests)
    if look:
        best = best_once(scored) if official else []
        write_look(look, timelines[0], best, tests[0] if tests else None)


@contextmanager
def _opened(sources: Sequence[str], on: str | None, conf: Sequence[str]) -> Iterator[Any]:
    """Return the runs to score: local files, or paths that Spark reads."""
    if on is None:
        from citebed.timeline.streams.run_sources import opened_runs

        with opened_runs(list(map(Path, sources))) as opened:
            yield opened
        return
    from citebed.distributed.engine import engine
    from citebed.distributed.evaluation import runs_on

    with engine(on, conf) as there:
        yield runs_on(there, sources)


def _slicings(
    typed: Sequence[str] | None, *, drawn: bool
) -> tuple[Sequence[str | None], list[Path]]:
    """Return the distinct slicings, and the ones read from files."""
    if typed is None:
        return [None], []
    slicings = list(dict.fromkeys(typed))
    if len(slicings) > 1 and drawn:
        raise CitebedError("a page and its figures show one slicing. Give --slice once.")
    return slicings, [path for path in map(Path, slicings) if path.is_file()]


def _shown_of(style: str, per: tuple[bool, bool], trends: bool | None, by_kind: bool) -> Shown:
    """Return what to print; people see trends by default."""
    machine = style in ("json", "csv")
    if trends and machine and (any(per) or by_kind):
        others = "--per-query, --per-slice and --by-kind"
        raise CitebedError(f"--trend prints rows of trends. Remove {others}.")
    if by_kind and machine and any(per):
        raise CitebedError("--by-kind prints rows of kinds. Remove --per-query and --per-slice.")
    return Shown(style, *per, not machine if trends is None else trends, by_kind)


def _design_of(
    context: typer.Context,
    runs: Sequence[Path],
    baseline: str | None,
    how: tuple[str, str],
    alpha: float,
    shown: Shown,
) -> Design | None:
    """Return how to compare runs, if a baseline, a test or a correction was given.

    ``how`` is the test and the correction. Without a baseline citebed compares all pairs. Programs
    get paired tests as separate rows.
    """
    if not any(is_given(context, name) for name in _COMPARING):
        return None
    if shown.machine and (shown.per_query or shown.per_slice or shown.trends or shown.by_kind):
        others = "--per-query, --per-slice, --trend and --by-kind"
        raise CitebedError(f"paired tests are separate rows. Remove {others}.")
    from citebed.evaluation.scoring.comparison import Design
    from citebed.runs.reader import find_run_name

    named = None if baseline is None else find_run_name(baseline, runs)
    return Design(baseline=named, test=how[0], correction=how[1], alpha=alpha)


def _compared(scored: Timeline, design: Design, units: str) -> Comparisons[StreamComparison]:
    how = {"test": design.test, "correction": design.correction, "units": units}
    return scored.compare(design.baseline, **how)


# --- TREC KBA's official scoring --------------------------------------------------------------


def _official_scores(judged: Any, runs: Any, **options: Any) -> OfficialTimeline:
    from citebed.timeline.scoring.official import official_timeline

    return official_timeline(judged, runs, **options)


def _check_options(context: typer.Context, official: bool, drawn: bool) -> None:
    """Raise an error for options that would have no effect, because the scoring by slices has its
    own.

    ``drawn`` says whether a page or figures are written, which always show slices.
    """
    unused = _OFFICIAL
    if official:
        unused = _PRINTED_SLICES if drawn else _PRINTED_SLICES | _SLICES
    typed = ", ".join(
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in unused and is_given(context, parameter.name)
    )
    if typed and official:
        page = "" if drawn else ", or write a page (--report), which also shows slices"
        raise CitebedError(f"--official scores without slices. Remove {typed}{page}.")
    if typed:
        raise CitebedError(f"{typed}: works only with the official scoring. Add --official.")
