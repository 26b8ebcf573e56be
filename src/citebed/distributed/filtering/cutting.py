"""A stream in parts of bytes: cut at line ends, and where the time changes.

A document that comes again at the same time is left out, so that documents of the same time must
stay together; apart from that a part depends on nothing that stands in another.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from citebed.errors import FormatError
from citebed.files.lines import Block, find_line_start, read_part, read_pieces, split_blocks
from citebed.files.system_errors import open_for_reading
from citebed.timeline.streams.stream_files import decode

_LOOK = 1 << 16
_LEAST, _MOST, _PARTS = 16 << 20, 128 << 20, 32


def part_size(size: int) -> int:
    """How large the parts of a stream are: some dozens, unless they were small or large."""
    return min(_MOST, max(_LEAST, size // _PARTS))


def cuts(path: Path, part: int, *, naive_is_utc: bool) -> list[int]:
    """Where the parts of a file begin, in bytes, and where the last one ends."""
    size = path.stat().st_size
    found = [0]
    with open_for_reading(path) as handle:
        for near in range(part, size, part):
            if near > found[-1]:
                cut = _change_after(handle, near, path, naive_is_utc)
                if cut is None:
                    break
                found.append(cut)
    return [*found, size]


def _change_after(handle: BinaryIO, near: int, path: Path, naive_is_utc: bool) -> int | None:
    """Where the first line begins whose time is another than that of the one before it."""
    start = find_line_start(handle, near)
    before: int | None = None
    try:
        for block in split_blocks(read_pieces(handle, _LOOK), str(path), _LOOK, 2):
            table = decode(block, naive_is_utc).table
            if table.height:
                before = table["time"][0] if before is None else before
                changed = (table["time"] != before).arg_true()
                if changed.len():
                    line_number = table["line"][changed[0]] - block.first_line
                    return start + _line_start(block.data, line_number)
            start += len(block.data)
    except FormatError:  # a line without an end: whoever reads it will say so
        return None
    return None


def _line_start(data: bytes, number: int) -> int:
    """Where a line begins, counted from 0."""
    place = 0
    for _ in range(number):
        place = data.index(b"\n", place) + 1
    return place


def part_blocks(path: Path, name: str, begin: int, end: int, size: int) -> Iterator[Block]:
    """The lines of a part, in blocks; numbered from 1 in the first part, in others from 2, as a
    mark at the beginning of a file is one only there."""
    return split_blocks(read_part(path, begin, end), name, size, first_line(begin))


def first_line(begin: int) -> int:
    """The number that the first line of a part has in it."""
    return 2 if begin else 1
