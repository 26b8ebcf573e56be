"""Records of tagged lines (RIS, PubMed, Web of Science, EndNote): what their readers share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from citebed.collection.formats.fields import is_organisation, is_suffix, page_range
from citebed.collection.formats.smart import names_in
from citebed.patterns import compiled
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import (
    date_in,
    filled,
    html_to_text,
    iso_date,
    month_in,
    unique,
    year_in,
)


class Entry(NamedTuple):
    """A record in reading: its line, and for each tag its values, clean and none empty."""

    line: int
    fields: dict[str, list[str]]

    def first(self, *tags: str) -> str:
        """The first value of the first of ``tags`` that is there, else ``""``."""
        return next((self.fields[tag][0] for tag in tags if tag in self.fields), "")

    def all(self, *tags: str) -> list[str]:
        """Every value of these tags."""
        return [value for tag in tags if tag in self.fields for value in self.fields[tag]]

    def keywords(self, *tags: str) -> tuple[str, ...]:
        """The words of these tags, parted by ``;``."""
        return unique([word.strip() for word in ";".join(self.all(*tags)).split(";")])


def entry_of(line: int, pairs: Iterable[tuple[str, str]]) -> Entry:
    """The record of tags and values, in which markup may stand."""
    fields: dict[str, list[str]] = {}
    for tag, value in pairs:
        if text := html_to_text(value):
            fields.setdefault(tag, []).append(text)
    return Entry(line, fields)


def blocks(lines: list[str], starts: re.Pattern[str], line: int) -> Iterator[tuple[int, list[str]]]:
    """The lines from each one that starts a record to the next, after what stands before them."""
    at = [place for place, text in enumerate(lines) if starts.match(text)]
    for start, end in zip((0, *at), (*at, len(lines)), strict=True):
        if start < end:
            yield line + start, lines[start:end]


# --- People ---------------------------------------------------------------------------------

_PLAIN_NAME = compiled(r"[^\s,;][^,;]*+(?<! ), [^\s,;][^,;]*+")


def people(values: Iterable[str]) -> tuple[str, ...]:
    """The names in author fields."""
    return tuple([name for value in values for name in _names(value)])


@lru_cache(maxsize=1 << 14)
def _names(value: str) -> tuple[str, ...]:
    """The names in an author field: one as a rule, more where ``;`` or ``and`` parts them."""
    if _PLAIN_NAME.fullmatch(value) and " and " not in value:
        return (value,)
    names: list[str] = []
    for part in value.split(";"):
        pieces = re.split(r",? and ", part) if " and " in part else [part]
        whole = pieces if all("," in piece for piece in pieces) else [part]
        names += [_name(piece.strip()) for piece in whole]
    return tuple(filter(None, names))


def _name(name: str) -> str:
    """``Family, Given`` of ``Family, Given, Suffix``.

    A name without a comma is taken as printed (``A. Family``) unless it sounds like an
    organisation; a comma at its end says that it is one.
    """
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 3 and is_suffix(parts[2]):
        return name_from_parts(*parts)
    if len(parts) > 1:
        return ", ".join(filter(None, parts))
    return name if is_organisation(name) else name_from_display(name)


_NUMBERED = re.compile(r"\s*\(\d{6,}\)")  # Scopus puts its number of an author behind the name
_SHORT = re.compile(r"(.+?)[ ,]+((?:[A-Z]\.-?)+|[A-Z]{1,3})\.?")


def people_in(text: str) -> tuple[str, ...]:
    """The names in a line: parted by ``;`` or ``|``, else by commas and ``and``."""
    text = _NUMBERED.sub("", text)
    if ";" in text or "|" in text:
        return people(text.replace("|", ";").split(";"))
    parts = [part for part in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", text.strip()) if part]
    if parts and all(map(_SHORT.fullmatch, parts)):  # Muster A., Beispiel B.
        return filled(_SHORT.sub(r"\1, \2", part) for part in parts)
    if len(parts) > 1 and all(" " in part for part in parts):
        return filled(map(name_from_display, parts))
    return people([text]) if len(parts) == 2 else filled(names_in(text))


# --- Dates and pages ------------------------------------------------------------------------

_DAY = re.compile(r"(?<!\d)[0-3]?\d(?!\d)")
_RANGE = re.compile(r"([^\s–—-]+)\s*[-–—]+\s*([^\s–—-]+)")


@lru_cache(maxsize=1 << 12)
def best_date(*values: str) -> str | None:
    """The most exact date among the values that agrees with the first of them."""
    dates = [date for value in values if (date := date_in(value))]
    return max((date for date in dates if date[:4] == dates[0][:4]), key=len, default=None)


@lru_cache(maxsize=1 << 12)
def date_in_words(text: str) -> str | None:
    """``2010-08-15`` of ``2010 Aug 15`` or ``AUG 15 2010``; of ``2010 Jul-Aug`` the first month."""
    year, month = year_in(text), month_in(text)
    days = _DAY.findall(text) if month else []
    return iso_date(year, month, int(days[0]) if len(days) == 1 else None)


def pages_of(first: str, last: str = "") -> str | None:
    """``12–20``; a range in the first field alone is understood, a single page stands alone."""
    match = _RANGE.fullmatch(first)
    if match is not None and last in ("", match[2]):
        first, last = match[1], match[2]
    return page_range(first, last)


def full_pages(text: str) -> str | None:
    """``123–129`` of ``123-9``, as PubMed shortens it."""
    match = re.fullmatch(r"(\d+)-(\d+)", text.strip())
    if match is None or len(match[2]) >= len(match[1]):
        return page_range(text)
    return page_range(match[1], match[1][: -len(match[2])] + match[2])
