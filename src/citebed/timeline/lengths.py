"""Lengths of time as they are written: ``12h``, ``7d``, ``2w``; ``1mo``, ``1y`` by the calendar."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime

from citebed.errors import CitebedError
from citebed.runs.times import DAY, LAST_SECOND

UNITS = {"h": 3600, "d": DAY, "w": 7 * DAY}
CALENDAR = {"mo": 1, "y": 12}  # in months
USUAL = {
    "1h": 3600, "6h": 6 * 3600, "1d": DAY, "7d": 7 * DAY,
    "1mo": 30.4375 * DAY, "1y": 365.25 * DAY, "10y": 3652.5 * DAY,
}  # fmt: skip
"""Lengths to choose from where none is given, and how many seconds they are, on average."""
_LENGTH = re.compile(r"(\d{1,9})(mo|y|h|d|w)")


def parse_length(text: str) -> tuple[int, str]:
    """``7d`` as (7, "d"); units are h, d, w, and mo and y, which go by the calendar."""
    match = _LENGTH.fullmatch(text)
    if match is None or not int(match[1]):
        raise CitebedError(f"cannot read the length '{text}'. Write it like 12h, 7d, 1mo or 1y.")
    return int(match[1]), match[2]


def seconds_of(text: str) -> int:
    """A length in seconds; a month or year, which has no length of its own, is an error."""
    number, unit = parse_length(text)
    if unit in CALENDAR:
        raise CitebedError(f"the length '{text}' is not a number of seconds; write it in days.")
    return number * UNITS[unit]


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
