"""What the verb ``timeline`` writes to be looked at: a page, and pictures as files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.output import check_page, typed
from citebed.errors import CitebedError
from citebed.wording import count, printable

if TYPE_CHECKING:
    import polars as pl

    from citebed.report.timeline_figures import Picture
    from citebed.timeline.timelines import Timeline

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


@dataclass(frozen=True, kw_only=True)
class Look:
    """What is to be written: a page, a folder of pictures, both or nothing."""

    page: Path | None
    plots: Path | None
    command: str
    read: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.page or self.plots)


def look_of(
    context: typer.Context,
    to: tuple[Path | None, Path | None],
    focus: str | None,
    read: Iterable[Path | None],
) -> Look:
    """What was asked for, once it is sure that it can be written, and over nothing that is read.

    ``to`` are the page and the folder of pictures; ``read`` are all files the command reads.
    """
    page, plots = to
    if focus is not None and not (page or plots):
        raise CitebedError("--focus is for pictures: give --report FILE or --plots DIR too.")
    known = frozenset(os.path.realpath(path) for path in read if path)
    if page:
        check_page(page, known)
    if page and plots and os.path.realpath(page) == os.path.realpath(plots):
        raise CitebedError(
            f"'{printable(page)}' cannot be both the page and the folder of pictures."
        )
    if plots and plots.exists() and not plots.is_dir():
        raise CitebedError(f"'{printable(plots)}' is a file; the pictures need a folder.")
    return Look(page=page, plots=plots, command=typed(context), read=known)


def write_look(look: Look, found: Timeline, official: Mapping[str, pl.DataFrame]) -> None:
    """Draw and write; notes of what was written go to standard error."""
    from citebed.report.timeline_figures import timeline_pictures
    from citebed.report.timeline_page import timeline_page

    both = tuple(dict.fromkeys(("uniform", "burst", *found.weights)))
    pictures = timeline_pictures(found.runs, both, found.focus)
    if look.plots:
        _write_plots(look.plots, pictures, look.read)
    if look.page:
        from citebed.files.writing import write_whole

        judged = found.cells.truth.judged.name
        title = f"{judged}: {count(len(found.runs), 'run')} over time"
        whole = timeline_page(found, pictures, official, title, look.command).encode("utf-8")
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
