"""Serving the workbench: one process, until it is told to stop."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError
from citebed.web.listening import serve_app
from citebed.web.workbench.access import LOCAL, Keys, server_key
from citebed.web.workbench.app import create_workbench
from citebed.web.workbench.shelf import Shelf

PASSWORD = "CITEBED_PASSWORD"


def serve_workbench(  # noqa: PLR0913 - the options of the command, by name
    collections: Sequence[Path],
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    browser: bool = True,
    password: str = "",
    allowed: Sequence[Path] = (),
    started: Callable[[str], Any] | None = None,
) -> None:
    """Serve the workbench until stopped; ``started`` is told its address, the key in it.

    On this machine's own addresses the key lets in; on any other there must be a ``password``.
    Files of this machine may be imported from folders that are ``allowed``.
    """
    is_local = host in LOCAL or host == "::1"
    if not is_local and not password:
        raise CitebedError(
            f"at {host} others could come in: that needs a login. Put a password into the "
            f"environment variable {PASSWORD}, or leave out --host to serve this machine only."
        )
    shelf = Shelf(collections)
    keys = Keys(server_key(), "" if is_local else password)
    app = create_workbench(
        shelf, keys, hosts=frozenset(LOCAL) if is_local else None, allowed=allowed
    )

    def listening(at: int) -> None:
        threading.Thread(target=_warm, args=(shelf,), daemon=True).start()
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{at}/" + (f"?key={keys.key}" if is_local else "")
        if started is not None:
            started(address)
        if browser:  # a browser may take its time, and be one that blocks
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    serve_app(app, host, port, listening)


def _warm(shelf: Shelf) -> None:
    """Have the models loaded before the first text is asked with."""
    for each in shelf:
        try:
            each.recommender.recommend("warm up", 1, min_probability=0.0)
        except CitebedError:
            continue  # whoever asks is told
