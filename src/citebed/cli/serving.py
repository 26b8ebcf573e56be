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
        typer.Argument(metavar="[COLLECTION]...", help="Collections to work with."),
    ] = None,
    campaign: Annotated[
        list[Path] | None,
        typer.Option(help="The folder of a campaign; may be repeated.", show_default=False),
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="postgresql://…, if not as the campaign's file says.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="The port; else 8000, or any that is free."),
    ] = None,
    address: Annotated[
        str,
        typer.Option(
            help="Where browsers reach the workbench, if a web server stands before it, such as "
            "https://papers.example.org."
        ),
    ] = "",
    allow: Annotated[
        list[Path] | None,
        typer.Option(help="A folder that pages may import files from; may be repeated."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the workbench in a browser.")
    ] = True,
) -> None:
    """Open the workbench in the browser: recommend, look up, compare, import; or serve a campaign.

    The workbench listens on this machine only and opens with the key in the address it prints. At
    any other --host or --address it asks for the password in CITEBED_PASSWORD. Scripts ask its API
    with the same key, as /api/docs tells. A campaign is served to its judges by their personal
    links and to its organisers by password ('citebed campaign organiser'); beside a collection the
    workbench lists it too.

    Example: citebed serve acm-cr/
    """
    campaigns = _opened(campaign or [], database)
    if len(campaigns) == 1 and not collections:
        from citebed.web.campaigns.serving import serve as run

        run(campaigns[0], host, port or 8000)
        return
    from citebed.web.workbench.serving import PASSWORD, serve_workbench

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
    """Say where the workbench is open, and how scripts come in."""
    from citebed.web.workbench.access import key_file
    from citebed.web.workbench.serving import USUAL_PORT

    found = urlsplit(address)
    if wanted is None and found.port not in (None, USUAL_PORT):
        typer.echo(f"Port {USUAL_PORT} is taken, so another is used.", err=True)
    typer.echo(f"The workbench is open at {printable(address)}", err=True)
    docs = f"{found.scheme}://{found.netloc}/api/docs"
    typer.echo(
        f"Scripts: the API is described at {printable(docs)}, its token is in "
        f"{printable(str(key_file()))}",
        err=True,
    )
    typer.echo("Ctrl-C ends it.", err=True)
