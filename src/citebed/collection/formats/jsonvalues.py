"""Getters for values of a JSON object that never raise, whatever type is found.

All text they give is folded and holds no lone surrogates, so that it encodes as UTF-8.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from citebed.records import Problem, Reference
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_display, name_from_parts
from citebed.text.normalise import (
    date_in,
    fold,
    fold_or_none,
    html_to_text,
    iso_date,
    unique,
    year_in,
)

Json = dict[str, Any]

_MAX_INT = 10**15
_MAX_FLOAT = (2 - 2**-23) * 2.0**127  # of 32 bits


def as_text(value: Any) -> str | None:
    """Folded text of a string, a number, or the first of a list of them; else ``None``."""
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, str | int | float)), None)
    if isinstance(value, str):
        return fold_or_none(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < _MAX_INT else repr(value)
    return str(value)


def as_int(value: Any) -> int | None:
    """A whole number below 10^15 in size, from a number or its digits; else ``None``."""
    text = as_text(value)
    if text is None or re.fullmatch(r"[-+]?[0-9]{1,16}", text) is None:
        return None
    number = int(text)
    return number if abs(number) < _MAX_INT else None


def text_of(obj: Json, *names: str) -> str | None:
    """The text of the first of the named members that has any."""
    for name in names:
        if (text := as_text(obj.get(name))) is not None:
            return text
    return None


def markup_of(obj: Json, *names: str) -> str | None:
    """``text_of`` for text with HTML or JATS markup, which is taken off."""
    text = text_of(obj, *names)
    return html_to_text(text) or None if text else None


def texts_of(obj: Json, name: str) -> tuple[str, ...]:
    """The texts of a list of strings or numbers (or of a single one), without repetitions."""
    value = obj.get(name)
    values = value if isinstance(value, list) else [value]
    return unique(as_text(item) or "" for item in values if not isinstance(item, list))


def keywords_of(obj: Json, *names: str) -> tuple[str, ...]:
    """Keywords from lists, or from strings with semicolons or else commas between them."""
    found: list[str] = []
    for name in names:
        value = obj.get(name)
        if isinstance(value, str):
            found += map(fold, value.split(";" if ";" in value else ","))
        else:
            found += texts_of(obj, name)
    return unique(found)


def object_of(obj: Json, name: str) -> Json:
    """The object under ``name``, empty where there is none."""
    value = obj.get(name)
    return value if isinstance(value, dict) else {}


def list_of(obj: Json, name: str) -> list[Any]:
    """The list under ``name``; a single value that is not null counts as a list of one."""
    value = obj.get(name)
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def objects_of(obj: Json, name: str) -> list[Json]:
    """The objects in the list under ``name``; what is no object is left out."""
    return [item for item in list_of(obj, name) if isinstance(item, dict)]


def name_of(value: Any) -> str:
    """A name as it is printed or in parts, by the names that CSL or Semantic Scholar give them.

    A particle that is never dropped (``van der``) stands with the family name, a dropping one
    with the given name; ``literal`` (an organisation) is kept as it is.
    """
    if not isinstance(value, dict):
        return name_from_display(as_text(value) or "")
    given = [text_of(value, "given", "first"), *texts_of(value, "middle")]
    given.append(text_of(value, "dropping-particle"))
    family = [text_of(value, "non-dropping-particle"), text_of(value, "family", "last")]
    parts = name_from_parts(_joined(family), _joined(given), text_of(value, "suffix"))
    return parts or text_of(value, "literal") or name_from_display(text_of(value, "name") or "")


def _joined(words: Iterable[str | None]) -> str:
    return " ".join(filter(None, words))


def names_of(obj: Json, name: str, one: Callable[[Any], str] = name_of) -> tuple[str, ...]:
    """The people in a list, each brought to one form by ``one``; empty ones are left out."""
    return tuple(person for person in map(one, list_of(obj, name)) if person)


def float_of(obj: Json, name: str, default: float) -> float:
    """A number that the tables hold, or ``default``."""
    value = obj.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return float(value) if abs(value) <= _MAX_FLOAT else default


def doi_of(obj: Json, *names: str) -> str | None:
    """The first DOI among the named members."""
    dois = (normalise_doi(text_of(obj, name)) for name in names)
    return next((fold(doi) for doi in dois if doi), None)


def year_of(obj: Json, *names: str) -> int | None:
    """A year from 1 to 9999 given as a number, or a plausible one in a text."""
    for name in names:
        value = obj.get(name)
        number = None if isinstance(value, str) else as_int(value)
        year = number if number is not None and 1 <= number <= 9999 else year_in(as_text(value))
        if year is not None:
            return year
    return None


def when(date_text: str | None, year: int | None) -> tuple[int | None, str | None]:
    """Year and ISO date, each helped out by the other; the date wins where they differ."""
    date = date_in(date_text) or iso_date(year)
    return (int(date[:4]) if date else None), date


def reference_to(cited: str) -> Reference:
    """A reference that a source knows by one id: by DOI if that is one, else by document id."""
    doi = normalise_doi(cited)
    return Reference(cited, doi=fold(doi)) if doi else Reference(cited, doc_id=cited)


def unknown_object(line: int, obj: Json, expected: str) -> Problem:
    """The ``Problem`` of an object that is not what the format expects."""
    names: Iterable[str] = (fold(name)[:40] for name in list(obj)[:12])
    return Problem(line, f"expected {expected}; found the keys {', '.join(names) or '(none)'}")
