"""The command ``check``."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.options import RowOptions
from citebed.cli.output import print_notes, print_rows, say
from citebed.errors import CitebedError, UnknownName
from citebed.files.file_kinds import MANIFEST
from citebed.options import option
from citebed.wording import count, printable
from citebed.writing.check import CheckOptions

if TYPE_CHECKING:
    from citebed.collection import Collection

_FORMATS = ("text", "lines")
_LEVELS = ("error", "warning", "note", "never")


@dataclass(frozen=True, kw_only=True)
class CheckCommand(CheckOptions):
    """What to check, and what to do with the findings."""

    fix: bool = option(False, "Correct wrong details in the .bib files, and show the changes.")
    diff: bool = option(False, "Show what --fix would change, and change nothing.")
    fail_on: str = option(
        "warning", f"Exit with 1 for findings of this severity or higher: {', '.join(_LEVELS)}."
    )
    sarif: Path | None = option(None, "Write the findings to this file in SARIF (-: print them).")


@dataclass(frozen=True, kw_only=True)
class CheckOutput(RowOptions):
    """How to print findings."""

    format: str | None = option(
        None, "One of text, lines; 'lines' prints 'file:line:column: severity: …' for editors."
    )


def check(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="[COLLECTION] DRAFT…",
            help="Drafts, PDFs or .bib files; first, if you like, the collection's folder. By "
            "default, citebed looks for a collection beside the draft.",
            show_default=False,
        ),
    ],
    options: CheckCommand,
    output: CheckOutput,
) -> int:
    """Check that the references of a draft are real and right.

    A reference is fine, has wrong details, is not found, or is not in this collection, which is no
    error. citebed also reports keys without an entry, entries that are never cited, works with two
    keys, published preprints and retracted works. The exit code is 1 if it found something (see
    --fail-on).

    Example: citebed check mine/ draft.tex
    """
    from citebed.report.draft_check import check_lines, check_sarif, editor_lines
    from citebed.writing.bib_fixes import diff_fixes, write_fixes
    from citebed.writing.check import check_draft, merge_reports

    if options.fail_on not in _LEVELS:
        raise UnknownName("severity", options.fail_on, _LEVELS)
    if output.format is not None and output.format not in _FORMATS:
        raise UnknownName("output format", output.format, _FORMATS)
    if options.fix and options.diff:
        raise typer.BadParameter("--fix and --diff were given. Choose one.")
    collection, drafts = _collection(sources)
    report = merge_reports([check_draft(draft, collection, options) for draft in drafts])
    print_notes(report.notes)
    if options.fix or options.diff:
        for file, fixes in report.fixes.items():
            sys.stdout.write(diff_fixes(file, fixes))
            if options.fix:
                done = write_fixes(file, fixes)
                say(f"corrected {count(done, 'detail')} in {printable(file)}")
        report = report.without_fixes() if options.fix else report
    if options.sarif is not None:
        _write_sarif(options.sarif, check_sarif(report))
    if output.is_rows:
        print_rows(report.rows, output.style)
    elif str(options.sarif) != "-":
        lines = editor_lines(report) if output.format == "lines" else check_lines(report)
        sys.stdout.writelines(f"{line}\n" for line in lines)
    return int(report.fails(options.fail_on))


def _collection(sources: list[Path]) -> tuple[Collection | None, list[Path]]:
    """Return the collection and the drafts; without a collection, a note says why."""
    from citebed.collection import open_collection
    from citebed.writing.collection_choice import COLLECTION, find_collection

    if (sources[0] / MANIFEST).is_file():
        if len(sources) == 1:
            raise typer.BadParameter("name at least one draft or .bib file to check")
        return open_collection(sources[0]), sources[1:]
    try:
        return open_collection(find_collection(sources[0].parent)), sources
    except CitebedError as error:
        if os.environ.get(COLLECTION):
            raise
        print_notes([str(error)])
    return None, sources


def _write_sarif(path: Path, text: str) -> None:
    from citebed.files.output_files import write_file
    from citebed.report.terminal import exact

    if str(path) == "-":
        exact().write(text)
    else:
        write_file(path, text)
