"""Uniform slices: of equal length, or by the calendar."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime

import numpy as np

from citebed.errors import CitebedError
from citebed.runs.times import DAY, LAST_SECOND
from citebed.timeline.slices.base import Range, Slices

UNITS = {"h": 3600, "d": DAY, "w": 7 * DAY}
MONTH = "mo"
_LENGTH = re.compile(r"(\d{1,9})(mo|h|d|w)")
_MOST = 1_000_000


def parse_length(text: str) -> tuple[int, str]:
    """``7d`` as (7, "d"); units are h, d, w and mo, the calendar's month."""
    found = _LENGTH.fullmatch(text)
    if found is None or not int(found[1]):
        raise CitebedError(
            f"cannot read the length '{text}'. Write it like 12h, 1d, 7d, 2w or 1mo."
        )
    return int(found[1]), found[2]


def seconds_of(text: str) -> int:
    """A length in seconds; a month, which has no length of its own, is an error."""
    number, unit = parse_length(text)
    if unit == MONTH:
        raise CitebedError(f"the length '{text}' is not a number of seconds; write it in days.")
    return number * UNITS[unit]


def uniform(text: str, over: Range) -> Slices:
    """Slices of equal length from the start of the range.

    Months go by the calendar: from the 31st they end on the last day of shorter months. Where
    an end was asked for, the last slice ends there; else it is as long as the others.
    """
    number, unit = parse_length(text)
    if unit == MONTH:
        return Slices(text, np.asarray(_months(text, number, over), np.int64))
    length = number * UNITS[unit]
    over.check_length(text, length)
    check_count(text, over.length / length)
    # The last slice holds the last judged document; a boundary right after it is none too many.
    last = over.until if over.end is not None else max(over.last, over.since) + 1
    bounds = np.arange(over.since, last + length, length)
    bounds = bounds[: int(np.searchsorted(bounds, last)) + 1]
    if over.end is not None:
        bounds[-1] = over.end
    return Slices(text, bounds)


def _months(text: str, number: int, over: Range) -> list[int]:
    bounds = [over.since]
    over.check_length(text, number * 28 * DAY)
    last = over.until if over.end is not None else max(over.last, over.since) + 1
    while bounds[-1] < last:
        bounds.append(months_after(over.since, number * len(bounds)))
        check_count(text, len(bounds))
    over.check_length(text, bounds[1] - bounds[0])
    if over.end is not None:
        bounds[-1] = over.end
    return bounds


def months_after(time: int, months: int) -> int:
    """The same day and hour so many months later, or the month's last day if it has no such.

    There is nothing after the year 9999.
    """
    start = datetime.fromtimestamp(time, UTC)
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if year > datetime.max.year:
        return LAST_SECOND
    day = min(start.day, calendar.monthrange(year, month + 1)[1])
    return int(start.replace(year=year, month=month + 1, day=day).timestamp())


def check_count(text: str, slices: float) -> None:
    """Refuse slices that nobody can want."""
    if slices > _MOST:
        raise CitebedError(
            f"slices of {text} would be more than {_MOST:,}. Is the time of a judged document "
            "wrong? Else take longer slices, or --from and --to."
        )
