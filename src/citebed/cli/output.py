"""Shared output of the commands: rows for programs, tables for people, checks of output paths."""

from __future__ import annotations

import csv
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated, Any

import typer

from citebed.errors import CitebedError
from citebed.report.terminal import exact
from citebed.wording import count, escape_formulas, json_for_terminal, printable

Rows = Sequence[Mapping[str, Any]]

AsJson = Annotated[bool, typer.Option("--json", help="Print rows as JSON, for programs.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print rows as CSV, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress and summary.")]
CollectionFolder = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="The collection's folder.", show_default=False)
]


def a_number(value: float) -> float:
    """Return an option's value, but reject nan, which passes every range check."""
    if math.isnan(value):
        raise typer.BadParameter("nan is not a number.")
    return value


def needs(other: str) -> Callable[[typer.Context, typer.CallbackParam, Any], Any]:
    """Return a check for an option that requires another option, which must be eager."""

    def check(context: typer.Context, parameter: typer.CallbackParam, value: Any) -> Any:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE" and not context.params.get(other):
            raise typer.BadParameter(f"this option needs --{other}.")
        return a_number(value) if isinstance(value, float) else value

    return check


def print_json(rows: Rows) -> None:
    """Print one JSON array of flat rows, one row per line."""
    out = exact()
    plain = not (out.encoding or "utf-8").lower().startswith("utf")
    lines = ",\n".join(json_for_terminal(row, ascii_only=plain) for row in rows)
    out.write(f"[{lines}]\n")


def print_csv(rows: Rows) -> None:
    """Print CSV with a header of all names; neutralise cells that a spreadsheet would execute."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    changed = 0

    def cell(value: object) -> object:
        nonlocal changed
        if not isinstance(value, str):
            return value
        text = escape_formulas(value)
        changed += text != value
        return printable(text)

    writer = csv.writer(exact())
    writer.writerow([cell(name) for name in names])
    writer.writerows([cell(row.get(name)) for name in names] for row in rows)
    if changed:
        cells = f"{count(changed, 'cell')} that a spreadsheet would execute"
        typer.echo(
            f"note: {cells} got an apostrophe in front. Use --json for the original text", err=True
        )


def style_of(format: str | None, as_json: bool, as_csv: bool) -> str:
    """Return the output format; --json and --csv are short for a format, the default is a table."""
    styles = {"json": "--json"} if as_json else {}
    if as_csv:
        styles["csv"] = "--csv"
    if format is not None:
        styles.setdefault(format, f"--format {format}")
    if len(styles) > 1:
        raise CitebedError(f"{' and '.join(styles.values())} were given. Choose one.")
    return next(iter(styles), "table")


def say_all(lines: Iterable[str], style: str) -> None:
    """Print sentences below the table; to standard error if a program reads the output."""
    for line in lines:
        typer.echo(line, err=style != "table")


def print_rows(rows: Rows, style: str) -> None:
    """Print rows for programs: CSV if asked for, else JSON."""
    (print_csv if style == "csv" else print_json)(rows)


def say(text: str) -> None:
    """Print a line for people to standard error."""
    typer.echo(text, err=True)


def tell_of_terminal(what: str) -> None:
    """Say that citebed reads standard input, if that is a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        typer.echo(f"reading {what} from the terminal; press Ctrl-D to finish", err=True)


def check_page(page: Path, read: Set[str]) -> None:
    """Return the path for a page: a new file or an existing page, never a data file.

    ``read`` are the real paths of the input files.
    """
    name = printable(page)
    if not page.parent.is_dir():
        raise CitebedError(
            f"the folder '{printable(page.parent)}' does not exist. Create it first."
        )
    if page.is_dir():
        example = printable(page / "report.html")
        raise CitebedError(f"'{name}' is a folder. Name a file, e.g. {example}.")
    if page.exists() and not page.is_file():
        raise CitebedError(f"'{name}' is a device or a pipe. Name a regular file.")
    if os.path.realpath(page) in read:
        raise CitebedError(f"'{name}' is also an input file. Name another output file.")
    if page.suffix.lower() not in (".html", ".htm"):
        raise CitebedError(f"'{name}': the page is HTML. Name a file that ends in .html.")


def is_given(context: typer.Context, name: str | None) -> bool:
    """Return True if the user gave this parameter, so that it is not at its default."""
    source = context.get_parameter_source(name or "")
    return source is not None and source.name == "COMMANDLINE"


def typed(context: typer.Context) -> str:
    """Return the command line to repeat this command, with file names instead of paths."""
    words = ["citebed", context.command.name or ""]
    for parameter in context.command.params:
        if not is_given(context, parameter.name):
            continue
        value = context.params[parameter.name or ""]
        if isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
            continue
        name = parameter.opts[:1] if parameter.param_type_name == "option" else []
        path = parameter.type.name in ("path", "file", "directory")
        if parameter.nargs > 1:
            words += [*name, *(_word(part, path) for part in value)]
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            words += [*name, _word(one, path)]
    return shlex.join(words)


def _word(value: Any, path: bool) -> str:
    """Return a value as it was typed; for a path (also one of a slicing) its name."""
    plain = str(value)
    return printable(Path(plain).name or "." if path or Path(plain).is_file() else plain)
