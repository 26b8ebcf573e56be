"""``citebed serve``: the workbench over collections, and the pages of a campaign."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from citebed.wording import printable


def serve(
    collections: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[COLLECTION]...", help="Collections to work with."),
    ] = None,
    campaign: Annotated[
        Path | None, typer.Option(help="The folder of a campaign.", show_default=False)
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="postgresql://…, if not as the campaign's file says.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8000,
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
    any other --host it asks for the password in CITEBED_PASSWORD. A campaign is served to its
    judges by their personal links and to its organisers by password ('citebed campaign organiser').

    Example: citebed serve acm-cr/
    """
    if campaign is not None and not collections:
        from citebed.judging import open_campaign
        from citebed.web.campaigns.serving import serve as run

        run(open_campaign(campaign, database), host, port)
        return
    from citebed.web.workbench.serving import PASSWORD, serve_workbench

    def tell(address: str) -> None:
        typer.echo(f"The workbench is open at {printable(address)}", err=True)
        typer.echo("Ctrl-C ends it.", err=True)

    serve_workbench(
        collections or [], host, port, browser=browser, password=os.environ.get(PASSWORD, ""),
        allowed=allow or (), started=tell,
    )  # fmt: skip
