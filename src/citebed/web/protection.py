"""What guards every page: small bodies, no posts from other sites, headers that browsers obey."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 << 10
SAFE = ("GET", "HEAD", "OPTIONS")
POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
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

    def __init__(self, app: ASGIApp, *, secure: bool, static: str, refused: Refused) -> None:
        self._app, self._static, self._refused = app, static, refused
        self._headers = dict(HEADERS)
        if secure:
            self._headers["Strict-Transport-Security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = self._with_headers(scope, send)
        if scope["method"] not in SAFE:
            if is_from_another_site(Headers(scope=scope)):
                await self._refused(Request(scope), "sent by another site")
                await _answer(403, "this was sent by another site.")(scope, receive, send)
                return
            body = await _small_body(scope, receive)
            if body is None:
                told = f"more than {LARGEST_BODY >> 10} KB: too much for one answer."
                await _answer(413, told)(scope, receive, send)
                return
            receive = _again(body, receive)
        await self._app(scope, receive, send)

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        # What a judge or an organiser sees is kept nowhere on the way; scripts may be.
        fresh = "no-cache" if scope["path"].startswith(self._static) else "no-store"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                headers["Cache-Control"] = fresh
            await send(message)

        return sending


def is_from_another_site(headers: Headers) -> bool:
    """Whether a browser says that another site's page sent this.

    All current browsers say so themselves. For others, whose `Origin` is ``null`` on pages that
    tell no referrer, the forms' own tokens decide.
    """
    told = headers.get("sec-fetch-site")
    if told is not None:
        return told not in ("same-origin", "none")
    origin = headers.get("origin", "null")
    return origin != "null" and origin.partition("://")[2] != headers.get("host", "")


async def _small_body(scope: Scope, receive: Receive) -> bytes | None:
    """The whole body; ``None`` if it is too large, without reading on."""
    told = Headers(scope=scope).get("content-length", "0")
    if not told.isdigit() or int(told[:20]) > LARGEST_BODY:
        return None
    parts, size = [], 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > LARGEST_BODY:
            return None
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Hand a body on that was read already."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


def _answer(status: int, message: str) -> Any:
    return JSONResponse({"message": message}, status)
