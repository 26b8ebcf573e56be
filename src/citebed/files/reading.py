"""Opening what a user named: plain or packed, a file or a pipe, never without end.

A folder, a device and a packed file that unpacks without measure are refused; damage is told with
the file's name. The limits are those of `citebed.files.limits`.
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
from typing import TYPE_CHECKING, Any, BinaryIO

from citebed.errors import CitebedError, FormatError, is_interrupt
from citebed.files.limits import BOMB_RATIO, FILE_BYTES, PIPE, SMALL, how_to_raise, limit, shown
from citebed.files.packed import MAGIC_BYTES, Bomb, Budget, damage, packing, unpacked
from citebed.files.system_errors import heed_interrupts, open_translated, translate_read_errors
from citebed.files.writing import translate_os_errors
from citebed.wording import printable

if TYPE_CHECKING:
    import polars as pl

_BLOCK = 1 << 20
_ENDLESS = 1 << 62
_CELL = 8
"""The least that a value takes in memory."""


@contextmanager
def opened(path: Path, *, endless: bool = False) -> Iterator[BinaryIO]:
    """The bytes of a file or pipe, unpacked where it is packed; to be read once, in order.

    A pipe that is ``endless`` may go on for ever, as long as it does not unpack without measure.
    """
    kind = _checked(path)
    with open_translated(path) as plain:
        stream: BinaryIO = plain
        size = kind.st_size
        if not stat.S_ISREG(kind.st_mode):
            size = _ENDLESS if endless else limit(PIPE)
            stream = io.BufferedReader(_Bounded(plain, path, size), _BLOCK)
        magic = stream.peek(MAGIC_BYTES)[:MAGIC_BYTES]  # type: ignore[attr-defined]
        inner = unpacked(stream, magic, Budget(size))
        if inner is None:
            yield stream
        else:
            with inner, io.BufferedReader(_Packed(inner, path, packing(magic)), _BLOCK) as whole:
                yield whole


def is_packed(path: Path) -> bool:
    """Whether a file's first bytes say that it is gzip, bzip2 or xz."""
    _checked(path)
    with open_translated(path) as handle:
        return bool(packing(handle.read(MAGIC_BYTES)))


def read_small(path: Path, most: int = SMALL) -> bytes:
    """All bytes of a file that is read whole; one that is larger than the limit is refused."""
    most = limit(most)
    with opened(path) as stream:
        data = read_up_to(stream, most + 1)
    if len(data) > most:
        what = f"larger than {shown(most)}, much for such a file. {how_to_raise()}"
        raise FormatError(path, None, what)
    return data


def read_up_to(stream: BinaryIO, most: int) -> bytes:
    """The next bytes of a stream, as many as there are; asked for at once, Python would set aside
    memory for all that there could be."""
    pieces = []
    while most > 0 and (piece := stream.read(min(most, _BLOCK))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def read_text(path: Path, most: int = SMALL) -> str:
    """All of a small text file, UTF-8 with or without a byte-order mark; other bytes are told."""
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


def data_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file that hold something other than a comment, with their numbers."""
    for at, line in read_lines(path):
        if "\r" in line:
            raise FormatError(path, at, "a carriage return stands within the line. Make it \\n.")
        if line.strip() and not line.startswith("#"):
            yield at, line


def read_lines(path: Path, most: int = SMALL) -> Iterator[tuple[int, str]]:
    """The lines of a small text file with their numbers; only line feeds end one."""
    for number, line in enumerate(read_text(path, most).split("\n"), 1):
        yield number, line.removesuffix("\r")


def standard_input() -> BinaryIO:
    """The bytes of standard input; closed, as in a service, it is an error."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise CitebedError("standard input is closed; name a file instead of -")
    heed_interrupts()
    return stream  # type: ignore[no-any-return]


def keep_standard_input(path: Path) -> None:
    """Write all of standard input, up to the limit of a pipe, to a new file."""
    import shutil

    given = _Bounded(standard_input(), Path("standard input"), limit(PIPE))
    with translate_os_errors(path), path.open("xb") as file:
        shutil.copyfileobj(given, file, _BLOCK)


@contextmanager
def at_hand(path: Path) -> Iterator[Path]:
    """A file that can be opened as often as one likes, under a name that every library takes.

    That is the file itself; for a pipe (``<(zcat x.run.gz)``, ``/dev/stdin``) a copy where
    temporary files are kept, which goes at the end; for a name that is not UTF-8 a link. Errors
    of format speak of what was given.
    """
    is_file = stat.S_ISREG(_checked(path).st_mode)
    if is_at_hand(path):
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
                translate_os_errors(copy),
                open_translated(path) as pipe,
                copy.open("wb") as file,
            ):
                shutil.copyfileobj(_Bounded(pipe, path, limit(PIPE)), file, _BLOCK)
        try:
            yield copy
        except FormatError as error:
            if error.path != str(copy):
                raise
            raise FormatError(path, error.line, error.what) from None


def read_parquet(path: Path) -> pl.DataFrame:
    """The table of a Parquet file; one that is damaged, or holds far too many rows, is refused."""
    import polars as pl

    with at_hand(path) as file:
        try:
            with translate_read_errors(path):
                scan = pl.scan_parquet(file, glob=False)
                rows: int = scan.select(pl.len()).collect().item()
                size = rows * _CELL * len(scan.collect_schema())
                if size > max(limit(FILE_BYTES), BOMB_RATIO * file.stat().st_size):
                    raise FormatError(path, None, str(Bomb()))
                return scan.collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            reason = str(error).partition("\n")[0]
            raise FormatError(path, None, f"not a Parquet file, or damaged ({reason}).") from None


def is_at_hand(path: Path) -> bool:
    """Whether ``at_hand`` gives the file itself, so that nothing is left if reading is cut off."""
    return path.is_file() and printable(path) == os.fspath(path)


def _checked(path: Path) -> os.stat_result:
    """What the system says of a path that is to be read; folders and devices are refused."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise CitebedError(f"no such file: {printable(path)}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise CitebedError(f"cannot read {printable(path)}: {reason}") from None
    if stat.S_ISDIR(status.st_mode):
        raise CitebedError(f"{printable(path)} is a folder; give the file itself.")
    mode = status.st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or _is_terminal(path)):
        raise CitebedError(f"{printable(path)} is a device; give a file or a pipe.")
    if not stat.S_ISREG(mode):
        heed_interrupts()  # already while it is opened
    return status


def _is_terminal(path: Path) -> bool:
    """Whether a path is a terminal, as ``/dev/stdin`` may be."""
    with open_translated(path) as handle:
        return handle.isatty()


class _Bounded(io.RawIOBase):
    """A stream that may have no end, read up to a limit."""

    def __init__(self, inner: Any, path: Path, most: int) -> None:
        self._inner = inner
        self._path = path
        self._most = most
        self._left = most

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._most - self._left

    def readinto(self, buffer: object) -> int:
        heed_interrupts()
        count = self._inner.readinto1(buffer)
        self._left -= count
        if self._left < 0:
            what = f"gives more than {shown(self._most)}. {how_to_raise()}"
            raise FormatError(self._path, None, what)
        return int(count)


class _Packed(io.RawIOBase):
    """A packed stream whose damage is told with the file's name."""

    def __init__(self, inner: Any, path: Path, how: str) -> None:
        self._inner = inner
        self._path = path
        self._how = how

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        try:
            return int(self._inner.readinto1(buffer))
        except Bomb as error:
            raise FormatError(self._path, None, str(error)) from None
        except damage() as error:
            what = f"the {self._how} file is cut short or damaged ({error}). Get it anew."
            raise FormatError(self._path, None, what) from None


def file_hash(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    import hashlib  # slow to load, and few ask

    with open_translated(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
