"""The command ``desk``: list drafts and export feedback on papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.output import AsJson, CollectionFolder, print_json, say

if TYPE_CHECKING:
    from citebed.drafts.draft_store import DraftSummary


def desk(
    collection: CollectionFolder,
    qrels: Annotated[
        Path | None,
        typer.Option(help="Export your Good / Not this feedback as qrels to this file."),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help="Export the judged passages as queries to this file."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite existing files.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the drafts in the workbench and export your feedback on them.

    "Good" and "Not this" of 'citebed serve' become your own test collection: 'citebed search'
    takes the queries, 'citebed evaluate' the judgements, and 'citebed tune' both.

    Example: citebed desk mine/ --qrels mine.qrels --queries mine.jsonl
    """
    from citebed.collection import open_collection
    from citebed.drafts.draft_store import DraftStore
    from citebed.wording import count, printable

    found = DraftStore(open_collection(collection).folder)
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


def _print(drafts: list[DraftSummary]) -> None:
    """Print the drafts for people."""
    from citebed.wording import count, for_terminal

    for draft in drafts:
        begin = " ".join(draft.excerpt.split())[:60]
        typer.echo(for_terminal(draft.name or draft.file or begin or "an empty draft"))
        cites = count(draft.basket, "paper")
        typer.echo(f"  {draft.draft_id}  changed {draft.changed[:16]}  {cites} in its basket")
    typer.echo(f"{count(len(drafts), 'draft')} in the workbench")
