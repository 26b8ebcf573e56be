"""What the verb ``timeline`` writes to be looked at: a page, and pictures as files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.errors import CitebedError
from citebed.wording import count, printable

if TYPE_CHECKING:
    import polars as pl

    from citebed.timeline.scoring.query_slices import Cells
    from citebed.timeline.scoring.stream_scores import StreamScores
    from citebed.timeline.scoring.trends import Trend

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
    focus: str | None
    command: str
    read: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.page or self.plots)

    def check(self, cells: Cells) -> None:
        """A wrong query is better known before a long run is read."""
        if self.focus is not None:
            from citebed.report.timeline_series import query_number

            query_number(cells, self.focus)


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
        _check_page(page, known)
    if page and plots and os.path.realpath(page) == os.path.realpath(plots):
        raise CitebedError(
            f"'{printable(page)}' cannot be both the page and the folder of pictures."
        )
    if plots and plots.exists() and not plots.is_dir():
        raise CitebedError(f"'{printable(plots)}' is a file; the pictures need a folder.")
    return Look(page=page, plots=plots, focus=focus, command=typed(context), read=known)


def _check_page(page: Path, read: frozenset[str]) -> None:
    """Where a page goes: to a new file, or in place of a page; never over data."""
    name = printable(page)
    if not page.parent.is_dir():
        raise CitebedError(
            f"there is no folder '{printable(page.parent)}' for the page. Make it first."
        )
    if page.is_dir():
        example = printable(page / "report.html")
        raise CitebedError(f"'{name}' is a folder; name a file, e.g. {example}.")
    if page.exists() and not page.is_file():
        raise CitebedError(f"'{name}' is a device or a pipe; name a plain file.")
    if os.path.realpath(page) in read:
        raise CitebedError(f"'{name}' is one of the files that are read; name another.")
    if page.suffix.lower() not in (".html", ".htm"):
        raise CitebedError(f"'{name}': the page is HTML; name a file that ends in .html.")


def typed(context: typer.Context) -> str:
    """The command as it could be typed again; files by their names, not by where they are."""
    words = []
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        option = parameter.param_type_name == "option"
        path = parameter.type.name in ("path", "file", "directory")
        if isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            words += [*parameter.opts[:1], _word(one, path)] if option else [_word(one, path)]
    return shlex.join(["citebed", "timeline", *words])


def _word(value: Any, path: bool) -> str:
    """A value as it was typed; of a path, its name (a slicing may be one too)."""
    plain = str(getattr(value, "value", value))
    return printable(Path(plain).name or "." if path or Path(plain).is_file() else plain)


def write_look(
    look: Look,
    runs: Sequence[StreamScores],
    weights: Sequence[str],
    trends: Sequence[tuple[StreamScores, str, Trend]],
    alpha: float,
    official: Mapping[str, pl.DataFrame],
) -> None:
    """Draw and write; notes of what was written go to standard error."""
    from citebed.report.drawing import write_files
    from citebed.report.timeline_figures import Choice, timeline_pictures
    from citebed.report.timeline_page import TimelineStudy, timeline_page

    both = tuple(dict.fromkeys(("uniform", "burst", *weights)))
    pictures = timeline_pictures(runs, Choice(weights=both, focus=look.focus))
    if look.plots:
        files = {name: whole for picture in pictures for name, whole in picture.files().items()}
        for name in files:
            if os.path.realpath(look.plots / name) in look.read:
                raise CitebedError(
                    f"'{printable(look.plots / name)}' is one of the files that are read, and a "
                    "picture would replace it. Give another folder."
                )
        write_files(look.plots, files)
        drawn = count(len(pictures), "picture")
        typer.echo(f"{printable(look.plots)}: {drawn} as SVG and PNG", err=True)
    if look.page:
        study = TimelineStudy(
            runs=runs, weights=weights, pictures=pictures, alpha=alpha, official=official,
            trends=[(scores.run, measure, found) for scores, measure, found in trends],
        )  # fmt: skip
        judged = runs[0].cells.truth.judged.name
        title = f"{judged}: {count(len(runs), 'run')} over time"
        _write(look.page, timeline_page(study, title, look.command))


def _write(path: Path, page: str) -> None:
    from citebed.files.writing import write_whole

    whole = page.encode("utf-8")
    write_whole(path, whole)
    typer.echo(f"{printable(path)}: {len(whole) / 1e6:.1f} MB", err=True)
