"""Fields that every format reads in the same way: ids, keys, names, links, dates, pages, types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from citebed.collection.names import INVALID_IN_KEY
from citebed.records import Document, Link, Problem, Record
from citebed.text.identifiers import arxiv_in, arxiv_of, arxiv_of_doi, normalise_doi
from citebed.text.names import family_name, name_from_display, name_from_parts
from citebed.text.normalise import (
    date_in,
    filled,
    fold,
    iso_date,
    month_in,
    page_range,
    unique,
    year_in,
)
from citebed.text.regex import compile_regex

# --- Documents ------------------------------------------------------------------------------


def make_document(
    line: int,
    doc_id: str | None,
    missing: str = "record without title, author or identifier",
    **fields: Any,
) -> Document | Problem:
    """Make a document from the fields of a record; the year comes from the date.

    Without ``doc_id`` there is nothing to call the record by: return a problem that says what is
    ``missing``.
    """
    if not doc_id:
        return Problem(line, missing)
    known = {name: value for name, value in fields.items() if value}
    if date := known.get("date"):
        known.setdefault("year", int(date[:4]))
    return Document(doc_id, line=line, **known)


# --- Ids ------------------------------------------------------------------------------------


def remove_spaces(text: str) -> str:
    """Return an id without white space: ``my_key`` for ``my key``."""
    text = fold(text)
    return text.replace(" ", "_") if " " in text else text


def strip_zeros(name: str) -> str:
    """Return a number without leading zeros, so that ``01`` equals ``1``, and other ids as is."""
    return (name.lstrip("0") or "0") if name.isascii() and name.isdigit() else name


def generate_key(names: Sequence[str], year: int | str | None, title: str) -> str:
    """Make a key for a record without one: ``muster-2010-sorting``; ``""`` without any part."""
    words = (family_name(names[0]) if names else "", str(year or ""), title.partition(" ")[0])
    parts = (re.sub(r"\W+", "", word).lower() for word in words)
    return "-".join(filter(None, parts))


_UNTYPABLE = re.compile(INVALID_IN_KEY)
# Numbers that programs give their records: 12, ITEM-1, 12/ABCD2345, a UUID, a URL.
_NUMBER = re.compile(
    r"\d+|ITEM-\d+|\d+/[A-Z0-9]{8}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z]+://.*",
    re.IGNORECASE,
)
_KEY_IN_NOTE = re.compile(
    r"\b(?:citation key|citekey|bibtex key|tex\.ids)\s*:\s*([^\s,;{}\\]+)", re.IGNORECASE
)


def collect_cite_keys(
    keys: Iterable[str | None] = (),
    ids: Iterable[str | None] = (),
    notes: Iterable[str | None] = (),
) -> tuple[str, ...]:
    """Return the keys of a record that a ``\\cite`` can use.

    ``ids`` are keys unless they are DOIs, URLs or numbers from a program. ``notes`` may contain
    keys as Better BibTeX writes them: ``Citation Key: muster2010``.
    """
    likely = (name for name in ids if name and not _NUMBER.fullmatch(name))
    stated = (key for note in notes if note for key in _KEY_IN_NOTE.findall(note))
    every = filter(None, (*keys, *likely, *stated))
    return unique(key for key in every if not _UNTYPABLE.search(key) and not normalise_doi(key))


# Only a field that begins so: in "extends arXiv:…" the id belongs to another paper.
_ON_ARXIV = re.compile(
    r"\W*(?:url\W+)?(?:https?://\S*arxiv|arxiv|corr\b|abs/|e-?print\b|preprint\b)"
)


def find_arxiv_id(doi: str | None, *fields: str | None, eprint: str | None = None) -> str | None:
    """Return the arXiv id in ``eprint``, in the DOI, or in the first field that has one."""
    if eprint and (arxiv := arxiv_of(eprint)):
        return arxiv
    if doi and (number := arxiv_of_doi(doi)):
        return arxiv_of(number)
    for text in fields:
        lower = text.lower() if text else ""
        likely = ("arxiv" in lower or "abs/" in lower) and _ON_ARXIV.match(lower)
        if likely and (arxiv := arxiv_in(lower)):
            return arxiv
    return None


# What people and programs write in place of a DOI
_NO_DOI = re.compile(
    r"\W*(?:n\W?a|none|null|nil|nan|no(?: doi)?|unknown|tb[ad]|doi)?\W*", re.IGNORECASE
)


def check_doi(record: Record, stated: str | None) -> Iterator[Problem]:
    """Yield a problem if a document has no DOI, but a DOI field with other content."""
    if isinstance(record, Document) and not record.doi and not _NO_DOI.fullmatch(stated or ""):
        what = f"{record.doc_id}: '{fold(stated or '')[:80]}' is not a DOI and was left out"
        yield Problem(record.line, what, "mended")


# --- Names ----------------------------------------------------------------------------------

_SUFFIX = re.compile(r"(?:jn?r|sr|ii|iii|iv|esq|ph\.?d|m\.?d)\.?", re.IGNORECASE)
_ORGANISATION = re.compile(
    r"\b(?:organi[sz]ation|universit|institut|committee|consortium|group|team|associat|societ"
    r"|department|ministr|council|cent(?:er|re)\b|agency|inc\b|ltd\b|gmbh|corp|foundation|staff"
    r"|collaborat|project|network|board|commission|librar|office|service|panel"
    r"|the\b|of\b|for\b|und\b)|\d",
    re.IGNORECASE,
)
_PLAIN_NAME = compile_regex(r"[^\s,;][^,;]*+(?<! ), [^\s,;][^,;]*+")


def is_name_suffix(name: str) -> bool:
    """Return True for the part of a name that follows it: ``Jr.``, ``III``, ``PhD``."""
    return _SUFFIX.fullmatch(name) is not None


def is_organisation(name: str) -> bool:
    """Return True if a name without a comma is too long for a person or sounds like a group."""
    return name.count(" ") > 3 or _ORGANISATION.search(name) is not None


def parse_names(values: Iterable[str]) -> tuple[str, ...]:
    """Return the names in author fields, each as ``Family, Given``."""
    return tuple([name for value in values for name in _names_in_field(value)])


@lru_cache(maxsize=1 << 14)
def _names_in_field(value: str) -> tuple[str, ...]:
    """Return the names in an author field: usually one, more if it has ``;`` or ``and``."""
    if _PLAIN_NAME.fullmatch(value) and " and " not in value:
        return (value,)
    names: list[str] = []
    for part in value.split(";"):
        pieces = re.split(r",? and ", part) if " and " in part else [part]
        for piece in pieces if all("," in piece for piece in pieces) else [part]:
            words = [word.strip() for word in piece.split(",")]
            if len(words) == 3 and is_name_suffix(words[2]):
                names.append(name_from_parts(*words))
            elif len(words) > 1:  # a comma at the end marks an organisation
                names.append(", ".join(filter(None, words)))
            else:
                name = words[0]
                names.append(name if is_organisation(name) else name_from_display(name))
    return tuple(filter(None, names))


_SCOPUS_ID = re.compile(r"\s*\(\d{6,}\)")  # the number that Scopus puts after an author
_SHORT = re.compile(r"(.+?)[ ,]+((?:[A-Z]\.-?)+|[A-Z]{1,3})\.?")


def parse_name_list(text: str) -> tuple[str, ...]:
    """Return the names in a line, separated by ``;`` or ``|``, else by commas and ``and``."""
    text = _SCOPUS_ID.sub("", text)
    if ";" in text or "|" in text:
        return parse_names(text.replace("|", ";").split(";"))
    parts = [part for part in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", text.strip()) if part]
    if parts and all(map(_SHORT.fullmatch, parts)):  # Muster A., Beispiel B.
        return filled(_SHORT.sub(r"\1, \2", part) for part in parts)
    if len(parts) > 1 and all(" " in part for part in parts):
        return filled(map(name_from_display, parts))
    return parse_names([text]) if len(parts) == 2 else filled(parse_catalogue_names(text))


_INITIALS = re.compile(r"(?:[A-Za-z+]{1,2}(?:[.\s-]+|$))+")
_TRAILING_INITIALS = re.compile(r"([^\s.]{3,})\.?\s+((?:[A-Za-z]\.\s*)+)")
_FULL_NAME = re.compile(r"[^\s.]{3,}\s+(?:\w\.\s*)+[^\s.]{3,}")


def parse_catalogue_names(line: str) -> Iterator[str]:
    """Yield the names in a line such as ``holder,d.w., north,r.j. and chinneck,a.``.

    Between commas there are family names with initials, or names as printed.
    ``charles h. samson, jr.`` is one name; titles after a printed name are left out.
    """
    for group in re.split(r",? and ", re.sub(r"\s*\bet al\b\.?", "", line)):
        parts = [*filter(None, map(fold, group.split(",")))]
        is_one = len(parts) == 2 and not all(map(_FULL_NAME.fullmatch, parts))
        at = 0
        while at < len(parts):
            part, after = parts[at], parts[at + 1] if at + 1 < len(parts) else ""
            is_printed = re.match(r"[A-Za-z]{1,2}\.", part) is not None
            at += 1
            if is_name_suffix(after):
                family, _, given = name_from_display(part).partition(", ")
                yield name_from_parts(family, given, after)
                at += 1
            elif is_printed and len(part.split()) > 1:
                yield name_from_display(part)
                while at < len(parts) and parts[at].endswith((".", ")")):
                    at += 1
            elif after and (is_one or _INITIALS.fullmatch(after)):
                yield f"{part}, {re.sub(r' +[.]$', '.', after)}"
                at += 1
            elif not is_printed:
                yield _invert_printed_name(part)


def _invert_printed_name(name: str) -> str:
    """Return ``Family, Given`` for a printed name; an organisation stays as it is."""
    if (match := _TRAILING_INITIALS.fullmatch(name)) is not None:
        return f"{match[1]}, {match[2]}"
    bare = re.sub(r"(?<=\w\w)\.$|\s+\.$", "", name)
    is_group = name.endswith(" .") or is_organisation(name)
    return bare if is_group else name_from_display(bare)


# --- Links ----------------------------------------------------------------------------------


def make_links(cited: Iterable[str | None]) -> tuple[Link, ...]:
    return tuple(map(Link, unique(name or "" for name in cited)))


# --- Dates and pages ------------------------------------------------------------------------

_DAY = re.compile(r"(?<!\d)[0-3]?\d(?!\d)")
_RANGE = re.compile(r"([^\s–—-]+)\s*[-–—]+\s*([^\s–—-]+)")


@lru_cache(maxsize=1 << 12)
def pick_date(*values: str) -> str | None:
    """Return the most exact date of the values that has the year of the first."""
    dates = [date for value in values if (date := date_in(value))]
    return max((date for date in dates if date[:4] == dates[0][:4]), key=len, default=None)


@lru_cache(maxsize=1 << 12)
def parse_worded_date(text: str) -> str | None:
    """Return ``2010-08-15`` for ``2010 Aug 15`` or ``AUG 15 2010``, ``2010-07`` for
    ``2010 Jul-Aug``."""
    year, month = year_in(text), month_in(text)
    days = _DAY.findall(text) if month else []
    return iso_date(year, month, int(days[0]) if len(days) == 1 else None)


def format_pages(first: str | None, last: str | None = None) -> str | None:
    """Return ``12–20`` for two pages or a written range; one page if both are equal."""
    whole = f"{first}–{last}" if first and last and first != last else first or last
    return page_range(whole) or None if whole else None


def parse_pages(first: str, last: str = "") -> str | None:
    """Return ``12–20`` for two fields; the first may contain the range."""
    match = _RANGE.fullmatch(first)
    if match is not None and last in ("", match[2]):
        first, last = match[1], match[2]
    return format_pages(first, last)


def expand_pages(text: str) -> str | None:
    """Return ``123–129`` for ``123-9``, as PubMed shortens it."""
    match = re.fullmatch(r"(\d+)-(\d+)", text.strip())
    if match is None or len(match[2]) >= len(match[1]):
        return format_pages(text)
    return format_pages(match[1], match[1][: -len(match[2])] + match[2])


# --- Entry types ------------------------------------------------------------------------------

_TYPES = {
    "article": "article article-journal article-magazine article-newspaper journal-article journal "
    "magazine-article newspaper-article electronic-article review review-book letter editorial "
    "erratum note short-survey peer-review early-access data-paper article-in-press",
    "inproceedings": "paper-conference proceedings-article conference-paper proceedings-paper "
    "inproceedings",
    "proceedings": "proceedings conference conference-proceedings conference-review",
    "incollection": "chapter book-chapter book-section book-part book-track entry "
    "entry-encyclopedia entry-dictionary reference-entry encyclopedia-article dictionary-entry "
    "electronic-book-section serialized-book-section incollection",
    "book": "book monograph edited-book reference-book book-set book-series electronic-book",
    "phdthesis": "thesis dissertation phdthesis",
    "mastersthesis": "mastersthesis",
    "techreport": "report report-component report-series standard technical-report techreport "
    "government-document",
    "unpublished": "manuscript unpublished unpublished-work",
}
_BY_NAME = {name: bibtex for bibtex, names in _TYPES.items() for name in names.split()}
_WORD_BREAK = re.compile(r"(?<=[a-z])(?=[A-Z])|[\s_]+")


@lru_cache(maxsize=1 << 10)
def to_bibtex_type(name: str | None) -> str:
    """Return the BibTeX entry type for the name of a type: ``article`` for ``Journal Article`` or
    ``journalArticle``, ``misc`` for an unknown one."""
    return _BY_NAME.get(_WORD_BREAK.sub("-", (name or "").strip()).lower(), "misc")
