"""The commands ``timeline`` and ``timeline official``: scores of systems over time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from citebed.cli.contrast import find_pair
from citebed.cli.evaluation import PER_QUERY
from citebed.cli.options import (
    QrelsFile,
    RunFiles,
    RunSources,
    SparkOptions,
    TableOptions,
    is_given,
    typed,
)
from citebed.cli.output import check_page, print_lines, print_rows, say, write_page
from citebed.errors import CitebedError
from citebed.evaluation.options import Design
from citebed.options import option, without
from citebed.timeline.options import ASSESSORS, TIMES, UTC, SnapshotOptions, TimelineOptions
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.evaluation.scoring.comparison import Comparisons
    from citebed.report.tables import Table
    from citebed.runs.tables import Qrels
    from citebed.timeline.scoring.comparison import StreamComparison
    from citebed.timeline.scoring.official import OfficialTimeline
    from citebed.timeline.timelines import Timeline

    Tests = Sequence[Comparisons[StreamComparison]]

_COMPARING = ("baseline", "test", "correction")
_PICTURED = ("focus", "pair", "areas")


@dataclass(frozen=True, kw_only=True)
class TimelineCommand(TableOptions):
    """The scores and the output of ``timeline``."""

    slicing: tuple[str, ...] = option(
        (),
        "A length (12h, 1d, 7d, 1mo, 1y); all (one slice); equal:20 (20 relevant documents in "
        "each); random:30 (30 slices with random ends); burst (7d, in bursts 1d); or a file of "
        "boundaries. Repeatable. Default: about 30 slices.",
        "--slice",
    )
    per_query: bool = option(False, PER_QUERY, "-q")
    per_slice: bool = option(False, "Also print per-slice scores.", "-s")
    trends: bool | None = option(
        None,
        "Test whether scores fall over time (tables always show it unless you give --no-trend). "
        "With --json or --csv: print trends instead of scores.",
        "--trend/--no-trend",
    )
    by_kind: bool = option(
        False,
        "Also print scores by kind of query: atemporal (no burst of relevant documents), "
        "unambiguous (one) or ambiguous (several). With --json or --csv: print only these scores.",
    )
    teams: bool = option(
        False,
        "Show only the best run of each team, and no team that scores zero. The whole stream is "
        "one slice unless you give --slice.",
    )
    teams_file: Path | None = option(
        None, "Like --teams, with teams from a file of lines 'run team'."
    )
    intervals: bool = option(
        True, "Print bootstrap intervals of the means.", "--intervals/--no-intervals"
    )
    units: Literal["queries", "both"] = option(
        "queries", "Resampling unit for intervals and tests: queries, or queries and slices."
    )

    @property
    def has_trends(self) -> bool:
        """Whether to print trends; people see them by default."""
        return not self.is_rows if self.trends is None else self.trends


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """The page and the figures of ``timeline``."""

    report: Path | None = option(None, "Write tables, figures and trends to this HTML file.")
    plots: Path | None = option(None, "Save the figures to this folder as SVG and PNG.")
    official: bool = option(
        False,
        "With --report: also show TREC KBA's scores (without --report, use 'citebed timeline "
        "official').",
    )
    pair: tuple[str, str] | None = option(
        None,
        "Two runs to compare in the area figure (default: the best run with each of the next "
        "three).",
        metavar="RUN RUN",
    )
    areas: Literal["time", "weight"] = option(
        "time", "Width of a slice in the area figure: 'time' (its duration) or 'weight'."
    )


def timeline(
    context: typer.Context,
    qrels: QrelsFile,
    sources: RunSources,
    command: TimelineCommand,
    options: TimelineOptions,
    page: PageOptions,
    design: Annotated[Design, without("alpha")],
    spark: SparkOptions,
) -> None:
    """Score runs over a stream, slice by slice: how good are they, and do they stay good?

    Each document has a time: an epoch second in front of its id, as in TREC KBA, or from --times.
    citebed scores a run's documents in a slice against the relevant documents in that slice, and
    ignores slices that have none. A query's score is the weighted mean over slices, a system's
    score the mean over queries. With --baseline, --test or --correct, citebed also tests the
    differences between runs. 'citebed timeline snapshots' scores several collections.

    Example: citebed timeline kba.qrels *.run --slice 7d --weight uniform --weight burst -m AP
    """
    from citebed.runs.reader import find_run_name

    _check_options(context, command, page)
    runs = list(map(Path, sources))
    slicings: list[str | None] = [*dict.fromkeys(command.slicing)] or [None]
    files = [path for path in map(Path, command.slicing) if path.is_file()]
    read = frozenset(os.path.realpath(x) for x in (qrels, *runs, options.times, *files) if x)
    _check_outputs(page, read, len(slicings))
    pair = find_pair(page.pair, runs)
    is_compared = any(is_given(context, name) for name in _COMPARING)
    if design.baseline is not None:
        design = replace(design, baseline=find_run_name(design.baseline, runs))

    # Judgements are small; read them while the processors are idle.
    judged = _read_judgements(qrels)
    with _open_runs(sources, spark) as opened:
        # Load this while the first run is being read.
        from citebed.timeline.timelines import timeline as score_timeline

        options = replace(
            options,
            times=_read_times(options.times, options.utc),
            teams=command.teams_file or command.teams,
            units=command.units if command.intervals else None,
        )
        timelines = [
            score_timeline(judged, opened, options=replace(options, slices=slicing))
            for slicing in slicings
        ]
        scores = None
        if page.official:
            from citebed.timeline.scoring.official import official_timeline

            scores = official_timeline(
                judged, opened, times=options.times, assessors=options.assessors
            )
    tests = [
        scored.compare(
            design.baseline, test=design.test, correction=design.correction, units=command.units
        )
        for scored in timelines
        if is_compared
    ]
    if scores is None:
        _print_timelines(timelines, command, tests, options.alpha)
    else:
        _print_official(scores, command.style, False, command.per_query)
    if page.report or page.plots:
        _write_files(timelines[0], page, pair, read, scores, tests, design, typed(context))


def _check_options(context: typer.Context, command: TimelineCommand, page: PageOptions) -> None:
    """Raise an error for options that would have no effect, or that exclude each other."""

    def flags(*names: str) -> str:
        return ", ".join(
            parameter.opts[0]
            for parameter in context.command.params
            if parameter.name in names and is_given(context, parameter.name)
        )

    details = command.per_query or command.per_slice or command.by_kind
    if page.official and not (page.report or page.plots):
        raise CitebedError(
            "--official adds TREC KBA's scores to a page. Add --report FILE, or use 'citebed "
            "timeline official'."
        )
    if page.official and (typed := flags("per_slice", "trends", "by_kind", "on")):
        raise CitebedError(f"--official scores without slices. Remove {typed}.")
    if not (page.report or page.plots) and (typed := flags(*_PICTURED)):
        raise CitebedError(f"{typed} needs --report FILE or --plots DIR.")
    if not command.is_rows:
        return
    if flags(*_COMPARING) and (details or command.has_trends):
        others = "--per-query, --per-slice, --trend and --by-kind"
        raise CitebedError(f"paired tests are separate rows. Remove {others}.")
    if command.trends and details:
        others = "--per-query, --per-slice and --by-kind"
        raise CitebedError(f"--trend prints rows of trends. Remove {others}.")
    if command.by_kind and (command.per_query or command.per_slice):
        raise CitebedError("--by-kind prints rows of kinds. Remove --per-query and --per-slice.")


def _check_outputs(page: PageOptions, read: frozenset[str], slicings: int) -> None:
    """Raise an error unless the page and the figures can be written without harm to the inputs."""
    if (page.report or page.plots) and slicings > 1:
        raise CitebedError("a page and its figures show one slicing. Give --slice once.")
    if page.report:
        check_page(page.report, read)
    if page.report and page.plots and page.report.resolve() == page.plots.resolve():
        raise CitebedError(
            f"'{printable(page.report)}' cannot be both the page and the folder of pictures."
        )
    if page.plots and page.plots.exists() and not page.plots.is_dir():
        raise CitebedError(f"'{printable(page.plots)}' is a file. Name a folder for the figures.")


def _read_judgements(path: Path) -> Qrels:
    from citebed.files.input_files import reusable_path
    from citebed.runs.reader import read_judgement_table, run_name
    from citebed.runs.tables import Qrels

    with reusable_path(path) as file:
        return Qrels(read_judgement_table(file), run_name(path))


def _read_times(path: Path | None, utc: bool) -> Any:
    """Read times from a file, or from the dates of a collection's documents."""
    from citebed.timeline.streams.timed_qrels import times_of

    if path is None or not path.is_dir():
        return times_of(path, utc=utc)
    from citebed.collection import open_collection

    return times_of(open_collection(path))


@contextmanager
def _open_runs(sources: Sequence[str], spark: SparkOptions) -> Iterator[Any]:
    """Open the runs to score: local files, or paths that Spark reads."""
    if spark.on is None:
        from citebed.timeline.streams.run_sources import opened_runs

        with opened_runs(list(map(Path, sources))) as opened:
            yield opened
        return
    with spark.engine() as there:
        from citebed.distributed.evaluation import runs_on

        yield runs_on(there, sources)


# --- output: rows for programs; tables, trends and notes for people --------------------------


def _print_timelines(
    timelines: Sequence[Timeline], command: TimelineCommand, tests: Tests, alpha: float
) -> None:
    from citebed.report.evaluation_tables import comparison_table
    from citebed.report.timeline_tables import stream_comparison_notes, systems_table

    style, several = command.style, len(timelines) > 1
    if command.is_rows:
        rows: list[dict[str, Any]] = []
        for at, timeline in enumerate(timelines):
            slicing = {"slicing": timeline.pairs.slices.kind} if several else {}
            if tests:
                part = [test.row() for test in tests[at]]
            elif command.by_kind or command.has_trends:
                part = (timeline.by_kind if command.by_kind else timeline.trends).to_dicts()
            else:
                part = timeline.rows(per_query=command.per_query, per_slice=command.per_slice)
            rows += [{**row, **slicing} for row in part]
        print_rows(rows, style)
    else:
        for timeline in timelines:
            _print_details(timeline, command)
        typer.echo(systems_table(timelines).written(style), nl=style == "table")
    for at, timeline in enumerate(timelines):
        if several and not command.is_rows:
            print_lines([f"Slices of {timeline.pairs.slices.kind}:"], style)
        if tests and not command.is_rows:
            named = [of.named for of in tests[at]]
            typer.echo(comparison_table(named).written(style), nl=False)
        if tests:
            print_lines(stream_comparison_notes(tests[at], alpha), style)
        print_lines(_sentences(timeline, command), style)


def _print_details(timeline: Timeline, command: TimelineCommand) -> None:
    from citebed.report.timeline_tables import kinds_table, queries_table, slices_table

    for scores in timeline.runs:
        if command.per_query:
            typer.echo(queries_table(scores, timeline.weights).written(command.style))
        if command.per_slice:
            by_slice = {str(measure): scores.by_slice(measure) for measure in scores.measures}
            typer.echo(slices_table(scores.pairs, by_slice, scores.run).written(command.style))
    if command.by_kind:
        typer.echo(kinds_table(timeline).written(command.style))


def _sentences(timeline: Timeline, command: TimelineCommand) -> Iterator[str]:
    """Yield the trends, the notes and the coverage of the scores."""
    from citebed.report.timeline_tables import stability_sentences, trend_sentence
    from citebed.runs.times import format_time

    slices = timeline.pairs.slices
    if command.has_trends and not command.is_rows and len(slices) > 1:
        trends = (trend_sentence(*each, timeline.alpha) for each in timeline.trends_found)
        yield from dict.fromkeys(trends)
        yield from stability_sentences(timeline.runs)
    yield from (f"note: {note}" for note in (*timeline.notes(), *timeline.run_notes()))
    yield (
        f"{count(len(timeline.pairs.queries), 'query')} in {count(len(slices), 'slice')} from "
        f"{format_time(slices.bounds[0])} to {format_time(slices.bounds[-1])}; "
        f"{count(len(timeline.runs), 'run')} of "
        f"{count(sum(scores.ledger.skipped.lines for scores in timeline.runs), 'document')}"
    )


def _write_files(
    timeline: Timeline,
    page: PageOptions,
    pair: tuple[str, str] | None,
    read: frozenset[str],
    scores: OfficialTimeline | None,
    tests: Tests,
    design: Design,
    command: str,
) -> None:
    """Draw and write the page and the figures."""
    from citebed.report.figure_style import write_files
    from citebed.report.timeline_figures import timeline_pictures
    from citebed.report.timeline_page import Extras, timeline_page

    weights = tuple(dict.fromkeys(("uniform", "burst", *timeline.weights)))
    pairs = [pair] if pair else []
    pictures = timeline_pictures(timeline.runs, weights, timeline.focus, pairs, page.areas)
    if page.plots:
        files = {name: whole for picture in pictures for name, whole in picture.files().items()}
        for name in files:
            if os.path.realpath(page.plots / name) in read:
                raise CitebedError(
                    f"'{printable(page.plots / name)}' is an input file, and a figure would "
                    "overwrite it. Name another folder."
                )
        write_files(page.plots, files.items())
        say(f"{printable(page.plots)}: {count(len(pictures), 'picture')} as SVG and PNG")
    if page.report:
        title = f"{timeline.pairs.qrels.name}: {count(len(timeline.runs), 'run')} over time"
        design = replace(design, alpha=timeline.alpha) if tests else Design()
        official = _best_tables(scores) if scores else []
        extras = Extras(official, tests[0] if tests else (), design, page.areas)
        say(write_page(page.report, timeline_page(timeline, pictures, extras, title, command)))


# --- TREC KBA's official scoring --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OfficialOptions(TableOptions):
    """How to score filter runs as TREC KBA did, and what to print."""

    times: Path | None = option(None, TIMES)
    utc: bool = option(False, UTC)
    assessors: str = option("any-dissent-negative", ASSESSORS)
    cutoff_step: int = option(1, "Step between confidence cut-offs (0 to 999).")
    all_cutoffs: bool = option(False, "Print every cut-off instead of the best ones.")
    unjudged_negative: bool = option(False, "Count unjudged pairs as negatives.")
    require_positives: bool | None = option(
        None,
        "Score only entities with positives, or all entities (default: both).",
        "--require-positives/--all-entities",
    )
    per_query: bool = option(False, "Also print per-entity scores.", "-q")


def timeline_official(qrels: QrelsFile, runs: RunFiles, options: OfficialOptions) -> None:
    """Score filter runs as TREC KBA did: precision, recall, F1 and scaled utility at cut-offs.

    A document is accepted if its confidence is above the cut-off. citebed uses only the ids of
    --times, and recognises ids with a time in front. For a page with these scores, use 'citebed
    timeline' with --report and --official.

    Example: citebed timeline official kba.qrels *.run.gz -q
    """
    from citebed.timeline.streams.run_sources import opened_runs

    style, judged = options.style, _read_judgements(qrels)
    with opened_runs(runs) as opened:
        from citebed.timeline.scoring.official import official_timeline

        scores = official_timeline(
            judged, opened, times=_read_times(options.times, options.utc),
            assessors=options.assessors, step=options.cutoff_step,
            unjudged_negative=options.unjudged_negative,
            require_positives=options.require_positives,
        )  # fmt: skip
    _print_official(scores, style, options.all_cutoffs, options.per_query)


def _best_tables(official: OfficialTimeline) -> list[Table]:
    """Return the best cut-offs, each once, for people."""
    from citebed.report.timeline_tables import official_table

    teams = {scores.run: scores.team for scores in official.runs}
    return [
        official_table(
            official.merge_entity_rows(table),
            teams,
            caption=f"Official scores, best cut-offs by {by}",
        )
        for by, table in official.best.items()
    ]


def _print_official(
    official: OfficialTimeline, style: str, all_cutoffs: bool, per_query: bool
) -> None:
    """Print the scores at the best or at all cut-offs; with ``per_query`` also per entity."""
    from citebed.report.timeline_tables import ENTITIES, official_table

    whole = {"": official.table} if all_cutoffs else official.best
    entities = {by: official.entities(by) for by in whole} if per_query else {}
    teams = {scores.run: scores.team for scores in official.runs}
    if style in ("json", "csv"):
        # Rows say what their cut-off is best for, and their team if they have one.
        rows = [
            {**row, **({"best": by} if by else {}), **({"team": team} if team else {})}
            for part in (entities, whole)
            for by, table in part.items()
            for row in table.to_dicts()
            for team in [teams[row["run"]]]
        ]
        print_rows(rows, style)
    for by, table in whole.items() if style not in ("json", "csv") else ():
        if by and style == "table":
            typer.echo(f"Best cut-offs by {by}:")
        if per_query:
            typer.echo(official_table(entities[by], teams, ENTITIES).written(style))
        typer.echo(official_table(official.merge_entity_rows(table), teams).written(style))
    print_lines((f"note: {note}" for note in official.notes()), style)
    print_lines(
        (f"{scores.run}: {count(scores.skipped.lines, 'document')}" for scores in official.runs),
        style,
    )


# --- snapshots of a collection ----------------------------------------------------------------


def timeline_snapshots(
    snapshots: Annotated[
        list[Path], typer.Argument(help="Folders with judgements and runs, the oldest first.")
    ],
    output: TableOptions,
    options: SnapshotOptions,
) -> None:
    """Score runs in several snapshots of a collection, as in LongEval, and see how they change.

    Each snapshot has its own documents, queries and judgements. Runs of the same name belong to the
    same system. citebed compares every snapshot with the first: change, relative drop and, with
    --pivot, effect ratio and delta relative improvement. Queries that two snapshots share are
    compared in pairs. 'citebed timeline --snapshots' is the same command.

    Example: citebed timeline --snapshots 2023-03/ 2023-04/ 2023-08/ --pivot bm25
    """
    from citebed.report.timeline_tables import (
        overlap_table,
        snapshot_sentences,
        snapshots_table,
    )
    from citebed.timeline.snapshots import compare_snapshots

    scores = compare_snapshots(snapshots, options)
    style = output.style
    if output.is_rows:
        print_rows(scores.rows, style)
    else:
        tables = snapshots_table(scores), overlap_table(scores)  # an error comes before any output
        typer.echo(tables[1].written(style))
        typer.echo(tables[0].written(style), nl=style == "table")
        print_lines(snapshot_sentences(scores), style)
    print_lines((f"note: {note}" for note in scores.notes()), style)
