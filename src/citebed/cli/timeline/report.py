"""What the verb ``timeline`` writes to be looked at: a page, and pictures as files."""

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
    from citebed.report.timeline.figures import Picture
    from citebed.timeline.timelines import Timeline

Over = Literal["time", "weight"]
Report = Annotated[
    Path | None,
    typer.Option("--report", help="A page to write: tables, pictures, trends, in one HTML file."),
]
Plots = Annotated[
    Path | None, typer.Option("--plots", help="A folder for the pictures, as SVG and PNG.")
]
Focus = Annotated[
    str | None,
    typer.Option("--focus", help="The query to picture beside all (else that of the top burst)."),
]
Pair = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--pair",
        metavar="RUN RUN",
        help="Two runs to picture as areas (else the best and those next to it).",
    ),
]
Areas = Annotated[
    Over,
    typer.Option(
        "--areas", help="Areas by time, slices as they last, or by weight: as they weigh."
    ),
]
_FOR_PICTURES = ("focus", "pair", "areas")


@dataclass(frozen=True, kw_only=True)
class Look:
    """What is to be written: a page, a folder of pictures, both or nothing.

    ``pairs`` are runs laid side by side, by name; ``over`` is what slices are as wide as there.
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
    """What was asked for, once it is sure that it can be written, and over nothing that is read.

    ``to`` are the page and the folder of pictures, ``pictured`` a pair of runs and how it
    is drawn; ``read`` are all files the command reads.
    """
    page, plots = to
    if not (page or plots):
        for parameter in context.command.params:
            if parameter.name in _FOR_PICTURES and is_given(context, parameter.name):
                raise CitebedError(
                    f"{parameter.opts[0]} is for pictures: give --report FILE or --plots DIR too."
                )
    known = frozenset(os.path.realpath(path) for path in read if path)
    if page:
        check_page(page, known)
    if page and plots and os.path.realpath(page) == os.path.realpath(plots):
        raise CitebedError(
            f"'{printable(page)}' cannot be both the page and the folder of pictures."
        )
    if plots and plots.exists() and not plots.is_dir():
        raise CitebedError(f"'{printable(plots)}' is a file; the pictures need a folder.")
    pairs = [_pair(pictured[0], runs)] if pictured[0] else []
    return Look(
        page=page, plots=plots, pairs=pairs, over=pictured[1], command=typed(context), read=known
    )


def _pair(pair: tuple[str, str], runs: Sequence[Path]) -> tuple[str, str]:
    from citebed.runs.reading import run_named

    first, second = (run_named(name, runs, "run to picture") for name in pair)
    check_pair((first, second))
    return first, second


def write_look(
    look: Look,
    timeline: Timeline,
    official: Sequence[Table],
    compared: Compared | None = None,
) -> None:
    """Draw and write; notes of what was written go to standard error."""
    from citebed.evaluation.scoring.comparing import Design
    from citebed.report.timeline.figures import timeline_pictures
    from citebed.report.timeline.page import Extras, timeline_page

    both = tuple(dict.fromkeys(("uniform", "burst", *timeline.weights)))
    pictures = timeline_pictures(timeline.runs, both, timeline.focus, look.pairs, look.over)
    if look.plots:
        _write_plots(look.plots, pictures, look.read)
    if look.page:
        from citebed.files.writing import write_whole

        judged = timeline.pairs.qrels.name
        title = f"{judged}: {count(len(timeline.runs), 'run')} over time"
        tests, design = compared or ((), Design())
        extras = Extras(official, tests, design, look.over)
        whole = timeline_page(timeline, pictures, extras, title, look.command).encode("utf-8")
        write_whole(look.page, whole)
        typer.echo(f"{printable(look.page)}: {len(whole) / 1e6:.1f} MB", err=True)


def _write_plots(folder: Path, pictures: Sequence[Picture], read: frozenset[str]) -> None:
    from citebed.report.drawing import write_files

    files = {name: whole for picture in pictures for name, whole in picture.files().items()}
    for name in files:
        if os.path.realpath(folder / name) in read:
            raise CitebedError(
                f"'{printable(folder / name)}' is one of the files that are read, and a "
                "picture would replace it. Give another folder."
            )
    write_files(folder, files.items())
    drawn = count(len(pictures), "picture")
    typer.echo(f"{printable(folder)}: {drawn} as SVG and PNG", err=True)
