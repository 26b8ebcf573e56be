"""Printing for ``citebed fetch``: the list of public collections, and what to do next."""

from __future__ import annotations

from pathlib import Path

import typer

from citebed.cli.output import print_json
from citebed.collection.fetching.catalogue import CATALOGUE
from citebed.collection.fetching.fetching import fetch
from citebed.report.progress_bar import progress_bar
from citebed.wording import printable


def list_collections(as_json: bool) -> None:
    """All public collections that can be fetched."""
    if as_json:
        names = ("name", "title", "about", "licence", "homepage")
        print_json([{name: getattr(item, name) for name in names} for item in CATALOGUE.values()])
        return
    for item in CATALOGUE.values():
        typer.echo(f"{item.name:14} {item.about}\n{'':14} {item.homepage}; {item.licence}")


def fetch_collection(name: str, folder: Path, mirror: str | None, as_json: bool) -> None:
    """Get a collection and say how to import it."""
    with progress_bar(as_json) as progress:
        report = fetch(name, folder, mirror=mirror, progress=progress)
    if as_json:
        names = ("path", "state", "bytes", "sha256")
        print_json([{name: getattr(file, name) for name in names} for file in report.files])
        return
    for file in report.files:
        typer.echo(
            f"{file.state:8} {printable(folder / file.path)}  {file.bytes:,} bytes  "
            f"sha256 {file.sha256}"
        )
    typer.echo(f"\nNow run:\n  {printable(CATALOGUE[name].import_command(folder))}")
