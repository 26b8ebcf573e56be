"""Split run files into byte ranges that can be read in parallel.

Most runs are sorted by query or by time, so that they can be split between queries (or time
slices). This module decides from samples of lines; the caller must check in the end that no group
was split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import BinaryIO, NamedTuple

import polars as pl

from citebed.errors import CitebedError
from citebed.files.input_files import is_compressed
from citebed.files.lines import find_line_start, find_part_bounds, read_chunks, read_part_chunks
from citebed.files.system_errors import open_for_reading

MAX_SIZE, MIN_SIZE, PIECES = 64 << 20, 4 << 20, 16
"""Limits of a range's size in bytes, and the number of ranges of a run that is not large."""
_BLOCK = 8 << 20
_LOOK, _MANY = 1 << 15, 32
"""Bytes of a contiguous sample, and the number of lines sampled at once."""
_LARGE = 4
"""A range may exceed ``MAX_SIZE`` at most by this factor."""
GroupLines = Callable[[bytes], pl.Series]
"""Returns the group (query or slice) of each line of a text."""


class FileRange(NamedTuple):
    """A range of whole lines of a file, or all of a compressed file."""

    path: str
    begin: int = 0
    end: int | None = None

    def texts(self) -> Iterator[bytes]:
        """Yield the lines in blocks."""
        path = Path(self.path)
        if self.end is None:
            return read_chunks(path, _BLOCK)
        return read_part_chunks(path, self.begin, self.end, _BLOCK)


def split_files(files: Sequence[Path]) -> list[FileRange]:
    """Split files at any line, into ranges of about the same size."""
    size = _size(files)
    return [
        piece
        for file in files
        for piece in (
            [FileRange(str(file))]
            if is_compressed(file)
            else _between(file, find_part_bounds(file, size))
        )
    ]


def split_between_groups(files: Sequence[Path], groups: GroupLines) -> list[FileRange] | None:
    """Split files between groups; return ``None`` if groups seem scattered or too large."""
    if any(map(is_compressed, files)):
        return None
    size = _size(files)
    try:
        cut = [_cuts(file, size, groups) for file in files]
    except CitebedError:  # reading the whole file will raise an error that names the line
        return None
    pieces = [
        piece for file, at in zip(files, cut, strict=True) if at for piece in _between(file, at)
    ]
    largest = max((piece.end or 0) - piece.begin for piece in pieces) if pieces else 0
    return pieces if None not in cut and largest <= _LARGE * MAX_SIZE else None


def _size(files: Sequence[Path]) -> int:
    return min(MAX_SIZE, max(MIN_SIZE, sum(file.stat().st_size for file in files) // PIECES))


def _between(file: Path, cuts: list[int]) -> Iterator[FileRange]:
    return (FileRange(str(file), *each) for each in pairwise(cuts))


def _cuts(file: Path, size: int, groups: GroupLines) -> list[int] | None:
    """Return the start of each range and the end; ``None`` if groups seem scattered."""
    end = file.stat().st_size
    starts = [0]
    with open_for_reading(file) as handle:
        look = _Sampler(handle, end, groups)
        for near in range(size, end, size):
            if near > starts[-1]:
                start = find_line_start(handle, near)
                if look.is_scattered(start):
                    return None
                starts.append(look.change_after(start))
    return sorted({*starts, end})


class _Line(NamedTuple):
    """A line of a run and the offset of its first byte."""

    at: int
    text: bytes


class _Sampler(NamedTuple):
    """Samples lines of a file; skips blank lines and comments."""

    handle: BinaryIO
    end: int
    groups: GroupLines

    def is_scattered(self, start: int) -> bool:
        """Return True if a group occurs again after another one in the next lines."""
        self.handle.seek(start)
        groups = self.groups(self.handle.read(_LOOK).rpartition(b"\n")[0])
        return len(groups) > 0 and groups.rle_id().max() != groups.n_unique() - 1

    def change_after(self, start: int) -> int:
        """Return the offset of the first line whose group differs from that at ``start``.

        Many lines are parsed at a time, which takes hardly longer than parsing one.
        """
        same, other = start, self.end
        near = [start + (_LOOK << step) for step in range(40)]
        while other - same > _LOOK:
            sampled = [next(self._lines(at), None) for at in (same, *near) if at < other]
            lines = [line for line in sampled if line is not None and line.at < other]
            if len(lines) <= 1:
                break
            same, other = self._change(lines, other)
            near = list(range(same, other, max(1, (other - same) // _MANY)))[1:]
        lines = list(takewhile(lambda line: line.at < other, self._lines(same)))
        return self._change(lines, other)[1] if lines else other

    def _change(self, lines: list[_Line], end: int) -> tuple[int, int]:
        """Return the offsets of the last line in the first line's group, and of the next line."""
        groups = self.groups(b"".join(line.text.rstrip(b"\r\n") + b"\n" for line in lines))
        if len(groups) != len(lines):
            raise CitebedError("the file contains lines that are not run lines")
        others = groups.ne_missing(groups[0]).arg_true()
        first = others[0] if len(others) else len(lines)
        return lines[first - 1].at, lines[first].at if first < len(lines) else end

    def _lines(self, near: int) -> Iterator[_Line]:
        """Yield the lines that start at an offset or later."""
        at = find_line_start(self.handle, near)
        while line := self.handle.readline():
            if line.strip() and not line.lstrip().startswith(b"#"):
                yield _Line(at, line)
            at += len(line)
