"""Serving a campaign: one process, until it is told to stop."""

from __future__ import annotations

import gc
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from citebed.errors import CitebedError
from citebed.judging.campaign import Campaign
from citebed.web.app import create_app

STOPPING_SECONDS = 10
BACKLOG = 2048


class _Server(uvicorn.Server):
    """Stops at Ctrl-C or SIGTERM after what was begun is answered, and simply returns."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen for the two signals while serving."""
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)


def serve(
    campaign: Campaign,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    started: Callable[[int], Any] | None = None,
) -> None:
    """Serve a campaign's pages until stopped; ``started`` is told the port when it listens.

    Links are secrets and stand in addresses, so no request is written to a log.
    """
    secure = campaign.settings.address.startswith("https://")
    config = uvicorn.Config(
        create_app(campaign, secure=secure),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )
    with _listening(host, port) as listening:
        # What is loaded by now stays: the collector need not look through it while judges wait.
        gc.collect()
        gc.freeze()
        if started is not None:
            started(int(listening.getsockname()[1]))
        _Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        made.close()
        raise CitebedError(f"cannot listen on {host}:{port}: {error}.") from error
    return made
