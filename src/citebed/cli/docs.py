"""The command ``docs``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from citebed.wording import count, printable


def docs(
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Output folder (default: in your cache folder)."),
    ] = None,
    browser: Annotated[
        bool,
        typer.Option("--open/--no-open", help="Open the handbook in a browser, or only write it."),
    ] = True,
) -> None:
    """Open the handbook in a browser: all pages, with a search, offline.

    citebed builds the handbook from the installed documentation on every call.

    Example: citebed docs
    """
    import webbrowser

    from citebed.files.environment import handbook_folder
    from citebed.report.handbook import build_handbook

    folder = out or handbook_folder()
    pages = build_handbook(folder)
    start = (folder / "index.html").absolute()
    typer.echo(f"{count(pages, 'page')}: {printable(start)}")
    if browser:
        webbrowser.open(start.as_uri())
