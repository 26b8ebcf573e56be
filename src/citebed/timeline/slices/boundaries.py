"""Slices whose boundaries stand in a file, one time a line."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from citebed.errors import CitebedError, FormatError
from citebed.files.reading import read_lines
from citebed.runs.times import format_time, parse_time
from citebed.timeline.slices.base import Slices
from citebed.wording import count, printable


def read_boundaries(path: str | Path, *, utc: bool = False) -> Slices:
    """Slices between the times of a file: epoch seconds or ISO 8601, in order, each once.

    The last line ends the last slice. Lines that start with ``#`` are comments.
    """
    path = Path(path)
    found: list[tuple[int, int]] = []
    for number, line in read_lines(path):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                found.append((number, parse_time(text, utc=utc)))
            except CitebedError as error:
                raise FormatError(path, number, str(error)) from None
    if len(found) < 2:
        raise FormatError(
            path,
            None,
            f"found {count(len(found), 'boundary')}; expected two at least, one a line.",
        )
    for (_, before), (number, after) in pairwise(found):
        if after <= before:
            raise FormatError(
                path,
                number,
                f"the boundary {format_time(after)} is not later than the one before, "
                f"{format_time(before)}. Put boundaries in order, each once.",
            )
    return Slices(printable(path), np.array([time for _, time in found], np.int64))
