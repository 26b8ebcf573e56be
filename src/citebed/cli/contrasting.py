"""The verbs of judgement sets: contrast, pool-bias."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import AsCsv, AsJson
from citebed.cli.scoring_options import (
    Alpha,
    Cluster,
    Complete,
    Correct,
    Format,
    Measures,
    QrelsFile,
    Queries,
    RunFiles,
    Samples,
    Scores,
    ScoreType,
    Seed,
    Test,
    print_rows,
    resampling_of,
    settings_of,
    style_of,
)
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.evaluation.contrasts.contrasting import Contrast
    from citebed.evaluation.contrasts.pool_bias import PoolBias
    from citebed.report.grid import Grid

Rows = list[dict[str, Any]]
Parts = Mapping[str, Rows]


class ContrastPart(StrEnum):
    """One of a contrast's tables."""

    judgements = "judgements"
    changes = "changes"
    correlations = "correlations"
    conclusions = "conclusions"
    movers = "movers"
    queries = "queries"


class BiasPart(StrEnum):
    """One of a pool bias's tables."""

    falls = "falls"
    orders = "orders"
    unjudged = "unjudged"
    conclusions = "conclusions"


def register(app: typer.Typer) -> None:
    """Add the verbs of this file."""
    app.command("contrast")(contrast)
    app.command("pool-bias")(pool_bias)


def contrast(
    before: Annotated[
        Path, typer.Argument(help="The first judgements, e.g. of cited papers.", metavar="J1")
    ],
    after: Annotated[
        Path, typer.Argument(help="The second judgements, e.g. extended.", metavar="J12")
    ],
    runs: RunFiles,
    measures: Measures = None,
    part: Annotated[
        ContrastPart | None, typer.Option(help="Only this table (queries is only here).")
    ] = None,
    plots: Annotated[
        Path | None,
        typer.Option(help="A folder for scatter plots by query and a plot of the systems' means."),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option(metavar="RUN,RUN", help="With --plots: these two against each other too."),
    ] = None,
    largest: Annotated[
        int, typer.Option(min=0, help="How many of the largest moves, each way, are named.")
    ] = 5,
    keep_empty: Annotated[
        bool,
        typer.Option(help="Keep queries without a relevant document in one of the sets."),
    ] = False,
    test: Test = "t",
    correct: Correct = "none",
    alpha: Alpha = 0.05,
    complete: Complete = False,
    scores: Scores = ScoreType.double,
    cluster: Cluster = None,
    queries: Queries = None,
    samples: Samples = None,
    seed: Seed = 0,
    format: Format = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Contrast two judgement sets: the same runs under both.

    Each measure under both, correlations of systems and of queries (τ_AP takes the second set
    for the truth), which significant differences survive, and the queries that move most. Only
    queries judged in both sets count, and of those only such as have a relevant document in
    both (--keep-empty keeps the others). Measures: AP, P@5, Rprec, GMAP, Bpref unless named.

    Example: citebed contrast j1.qrels j12.qrels runs/*.run -m AP -m Bpref --plots figures/
    """
    from citebed.evaluation.contrasts.contrasting import (
        CONTRASTED,
        ContrastOptions,
    )
    from citebed.evaluation.contrasts.contrasting import (
        contrast as contrast_sets,
    )
    from citebed.evaluation.scoring.comparing import Design
    from citebed.runs.reading import read_runs, read_sets

    style = style_of(format, as_json, as_csv)
    if pair is not None and plots is None:
        raise typer.BadParameter("--pair is drawn with --plots FOLDER.")
    options = ContrastOptions(
        settings=settings_of(complete, scores),
        design=Design(test=test, correction=correct, alpha=alpha),
        resampling=resampling_of(after, cluster, queries, samples, seed, 0.95),
        keep_empty=keep_empty,
        largest=largest,
    )
    first, second = read_sets([before, after])
    found = contrast_sets(first, second, read_runs(runs), measures or CONTRASTED, options)
    drawn = _draw(found, plots, pair) if plots is not None else []
    if style in ("json", "csv"):
        _print_parts(_contrast_rows(found), part, style)
    else:
        _print_grids(_contrast_grids(found, part), style)
    _say(_contrast_lines(found, part, drawn, plots), err=style != "table")


def _draw(found: Contrast, folder: Path, pair: str | None) -> list[Path]:
    from citebed.report.contrast_figures import draw_contrast

    two = tuple(name.strip() for name in pair.split(",")) if pair is not None else None
    if two is not None and len(two) != 2:
        raise typer.BadParameter(f"--pair takes two runs, RUN,RUN; found '{pair}'.")
    return draw_contrast(found, folder, two)


def _contrast_rows(found: Contrast) -> Iterator[tuple[str, Rows]]:
    yield "judgements", [facts.row() for facts in found.sets.facts]
    yield "changes", [change.row() for change in found.changes]
    yield "correlations", [agreement.row() for agreement in found.agreements]
    yield "conclusions", [conclusion.row() for conclusion in found.conclusions]
    yield "movers", [mover.row() for mover in found.movers]
    yield "queries", found.query_rows()


def _print_parts(parts: Iterable[tuple[str, Rows]], wanted: StrEnum | None, style: str) -> None:
    """Rows of one part; or of all, each with the name of its part (every query's own apart)."""
    rows: Rows = []
    for name, part in parts:
        if wanted is None and name != ContrastPart.queries.value:
            rows += [{"part": name, **row} for row in part]
        elif wanted is not None and wanted.value == name:
            rows += part
    print_rows(rows, style)


def _contrast_grids(found: Contrast, part: ContrastPart | None) -> Iterator[tuple[str, Grid]]:
    from citebed.report import contrast_table as tables
    from citebed.report.grid import Grid

    def wanted(name: str) -> bool:
        return part is None or part.value == name

    first, second = found.sets.before.name, found.sets.after.name
    if wanted("judgements"):
        yield "Judgements", tables.sets_grid(found.sets.facts)
    if wanted("changes"):
        yield f"Means under {first} → under {second}", tables.changes_grid(found.changes)
        yield "Queries that rose, stayed, fell", tables.directions_grid(found.changes)
    if wanted("correlations"):
        yield f"Correlations of {first} with {second}", tables.agreements_grid(found.agreements)
    if wanted("conclusions") and found.conclusions:
        yield "Significant differences", tables.fates_grid(found.conclusions)
        changed = tables.conclusions_grid(found.conclusions, every=part is not None)
        if changed.rows:
            yield f"Differences under {first}, then {second}", changed
    if wanted("movers"):
        shown = 3 if part is None else None
        moved = tables.movers_grid(found.movers, shown)
        if moved.rows:
            yield "Queries that move most", moved
    if part is ContrastPart.queries:
        rows = [
            [r["measure"], r["run"], r["query_id"], f"{r['before']:.4f}", f"{r['after']:.4f}"]
            for r in found.query_rows()
        ]
        head = ["measure", "run", "query", first, second]
        yield "Every query", Grid(head, rows, frozenset({0, 1, 2}))


def _print_grids(grids: Iterable[tuple[str, Grid]], style: str) -> None:
    marks = {"table": "{}\n", "markdown": "**{}**\n\n", "latex": "% {}\n"}
    for number, (title, grid) in enumerate(grids):
        body = getattr(grid, "text" if style == "table" else style)()
        gap = "\n" if number else ""
        typer.echo(gap + marks[style].format(title) + body, nl=False)


def _contrast_lines(
    found: Contrast, part: ContrastPart | None, drawn: Sequence[Path], folder: Path | None
) -> Iterator[str]:
    from citebed.report.contrast_table import extremes_lines

    if part in (None, ContrastPart.movers):
        yield from extremes_lines(found)
    yield from (f"note: {note}" for note in found.notes())
    if folder is not None:
        yield f"{count(len(drawn), 'figure file')} in {printable(folder)}"
    yield (
        f"{count(len(found.sets.query_ids), 'query')} judged in both sets; "
        f"{count(len(found.before.runs), 'run')}"
    )


def _say(lines: Iterable[str], err: bool) -> None:
    """Sentences under the table; on standard error where programs read the output."""
    for line in lines:
        typer.echo(line, err=err)


def pool_bias(
    qrels: QrelsFile,
    runs: RunFiles,
    measures: Measures = None,
    teams: Annotated[
        Path | None,
        typer.Option(help="Lines 'run team': a team's runs are left out together."),
    ] = None,
    depth: Annotated[
        int, typer.Option(min=1, help="How deep a run contributes to the pool.")
    ] = 100,
    cutoffs: Annotated[
        list[int] | None,
        typer.Option("--cutoff", min=1, help="Where unjudged documents are counted; repeatable."),
    ] = None,
    part: Annotated[BiasPart | None, typer.Option(help="Only this table.")] = None,
    test: Test = "t",
    correct: Correct = "none",
    alpha: Alpha = 0.05,
    complete: Complete = False,
    scores: Scores = ScoreType.double,
    cluster: Cluster = None,
    queries: Queries = None,
    samples: Samples = None,
    seed: Seed = 0,
    format: Format = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Leave each run, or team, out of the pool: by how much does it fall?

    Judgements of documents that only it has in its first N (--depth) are taken away and all
    runs are scored again. Then, for every significant difference, whether it would stand if all
    unjudged documents of the worse run were relevant. Measures: AP, P@10, Bpref unless named.

    Example: citebed pool-bias all.qrels runs/*.run --teams teams.txt --depth 100 -m AP
    """
    from citebed.evaluation.contrasts.pool import read_teams
    from citebed.evaluation.contrasts.pool_bias import (
        CUTOFFS,
        MEASURES,
        PoolOptions,
    )
    from citebed.evaluation.contrasts.pool_bias import (
        pool_bias as leave_out,
    )
    from citebed.evaluation.scoring.comparing import Design
    from citebed.runs.reading import read_runs

    style = style_of(format, as_json, as_csv)
    options = PoolOptions(
        depth=depth,
        teams=read_teams(teams) if teams is not None else None,
        cutoffs=tuple(cutoffs or CUTOFFS),
        settings=settings_of(complete, scores),
        design=Design(test=test, correction=correct, alpha=alpha),
        resampling=resampling_of(qrels, cluster, queries, samples, seed, 0.95),
    )
    found = leave_out(qrels, read_runs(runs), measures or MEASURES, options)
    if style in ("json", "csv"):
        _print_parts(_bias_rows(found), part, style)
    else:
        _print_grids(_bias_grids(found, part), style)
    _say(_bias_lines(found), err=style != "table")


def _bias_rows(found: PoolBias) -> Iterator[tuple[str, Rows]]:
    yield "falls", [fall.row() for fall in found.falls]
    yield "orders", [order.row() for order in found.orders]
    yield "unjudged", [share.row() for share in found.shares]
    yield "conclusions", [bound.row() for bound in found.bounds]


def _bias_grids(found: PoolBias, part: BiasPart | None) -> Iterator[tuple[str, Grid]]:
    from citebed.report import contrast_table as tables

    made = {
        "falls": ("Left out of the pool", tables.falls_grid(found.falls)),
        "orders": ("Order of all runs, with and without", tables.orders_grid(found.orders)),
        "unjudged": ("Unjudged documents, with → without", tables.shares_grid(found.shares)),
        "conclusions": ("What rests on unjudged documents", tables.bounds_grid(found.bounds)),
    }
    return (
        titled
        for name, titled in made.items()
        if (part is None or part.value == name) and titled[1].rows
    )


def _bias_lines(found: PoolBias) -> Iterator[str]:
    from citebed.report.contrast_table import bias_lines

    yield from (bound.sentence() for bound in found.bounds if bound.verdict != "stands")
    yield from bias_lines(found)
