"""Long texts in blocks of whole lines, so that none of them is ever in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from citebed.errors import FormatError
from citebed.files.limits import SMALL, how_to_raise, limit, shown

_PIECE = 1 << 20


class Block(NamedTuple):
    """Whole lines: how many, and the number of the first."""

    data: bytes
    first_line: int
    lines: int


def pieces_of(stream: BinaryIO, size: int = _PIECE) -> Iterator[bytes]:
    """What a stream gives, as it comes: a pipe is not waited for until so much has come."""
    while data := stream.read1(size):  # type: ignore[attr-defined]
        yield data


def line_blocks(
    pieces: Iterable[bytes], name: str, size: int, first_line: int = 1
) -> Iterator[Block]:
    """The pieces of a text, cut at line ends into blocks of about ``size`` bytes.

    Where it breaks off, what stands whole before is given first; the error then has its line.
    """
    held = bytearray()
    line = first_line
    try:
        for piece in pieces:
            held += piece
            if len(held) >= size and (block := _cut(held, line)):
                yield block
                line += block.lines
            if len(held) > max(2 * size, limit(SMALL)):
                what = f"longer than {shown(limit(SMALL))}, much for a line. {how_to_raise()}"
                raise FormatError(name, line, what)
    except FormatError as error:
        if block := _cut(held, line):
            yield block
            line += block.lines
        raise FormatError(error.path, error.line or line, error.what) from None
    if held:
        yield Block(bytes(held), line, held.count(b"\n") + (held[-1:] != b"\n"))


def _cut(held: bytearray, line: int) -> Block | None:
    """The whole lines among what is held, taken out of it."""
    cut = held.rfind(b"\n") + 1
    if not cut:
        return None
    data = bytes(held[:cut])
    del held[:cut]
    return Block(data, line, data.count(b"\n"))
