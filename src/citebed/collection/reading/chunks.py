"""Cutting a stream into pieces of whole records, so that memory stays flat however long it is."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from citebed.collection.formats import recognise
from citebed.collection.formats.base import (
    MAX_RECORD_BYTES,
    MAX_WHOLE_FILE_BYTES,
    Chunk,
    Format,
    decode,
)
from citebed.collection.reading.sources import BAD_DATA, Member
from citebed.records import Problem

CHUNK_BYTES = 4 << 20
_HEAD_BYTES = 16 << 10
_STEP_BYTES = 64 << 10
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


class Piece(NamedTuple):
    """A chunk and the format to read it with."""

    format: str
    chunk: Chunk


def pieces(member: Member) -> Iterator[Piece | Problem]:
    """The pieces of a stream, in order, and what could not be read of it."""
    stream = _Patient(member.stream)
    yield from _pieces(member.name, stream)
    if stream.error is not None:
        yield Problem(1, f"could not be read to the end: {stream.error}")


class _Patient:
    """A stream that ends where it breaks, so that what came before is not lost."""

    def __init__(self, inner: BinaryIO) -> None:
        self._inner: Any = inner
        self.error: Exception | None = None

    def read(self, size: int) -> bytes:
        """``size`` bytes, fewer only at the end."""
        blocks: list[bytes] = []
        while size > 0 and self.error is None:
            try:
                block = self._inner.read1(min(size, _STEP_BYTES))
            except BAD_DATA as error:
                self.error = error
                break
            if not block:
                break
            blocks.append(block)
            size -= len(block)
        return b"".join(blocks)


def _pieces(name: str, stream: _Patient) -> Iterator[Piece | Problem]:
    head = stream.read(_HEAD_BYTES)
    if not head.strip():
        if stream.error is None:
            yield Problem(1, "an empty file", "ignored")
        return
    if head.startswith(_WIDE_MARKS):
        wide = head + stream.read(MAX_WHOLE_FILE_BYTES)
        if stream.read(1):
            limit = MAX_WHOLE_FILE_BYTES >> 20
            yield Problem(1, f"UTF-16 and UTF-32 are read up to {limit} MiB; the rest was not")
        yield from _recognised(name, _from_wide(wide), _Patient(io.BytesIO()))
    else:
        yield from _recognised(name, head, stream)


def _recognised(name: str, head: bytes, stream: _Patient) -> Iterator[Piece | Problem]:
    format = recognise(decode(head[:_HEAD_BYTES])[0])
    if format is None:
        yield Problem(1, "not in a format that citebed reads", "ignored")
    elif format.cut is None:
        yield from _whole(name, format, head, stream)
    else:
        yield from _cut(name, format, head, stream)


def _from_wide(data: bytes) -> bytes:
    return decode(data)[0].encode("utf-8", errors="replace")


def _whole(name: str, format: Format, head: bytes, stream: _Patient) -> Iterator[Piece | Problem]:
    data = head + stream.read(max(0, format.limit + 1 - len(head)))
    if len(data) > format.limit:
        limit = format.limit >> 20
        yield Problem(
            1,
            f"{format.title} is read whole and this file is larger than {limit} MiB; "
            "split it, or convert it to JSON Lines",
        )
        return
    yield Piece(format.name, Chunk(data, name))


def _cut(name: str, format: Format, head: bytes, stream: _Patient) -> Iterator[Piece | Problem]:
    assert format.cut is not None
    line, buffer, macros = 1, head + stream.read(CHUNK_BYTES), dict[str, str]()
    while block := stream.read(CHUNK_BYTES):
        end = format.cut(buffer)
        if end == 0 and len(buffer) > MAX_RECORD_BYTES and format.or_whole and line == 1:
            yield from _whole(name, format, buffer + block, stream)
            return
        if end == 0 and len(buffer) > MAX_RECORD_BYTES:
            start = line
            line, buffer = _skip_record(format, (buffer, block), line, stream)
            yield Problem(start, f"a record of more than {MAX_RECORD_BYTES >> 20} MiB is not read")
            continue
        if end:
            data = buffer[:end]
            yield Piece(format.name, Chunk(data, name, line, dict(macros)))
            if format.carry is not None:
                format.carry(data, macros)
            line += data.count(b"\n")
        buffer = buffer[end:] + block
    if buffer.strip():
        yield Piece(format.name, Chunk(buffer, name, line, macros))


def _skip_record(
    format: Format, read: tuple[bytes, bytes], line: int, stream: _Patient
) -> tuple[int, bytes]:
    """Pass over a record that is too long; gives what follows it and the line that starts at.

    ``read`` is what has been read: what is known to belong to the record, and what comes next.
    """
    buffer, ahead = read
    keep = 1 << 10
    while True:
        line += buffer[:-keep].count(b"\n")
        step, ahead = ahead[:_STEP_BYTES], ahead[_STEP_BYTES:]
        buffer = buffer[-keep:] + step
        end = _first_cut(format, buffer) if step else len(buffer)
        if end:
            return line + buffer[:end].count(b"\n"), buffer[end:] + ahead
        ahead = ahead or stream.read(CHUNK_BYTES)


def _first_cut(format: Format, buffer: bytes) -> int:
    assert format.cut is not None
    end = format.cut(buffer)
    while end and (earlier := format.cut(buffer[: end - 1])):
        end = earlier
    return end
