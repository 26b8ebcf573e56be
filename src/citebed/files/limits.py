"""Limits on what citebed reads, and decompression (gzip, bzip2, xz) within these limits.

``CITEBED_MAX_BYTES`` (a number of bytes, or a size such as ``20G``) raises all limits at once.
"""

from __future__ import annotations

import io
import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from citebed.errors import CitebedError, FormatError

if TYPE_CHECKING:
    import lzma

VARIABLE = "CITEBED_MAX_BYTES"
SMALL_BYTES = 256 << 20
"""Limit of a file that is read at once: topics, lists, profiles, headers."""
MODEL_BYTES = 4 << 30
"""Limit of a model's weights."""
PIPE_BYTES = 64 << 30
"""Limit of a pipe, which is copied to disk while it is read."""
BOMB_BYTES = 100 << 20
"""Limit of a compressed stream that decompresses to more than ``BOMB_RATIO`` times its size."""
FILE_BYTES = 400 << 20
"""The same limit for all streams in a compressed file together."""
BOMB_RATIO = 200

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,15})\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def effective_limit(default: int) -> int:
    """Return the limit: ``default``, or ``CITEBED_MAX_BYTES`` if that is larger."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return default
    match = _SIZE.fullmatch(text)
    if match is None:
        raise CitebedError(f"{VARIABLE} is '{text}'; expected a number of bytes, such as 20G.")
    return max(default, int(match[1]) * _UNITS[match[2].upper()])


def check_size(path: Path, most: int) -> None:
    """Raise if a file has more bytes than the limit, even if a sparse file uses little disk."""
    size, most = path.stat().st_size, effective_limit(most)
    if size > most:
        what = f"has {size:,} bytes, more than {format_size(most)}. {limit_hint()}"
        raise FormatError(path, None, what)


def limit_hint() -> str:
    """Return the sentence that says how to raise the limits."""
    return f"If you trust it, set {VARIABLE} (say, to 20G) and try again."


def format_size(size: int) -> str:
    """Return a size with its unit: ``256 MiB``."""
    unit, name = (1 << 30, "GiB") if size >= 1 << 30 else (1 << 20, "MiB")
    return f"{size / unit:g} {name}" if size >= 1 << 20 else f"{size:,} bytes"


class Allowance:
    """Limits how many characters the records of a file may take over from other records.

    A name of a few letters can stand for a text of any length, which can contain other names: 30
    BibTeX strings that each repeat the one before twice expand to more than a machine's memory. So
    a file of ``size`` characters may expand to a few times its size.
    """

    FREE = 1 << 16
    TIMES = 10
    SHARE = 4

    def __init__(self, size: int) -> None:
        self._left = self.FREE + self.TIMES * size

    def covers(self, size: int) -> bool:
        """If ``size`` more characters are allowed, count them and return True.

        One text may use at most a quarter of the rest, so that enough is left for short names after
        a very long one.
        """
        if size > self._left // self.SHARE:
            return False
        self._left -= size
        return True


# --- Decompression ----------------------------------------------------------------------------


_XZ_MEMORY = 512 << 20
MAGIC_BYTES = 6
"""Number of bytes at the start of a file that show whether it is compressed."""
_MISREAD = (b"\x1f\x8b", b"x\x01", b"x^", b"x\x9c", b"x\xda", b"(\xb5/\xfd", b"\xef\xbb\xbf")


class DecompressionBomb(OSError):
    """A stream that decompresses to far too much."""

    def __init__(self) -> None:
        super().__init__(
            f"unpacks to more than {BOMB_RATIO} times its size; looks like a decompression bomb. "
            f"{limit_hint()}"
        )


class DecompressionBudget:
    """The bytes that all streams in one file of ``size`` bytes may decompress to."""

    def __init__(self, size: int) -> None:
        self.left = max(effective_limit(FILE_BYTES), BOMB_RATIO * size)

    def spend(self, count: int) -> None:
        """Count decompressed bytes; raise if there are too many."""
        self.left -= count
        if self.left < 0:
            raise DecompressionBomb


class ReadOnlyStream(io.RawIOBase):
    def readable(self) -> bool:
        """Return True."""
        return True


class LimitedStream(ReadOnlyStream):
    """A decompressed stream that raises once it grows far beyond its compressed size."""

    def __init__(
        self, inner: Any, consumed: Callable[[], int], budget: DecompressionBudget
    ) -> None:
        self._inner = inner
        self._consumed = consumed
        self._budget = budget
        self._free = effective_limit(BOMB_BYTES)
        self.produced = 0

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._inner.read1(len(view))  # read() would lose the bytes before damage
        self.produced += len(data)
        self._budget.spend(len(data))
        if self.produced > max(self._free, BOMB_RATIO * self._consumed()):
            raise DecompressionBomb
        view[: len(data)] = data
        return len(data)


class _XzStream(ReadOnlyStream):
    """Several .xz or .lzma streams in a row, decompressed with limited memory."""

    def __init__(self, inner: BinaryIO) -> None:
        self._inner = inner
        self._decoder: lzma.LZMADecompressor | None = None
        self._ended = False

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        while not self._ended:
            data = self._decode(len(view))
            if data:
                view[: len(data)] = data
                return len(data)
        return 0

    def _decode(self, size: int) -> bytes:
        import lzma

        if self._decoder is not None and self._decoder.eof:
            unused = self._decoder.unused_data.lstrip(b"\0")
            rest = unused or self._inner.read(1 << 16).lstrip(b"\0")
            self._decoder = None
        elif self._decoder is not None and not self._decoder.needs_input:
            return self._decoder.decompress(b"", max_length=size)
        else:
            rest = self._inner.read(1 << 16)
            if not rest and self._decoder is not None:
                raise EOFError("the compressed data ends too early")
        if not rest:
            self._ended = True
            return b""
        if self._decoder is None:
            self._decoder = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        return self._decoder.decompress(rest, max_length=size)


def detect_compression(magic: bytes) -> str:
    """Return ``gzip``, ``bzip2``, ``xz`` or ``""`` for the first bytes of a stream."""
    if magic.startswith(b"\x1f\x8b"):
        return "gzip"
    if magic.startswith((b"\xfd7zXZ\0", b"\x5d\0\0")):
        return "xz"
    return "bzip2" if magic.startswith(b"BZh") else ""


def polars_misreads(text: bytes) -> bool:
    """Return True if polars would misread a text that starts with these bytes.

    polars decompresses, without a limit, whatever looks compressed (zlib's ``x^`` may well start a
    text), and skips a byte-order mark wherever a part of a file starts with one.
    """
    return text.startswith(_MISREAD)


def decompress(stream: BinaryIO, magic: bytes, budget: DecompressionBudget) -> BinaryIO | None:
    """Return the decompressed stream, or ``None`` if the first bytes show no known format."""
    match detect_compression(magic):
        case "gzip":
            import gzip

            inner: BinaryIO = gzip.GzipFile(fileobj=stream)  # type: ignore[assignment]
        case "xz":
            inner = io.BufferedReader(_XzStream(stream), 1 << 18)
        case "bzip2":
            import bz2

            inner = bz2.BZ2File(stream)  # type: ignore[assignment]
        case _:
            return None
    raw = getattr(stream, "raw", None)  # a stream that is itself decompressed
    consumed = (lambda: raw.produced) if isinstance(raw, LimitedStream) else stream.tell
    return io.BufferedReader(LimitedStream(inner, consumed, budget), 1 << 20)


def decompression_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that the standard library raises for a damaged compressed stream."""
    import lzma

    return (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)
