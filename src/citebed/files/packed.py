"""Packed streams (gzip, bzip2, xz), watched while they unpack.

Something that unpacks to hundreds of times its size is left alone once it passes ``BOMB_BYTES``,
and all that one file unpacks to, through all its members and layers, ``FILE_BYTES``.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from citebed.files.limits import BOMB_BYTES, BOMB_RATIO, FILE_BYTES, how_to_raise, limit

if TYPE_CHECKING:
    import lzma

_XZ_MEMORY = 512 << 20
_GZIP, _BZIP2, _XZ = b"\x1f\x8b", b"BZh", (b"\xfd7zXZ\0", b"\x5d\0\0")
MAGIC_BYTES = 6
_MISREAD = (b"\x1f\x8b", b"x\x01", b"x^", b"x\x9c", b"x\xda", b"(\xb5/\xfd", b"\xef\xbb\xbf")


class Bomb(OSError):
    """Something that unpacks to far too much."""

    def __init__(self) -> None:
        super().__init__(
            f"unpacks to more than {BOMB_RATIO} times its size; looks like a decompression bomb. "
            f"{how_to_raise()}"
        )


class Budget:
    """What all streams in one file of ``size`` bytes may unpack to, together."""

    def __init__(self, size: int) -> None:
        self.left = max(limit(FILE_BYTES), BOMB_RATIO * size)

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise Bomb


class Watched(io.RawIOBase):
    """A decompressed stream that refuses to grow without measure."""

    def __init__(self, inner: Any, consumed: Callable[[], int], budget: Budget) -> None:
        self._inner = inner
        self._consumed = consumed
        self._budget = budget
        self._free = limit(BOMB_BYTES)
        self.produced = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._inner.read1(len(view))  # not read: it would lose what precedes a break
        self.produced += len(data)
        self._budget.spend(len(data))
        if self.produced > max(self._free, BOMB_RATIO * self._consumed()):
            raise Bomb
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
        import lzma

        if self._decoder is not None and self._decoder.eof:
            unused = self._decoder.unused_data.lstrip(b"\0")
            rest = unused or self._inner.read(1 << 16).lstrip(b"\0")
            self._decoder = None
        elif self._decoder is not None and not self._decoder.needs_input:
            return self._decoder.decompress(b"", max_length=limit)
        else:
            rest = self._inner.read(1 << 16)
            if not rest and self._decoder is not None:
                raise EOFError("the compressed data ends too early")
        if not rest:
            self._ended = True
            return b""
        if self._decoder is None:
            self._decoder = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        return self._decoder.decompress(rest, max_length=limit)


def packing(magic: bytes) -> str:
    """How a stream with these first bytes is packed: ``gzip``, ``bzip2``, ``xz``, ``""``."""
    if magic.startswith(_GZIP):
        return "gzip"
    if magic.startswith(_XZ):
        return "xz"
    return "bzip2" if magic.startswith(_BZIP2) else ""


def polars_misreads(text: bytes) -> bool:
    """Whether polars would not take a text for what it is, told from its first bytes.

    It unpacks what looks packed to it, without a limit (zlib's ``x^`` may well begin a text), and
    passes over a byte-order mark wherever a part of a file starts with one.
    """
    return text.startswith(_MISREAD)


def unpacked(stream: BinaryIO, magic: bytes, budget: Budget) -> BinaryIO | None:
    """The decompressed stream where the first bytes say that it is compressed."""
    how = packing(magic)
    if how == "gzip":
        import gzip

        inner: BinaryIO = gzip.GzipFile(fileobj=stream)  # type: ignore[assignment]
    elif how == "xz":
        inner = io.BufferedReader(_Xz(stream), 1 << 18)
    elif how == "bzip2":
        import bz2

        inner = bz2.BZ2File(stream)  # type: ignore[assignment]
    else:
        return None
    raw = getattr(stream, "raw", None)  # a decompressed stream counts for itself
    consumed = (lambda: raw.produced) if isinstance(raw, Watched) else stream.tell
    return io.BufferedReader(Watched(inner, consumed, budget), 1 << 20)


def damage() -> tuple[type[Exception], ...]:
    """What the standard library raises where a packed stream is cut short or damaged."""
    import lzma

    return (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)
