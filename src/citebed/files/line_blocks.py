"""Long texts in blocks of whole lines, so that none of them is ever in memory as a whole."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from citebed.errors import FormatError
from citebed.files.limits import SMALL, how_to_raise, limit, shown
from citebed.files.reading import opened
from citebed.files.system_errors import open_translated
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


def file_texts(path: Path, size: int = _PIECE) -> Iterator[bytes]:
    """Whole lines of a file, plain or packed, without a byte-order mark; nothing is counted."""
    with opened(path) as stream:
        texts = whole_lines(pieces_of(stream, size), printable(path), size)
        yield next(texts, b"").removeprefix(_BOM)
        yield from texts


def line_cuts(path: Path, size: int) -> list[int]:
    """Where parts of a plain file of about so many bytes begin, each with a line; and its end."""
    end = path.stat().st_size
    with open_translated(path) as handle:
        begins = {line_start(handle, near) for near in range(size, end, size)}
    return sorted({0, end} | begins)


def line_start(handle: BinaryIO, near: int) -> int:
    """Where the first line begins that does so at a byte or behind it."""
    handle.seek(near - 1)
    while (line := handle.readline(_PIECE)) and not line.endswith(b"\n"):
        pass
    return handle.tell()


def part_texts(path: Path, begin: int, end: int, size: int = _PIECE) -> Iterator[bytes]:
    """Whole lines of a part of a plain file, without a byte-order mark at its beginning."""
    texts = whole_lines(part_pieces(path, begin, end, size), printable(path), size)
    first = next(texts, b"")
    yield first if begin else first.removeprefix(_BOM)
    yield from texts


def part_pieces(path: Path, begin: int, end: int, size: int = _PIECE) -> Iterator[bytes]:
    """The bytes of a part of a plain file."""
    with open_translated(path) as handle:
        handle.seek(begin)
        while begin < end and (piece := handle.read(min(size, end - begin))):
            begin += len(piece)
            yield piece


def file_blocks(path: Path, size: int = _PIECE) -> Iterator[Block]:
    """The same with their numbers."""
    return _counted(file_texts(path, size), 1)


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
    return _counted(whole_lines(pieces, name, size), first_line)


def _counted(texts: Iterable[bytes], line: int) -> Iterator[Block]:
    try:
        for data in texts:
            lines = data.count(b"\n") + (not data.endswith(b"\n"))
            if data:
                yield Block(data, line, lines)
                line += lines
    except FormatError as error:
        raise FormatError(error.path, error.line or line, error.what) from None


def whole_lines(pieces: Iterable[bytes], name: str, size: int) -> Iterator[bytes]:
    """The pieces of a text, cut at line ends; what stands whole before damage is given first."""
    parts: list[bytes] = []
    held = 0
    most = max(2 * size, limit(SMALL))
    try:
        for piece in pieces:
            held += len(piece)
            cut = piece.rfind(b"\n") + 1 if held >= size else 0
            if cut:
                yield b"".join((*parts, memoryview(piece)[:cut]))
                parts, held = [], len(piece) - cut
            parts.append(piece[cut:])
            if held > most:
                what = f"longer than {shown(most)}, much for a line. {how_to_raise()}"
                raise FormatError(name, None, what)
    except FormatError:
        data = b"".join(parts)
        yield data[: data.rfind(b"\n") + 1]
        raise
    if held:
        yield b"".join(parts)


# --- JSON Lines -------------------------------------------------------------------------------


def json_object(path: Path, number: int, line: str, expected: str) -> dict[str, Any]:
    """The object of a line; ``expected`` says what it should look like."""
    try:
        row = json.loads(line)
        if "\\ud" in line.lower():  # JSON can spell half a character; no table or file holds it
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start].encode("ascii", "backslashreplace").decode()
        what = f"{half} is half a character. Write all of it, or take it out."
        raise FormatError(path, number, what) from None
    except (ValueError, RecursionError) as error:  # also of a number of thousands of digits
        raise FormatError(path, number, f"is not JSON ({error}). {expected}") from None
    if not isinstance(row, dict):
        raise FormatError(path, number, f"found no JSON object. {expected}")
    return row
