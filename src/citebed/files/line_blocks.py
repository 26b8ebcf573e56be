"""Long texts in blocks of whole lines, so that none of them is ever in memory as a whole."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from citebed.errors import FormatError
from citebed.files.limits import SMALL, how_to_raise, limit, shown
from citebed.files.reading import opened
from citebed.wording import printable

_PIECE = 1 << 20
_BOM = codecs.BOM_UTF8


class Block(NamedTuple):
    """Whole lines: how many, and the number of the first."""

    data: bytes
    first_line: int
    lines: int


def pieces_of(stream: BinaryIO, size: int = _PIECE) -> Iterator[bytes]:
    """What a stream gives, as it comes: a pipe is not waited for until so much has come."""
    while data := stream.read1(size):  # type: ignore[attr-defined]
        yield data


def file_blocks(path: Path, size: int = _PIECE) -> Iterator[Block]:
    """The lines of a file, plain or packed, without a byte-order mark."""
    with opened(path) as stream:
        for block in line_blocks(pieces_of(stream, size), printable(path), size):
            is_first = block.first_line == 1
            yield block._replace(data=block.data.removeprefix(_BOM)) if is_first else block


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file one by one, with their numbers and without their ends."""
    for block in file_blocks(path):
        yield from numbered(block)


def numbered(block: Block) -> Iterator[tuple[int, bytes]]:
    """The lines of a block with their numbers and without their ends."""
    return enumerate(block.data.removesuffix(b"\n").split(b"\n"), block.first_line)


def line_blocks(
    pieces: Iterable[bytes], name: str, size: int, first_line: int = 1
) -> Iterator[Block]:
    """The pieces of a text, cut at line ends into blocks of about ``size`` bytes.

    Where it breaks off, what stands whole before is given first; the error then has its line.
    """
    parts: list[bytes] = []
    held, line = 0, first_line
    most = max(2 * size, limit(SMALL))
    try:
        for piece in pieces:
            held += len(piece)
            cut = piece.rfind(b"\n") + 1 if held >= size else 0
            if cut:
                block = _block([*parts, memoryview(piece)[:cut]], line)
                yield block
                parts, held, line = [], len(piece) - cut, line + block.lines
            parts.append(piece[cut:])
            if held > most:
                what = f"longer than {shown(most)}, much for a line. {how_to_raise()}"
                raise FormatError(name, None, what)
    except FormatError as error:
        data = b"".join(parts)
        whole = data[: data.rfind(b"\n") + 1]
        if whole:
            yield _block([whole], line)
        at = error.line or line + whole.count(b"\n")
        raise FormatError(error.path, at, error.what) from None
    if held:
        yield _block(parts, line)


def _block(parts: Sequence[bytes | memoryview], line: int) -> Block:
    data = b"".join(parts)
    return Block(data, line, data.count(b"\n") + (not data.endswith(b"\n")))
