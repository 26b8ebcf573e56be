"""Who may come in: whoever has the key of this server, or knows its password.

The key stands in the address that is printed when the server starts; a browser that brings it gets
a cookie. Scripts send it as ``Authorization: Bearer KEY``. It is kept in a file of the user's, so
that bookmarks and scripts outlive a restart.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from citebed.files.places import state_folder
from citebed.web.protection import SAFE

LOCAL = ("127.0.0.1", "localhost", "[::1]")
STATIC, LOGIN = "/static/", "/login"
TOKEN_HEADER = "x-citebed-token"


def server_key() -> str:
    """The key of this user's servers, made when it is first asked for."""
    path = state_folder() / "serve.key"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_secret(path, secrets.token_urlsafe(24))
    return path.read_text("ascii").strip()


def _write_secret(path: Path, text: str) -> None:
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return  # another server was quicker
    with os.fdopen(made, "w") as file:
        file.write(f"{text}\n")


class Keys:
    """The secrets of a server: the key, what a cookie holds, what our own pages send along."""

    def __init__(self, key: str, password: str = "") -> None:
        self.key, self._password = key, password
        self.needs_login = bool(password)
        self.cookie = self._derived(f"cookie {password}")
        self.token = self._derived(f"token {password}")

    def _derived(self, of: str) -> str:
        return hmac.digest(self.key.encode(), f"citebed {of}".encode(), hashlib.sha256).hex()

    def is_key(self, given: str) -> bool:
        """Whether somebody has the key."""
        return _same(given, self.key)

    def is_password(self, given: str) -> bool:
        """Whether somebody knows the password."""
        return bool(self._password) and _same(given, self._password)


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


class Access:
    """Stands before the application: answers to its own names, and to whoever may come in."""

    def __init__(self, app: ASGIApp, *, keys: Keys, hosts: frozenset[str] | None) -> None:
        self._app, self._keys, self._hosts = app, keys, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "http":
            refusal = self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        request, headers = Request(scope), Headers(scope=scope)
        if self._hosts is not None and host_of(headers.get("host", "")) not in self._hosts:
            return JSONResponse({"message": "this server does not answer to that name."}, 421)
        path: str = scope["path"]
        if path.startswith(STATIC) or path == LOGIN:
            return None
        if (given := headers.get("authorization", "")).lower().startswith("bearer "):
            return None if self._keys.is_key(given[7:].strip()) else _refused(request, 401)
        if (key := request.query_params.get("key")) is not None and request.method == "GET":
            return self._welcome(request) if self._keys.is_key(key) else _refused(request, 403)
        if not _same(request.cookies.get(cookie_name(request), ""), self._keys.cookie):
            return self._stranger(request)
        if request.method not in SAFE and not _same(
            headers.get(TOKEN_HEADER, ""), self._keys.token
        ):
            return JSONResponse({"message": "this was not sent by a page of ours."}, 403)
        return None

    def _stranger(self, request: Request) -> Response:
        if self._keys.needs_login and "text/html" in request.headers.get("accept", ""):
            asked = urlencode({"next": request.url.path})
            return RedirectResponse(f"{LOGIN}?{asked}", 303)
        return _refused(request, 401)

    def _welcome(self, request: Request) -> Response:
        """The same address without the key, which is now in a cookie."""
        rest = [each for each in parse_qsl(request.url.query) if each[0] != "key"]
        query = f"?{urlencode(rest)}" if rest else ""
        response = RedirectResponse(f"/{request.url.path.lstrip('/')}{query}", 303)
        give_cookie(request, response, self._keys)
        return response


def give_cookie(request: Request, response: Response, keys: Keys) -> None:
    """Let a browser in from now on."""
    secure = request.url.scheme == "https"
    name = cookie_name(request)
    response.set_cookie(
        name, keys.cookie, httponly=True, samesite="lax", secure=secure, max_age=30 * 86400
    )


def cookie_name(request: Request) -> str:
    """The name of our cookie: those of all ports come together."""
    return f"citebed_{request.url.port or 80}"


def host_of(header: str) -> str:
    """The name in a Host header, without the port."""
    name = header.rpartition(":")[0] if header.rpartition(":")[2].isdigit() else header
    return name.lower()


_NO_KEY = (
    "Open the address that citebed printed when it started: the key is in it. Scripts send it as "
    "'Authorization: Bearer KEY'."
)


def _refused(request: Request, status: int) -> Response:
    if "text/html" in request.headers.get("accept", ""):
        page = f"<!doctype html><html lang=en><title>Not let in</title><p>{_NO_KEY}"
        return Response(page, 403, media_type="text/html")
    return JSONResponse({"message": _NO_KEY}, status)
