"""``citebed serve``: the workbench over collections, and the pages of campaigns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from citebed.wording import printable

if TYPE_CHECKING:
    from citebed.judging.campaign import Campaign


def serve(
    collections: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[COLLECTION]...", help="Collections to open in the workbench."),
    ] = None,
    campaign: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of a campaign (repeatable).", show_default=False),
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="Database URL (overrides campaign.toml).")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Port (default: 8000, or any free port)."),
    ] = None,
    address: Annotated[
        str,
        typer.Option(
            help="Public address of the workbench behind a reverse proxy, e.g. "
            "https://papers.example.org."
        ),
    ] = "",
    allow: Annotated[
        list[Path] | None,
        typer.Option(help="Allow imports from this server folder (repeatable)."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the workbench in a browser.")
    ] = True,
) -> None:
    """Open the workbench in a browser: recommend, search, compare, import; or serve a campaign.

    The workbench listens on this machine only and opens with the address that citebed prints. On
    any other --host or --address it requires the password in CITEBED_PASSWORD. Scripts use the key
    that /api/docs describes. Assessors open a campaign with their personal links, organisers with a
    password ('citebed campaign organiser'); beside a collection, the workbench lists it too.

    Example: citebed serve acm-cr/
    """
    campaigns = _opened(campaign or [], database)
    if len(campaigns) == 1 and not collections:
        from citebed.web.campaigns.app import serve as run

        run(campaigns[0], host, port or 8000)
        return
    from citebed.web.workbench.server import PASSWORD, serve_workbench

    serve_workbench(
        collections or [], host, port, browser=browser, password=os.environ.get(PASSWORD, ""),
        address=address, allowed=allow or (), campaigns=campaigns,
        started=lambda at: tell(at, port),
    )  # fmt: skip


def _opened(folders: list[Path], database: str | None) -> list[Campaign]:
    if not folders:
        return []
    from citebed.judging import open_campaign

    return [open_campaign(each, database) for each in folders]


def tell(address: str, wanted: int | None = None) -> None:
    """Print the address of the workbench and how scripts authenticate."""
    from citebed.web.access import key_file
    from citebed.web.workbench.server import DEFAULT_PORT

    found = urlsplit(address)
    if wanted is None and found.port not in (None, DEFAULT_PORT):
        typer.echo(f"Port {DEFAULT_PORT} is in use, so citebed uses another.", err=True)
    typer.echo(f"The workbench is open at {printable(address)}", err=True)
    docs = f"{found.scheme}://{found.netloc}/api/docs"
    typer.echo(
        f"Scripts: the API is described at {printable(docs)}, its token is in "
        f"{printable(str(key_file()))}",
        err=True,
    )
    typer.echo("Press Ctrl-C to stop.", err=True)
