"""Run an application on uvicorn until a signal stops it, with limits for slow clients."""

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
"""Time that running requests have to finish when the server stops."""
BACKLOG = 2048
MOST_CONNECTIONS = 1000
"""Open connections; with more, the one that has waited longest for a request is closed."""
SPARE_FILES = 200
"""Files that a server opens in addition to connections: tables, an index, a database."""
HEAD_SECONDS = 15.0
"""Time limit for the head of a request; `middleware.BodyLimits` limits the body."""


class HeadTimeoutProtocol(H11Protocol):
    """A connection that is closed if the head of a request takes too long.

    uvicorn has no such limit. With too many connections, the one that has waited longest for a
    request is closed, so that idle connections cannot block others.
    """

    _timer: asyncio.TimerHandle | None = None
    _waiting: OrderedDict[HeadTimeoutProtocol, None] = OrderedDict()  # noqa: RUF012 - shared

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._start_timer()
        self._waiting[self] = None
        if len(self.connections) > MOST_CONNECTIONS:
            self._waiting.popitem(last=False)[0].transport.abort()

    def data_received(self, data: bytes) -> None:
        """Stop the timer when a head is complete; start it with the first bytes of the next."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
        elif self._timer is None and (before is None or before.response_complete):
            self._start_timer()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._time_out)

    def _stop_waiting(self) -> None:
        self._waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
        self.transport.close()


class _Server(uvicorn.Server):
    """A server that returns normally after Ctrl-C or SIGTERM, when running requests are done."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the two signals while serving."""
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
    """Serve an application until stopped; ``started`` is called with the port.

    With several ports, the first free one is used. Client addresses are read from `X-Forwarded-For`
    only with ``is_behind_proxy``: otherwise a client could choose its address, and guess passwords
    without limit. It writes no access log, because some URLs contain secrets.
    """
    config = uvicorn.Config(
        app,
        host=host,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        http=HeadTimeoutProtocol,
        ws="none",
        proxy_headers=is_behind_proxy,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )
    ports = [port] if isinstance(port, int) else list(port)
    server = _Server(config)
    with listen(host, ports) as listening, server.capture_signals():
        _raise_file_limit()
        # Exclude what is loaded now from garbage collection, so that requests wait less for it.
        gc.collect()
        gc.freeze()
        if started is not None:
            started(int(listening.getsockname()[1]))
        server.run(sockets=[listening])


def has_proxy(address: str) -> bool:
    """Return True if a public address belongs to another machine than this one."""
    return urlsplit(address).hostname not in ("localhost", "127.0.0.1", "::1")


def listen(host: str, ports: Sequence[int]) -> socket.socket:
    """Return a socket that listens on the first free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in ports:
        # With the protocol named, asyncio disables Nagle's algorithm, which delays responses 40 ms.
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
            advice = " Stop the other server, or choose another --port." if is_taken else ""
            raise CitebedError(f"cannot listen on {host}:{port}: {error}.{advice}") from error
        return made
    raise CitebedError(f"no port of {host} to listen on was given.")


def _raise_file_limit() -> None:
    """Allow this process to open enough files for all connections, if the system permits it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + SPARE_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
