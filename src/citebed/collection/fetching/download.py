"""Opening an address on the web or on disk, from a given byte on.

A file on disk answers as a server does that knows ranges, so that whoever reads need not care.
"""

from __future__ import annotations

import http.client
import io
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from typing import IO, Protocol

from citebed._version import __version__
from citebed.errors import CitebedError
from citebed.files.network import refuse_offline

_PASSING = (408, 425, 429, 500, 502, 503, 504)


class Stream(Protocol):
    """What an answer is read from."""

    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Answer:
    """What an address gave.

    ``start``: which byte of the whole comes first, -1 where it does not say. ``total``: bytes
    of the whole, where known. ``mark``: changes when the content does, "" where there is none.
    """

    start: int
    total: int | None
    mark: str
    stream: Stream


class Broken(Exception):
    """A failure that may pass: worth another try."""


class Missing(CitebedError):
    """Nothing is at that address."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only; the standard handler would follow ftp too."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).scheme not in ("http", "https"):
            what = f"redirection to {newurl} is not allowed"
            raise urllib.error.HTTPError(req.full_url, code, what, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@dataclass(frozen=True)
class Opener:
    """How addresses are opened: http, https and file, nothing else; offline, only file.

    ``timeout``: seconds without a sign of life. ``attempts``: tries for one file, with a growing
    wait (``sleep``) between them.
    """

    timeout: float = 30.0
    attempts: int = 5
    sleep: Callable[[float], None] = time.sleep

    def open(self, url: str, start: int = 0, mark: str = "") -> Answer:
        """The content from byte ``start`` on if it still has that mark, else all of it."""
        scheme = url.partition(":")[0].lower()
        if scheme == "file":
            return _open_file(url, start, mark)
        if scheme in ("http", "https"):
            instead = "Get it on another machine, and give its folder here: --mirror file:///FOLDER"
            refuse_offline(f"cannot fetch {url}", instead)
            return self._open_http(url, start, mark)
        raise CitebedError(
            f"cannot fetch from '{url}': expected a file://, http:// or https:// address, "
            "for a folder such as file:///srv/mirror"
        )

    def _open_http(self, url: str, start: int, mark: str) -> Answer:
        headers = {"User-Agent": f"citebed/{__version__}", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        if start and mark:
            headers["If-Range"] = mark
        try:
            request = urllib.request.Request(url, headers=headers)
            response = _director().open(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            with error:
                return _refused(url, error, start)
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(url, error) from None
        except ValueError as error:
            raise CitebedError(f"cannot fetch {url}: not a usable address: {error}") from None
        if response.status not in (200, 206):
            response.close()
            raise CitebedError(f"cannot fetch {url}: found HTTP status {response.status}")
        first, total = _extent(response.status, response.headers)
        return Answer(first, total, _mark(response.headers), response)


def _director() -> urllib.request.OpenerDirector:
    director = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        director.add_handler(handler)
    return director


def _extent(status: int, headers: Message) -> tuple[int, int | None]:
    """The first byte and the size of the whole that the headers tell."""
    if status == 200:
        length = str(headers.get("Content-Length", ""))
        return 0, int(length) if re.fullmatch(r"[0-9]{1,18}", length) else None
    told = str(headers.get("Content-Range", ""))
    found = re.fullmatch(r"bytes (?:([0-9]{1,18})-[0-9]+|\*)/([0-9]{1,18}|\*)", told)
    total = int(found[2]) if found and found[2] != "*" else None
    if found and found[1]:
        return int(found[1]), total
    return -1 if total is None else total, total


def _mark(headers: Message) -> str:
    """The strong ETag, else the date: a weak ETag may not be used to join halves (RFC 9110)."""
    tag = str(headers.get("ETag", ""))
    return tag if tag.startswith('"') else str(headers.get("Last-Modified", ""))


def _refused(url: str, error: urllib.error.HTTPError, start: int) -> Answer:
    """The answer to an HTTP error: nothing more to come (416), or an exception."""
    if error.code == 416 and start:
        first, total = _extent(416, error.headers)
        return Answer(first, total, _mark(error.headers), io.BytesIO())
    found = " ".join(f"HTTP {error.code} {error.reason}".split())
    if error.code in _PASSING:
        raise Broken(found)
    if error.code in (404, 410):
        raise Missing(f"cannot fetch {url}: not found there ({found}). It may have moved.")
    if error.code in (401, 403):
        raise CitebedError(f"cannot fetch {url}: access is refused ({found})")
    raise CitebedError(f"cannot fetch {url}: {found}")


def _unreachable(url: str, error: Exception) -> Exception:
    """What a failure to connect means, in words."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    host = urllib.parse.urlsplit(url).hostname
    if isinstance(reason, ssl.SSLCertVerificationError):
        what = f"the certificate of {host} is not valid: {reason.verify_message}"
        return CitebedError(f"cannot fetch {url}: {what}")
    if isinstance(reason, socket.gaierror):
        return Broken(f"the host {host} cannot be found; is there a network?")
    return Broken(_words(reason))


def read(stream: Stream, size: int) -> bytes:
    """Up to so many bytes; a connection that breaks is worth another try."""
    try:
        return stream.read(size)
    except (OSError, http.client.HTTPException) as error:
        raise Broken(_words(error)) from None


def _words(reason: object) -> str:
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    if isinstance(reason, http.client.IncompleteRead):
        return "the connection ended too early"
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return text or type(reason).__name__


def _open_file(url: str, start: int, mark: str) -> Answer:
    """A file as a server would give it: its size and time of change are the mark."""
    host, slash, rest = url[len("file://") :].partition("/")
    if not url.lower().startswith("file://") or host not in ("", "localhost") or not slash:
        raise CitebedError(f"cannot fetch {url}: a file address has three slashes, file:///…")
    path = urllib.request.url2pathname(slash + rest)
    try:
        stream = open(path, "rb")  # noqa: SIM115  (it belongs to the answer)
    except FileNotFoundError:
        raise Missing(f"cannot fetch {url}: there is no file {path}") from None
    except OSError as error:
        raise CitebedError(f"cannot fetch {url}: {_words(error)}") from None
    state = os.fstat(stream.fileno())
    own = f"{state.st_size}-{state.st_mtime_ns}"
    first = 0 if mark and mark != own else min(start, state.st_size)
    stream.seek(first)
    return Answer(first, state.st_size, own, stream)
