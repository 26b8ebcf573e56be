"""Printing for ``citebed fetch``: the list of public collections, a bar, and what to do next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from citebed.cli.output import print_json
from citebed.collection.fetching.catalogue import CATALOGUE, PublicCollection
from citebed.collection.fetching.fetching import fetch
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
    with _bar(quiet=as_json) as progress:
        report = fetch(name, folder, mirror=mirror, progress=progress)
    if as_json:
        rows = [
            {"path": f.path, "state": f.state, "bytes": f.bytes, "sha256": f.sha256}
            for f in report.files
        ]
        print_json(rows)
        return
    for file in report.files:
        typer.echo(
            f"{file.state:8} {printable(folder / file.path)}  {file.bytes or 0:,} bytes  "
            f"sha256 {file.sha256}"
        )
    typer.echo(f"\nNow run:\n  {printable(import_command(CATALOGUE[name], folder))}")


def import_command(item: PublicCollection, folder: Path) -> str:
    """The command that imports a fetched collection into a folder beside it."""
    words = ["citebed", "import", f"{folder}-collection"]
    words += [str(folder / path) for path in item.importable]
    if item.profile:
        words += ["--profile", item.profile]
    if item.exclude:
        words += ["--exclude", str(folder / item.exclude)]
    for member in item.members:
        words += ["--only", f"*/{member}*"]
    return shlex.join(words)


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[str, int, int | None], None]]:
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {}

        def tell(path: str, done: int, total: int | None) -> None:
            if path not in tasks:
                tasks[path] = bar.add_task(path)
            bar.update(tasks[path], completed=done, total=total)

        yield tell
