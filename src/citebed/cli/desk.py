"""The verb of the desk: which drafts are worked on, and what was said of papers for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.output import AsJson, CollectionFolder, print_json, say

if TYPE_CHECKING:
    from citebed.desk import DeskLine


def desk(
    collection: CollectionFolder,
    qrels: Annotated[
        Path | None,
        typer.Option(help="Write what was said of papers to this file, as judgements."),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help="Write the passages that it was said for to this file, as queries."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell which drafts are on the desk of the workbench, and hand on what was said for them.

    "Good" and "Not this" of 'citebed serve' become a test collection of your own: 'citebed search'
    takes the queries, 'citebed evaluate' the judgements, and 'citebed tune' both.

    Example: citebed desk mine/ --qrels mine.qrels --queries mine.jsonl
    """
    from citebed.collection import open_collection
    from citebed.desk import Desk
    from citebed.wording import count, printable

    found = Desk(open_collection(collection).folder)
    if qrels is not None or queries is not None:
        written = found.export(qrels, queries, overwrite=overwrite)
        said = count(found.qrels().table.height, "judgement")
        asked = count(found.queries().height, "query")
        say(f"wrote {', '.join(map(printable, written))} ({said} for {asked})")
    drafts = found.drafts()
    if as_json:
        print_json([draft._asdict() for draft in drafts])
    elif qrels is None and queries is None:
        _print(drafts)


def _print(drafts: list[DeskLine]) -> None:
    """The drafts for people."""
    from citebed.wording import count, for_terminal

    for draft in drafts:
        begin = " ".join(draft.excerpt.split())[:60]
        typer.echo(for_terminal(draft.name or draft.file or begin or "an empty draft"))
        cites = count(draft.basket, "paper")
        typer.echo(f"  {draft.draft_id}  changed {draft.changed[:16]}  {cites} in its basket")
    typer.echo(f"{count(len(drafts), 'draft')} on the desk")
