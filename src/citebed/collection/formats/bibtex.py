"""BibTeX and BibLaTeX, in and out."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from citebed.collection.formats.base import Chunk, Format, read_text, with_newlines
from citebed.collection.formats.biblatex import (
    carry,
    cut,
    has_xdata,
    is_document,
    lent_before,
    not_there,
    with_xdata,
)
from citebed.collection.formats.bibtex_entry import (
    ASTRONOMY,
    NOT_RECORDS,
    TOO_MUCH,
    RawEntry,
    harmless_entry,
)
from citebed.collection.formats.bibtex_names import names_of, split_outside_braces
from citebed.collection.formats.bibtex_scan import head_of, scan
from citebed.collection.formats.fields import arxiv_id, cite_keys, made_up_id, no_doi, page_range
from citebed.collection.names import UNTYPABLE
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import doi_of, normalise_doi
from citebed.text.latex import is_plain, latex_to_text, text_to_latex
from citebed.text.normalise import (
    ENTITY_PATTERN,
    date_in,
    entity_to_text,
    fold,
    iso_date,
    month_in,
    unique,
    year_before_1,
    year_in,
)
from citebed.text.regex import compile_regex

_SNIFF = re.compile(
    r"^[ \t]*@[ \t]*(?:(?:string|preamble|comment)[ \t]*[{(]"
    r"|[a-z][\w-]*\s*\{\s*[^\s{}=,\"]*(?:\s*,|\s+[a-z][\w-]*\s*=\s*[{\"\w])"
    r"|[a-z][\w-]*\{[^\s{}=,\"]+[ \t]*\r?\n[ \t]*\}"
    r"|[a-z][\w-]*\s*\(\s*[^\s(){}=,\"]*\s*,\s*[a-z][\w-]*\s*=\s*[{\"\w])",
    re.MULTILINE | re.IGNORECASE,
)
_PAGE = re.compile(
    r"<(?:html|pre|!doctype html)[^<>]*>(?=.{0,4000}?<pre\b|\s*@)", re.IGNORECASE | re.DOTALL
)
_BARE_WORD = compile_regex(r"[=#]\s*+([A-Za-z][^\s,{}\"#%()=']*+)")
_ENTITY = re.compile(rf"(?<!\\){ENTITY_PATTERN}")
_SEMICOLON, _COMMA = re.compile("[{};]"), re.compile("[{},]")
_COMMAND = re.compile(r"[{\s]*\\([a-z]+)[}\s]*")
_WORD_AND = re.compile(r"(?:^|\s)and(?:\s|$)", re.IGNORECASE)
# A year that is all there is in its field may be of any age: ``1473``, ``ca. 850``.
_EARLY_YEAR = re.compile(r"\W*(?:ca?\.?|circa|about|um)?\W*(\d{3,4})\W*", re.IGNORECASE)
_EARLY_DATE = re.compile(r"\s*(0\d{3}|1[0-4]\d\d)(?:-(\d\d)(?:-(\d\d))?)?(?!\d)")
_EARLIEST = 1500
_ADDRESSES = ("url", "ee", "bdsk-url-1")
_NEAR = 200
"""Characters at the start of an entry in which nearly all have their key and its comma."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def parse(chunk: Chunk) -> Iterator[Record]:
    """The documents of a piece of BibTeX, and what had to be skipped or mended."""
    text, problems = read_text(chunk)
    yield from problems
    macros, noted = dict(chunk.macros), set[str]()
    entries = scan(with_newlines(text), chunk.line, macros)
    lent = lent_before(macros)
    if lends := bool(lent) or has_xdata(text):
        entries = with_xdata(entries, lent, len(text))
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        for word in entry.overgrown:
            yield Problem(entry.line, f"string '{word}' {TOO_MUCH}", "mended")
        for word in entry.undefined:
            if word.lower() not in noted:
                what = f"no string is called '{word}'; it is kept as it is written"
                yield Problem(entry.line, what, "mended")
            noted.add(word.lower())
        if "xdata" in entry.fields and not lends:
            yield not_there(entry, entry.fields["xdata"])
        if is_document(entry):
            yield from _read(entry, macros, lends=lends)


def bare_words(text: str) -> set[str]:
    """The words in lower case that stand where a string's name may: bare, behind ``=`` or ``#``."""
    return {word.lower() for word in _BARE_WORD.findall(text)}


def _read(entry: RawEntry, macros: Mapping[str, str], *, lends: bool) -> Iterator[Record]:
    """The document of an entry, and what had to be mended in it."""
    document = document_of(entry)
    borrowed = lends and document.bibtex and "xdata" in entry.text.lower()
    named = macros and document.bibtex and not bare_words(entry.text).isdisjoint(macros)
    if borrowed or named:
        document = document._replace(bibtex=_rebuilt(entry))
    if entry.broken:
        what = f"entry '{entry.key}' does not close; kept the fields that could be read"
        yield Problem(entry.line, what, "mended")
    elif f"{entry.key}," not in entry.text[:_NEAR] and (start := _key_without_comma(entry)):
        whole = f"{entry.text[:start].rstrip()}, {entry.text[start:]}"
        document = document._replace(bibtex=document.bibtex and whole)
        what = f"no comma behind the key '{entry.key}'; it was put there"
        yield Problem(entry.line, what, "mended")
    elif not entry.key or not (entry.key.isprintable() or fold(entry.key)):
        what = f"an entry without a key; named '{document.doc_id}'"
        yield Problem(entry.line, what, "mended")
    if document.doi is None and "doi" in entry.fields:
        yield from no_doi(document, latex_to_text(entry.fields["doi"]))
    yield document


def _key_without_comma(entry: RawEntry) -> int:
    """Where the fields of an entry start that has no comma behind its key; 0 for any other."""
    head = head_of(entry.text) if entry.fields and entry.key else None
    return head.end if head and entry.text[head.end - 1] != "," else 0


def _rebuilt(entry: RawEntry) -> str:
    """The entry's text with its strings resolved, so that it can stand alone."""
    lines = (
        f"  {name} = {value if name == 'month' and value in _MONTHS else f'{{{value}}}'},\n"
        for name, value in entry.fields.items()
    )
    return f"@{entry.type}{{{entry.key},\n{''.join(lines)}}}"


def document_of(entry: RawEntry) -> Document:
    """The document that an entry describes."""
    get = entry.fields.get
    url = get("url")
    date = _date_of(get("date"), get("year"), get("month"), get("issue_date"), get("day"))
    title, subtitle = latex_to_text(get("title", "")), get("subtitle")
    tail = latex_to_text(subtitle) if subtitle else ""
    authors = names_of(get("author", ""))
    by_key = normalise_doi(entry.key)
    doi = _doi_in(entry, by_key)
    return Document(
        doc_id=_id_of(entry, authors, date, title),
        type="inproceedings" if entry.type == "conference" else entry.type,
        title=f"{title}: {tail}" if tail and tail not in title else title,
        authors=authors,
        editors=names_of(get("editor", "")),
        year=int(date[:4]) if date else year_before_1(get("year") or get("date")),
        date=date,
        venue=_venue_of(get("journal") or get("journaltitle") or get("booktitle")),
        volume=_recurring(get("volume")),
        number=_recurring(get("number") or get("issue")),
        pages=_pages_of(get("pages", "")),
        publisher=_recurring(
            get("publisher") or get("institution") or get("school") or get("organization")
        ),
        doi=doi,
        arxiv=_arxiv_of(entry.fields, doi),
        url=_address_of(url) if url else None,
        abstract=latex_to_text(get("abstract", "")) or None,
        keywords=_keywords_of(get("keywords") or get("keyword") or ""),
        language=_recurring(get("language") or get("langid")),
        place=_recurring(get("address") or get("location")),
        edition=_recurring(get("edition")),
        isbn=_recurring(get("isbn") or get("issn")),
        bibtex=None if entry.broken else entry.text,
        crossref=_recurring(get("crossref")),
        keys=_keys_of(entry, by_key),
        line=entry.line,
    )


def _doi_in(entry: RawEntry, by_key: str | None) -> str | None:
    """The DOI: a publisher's export uses it as key, which is the more reliable of the two.

    But a key cannot hold all its signs: one that is the field's but for these is no other, and
    neither is one that was made for an id of ours.
    """
    get = entry.fields.get
    if by_key and (get("doi") or by_key).lower() == by_key:
        return by_key
    stated = _doi_of(get("doi"))
    if by_key and not (stated and ("citebed-id" in entry.fields or _alike(by_key, stated))):
        return by_key
    if not stated and "doi" in (get("eprinttype") or get("archiveprefix") or "").lower():
        stated = _doi_of(get("eprint"))
    addresses = (_address_of(raw) for name in _ADDRESSES if (raw := get(name)))
    return stated or next(filter(None, map(normalise_doi, addresses)), None)


def _alike(one: str, other: str) -> bool:
    return [*filter(str.isalnum, one)] == [*filter(str.isalnum, other)]


def _arxiv_of(fields: Mapping[str, str], doi: str | None) -> str | None:
    """The arXiv id: an ``eprint`` that is none of another archive's, or one named elsewhere."""
    get = fields.get
    archive = get("archiveprefix") or get("eprinttype") or "arxiv"
    eprint = get("eprint") if "arxiv" in archive.lower() else None
    named = map(get, ("url", "journal", "journaltitle", "volume", "note", "howpublished"))
    return arxiv_id(doi, *named, eprint=eprint)


def _keys_of(entry: RawEntry, doi: str | None) -> tuple[str, ...]:
    """The entry's key unless it is a DOI, and those that BibLaTeX's ``ids`` or a note states."""
    get = entry.fields.get
    also, notes = get("ids"), (get("note"), get("annote"))
    if doi and not also and not any(notes):
        return ()
    return cite_keys((fold(entry.key), *map(fold, (also or "").split(","))), notes=notes)


@functools.lru_cache(maxsize=1 << 16)
def _recurring(raw: str | None) -> str | None:
    """Clean text of a venue, publisher or volume, which recur thousands of times in a file."""
    return (latex_to_text(raw) or None) if raw else None


@functools.lru_cache(maxsize=1 << 14)
def _venue_of(raw: str | None) -> str | None:
    command = _COMMAND.fullmatch(raw) if raw else None
    return (ASTRONOMY.get(command[1]) if command else None) or _recurring(raw)


@functools.lru_cache(maxsize=1 << 14)
def _pages_of(raw: str) -> str | None:
    return page_range(latex_to_text(raw))


def _id_of(entry: RawEntry, authors: tuple[str, ...], date: str | None, title: str) -> str:
    stated = entry.fields.get("citebed-id")
    if key := latex_to_text(stated) if stated else fold(entry.key):
        return key
    return made_up_id(authors, (date or "")[:4], title) or f"line-{entry.line}"


@functools.lru_cache(maxsize=1 << 14)
def _date_of(
    date: str | None, year: str | None, month: str | None, issue: str | None, day: str | None
) -> str | None:
    if (whole := date_in(date)) is not None:
        return whole
    if (early := _EARLY_DATE.match(date or "")) is not None:
        return iso_date(*(int(part) if part else None for part in early.groups()))
    number = year_in(year)
    if number is None and (match := _EARLY_YEAR.fullmatch(year or "")) is not None:
        number = int(match[1]) if int(match[1]) < _EARLIEST else None
    if number is None:
        return date_in(issue)
    day = (day or "").strip()
    day_number = int(day) if day.isdecimal() and len(day) < 3 else None
    return iso_date(number, month_in(month) or month_in(issue), day_number)


def _doi_of(raw: str | None) -> str | None:
    return doi_of(_address_of(raw)) if raw else None


def _address_of(raw: str) -> str | None:
    """An address or a DOI: often written without LaTeX, where tildes and dashes are plain."""
    if "\\" in raw or "{" in raw:
        raw = raw.replace("~", r"\textasciitilde{}").replace("--", "-{}-")
        return latex_to_text(raw) or None
    if "&" in raw:
        raw = _ENTITY.sub(lambda m: entity_to_text(m[0]), raw)
    return fold(raw) or None


def _keywords_of(raw: str) -> tuple[str, ...]:
    if is_plain(raw):
        text = fold(raw)
        if ";" not in text and ",," not in text and text.count(",") == text.count(", "):
            return unique(text.split(", "))
        parts = text.split(";" if ";" in text else ",")
        return unique([part.strip() for part in parts])
    if "&" in raw and ";" in raw:
        raw = _ENTITY.sub(lambda m: text_to_latex(entity_to_text(m[0])), raw)
    parts = split_outside_braces(raw, _SEMICOLON)
    if len(parts) == 1:
        parts = split_outside_braces(raw, _COMMA)
    return unique(map(latex_to_text, parts))


# --- Writing --------------------------------------------------------------------------------

_PLAIN_FIELDS = (
    "volume", "number", "pages", "publisher", "doi", "url", "language", "crossref", "abstract",
)  # fmt: skip
_SAFE_KEY = re.compile(UNTYPABLE.replace("[", "[^", 1) + "+")


def entry_of(document: Document) -> str:
    """A BibTeX entry for the document, ready to paste: the original where there is one, made
    harmless."""
    entry = lone_entry(document.bibtex)
    if entry is None:
        return write_entry(document)
    stated = entry.fields.get("citebed-id")
    if (latex_to_text(stated) if stated else entry.key) == document.doc_id:
        return harmless_entry(entry.text)
    return harmless_entry(with_fields(entry.text, {}, key=document.doc_id))


def lone_entry(bibtex: str | None) -> RawEntry | None:
    """The entry that a text is, if it is one and nothing else."""
    items = list(scan(bibtex.strip(), 1, {})) if bibtex else []
    if len(items) != 1 or not isinstance(items[0], RawEntry) or items[0].broken:
        return None
    return items[0] if items[0].text == (bibtex or "").strip() else None


def write_entry(document: Document) -> str:
    """An entry written from the document's fields, which reads back as an equal document."""
    is_kind = re.fullmatch("[a-z_]+", document.type) and document.type not in NOT_RECORDS
    kind = document.type if is_kind else "misc"
    key, fields = _key_fields(document.doc_id, document.doi)
    year, month, day = (*(document.date or "").split("-"), "", "")[:3]
    year = year or str(document.year or "")
    keywords = map(text_to_latex, document.keywords)
    fields |= {
        "author": write_names(document.authors),
        "editor": write_names(document.editors),
        "title": text_to_latex(document.title),
        "journal" if kind == "article" else "booktitle": text_to_latex(document.venue or ""),
        "year": year,
        "month": _MONTHS[int(month) - 1] if month else "",
        "day": day,
        "keywords": ", ".join(f"{{{k}}}" if "," in k or ";" in k else k for k in keywords),
    }
    if document.arxiv:
        fields |= {"eprint": text_to_latex(document.arxiv), "archiveprefix": "arXiv"}
    for name, value in place_fields(document).items():
        fields[name] = text_to_latex(value or "")
    for name in _PLAIN_FIELDS:
        fields[name] = text_to_latex(getattr(document, name) or "")
    lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items() if value]
    return f"@{kind}{{{key},\n{''.join(lines)}}}"


def place_fields(document: Document) -> dict[str, str | None]:
    """Place, edition, and the ISBN, which is an ISSN if it has eight digits, by BibTeX's names."""
    number = document.isbn or ""
    name = "issn" if re.fullmatch(r"\W*\d{4}-?\d{3}[\dXx]\W*", number) else "isbn"
    return {"address": document.place, "edition": document.edition, name: document.isbn}


def _key_fields(doc_id: str, doi: str | None) -> tuple[str, dict[str, str]]:
    """A key for the document, and its id as a field where that cannot be the key.

    A key that is a DOI is read as the document's, so it is none unless it is the right one.
    """
    if normalise_doi(doc_id) in (None, doi) and _SAFE_KEY.fullmatch(doc_id):
        return doc_id, {}
    safe = "-".join(_SAFE_KEY.findall(doc_id)) or "x"
    key = safe if normalise_doi(safe) is None else safe.replace("/", "-")
    return key, {"citebed-id": text_to_latex(doc_id)}


def write_names(names: tuple[str, ...]) -> str:
    """An ``author`` field that reads back as these names."""
    return " and ".join(map(_write_name, names))


def _write_name(name: str) -> str:
    parts = name.split(", ")
    if len(parts) == 1:
        text = text_to_latex(name)
        plain = " " not in name and "\\" not in text and name.lower() not in ("others", "and")
        return text if plain else f"{{{text}}}"
    return ", ".join(
        f"{{{text_to_latex(part)}}}" if _WORD_AND.search(part) else text_to_latex(part)
        for part in parts
    )


def with_fields(bibtex: str, fields: Mapping[str, str], key: str | None = None) -> str:
    """The entry with raw fields put in front of its own and, if given, another key."""
    head = head_of(bibtex)
    if head is None:
        return bibtex
    name, extra = head.key, dict(fields)
    if key is not None:
        stated = fields_of(bibtex) | extra
        own, other = normalise_doi(head.key), _doi_of(stated.get("doi"))
        if own and own != other:
            extra["doi"] = text_to_latex(own)
        name, key_fields = _key_fields(key, own or other)
        if "citebed-id" in stated:
            key_fields = {"citebed-id": text_to_latex(key)}
        extra = key_fields | extra
    lines = "".join(f"\n  {field} = {{{value}}}," for field, value in extra.items() if value)
    return f"{head.opening}{name},{lines}{bibtex[head.end :]}"


def fields_of(bibtex: str) -> dict[str, str]:
    """The raw fields of one entry, or none if it is not one."""
    entry = next(scan(bibtex, 1, {}), None)
    return entry.fields if isinstance(entry, RawEntry) else {}


def document_in(bibtex: str) -> Document:
    """The document that one entry, known to be well-formed, describes."""
    entry = next(scan(bibtex, 1, {}), None)
    if not isinstance(entry, RawEntry):
        raise ValueError(f"not a BibTeX entry: {entry.what if entry else bibtex[:40]}")
    return document_of(entry)


def is_header(name: str, head: str) -> bool:
    """Whether a file may be BibTeX behind a long header: by its name, or a ``%`` that begins it."""
    return name.lower().endswith((".bib", ".bibtex")) or head.lstrip("\ufeff \t\r\n")[:1] == "%"


def sniff(head: str) -> bool:
    """Whether a file starts like BibTeX: an ``@word{`` at the start of a line, in a page or not."""
    head = head.lstrip("\ufeff \t\r\n")
    other = head[:1] in ("<", "[", "{", "") and _PAGE.match(head) is None
    return not other and _SNIFF.search(head) is not None


BIBTEX = Format("bibtex", "BibTeX and BibLaTeX", sniff, parse, cut, carry)
