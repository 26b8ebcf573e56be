"""Finding and opening what the user points at: files, folders, compressed files, archives.

Nothing is ever unpacked onto the disk, so a name inside an archive is only a label. Every
stream is read piece by piece and watched: something that unpacks to hundreds of times its
size is left alone once it passes ``BOMB_BYTES``, and all that one file unpacks to, through
all its members and layers, ``FILE_BYTES``.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from citebed.errors import CitebedError
from citebed.records import Problem

BOMB_BYTES = 100 << 20
FILE_BYTES = 400 << 20
BOMB_RATIO = 200
_XZ_MEMORY = 512 << 20
_NESTED_ZIP_BYTES = 256 << 20
_MAX_DEPTH = 3
_ENCRYPTED = 0x1

BAD_DATA = (
    OSError,
    EOFError,
    lzma.LZMAError,
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""What the standard library raises on broken, cut or encrypted archives."""


class SourceFile(NamedTuple):
    """A file on disk: where it is, and the name it goes by in the collection."""

    path: Path
    name: str


class NotAFile(NamedTuple):
    """Something that was found and cannot be read as a file, and why."""

    name: str
    problem: Problem


class Member(NamedTuple):
    """A readable stream: a plain file, or one inside an archive (``a.tar.xz!b/c.bib``)."""

    name: str
    stream: BinaryIO


def find_files(paths: list[str | Path]) -> list[SourceFile | NotAFile]:
    """All files under the given paths, sorted by name; hidden ones are left out."""
    found: dict[str, SourceFile | NotAFile] = {}
    for given in paths:
        root = Path(given)
        if not root.exists():
            raise CitebedError(
                f"no such file or folder: {given}. "
                "Give the bibliographies, papers or archives to import."
            )
        for path in _files_under(root):
            name = os.path.normpath(path).replace(os.sep, "/")
            why = _why_no_file(path)
            found[name] = (
                NotAFile(name, Problem(1, why, "ignored")) if why else SourceFile(path, name)
            )
    return [found[name] for name in sorted(found)]


def _why_no_file(path: Path) -> str:
    """Why a path cannot be read as a file, ``""`` if it can."""
    if not os.path.exists(path):  # unlike Path.exists, does not raise where we may not look
        return "a link that leads nowhere"
    if path.is_dir():
        a_link = "a link to a folder is not followed; name that folder to read it too"
        return a_link if path.is_symlink() else "a folder that cannot be opened"
    return "" if stat.S_ISREG(path.stat().st_mode) else "not a regular file"


def _files_under(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        yield root
        return
    closed: list[Path] = []
    for folder, folders, files in os.walk(root, onerror=lambda e: closed.append(Path(e.filename))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if "citebed.toml" in files:
            folders.clear()
            continue
        links = (name for name in folders if Path(folder, name).is_symlink())
        for name in (*files, *links):
            if not name.startswith("."):
                yield Path(folder, name)
    yield from closed


class _Bomb(OSError):
    """Something that unpacks to far too much."""

    def __init__(self) -> None:
        super().__init__(
            f"unpacks to more than {BOMB_RATIO} times its size; looks like a decompression bomb"
        )


class _Budget:
    """What all streams in one file of ``size`` bytes may unpack to, together."""

    def __init__(self, size: int) -> None:
        self.left = max(FILE_BYTES, BOMB_RATIO * size)

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise _Bomb


class _Watched(io.RawIOBase):
    """A decompressed stream that refuses to grow without measure."""

    def __init__(self, inner: Any, consumed: Callable[[], int], budget: _Budget) -> None:
        self._inner = inner
        self._consumed = consumed
        self._budget = budget
        self.produced = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._inner.read1(len(view))  # not read: it would lose what precedes a break
        self.produced += len(data)
        self._budget.spend(len(data))
        if self.produced > max(BOMB_BYTES, BOMB_RATIO * self._consumed()):
            raise _Bomb
        view[: len(data)] = data
        return len(data)


class _Xz(io.RawIOBase):
    """Several .xz or .lzma streams in a row, with a limit on the memory that unpacking takes."""

    def __init__(self, inner: BinaryIO) -> None:
        self._inner = inner
        self._decoder: lzma.LZMADecompressor | None = None
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        while not self._ended:
            data = self._decode(len(view))
            if data:
                view[: len(data)] = data
                return len(data)
        return 0

    def _decode(self, limit: int) -> bytes:
        if self._decoder is not None and self._decoder.eof:
            rest = self._decoder.unused_data.lstrip(b"\0") or self._inner.read(1 << 16).lstrip(
                b"\0"
            )
            self._decoder = None
            if not rest:
                self._ended = True
                return b""
        elif self._decoder is not None and not self._decoder.needs_input:
            rest = b""
        else:
            rest = self._inner.read(1 << 16)
            if not rest:
                if self._decoder is not None:
                    raise EOFError("the compressed data ends too early")
                self._ended = True
                return b""
        if self._decoder is None:
            self._decoder = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        return self._decoder.decompress(rest, max_length=limit)


def _unwrap(stream: BinaryIO, magic: bytes, budget: _Budget) -> BinaryIO | None:
    """The decompressed stream where the first bytes say that it is compressed."""
    if magic.startswith(b"\x1f\x8b"):
        inner: BinaryIO = gzip.GzipFile(fileobj=stream)  # type: ignore[assignment]
    elif magic.startswith((b"\xfd7zXZ\0", b"\x5d\0\0")):
        inner = io.BufferedReader(_Xz(stream), 1 << 18)
    elif magic.startswith(b"BZh"):
        inner = bz2.BZ2File(stream)  # type: ignore[assignment]
    else:
        return None
    return io.BufferedReader(_Watched(inner, _position(stream), budget), 1 << 20)


def _position(stream: BinaryIO) -> Callable[[], int]:
    """How to learn what has been read of a stream: a decompressed one counts for itself."""
    raw = getattr(stream, "raw", None)
    return (lambda: raw.produced) if isinstance(raw, _Watched) else stream.tell


class _Counted(io.FileIO):
    """A file that tells how much of it has been read."""

    def __init__(self, path: Path, on_read: Callable[[int], None]) -> None:
        super().__init__(path, "rb")
        self._on_read = on_read

    def readinto(self, buffer: object) -> int:
        count = super().readinto(buffer) or 0  # type: ignore[arg-type]
        self._on_read(count)
        return count


def members(
    path: Path, name: str, on_read: Callable[[int], None] = lambda _: None
) -> Iterator[Member | Problem]:
    """The readable streams in a file; each must be read before the next is asked for."""
    try:
        with io.BufferedReader(_Counted(path, on_read), 1 << 20) as stream:
            yield from _members(stream, name, 0, _Budget(path.stat().st_size))
    except PermissionError:
        yield Problem(1, "permission denied", "skipped")


def _members(stream: Any, name: str, depth: int, budget: _Budget) -> Iterator[Member | Problem]:
    buffered = stream
    if not isinstance(stream, io.BufferedReader):
        buffered = io.BufferedReader(stream, 1 << 20)
    magic = buffered.peek(512)[:512]
    if depth > _MAX_DEPTH:
        yield Problem(1, f"{name}: archives nested more than {_MAX_DEPTH} deep")
    elif magic.startswith(b"PK\x03\x04"):
        yield from _zip_members(buffered, name, depth, budget)
    elif magic[257:262] == b"ustar":
        yield from _tar_members(buffered, name, depth, budget)
    elif (inner := _unwrap(buffered, magic, budget)) is not None:
        yield from _members(inner, name, depth + 1, budget)
    else:
        yield Member(name, buffered)


def _label(archive: str, member: str) -> str:
    parts = [
        part
        for part in PurePosixPath(member.replace("\\", "/")).parts
        if part not in ("/", "..", ".")
    ]
    return f"{archive}!{'/'.join(parts)}"


def _is_hidden(member: str) -> bool:
    return any(
        part.startswith((".", "__MACOSX")) and part not in (".", "..")
        for part in PurePosixPath(member.replace("\\", "/")).parts
    )


def _tar_members(
    stream: BinaryIO, name: str, depth: int, budget: _Budget
) -> Iterator[Member | Problem]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for info in archive:
            label = _label(name, info.name)
            if info.isdir() or _is_hidden(info.name):
                continue
            content = archive.extractfile(info) if info.isreg() else None
            if content is None:
                yield Problem(1, f"{label}: a link or device, not a file", "ignored")
                continue
            yield from _members(content, label, depth + 1, budget)


def _zip_members(
    stream: BinaryIO, name: str, depth: int, budget: _Budget
) -> Iterator[Member | Problem]:
    if depth:
        data = stream.read(_NESTED_ZIP_BYTES + 1)
        if len(data) > _NESTED_ZIP_BYTES:
            yield Problem(1, f"{name}: a zip file of more than 256 MiB inside another archive")
            return
        stream = io.BytesIO(data)
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            label = _label(name, info.filename)
            if info.is_dir() or _is_hidden(info.filename):
                continue
            if info.flag_bits & _ENCRYPTED:
                yield Problem(1, f"{label}: encrypted; unpack it with its password and import that")
                continue
            try:
                with archive.open(info) as content:
                    packed = max(info.compress_size, 1)
                    watched = _Watched(content, lambda packed=packed: packed, budget)  # type: ignore[misc]
                    inside = io.BufferedReader(watched, 1 << 20)
                    yield from _members(inside, label, depth + 1, budget)
            except BAD_DATA as error:
                yield Problem(1, f"{label}: {error}")
            if budget.left < 0:
                yield Problem(1, f"{name}: unpacks to far too much; the rest of it is not read")
                return
