"""What makes a field the same way in every format: documents, ids, names, links, dates, pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from citebed.collection.names import UNTYPABLE
from citebed.records import Document, Link, Problem, Record
from citebed.text.identifiers import arxiv_in, arxiv_of, arxiv_of_doi, normalise_doi
from citebed.text.names import family_name, name_from_display, name_from_parts
from citebed.text.normalise import date_in, filled, fold, iso_date, month_in, unique, year_in
from citebed.text.normalise import page_range as with_en_dash
from citebed.text.regex import compile_regex

# --- Documents ------------------------------------------------------------------------------

NAMELESS = "record without title, author or identifier"


def document(
    line: int, doc_id: str | None, lacking: str = NAMELESS, **fields: Any
) -> Document | Problem:
    """A document of what a format says of it; what is empty is unknown, and the year is the date's.

    One that nothing names is a problem, which says what is ``lacking``.
    """
    if not doc_id:
        return Problem(line, lacking)
    known = {name: value for name, value in fields.items() if value}
    if date := known.get("date"):
        known.setdefault("year", int(date[:4]))
    return Document(doc_id, line=line, **known)


# --- Ids ------------------------------------------------------------------------------------


def one_word(text: str) -> str:
    """An id without white space: ``my key`` is ``my_key``."""
    text = fold(text)
    return text.replace(" ", "_") if " " in text else text


def without_zeros(name: str) -> str:
    """A number without leading zeros, so that ``01`` and ``1`` are one; another id as it is."""
    return (name.lstrip("0") or "0") if name.isascii() and name.isdigit() else name


def made_up_id(names: Sequence[str], year: int | str | None, title: str) -> str:
    """A key for a record that has none, from its first name, year and first title word.

    ``muster-2010-sorting``; ``""`` where there is nothing to make it of.
    """
    words = (family_name(names[0]) if names else "", str(year or ""), title.partition(" ")[0])
    parts = (re.sub(r"\W+", "", word).lower() for word in words)
    return "-".join(filter(None, parts))


_UNTYPABLE = re.compile(UNTYPABLE)
# What programs number their records with: 12, ITEM-1, 12/ABCD2345, a UUID, an address.
_NUMBER = re.compile(
    r"\d+|ITEM-\d+|\d+/[A-Z0-9]{8}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z]+://.*",
    re.IGNORECASE,
)
_STATED_KEY = re.compile(
    r"\b(?:citation key|citekey|bibtex key|tex\.ids)\s*:\s*([^\s,;{}\\]+)", re.IGNORECASE
)


def cite_keys(
    keys: Iterable[str | None] = (),
    ids: Iterable[str | None] = (),
    notes: Iterable[str | None] = (),
) -> tuple[str, ...]:
    """What one can type in a ``\\cite``: given keys, ids that look like one, keys stated in notes.

    A publisher's DOI is an id and no key; so is an address or a number that a program gave.
    Better BibTeX and its users state keys as ``Citation Key: muster2010``.
    """
    likely = (name for name in ids if name and not _NUMBER.fullmatch(name))
    stated = (key for note in notes if note for key in _STATED_KEY.findall(note))
    every = filter(None, (*keys, *likely, *stated))
    return unique(key for key in every if not _UNTYPABLE.search(key) and not normalise_doi(key))


# A note that begins otherwise ("extends arXiv:…") speaks of another paper.
_ON_ARXIV = re.compile(
    r"\W*(?:url\W+)?(?:https?://\S*arxiv|arxiv|corr\b|abs/|e-?print\b|preprint\b)"
)


def arxiv_id(doi: str | None, *fields: str | None, eprint: str | None = None) -> str | None:
    """The arXiv id of a record: its ``eprint``, what its DOI says, or the first field that does."""
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


# What people and programs write where there is none.
_NO_DOI = re.compile(
    r"\W*(?:n\W?a|none|null|nil|nan|no(?: doi)?|unknown|tb[ad]|doi)?\W*", re.IGNORECASE
)


def no_doi(record: Record, stated: str | None) -> Iterator[Problem]:
    """What there is to say where the field for a DOI holds something else, and no DOI is known."""
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


def is_suffix(name: str) -> bool:
    """Whether a part of a name is one that follows it: ``Jr.``, ``III``, ``PhD``."""
    return _SUFFIX.fullmatch(name) is not None


def is_organisation(name: str) -> bool:
    """Whether a name without a comma is too long for a person's or sounds like a group's."""
    return name.count(" ") > 3 or _ORGANISATION.search(name) is not None


_PLAIN_NAME = compile_regex(r"[^\s,;][^,;]*+(?<! ), [^\s,;][^,;]*+")


def people(values: Iterable[str]) -> tuple[str, ...]:
    """The names in author fields."""
    return tuple([name for value in values for name in _names(value)])


@lru_cache(maxsize=1 << 14)
def _names(value: str) -> tuple[str, ...]:
    """The names in an author field: one as a rule, more where ``;`` or ``and`` parts them."""
    if _PLAIN_NAME.fullmatch(value) and " and " not in value:
        return (value,)
    names: list[str] = []
    for part in value.split(";"):
        pieces = re.split(r",? and ", part) if " and " in part else [part]
        whole = pieces if all("," in piece for piece in pieces) else [part]
        names += [_name(piece.strip()) for piece in whole]
    return tuple(filter(None, names))


def _name(name: str) -> str:
    """``Family, Given`` of ``Family, Given, Suffix``.

    A name without a comma is taken as printed (``A. Family``) unless it sounds like an
    organisation; a comma at its end says that it is one.
    """
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 3 and is_suffix(parts[2]):
        return name_from_parts(*parts)
    if len(parts) > 1:
        return ", ".join(filter(None, parts))
    return name if is_organisation(name) else name_from_display(name)


_NUMBERED = re.compile(r"\s*\(\d{6,}\)")  # Scopus puts its number of an author behind the name
_SHORT = re.compile(r"(.+?)[ ,]+((?:[A-Z]\.-?)+|[A-Z]{1,3})\.?")


def people_in(text: str) -> tuple[str, ...]:
    """The names in a line: parted by ``;`` or ``|``, else by commas and ``and``."""
    text = _NUMBERED.sub("", text)
    if ";" in text or "|" in text:
        return people(text.replace("|", ";").split(";"))
    parts = [part for part in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", text.strip()) if part]
    if parts and all(map(_SHORT.fullmatch, parts)):  # Muster A., Beispiel B.
        return filled(_SHORT.sub(r"\1, \2", part) for part in parts)
    if len(parts) > 1 and all(" " in part for part in parts):
        return filled(map(name_from_display, parts))
    return people([text]) if len(parts) == 2 else filled(names_in(text))


_INITIALS = re.compile(r"(?:[A-Za-z+]{1,2}(?:[.\s-]+|$))+")
_TRAILING_INITIALS = re.compile(r"([^\s.]{3,})\.?\s+((?:[A-Za-z]\.\s*)+)")
_FULL_NAME = re.compile(r"[^\s.]{3,}\s+(?:\w\.\s*)+[^\s.]{3,}")


def names_in(line: str) -> Iterator[str]:
    """The names in a line such as ``holder,d.w., north,r.j. and chinneck,a.``."""
    for group in re.split(r",? and ", re.sub(r"\s*\bet al\b\.?", "", line)):
        yield from _names_of_parts([*filter(None, map(fold, group.split(",")))])


def _names_of_parts(parts: list[str]) -> Iterator[str]:
    """Names from what stands between commas: family names with initials, or printed names.

    ``charles h. samson, jr.`` is one name; titles after a printed name are left out.
    """
    place = 0
    is_one = len(parts) == 2 and not all(map(_FULL_NAME.fullmatch, parts))
    while place < len(parts):
        part, after = parts[place], parts[place + 1] if place + 1 < len(parts) else ""
        printed = re.match(r"[A-Za-z]{1,2}\.", part) is not None
        place += 1
        if is_suffix(after):
            family, _, given = name_from_display(part).partition(", ")
            yield name_from_parts(family, given, after)
            place += 1
        elif printed and len(part.split()) > 1:
            yield name_from_display(part)
            while place < len(parts) and parts[place].endswith((".", ")")):
                place += 1
        elif after and (is_one or _INITIALS.fullmatch(after)):
            yield f"{part}, {re.sub(r' +[.]$', '.', after)}"
            place += 1
        elif not printed:
            yield _single_name(part)


def _single_name(name: str) -> str:
    """``Family, Given`` of a printed name; an organisation stays as it is."""
    if (match := _TRAILING_INITIALS.fullmatch(name)) is not None:
        return f"{match[1]}, {match[2]}"
    bare = re.sub(r"(?<=\w\w)\.$|\s+\.$", "", name)
    whole = name.endswith(" .") or is_organisation(name)
    return bare if whole else name_from_display(bare)


# --- Links ----------------------------------------------------------------------------------


def links_to(cited: Iterable[str | None]) -> tuple[Link, ...]:
    """A link to each document that is cited under some name, once."""
    return tuple(map(Link, unique(name or "" for name in cited)))


# --- Dates and pages ------------------------------------------------------------------------

_DAY = re.compile(r"(?<!\d)[0-3]?\d(?!\d)")
_RANGE = re.compile(r"([^\s–—-]+)\s*[-–—]+\s*([^\s–—-]+)")


def page_range(first: str | None, last: str | None = None) -> str | None:
    """``12–20``, from its ends or as it was written; one page, or the same twice, stands alone."""
    whole = f"{first}–{last}" if first and last and first != last else first or last
    return with_en_dash(whole) or None if whole else None


@lru_cache(maxsize=1 << 12)
def best_date(*values: str) -> str | None:
    """The most exact date among the values that agrees with the first of them."""
    dates = [date for value in values if (date := date_in(value))]
    return max((date for date in dates if date[:4] == dates[0][:4]), key=len, default=None)


@lru_cache(maxsize=1 << 12)
def date_in_words(text: str) -> str | None:
    """``2010-08-15`` of ``2010 Aug 15`` or ``AUG 15 2010``; of ``2010 Jul-Aug`` the first month."""
    year, month = year_in(text), month_in(text)
    days = _DAY.findall(text) if month else []
    return iso_date(year, month, int(days[0]) if len(days) == 1 else None)


def pages_of(first: str, last: str = "") -> str | None:
    """``12–20``; a range in the first field alone is understood, a single page stands alone."""
    match = _RANGE.fullmatch(first)
    if match is not None and last in ("", match[2]):
        first, last = match[1], match[2]
    return page_range(first, last)


def full_pages(text: str) -> str | None:
    """``123–129`` of ``123-9``, as PubMed shortens it."""
    match = re.fullmatch(r"(\d+)-(\d+)", text.strip())
    if match is None or len(match[2]) >= len(match[1]):
        return page_range(text)
    return page_range(match[1], match[1][: -len(match[2])] + match[2])


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
_BIBTEX = {name: bibtex for bibtex, names in _TYPES.items() for name in names.split()}
_JOINT = re.compile(r"(?<=[a-z])(?=[A-Z])|[\s_]+")


@lru_cache(maxsize=1 << 10)
def bibtex_type(name: str | None) -> str:
    """The BibTeX entry type of a type's name: ``article`` of ``Journal Article`` or
    ``journalArticle``, ``misc`` of what is none of those known."""
    return _BIBTEX.get(_JOINT.sub("-", (name or "").strip()).lower(), "misc")
