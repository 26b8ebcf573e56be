"""Parse and format times (epoch seconds or ISO 8601) and durations (``7d``, ``1mo``).

Internally a time is a whole number of seconds since 1970, UTC. Fractions are cut off.
"""

from __future__ import annotations

import calendar
import math
import re
from datetime import UTC, datetime

import polars as pl

from citebed.errors import CitebedError
from citebed.wording import shorten

DAY = 86_400
TIMES: dict[str, type[pl.DataType]] = {"doc_id": pl.String, "time": pl.Int64}
"""The columns of a table of times."""

_EPOCH_IN_ID = r"^(-?[0-9]{5,12})(?:-|$)"
_EPOCH = re.compile(r"-?[0-9]{1,12}(\.[0-9]+)?")
FIRST_SECOND, LAST_SECOND = -62_135_510_400, 253_402_214_400  # a day within both ends
_ENDS_OF_TEN_DIGITS = (10**9, 10**10)


def epochs(doc_ids: pl.Series) -> pl.Series:
    """Return the epoch seconds at the start of ids such as ``1323450574-47f2…``, or null.

    Ten digits, as in all documents since September 2001, are tried first, because a regular
    expression takes several times as long.
    """
    low, high = _ENDS_OF_TEN_DIGITS
    front = doc_ids.str.slice(0, 11).str.strip_suffix("-")
    ten = front.cast(pl.Int64, strict=False)
    is_ten = (front.str.len_bytes() == 10) & (ten >= low) & (ten < high)
    if is_ten.all(ignore_nulls=False):
        return ten.rename("time")
    any_length = doc_ids.str.extract(_EPOCH_IN_ID).cast(pl.Int64).rename("time")
    return any_length.set(~is_in_years(any_length), None)


def is_in_years(times: pl.Series) -> pl.Series:
    """Return which epoch seconds are in the years 1 to 9999, except the first and last day."""
    return times.is_between(FIRST_SECOND, LAST_SECOND, closed="left")


def time_column(column: pl.Series) -> pl.Series:
    """Convert a table's times (integers, dates, or times with a zone) to epoch seconds."""
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is None:
        raise CitebedError(
            "the column 'time' has times without a zone. Give them one (UTC), or write epoch "
            "seconds."
        )
    if column.dtype in (pl.Datetime, pl.Date):
        times = column.dt.epoch("s")
    elif column.dtype.is_integer() or column.dtype == pl.Null:
        times = column
    else:
        raise CitebedError(
            f"the column 'time' holds {column.dtype}; expected epoch seconds, whole numbers, or "
            "times with a zone."
        )
    times = times.cast(pl.Int64).rename("time")
    if not is_in_years(times.drop_nulls()).all():
        raise CitebedError(
            "the column 'time' has times beyond the years 1 to 9999; expected epoch seconds."
        )
    return times


def parse_time(text: str, *, utc: bool) -> int:
    """Parse a number of seconds or an ISO 8601 time (``2011-10-07T12:00+02:00``).

    An ISO time must have a zone, unless ``utc`` declares times without a zone to be UTC.
    """
    text = text.strip()
    if _EPOCH.fullmatch(text):
        return _within_years(text, math.floor(float(text)))
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise CitebedError(
            f"the time '{shorten(text)}' is neither an epoch second nor ISO 8601, like 1317945600 "
            "or 2011-10-07T00:00:00Z."
        ) from None
    if time.tzinfo is None:
        if not utc:
            whole = text if "T" in text or " " in text else f"{text}T00:00:00"
            raise CitebedError(
                f"the time '{text}' has no time zone. Write it with one ({whole}Z, or +02:00 at "
                "the end), or declare that such times are UTC (--utc)."
            )
        time = time.replace(tzinfo=UTC)
    return _within_years(text, math.floor(time.timestamp()))


def _within_years(text: str, second: int) -> int:
    """Return the second; raise an error if it looks like a year or is out of range."""
    if re.fullmatch(r"[0-9]{4}", text):
        raise CitebedError(f"the time '{text}' looks like a year. Write {text}-01-01T00:00:00Z.")
    if not FIRST_SECOND <= second < LAST_SECOND:
        raise CitebedError(f"the time '{text}' is not within the years 1 to 9999.")
    return second


def is_later(date: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Return whether an ISO date is later than another, at their common precision.

    ``2020-05`` is later than neither ``2020`` nor ``2020-05-30``.
    """
    known = pl.min_horizontal(date.str.len_chars(), other.str.len_chars())
    return date.str.slice(0, known) > other.str.slice(0, known)


def format_time(time: int) -> str:
    """Format an epoch second as ISO 8601: ``2011-10-07T00:00:00Z``."""
    return datetime.fromtimestamp(int(time), UTC).isoformat().replace("+00:00", "Z")


def format_span(seconds: float) -> str:
    """Format a duration in its largest unit: ``7 days``, ``12 hours``, ``90 seconds``."""
    for name, size in (("day", DAY), ("hour", 3600), ("second", 1)):
        if seconds >= size or size == 1:
            amount = f"{seconds / size:.4g}"
            return f"{amount} {name}{'' if amount == '1' else 's'}"
    raise AssertionError


# --- durations: 12h, 7d, 2w; 1mo, 1y by the calendar ------------------------------------------

UNITS = {"h": 3600, "d": DAY, "w": 7 * DAY}
CALENDAR = {"mo": 1, "y": 12}  # in months
USUAL = {
    "1h": 3600, "6h": 6 * 3600, "1d": DAY, "7d": 7 * DAY,
    "1mo": 30.4375 * DAY, "1y": 365.25 * DAY, "10y": 3652.5 * DAY,
}  # fmt: skip
"""Candidates for a default slice length, with their average seconds."""
_LENGTH = re.compile(r"(\d{1,9})(mo|y|h|d|w)")


def parse_length(text: str) -> tuple[int, str]:
    """Parse ``7d`` into (7, "d"); units are h, d, w, and the calendar units mo and y."""
    match = _LENGTH.fullmatch(text)
    if match is None or not int(match[1]):
        raise CitebedError(f"cannot read the length '{text}'. Write it like 12h, 7d, 1mo or 1y.")
    return int(match[1]), match[2]


def parse_seconds(text: str) -> int:
    """Parse a duration in seconds; months and years, which vary in length, are errors."""
    number, unit = parse_length(text)
    if unit in CALENDAR:
        raise CitebedError(f"the length '{text}' is not a number of seconds; write it in days.")
    return number * UNITS[unit]


def months_after(time: int, months: int) -> int:
    """Return the same day and hour ``months`` later, or the month's last day if it is shorter.

    The result is at most the end of the year 9999.
    """
    start = datetime.fromtimestamp(time, UTC)
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if year > datetime.max.year:
        return LAST_SECOND
    day = min(start.day, calendar.monthrange(year, month + 1)[1])
    return int(start.replace(year=year, month=month + 1, day=day).timestamp())
