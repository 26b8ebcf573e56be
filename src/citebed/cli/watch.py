"""The command ``watch``: keep a collection and its index current."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import typer

from citebed.cli.options import NewCollectionFolder
from citebed.cli.output import say
from citebed.options import argument, option


def watch(
    collection: NewCollectionFolder,
    paths: tuple[Path, ...] = argument(
        (),
        "Bibliographies, PDFs, drafts, and folders of these (default: the collection's sources).",
        metavar="PATH…",
        show_default=False,
    ),
    once: bool = option(False, "Update once, then end."),
    prune: bool = option(False, "When a file is deleted, remove its documents."),
) -> None:
    """Import and index files now, and again whenever they change, until you press Ctrl-C.

    Bibliographies and PDFs are imported; the sentences with which your drafts (.tex, .md, .docx …)
    cite become citing text of the index. 'citebed serve' and editors use the new index at once. A
    file that is half saved or damaged keeps its earlier records until it is whole again.

    Example: citebed watch mine/ library.bib drafts/
    """
    from citebed.writing.watch import watch as watch_files

    try:
        for update in watch_files(collection, paths, once=once, prune=prune):
            typer.echo(f"{datetime.now():%H:%M:%S}  {update.message}")
    except KeyboardInterrupt:
        say("stopped; the collection is complete")
