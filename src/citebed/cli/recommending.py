"""``citebed recommend``: from the text that was given to what is printed."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from citebed.cli.output import print_json
from citebed.collection import Collection
from citebed.drafts import Draft, draft_of
from citebed.errors import CitebedError
from citebed.report.recommendation_text import passage_lines
from citebed.retrieval.questions import may_be_path, read_given
from citebed.retrieval.recommendations import Recommendations


def draft_to_ask(text: str) -> tuple[Draft, str]:
    """The text that was given, the file that it names or standard input, and how to ask."""
    if text == "-":
        if sys.stdin is None:
            raise CitebedError("standard input is closed; give the text or a file")
        if sys.stdin.isatty():
            typer.echo("reading the text from the terminal; end with Ctrl-D", err=True)
        draft, each = draft_of(sys.stdin.buffer.read(), "standard input"), "text"
    else:
        is_file = may_be_path(text) and Path(text).exists()
        draft, each = read_given(Path(text) if is_file else text)
    for note in draft.notes:
        typer.echo(f"note: {note}", err=True)
    return draft, each


def print_recommendations(collection: Collection, found: Recommendations, form: str) -> None:
    """Print as people, programs or BibTeX files want it."""
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    if form == "json":
        print_json(found.rows)
    elif form == "bibtex":
        from citebed.collection.formats.bibtex import entry_of

        names = dict.fromkeys(each.doc_id for each in found)
        entries = [entry_of(collection.document(name)).strip() for name in names]
        sys.stdout.write("\n\n".join(entries) + "\n")
    else:
        for passage in found.passages:
            alone = len(found.passages) == 1
            lines = passage_lines(passage, found.of(passage), alone=alone)
            sys.stdout.write("\n".join(lines) + "\n")
    if found.left_out:
        many = len(found.left_out)
        typer.echo(f"left out {many} that the text cites already or is itself", err=True)
