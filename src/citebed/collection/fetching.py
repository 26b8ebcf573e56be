"""Getting a public collection from its origin, or from a mirror of it.

A file is written to ``<path>.part`` and takes its own name only when it is complete and its
checksum is right, so a file that is there is whole. What has arrived before an interruption is
gone on with the next time, if the origin still has the same content: ``<path>.part.json`` keeps
its mark. ``fetched.json`` beside the files keeps the checksums of what was fetched.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import http.client
import io
import json
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path
from typing import IO, Any, Protocol

from citebed._version import __version__
from citebed.collection.catalogue import CATALOGUE, PublicCollection, RemoteFile, public_collection
from citebed.errors import CitebedError, FormatError

__all__ = ["CATALOGUE", "Answer", "FetchReport", "FetchedFile", "Opener", "PublicCollection"]
__all__ += ["RemoteFile", "fetch", "public_collection"]

Progress = Callable[[str, int, int | None], None]
"""Told the path, the bytes that are there and the bytes of the whole, where known."""

RECORD = "fetched.json"
SUMS = "SHA256SUMS"
_CHUNK = 1 << 18
_SUMS_BYTES = 1 << 20
_LONGEST_WAIT = 30.0
_PASSING = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class FetchedFile:
    """What became of one file.

    ``state``: ``fetched`` now, ``kept`` (there already, checksum right) and, where it was only
    verified, ``missing``, ``wrong`` (another checksum) or ``unknown`` (no checksum to go by).
    ``previous``: the checksum of an earlier fetch where this one brought other content, as a
    moving branch does; else "".
    """

    path: str
    state: str
    bytes: int = 0
    sha256: str = ""
    previous: str = ""


@dataclass(frozen=True)
class FetchReport:
    """What became of all files of a collection."""

    name: str
    folder: Path
    files: tuple[FetchedFile, ...]

    @property
    def complete(self) -> bool:
        """Whether every file is there with the right checksum."""
        return all(file.state in ("fetched", "kept") for file in self.files)


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


class _Broken(Exception):
    """A failure that may pass: worth another try."""


class _Missing(CitebedError):
    """Nothing is at that address."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only; the standard handler would follow ftp too."""

    def redirect_request(  # noqa: PLR0913  (the signature is given)
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str,
        headers: Message, newurl: str,
    ) -> urllib.request.Request | None:  # fmt: skip
        if urllib.parse.urlsplit(newurl).scheme not in ("http", "https"):
            what = f"redirection to {newurl} is not allowed"
            raise urllib.error.HTTPError(req.full_url, code, what, headers, fp)  # type: ignore[arg-type]
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Opener:
    """How addresses are opened: http, https and file, nothing else.

    ``timeout``: seconds without a sign of life. ``attempts``: tries for one file, with a growing
    wait (``sleep``) between them.
    """

    timeout: float = 30.0
    attempts: int = 5
    sleep: Callable[[float], None] = time.sleep

    def open(self, url: str, start: int = 0, mark: str = "") -> Answer:
        """The content from byte ``start`` on if it still has that mark, else all of it."""
        scheme = urllib.parse.urlsplit(url).scheme
        if scheme == "file":
            return _open_file(url, start, mark)
        if scheme in ("http", "https"):
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
        length = headers.get("Content-Length", "")
        return 0, int(length) if length.isdecimal() else None
    found = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", headers.get("Content-Range", ""))
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
        raise _Broken(found)
    if error.code in (404, 410):
        raise _Missing(f"cannot fetch {url}: not found there ({found}). It may have moved.")
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
        return _Broken(f"the host {host} cannot be found; is there a network?")
    return _Broken(_words(reason))


def _words(reason: object) -> str:
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return text or type(reason).__name__


def _open_file(url: str, start: int, mark: str) -> Answer:
    """A file as a server would give it: its size and time of change are the mark."""
    address = urllib.parse.urlsplit(url)
    if address.netloc not in ("", "localhost"):
        raise CitebedError(f"cannot fetch {url}: a file address has three slashes, file:///…")
    path = urllib.request.url2pathname(address.path)
    try:
        stream = open(path, "rb")  # noqa: SIM115  (it belongs to the answer)
    except FileNotFoundError:
        raise _Missing(f"cannot fetch {url}: there is no file {path}") from None
    except OSError as error:
        raise CitebedError(f"cannot fetch {url}: {_words(error)}") from None
    state = os.fstat(stream.fileno())
    own = f"{state.st_size}-{state.st_mtime_ns}"
    first = 0 if mark and mark != own else min(start, state.st_size)
    stream.seek(first)
    return Answer(first, state.st_size, own, stream)


@dataclass(frozen=True)
class _Job:
    """One file to fetch; ``expected`` and ``said_by``: the checksum and where it stands."""

    path: str
    url: str
    target: Path
    expected: str
    said_by: str
    bytes: int | None

    @property
    def part(self) -> Path:
        return self.target.with_name(self.target.name + ".part")

    @property
    def notes(self) -> Path:
        return self.target.with_name(self.target.name + ".part.json")


@dataclass(frozen=True)
class _Notes:
    """What the bytes in a ``.part`` file are the beginning of."""

    url: str = ""
    mark: str = ""
    total: int | None = None


def _ignore(path: str, done: int, total: int | None) -> None:
    """No progress is shown."""


def fetch(
    name: str,
    folder: str | Path,
    *,
    mirror: str | None = None,
    progress: Progress = _ignore,
    verify_only: bool = False,
    opener: Opener | None = None,
) -> FetchReport:
    """Fetch the files of a public collection into a folder.

    Files that are there with the right checksum are kept; a file there with another one, or of
    which nothing is known, is an error: it is never overwritten. ``mirror``: an address under
    which the files lie by the same paths; a ``SHA256SUMS`` there is enforced. ``verify_only``:
    nothing is written, the report says how each file stands. An interruption or a full disk
    leaves what has arrived, and the next run goes on from there. Nothing is unpacked.
    """
    collection = public_collection(name)
    root, opener = Path(folder), opener or Opener()
    sums = _mirror_sums(mirror, opener) if mirror else {}
    files = []
    for file in collection.files:
        record = _read_record(root)
        known = _job(file, root, mirror, sums, record)
        if verify_only or known.target.exists():
            files.append(_verified(known, strict=not verify_only))
            continue
        # The record tells of a file that is gone: it is only compared with, not enforced.
        job = _job(file, root, mirror, sums, {})
        files.append(_fetched(job, record, progress, opener))
    return FetchReport(name, root, tuple(files))


def _job(
    file: RemoteFile,
    root: Path,
    mirror: str | None,
    sums: Mapping[str, str],
    record: Mapping[str, Any],
) -> _Job:
    url = f"{mirror.rstrip('/')}/{urllib.parse.quote(file.path)}" if mirror else file.url
    said = (
        (file.sha256 or "", "the catalogue"),
        (sums.get(file.path, ""), f"the mirror's {SUMS}"),
        (record.get(file.path, {}).get("sha256", ""), RECORD),
    )
    expected, said_by = next((pair for pair in said if pair[0]), ("", ""))
    return _Job(file.path, url, root / file.path, expected.lower(), said_by, file.bytes)


def _mirror_sums(mirror: str, opener: Opener) -> dict[str, str]:
    """The checksums of a mirror by path; empty where it has none."""
    url = f"{mirror.rstrip('/')}/{SUMS}"
    try:
        with contextlib.closing(_retried(url, opener, lambda: opener.open(url)).stream) as stream:
            text = _read(stream, _SUMS_BYTES).decode("utf-8", "replace")
    except _Missing:
        return {}
    except _Broken as error:
        raise CitebedError(f"cannot fetch {url}: {error}") from None
    sums = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](?:\./)?(.+)", line.rstrip())
        if found:
            sums[found[2]] = found[1].lower()
        elif line.strip() and not line.startswith("#"):
            raise FormatError(url, number, f"expected 'sha256  path', found {line[:80]!r}")
    return sums


def _verified(job: _Job, *, strict: bool) -> FetchedFile:
    """How a file that is there (or not) stands; ``strict`` makes all but right ones an error."""
    if not job.target.is_file():
        return FetchedFile(job.path, "missing")
    with _local(job.target):
        size, found = _digest(job.target)
    problem = _mismatch(job, size, found)
    if strict and problem:
        raise CitebedError(f"{job.target}: {problem}. Move it away to fetch it again.")
    if strict and not job.expected:
        raise CitebedError(
            f"{job.target} is there already and nothing says what its checksum should be. "
            "Move it away to fetch it, or fetch into another folder."
        )
    state = "wrong" if problem else "kept" if job.expected else "unknown"
    return FetchedFile(job.path, state, size, found)


def _digest(path: Path) -> tuple[int, str]:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return stream.tell(), digest.hexdigest()


def _mismatch(job: _Job, size: int, found: str) -> str:
    """What is wrong with a file of that size and checksum, "" for nothing."""
    if job.bytes is not None and size != job.bytes:
        return f"found {size} bytes, expected {job.bytes}"
    if job.expected and found != job.expected:
        return f"found sha256 {found}, expected {job.expected} (from {job.said_by})"
    return ""


def _fetched(
    job: _Job, record: Mapping[str, Any], progress: Progress, opener: Opener
) -> FetchedFile:
    """Download, check, write down, give the file its name; in that order, so that a file under
    its own name always has its checksum on record."""
    with _local(job.target):
        job.target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(job) as out:
        _retried(job.url, opener, lambda: _download(job, out, progress, opener))
        with _local(job.part):
            os.fsync(out.fileno())
            size, found = _digest(job.part)
        if problem := _mismatch(job, size, found):
            job.part.unlink()
            job.notes.unlink(missing_ok=True)
            raise CitebedError(f"{job.url}: {problem}. What was fetched has been removed.")
        root = Path(str(job.target).removesuffix(job.path))
        entry = {"sha256": found, "bytes": size, "url": job.url}
        _write_json(root / RECORD, {"files": {**record, job.path: entry}})
        with _local(job.target):
            job.part.replace(job.target)
            job.notes.unlink(missing_ok=True)
    earlier = record.get(job.path, {}).get("sha256", "")
    return FetchedFile(job.path, "fetched", size, found, earlier if earlier != found else "")
