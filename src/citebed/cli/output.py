"""What all verbs share: printing rows for machines, tables for people, where a page may go."""

from __future__ import annotations

import csv
import math
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated, Any

import typer

from citebed.errors import CitebedError
from citebed.files.spreadsheets import harmless
from citebed.report.terminal import exact
from citebed.wording import count, json_for_terminal, printable

Rows = Sequence[Mapping[str, Any]]

AsJson = Annotated[bool, typer.Option("--json", help="Print rows as JSON, for programs.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print rows as CSV, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
CollectionFolder = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="The collection's folder.", show_default=False)
]


def a_number(value: float) -> float:
    """The value of an option, unless it is nan, which is within every range."""
    if math.isnan(value):
        raise typer.BadParameter("nan is not a number.")
    return value


def print_json(rows: Rows) -> None:
    """One array of flat rows, a row a line."""
    out = exact()
    plain = not (out.encoding or "utf-8").lower().startswith("utf")
    lines = ",\n".join(json_for_terminal(row, ascii_only=plain) for row in rows)
    out.write(f"[{lines}]\n")


def print_csv(rows: Rows) -> None:
    """Rows with a header of all their names, and no text in them that a spreadsheet would run."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    changed = 0

    def cell(value: object) -> object:
        nonlocal changed
        if not isinstance(value, str):
            return value
        text = harmless(value)
        changed += text != value
        return printable(text)

    writer = csv.writer(exact())
    writer.writerow([cell(name) for name in names])
    writer.writerows([cell(row.get(name)) for name in names] for row in rows)
    if changed:
        cells = f"{count(changed, 'cell')} that a spreadsheet would run"
        typer.echo(f"note: {cells} got an apostrophe in front; --json has them as given", err=True)


def style_of(format: str | None, as_json: bool, as_csv: bool) -> str:
    """How to print it: a table unless told; --json and --csv are short for a format."""
    styles = {"json": "--json"} if as_json else {}
    if as_csv:
        styles["csv"] = "--csv"
    if format is not None:
        styles.setdefault(format, f"--format {format}")
    if len(styles) > 1:
        raise CitebedError(f"{' and '.join(styles.values())} were given. Choose one.")
    return next(iter(styles), "table")


def say_all(lines: Iterable[str], style: str) -> None:
    """Sentences under the table; on standard error where programs read the output."""
    for line in lines:
        typer.echo(line, err=style != "table")


def print_rows(rows: Rows, style: str) -> None:
    """Rows for programs: CSV, else JSON."""
    (print_csv if style == "csv" else print_json)(rows)


def say(text: str) -> None:
    """A line for people, beside the results."""
    typer.echo(text, err=True)


def tell_of_terminal(what: str) -> None:
    """Say that standard input is awaited, where somebody would have to type it."""
    if sys.stdin is not None and sys.stdin.isatty():
        typer.echo(f"reading {what} from the terminal; end with Ctrl-D", err=True)


def check_page(page: Path, read: Set[str]) -> None:
    """Where a page goes: to a new file, or in place of a page; never over data.

    ``read`` are the real paths of the files that it is made of.
    """
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


def is_given(context: typer.Context, name: str | None) -> bool:
    """Whether a parameter of the command was typed, and not left at its default."""
    source = context.get_parameter_source(name or "")
    return source is not None and source.name == "COMMANDLINE"


def typed(context: typer.Context) -> str:
    """The command as it could be typed again; files by their names, not by where they are."""
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
    """A value as it was typed; of a path, its name (a slicing may be one too)."""
    plain = str(value)
    return printable(Path(plain).name or "." if path or Path(plain).is_file() else plain)
