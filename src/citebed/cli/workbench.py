"""The commands ``serve`` and ``desk``: the workbench, the pages of campaigns, drafts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from citebed.cli.options import CollectionFolder, JsonOptions
from citebed.cli.output import say
from citebed.options import argument, option
from citebed.wording import count, for_terminal, printable


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The served collections and campaigns, and the address."""

    campaign: tuple[Path, ...] = option((), "Folder of a campaign (repeatable).")
    database: str | None = option(None, "Database URL (overrides campaign.toml).")
    host: str = option("127.0.0.1", "Address to listen on.")
    port: int | None = option(None, "Port (default: 8000, or any free port).", min=1, max=65535)
    address: str = option(
        "",
        "Public address of the workbench behind a reverse proxy, e.g. https://papers.example.org.",
    )
    allow: tuple[Path, ...] = option((), "Let users import from this folder (repeatable).")
    browser: bool = option(True, "Open the workbench in a browser.", "--browser/--no-browser")


def serve(
    options: ServeOptions,
    collections: tuple[Path, ...] = argument(
        (), "Collections to open in the workbench.", metavar="COLLECTION…"
    ),
) -> None:
    """Open the workbench in a browser: recommend, search, compare, import; or serve a campaign.

    By default, only this machine can reach it, at the address that citebed prints. If you set
    --address, or a --host that other machines can reach, users need the password that you set in
    CITEBED_PASSWORD. Scripts use the key that /api/docs describes. Assessors open a campaign with
    personal links, organisers with a password ('citebed campaign organiser'). If you name a
    collection and a campaign, the workbench has a page that lists the campaign.

    Example: citebed serve acm-cr/
    """
    campaigns = []
    if options.campaign:
        from citebed.judging import open_campaign

        campaigns = [open_campaign(each, options.database) for each in options.campaign]
    if len(campaigns) == 1 and not collections:
        from citebed.web.campaigns.app import serve as serve_campaign

        host = f"[{options.host}]" if ":" in options.host else options.host
        serve_campaign(campaigns[0], options.host, options.port or 8000, started=lambda port: say(
            f"Organisers log in at http://{host}:{port}/{campaigns[0].name}/login. Press Ctrl-C "
            "to stop."))  # fmt: skip
        return
    from citebed.web.workbench.server import PASSWORD, serve_workbench

    serve_workbench(
        collections, options.host, options.port, browser=options.browser,
        password=os.environ.get(PASSWORD, ""), address=options.address, allowed=options.allow,
        campaigns=campaigns, started=lambda at: print_address(at, options.port),
    )  # fmt: skip


def print_address(address: str, wanted: int | None = None) -> None:
    """Print the address of the workbench and how scripts authenticate."""
    from citebed.web.access import key_file
    from citebed.web.workbench.server import DEFAULT_PORT

    url = urlsplit(address)
    if wanted is None and url.port not in (None, DEFAULT_PORT):
        say(f"Port {DEFAULT_PORT} is in use, so citebed uses another.")
    say(f"The workbench is open at {printable(address)}")
    docs = printable(f"{url.scheme}://{url.netloc}/api/docs")
    key = printable(str(key_file()))
    say(f"Scripts: the API is described at {docs}, its token is in {key}")
    say("Press Ctrl-C to stop.")


def desk(
    collection: CollectionFolder,
    output: JsonOptions,
    qrels: Path | None = option(
        None, "Export your Good / Not this feedback as qrels to this file."
    ),
    queries: Path | None = option(None, "Export the judged passages as queries to this file."),
    overwrite: bool = option(False, "Overwrite existing files."),
) -> None:
    """List the drafts that you saved in the workbench, and export your feedback on them.

    "Good" and "Not this" of 'citebed serve' become your own test collection: 'citebed search'
    takes the queries, 'citebed evaluate' the judgements, and 'citebed tune' both.

    Example: citebed desk mine/ --qrels mine.qrels --queries mine.jsonl
    """
    from citebed.collection import open_collection
    from citebed.drafts.draft_store import DraftStore

    store = DraftStore(open_collection(collection).folder)
    if qrels is not None or queries is not None:
        written = store.export(qrels, queries, overwrite=overwrite)
        judged = count(store.qrels().table.height, "judgement")
        asked = count(store.queries().height, "query")
        say(f"wrote {', '.join(map(printable, written))} ({judged} for {asked})")
    drafts, lines = store.drafts(), []
    for draft in drafts:
        begin = " ".join(draft.excerpt.split())[:60]
        lines.append(for_terminal(draft.name or draft.file or begin or "an empty draft"))
        cites = count(draft.basket, "paper")
        lines.append(f"  {draft.draft_id}  changed {draft.changed[:16]}  {cites} in its basket")
    lines.append(f"{count(len(drafts), 'draft')} in the workbench")
    is_exported = qrels is not None or queries is not None
    output.print([draft._asdict() for draft in drafts], [] if is_exported else lines)
