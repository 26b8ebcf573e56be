"""A JSON object with getters that never raise, whatever type is found.

All text they give is folded and holds no lone surrogates, so that it encodes as UTF-8.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from citebed.records import Problem, Reference
from citebed.text.identifiers import doi_of, normalise_doi
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


class JsonObject(NamedTuple):
    """An object of a JSON file and the line where it starts."""

    line: int
    values: dict[str, Any]

    def text(self, *names: str) -> str | None:
        """The text of the first of the named members that has any."""
        for name in names:
            if (text := as_text(self.values.get(name))) is not None:
                return text
        return None

    def markup(self, *names: str) -> str | None:
        """``text`` with HTML or JATS markup, which is taken off."""
        text = self.text(*names)
        return html_to_text(text) or None if text else None

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts of a list of strings or numbers (or of a single one), without repetitions."""
        value = self.values.get(name)
        values = value if isinstance(value, list) else [value]
        return unique(as_text(item) or "" for item in values if not isinstance(item, list))

    def keywords(self, *names: str) -> tuple[str, ...]:
        """Keywords from lists, or from strings with semicolons or else commas between them."""
        found: list[str] = []
        for name in names:
            value = self.values.get(name)
            if isinstance(value, str):
                found += map(fold, value.split(";" if ";" in value else ","))
            else:
                found += self.texts(name)
        return unique(found)

    def object(self, name: str) -> JsonObject:
        """The object under ``name``, empty where there is none."""
        return as_object(self.values.get(name), self.line)

    def elements(self, name: str) -> list[Any]:
        """The list under ``name``; a single value that is not null counts as a list of one."""
        value = self.values.get(name)
        if isinstance(value, list):
            return value
        return [] if value is None else [value]

    def objects(self, name: str) -> list[JsonObject]:
        """The objects in the list under ``name``; what is no object is left out."""
        found = self.elements(name)
        return [JsonObject(self.line, item) for item in found if isinstance(item, dict)]

    def people(self, name: str, one: Callable[[Any], str] | None = None) -> tuple[str, ...]:
        """The people in a list, each brought to one form by ``one``; empty ones are left out."""
        return tuple(filter(None, map(one or name_of, self.elements(name))))

    def number(self, name: str, default: float) -> float:
        """A number that the tables hold, or ``default``."""
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return default
        return float(value) if abs(value) <= _MAX_FLOAT else default

    def doi(self, *names: str) -> str | None:
        """The first DOI among the named members: those called so, ids and addresses."""
        read = {name: doi_of if "doi" in name.lower() else normalise_doi for name in names}
        dois = (read[name](self.text(name)) for name in names)
        return next((fold(doi) for doi in dois if doi), None)

    def year(self, name: str) -> int | None:
        """A year from 1 to 9999 given as a number, or a plausible one in a text."""
        value = self.values.get(name)
        number = None if isinstance(value, str) else as_int(value)
        return number if number is not None and 1 <= number <= 9999 else year_in(as_text(value))

    def when(self, year: str, *dates: str) -> tuple[int | None, str | None]:
        """Year and ISO date, each helped out by the other; the date wins where they differ."""
        date = date_in(self.text(*dates)) or iso_date(self.year(year))
        return (int(date[:4]) if date else None), date

    def unknown(self, expected: str) -> Problem:
        """The ``Problem`` of an object that is not what the format expects."""
        names = ", ".join(fold(name)[:40] for name in [*self.values][:12])
        return Problem(self.line, f"expected {expected}; found the keys {names or '(none)'}")


def as_object(value: Any, line: int = 1) -> JsonObject:
    """A value that is an object, or an empty one."""
    return JsonObject(line, value if isinstance(value, dict) else {})


def name_of(value: Any) -> str:
    """A name as it is printed or in parts, by the names that CSL or Semantic Scholar give them.

    A particle that is never dropped (``van der``) stands with the family name, a dropping one
    with the given name; ``literal`` (an organisation) is kept as it is.
    """
    if not isinstance(value, dict):
        return name_from_display(as_text(value) or "")
    person = as_object(value)
    given = [person.text("given", "first"), *person.texts("middle")]
    given.append(person.text("dropping-particle"))
    family = [person.text("non-dropping-particle"), person.text("family", "last")]
    whole, own = (" ".join(filter(None, words)) for words in (family, given))
    parts = name_from_parts(whole, own, person.text("suffix"))
    return parts or person.text("literal") or name_from_display(person.text("name") or "")


def reference_to(cited: str) -> Reference:
    """A reference that a source knows by one id: by DOI if that is one, else by document id."""
    doi = normalise_doi(cited)
    return Reference(cited, doi=fold(doi)) if doi else Reference(cited, doc_id=cited)
