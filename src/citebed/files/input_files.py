"""Input files: open and read what a user names, plain or compressed, with limits.

citebed refuses folders, devices and files that are too large (see `citebed.files.limits`). An error
names the file.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from citebed.errors import CitebedError, FormatError
from citebed.files.limits import (
    MAGIC_BYTES,
    PIPE_BYTES,
    SMALL_BYTES,
    DecompressionBomb,
    DecompressionBudget,
    ReadOnlyStream,
    decompress,
    decompression_errors,
    detect_compression,
    effective_limit,
    format_size,
    limit_hint,
)
from citebed.files.output_files import translate_write_errors
from citebed.files.system_errors import allow_interrupts, open_for_reading
from citebed.wording import printable

_BLOCK = 1 << 20
_ENDLESS = 1 << 62


def is_existing_file(text: str | Path) -> bool:
    """Return True if a text is the path of a file, pipe or device; any text is allowed."""
    return os.path.exists(text) and not os.path.isdir(text)


def is_existing_folder(text: str | Path) -> bool:
    """Return True if a text is the path of a folder; any text is allowed."""
    return os.path.isdir(os.path.expanduser(text))


def _check_readable(path: Path) -> os.stat_result:
    """Return the status of a file or pipe; raise for folders, devices and missing files."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise CitebedError(f"no such file: {printable(path)}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise CitebedError(f"cannot read {printable(path)}: {reason}") from None
    if stat.S_ISREG(status.st_mode):
        return status
    if stat.S_ISDIR(status.st_mode):
        raise CitebedError(f"{printable(path)} is a folder; give the file itself.")
    if not stat.S_ISFIFO(status.st_mode):
        with open_for_reading(path) as handle:
            if not handle.isatty():  # /dev/stdin may be a terminal
                raise CitebedError(f"{printable(path)} is a device; give a file or a pipe.")
    allow_interrupts()  # opening a pipe may wait, too
    return status


# --- Opening ----------------------------------------------------------------------------------


@contextmanager
def open_input(path: Path, *, endless: bool = False) -> Iterator[BinaryIO]:
    """Open a file or pipe for reading once, in order; decompress it if it is compressed.

    An ``endless`` pipe has no limit, except that it may not be a decompression bomb.
    """
    status = _check_readable(path)
    with open_for_reading(path) as plain:
        stream: BinaryIO = plain
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            size = _ENDLESS if endless else effective_limit(PIPE_BYTES)
            stream = io.BufferedReader(_BoundedStream(plain, path, size), _BLOCK)
        magic = stream.peek(MAGIC_BYTES)[:MAGIC_BYTES]  # type: ignore[attr-defined]
        inner = decompress(stream, magic, DecompressionBudget(size))
        if inner is None:
            yield stream
            return
        kind = detect_compression(magic)
        with inner, io.BufferedReader(_DecompressedFile(inner, path, kind), _BLOCK) as whole:
            yield whole


def is_compressed(path: Path) -> bool:
    """Return True if a file starts like gzip, bzip2 or xz."""
    _check_readable(path)
    with open_for_reading(path) as handle:
        return bool(detect_compression(handle.read(MAGIC_BYTES)))


def open_standard_input() -> BinaryIO:
    """Return standard input as bytes; raise if it is closed, as in a service."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise CitebedError("standard input is closed; name a file instead of -")
    allow_interrupts()
    return stream  # type: ignore[no-any-return]


def save_standard_input(path: Path) -> None:
    """Write standard input to a new file, up to the limit of a pipe."""
    import shutil

    limit = effective_limit(PIPE_BYTES)
    source = _BoundedStream(open_standard_input(), Path("standard input"), limit)
    with translate_write_errors(path), path.open("xb") as file:
        shutil.copyfileobj(source, file, _BLOCK)


def is_reusable_path(path: Path) -> bool:
    """Return True if ``reusable_path`` needs no copy, so that nothing remains after a kill."""
    return path.is_file() and printable(path) == os.fspath(path)


@contextmanager
def reusable_path(path: Path) -> Iterator[Path]:
    """Yield a path that any library can open, several times.

    That is the file itself; for a pipe (``<(zcat x.run.gz)``, ``/dev/stdin``) a temporary copy; for
    a name that is not valid UTF-8 a temporary link. Format errors name the original.
    """
    is_file = stat.S_ISREG(_check_readable(path).st_mode)
    if is_reusable_path(path):
        yield path
        return
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="citebed-") as folder:
        copy = Path(folder) / printable(path.name).replace("\\", "-")
        if is_file:
            copy.symlink_to(path.absolute())
        else:
            with (
                translate_write_errors(copy),
                open_for_reading(path) as pipe,
                copy.open("wb") as file,
            ):
                source = _BoundedStream(pipe, path, effective_limit(PIPE_BYTES))
                shutil.copyfileobj(source, file, _BLOCK)
        try:
            yield copy
        except FormatError as error:
            if error.path != str(copy):
                raise
            raise FormatError(path, error.line, error.what) from None


class _BoundedStream(ReadOnlyStream):
    """A possibly endless stream, read up to a limit."""

    def __init__(self, inner: Any, path: Path, most: int) -> None:
        self._inner = inner
        self._path = path
        self._most = most
        self._left = most

    def tell(self) -> int:
        return self._most - self._left

    def readinto(self, buffer: object) -> int:
        allow_interrupts()
        count = self._inner.readinto1(buffer)
        self._left -= count
        if self._left < 0:
            what = f"gives more than {format_size(self._most)}. {limit_hint()}"
            raise FormatError(self._path, None, what)
        return int(count)


class _DecompressedFile(ReadOnlyStream):
    """A decompressed stream whose errors name the file."""

    def __init__(self, inner: Any, path: Path, kind: str) -> None:
        self._inner = inner
        self._path = path
        self._kind = kind

    def readinto(self, buffer: object) -> int:
        try:
            return int(self._inner.readinto1(buffer))
        except DecompressionBomb as error:
            raise FormatError(self._path, None, str(error)) from None
        except decompression_errors() as error:
            what = f"the {self._kind} file is cut short or damaged ({error}). Get it again."
            raise FormatError(self._path, None, what) from None


# --- Reading whole files ----------------------------------------------------------------------


def read_small(path: Path, most: int = SMALL_BYTES) -> bytes:
    """Return all bytes of a file, decompressed; raise if there are more than the limit."""
    most = effective_limit(most)
    with open_input(path) as stream:
        data = read_up_to(stream, most + 1)
    if len(data) > most:
        what = f"is larger than {format_size(most)}. {limit_hint()}"
        raise FormatError(path, None, what)
    return data


def read_up_to(stream: BinaryIO, most: int) -> bytes:
    """Return up to ``most`` bytes of a stream; a single read would allocate memory for all."""
    pieces = []
    while most > 0 and (piece := stream.read(min(most, _BLOCK))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def read_text(path: Path, most: int = SMALL_BYTES) -> str:
    """Return a small UTF-8 file as text, without byte-order mark; raise for invalid bytes."""
    data = read_small(path, most).removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8")
        at = data.find(b"\0")
    except UnicodeDecodeError as error:
        at = error.start
    if at < 0:
        return text
    line = data.count(b"\n", 0, at) + 1
    what = f"byte 0x{data[at]:02x} is not UTF-8 text. Save the file as UTF-8."
    raise FormatError(path, line, what)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a small text file with their numbers; only line feeds end a line."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        yield number, line.removesuffix("\r")


def read_data_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a small text file that are neither empty nor comments, with numbers."""
    for number, line in read_lines(path):
        if "\r" in line:
            what = "has a carriage return within the line. Replace it by \\n."
            raise FormatError(path, number, what)
        if line.strip() and not line.startswith("#"):
            yield number, line


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    import hashlib  # slow to load and rarely needed

    with open_for_reading(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
