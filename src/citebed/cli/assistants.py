"""The command ``mcp``: a collection as tools for assistants."""

from __future__ import annotations

from pathlib import Path

from citebed.cli.output import say
from citebed.options import argument, option


def mcp(
    collection: Path | None = argument(
        None,
        "The collection's folder (default: CITEBED_COLLECTION, or the collection in this folder).",
        show_default=False,
    ),
    http: int | None = option(
        None, "Listen on this port of 127.0.0.1 instead of standard input; 0: any free port.",
        min=0, max=65535,
    ),
) -> None:  # fmt: skip
    """Let an assistant (Claude, ChatGPT, an editor) search a collection and cite from it.

    Assistants start this command themselves: 'citebed docs' has the lines for the settings of each
    program, on its page about assistants. The tools only read. Nothing leaves your machine except
    what the assistant sends on.

    Example: citebed mcp mine/
    """
    from citebed.editors.assistant import serve
    from citebed.writing.collection_choice import find_collection

    folder = find_collection(Path.cwd(), collection)
    serve(folder, http, lambda address: say(f"The tools are at {address}; press Ctrl-C to stop."))
