"""Security middleware: limits for bodies, no requests from other sites, response headers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citebed.pages import policy_hash, ready_script

SAFE = ("GET", "HEAD", "OPTIONS")
MOST_HELD = 64 << 20
"""Bytes of bodies that all requests together hold in memory."""
MOST_UPLOADS = 4
"""Simultaneous requests with files, which are stored on disk."""
DRAIN_SECONDS = 10.0
"""Time to discard the rest of a rejected body: many clients read the response only then."""


class BodyLimits(NamedTuple):
    """Limits of a request body: its bytes and its seconds; ``has_files`` says that it is a form
    with files, which are stored on disk instead of in memory."""

    largest: int = 64 << 10
    seconds: float = 30.0
    has_files: bool = False


SMALL, UPLOAD = BodyLimits(), BodyLimits(32 << 20, 300.0, has_files=True)

POLICY = (
    "default-src 'self'; script-src 'self' '{first}'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'"
)
"""The policy of pages: the only inline script that may run has the hash ``first``."""
_POLICY = "Content-Security-Policy"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
Refuse = Callable[[Request, int, str], Awaitable[Response]]
"""Makes the response to a rejected request, with a status and a message."""
CheckAccess = Callable[[Scope], Response | None]
"""Returns the response to a request without access, or None; it sees only the head."""


class SecurityMiddleware:
    """Checks every request before the application, and adds headers to every response."""

    def __init__(  # noqa: PLR0913 - keywords that differ between the applications
        self,
        app: ASGIApp,
        *,
        secure: bool,
        address: str,
        static: str,
        limits: Callable[[str], BodyLimits],
        refuse: Refuse,
        check_access: CheckAccess = lambda _: None,
    ) -> None:
        self._app, self._static, self._limits = app, static, limits
        self._refuse, self._check_access = refuse, check_access
        self.held, self.uploads = 0, 0
        self._host = host_in(address)
        policy = POLICY.format(first=policy_hash(ready_script()))
        self._headers = HEADERS | {_POLICY: policy}
        if secure:
            self._headers["Strict-Transport-Security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                own = headers.get(_POLICY)  # of a page with its own style
                headers.update(self._headers | ({_POLICY: own} if own else {}))
                # Only scripts and styles may be cached between server and browser.
                is_static = scope["path"].startswith(self._static)
                headers["Cache-Control"] = "no-cache" if is_static else "no-store"
            await send(message)

        headers = Headers(scope=scope)
        is_safe = scope["method"] in SAFE
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        if not is_safe and is_from_another_site(headers, self._host):
            response: Response | None = await self._refuse(
                Request(scope), 403, "this request came from another site."
            )
        else:
            response = self._check_access(scope)
        if response is not None:
            if has_body:  # the server does not read it
                response.headers["Connection"] = "close"
            await response(scope, receive, send_with_headers)
        elif is_safe:
            await self._app(scope, receive, send_with_headers)
        else:
            body = _Body(self, self._limits(scope["path"]), headers, receive)
            body.is_complete = not has_body
            await self._serve_with_body(scope, body, send_with_headers)

    async def _serve_with_body(self, scope: Scope, body: _Body, send: Send) -> None:
        """Run the application; if the body exceeds a limit, respond with that instead."""

        async def send_unless_refused(message: Message) -> None:
            if body.refusal is not None:
                return
            if message["type"] == "http.response.start" and not body.is_complete:
                MutableHeaders(scope=message)["Connection"] = "close"  # the rest is unread
            await send(message)

        try:
            body.start()
            await self._app(scope, body.receive, send_unless_refused)
        except ClientDisconnect:  # before the body was complete
            return
        except Exception:  # the application may wrap a refusal
            if body.refusal is None:
                raise
        finally:
            body.end()
        if body.refusal is not None:
            await body.drain()
            response = await self._refuse(Request(scope), *body.refusal.args)
            response.headers["Connection"] = "close"
            await response(scope, body.receive, send)


class _Refused(Exception):
    """A body that exceeds a limit: a status and a message."""


class _Body:
    """The body of a request, until it exceeds a limit."""

    def __init__(
        self, guard: SecurityMiddleware, limits: BodyLimits, headers: Headers, receive: Receive
    ) -> None:
        self._guard, self._limits, self._receive = guard, limits, receive
        self._length = headers.get("content-length", "0")
        self._until = asyncio.get_running_loop().time() + limits.seconds
        self._size = self._held = 0
        self._is_upload = False
        self.is_complete = False
        self.refusal: _Refused | None = None

    def start(self) -> None:
        """Check the declared length and the number of uploads, before anything is read."""
        length = self._length
        if not (length.isascii() and length.isdigit()) or int(length[:20]) > self._limits.largest:
            raise self._refuse_size()
        if self._limits.has_files:
            if self._guard.uploads >= MOST_UPLOADS:
                busy = "the server is receiving other files. Try again in a moment."
                raise self._refuse(503, busy)
            self._guard.uploads += 1
            self._is_upload = True

    async def receive(self) -> Message:
        """Return the next part of the body; raise `_Refused` if it exceeds a limit."""
        if self.is_complete:
            return await self._receive()
        if self.refusal is not None:
            raise self.refusal
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise self._refuse(408, "the request took too long.") from None
        size = len(message.get("body", b""))
        self._size += size
        self.is_complete = not message.get("more_body", False)
        if self._size > self._limits.largest:
            raise self._refuse_size()
        if not self._limits.has_files:
            if self._guard.held + size > MOST_HELD:
                busy = "the server is receiving too much data. Try again in a moment."
                raise self._refuse(503, busy)
            self._held += size
            self._guard.held += size
        return message

    def _refuse(self, status: int, message: str) -> _Refused:
        self.refusal = _Refused(status, message)
        return self.refusal

    def _refuse_size(self) -> _Refused:
        largest = self._limits.largest
        size = f"{largest >> 20} MB" if largest >= 1 << 20 else f"{largest >> 10} KB"
        return self._refuse(413, f"the request is larger than {size}. Send less, or fewer files.")

    async def drain(self) -> None:
        """Read and discard the rest for a moment."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self.is_complete:
                    self.is_complete = not (await self._receive()).get("more_body", False)

    def end(self) -> None:
        """Release what the body occupied."""
        self._guard.held -= self._held
        self._guard.uploads -= self._is_upload


def host_in(address: str) -> str:
    """Return the host of an address with its port, or an empty text."""
    return address.partition("://")[2].partition("/")[0]


def is_from_another_site(headers: Headers, ours: str = "") -> bool:
    """Return True if a browser says that a page of another site sent the request.

    ``ours`` is the public host, which a proxy may replace. All current browsers send
    `Sec-Fetch-Site`. Other browsers send `Origin`, which is ``null`` on pages without a referrer;
    then the tokens in forms decide.
    """
    fetch_site = headers.get("sec-fetch-site")
    if fetch_site is not None:
        return fetch_site not in ("same-origin", "none")
    origin = headers.get("origin", "null")
    hosts = {ours, headers.get("host", "")} - {""}
    return origin != "null" and host_in(origin) not in hosts
