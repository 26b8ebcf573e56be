"""What guards every page: small bodies, no posts from other sites, headers that browsers obey."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citebed.pages import policy_hash, ready_script

LARGEST_BODY = 64 << 10
PATIENCE = 30.0
"""Seconds that a body may take: nobody's phone is so slow, but whoever wants to hold a place is."""
LARGEST_UPLOAD = 32 << 20
UPLOAD_PATIENCE = 300.0
"""The same for the pages that organisers send files to; who they are is seen before a byte is."""
SAFE = ("GET", "HEAD", "OPTIONS")


class Bodies(NamedTuple):
    """How large a body may be, how many seconds it may take, and whether it is handed on as it
    comes, as files are, or only when it is whole."""

    largest: int = LARGEST_BODY
    seconds: float = PATIENCE
    is_streamed: bool = False


SMALL, UPLOAD = Bodies(), Bodies(LARGEST_UPLOAD, UPLOAD_PATIENCE, is_streamed=True)


POLICY = (
    "default-src 'self'; script-src 'self' '{first}'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'"
)
"""Of what stands in a page itself only the ``first`` script runs, known by its hash."""
_POLICY = "Content-Security-Policy"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
Refused = Callable[[Request, str], Awaitable[None]]


class Protection:
    """Stands before the application and sees all that goes in and out."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        secure: bool,
        address: str,
        static: str,
        bodies: Callable[[str], Bodies],
        refused: Refused,
    ) -> None:
        self._app, self._static, self._bodies, self._refused = app, static, bodies, refused
        self._host = _host_of(address)
        policy = POLICY.format(first=policy_hash(ready_script()))
        self._headers = HEADERS | {_POLICY: policy}
        if secure:
            self._headers["Strict-Transport-Security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = self._with_headers(scope, send)
        if scope["method"] not in SAFE:
            if is_from_another_site(Headers(scope=scope), self._host):
                await self._refused(Request(scope), "sent by another site")
                await _answer(403, "this was sent by another site.")(scope, receive, send)
                return
            bodies = self._bodies(scope["path"])
            if bodies.is_streamed:
                receive = _bounded(receive, bodies)
            else:
                try:
                    async with asyncio.timeout(bodies.seconds):
                        body = await _whole_body(scope, receive, bodies.largest)
                except (_NoBody, TimeoutError) as error:
                    refusal = error if isinstance(error, _NoBody) else _NoBody(408, _SLOW)
                    await _answer(refusal.status, str(refusal))(scope, receive, send)
                    return
                receive = _again(body, receive)
        await self._app(scope, receive, send)

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        # What a judge or an organiser sees is kept nowhere on the way; scripts may be.
        fresh = "no-cache" if scope["path"].startswith(self._static) else "no-store"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                own = headers.get(_POLICY)  # a page with a style of its own says which it is
                headers.update(self._headers | ({_POLICY: own} if own else {}))
                headers["Cache-Control"] = fresh
            await send(message)

        return sending


def _host_of(address: str) -> str:
    return address.partition("://")[2].partition("/")[0]


def is_from_another_site(headers: Headers, ours: str = "") -> bool:
    """Whether a browser says that another site's page sent this.

    ``ours`` is the host that browsers know, which a server in between may not hand on.
    All current browsers say so themselves. For others, whose `Origin` is ``null`` on pages that
    tell no referrer, the forms' own tokens decide.
    """
    fetch_site = headers.get("sec-fetch-site")
    if fetch_site is not None:
        return fetch_site not in ("same-origin", "none")
    origin = headers.get("origin", "null")
    hosts = {ours, headers.get("host", "")} - {""}
    return origin != "null" and _host_of(origin) not in hosts


_SLOW = "this took too long."


class _NoBody(Exception):
    """Why there is nothing to hand on."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def _whole_body(scope: Scope, receive: Receive, largest: int) -> bytes:
    """The whole body; half of one is none, and one that is too large is not read to its end."""
    large = _NoBody(413, f"more than {largest >> 10} KB: too much for one answer.")
    length = Headers(scope=scope).get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length[:20]) > largest:
        raise large
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _NoBody(400, "the connection ended before this did.")
        part = message.get("body", b"")
        size += len(part)
        if size > largest:
            raise large
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


def _bounded(receive: Receive, bodies: Bodies) -> Receive:
    """A body as it comes, until it is too large or takes too long.

    That is told as the reader of forms tells its own errors, who then closes the files so far.
    """
    size, until = 0, asyncio.get_running_loop().time() + bodies.seconds

    async def receiving() -> Message:
        nonlocal size
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError as error:
            raise MultiPartException(_SLOW) from error
        size += len(message.get("body", b""))
        if size > bodies.largest:
            told = f"more than {bodies.largest >> 20} MB at once: send fewer files."
            raise MultiPartException(told)
        return message

    return receiving


def _again(body: bytes, receive: Receive) -> Receive:
    """Hand a body on that was read already."""
    handed_on = False

    async def receiving() -> Message:
        nonlocal handed_on
        if handed_on:
            return await receive()
        handed_on = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


def _answer(status: int, message: str) -> Any:
    return JSONResponse({"message": message}, status, {"Connection": "close"})
