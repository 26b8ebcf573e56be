"""Download a file with its checksum, completely or not at all, with retries.

An incomplete download is in ``NAME.part``, and ``NAME.part.json`` says what it is. The next attempt
continues it, if the server still has the same content.
"""

from __future__ import annotations

import fcntl
import http.client
import io
import json
import os
import re
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from email.message import Message
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple, TypeVar

from citebed._version import __version__
from citebed.collection.progress import Progress
from citebed.errors import CitebedError
from citebed.files.environment import check_online
from citebed.files.input_files import hash_file, read_small
from citebed.files.output_files import (
    is_plain_or_missing,
    open_to_append,
    remove_stale_drafts,
    sync_folder,
    translate_write_errors,
    write_own_file,
)

_TIMEOUT = 30.0
_WAITS = (1.0, 2.0, 4.0, 8.0)
_CHUNK = 1 << 18
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_MEANINGS = {404: "not found there; it may have moved", 410: "no longer there"}
_MEANINGS |= {401: "access is refused", 403: "access is refused"}
_HANDLERS = (  # the standard handlers except ftp and data, to which a redirect could lead
    urllib.request.ProxyHandler,
    urllib.request.UnknownHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.FileHandler,
    urllib.request.HTTPDefaultErrorHandler,
    urllib.request.HTTPRedirectHandler,
    urllib.request.HTTPErrorProcessor,
)
_T = TypeVar("_T")


class Expected(NamedTuple):
    """The expected checksum of a file, its origin, and the size; "" and ``None`` are unknown."""

    sha256: str = ""
    said_by: str = ""
    bytes: int | None = None

    def mismatch(self, size: int, sha256: str) -> str:
        """Return what is wrong with a file of this size and checksum, or ""."""
        if self.bytes is not None and size != self.bytes:
            return f"found {size} bytes, expected {self.bytes}"
        if self.sha256 and sha256 != self.sha256:
            return f"found sha256 {sha256}, expected {self.sha256} (from {self.said_by})"
        return ""


class Missing(CitebedError):
    """The server has no file at this URL."""


class _Broken(Exception):
    """A failure that may be temporary."""


class _Offer(NamedTuple):
    """The content of a URL: ``mark`` changes with it; "" and ``None`` are unknown."""

    url: str = ""
    mark: str = ""
    total: int | None = None


@contextmanager
def download_file(
    url: str, target: Path, expected: Expected, progress: Progress
) -> Iterator[tuple[int, str]]:
    """Download a URL and yield size and checksum; at the end of the block move it to ``target``."""
    part, notes = (target.with_name(f"{target.name}.{end}") for end in ("part", "part.json"))
    with translate_write_errors(part):
        part.parent.mkdir(parents=True, exist_ok=True)
        remove_stale_drafts(part.parent)
        out = open_to_append(part)
    with out:
        _lock(part, out)
        try:
            with translate_write_errors(part):
                _retry(url, lambda: _continue(url, out, notes, bool(expected.sha256), progress))
                os.fsync(out.fileno())
            size, sha256 = digest(part)
            if problem := expected.mismatch(size, sha256):
                out.truncate(0)
                raise CitebedError(f"{url}: {problem}. citebed deleted the download.")
            yield size, sha256
            with translate_write_errors(target):
                part.replace(target)
                notes.unlink(missing_ok=True)
                sync_folder(target.parent)
        finally:
            if part.exists() and os.fstat(out.fileno()).st_size == 0:
                part.unlink()
                notes.unlink(missing_ok=True)


def _lock(part: Path, out: io.FileIO) -> None:
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The former owner of the lock may have renamed the open file.
        if os.path.samestat(part.stat(), os.fstat(out.fileno())):
            return
    raise CitebedError(f"{part}: another fetch is writing it. Wait until it is done.")


def digest(path: Path) -> tuple[int, str]:
    """Return the size and the SHA-256 of a file."""
    with translate_write_errors(path):
        return path.stat().st_size, hash_file(path)


def download_text(url: str, most: int) -> str:
    """Download up to ``most`` bytes of a text."""

    def get() -> str:
        _, offer, stream = _open(url)
        with closing(stream):
            content = _read(stream, most)
        if offer.total is not None and len(content) < min(offer.total, most):
            raise _Broken(f"{len(content)} of {offer.total} bytes arrived")
        return content.decode("utf-8", "replace")

    return _retry(url, get)


def _retry(url: str, action: Callable[[], _T]) -> _T:
    """Return the result of ``action``; after temporary failures wait and try again."""
    for wait in (*_WAITS, None):
        try:
            return action()
        except _Broken as error:
            cause = error
        if wait is not None:
            sleep(wait)
    raise CitebedError(
        f"cannot fetch {url}: {cause} (tried {len(_WAITS) + 1} times). "
        "Run the same command later to continue."
    )


def _continue(url: str, out: io.FileIO, notes: Path, checked: bool, progress: Progress) -> None:
    """Try once to complete a file; continue an incomplete one if that is safe."""
    offer = _Offer()
    with suppress(CitebedError, OSError, ValueError, TypeError, RecursionError):
        offer = _Offer(**json.loads(read_small(notes))) if is_plain_or_missing(notes) else offer
    # Without a mark only a checksum would show that two parts do not belong together.
    safe = offer.url == url and bool(offer.mark or checked)
    start = os.fstat(out.fileno()).st_size if safe else 0
    done, now, stream = _open(url, start, offer.mark)
    with closing(stream):
        if done == 0:
            out.truncate(0)
            write_own_file(notes, json.dumps(now._asdict()) + "\n")
            offer = now
        elif done != start or now not in (offer, offer._replace(mark="")):
            out.truncate(0)
            raise _Broken("the content there has changed since the first part was fetched")
        progress.step(notes.name.removesuffix(".part.json"), offer.total or 0)
        progress.add(done)
        while chunk := _read(stream, _CHUNK):
            rest = memoryview(chunk)
            while rest:
                rest = rest[out.write(rest) :]
            done += len(chunk)
            progress.add(len(chunk))
    if offer.total is not None and done != offer.total:
        if done > offer.total:
            out.truncate(0)
        raise _Broken(f"found {done} bytes, expected {offer.total}")


def _open(url: str, start: int = 0, mark: str = "") -> tuple[int, _Offer, Any]:
    """Request the content from byte ``start`` on if it still has this mark, else from byte 0.

    Return the offset of the first byte (-1 if unknown), the offer, and a stream.
    """
    if re.match(r"file://(?:localhost)?/|https?://", url, re.IGNORECASE) is None:
        raise CitebedError(
            f"cannot fetch from '{url}': expected a file:// address with three slashes, such as "
            "file:///srv/mirror, or http:// or https://"
        )
    if not url.lower().startswith("file:"):
        instead = "Get it on another machine, and give its folder here: --mirror file:///FOLDER"
        check_online(f"cannot fetch {url}", instead)
    headers = {"User-Agent": f"citebed/{__version__}", "Accept-Encoding": "identity"}
    headers |= {"Range": f"bytes={start}-"} if start else {}
    headers |= {"If-Range": mark} if start and mark else {}
    director = urllib.request.OpenerDirector()
    for handler in _HANDLERS:
        director.add_handler(handler())
    try:
        answer: Any = director.open(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not start:  # 416: the file ends there
            raise _failure(url, error) from None
        error.close()
        answer = error
    except (OSError, http.client.HTTPException) as error:
        raise _failure(url, error) from None
    except ValueError as error:
        raise CitebedError(f"cannot fetch {url}: not a usable address: {error}") from None
    if answer.status not in (None, 200, 206, 416):  # a file has none
        answer.close()
        raise CitebedError(f"cannot fetch {url}: found HTTP status {answer.status}")
    first, total = _extent(answer.headers, whole=answer.status in (None, 200))
    # A weak ETag may not be used to join halves (RFC 9110); then the date is the mark.
    tag = str(answer.headers.get("ETag", ""))
    mark = tag if tag.startswith('"') else str(answer.headers.get("Last-Modified", ""))
    stream = io.BytesIO() if answer.status == 416 else answer  # an error's text is not content
    return first, _Offer(url, mark, total), stream


def _extent(headers: Message, *, whole: bool) -> tuple[int, int | None]:
    """Return the offset of the first byte and the total size, from the headers."""
    if whole:
        length = str(headers.get("Content-Length", ""))
        return 0, int(length) if re.fullmatch(r"[0-9]{1,18}", length) else None
    range_ = str(headers.get("Content-Range", ""))
    match = re.fullmatch(r"bytes (?:([0-9]{1,18})-[0-9]+|\*)/([0-9]{1,18}|\*)", range_)
    total = int(match[2]) if match and match[2] != "*" else None
    if match and match[1]:
        return int(match[1]), total
    return -1 if total is None else total, total


def _failure(url: str, error: Exception) -> Exception:
    """Return the error for a failure, a `_Broken` if it may be temporary."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        status = " ".join(f"HTTP {error.code} {reason}".split())
        if error.code in _PASSING:
            return _Broken(status)
        kind = Missing if error.code in (404, 410) else CitebedError
        meaning = _MEANINGS.get(error.code)
        return kind(f"cannot fetch {url}: {f'{meaning} ({status})' if meaning else status}")
    if isinstance(reason, FileNotFoundError):
        return Missing(f"cannot fetch {url}: no such file: {reason.filename}")
    if isinstance(reason, str | ssl.SSLCertVerificationError) or url.lower().startswith("file:"):
        return CitebedError(f"cannot fetch {url}: {_words(reason)}")
    return _Broken(_words(reason))


def _read(stream: Any, size: int) -> bytes:
    try:
        return bytes(stream.read(size))
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(_words(error)) from None


def _words(reason: object) -> str:
    if isinstance(reason, TimeoutError):
        return "no response in time"
    if isinstance(reason, socket.gaierror):
        return "the host was not found; is there a network?"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {reason.verify_message}"
    if isinstance(reason, http.client.IncompleteRead):
        return "the connection ended too early"
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return text or type(reason).__name__
