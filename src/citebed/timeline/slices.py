"""Consecutive half-open time slices, and the ways to cut a stream into them.

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
from citebed.files.input_files import is_existing_file, read_lines
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
from citebed.wording import count, printable

COARSE, FINE = "7d", "1d"
_MOST = 1_000_000


@dataclass(frozen=True, eq=False)
class Slices:
    """Slices ``[bounds[i], bounds[i + 1])`` in epoch seconds; ``kind`` is the slicing's name.

    ``stops`` is the end of the stream if it ends within the last slice, which is then partial.
    """

    kind: str
    bounds: Ints
    stops: int | None = None

    def __post_init__(self) -> None:
        bounds = np.asarray(self.bounds, np.int64)
        object.__setattr__(self, "bounds", bounds)
        if len(bounds) < 2:
            raise CitebedError(
                f"slicing by '{self.kind}' needs at least two boundaries; found {len(bounds)}."
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
        """The bounds, with the last one moved to the end of the stream."""
        return self.bounds if self.stops is None else np.append(self.bounds[:-1], self.stops)

    @property
    def middles(self) -> Floats:
        """The middle of each slice; for a partial slice, of its observed part."""
        return np.asarray((self.filled[:-1] + self.filled[1:]) / 2)

    @cached_property
    def labels(self) -> list[str]:
        """The names of the slices: their starts in ISO 8601."""
        return [format_time(time) for time in self.starts.tolist()]

    @property
    def partial(self) -> Flags:
        """Which slices are partial: at most the last one."""
        return np.asarray(np.arange(len(self)) == (-1 if self.stops is None else len(self) - 1))

    def notes(self) -> list[str]:
        """Return a note about a partial slice, if there is one."""
        if self.stops is None:
            return []
        start = int(self.starts[-1])
        days = (self.stops - start) / DAY
        had = f"{days / 365.25:.2g} years" if days > 730 else format_span(self.stops - start)
        return [f"the last slice is partial: {had} of {self.kind}, from {format_time(start)} on"]

    def slice_index(self, times: Ints) -> Ints:
        """Return the index of each time's slice; -1 outside all slices."""
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
        """The common length of all slices (the last may be shorter); 0 if they differ.

        Dividing by it is ten times as fast as searching for the boundary before a time.
        """
        lengths = np.diff(self.bounds)
        alike = (lengths[:-1] == lengths[0]).all() and lengths[-1] <= lengths[0]
        return int(lengths[0]) if alike else 0


@dataclass(frozen=True)
class Range:
    """The time to cut into slices, and the times of relevant documents.

    ``start`` and ``end`` are the user's limits, or ``None``. By default slices start at midnight
    (UTC) before the first judged document and cover the last one. ``relevant`` has the sorted times
    of the relevant documents of all queries.
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
        """The start of the first slice."""
        return self.first // DAY * DAY if self.start is None else self.start

    @cached_property
    def until(self) -> int:
        """The end of the last slice; by default midnight after the last judged document.

        If all documents are dated by year or by month only, it is the end of that year or month.
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
        """Return the sorted times of relevant documents in the range."""
        times = np.sort(self.relevant)
        return times[(times >= self.since) & (times < self.until)]

    def check_length(self, kind: str, seconds: float) -> None:
        """Raise an error if slices are longer than the range."""
        if seconds > self.length:
            raise CitebedError(
                f"slices of {kind} are longer than the {format_span(self.length)} from "
                f"{format_time(self.since)} to {format_time(self.until)}. Take shorter ones, or "
                "another --from and --to."
            )


# --- of equal length, or by the calendar ------------------------------------------------------


def uniform(text: str, over: Range) -> Slices:
    """Cut slices of equal length from the start of the range.

    Months and years follow the calendar: from the 31st, slices end on the last day of shorter
    months. If the user gave an end, the last slice ends there; otherwise it has full length.
    """
    number, unit = parse_length(text)
    # The last slice must contain the last judged document, so the boundary comes after it.
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
    """Raise an error for more than a million slices."""
    if slices > _MOST:
        raise CitebedError(
            f"slices of {text} would be more than {_MOST:,}. Is the time of a judged document "
            "wrong? Else take longer slices, or --from and --to."
        )


# --- by what is in them, or at random ---------------------------------------------------------


def equal(text: str, over: Range, _: int) -> Slices:
    """End each slice when it has a number of relevant documents, over all queries.

    Documents of the same second stay together, so that a slice may have more. A rest with fewer
    documents joins the last slice.
    """
    number = _number("equal", text)
    if number < 1:
        raise CitebedError(f"equal:{number}: a slice needs at least one relevant document.")
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
    """Cut at random visits of a user, the last one at the end of the range.

    Every second is equally likely, and no two visits are in the same second.
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
    """Cut slices of a coarse length, and of a fine length within bursts, such as ``7d/1d``.

    Bursts are computed from the relevant documents of all queries together (`bursting`).
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
    """Read slice boundaries from a file: ascending epoch seconds or ISO 8601 times.

    The last line is the end of the last slice. Lines that start with ``#`` are comments.
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
        few = f"found {count(len(bounds), 'boundary')}; expected at least two, one per line."
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
"""A function of the text behind the colon, the range and a seed."""

SLICINGS: dict[str, Slicing] = {
    # Everything in one slice, as in an evaluation without time.
    "all": lambda _, over, __: Slices("all", np.array([over.since, over.until], np.int64)),
    "equal": equal, "random": random_visits, "burst": burst
}  # fmt: skip


def usual_slicing(over: Range) -> str:
    """Choose the usual length that gives nearest to 30 slices, or ``all`` for a short range."""
    fitting = {text: size for text, size in USUAL.items() if 2 * size <= over.length}
    away = {text: abs(math.log(over.length / size / 30)) for text, size in fitting.items()}
    return min(away, key=away.__getitem__, default="all")


def parse_slicing(text: str, over: Range, *, seed: int = 0, utc: bool = False) -> Slices:
    """Cut a range of time into the slices that a text describes."""
    name, _, rest = text.partition(":")
    if name in SLICINGS:
        return SLICINGS[name](rest, over, seed)
    if re.fullmatch(r"\d+(mo|y|h|d|w)", text):
        return uniform(text, over)
    if is_existing_file(text):
        if over.start is not None or over.end is not None:
            raise CitebedError(
                f"{printable(text)} has the start and end of the slices. Leave out --from and --to."
            )
        return read_boundaries(text, utc=utc)
    raise CitebedError(
        f"cannot read the slicing '{printable(text)}'. Use a length (12h, 7d, 1mo, 1y), one of "
        f"{', '.join(SLICINGS)}, or a file of boundaries."
    )


RATIO, GAMMA = 2.0, 1.0


def bursting(times: Ints, start: int, end: int, s: float = RATIO, gamma: float = GAMMA) -> Flags:
    """Return which documents are in a burst, given their times in order."""
    n = len(times)
    rate = n / (end - start)
    gaps = np.diff(times, prepend=start)
    # The cost of the burst state minus the cost of the quiet state, document by document.
    extra = (-math.log(s) + (s - 1) * rate * gaps).tolist()
    enter = gamma * math.log(n)
    # `ahead` is the cost of the burst path minus the cost of the quiet path. Leaving a burst is
    # free, so the difference is kept between 0 and the cost of entering.
    ahead, carried = enter, []
    for cost in extra:
        held = min(max(ahead, 0.0), enter)
        ahead = held + cost
        carried.append(ahead)
    return _states(carried, enter)


def _states(carried: list[float], enter: float) -> Flags:
    """Go back along the cheapest path: True in the burst state."""
    busy = np.zeros(len(carried), bool)
    state = bool(carried) and carried[-1] < 0
    for at in range(len(carried) - 1, -1, -1):
        busy[at] = state
        if at:
            state = carried[at - 1] < (enter if state else 0.0)
    return busy
