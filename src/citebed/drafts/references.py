"""Collect the sections of a text and its reference list; match citations by authors and year.

Such citations are ``(Lee et al., 2019)`` or ``Lee and Ray (2020)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby, takewhile

import polars as pl

from citebed.drafts.parsed_draft import ParsedDraft
from citebed.drafts.records import Entry, Place
from citebed.records import Document
from citebed.text.identifiers import arxiv_in, arxiv_of_doi, doi_in
from citebed.text.names import AND, ET_AL, YEAR
from citebed.text.normalise import fold
from citebed.text.titles import plain_title

_HEADING = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2})?\.?\s+|[IVX]{1,5}\.?\s+)?"
    r"(?:references|bibliography|works cited|literature(?: cited)?|cited works|references and notes"
    r"|literatur|literaturverzeichnis|références|bibliographie|referencias|bibliografía)\s*:?",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:[A-Z]|\d{1,2})?\.?\s*(?:appendix|appendices|supplementary|supplemental|acknowledge?ments?"
    r"|author biograph|about the author)",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"\s*(?:[-*+•]\s+)?\[\s*(\d{1,4}|[A-Za-z][\w+:.-]{0,30})\s*\]\s+(?=\S)")
_DOTTED = re.compile(r"\s*(\d{1,3})\.\s+(?=\S)")
_BULLET = re.compile(r"\s*[-*+•]\s+")
_HANGING = re.compile(r"\s+\S")


def is_references_heading(line: str) -> bool:
    """Return True for the heading of a reference list: ``References``, ``7. BIBLIOGRAPHY`` …"""
    return len(line) < 60 and _HEADING.fullmatch(line.strip()) is not None


def ends_references(line: str) -> bool:
    """Return True for the heading of a section that may follow the references."""
    return len(line) < 80 and _AFTER.match(line.strip()) is not None


PlacedLine = tuple[str, Place]
"""A line of a reference list, and its position."""


def split_references(lines: Sequence[PlacedLine]) -> list[Entry]:
    """Return the entries of a reference list.

    Entries begin with labels (``[12]``, ``12.``, a bullet). Without labels, blank lines separate
    them, or hanging indents; otherwise each line is an entry.
    """
    runs = groupby(lines, key=lambda line: bool(line[0].strip()))
    groups = [list(run) for written, run in runs if written]
    written = [line for group in groups for line in group]
    for label in (_BRACKETED, _DOTTED, _BULLET):
        starts = [index for index, (line, _) in enumerate(written) if label.match(line)]
        if starts and starts[0] <= 1:
            return _made(_cut(written, starts), label)
    if len(groups) > 1:
        return _made(groups, None)
    if any(_HANGING.match(line) for line, _ in written):
        starts = [i for i, (line, _) in enumerate(written) if i == 0 or not line[:1].isspace()]
        return _made(_cut(written, starts), None)
    return _made(([line] for line in written), None)


def _cut(lines: Sequence[PlacedLine], starts: Sequence[int]) -> list[Sequence[PlacedLine]]:
    ends = [*starts[1:], len(lines)]
    return [lines[start:end] for start, end in zip(starts, ends, strict=True)]


def _joined(lines: Iterable[str]) -> str:
    """Join wrapped lines, without the hyphens of broken words."""
    text = "\n".join(lines)
    text = re.sub(r"(?<=[a-z])-\n\s*(?=[a-z])", "", text)
    # Join a DOI that a line end broke after its slash or dot.
    return re.sub(r"(10\.\d{4,9}/\S*[/.])\n\s*(?=\d)", r"\1", text)


def _made(groups: Iterable[Sequence[PlacedLine]], label: re.Pattern[str] | None) -> list[Entry]:
    entries = []
    for lines in groups:
        text, place = _joined(line for line, _ in lines), lines[0][1]
        match = label.match(text) if label else None
        key = match[1] if match and match.lastindex else ""
        entries.append(parse_entry(key, text[match.end() :] if match else text, place))
    return entries


def parse_entry(key: str, text: str, place: Place | None = None) -> Entry:
    """Return an entry of a reference list from its text."""
    text = fold(text)
    doi = doi_in(text)
    arxiv = arxiv_in(text) or (arxiv_of_doi(doi) if doi else None)
    return Entry(key, text, doi=doi, arxiv=arxiv, place=place)


def entry_from_document(key: str, document: Document) -> Entry:
    """Return an entry of the draft's bibliography from a record with fields."""
    year = document.year
    fields = ("; ".join(document.authors), document.title, document.venue, str(year or ""))
    text = ". ".join(part for part in fields if part)
    return Entry(key, text, document.title, document.doi, document.arxiv, year)


# --- Sections ---------------------------------------------------------------------------------


class Sections:
    """The headings of a draft in order, the ``current`` section, and lines of the reference list.

    The reference list ends at a heading of its own level or above.
    """

    def __init__(self, parsed: ParsedDraft) -> None:
        self.current = ""
        self.references: list[PlacedLine] = []
        self._parsed = parsed
        self._headings: list[tuple[int, str]] = []
        self._references_level = 0

    @property
    def in_references(self) -> bool:
        """True inside the reference list."""
        return self._references_level > 0

    def begin(self, level: int, heading: str) -> None:
        """Begin a section, or the reference list; headings inside that list are ignored."""
        if is_references_heading(heading):
            self._references_level = level
        elif level <= (self._references_level or level):
            self._references_level = 0
            self._headings.append((level, heading))
            self.current = heading

    def store_references(self) -> None:
        """Store the entries of the reference list so far."""
        self._parsed.entries += split_references(self.references)
        self.references = []

    def take_title(self, least: int = 1, *, keep_section: bool = False) -> None:
        """Use the first of at least ``least`` headings as title if no other has level 1.

        Unless ``keep_section``, blocks below the title then have no section.
        """
        parsed, headings = self._parsed, self._headings
        tops = [text for level, text in headings if level == 1]
        if parsed.title or len(tops) != 1 or headings[0][0] != 1 or len(headings) < least:
            return
        parsed.title = tops[0]
        if not keep_section:
            first = list(takewhile(lambda block: block.section == tops[0], parsed.blocks))
            parsed.blocks[: len(first)] = [block._replace(section="") for block in first]


# --- Citations by authors and year -------------------------------------------------------------


_AUTHORED = re.compile(rf"(?P<names>[^\W\d_].*) (?P<year>{YEAR})[a-z]?")
_OTHERS = re.compile(rf",?\s*{ET_AL}$")
_BETWEEN = re.compile(rf"\s*,\s*(?:{AND}\s+)?|\s+{AND}\s+")


def is_authored(cite: str) -> bool:
    """Return True for a citation that consists of names and a year."""
    return _AUTHORED.fullmatch(cite) is not None


def match_author_year(cites: Iterable[str], documents: pl.DataFrame) -> dict[str, frozenset[str]]:
    """Return for each citation by authors and year the ids of the matching documents, if any.

    The year and all named authors must match, in their order. With "et al." the document must have
    more authors, otherwise no others.
    """
    wanted: dict[str, tuple[list[str], bool, int]] = {}
    for cite in cites:
        if (match := _AUTHORED.fullmatch(cite)) is not None:
            stated = match["names"].rstrip(" ,")
            listed = _OTHERS.sub("", stated)
            parts = pl.Series([part for part in _BETWEEN.split(listed) if part], dtype=pl.String)
            plain = pl.select(plain_title(pl.lit(parts))).to_series().to_list()
            wanted[cite] = plain, listed != stated, int(match["year"])
    years = sorted({year for _, _, year in wanted.values()})
    if not years:
        return {}
    family = pl.element().str.split(",").list.first()
    authors = pl.col("authors").list.eval(plain_title(family))
    rows = documents.lazy().filter(pl.col("year").is_in(years)).select("doc_id", "year", authors)
    by_year: dict[int, list[tuple[str, list[str]]]] = {}
    for doc_id, year, names in rows.collect().iter_rows():
        by_year.setdefault(year, []).append((doc_id, names or []))
    meant: dict[str, frozenset[str]] = {}
    for cite, (named, others, year) in wanted.items():
        meant[cite] = frozenset(
            doc_id
            for doc_id, own in by_year.get(year, ())
            if (len(own) > len(named) if others else len(own) == len(named))
            # A name with initials ends with the family name.
            and all(o and name.endswith(o) for name, o in zip(named, own, strict=False))
        )
    return {cite: names for cite, names in meant.items() if names}
