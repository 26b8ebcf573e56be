"""Slices of time: half-open, one after the other, without gaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from citebed.errors import CitebedError
from citebed.runs.tables import Floats, Ints
from citebed.runs.times import DAY, format_span, format_time


@dataclass(frozen=True, eq=False)
class Slices:
    """Slices ``[bounds[i], bounds[i + 1])`` in epoch seconds; ``kind`` is what was asked for."""

    kind: str
    bounds: Ints

    def __post_init__(self) -> None:
        bounds = np.asarray(self.bounds, np.int64)
        object.__setattr__(self, "bounds", bounds)
        if len(bounds) < 2:
            raise CitebedError(
                f"slicing by '{self.kind}' needs two boundaries at least; found {len(bounds)}."
            )
        for before, after in pairwise(bounds.tolist()):
            if after <= before:
                raise CitebedError(
                    f"slicing by '{self.kind}': the boundary {format_time(after)} comes after "
                    f"{format_time(before)} but is not later. Put boundaries in order, each once."
                )

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def starts(self) -> Ints:
        """When each slice starts."""
        return self.bounds[:-1]

    @property
    def ends(self) -> Ints:
        """When each slice ends: the first second that is not in it."""
        return self.bounds[1:]

    @property
    def middles(self) -> Floats:
        """The middle of each slice."""
        return (self.starts + self.ends) / 2

    @cached_property
    def labels(self) -> list[str]:
        """The start of each slice as ISO 8601, which is its name."""
        return [format_time(time) for time in self.starts.tolist()]

    def of(self, times: Ints) -> Ints:
        """The number of the slice that each time is in; -1 for times in none."""
        if self._length:
            found = (times - self.bounds[0]) // self._length
        else:
            found = np.searchsorted(self.bounds, times, "right") - 1
        outside = (times < self.bounds[0]) | (times >= self.bounds[-1])
        if outside.any():
            found[outside] = -1
        return np.asarray(found)

    @cached_property
    def _length(self) -> int:
        """The length that all slices have, the last perhaps less; 0 where they differ.

        A division is ten times as quick as to look up the boundary before a time.
        """
        lengths = np.diff(self.bounds)
        alike = (lengths[:-1] == lengths[0]).all() and lengths[-1] <= lengths[0]
        return int(lengths[0]) if alike else 0


@dataclass(frozen=True)
class Range:
    """The time that is to be sliced, and where in it relevant documents are.

    ``start`` and ``end`` are what the user asked for, ``None`` where they did not. Without
    them slices start at UTC midnight of the day of the first judged document, and go on until
    the last judged one is in a slice. ``relevant`` are the times of the relevant documents of
    all queries, in order.
    """

    first: int
    last: int
    relevant: Ints = field(repr=False)
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        if self.until <= self.since:
            raise CitebedError(
                f"the time to be sliced ends ({format_time(self.until)}) no later than it starts "
                f"({format_time(self.since)}); judged documents are from "
                f"{format_time(self.first)} to {format_time(self.last)}."
            )

    @property
    def since(self) -> int:
        """Where slices start."""
        return self.first // DAY * DAY if self.start is None else self.start

    @property
    def until(self) -> int:
        """Where slices end: unless asked otherwise, midnight after the last judged document."""
        return (self.last // DAY + 1) * DAY if self.end is None else self.end

    @property
    def length(self) -> int:
        """Seconds from start to end."""
        return self.until - self.since

    def within(self) -> Ints:
        """The relevant documents' times that are in it, in order."""
        times = np.sort(self.relevant)
        return times[(times >= self.since) & (times < self.until)]

    def check_length(self, kind: str, seconds: float) -> None:
        """Slices that are longer than all of it are an error."""
        if seconds > self.length:
            raise CitebedError(
                f"slices of {kind} are longer than the {format_span(self.length)} from "
                f"{format_time(self.since)} to {format_time(self.until)}. Take shorter ones, or "
                "another --from and --to."
            )
