"""RIS, the tagged format that reference managers and publishers write.

A record runs from ``TY  - JOUR`` to ``ER  -``. Written by many hands, so read with patience:
one blank or a tab instead of two blanks, lower-case tags, wrapped lines, a missing ``ER``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from citebed.collection.formats.base import Chunk, Format, cut_after, read_text, with_newlines
from citebed.collection.formats.fields import (
    is_organisation,
    is_suffix,
    made_up_id,
    one_word,
    page_range,
)
from citebed.collection.text import (
    date_in,
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
_KNOWN_TAGS = (
    "A[1-4BDNUV]|BT|C[1-8ANPTY]|D[ABIOP]|E[DPRT]|I[DS]|J[12AFO]|KW|L[1-4ABK]|M[1-3]|N[12V]|OP"
    "|P[BPY]|R[INP]|S[ENPTV]|T[123AITY]|U[1-5R]|V[LO]|Y[12]"
)
# Where the two blanks of the standard are missing only a known tag is one.
_TAG = rf"([A-Z][A-Z0-9])(?:  |(?<={_KNOWN_TAGS})[ \t]{{1,2}}(?=-[ \t\r\n]|-\Z))-"
_NO_TAG = re.sub(r"^\((?!\?)", "(?:", _TAG)
_FIELD = re.compile(rf"^{_TAG}(.*(?:\n(?!{_NO_TAG}).*)*+)", re.MULTILINE)
_LOWER_FIELD = re.compile(_FIELD.pattern, re.MULTILINE | re.IGNORECASE)
_RECORD_START = re.compile(r"^(?=(?:TY|ty)(?:  -|[ \t]{1,2}-(?:[ \t\r\n]|\Z)))", re.MULTILINE)
_TYPE_LINE = re.compile(r"^(?:TY|ty)[ \t]{1,2}-[ \t]*[A-Za-z]{2,8}[ \t]*\r?$", re.MULTILINE)
_TAG_LINE = re.compile(r"[A-Za-z][A-Za-z0-9][ \t]{1,2}-")
_END_LINE = re.compile(rb"(?:^|\n)(?:ER|er)[ \t]{1,2}-[^\n]*\n")
_RANGE = re.compile(r"([^\s–—-]+)\s*[-–—]+\s*([^\s–—-]+)")


class _Entry(NamedTuple):
    """The fields of one record in reading: a tag's values, wrapped lines kept apart by ``\\n``."""

    line: int
    type: str
    fields: dict[str, list[str]]

    def first(self, *tags: str) -> str:
        """The first value with text under the first of ``tags`` that has one, else ``""``."""
        for tag in tags:
            for value in self.fields.get(tag, ()):
                if text := html_to_text(value):
                    return text
        return ""

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
    return following is not None and _TAG_LINE.match(following) is not None


def cut(data: bytes) -> int:
    """The end of the last ``ER`` line, 0 where there is none."""
    return cut_after(_END_LINE, data)


def parse(chunk: Chunk) -> Iterator[Record]:
    """The documents of a RIS file; a record without its ``ER`` is kept and noted."""
    text, problems = read_text(chunk)
    yield from problems
    line = chunk.line
    for block in _RECORD_START.split(with_newlines(text)):
        yield from _records(block, line)
        line += block.count("\n")


def _records(block: str, line: int) -> Iterator[Record]:
    """What stands in a block: from a ``TY`` line, or the start of the file, to the next one.

    Lower case counts as a tag only if the record began so: an abstract may well have a line
    ``is - as seen - …``.
    """
    lower = block.startswith("ty")
    fields = (_LOWER_FIELD if lower else _FIELD).findall(block)
    if lower:
        fields = [(tag.upper(), value) for tag, value in fields]
    if not fields or fields[0][0] != "TY":
        yield from _strays(block, line, fields)
        return
    end = next((at for at, (tag, _) in enumerate(fields, 1) if tag == "ER"), None)
    yield _document(_entry(fields[:end], line))
    if end is None:
        what = "record without an ER line: taken to end where it stops"
        yield Problem(line, what, "mended")
    else:
        yield from _strays(block, line, fields[end:])


def _strays(block: str, line: int, fields: list[tuple[str, str]]) -> Iterator[Problem]:
    """One problem for the fields at the end of a block that are not part of a record."""
    for at, (tag, _) in enumerate(fields):
        if tag != "ER":
            rest = "\n".join(value for _, value in fields[at:])
            place = line + block.count("\n") - rest.count("\n")
            yield Problem(place, f"field {tag} outside of a record: no TY line before it")
            return


def _entry(fields: list[tuple[str, str]], line: int) -> _Entry:
    """The record of these tags and values, the first of which is its type."""
    values: dict[str, list[str]] = {}
    for tag, value in fields[1:]:
        text = _without_blank_lines(value) if "\n" in value else value.strip()
        values.setdefault(_SAME_TAG.get(tag, tag), []).append(text)
    return _Entry(line, fields[0][1].partition("\n")[0].strip().upper(), values)


def _without_blank_lines(value: str) -> str:
    return "\n".join(filter(None, map(str.strip, value.split("\n"))))


# --- Documents ------------------------------------------------------------------------------


def _document(entry: _Entry) -> Document | Problem:
    """The document of a record; one that has no title, author or identifier is skipped."""
    kind = _TYPES.get(entry.type, "misc")
    book_title = ("BT",) if kind == "book" else ()
    title = entry.first("T1", "CT", *book_title, "ST")
    authors = _people(entry.all("AU"))
    editors = _people(entry.all("A2") or entry.all("A3"))
    date, doi = _date(entry), _doi(entry)
    doc_id = one_word(entry.first("ID")) or doi or one_word(entry.first("AN"))
    if not doc_id and (authors or editors or title):
        doc_id = made_up_id(authors or editors, date[:4] if date else "", title)
    if not doc_id:
        return Problem(entry.line, "record without title, author or identifier")
    return Document(
        doc_id,
        kind,
        title,
        authors,
        editors,
        int(date[:4]) if date else None,
        date,
        venue=entry.first("T2", "JF", "JO", *(() if book_title else ("BT",)), "C3", "J2", "JA")
        or None,
        volume=entry.first("VL") or None,
        number=entry.first("IS") or None,
        pages=_pages(entry.first("SP"), entry.first("EP")),
        publisher=entry.first("PB") or None,
        doi=doi,
        url=_url(entry),
        abstract=html_to_text(" ".join(entry.all("AB") or entry.all("N2"))) or None,
        keywords=_keywords(entry.all("KW")),
        language=entry.first("LA") or None,
        line=entry.line,
    )


def _keywords(values: list[str]) -> tuple[str, ...]:
    """Single keywords: EndNote writes one per line under one tag, others set semicolons."""
    lines = (html_to_text(line) for value in values for line in value.split("\n"))
    return unique([fold(keyword) for line in lines for keyword in line.split(";")])


def _people(values: list[str]) -> tuple[str, ...]:
    return unique([name for value in values for name in _names(value)])


@lru_cache(maxsize=1 << 14)
def _names(value: str) -> tuple[str, ...]:
    """The names in an author field: one as a rule, more where ``;`` or ``and`` parts them."""
    names: list[str] = []
    for part in html_to_text(value).split(";"):
        pieces = re.split(r",? and ", part) if " and " in part else [part]
        whole = pieces if all("," in piece for piece in pieces) else [part]
        names += (_name(piece.strip()) for piece in whole)
    return tuple(names)


def _name(name: str) -> str:
    """``Family, Given`` of RIS's ``Family, Given, Suffix``.

    A name without a comma is taken as printed (``A. Family``) unless it sounds like an
    organisation; a comma at its end says that it is one.
    """
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 3 and is_suffix(parts[2]):
        return name_from_parts(parts[0], parts[1], parts[2])
    if len(parts) > 1:
        return fold(", ".join(filter(None, parts)))
    return name if is_organisation(name) else name_from_display(name)


_cached_date = lru_cache(maxsize=1 << 12)(date_in)


def _date(entry: _Entry) -> str | None:
    """The most exact date among ``PY``, ``Y1`` and ``DA`` that agrees with the first of them."""
    dates = [date for value in entry.all("PY", "Y1", "DA") if (date := _cached_date(fold(value)))]
    return max((date for date in dates if date[:4] == dates[0][:4]), key=len, default=None)


def _pages(first: str, last: str) -> str | None:
    """``12–20``; a range in the first field alone is understood, a single page stands alone."""
    match = _RANGE.fullmatch(first)
    if match is not None and last in ("", match[2]):
        first, last = match[1], match[2]
    return page_range(first, last)


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


RIS = Format("ris", "RIS (EndNote, Mendeley, Scopus, Zotero)", sniff, parse, cut)
