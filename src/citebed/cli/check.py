"""The command ``check``."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from citebed.cli.options import LineOptions
from citebed.cli.output import print_notes, print_rows, say
from citebed.errors import CitebedError, UnknownName
from citebed.files.file_kinds import MANIFEST
from citebed.options import option
from citebed.wording import count, printable
from citebed.writing.check import CheckOptions

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


def check(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="[COLLECTION] DRAFT…",
            help="Drafts, PDFs or .bib files; you can name the collection's folder first. By "
            "default, citebed looks for a collection beside the draft.",
            show_default=False,
        ),
    ],
    options: CheckCommand,
    output: LineOptions,
) -> int:
    """Check that the references of a draft are real and right.

    A reference is fine, has wrong details, is not found, or is not in this collection, which is no
    error. citebed also reports keys without an entry, entries that are never cited, works with two
    keys, published preprints and retracted works. The exit code is 1 if it found something (see
    --fail-on).

    Example: citebed check mine/ draft.tex
    """
    from citebed.collection import open_collection
    from citebed.files.output_files import write_file
    from citebed.report.draft_check import check_lines, check_sarif, editor_lines
    from citebed.report.terminal import exact
    from citebed.writing.bib_fixes import diff_fixes, write_fixes
    from citebed.writing.check import check_draft, merge_reports
    from citebed.writing.collection_choice import COLLECTION, find_collection

    for what, name, known in (
        ("severity", options.fail_on, _LEVELS),
        ("output format", output.format or "text", _FORMATS),
    ):
        if name not in known:
            raise UnknownName(what, name, known)
    if options.fix and options.diff:
        raise typer.BadParameter("--fix and --diff were given. Choose one.")
    given = sources[0] if (sources[0] / MANIFEST).is_file() else None
    drafts = sources[1:] if given else sources
    if not drafts:
        raise typer.BadParameter("name at least one draft or .bib file to check")
    collection = None
    try:
        collection = open_collection(find_collection(drafts[0].parent, given))
    except CitebedError as error:
        if given or os.environ.get(COLLECTION):
            raise
        print_notes([str(error)])
    report = merge_reports([check_draft(draft, collection, options) for draft in drafts])
    print_notes(report.notes)
    for file, fixes in report.fixes.items() if options.fix or options.diff else ():
        sys.stdout.write(diff_fixes(file, fixes))
        if options.fix:
            done = write_fixes(file, fixes)
            say(f"corrected {count(done, 'detail')} in {printable(file)}")
    report = report.without_fixes() if options.fix else report
    if str(options.sarif) == "-":
        exact().write(check_sarif(report))
    elif options.sarif is not None:
        write_file(options.sarif, check_sarif(report))
    if output.is_rows:
        print_rows(report.rows, output.style)
    elif str(options.sarif) != "-":
        lines = editor_lines(report) if output.format == "lines" else check_lines(report)
        sys.stdout.writelines(f"{line}\n" for line in lines)
    return int(report.fails(options.fail_on))
