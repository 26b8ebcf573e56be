"""Output of the commands: rows for programs, sentences for people, checks of output paths."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import typer

from citebed.errors import CitebedError
from citebed.report.terminal import exact
from citebed.wording import count, escape_formulas, json_for_terminal, printable

Rows = Sequence[Mapping[str, Any]]


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
        if isinstance(value, tuple):
            value = "; ".join(value)
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
        say(f"note: {cells} got an apostrophe in front. Use --json for the original text")


def print_rows(rows: Rows, style: str) -> None:
    """Print rows for programs: CSV if the style is ``csv``, else JSON."""
    (print_csv if style == "csv" else print_json)(rows)


def print_lines(lines: Iterable[str], style: str) -> None:
    """Print sentences below the table; to standard error if a program reads the output."""
    for line in lines:
        typer.echo(line, err=style != "table")


def print_notes(notes: Iterable[str]) -> None:
    """Print notes about the results to standard error."""
    for note in notes:
        say(f"note: {note}")


def say(text: str) -> None:
    """Print a line for people to standard error."""
    typer.echo(text, err=True)


def announce_terminal_input(what: str) -> None:
    """Say that citebed reads standard input, if that is a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        say(f"reading {what} from the terminal; press Ctrl-D to finish")


def check_page(page: Path, read: Set[str]) -> None:
    """Raise an error unless a page can be written here: a new file, or an existing page.

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


def write_page(path: Path, page: str) -> str:
    """Write a page and return a sentence with its size."""
    from citebed.files.output_files import write_file

    whole = printable(page).encode()
    write_file(path, whole)
    return f"{printable(path)}: {len(whole) / 1e6:.1f} MB"
