"""Files that the command ``timeline`` writes: an HTML page and figures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from citebed.cli.output import check_page, is_given, typed
from citebed.cli.pairs import check_pair
from citebed.errors import CitebedError
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.cli.timeline.printing import Compared
    from citebed.report.tables import Table
    from citebed.report.timeline_figures import TimelineFigure
    from citebed.timeline.timelines import Timeline

Over = Literal["time", "weight"]
Report = Annotated[
    Path | None,
    typer.Option("--report", help="Write tables, figures and trends to this HTML file."),
]
Plots = Annotated[
    Path | None, typer.Option("--plots", help="Save the figures to this folder as SVG and PNG.")
]
Focus = Annotated[
    str | None,
    typer.Option(
        "--focus",
        help="Query to plot next to the average (default: the query with the strongest burst).",
    ),
]
Pair = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--pair",
        metavar="RUN RUN",
        help="Two runs to plot as areas (default: the best run and the next ones).",
    ),
]
Areas = Annotated[
    Over,
    typer.Option("--areas", help="Area width per slice: 'time' (duration) or 'weight'."),
]
_FOR_PICTURES = ("focus", "pair", "areas")


@dataclass(frozen=True, kw_only=True)
class Look:
    """The files to write: a page, a folder of figures, both or nothing.

    ``pairs`` are the names of runs to plot side by side; ``over`` decides the slices' width there.
    """

    page: Path | None
    plots: Path | None
    pairs: list[tuple[str, str]]
    over: Over
    command: str
    read: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.page or self.plots)


def look_of(
    context: typer.Context,
    to: tuple[Path | None, Path | None],
    runs: Sequence[Path],
    pictured: tuple[tuple[str, str] | None, Over],
    read: Iterable[Path | None],
) -> Look:
    """Return the requested outputs after checking that citebed can write them without overwriting
    an input file.

    ``to`` are the page and the folder of figures, ``pictured`` a pair of runs and how to plot it;
    ``read`` are all input files.
    """
    page, plots = to
    if not (page or plots):
        for parameter in context.command.params:
            if parameter.name in _FOR_PICTURES and is_given(context, parameter.name):
                raise CitebedError(f"{parameter.opts[0]} needs --report FILE or --plots DIR.")
    known = frozenset(os.path.realpath(path) for path in read if path)
    if page:
        check_page(page, known)
    if page and plots and os.path.realpath(page) == os.path.realpath(plots):
        raise CitebedError(
            f"'{printable(page)}' cannot be both the page and the folder of pictures."
        )
    if plots and plots.exists() and not plots.is_dir():
        raise CitebedError(f"'{printable(plots)}' is a file. Name a folder for the figures.")
    pairs = [_pair(pictured[0], runs)] if pictured[0] else []
    return Look(
        page=page, plots=plots, pairs=pairs, over=pictured[1], command=typed(context), read=known
    )


def _pair(pair: tuple[str, str], runs: Sequence[Path]) -> tuple[str, str]:
    from citebed.runs.reader import find_run_name

    first, second = (find_run_name(name, runs, "run to plot") for name in pair)
    check_pair((first, second))
    return first, second


def write_look(
    look: Look,
    timeline: Timeline,
    official: Sequence[Table],
    compared: Compared | None = None,
) -> None:
    """Draw and write the files; print notes about them to standard error."""
    from citebed.evaluation.scoring.comparison import Design
    from citebed.report.timeline_figures import timeline_pictures
    from citebed.report.timeline_page import Extras, timeline_page

    both = tuple(dict.fromkeys(("uniform", "burst", *timeline.weights)))
    pictures = timeline_pictures(timeline.runs, both, timeline.focus, look.pairs, look.over)
    if look.plots:
        _write_plots(look.plots, pictures, look.read)
    if look.page:
        from citebed.files.output_files import write_file

        judged = timeline.pairs.qrels.name
        title = f"{judged}: {count(len(timeline.runs), 'run')} over time"
        tests, design = compared or ((), Design())
        extras = Extras(official, tests, design, look.over)
        whole = timeline_page(timeline, pictures, extras, title, look.command).encode("utf-8")
        write_file(look.page, whole)
        typer.echo(f"{printable(look.page)}: {len(whole) / 1e6:.1f} MB", err=True)


def _write_plots(folder: Path, pictures: Sequence[TimelineFigure], read: frozenset[str]) -> None:
    from citebed.report.figure_style import write_files

    files = {name: whole for picture in pictures for name, whole in picture.files().items()}
    for name in files:
        if os.path.realpath(folder / name) in read:
            raise CitebedError(
                f"'{printable(folder / name)}' is an input file, and a figure would overwrite it. "
                "Name another folder."
            )
    write_files(folder, files.items())
    drawn = count(len(pictures), "picture")
    typer.echo(f"{printable(folder)}: {drawn} as SVG and PNG", err=True)
