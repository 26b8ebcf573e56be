"""Listening for browsers: one process, until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import gc
import resource
import signal
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from citebed.errors import CitebedError

STOPPING_SECONDS = 4
"""How long what was begun may take when the server is told to stop."""
BACKLOG = 2048
MOST_CONNECTIONS = 1000
"""Open at once; beyond that whoever has waited longest without asking anything has to go."""
SPARE_FILES = 200
"""Files that a server opens besides connections: tables, an index, a database."""
HEAD_SECONDS = 15.0
"""How long the head of a request may take; for bodies there is `protection.PATIENCE`."""


class _Impatient(H11Protocol):
    """A connection that ends where the head of a request takes too long; uvicorn would wait on.

    Those that wait, for a first request or for the next, stand in a row: where there are too many
    connections the one that has waited longest is closed, so that hanging ones keep nobody out.
    """

    _late: asyncio.TimerHandle | None = None
    _waiting: OrderedDict[_Impatient, None] = OrderedDict()  # noqa: RUF012 - of all connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_head()
        self._waiting[self] = None
        if len(self.connections) > MOST_CONNECTIONS:
            self._waiting.popitem(last=False)[0].transport.abort()

    def data_received(self, data: bytes) -> None:
        """Stop waiting when a head is whole; begin at the first bytes of the next one."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
        elif self._late is None and (before is None or before.response_complete):
            self._await_head()

    def on_response_complete(self) -> None:
        """Stand in the row again, until there is another request."""
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there to wait for."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._late = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _stop_waiting(self) -> None:
        self._waiting.pop(self, None)
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
    app: ASGIApp,
    host: str,
    port: int | Sequence[int],
    started: Callable[[int], Any] | None = None,
    *,
    is_behind_proxy: bool = False,
) -> None:
    """Serve an application until stopped; ``started`` is told the port when it listens.

    Of several ports the first that is free is taken. Only ``is_behind_proxy`` are visitors'
    addresses read from `X-Forwarded-For`: else everybody on this machine could choose their own,
    and so guess passwords without limit.

    Secrets stand in addresses, so no request is written to a log.
    """
    config = uvicorn.Config(
        app,
        host=host,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        http=_Impatient,
        ws="none",
        proxy_headers=is_behind_proxy,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )
    ports = [port] if isinstance(port, int) else list(port)
    server = _Server(config)
    with _listening(host, ports) as listening, server.capture_signals():
        _allow_connections()
        # What is loaded by now stays: the collector need not look through it while judges wait.
        gc.collect()
        gc.freeze()
        if started is not None:
            started(int(listening.getsockname()[1]))
        server.run(sockets=[listening])


def has_proxy(address: str) -> bool:
    """Return True if the address that visitors know is not one of this machine's own."""
    return urlsplit(address).hostname not in ("localhost", "127.0.0.1", "::1")


def _listening(host: str, ports: Sequence[int]) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in ports:
        # Named as TCP, or asyncio leaves Nagle's algorithm on, and each answer waits for 40 ms.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, port))
            made.listen(BACKLOG)
        except (OSError, OverflowError) as error:
            made.close()
            is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            if is_taken and port != ports[-1]:
                continue
            raise CitebedError(_not_listening(host, port, error, is_taken)) from error
        return made
    raise CitebedError(f"no port of {host} to listen on was named.")


def _not_listening(host: str, port: int, error: Exception, is_taken: bool) -> str:
    what_to_do = " Another server may run there: stop it, or choose another --port."
    return f"cannot listen on {host}:{port}: {error}.{what_to_do if is_taken else ''}"


def _allow_connections() -> None:
    """Let this process open as many files as that takes, where the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + SPARE_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
