"""Access to a local server: by its key, its password, or a one-time ticket.

citebed prints an address that contains the key; a browser that opens it gets a cookie. Scripts send
``Authorization: Bearer KEY``.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import secrets
import socket
import threading
import time
import webbrowser
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Scope

from citebed.errors import CitebedError
from citebed.files.environment import state_folder
from citebed.files.secret_files import is_same_secret
from citebed.web.middleware import SAFE, host_in, is_from_another_site

LOCAL = ("127.0.0.1", "localhost", "[::1]")
STATIC, LOGIN, API = "/static/", "/login", "/api/"
TOKEN_HEADER = "x-citebed-token"
_CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""Linux lists here the owner of each local end of a connection."""
_NO_KEY = (
    "open the address that citebed printed when it started: it contains the key. Scripts send the "
    "key as 'Authorization: Bearer KEY'."
)
_NO_LOGIN = "log in first. Scripts send the server's key as 'Authorization: Bearer KEY'."
_UNKNOWN_HOST = (
    "this server does not accept this host name. Start it with: citebed serve --address "
    "http://NAME."
)


class Ticket:
    """Lets one browser in, once, if it belongs to the user of the server.

    Every user of a machine can read the command line of a browser. citebed therefore opens the
    browser with a ticket instead of the key.
    """

    def __init__(self) -> None:
        self._secret = secrets.token_urlsafe(24)

    def open_browser(self, address: str) -> None:
        """Open a browser at an address, with the ticket in place of the key."""
        whole = f"{address}?key={self._secret}"  # in a thread, because a browser may block
        threading.Thread(target=webbrowser.open, args=(whole,), daemon=True).start()

    def admits(self, given: str, scope: Scope) -> bool:
        """Return True for a request with the ticket, which then becomes invalid."""
        if not is_same_secret(given, self._secret) or not _is_own(scope):
            return False
        self._secret = ""
        return True


def _is_own(scope: Scope) -> bool:
    """Return True if a process of this user or of root sent a request; only Linux can tell."""
    if not _CONNECTIONS[0].exists():
        return True
    (host, port), (_, own_port) = scope.get("client") or ("", 0), scope.get("server") or ("", 0)
    try:
        packed = ipaddress.ip_address(host.partition("%")[0]).packed
    except ValueError:
        return False
    words = [packed[at : at + 4][::-1].hex().upper() for at in range(0, len(packed), 4)]
    theirs, ours = f"{''.join(words)}:{port:04X}", f":{own_port:04X}"
    for table in _CONNECTIONS:
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _, near, far, *_, owner = line.split()[:8]
            if near.endswith(theirs) and far.endswith(ours):
                return int(owner) in (0, os.geteuid())
    return False


def key_file() -> Path:
    """Return the path of the key of this user's servers, so that bookmarks survive a restart."""
    return state_folder() / "serve.key"


class Throttle:
    """Allows at most ``most`` events of a key within ``seconds``; forgets the oldest keys."""

    def __init__(self, most: int, seconds: float, *, keys: int = 10_000) -> None:
        self.most, self.seconds, self._keys = most, seconds, keys
        self._events: OrderedDict[str, list[float]] = OrderedDict()

    def is_full(self, key: str = "") -> bool:
        """Return True if no more events of a key are allowed now."""
        since = time.monotonic() - self.seconds
        return sum(at > since for at in self._events.get(key, ())) >= self.most

    def add(self, key: str = "") -> None:
        """Count an event."""
        before = self._events.pop(key, [])[-self.most :]
        self._events[key] = [*before, time.monotonic()]
        if len(self._events) > self._keys:
            self._events.popitem(last=False)

    def clear(self, key: str = "") -> None:
        """Forget the events of a key."""
        self._events.pop(key, None)


class Keys:
    """The secrets of a server: the key, and the cookie and page token derived from it.

    Another ``password`` changes cookie and token. ``secure`` says that browsers use https. The name
    of the cookie begins with ``name``; no other site can send a ``strict`` cookie, even by a link.
    """

    def __init__(
        self,
        key: str,
        password: str = "",
        *,
        secure: bool = False,
        name: str = "citebed",
        strict: bool = False,
    ) -> None:
        if not key:  # then anyone could derive the cookie
            raise CitebedError("the server's key is empty. Set a key.")
        self.key, self._password, self.secure, self._name = key, password, secure, name
        self._samesite: Literal["lax", "strict"] = "strict" if strict else "lax"
        self.needs_login = bool(password)
        self.ticket = Ticket()
        self.cookie, self.token = self._derive("cookie"), self._derive("token")

    def _derive(self, purpose: str) -> str:
        message = f"citebed {purpose} {self._password}".encode("utf-8", "surrogateescape")
        return hmac.digest(self.key.encode(), message, hashlib.sha256).hex()

    def is_password(self, given: str) -> bool:
        """Return True for the password."""
        return is_same_secret(given, self._password)

    def cookie_name(self, request: Request) -> str:
        """Return the cookie's name, with the port: browsers send cookies to all ports."""
        return "__Host-citebed" if self.secure else f"{self._name}_{request.url.port or 80}"

    def set_cookie(self, request: Request, response: Response) -> None:
        """Give a browser access from now on."""
        response.set_cookie(
            self.cookie_name(request), self.cookie, httponly=True, samesite=self._samesite,
            secure=self.secure, max_age=30 * 86400,
        )  # fmt: skip


class AllowedHosts(Container[str]):
    """The host names that a public server accepts: its own names, and all IP addresses.

    Requests with other names may be a DNS rebinding attack. IP addresses involve no DNS.
    """

    def __init__(self, names: Iterable[str]) -> None:
        own = socket.gethostname().lower()
        self._names = {*LOCAL, own, f"{own}.local", *(name.lower() for name in names)}

    def __contains__(self, name: object) -> bool:
        try:
            return name in self._names or bool(ipaddress.ip_address(str(name).strip("[]")))
        except ValueError:
            return False


class AccessCheck:
    """Checks the host name and the access of a request by its headers."""

    def __init__(
        self,
        keys: Keys,
        hosts: Container[str] | None,
        page: Callable[[int, str, str], Response],
        address: str = "",
    ) -> None:
        self._keys, self._hosts, self._page = keys, hosts, page
        self._host = host_in(address)

    def __call__(self, scope: Scope) -> Response | None:
        """Return the response to a request without access, or None."""
        request, headers, keys = Request(scope), Headers(scope=scope), self._keys
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if self._hosts is not None and name.lower() not in self._hosts:
            return self._refuse(request, 421, _UNKNOWN_HOST)
        path: str = scope["path"]
        key = request.query_params.get("key") if request.method == "GET" else None
        if key is None and (path.startswith(STATIC) or path == LOGIN):
            return None
        # Our own pages always send an origin to the API.
        is_hidden = headers.get("origin") == "null" and "sec-fetch-site" not in headers
        if path.startswith(API) and (is_hidden or is_from_another_site(headers, self._host)):
            return self._refuse(request, 403, "this request came from another site.")
        if (given := headers.get("authorization", "")).lower().startswith("bearer "):
            is_ours = is_same_secret(given[7:].strip(), keys.key)
            return None if is_ours else self._refuse(request, 401)
        if key is not None:
            if not is_same_secret(key, keys.key) and not keys.ticket.admits(key, scope):
                return self._refuse(request, 403)
            rest = [each for each in parse_qsl(request.url.query) if each[0] != "key"]
            query = f"?{urlencode(rest)}" if rest else ""
            response = RedirectResponse(f"/{path.lstrip('/')}{query}", 303)
            keys.set_cookie(request, response)
            return response
        given = request.cookies.get(keys.cookie_name(request), "")
        if not is_same_secret(given, keys.cookie):
            if not (keys.needs_login and _reads_pages(request)):
                return self._refuse(request, 401)
            query = f"?{request.url.query}" if request.url.query else ""
            return RedirectResponse(f"{LOGIN}?{urlencode({'next': f'{path}{query}'})}", 303)
        if request.method not in SAFE and not is_same_secret(
            headers.get(TOKEN_HEADER, ""), keys.token
        ):
            return self._refuse(request, 403, "this request did not come from a page of ours.")
        return None

    def _refuse(self, request: Request, status: int, why: str = "") -> Response:
        message = why or (_NO_LOGIN if self._keys.needs_login else _NO_KEY)
        if not _reads_pages(request):
            response: Response = JSONResponse({"message": message}, status)
        else:
            heading = "Unknown host name" if status == 421 else "No access"
            response = self._page(status, heading, message[:1].upper() + message[1:])
        if status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response


def _reads_pages(request: Request) -> bool:
    wanted = "text/html" in request.headers.get("accept", "")
    return wanted and not (request.url.path.startswith(API) and request.method not in SAFE)
