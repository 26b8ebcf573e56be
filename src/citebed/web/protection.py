"""What guards every page: small bodies, no posts from other sites, headers that browsers obey, and
no telemetry."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citebed.pages import policy_hash, ready_script

LARGEST_BODY = 64 << 10
PATIENCE = 30.0
"""Seconds that a body may take: nobody's phone is so slow, but whoever wants to hold a place is."""
LARGEST_UPLOAD = 32 << 20
UPLOAD_PATIENCE = 300.0
"""The same for the pages that organisers send files to; who they are is seen before a byte is."""
MOST_HELD = 64 << 20
"""Bytes of bodies that are held in memory at once, of all requests together."""
LET_PASS = 10.0
"""Seconds in which the rest of a body that is refused is read, and thrown away."""
MOST_STREAMED = 4
"""Requests with files that are taken at once: what has come of them lies on the disk."""
SAFE = ("GET", "HEAD", "OPTIONS")


_NO_TELEMETRY = dict.fromkeys(("auto_configure", "tracing", "metrics", "logs"), False)


def make_app(title: str, **options: Any) -> FastAPI:
    """Create an application that sends nothing to other servers.

    FastAPI would export traces, with the secrets in addresses, where environment variables of
    OpenTelemetry name a server. Its own documentation pages would load scripts from elsewhere. A
    redirect to or from a trailing slash would name the host that a request names.
    """
    own: dict[str, Any] = {"docs_url": None, "redoc_url": None, "redirect_slashes": False}
    return FastAPI(title=title, **{"telemetry": _NO_TELEMETRY, **own, **options})


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
Refusal = Callable[[Scope], Response | None]
"""Who is not let in, seen from the head of a request: the answer, or nothing for who is."""


def _everybody(_: Scope) -> Response | None:
    return None


class Protection:
    """Stands before the application and sees all that goes in and out."""

    def __init__(  # noqa: PLR0913 - what differs between the kinds of pages, by name
        self,
        app: ASGIApp,
        *,
        secure: bool,
        address: str,
        static: str,
        bodies: Callable[[str], Bodies],
        refused: Refused,
        refusal: Refusal = _everybody,
    ) -> None:
        self._app, self._static, self._bodies, self._refused = app, static, bodies, refused
        self._refusal = refusal
        self._held, self._streamed = 0, 0
        self._host = host_in(address)
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
        headers = Headers(scope=scope)
        if scope["method"] not in SAFE and is_from_another_site(headers, self._host):
            await self._refused(Request(scope), "sent by another site")
            await _answer(403, "this was sent by another site.")(scope, receive, send)
        elif (refusal := self._refusal(scope)) is not None:
            if has_body(headers):  # nobody reads it
                refusal.headers["Connection"] = "close"
            await refusal(scope, receive, send)
        elif scope["method"] in SAFE:
            await self._app(scope, receive, send)
        else:
            await self._with_body(scope, receive, send)

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        bodies = self._bodies(scope["path"])
        try:
            if bodies.is_streamed:
                await self._stream(scope, receive, send, bodies)
            else:
                _check_length(scope, bodies.largest)
                await self._hold(scope, receive, send, bodies)
        except _NoBody as refusal:
            await _let_pass(receive, refusal)
            await _answer(refusal.status, str(refusal))(scope, receive, send)
        except ClientDisconnect:  # the browser left before its files were complete
            return

    async def _stream(self, scope: Scope, receive: Receive, send: Send, bodies: Bodies) -> None:
        """Hand a body on as it comes; only so many at once, and each only so large."""
        if self._streamed >= MOST_STREAMED:
            told = "others are sending files just now. Try again in a moment."
            raise _NoBody(503, told, more=True)
        self._streamed += 1
        try:
            bounded = _Bounded(scope, receive, bodies)
            await self._app(scope, bounded.receive, bounded.telling_why(send))
        finally:
            self._streamed -= 1

    async def _hold(self, scope: Scope, receive: Receive, send: Send, bodies: Bodies) -> None:
        """Hand a body on when it is whole; what all hold together is bounded."""
        held = 0

        def hold(size: int, more: bool) -> None:
            nonlocal held
            if self._held + size > MOST_HELD:
                raise _NoBody(503, "too much is sent at once. Try again in a moment.", more=more)
            held += size
            self._held += size

        try:
            try:
                async with asyncio.timeout(bodies.seconds):
                    body = await _whole_body(receive, bodies.largest, hold)
            except TimeoutError:
                raise _NoBody(408, _SLOW) from None
            await self._app(scope, _again(body, receive), send)
        finally:
            self._held -= held

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


def host_in(address: str) -> str:
    """The host of an address, with its port; nothing if it has none."""
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
    return origin != "null" and host_in(origin) not in hosts


_SLOW = "this took too long."


class _NoBody(Exception):
    """Why there is nothing to hand on; ``more`` tells that the rest of a body is still to come."""

    def __init__(self, status: int, message: str, *, more: bool = False) -> None:
        super().__init__(message)
        self.status, self.more = status, more


def has_body(headers: Headers) -> bool:
    """Whether something follows the head of a request."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


async def _let_pass(receive: Receive, refusal: _NoBody) -> None:
    """Read on for a moment and keep nothing: most hear an answer only when they have sent all."""
    more = refusal.more
    with suppress(TimeoutError):
        async with asyncio.timeout(LET_PASS):
            while more:
                more = (await receive()).get("more_body", False)


def _check_length(scope: Scope, largest: int) -> None:
    """Refuse a body that says itself that it is too large, before a byte of it is read."""
    length = Headers(scope=scope).get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length[:20]) > largest:
        raise _too_large(largest)


def _too_large(largest: int, *, more: bool = True) -> _NoBody:
    size = f"{largest >> 20} MB" if largest >= 1 << 20 else f"{largest >> 10} KB"
    return _NoBody(413, f"more than {size} at once: send less, or fewer files.", more=more)


async def _whole_body(receive: Receive, largest: int, hold: Callable[[int, bool], None]) -> bytes:
    """The whole body; half of one is none, and one that is too large is not read to its end."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _NoBody(400, "the connection ended before this did.")
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > largest:
            raise _too_large(largest, more=more)
        hold(len(part), more)
        parts.append(part)
        if not more:
            return b"".join(parts)


class _Bounded:
    """A body as it comes, until it is too large or takes too long.

    That is told as the reader of forms tells its own errors, who then closes the files so far and
    answers 400; the status that goes out says what it was.
    """

    def __init__(self, scope: Scope, receive: Receive, bodies: Bodies) -> None:
        self._scope, self._receive, self._bodies = scope, receive, bodies
        self._size, self._status = 0, 0
        self._until = asyncio.get_running_loop().time() + bodies.seconds
        self._is_whole = False

    async def receive(self) -> Message:
        """The next part."""
        if self._is_whole:  # what comes then is that nobody is there any more
            return await self._receive()
        try:
            _check_length(self._scope, self._bodies.largest)
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
            self._size += len(message.get("body", b""))
            self._is_whole = not message.get("more_body")
            if self._size > self._bodies.largest:
                raise _too_large(self._bodies.largest, more=not self._is_whole)
        except (_NoBody, TimeoutError) as error:
            raise await self._refusal(error) from error
        return message

    async def _refusal(self, error: _NoBody | TimeoutError) -> MultiPartException:
        if isinstance(error, TimeoutError):
            self._status = 408
            return MultiPartException(_SLOW)
        self._status = error.status
        await _let_pass(self._receive, error)
        return MultiPartException(str(error))

    def telling_why(self, send: Send) -> Send:
        """Answers that have the status of what was wrong with the body."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                if self._status and message["status"] == 400:
                    message["status"] = self._status
                if not self._is_whole:  # nobody reads the rest
                    MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        return sending


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


async def parse_form(request: Request, max_files: int, max_fields: int) -> FormData:
    """Return the fields and files of a form; files beyond 1 MB wait in the temporary folder."""
    try:
        return await request.form(max_files=max_files, max_fields=max_fields)
    except OSError as error:
        raise OSError(error.errno, error.strerror, tempfile.gettempdir()) from error


def wrong_fields(error: RequestValidationError) -> str:
    """The fields of a request that are wrong, and why; what stood in them is not sent back."""
    return "; ".join(
        f"{'.'.join(str(part) for part in each['loc'][1:])[:100] or 'body'}: {each['msg'][:200]}"
        for each in error.errors()[:5]
    )
