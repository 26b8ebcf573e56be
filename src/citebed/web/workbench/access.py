"""Who may come in: whoever has the key of this server, or knows its password.

The key stands in the address that is printed when the server starts; a browser that brings it gets
a cookie. Scripts send it as ``Authorization: Bearer KEY``. It is kept in a file of the user's, so
that bookmarks and scripts outlive a restart.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Callable, Container, Iterable
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Scope

from citebed.errors import CitebedError
from citebed.files.environment import state_folder
from citebed.files.secret_files import is_same_secret, load_key
from citebed.web.protection import SAFE, host_in, is_from_another_site
from citebed.web.tickets import Ticket

LOCAL = ("127.0.0.1", "localhost", "[::1]")
STATIC, LOGIN, API = "/static/", "/login", "/api/"
TOKEN_HEADER = "x-citebed-token"
Page = Callable[[int, str, str], Response]
"""A page that says something to a stranger: its status, its heading, what it says."""


def key_file() -> Path:
    """Where the key of this user's servers is kept."""
    return state_folder() / "serve.key"


def server_key() -> str:
    """Return the key of this user's servers; create it at the first call."""
    return load_key(key_file())


class Keys:
    """The secrets of a server: the key, what a cookie holds, what our own pages send along.

    With another ``password`` cookies and tokens are others. ``secure`` tells that browsers come by
    https.
    """

    def __init__(self, key: str, password: str = "", *, secure: bool = False) -> None:
        if not key:  # then anyone could derive the cookie
            raise CitebedError("the server's key is empty. Give it one.")
        self.key, self._password, self.secure = key, password, secure
        self.needs_login = bool(password)
        self.ticket = Ticket()
        self.cookie = self._derived(f"cookie {password}")
        self.token = self._derived(f"token {password}")

    def _derived(self, of: str) -> str:
        said = f"citebed {of}".encode("utf-8", "surrogateescape")
        return hmac.digest(self.key.encode(), said, hashlib.sha256).hex()

    def is_key(self, given: str) -> bool:
        """Whether somebody has the key."""
        return is_same_secret(given, self.key)

    def is_password(self, given: str) -> bool:
        """Whether somebody knows the password."""
        return is_same_secret(given, self._password)


class OwnNames(Container[str]):
    """The names that a server answers to which others can reach: its own, and any number.

    Another name that leads here may be somebody else's trick (DNS rebinding); for a number no
    name was looked up.
    """

    def __init__(self, names: Iterable[str]) -> None:
        own = socket.gethostname().lower()
        self._names = {*LOCAL, own, f"{own}.local", *(name.lower() for name in names)}

    def __contains__(self, name: object) -> bool:
        return name in self._names or _is_number(str(name).strip("[]"))


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Access:
    """Sees from the head of a request whether it came to a name of ours, and who may come in."""

    def __init__(
        self, keys: Keys, hosts: Container[str] | None, page: Page, address: str = ""
    ) -> None:
        self._keys, self._hosts, self._page = keys, hosts, page
        self._host = host_in(address)

    def refusal(self, scope: Scope) -> Response | None:
        """The answer to whoever is not let in; nothing for who is."""
        request, headers = Request(scope), Headers(scope=scope)
        if self._hosts is not None and host_of(headers.get("host", "")) not in self._hosts:
            return self._refused(request, 421, _OTHER_NAME)
        path: str = scope["path"]
        key = request.query_params.get("key") if request.method == "GET" else None
        if key is None and (path.startswith(STATIC) or path == LOGIN):
            return None
        if path.startswith(API) and _is_from_elsewhere(headers, self._host):
            return self._refused(request, 403, "this was sent by another site.")
        if (given := headers.get("authorization", "")).lower().startswith("bearer "):
            return None if self._keys.is_key(given[7:].strip()) else self._refused(request, 401)
        if key is not None:
            is_ours = self._keys.is_key(key) or self._keys.ticket.admits(key, scope)
            return self._welcome(request) if is_ours else self._refused(request, 403)
        given = request.cookies.get(cookie_name(request, self._keys), "")
        if not is_same_secret(given, self._keys.cookie):
            return self._stranger(request)
        if request.method not in SAFE and not is_same_secret(
            headers.get(TOKEN_HEADER, ""), self._keys.token
        ):
            return self._refused(request, 403, "this was not sent by a page of ours.")
        return None

    def _stranger(self, request: Request) -> Response:
        if self._keys.needs_login and _reads_pages(request):
            query = f"?{request.url.query}" if request.url.query else ""
            asked = urlencode({"next": f"{request.url.path}{query}"})
            return RedirectResponse(f"{LOGIN}?{asked}", 303)
        return self._refused(request, 401)

    def _welcome(self, request: Request) -> Response:
        """The same address without the key, which is now in a cookie."""
        rest = [each for each in parse_qsl(request.url.query) if each[0] != "key"]
        query = f"?{urlencode(rest)}" if rest else ""
        response = RedirectResponse(f"/{request.url.path.lstrip('/')}{query}", 303)
        give_cookie(request, response, self._keys)
        return response

    def _refused(self, request: Request, status: int, why: str = "") -> Response:
        told = why or (_NO_LOGIN if self._keys.needs_login else _NO_KEY)
        if not _reads_pages(request):
            response: Response = JSONResponse({"message": told}, status)
        else:
            heading = "Not at this address" if status == 421 else "Not let in"
            response = self._page(status, heading, told[:1].upper() + told[1:])
        if status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response


def _reads_pages(request: Request) -> bool:
    wanted = "text/html" in request.headers.get("accept", "")
    return wanted and not (request.url.path.startswith(API) and request.method not in SAFE)


def _is_from_elsewhere(headers: Headers, ours: str) -> bool:
    """Whether a page that is not ours calls the API; ours never tell no origin there."""
    if is_from_another_site(headers, ours):
        return True
    return headers.get("origin") == "null" and "sec-fetch-site" not in headers


def give_cookie(request: Request, response: Response, keys: Keys) -> None:
    """Let a browser in from now on."""
    response.set_cookie(
        cookie_name(request, keys), keys.cookie, httponly=True, samesite="lax", secure=keys.secure,
        max_age=30 * 86400,
    )  # fmt: skip


def cookie_name(request: Request, keys: Keys) -> str:
    """The name of our cookie: those of all ports of a machine come together."""
    return "__Host-citebed" if keys.secure else f"citebed_{request.url.port or 80}"


def host_of(header: str) -> str:
    """The name in a Host header, without the port."""
    name = header.rpartition(":")[0] if header.rpartition(":")[2].isdigit() else header
    return name.lower()


_NO_KEY = (
    "open the address that citebed printed when it started: the key is in it. Scripts send it as "
    "'Authorization: Bearer KEY'."
)
_NO_LOGIN = "log in first. Scripts send the server's key as 'Authorization: Bearer KEY'."
_OTHER_NAME = (
    "this server does not answer to that name. Whoever started it can let it: citebed serve "
    "--address http://NAME."
)
