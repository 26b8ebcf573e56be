"""Filters of documents by year, venue, type and author, and the values to offer for them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import Any

import polars as pl

from citebed.errors import CitebedError
from citebed.text.sentences import split_sentences

_YEARS = re.compile(r"(?P<first>\d{1,4})?\s*[-–]\s*(?P<last>\d{1,4})?|(?P<only>\d{1,4})")
MAX_CHOICES = 500
"""Number of values to offer, the most frequent first; users can type any other."""
_TRIED, _MIN_EXAMPLE, _MAX_EXAMPLE = 500, 60, 350
"""Documents to try, and the length of an example in characters."""


@dataclass(frozen=True)
class Filter:
    """Documents of these years (``2010-2020``, ``2010-``, ``-1999``, ``2015``), of one of these
    venues, of one of these types, by one of these authors, and with one of these ids.

    Empty conditions allow all documents. A document without a year passes no condition on years.
    Case does not matter. A venue or author that no document has means all names that contain its
    words: ``SIGIR``, ``croft`` (see `resolve`).
    """

    years: str = ""
    venues: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    doc_ids: frozenset[str] | None = None

    def __post_init__(self) -> None:
        self.span  # noqa: B018 - raises for invalid years

    def __bool__(self) -> bool:
        return self != Filter()

    @property
    def span(self) -> tuple[int | None, int | None]:
        """The first and the last year; ``None`` is open."""
        if not self.years.strip():
            return None, None
        found = _YEARS.fullmatch(self.years.strip())
        if found is None or self.years.strip() in "-–":
            raise CitebedError(
                f"'{self.years[:30]}' is not a range of years; expected 2015, 2010-2020, 2010- or "
                "-1999, for example"
            )
        first, last = (found[each] or found["only"] for each in ("first", "last"))
        return (int(first) if first else None), (int(last) if last else None)

    def resolve(self, venues: pl.Series, authors: pl.Series) -> Filter:
        """Return the filter with the full names of venues and authors, given all names."""
        return replace(
            self,
            venues=tuple(resolve_names(self.venues, venues)) if self.venues else (),
            authors=tuple(resolve_names(self.authors, authors)) if self.authors else (),
        )

    @property
    def expression(self) -> pl.Expr:
        """True for the rows of the document table that pass."""
        first, last = self.span
        texts = (("venue", self.venues), ("type", self.types))
        parts = [
            *([pl.col("year") >= first] if first is not None else []),
            *([pl.col("year") <= last] if last is not None else []),
            *(_fold(pl.col(name)).is_in(_lower(wanted)) for name, wanted in texts if wanted),
            *([pl.col("doc_id").is_in(sorted(self.doc_ids))] if self.doc_ids is not None else []),
        ]
        if self.authors:
            names = pl.col("authors").list.eval(_fold(pl.element()))
            parts.append(reduce(or_, (names.list.contains(name) for name in _lower(self.authors))))
        return reduce(and_, parts, pl.lit(True)).fill_null(False)


def resolve_names(wanted: Iterable[str], known: pl.Series) -> list[str]:
    """Return the known names in lower case that equal a wanted name, or else contain its words."""
    folded = known.drop_nulls().str.strip_chars().str.to_lowercase().unique().sort()
    names: dict[str, None] = {}
    for name in _lower(wanted):
        if name in folded or not name:
            names[name] = None
            continue
        words = (rf"(^|[^\pL\pN]){re.escape(word)}($|[^\pL\pN])" for word in name.split())
        has_all = reduce(and_, (folded.str.contains(word) for word in words))
        names.update(dict.fromkeys(folded.filter(has_all)) or {name: None})
    return list(names)


def _fold(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars().str.to_lowercase()


def _lower(texts: Iterable[str]) -> list[str]:
    return [text.strip().lower() for text in texts]


def filter_choices(documents: pl.LazyFrame) -> dict[str, Any]:
    """Return the values to offer for a filter: ``venues`` and ``types`` with their numbers of
    documents, and the first and last of ``years`` (``None`` if unknown)."""
    queries = [documents.select(first=pl.col("year").min(), last=pl.col("year").max())]
    for column in ("venue", "type"):
        values = documents.select(name=column).filter(pl.col("name").fill_null("") != "")
        counted = values.group_by("name").len("documents")
        queries.append(
            counted.sort(["documents", "name"], descending=[True, False]).head(MAX_CHOICES)
        )
    years, venues, types = pl.collect_all(queries)
    return {
        "venues": venues.select("name", "documents").to_dicts(),
        "types": types.select("name", "documents").to_dicts(),
        "years": list(years.row(0)),
    }


def example_passage(documents: pl.LazyFrame) -> str:
    """Return a passage to try recommending with: the first sentences of an abstract, or ``""`` if
    the first documents have no suitable abstract."""
    for abstract in documents.select("abstract").head(_TRIED).collect()["abstract"].drop_nulls():
        passage = ""
        for sentence in split_sentences(abstract)[:3]:
            if len(passage) + len(sentence) >= _MAX_EXAMPLE:
                break
            passage = f"{passage} {sentence}".strip()
        if len(passage) >= _MIN_EXAMPLE:
            return passage
    return ""
