"""The text of a run in pieces of bytes, which are read beside each other.

Most runs stand query after query, or in the order of a stream: then they can be cut so that a query
(or a slice of time) is whole in one piece. Where that is so is guessed here, from a few lines; that
a query was in one piece only, who reads them says in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import BinaryIO, NamedTuple

import polars as pl

from citebed.errors import CitebedError
from citebed.files.line_blocks import file_texts, line_cuts, line_start, part_texts
from citebed.files.reading import is_packed
from citebed.files.system_errors import open_translated

MAX_SIZE, MIN_SIZE, PIECES = 64 << 20, 4 << 20, 16
"""Bytes of a piece, about, and how many there should be of a run that is not large."""
_BLOCK = 8 << 20
_LOOK, _MANY = 1 << 15, 32
"""Bytes that are looked at in a row, and how many lines here and there at once."""
_LARGE = 4
"""A piece that is so many times as large is too much for a worker."""
GroupLines = Callable[[bytes], pl.Series]
"""The query, or the slice, of each line of a text."""


class FileRange(NamedTuple):
    """Some lines of a file: from a byte to another, or all of a packed one."""

    path: str
    begin: int = 0
    end: int | None = None

    def texts(self) -> Iterator[bytes]:
        """Whole lines, in blocks."""
        path = Path(self.path)
        if self.end is None:
            return file_texts(path, _BLOCK)
        return part_texts(path, self.begin, self.end, _BLOCK)


def split_files(files: Sequence[Path]) -> list[FileRange]:
    """Pieces of about the same size, cut at any line."""
    size = _size(files)
    return [
        piece
        for file in files
        for piece in (
            [FileRange(str(file))] if is_packed(file) else _between(file, line_cuts(file, size))
        )
    ]


def split_between_groups(files: Sequence[Path], groups: GroupLines) -> list[FileRange] | None:
    """Pieces that are cut between groups; ``None`` where groups seem to be scattered, or one is too
    large."""
    if any(map(is_packed, files)):
        return None
    size = _size(files)
    try:
        cut = [_cuts(file, size, groups) for file in files]
    except CitebedError:  # whoever reads all of it will say what is wrong
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
    """Where pieces begin, and the end; ``None`` where a group stands at several places."""
    end = file.stat().st_size
    found = [0]
    with open_translated(file) as handle:
        look = _Sampler(handle, end, groups)
        for near in range(size, end, size):
            if near > found[-1]:
                start = line_start(handle, near)
                if look.is_scattered(start):
                    return None
                found.append(look.change_after(start))
    return sorted({*found, end})


class _Line(NamedTuple):
    """A line of a run, and where it begins."""

    at: int
    text: bytes


class _Sampler(NamedTuple):
    """Looks at lines here and there; blank ones and remarks are passed over."""

    handle: BinaryIO
    end: int
    groups: GroupLines

    def is_scattered(self, start: int) -> bool:
        """Whether groups come back in the lines that follow."""
        self.handle.seek(start)
        found = self.groups(self.handle.read(_LOOK).rpartition(b"\n")[0])
        return len(found) > 0 and found.rle_id().max() != found.n_unique() - 1

    def change_after(self, start: int) -> int:
        """Where the first line begins that is of another group than the one at ``start``.

        Lines are looked at many at a time: to parse some takes hardly longer than to parse one.
        """
        same, other = start, self.end
        near = [start + (_LOOK << step) for step in range(40)]
        while other - same > _LOOK:
            found = [next(self._lines(at), None) for at in (same, *near) if at < other]
            lines = [line for line in found if line is not None and line.at < other]
            if len(lines) <= 1:
                break
            same, other = self._change(lines, other)
            near = list(range(same, other, max(1, (other - same) // _MANY)))[1:]
        lines = list(takewhile(lambda line: line.at < other, self._lines(same)))
        return self._change(lines, other)[1] if lines else other

    def _change(self, lines: list[_Line], end: int) -> tuple[int, int]:
        """Where the last of some lines begins that has the group of the first, and the next one."""
        groups = self.groups(b"".join(line.text.rstrip(b"\r\n") + b"\n" for line in lines))
        if len(groups) != len(lines):
            raise CitebedError("there are lines that are none of a run")
        others = groups.ne_missing(groups[0]).arg_true()
        first = others[0] if len(others) else len(lines)
        return lines[first - 1].at, lines[first].at if first < len(lines) else end

    def _lines(self, near: int) -> Iterator[_Line]:
        """The lines that begin at a byte or behind it."""
        at = line_start(self.handle, near)
        while line := self.handle.readline():
            if line.strip() and not line.lstrip().startswith(b"#"):
                yield _Line(at, line)
            at += len(line)
