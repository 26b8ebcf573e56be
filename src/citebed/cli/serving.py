"""``citebed serve``: the web pages of a campaign, for judges and organisers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    campaign: Annotated[Path, typer.Option(help="The campaign's folder.", show_default=False)],
    database: Annotated[
        str | None, typer.Option(help="postgresql://…, if not as the campaign's file says.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8000,
) -> None:
    """Serve a campaign: judges' pages by their personal links, the organisers' desks by password.

    Organisers are added with 'citebed campaign organiser'. Behind a web server that speaks https,
    give its address with 'citebed campaign new --address'.

    Example: citebed serve --campaign cr26
    """
    from citebed.judging import open_campaign
    from citebed.web.campaigns.serving import serve as run

    run(open_campaign(campaign, database), host, port)
