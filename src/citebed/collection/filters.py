"""Which documents of a collection somebody wants to see: by year, venue, type, author."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_

import polars as pl

from citebed.errors import CitebedError

_YEARS = re.compile(r"(?P<first>\d{1,4})?\s*[-–]\s*(?P<last>\d{1,4})?|(?P<only>\d{1,4})")


@dataclass(frozen=True)
class Filter:
    """Documents of these years (``2010-2020``, ``2010-``, ``-1999``, ``2015``), of one of these
    venues, of one of these types, by one of these authors; and of these only.

    What is left empty lets all through. A document of an unknown year is of no years. Venues,
    types and authors are compared whatever the case; a venue or an author that nobody writes so
    is every one with these words in its name: ``SIGIR``, ``croft`` (`meant`).
    """

    years: str = ""
    venues: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    doc_ids: frozenset[str] | None = None

    def __post_init__(self) -> None:
        self.span  # noqa: B018 - checked now, where it was given

    def __bool__(self) -> bool:
        return self != Filter()

    @property
    def span(self) -> tuple[int | None, int | None]:
        """The first and the last year, either of which may be open."""
        if not self.years.strip():
            return None, None
        found = _YEARS.fullmatch(self.years.strip())
        if found is None or self.years.strip() in "-–":
            raise CitebedError(
                f"'{self.years[:30]}' are no years; expected e.g. 2015, 2010-2020, 2010- or -1999"
            )
        first, last = (found[each] or found["only"] for each in ("first", "last"))
        return (int(first) if first else None), (int(last) if last else None)

    def meant(self, venues: pl.Series, authors: pl.Series) -> Filter:
        """The filter with venues and authors as documents write them, of whom these are all."""
        return replace(
            self,
            venues=tuple(names_meant(self.venues, venues)) if self.venues else (),
            authors=tuple(names_meant(self.authors, authors)) if self.authors else (),
        )

    @property
    def expression(self) -> pl.Expr:
        """Whether a row of the table of documents is one of these."""
        first, last = self.span
        texts = (("venue", self.venues), ("type", self.types))
        parts = [
            *([pl.col("year") >= first] if first is not None else []),
            *([pl.col("year") <= last] if last is not None else []),
            *(_folded(pl.col(name)).is_in(_lower(wanted)) for name, wanted in texts if wanted),
            *([_by_one_of(self.authors)] if self.authors else []),
            *([pl.col("doc_id").is_in(sorted(self.doc_ids))] if self.doc_ids is not None else []),
        ]
        return reduce(and_, parts, pl.lit(True)).fill_null(False)


def names_meant(wanted: Iterable[str], known: pl.Series) -> list[str]:
    """The names, in lower case, that are meant: what is known as it is written, else all names that
    have its words."""
    folded = known.drop_nulls().str.strip_chars().str.to_lowercase().unique().sort()
    meant: dict[str, None] = {}
    for name in _lower(wanted):
        if name in folded or not name:
            meant[name] = None
            continue
        words = (rf"(^|[^\pL\pN]){re.escape(word)}($|[^\pL\pN])" for word in name.split())
        has_all = reduce(and_, (folded.str.contains(word) for word in words))
        meant.update(dict.fromkeys(folded.filter(has_all)) or {name: None})
    return list(meant)


def _by_one_of(authors: Iterable[str]) -> pl.Expr:
    names = pl.col("authors").list.eval(_folded(pl.element()))
    return reduce(or_, (names.list.contains(name) for name in _lower(authors)))


def _folded(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars().str.to_lowercase()


def _lower(texts: Iterable[str]) -> list[str]:
    return [text.strip().lower() for text in texts]
