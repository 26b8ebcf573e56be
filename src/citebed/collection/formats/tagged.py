"""Records of tagged lines: what their readers share, and three of them.

PubMed's (``.nbib``, MEDLINE) run from ``PMID-`` to a blank line. Web of Science's (``.ciw``,
``savedrecs.txt``) run from ``PT`` to ``ER``. EndNote's tagged export (``.enw``) is refer's format,
lines of ``%A``, ``%T``, ``%D`` …: a record begins with ``%0``; in files that have none, after a
blank line. RIS, which has a file of its own, is written by too many hands for this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from citebed.collection.formats.base import (
    Chunk,
    Format,
    cut_after,
    cut_before,
    of_text,
    with_newlines,
)
from citebed.collection.formats.fields import (
    arxiv_id,
    best_date,
    bibtex_type,
    cite_keys,
    date_in_words,
    document,
    full_pages,
    links_to,
    made_up_id,
    one_word,
    pages_of,
    people,
)
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_display
from citebed.text.normalise import (
    filled,
    html_to_text,
    iso_date,
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


def pairs(
    lines: Iterable[str], tagged: re.Pattern[str], lists: Collection[str] = ()
) -> list[tuple[str, str]]:
    """Tags and values; a line without a tag goes on with the value before it, or is a value of its
    own where the tag is one of ``lists``."""
    values: list[tuple[str, list[str]]] = []
    for line in lines:
        if match := tagged.match(line):
            values.append((match[1], [match[2] or ""]))
        elif values:
            values[-1][1].append(line.strip())
    parted = ((tag, each if tag in lists else [" ".join(each)]) for tag, each in values)
    return [(tag, value) for tag, several in parted for value in several]


def blocks(lines: list[str], starts: re.Pattern[str], line: int) -> Iterator[tuple[int, list[str]]]:
    """The lines from each one that starts a record to the next, after what stands before them."""
    at = [place for place, text in enumerate(lines) if starts.match(text)]
    for start, end in zip((0, *at), (*at, len(lines)), strict=True):
        if start < end:
            yield line + start, lines[start:end]


# --- PubMed -----------------------------------------------------------------------------------

_PUBMED_HEAD = re.compile(r"\s*PMID- [^\n]*\n(?:[A-Z]{2,4} *- |      )[^\n]*\n")
_PUBMED_TAG = re.compile(r"([A-Z][A-Z0-9]{1,3}) *- ?(.*)")
_PUBMED_START = re.compile(r"PMID- ")
_PUBMED_DOI = re.compile(r"(10\.\S+)\s+\[doi\]", re.IGNORECASE)
_PUBMED_TYPES = {
    "book chapter": "incollection",
    "book": "book",
    "congress": "inproceedings",
    "preprint": "misc",
}


def pubmed_id(number: str) -> str:
    """What a paper of PubMed goes by here, and in the references that only name its number."""
    return f"pmid:{number}"


def pubmed_title(title: str) -> str:
    """A title without PubMed's full stop, and without the brackets of one that was translated."""
    title = title[:-1] if title.endswith(".") and not title.endswith("..") else title
    return title[1:-1] if title.startswith("[") and title.endswith("]") else title


def pubmed_type(names: list[str], in_book: bool) -> str:
    """The BibTeX entry type of PubMed's publication types."""
    values = (_PUBMED_TYPES[name.lower()] for name in names if name.lower() in _PUBMED_TYPES)
    return next(values, "incollection" if in_book else "article")


@of_text
def _parse_pubmed(text: str, chunk: Chunk) -> Iterator[Record]:
    """The documents of a file; lines before the first record are told."""
    for line, lines in blocks(text.split("\n"), _PUBMED_START, chunk.line):
        if _PUBMED_START.match(lines[0]):
            yield _pubmed_document(entry_of(line, pairs(lines, _PUBMED_TAG)))
        elif any(_PUBMED_TAG.match(each) for each in lines):
            yield Problem(line, "a record without its PMID line: expected 'PMID- number'")


def _pubmed_document(entry: Entry) -> Document | Problem:
    number = entry.first("PMID")
    title = pubmed_title(entry.first("TI", "BTI"))
    authors = people(entry.all("FAU")) or tuple(map(_short_name, entry.all("AU")))
    authors = filled((*authors, *entry.all("CN")))
    date = date_in_words(entry.first("DP"))
    stated = (_PUBMED_DOI.search(value) for value in entry.all("LID", "AID", "SO"))
    doi = next(filter(None, (normalise_doi(match[1]) for match in stated if match)), None)
    own_id = pubmed_id(number) if number.isdecimal() else doi
    in_book = bool(entry.first("BTI")) and bool(entry.first("TI"))
    # The authors' own keywords, then the headings of MeSH without their subheadings.
    headings = (heading.replace("*", "").partition("/")[0] for heading in entry.all("MH"))
    return document(
        entry.line,
        own_id or made_up_id(authors, date[:4] if date else None, title),
        "a record without a number, a title or an author",
        type=pubmed_type(entry.all("PT"), in_book),
        title=title,
        authors=authors,
        editors=people(entry.all("FED") or entry.all("ED")),
        date=date,
        venue=entry.first("BTI") if in_book else entry.first("JT", "TA"),
        volume=entry.first("VI"),
        number=entry.first("IP"),
        pages=full_pages(entry.first("PG")),
        publisher=entry.first("PB"),
        doi=doi,
        arxiv=arxiv_id(doi),
        abstract=" ".join(entry.all("AB")),
        keywords=unique([*(word.strip("* ") for word in entry.all("OT")), *headings]),
        language=entry.first("LA"),
    )


def _short_name(name: str) -> str:
    """``Muster, AB`` of ``Muster AB``, as PubMed abbreviates."""
    family, _, initials = name.rpartition(" ")
    return f"{family}, {initials}" if family and initials.isupper() else name_from_display(name)


def starts_with(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """A test whether the head of a file matches, whatever ends its lines."""
    return lambda head: pattern.match(with_newlines(head)) is not None


NBIB = Format(
    "nbib",
    "PubMed records (.nbib, MEDLINE)",
    starts_with(_PUBMED_HEAD),
    _parse_pubmed,
    cut_before(b"\nPMID- "),
)


# --- Web of Science ---------------------------------------------------------------------------

_WOS_HEAD = re.compile(r"\s*(?:FN [^\n]*\nVR \d|PT [JBSPC]\n[A-Z][A-Z0-9] )")
_WOS_TAG = re.compile(r"([A-Z][A-Z0-9])(?: (.*)|[ \t]*)$")
_WOS_START = re.compile(r"PT(?: |$)")
NO_END = "missing ER line; the record ends where the data ends"
_WOS_END = re.compile(rb"(?:^|\n)ER[ \t]*\r?\n")
_WOS_AROUND = frozenset(("FN", "VR", "EF", "ER"))
_WOS_TYPES = {"J": "article", "B": "book", "S": "incollection", "C": "inproceedings"}
_CITED_DOI = re.compile(r"\bDOI \[?(10\.[^\s,\]]+)")
WOS_LISTS = frozenset(("AU", "AF", "BE", "ED", "CA", "BF", "CR"))
"""A value goes on in lines of its own: as a list where each is one, else as running text."""


@of_text
def _parse_wos(text: str, chunk: Chunk) -> Iterator[Record]:
    """The documents of a file; a record without its ``ER`` is kept and noted."""
    for line, lines in blocks(text.split("\n"), _WOS_START, chunk.line):
        values = pairs(lines, _WOS_TAG, WOS_LISTS)
        tags = [tag for tag, _ in values]
        if _WOS_START.match(lines[0]):
            end = tags.index("ER") if "ER" in tags else len(tags)
            yield wos_document(entry_of(line, values[:end]))
            if end == len(tags):
                yield Problem(line, NO_END, "mended")
            tags = tags[end:]
        if lost := [tag for tag in tags if tag not in _WOS_AROUND]:
            yield Problem(line, f"field {lost[0]} outside of a record: no PT line before it")


def wos_document(entry: Entry) -> Document | Problem:
    """The document of a record, or of a row whose columns are named by the same tags."""
    title = entry.first("TI")
    authors = people(entry.all("AF") or entry.all("AU")) + tuple(entry.all("CA"))
    editors = people(entry.all("BE", "ED"))
    year = year_in(entry.first("PY"))
    date = date_in_words(f"{entry.first('PD')} {year}") if year else None
    doi = normalise_doi(entry.first("DI", "D2"))
    cited = map(_CITED_DOI.search, entry.all("CR"))
    return document(
        entry.line,
        one_word(entry.first("UT")) or doi or made_up_id(authors or editors, year, title),
        type=_wos_type(entry),
        title=title,
        authors=authors,
        editors=editors,
        year=year,
        date=date or iso_date(year),
        venue=entry.first("SO", "SE", "J9", "CT"),
        volume=entry.first("VL"),
        number=entry.first("IS"),
        pages=pages_of(entry.first("BP"), entry.first("EP")) or entry.first("AR"),
        publisher=entry.first("PU"),
        doi=doi,
        arxiv=arxiv_id(doi),
        abstract=entry.first("AB"),
        keywords=entry.keywords("DE", "ID"),
        language=entry.first("LA"),
        links=links_to(normalise_doi(match[1]) for match in cited if match),
    )


def _wos_type(entry: Entry) -> str:
    """The entry type of ``PT``; a paper of a conference in a book or series is one of it."""
    kind = _WOS_TYPES.get(entry.first("PT")[:1], "misc")
    in_proceedings = "proceedings paper" in entry.first("DT").lower() or entry.first("CT")
    return "inproceedings" if in_proceedings and kind != "article" else kind


WEB_OF_SCIENCE = Format(
    "web-of-science",
    "Web of Science records (.ciw)",
    starts_with(_WOS_HEAD),
    _parse_wos,
    cut_after(_WOS_END),
)


# --- EndNote and refer ------------------------------------------------------------------------

_ENW_LINE = r"%[0-9A-Z@!#$&()*+<=>?\[~] [^\n]*\n"
_ENW_HEAD = re.compile(
    rf"(?=(?s:.*?)^%[TB] )\s*(?:%0 [A-Z][^\n]*\n{_ENW_LINE}|(?:%[A-Z] [^\n]*\n){{2}})", re.MULTILINE
)
_ENW_PARTED = re.compile(rb"\n\r?\n(?=%)")
_ENW_TAG = re.compile(r"%([0-9A-Z@!#$&()*+<=>?\[~^])(?:[ \t]+(.*)|[ \t]*)$")
_ENW_START = re.compile(r"%0(?:[ \t]|$)")
_OF_REFER = {"J": "article", "B": "incollection", "R": "techreport", "I": "book"}
"""The entry type of a record of refer, which names none: told by what it has."""


@of_text
def _parse_enw(text: str, chunk: Chunk) -> Iterator[Record]:
    """The documents of a file."""
    lines = text.split("\n")
    numbered = any(map(_ENW_START.match, lines))
    for line, block in (blocks if numbered else _parted)(lines, _ENW_START, chunk.line):
        if values := pairs(block, _ENW_TAG, {"K"}):
            yield _enw_document(entry_of(line, values))
        elif any(map(str.strip, block)):
            yield Problem(line, "text before the first record: expected a line with '%0'")


def _parted(lines: list[str], _: object, line: int) -> Iterator[tuple[int, list[str]]]:
    """Records that blank lines part."""
    start = 0
    for place, text in enumerate([*lines, ""]):
        after = lines[place + 1] if place + 1 < len(lines) else "%"
        if not text.strip() and (after.startswith("%") or place == len(lines)):
            if any(map(str.strip, lines[start:place])):
                yield line + start, lines[start:place]
            start = place + 1


def _enw_document(entry: Entry) -> Document | Problem:
    by_field = (kind for tag, kind in _OF_REFER.items() if entry.first(tag))
    kind = bibtex_type(entry.first("0")) if entry.first("0") else next(by_field, "misc")
    title = entry.first("T") or (entry.first("B") if kind == "book" else "")
    authors, editors = people(entry.all("A", "?")), people(entry.all("E", "Y"))
    date = best_date(*entry.all("D")) or None
    exact = date_in_words(f"{entry.first('8')} {date[:4]}") if date and entry.first("8") else None
    doi = next(filter(None, map(normalise_doi, entry.all("R", "U", "3"))), None)
    doc_id = entry.first("F", "1") or doi or entry.first("M")
    doc_id = doc_id or made_up_id(authors or editors, date[:4] if date else None, title)
    return document(
        entry.line,
        one_word(doc_id),
        type=kind,
        title=title,
        authors=authors,
        editors=editors,
        date=max(filter(None, (date, exact)), key=len, default=None),
        venue=entry.first("J", "B", "S") if kind != "book" else entry.first("S"),
        volume=entry.first("V"),
        number=entry.first("N"),
        pages=pages_of(entry.first("P")),
        publisher=entry.first("I"),
        doi=doi,
        arxiv=arxiv_id(doi, *entry.all("U", "M", "J")),
        url=entry.first("U").partition(" ")[0],
        abstract=" ".join(entry.all("X")),
        keywords=entry.keywords("K"),
        language=entry.first("G"),
        place=entry.first("C"),
        edition=entry.first("7"),
        isbn=entry.first("@"),
        keys=cite_keys(ids=entry.all("F", "1"), notes=entry.all("O", "Z")),
    )


ENW = Format(
    "enw",
    "EndNote and refer records (.enw)",
    starts_with(_ENW_HEAD),
    _parse_enw,
    lambda data: cut_before(b"\n%0 ")(data) or cut_after(_ENW_PARTED)(data),
)
