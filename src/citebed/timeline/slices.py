"""Slices of time, half-open, one after the other, without gaps; and the ways to cut them.

A slicing is written ``7d`` (also 12h, 2w, 1mo, 1y), ``all``, ``equal:20``, ``random:30``,
``burst``, ``burst:7d/1d``, or as the path of a file of boundaries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from citebed.errors import CitebedError, FormatError
from citebed.files.places import names_file
from citebed.files.reading import read_lines
from citebed.runs.tables import Flags, Floats, Ints
from citebed.runs.times import (
    CALENDAR,
    DAY,
    UNITS,
    USUAL,
    format_span,
    format_time,
    months_after,
    parse_length,
    parse_seconds,
    parse_time,
)
from citebed.timeline.bursts import bursting
from citebed.wording import count, printable

COARSE, FINE = "7d", "1d"
_MOST = 1_000_000


@dataclass(frozen=True, eq=False)
class Slices:
    """Slices ``[bounds[i], bounds[i + 1])`` in epoch seconds; ``kind`` is what was asked for.

    ``stops`` is where the stream ends if that is before the last slice is full; the slice is
    partial then.
    """

    kind: str
    bounds: Ints
    stops: int | None = None

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
    def filled(self) -> Ints:
        """The bounds, the last one where the stream ends: as far as there is something to draw."""
        return self.bounds if self.stops is None else np.append(self.bounds[:-1], self.stops)

    @property
    def middles(self) -> Floats:
        """The middle of each slice, of a partial one of what there is of it."""
        return np.asarray((self.filled[:-1] + self.filled[1:]) / 2)

    @cached_property
    def labels(self) -> list[str]:
        """The start of each slice as ISO 8601, which is its name."""
        return [format_time(time) for time in self.starts.tolist()]

    @property
    def partial(self) -> Flags:
        """Which slices the stream fills in part only: at most the last."""
        return np.asarray(np.arange(len(self)) == (-1 if self.stops is None else len(self) - 1))

    def notes(self) -> list[str]:
        """What a reader has to know, in sentences."""
        if self.stops is None:
            return []
        start = int(self.starts[-1])
        days = (self.stops - start) / DAY
        had = f"{days / 365.25:.2g} years" if days > 730 else format_span(self.stops - start)
        return [f"the last slice is partial: {had} of {self.kind}, from {format_time(start)} on"]

    def slice_index(self, times: Ints) -> Ints:
        """The number of the slice that each time is in; -1 for times in none."""
        if self._length:
            numbers = (times - self.bounds[0]) // self._length
        else:
            numbers = np.searchsorted(self.bounds, times, "right") - 1
        outside = (times < self.bounds[0]) | (times >= self.bounds[-1])
        if outside.any():
            numbers[outside] = -1
        return np.asarray(numbers)

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

    @cached_property
    def until(self) -> int:
        """Where slices end: unless asked otherwise, midnight after the last judged document.

        Documents of which only years or months are known are dated by their first day; where all
        are so, it is the end of that year or month.
        """
        if self.end is not None:
            return self.end
        times = np.append(self.relevant, (self.first, self.last)).astype("datetime64[s]")
        for months, unit in ((12, "Y"), (1, "M")):
            if (times == times.astype(f"datetime64[{unit}]")).all():
                return months_after(self.last, months)
        return (self.last // DAY + 1) * DAY

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


# --- of equal length, or by the calendar ------------------------------------------------------


def uniform(text: str, over: Range) -> Slices:
    """Slices of equal length from the start of the range.

    Months and years go by the calendar: from the 31st they end on the last day of shorter months.
    Where an end was asked for, the last slice ends there; else it is as long as the others.
    """
    number, unit = parse_length(text)
    # The last slice holds the last judged document; a boundary right after it is none too many.
    last = over.until if over.end is not None else max(over.last, over.since) + 1
    cut = _months if unit in CALENDAR else _lengths
    bounds = cut(text, number * {**UNITS, **CALENDAR}[unit], over, last)
    stops = over.until if bounds[-1] > over.until else None
    if over.end is not None:
        bounds[-1] = over.end
    return Slices(text, bounds, stops)


def _lengths(text: str, length: int, over: Range, last: int) -> Ints:
    over.check_length(text, length)
    check_count(text, over.length / length)
    bounds = np.arange(over.since, last + length, length)
    return bounds[: int(np.searchsorted(bounds, last)) + 1]


def _months(text: str, number: int, over: Range, last: int) -> Ints:
    bounds = [over.since]
    over.check_length(text, number * 28 * DAY)
    while bounds[-1] < last:
        bounds.append(months_after(over.since, number * len(bounds)))
        check_count(text, len(bounds))
    over.check_length(text, bounds[1] - bounds[0])
    return np.array(bounds, np.int64)


def check_count(text: str, slices: float) -> None:
    """Refuse slices that nobody can want."""
    if slices > _MOST:
        raise CitebedError(
            f"slices of {text} would be more than {_MOST:,}. Is the time of a judged document "
            "wrong? Else take longer slices, or --from and --to."
        )


# --- by what is in them, or at random ---------------------------------------------------------


def _whole(_: str, over: Range, __: int) -> Slices:
    """Everything in one slice: the evaluation that knows no time."""
    return Slices("all", np.array([over.since, over.until], np.int64))


def equal(text: str, over: Range, _: int) -> Slices:
    """Each slice ends when it has a ``number`` of relevant documents, of all queries together.

    Documents of the same second are never parted, so a slice may have more; what is left at
    the end, fewer than ``number``, belongs to the last slice.
    """
    number = _number("equal", text)
    if number < 1:
        raise CitebedError(f"equal:{number}: a slice needs one relevant document at least.")
    times = over.within()
    if number > len(times):
        raise CitebedError(
            f"equal:{number}: slices of {number} relevant documents are longer than the range, "
            f"which has {len(times)}."
        )
    bounds, at = [over.since], 0
    while len(times) - at >= 2 * number:
        at = int(np.searchsorted(times, times[at + number - 1], "right"))
        if len(times) - at < number:
            break
        bounds.append(int(times[at - 1]) + 1)
    return Slices(f"equal:{number}", np.array([*bounds, over.until], np.int64))


def random_visits(text: str, over: Range, seed: int) -> Slices:
    """The user looks so many times, the last time at the end, else at random.

    Every second of the range is as likely as any other; no two visits are in the same second.
    """
    number = _number("random", text)
    if not 1 <= number <= over.length:
        raise CitebedError(
            f"random:{number}: expected from 1 visit to one each second ({over.length:,})."
        )
    rng = np.random.default_rng(seed)
    inner = over.since + 1 + rng.choice(over.length - 1, number - 1, replace=False)
    bounds = np.concatenate(([over.since], np.sort(inner), [over.until]))
    return Slices(f"random:{number}", bounds.astype(np.int64))


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text):
        raise CitebedError(f"{name}:{text}: expected a whole number, as in {name}:20.")
    return int(text)


# --- finer in bursts --------------------------------------------------------------------------


def burst(text: str, over: Range, _: int) -> Slices:
    """Slices of a length, ``7d/1d``, out of which those of a finer one that meet a burst are cut.

    Bursts are of the relevant documents of all queries together (`bursting`).
    """
    coarse, slash, fine = text.partition("/")
    if text and not slash:
        raise CitebedError(f"burst:{text}: expected two lengths, as in burst:{COARSE}/{FINE}.")
    coarse, fine = coarse or COARSE, fine or FINE
    if not CALENDAR.keys().isdisjoint((parse_length(coarse)[1], parse_length(fine)[1])):
        raise CitebedError(f"burst:{coarse}/{fine}: write both lengths in days or hours.")
    long, short = parse_seconds(coarse), parse_seconds(fine)
    if short >= long or long % short:
        raise CitebedError(
            f"burst:{coarse}/{fine}: {format_span(long)} are not a multiple of the finer length."
        )
    over.check_length(coarse, long)
    check_count(fine, over.length / short)
    times = over.within()
    busy = times[bursting(times, over.since, over.until)] if len(times) else times
    bursts = over.since + np.unique((busy - over.since) // short) * short
    ends = np.minimum(bursts + short, over.until)
    whole = np.arange(over.since, over.until, long)
    bounds = np.unique(np.concatenate((whole, bursts, ends, [over.until])))
    return Slices(f"burst:{coarse}/{fine}", bounds)


# --- as they are written ----------------------------------------------------------------------


def read_boundaries(path: str | Path, *, utc: bool = False) -> Slices:
    """Slices between the times of a file: epoch seconds or ISO 8601, in order, each once.

    The last line ends the last slice. Lines that start with ``#`` are comments.
    """
    path = Path(path)
    bounds: list[tuple[int, int]] = []
    for number, line in read_lines(path):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                bounds.append((number, parse_time(text, utc=utc)))
            except CitebedError as error:
                raise FormatError(path, number, str(error)) from None
    if len(bounds) < 2:
        few = f"found {count(len(bounds), 'boundary')}; expected two at least, one a line."
        raise FormatError(path, None, few)
    for (_, before), (number, after) in pairwise(bounds):
        if after <= before:
            what = (
                f"the boundary {format_time(after)} is not later than the one before, "
                f"{format_time(before)}. Put boundaries in order, each once."
            )
            raise FormatError(path, number, what)
    return Slices(printable(path), np.array([time for _, time in bounds], np.int64))


Slicing = Callable[[str, Range, int], Slices]
"""Cuts by what stands behind the colon, over a range, with a seed."""

SLICINGS: dict[str, Slicing] = {
    "all": _whole, "equal": equal, "random": random_visits, "burst": burst
}  # fmt: skip


def usual_slicing(over: Range) -> str:
    """The usual length that makes nearest to 30 slices; all in one where none fits twice."""
    fitting = {text: size for text, size in USUAL.items() if 2 * size <= over.length}
    away = {text: abs(math.log(over.length / size / 30)) for text, size in fitting.items()}
    return min(away, key=away.__getitem__, default="all")


def parse_slicing(text: str, over: Range, *, seed: int = 0, utc: bool = False) -> Slices:
    """The slices that a text names, over a range of time."""
    name, _, rest = text.partition(":")
    if name in SLICINGS:
        return SLICINGS[name](rest, over, seed)
    if re.fullmatch(r"\d+(mo|y|h|d|w)", text):
        return uniform(text, over)
    if names_file(text):
        if over.start is not None or over.end is not None:
            raise CitebedError(
                f"{printable(text)} says where slices start and end: give no --from and no --to "
                "with it."
            )
        return read_boundaries(text, utc=utc)
    raise CitebedError(
        f"cannot read the slicing '{printable(text)}': it is no length like 12h, 7d, 1mo or 1y, "
        f"none of {', '.join(SLICINGS)}, and no file of boundaries."
    )
