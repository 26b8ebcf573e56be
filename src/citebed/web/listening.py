"""Listening for browsers: one process, until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from citebed.errors import CitebedError

STOPPING_SECONDS = 10
BACKLOG = 2048
HEAD_SECONDS = 15.0
"""How long the head of a request may take; for bodies there is `protection.PATIENCE`."""


class _Impatient(H11Protocol):
    """A connection that ends where the head of a request takes too long; uvicorn would wait on."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Stop waiting when a head is whole; begin at the first bytes of the next one."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
        elif self._late is None and (before is None or before.response_complete):
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there to wait for."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._late = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
        self.transport.close()


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


def serve_app(
    app: FastAPI, host: str, port: int, started: Callable[[int], Any] | None = None
) -> None:
    """Serve an application until stopped; ``started`` is told the port when it listens.

    Secrets stand in addresses, so no request is written to a log.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        http=_Impatient,
        ws="none",
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
