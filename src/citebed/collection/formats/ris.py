"""RIS, the tagged format that reference managers and publishers write.

A record runs from ``TY  - JOUR`` to ``ER  -``. Written by many hands, so read with patience:
one blank or a tab instead of two blanks, lower-case tags, wrapped lines, a missing ``ER``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from citebed.collection.formats.base import Chunk, Format, decode
from citebed.collection.text import (
    date_in,
    family_name,
    fold,
    fold_or_none,
    html_to_text,
    name_from_display,
    name_from_parts,
    normalise_doi,
    unique,
)
from citebed.records import Document, Problem, Record

_TYPES = {
    "JOUR": "article",
    "EJOUR": "article",
    "MGZN": "article",
    "NEWS": "article",
    "CONF": "inproceedings",
    "CPAPER": "inproceedings",
    "CHAP": "incollection",
    "ECHAP": "incollection",
    "BOOK": "book",
    "EBOOK": "book",
    "THES": "phdthesis",
    "RPRT": "techreport",
}
_SAME_TAG = {"A1": "AU", "ED": "A2", "TI": "T1"}
_KNOWN_TAG = re.compile(
    "A[1-4BDNUV]|BT|C[1-8ANPTY]|D[ABIOP]|E[DPRT]|I[DS]|J[12AFO]|KW|L[1-4ABK]|M[1-3]|N[12V]|OP"
    "|P[BPY]|R[INP]|S[ENPTV]|T[123AITY]|U[1-5R]|V[LO]|Y[12]"
)
_TAG_LINE = re.compile(r"([A-Za-z][A-Za-z0-9])([ \t]{1,2})-(.*)$", re.DOTALL)
_TYPE_LINE = re.compile(r"^(?:TY|ty)[ \t]{1,2}-[ \t]*[A-Za-z]{2,8}[ \t]*\r?$", re.MULTILINE)
_END_LINE = re.compile(rb"(?:^|\n)(?:ER|er)[ \t]{1,2}-[^\n]*\n")
_RANGE = re.compile(r"([^\s–—-]+)\s*[-–—]+\s*([^\s–—-]+)")
_SUFFIX = re.compile(r"(?:jr|sr|jnr|ii|iii|iv|esq|ph\.?d|m\.?d)\.?", re.IGNORECASE)
_ORGANISATION = re.compile(
    r"\b(?:organi[sz]ation|universit|institut|committee|consortium|group|team|associat|societ"
    r"|department|ministr|council|cent(?:er|re)\b|agency|inc\b|ltd\b|gmbh|corp|foundation"
    r"|collaborat|project|network|board|commission|librar|office|service|the\b|of\b|for\b|und\b)",
    re.IGNORECASE,
)
_NOT_UTF8 = "bytes that are not UTF-8 were read as Windows-1252"


class _Entry(NamedTuple):
    """The fields of one record in reading: a tag's values, wrapped lines kept apart by ``\\n``."""

    line: int
    type: str
    fields: dict[str, list[str]]

    def first(self, *tags: str) -> str:
        """The first value with text under the first of ``tags`` that has one, else ``""``."""
        values = (value for tag in tags for value in self.fields.get(tag, ()))
        return next((text for value in values if (text := html_to_text(value))), "")

    def all(self, *tags: str) -> list[str]:
        """Every value under ``tags``, as it was read."""
        return [value for tag in tags for value in self.fields.get(tag, ())]


def sniff(head: str) -> bool:
    """Whether a ``TY`` line stands near the start and is followed by another tagged line.

    Publishers put a few lines of their own first; up to 20 are let pass.
    """
    match = _TYPE_LINE.search(head)
    if match is None or head.count("\n", 0, match.start()) > 20:
        return False
    rest = head[match.end() : match.end() + 4096].split("\n")
    following = next((line for line in rest if line.strip()), None)
    return following is not None and _TAG_LINE.match(following.rstrip("\r")) is not None


def cut(data: bytes) -> int:
    """The end of the last ``ER`` line, 0 where there is none."""
    end = 0
    for match in _END_LINE.finditer(data):
        end = match.end()
    return end


def parse(chunk: Chunk) -> Iterator[Record]:
    """The documents of a RIS file; a record without its ``ER`` is kept and noted."""
    text, mended = decode(chunk.data)
    if mended:
        yield Problem(chunk.line, _NOT_UTF8, "mended")
    for item in _entries(text, chunk.line):
        if isinstance(item, Problem):
            yield item
        else:
            yield _document(item)


def _lines(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends; a file without any ``\\n`` may use ``\\r`` alone."""
    end = "\n" if "\n" in text else "\r"
    return enumerate((line.rstrip("\r") for line in text.split(end)), start)


def _tag(line: str, lower: bool) -> tuple[str, str] | None:
    """Tag and value of a line, ``None`` for a line that continues the field before it.

    Where the two blanks of the standard are missing only a known tag is one, and lower case
    counts only if the record began so: an abstract may well have a line ``is - as seen - …``.
    """
    match = _TAG_LINE.match(line)
    if match is None:
        return None
    tag, space, value = match.group(1, 2, 3)
    if not (tag.isupper() or lower or tag == "ty"):
        return None
    tag = tag.upper()
    if space != "  " and not (_KNOWN_TAG.fullmatch(tag) and value[:1] in ("", " ", "\t")):
        return None
    return tag, value.strip()


def _tagged(text: str, start: int) -> Iterator[tuple[int, str, str]]:
    """Line, tag and value of each field, with the lines that continue it after a ``\\n``."""
    place, tag, values, lower = start, "", list[str](), False
    for number, line in _lines(text, start):
        found = _tag(line, lower)
        if found is None:
            if line.strip():
                values.append(line)
            continue
        if tag:
            yield place, tag, "\n".join(values)
        place, tag, values = number, found[0], [found[1]]
        if tag == "TY":
            lower = line[0] == "t"
    if tag:
        yield place, tag, "\n".join(values)


def _entries(text: str, start: int) -> Iterator[_Entry | Problem]:
    """The records as they stand, with problems for what is outside of one or not closed."""
    entry: _Entry | None = None
    astray = False
    for line, tag, value in _tagged(text, start):
        if tag in ("TY", "ER"):
            if entry is not None:
                yield entry
                if tag == "TY":
                    yield _unclosed(entry)
            entry, astray = (_Entry(line, value, {}) if tag == "TY" else None), False
        elif entry is not None:
            entry.fields.setdefault(_SAME_TAG.get(tag, tag), []).append(value)
        elif not astray:
            astray = True
            yield Problem(line, f"field {tag} outside of a record: no TY line before it")
    if entry is not None:
        yield entry
        yield _unclosed(entry)


def _unclosed(entry: _Entry) -> Problem:
    return Problem(entry.line, "record without an ER line: taken to end where it stops", "mended")


def _document(entry: _Entry) -> Document | Problem:
    """The document of a record; one that has no title, author or identifier is skipped."""
    kind = _TYPES.get(entry.type.partition("\n")[0].upper(), "misc")
    title = entry.first("T1", "CT", *(("BT",) if kind == "book" else ()), "ST")
    authors = _people(entry.all("AU"))
    editors = _people(entry.all("A2") or entry.all("A3"))
    date, doi = _date(entry), _doi(entry)
    year = int(date[:4]) if date else None
    doc_id = _doc_id(entry, doi, authors or editors, year, title)
    if doc_id is None:
        return Problem(entry.line, "record without title, author or identifier")
    document = Document(doc_id, kind, title, authors, editors, year, date, line=entry.line)
    return _with_details(document._replace(doi=doi), entry)


def _with_details(document: Document, entry: _Entry) -> Document:
    """The document with where it appeared and what it is about."""
    book_title = () if document.type == "book" else ("BT",)
    return document._replace(
        venue=entry.first("T2", "JF", "JO", *book_title, "C3", "J2", "JA") or None,
        volume=entry.first("VL") or None,
        number=entry.first("IS") or None,
        pages=_pages(entry.first("SP"), entry.first("EP")),
        publisher=entry.first("PB") or None,
        url=_url(entry),
        abstract=html_to_text(" ".join(entry.all("AB") or entry.all("N2"))) or None,
        keywords=unique(map(fold, _split_keywords(entry.all("KW")))),
        language=entry.first("LA") or None,
    )


def _people(values: list[str]) -> tuple[str, ...]:
    return unique(name for value in values for name in _names(value))


def _split_keywords(values: list[str]) -> list[str]:
    """Single keywords: EndNote writes one per line under one tag, others set semicolons."""
    joined = "\n".join(html_to_text(line) for value in values for line in value.split("\n"))
    return re.split(r"[\n;]", joined)


def _names(value: str) -> Iterator[str]:
    """The names in an author field: one as a rule, more where ``;`` or ``and`` parts them."""
    for part in html_to_text(value).split(";"):
        pieces = re.split(r",? and ", part)
        whole = pieces if all("," in piece for piece in pieces) else [part]
        for piece in whole:
            yield _name(piece.strip())


def _name(name: str) -> str:
    """``Family, Given`` of RIS's ``Family, Given, Suffix``.

    A name without a comma is taken as printed (``A. Family``) if it is short and does not
    sound like an organisation; a comma at its end says that it is one.
    """
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 3 and _SUFFIX.fullmatch(parts[2]):
        return name_from_parts(parts[0], parts[1], parts[2])
    if len(parts) > 1:
        return fold(", ".join(part for part in parts if part))
    if len(name.split()) > 4 or _ORGANISATION.search(name):
        return name
    return name_from_display(name)


def _date(entry: _Entry) -> str | None:
    """The most exact date among ``PY``, ``Y1`` and ``DA`` that agrees with the first of them."""
    dates = [date for value in entry.all("PY", "Y1", "DA") if (date := date_in(fold(value)))]
    return max((date for date in dates if date[:4] == dates[0][:4]), key=len, default=None)


def _pages(first: str, last: str) -> str | None:
    """``12–20``; a range in the first field alone is understood, a single page stands alone."""
    match = _RANGE.fullmatch(first)
    if match is not None and last in ("", match[2]):
        first, last = match[1], match[2]
    if first and last and first != last:
        return f"{first}–{last}"
    return first or last or None


def _doi(entry: _Entry) -> str | None:
    """The DOI under ``DO``, else one that is the whole of a link or a word of ``M3``."""
    for value in entry.all("DO", "UR", "L3", "M3"):
        for candidate in (value, *value.split()):
            if (doi := normalise_doi(fold(candidate))) is not None:
                return doi
    return None


def _url(entry: _Entry) -> str | None:
    """The first address under ``UR``, else under ``LK``."""
    words = (word for value in entry.all("UR", "LK") for word in value.split())
    return next((url for word in words if (url := fold_or_none(word))), None)


def _doc_id(
    entry: _Entry, doi: str | None, names: tuple[str, ...], year: int | None, title: str
) -> str | None:
    """``ID``, else the DOI, else ``AN``, else a key of name, year and first title word.

    White space in an identifier becomes ``_``. ``None`` where there is nothing to build on.
    """
    own, number = ("_".join(entry.first(tag).split()) for tag in ("ID", "AN"))
    if own or doi or number:
        return own or doi or number
    word = title.partition(" ")[0]
    parts = (family_name(names[0]) if names else "", str(year or ""), word)
    key = "".join(char for part in parts for char in part.lower() if char.isalnum())
    return f"ris-{key}" if key and (names or title) else None


RIS = Format("ris", "RIS (EndNote, Mendeley, Scopus, Zotero)", sniff, parse, cut)
