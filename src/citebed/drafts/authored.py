"""What a text cites by authors and year alone: ``(Lee et al., 2019)``, ``Lee and Ray (2020)``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from citebed.collection.building.records import plain_title
from citebed.text.names import AND, ET_AL, YEAR

_AUTHORED = re.compile(rf"(?P<names>[^\W\d_].*) (?P<year>{YEAR})[a-z]?")
_OTHERS = re.compile(rf",?\s*{ET_AL}$")
_BETWEEN = re.compile(rf"\s*,\s*(?:{AND}\s+)?|\s+{AND}\s+")


class _Authored(NamedTuple):
    """The family names that a citation gives, folded; whether there are others; and the year."""

    names: tuple[str, ...]
    others: bool
    year: int

    def fits(self, authors: Sequence[str]) -> bool:
        """Whether a work of these authors can be meant."""
        enough = len(authors) > len(self.names) if self.others else len(authors) == len(self.names)
        # With initials a name ends as the record's family name does.
        pairs = zip(self.names, authors, strict=False)
        return enough and all(own and name.endswith(own) for name, own in pairs)


def is_authored(cite: str) -> bool:
    """Whether something cited is names and a year."""
    return _AUTHORED.fullmatch(cite) is not None


def by_authors(cites: Iterable[str], documents: pl.DataFrame) -> dict[str, frozenset[str]]:
    """The ids of the documents that each of such citations can mean, where there are any.

    All authors that it names must be the document's, in their order, and the year the same; with
    "et al." there must be more, and else no others.
    """
    wanted = {cite: found for cite in cites if (found := _read(cite)) is not None}
    years = sorted({each.year for each in wanted.values()})
    if not years:
        return {}
    family = pl.element().str.split(",").list.first()
    authors = pl.col("authors").list.eval(plain_title(family))
    rows = documents.lazy().filter(pl.col("year").is_in(years)).select("doc_id", "year", authors)
    by_year: dict[int, list[tuple[str, list[str]]]] = {}
    for doc_id, year, names in rows.collect().iter_rows():
        by_year.setdefault(year, []).append((doc_id, names or []))
    meant = {
        cite: frozenset(name for name, own in by_year.get(each.year, ()) if each.fits(own))
        for cite, each in wanted.items()
    }
    return {cite: names for cite, names in meant.items() if names}


def _read(cite: str) -> _Authored | None:
    match = _AUTHORED.fullmatch(cite)
    if match is None:
        return None
    given = match["names"].rstrip(" ,")
    listed = _OTHERS.sub("", given)
    names = pl.Series([part for part in _BETWEEN.split(listed) if part], dtype=pl.String)
    plain = pl.select(plain_title(pl.lit(names))).to_series().to_list()
    return _Authored(tuple(plain), listed != given, int(match["year"]))
