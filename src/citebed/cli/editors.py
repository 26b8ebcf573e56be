"""The command ``lsp``: the language server for editors."""

from __future__ import annotations

from pathlib import Path

import typer

from citebed.errors import import_extra
from citebed.options import option


def lsp(
    collection: Path | None = option(
        None, "Collection to suggest from (default: the one near each draft)."
    ),
    tcp: int | None = option(
        None, "Listen on this port of this machine, to debug a client.", min=1, max=65535
    ),
) -> None:
    """Start the language server, which editors run: completion, hover, checks, code actions.

    An editor talks to it on standard input and output, so nothing is printed. The handbook's page
    on editors shows the few lines that each editor needs. citebed sends nothing anywhere.

    Example: citebed lsp --collection mine/
    """
    import_extra("editors", "pygls")
    from citebed.editors.language_server import serve

    if not serve(collection, tcp):
        raise typer.Exit(1)
