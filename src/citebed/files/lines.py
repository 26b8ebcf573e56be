"""Text files read in blocks of whole lines, so that memory never holds a whole file."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from citebed.errors import FormatError
from citebed.files.input_files import open_input
from citebed.files.limits import SMALL_BYTES, effective_limit, format_size, limit_hint
from citebed.files.system_errors import open_for_reading
from citebed.wording import printable

_PIECE = 1 << 20
_BOM = codecs.BOM_UTF8


class Block(NamedTuple):
    """Whole lines of a file, the number of the first line, and how many lines there are."""

    data: bytes
    first_line: int
    lines: int


def read_pieces(stream: BinaryIO, size: int = _PIECE) -> Iterator[bytes]:
    """Yield the bytes of a stream as they arrive, without waiting for a pipe to fill a piece."""
    while data := stream.read1(size):  # type: ignore[attr-defined]
        yield data


def read_chunks(path: Path, size: int = _PIECE) -> Iterator[bytes]:
    """Yield the whole lines of a plain or compressed file in chunks, without byte-order mark."""
    with open_input(path) as stream:
        chunks = split_chunks(read_pieces(stream, size), printable(path), size)
        yield next(chunks, b"").removeprefix(_BOM)
        yield from chunks


def read_blocks(path: Path, size: int = _PIECE) -> Iterator[Block]:
    """Yield the whole lines of a file in blocks with their line numbers."""
    return _count_lines(read_chunks(path, size), 1)


def read_numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, without line ends."""
    for block in read_blocks(path):
        yield from number_lines(block)


def number_lines(block: Block) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a block with their numbers, without line ends."""
    return enumerate(block.data.removesuffix(b"\n").split(b"\n"), block.first_line)


def find_part_bounds(path: Path, size: int) -> list[int]:
    """Divide a plain file at line starts into parts of about ``size`` bytes; return the offsets
    where they start, and the end of the file."""
    end = path.stat().st_size
    with open_for_reading(path) as handle:
        starts = {find_line_start(handle, near) for near in range(size, end, size)}
    return sorted({0, end} | starts)


def find_line_start(handle: BinaryIO, near: int) -> int:
    """Return the offset of the first line that starts at byte ``near`` or later."""
    handle.seek(near - 1)
    while (line := handle.readline(_PIECE)) and not line.endswith(b"\n"):
        pass
    return handle.tell()


def read_part(path: Path, begin: int, end: int, size: int = _PIECE) -> Iterator[bytes]:
    """Yield the bytes of a part of a plain file."""
    with open_for_reading(path) as handle:
        handle.seek(begin)
        while begin < end and (piece := handle.read(min(size, end - begin))):
            begin += len(piece)
            yield piece


def read_part_chunks(path: Path, begin: int, end: int, size: int = _PIECE) -> Iterator[bytes]:
    """Yield the whole lines of a part of a plain file in chunks, without byte-order mark."""
    chunks = split_chunks(read_part(path, begin, end, size), printable(path), size)
    first = next(chunks, b"")
    yield first if begin else first.removeprefix(_BOM)
    yield from chunks


def split_blocks(
    pieces: Iterable[bytes], name: str, size: int, first_line: int = 1
) -> Iterator[Block]:
    """Divide the pieces of a text at line ends into blocks of about ``size`` bytes.

    If the text is damaged, yield its whole lines before the damage, then raise an error with the
    line number.
    """
    return _count_lines(split_chunks(pieces, name, size), first_line)


def _count_lines(chunks: Iterable[bytes], line: int) -> Iterator[Block]:
    try:
        for data in chunks:
            lines = data.count(b"\n") + (not data.endswith(b"\n"))
            if data:
                yield Block(data, line, lines)
                line += lines
    except FormatError as error:
        raise FormatError(error.path, error.line or line, error.what) from None


def split_chunks(pieces: Iterable[bytes], name: str, size: int) -> Iterator[bytes]:
    """Divide the pieces of a text at line ends; yield the whole lines before any damage first."""
    parts: list[bytes] = []
    waiting = 0
    most = max(2 * size, effective_limit(SMALL_BYTES))
    try:
        for piece in pieces:
            waiting += len(piece)
            end = piece.rfind(b"\n") + 1 if waiting >= size else 0
            if end:
                yield b"".join((*parts, memoryview(piece)[:end]))
                parts, waiting = [], len(piece) - end
            parts.append(piece[end:])
            if waiting > most:
                what = f"has a line longer than {format_size(most)}. {limit_hint()}"
                raise FormatError(name, None, what)
    except FormatError:
        data = b"".join(parts)
        yield data[: data.rfind(b"\n") + 1]
        raise
    if waiting:
        yield b"".join(parts)


def parse_json_object(path: Path, number: int, line: str, expected: str) -> dict[str, Any]:
    """Return the JSON object in a line; ``expected`` ends the error message."""
    try:
        row = json.loads(line)
        if "\\ud" in line.lower():  # a lone surrogate, which tables and files cannot store
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start].encode("ascii", "backslashreplace").decode()
        what = f"{half} is half a character (a lone surrogate). Complete or delete it."
        raise FormatError(path, number, what) from None
    except (ValueError, RecursionError) as error:  # also a number with thousands of digits
        raise FormatError(path, number, f"is not JSON ({error}). {expected}") from None
    if not isinstance(row, dict):
        raise FormatError(path, number, f"found no JSON object. {expected}")
    return row
