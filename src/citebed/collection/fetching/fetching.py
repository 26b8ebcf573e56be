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
import json
import os
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from citebed.collection.fetching.catalogue import (
    CATALOGUE,
    PublicCollection,
    RemoteFile,
    public_collection,
)
from citebed.collection.fetching.download import Answer, Broken, Missing, Opener, read
from citebed.errors import CitebedError, FormatError
from citebed.files.reading import read_small
from citebed.files.writing import append_own, is_own, sweep, sync_folder, write_own
from citebed.wording import printable

__all__ = [
    "CATALOGUE",
    "FetchReport",
    "FetchedFile",
    "Opener",
    "PublicCollection",
    "RemoteFile",
    "fetch",
    "public_collection",
]

Progress = Callable[[str, int, int | None], None]
"""Told the path, the bytes that are there and the bytes of the whole, where known."""

RECORD = "fetched.json"
SUMS = "SHA256SUMS"
_CHUNK = 1 << 18
_SUMS_BYTES = 1 << 20
_LONGEST_WAIT = 30.0
_T = TypeVar("_T")


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


@dataclass(frozen=True)
class _Job:
    """One file to fetch; ``expected`` and ``said_by``: the checksum and where it stands."""

    path: str
    url: str
    root: Path
    expected: str
    said_by: str
    bytes: int | None

    @property
    def target(self) -> Path:
        return self.root / self.path

    @property
    def part(self) -> Path:
        return self.root / f"{self.path}.part"

    @property
    def notes(self) -> Path:
        return self.root / f"{self.path}.part.json"


@dataclass(frozen=True)
class _Notes:
    """What the bytes in a ``.part`` file are the beginning of."""

    url: str = ""
    mark: str = ""
    total: int | None = None


def _no_progress(path: str, done: int, total: int | None) -> None:
    """Show nothing."""


def fetch(
    name: str,
    folder: str | Path,
    *,
    mirror: str | None = None,
    progress: Progress = _no_progress,
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
        record = _read_record(root / RECORD)
        if verify_only or (root / file.path).is_file():
            known = _job(file, root, mirror, sums, record)
            files.append(_verified(known, strict=not verify_only))
        else:  # a record of a file that is gone is compared with, not enforced
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
    return _Job(file.path, url, root, expected.lower(), said_by, file.bytes)


def _mirror_sums(mirror: str, opener: Opener) -> dict[str, str]:
    """The checksums of a mirror by path; empty where it has none."""
    url = f"{mirror.rstrip('/')}/{SUMS}"
    try:
        text = _retried(url, opener, lambda: _read_whole(opener.open(url)))
    except Missing:
        return {}
    sums = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](?:\./)?(.+)", line.rstrip())
        if found:
            sums[found[2]] = found[1].lower()
        elif line.strip() and not line.startswith("#"):
            raise FormatError(url, number, f"expected 'sha256  path', found {line[:80]!r}")
    return sums


def _read_whole(answer: Answer) -> str:
    with contextlib.closing(answer.stream):
        content = read(answer.stream, _SUMS_BYTES)
    if answer.total is not None and len(content) < min(answer.total, _SUMS_BYTES):
        raise Broken(f"{len(content)} of {answer.total} bytes arrived")
    return content.decode("utf-8", "replace")


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
            f"{job.target} is there already, and nothing says what its checksum should be. "
            "Move it away to fetch it, or fetch into another folder."
        )
    state = "wrong" if problem else "kept" if job.expected else "unknown"
    return FetchedFile(job.path, state, size, found)


def _digest(path: Path) -> tuple[int, str]:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return os.fstat(stream.fileno()).st_size, digest.hexdigest()


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
    """Download a file, check it, write it down and give it its name.

    In this order: a file under its own name always has its checksum on record.
    """
    with _partial(job) as out:
        _retried(job.url, opener, lambda: _download(job, out, progress, opener))
        with _local(job.part):
            os.fsync(out.fileno())
            size, found = _digest(job.part)
        if problem := _mismatch(job, size, found):
            _forget(job)
            raise CitebedError(f"{job.url}: {problem}. What was fetched has been removed.")
        entry = {"sha256": found, "bytes": size, "url": job.url}
        _write_json(job.root / RECORD, {"files": {**record, job.path: entry}})
        with _local(job.target):
            job.part.replace(job.target)
            _forget(job)
            sync_folder(job.target.parent)
    earlier = record.get(job.path, {}).get("sha256", "")
    return FetchedFile(job.path, "fetched", size, found, earlier if earlier != found else "")


def _forget(job: _Job) -> None:
    job.part.unlink(missing_ok=True)
    job.notes.unlink(missing_ok=True)


@contextlib.contextmanager
def _partial(job: _Job) -> Iterator[FileIO]:
    """The ``.part`` file, ours alone; one that stays empty is removed again."""
    with _local(job.part):
        job.part.parent.mkdir(parents=True, exist_ok=True)
        sweep(job.part.parent)
        out = append_own(job.part)
    with out:
        try:
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had the lock before may have renamed the file that we opened.
            ours = os.path.samestat(job.part.stat(), os.fstat(out.fileno()))
        except (BlockingIOError, FileNotFoundError):
            ours = False
        if not ours:
            raise CitebedError(f"{job.part}: another fetch is writing it. Wait until it is done.")
        try:
            yield out
        finally:
            if os.fstat(out.fileno()).st_size == 0:
                _forget(job)


def _retried(url: str, opener: Opener, action: Callable[[], _T]) -> _T:
    """The result of the action, tried again after a growing wait while failures may pass."""
    cause = ""
    for attempt in range(opener.attempts):
        if attempt:
            opener.sleep(min(2.0 ** (attempt - 1), _LONGEST_WAIT))
        try:
            return action()
        except Broken as error:
            cause = str(error)
    raise CitebedError(
        f"cannot fetch {url}: {cause} (tried {opener.attempts} times). "
        "Run the same again later; it goes on from what has arrived."
    )


def _download(job: _Job, out: FileIO, progress: Progress, opener: Opener) -> None:
    """One try to complete the ``.part`` file, from where it ends if that is safe."""
    notes, have = _read_notes(job.notes), os.fstat(out.fileno()).st_size
    # Without a mark only a checksum would tell that two halves do not belong together.
    start = have if notes.url == job.url and (notes.mark or job.expected) else 0
    answer = opener.open(job.url, start, notes.mark if start else "")
    with contextlib.closing(answer.stream):
        if answer.start not in (0, start) or (answer.start and not _same(notes, answer)):
            out.truncate(0)
            raise Broken("the content there has changed since the first part was fetched")
        if answer.start == 0:
            out.truncate(0)
            notes = _Notes(job.url, answer.mark, answer.total)
            _write_json(job.notes, asdict(notes))
        done = _copy(job, answer, out, notes.total, progress)
    if notes.total is not None and done != notes.total:
        if done > notes.total:
            out.truncate(0)
        raise Broken(f"found {done} bytes, expected {notes.total}")


def _same(notes: _Notes, answer: Answer) -> bool:
    """Whether what is offered now belongs to what was fetched before, as far as is told."""
    marks = not (notes.mark and answer.mark) or notes.mark == answer.mark
    return marks and (None in (notes.total, answer.total) or notes.total == answer.total)


def _copy(job: _Job, answer: Answer, out: FileIO, total: int | None, progress: Progress) -> int:
    done = answer.start
    progress(job.path, done, total)
    while chunk := read(answer.stream, _CHUNK):
        with _local(job.part):
            rest = memoryview(chunk)
            while rest:
                rest = rest[out.write(rest) :]
        done += len(chunk)
        progress(job.path, done, total)
    return done


@contextlib.contextmanager
def _local(path: Path) -> Iterator[None]:
    """Turn what the disk says about a path into words; what has arrived is left there."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what = "the disk is full. Make room and run the same again; it goes on from there"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            what = f"{error.strerror}. Fetch into a folder that you may write to"
        else:
            what = error.strerror or str(error)
        raise CitebedError(f"cannot write {printable(path)}: {what}.") from None


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a small file whole or not at all."""
    write_own(path, json.dumps(value, indent=1) + "\n")


def _read_notes(path: Path) -> _Notes:
    """The notes beside a ``.part`` file; without usable ones it is fetched from the start."""
    if not is_own(path):
        return _Notes()
    try:
        return _Notes(**json.loads(read_small(path)))
    except (CitebedError, OSError, ValueError, TypeError, RecursionError):
        return _Notes()


def _read_record(path: Path) -> dict[str, Any]:
    """What earlier runs fetched into the folder, by path."""
    if not path.is_file():
        return {}
    with _local(path):
        text = read_small(path)
    try:
        files = json.loads(text)["files"]
        return {name: {**entry, "sha256": str(entry["sha256"])} for name, entry in files.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        what = "not a record of what was fetched; remove it to start afresh"
        raise FormatError(path, None, what) from None
