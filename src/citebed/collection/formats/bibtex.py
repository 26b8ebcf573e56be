"""BibTeX and BibLaTeX, in and out."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from citebed.collection.formats.base import Chunk, Format, read_text, with_newlines
from citebed.collection.formats.bibtex_scan import RawEntry, carry, cut, head_of, scan
from citebed.collection.formats.fields import arxiv_id, cite_keys, made_up_id, page_range
from citebed.patterns import compiled
from citebed.records import Document, Problem, Record
from citebed.text.identifiers import normalise_doi
from citebed.text.latex import is_plain, latex_to_text, text_to_latex
from citebed.text.names import canonical_name
from citebed.text.normalise import (
    ENTITY_PATTERN,
    date_in,
    entity_to_text,
    fold,
    iso_date,
    month_in,
    unique,
    year_in,
)

_SNIFF = re.compile(
    r"^[ \t]*@[ \t]*(?:(?:string|preamble|comment)[ \t]*[{(]"
    r"|[a-z]+\s*\{\s*[^\s{}=,\"]*\s*,"
    r"|[a-z]+\s*\(\s*[^\s(){}=,\"]*\s*,\s*[a-z][\w-]*\s*=\s*[{\"\w])",
    re.MULTILINE | re.IGNORECASE,
)
_BARE_WORD = compiled(r"[=#]\s*+([A-Za-z][^\s,{}\"#%()=']*+)")
_ENTITY = re.compile(rf"(?<!\\){ENTITY_PATTERN}")
_SEMICOLON, _COMMA = re.compile("[{};]"), re.compile("[{},]")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def parse(chunk: Chunk) -> Iterator[Record]:
    """The documents of a piece of BibTeX, and what had to be skipped or mended."""
    text, problems = read_text(chunk)
    yield from problems
    macros = dict(chunk.macros)
    for entry in scan(with_newlines(text), chunk.line, macros):
        if isinstance(entry, Problem):
            yield entry
            continue
        document = document_of(entry)
        words = _BARE_WORD.findall(entry.text) if macros and document.bibtex else ()
        if any(word.lower() in macros for word in words):
            document = document._replace(bibtex=_rebuilt(entry))
        if entry.broken:
            what = f"entry '{entry.key}' does not close; kept the fields that could be read"
            yield Problem(entry.line, what, "mended")
        elif not entry.key or not (entry.key.isprintable() or fold(entry.key)):
            what = f"an entry without a key; named '{document.doc_id}'"
            yield Problem(entry.line, what, "mended")
        yield document


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
    # A publisher's export uses the DOI as key, and that is the more reliable of the two.
    by_key = normalise_doi(entry.key)
    doi = by_key or _doi_of(get("doi")) or _doi_of(url)
    return Document(
        doc_id=_id_of(entry, authors, date, title),
        type="inproceedings" if entry.type == "conference" else entry.type,
        title=f"{title}: {tail}" if tail and tail not in title else title,
        authors=authors,
        editors=names_of(get("editor", "")),
        year=int(date[:4]) if date else None,
        date=date,
        venue=_recurring(get("journal") or get("journaltitle") or get("booktitle")),
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
        bibtex=None if entry.broken else entry.text,
        crossref=_recurring(get("crossref")),
        keys=_keys_of(entry, by_key),
        line=entry.line,
    )


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
def _pages_of(raw: str) -> str | None:
    return page_range(latex_to_text(raw))


def _id_of(entry: RawEntry, authors: tuple[str, ...], date: str | None, title: str) -> str:
    given = entry.fields.get("citebed-id")
    if key := latex_to_text(given) if given else fold(entry.key):
        return key
    return made_up_id(authors, (date or "")[:4], title) or f"line-{entry.line}"


@functools.lru_cache(maxsize=1 << 14)
def _date_of(
    date: str | None, year: str | None, month: str | None, issue: str | None, day: str | None
) -> str | None:
    if (whole := date_in(date)) is not None:
        return whole
    number = year_in(year)
    if number is None:
        return date_in(issue)
    day = (day or "").strip()
    day_number = int(day) if day.isdecimal() and len(day) < 3 else None
    return iso_date(number, month_in(month) or month_in(issue), day_number)


def _doi_of(raw: str | None) -> str | None:
    return normalise_doi(_address_of(raw)) if raw else None


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
    parts = _split_outside_braces(raw, _SEMICOLON)
    if len(parts) == 1:
        parts = _split_outside_braces(raw, _COMMA)
    return unique(map(latex_to_text, parts))


# --- Names: lists joined with ``and``, in three forms, with braces that protect ---------------

_AND = compiled(r"[{}]|(?<!\s)\s++and(?=\s)", re.IGNORECASE)
_BLANKS = re.compile(r"[{}]|(?<![\\\s~])[\s~]+")
_WORD_AND = re.compile(r"(?:^|\s)and(?:\s|$)", re.IGNORECASE)
_WRAPPED = re.compile(r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
# ``Family, Given and Family, Given`` in plain letters: most author fields are just that.
_WORD = r"(?![Aa][Nn][Dd][ ,])[A-Za-z.'-]++"
_NAME = rf"{_WORD}(?: {_WORD})*+, {_WORD}(?: {_WORD})*+"
_REGULAR = compiled(rf"{_NAME}(?: and {_NAME})*+")
_ONE_REGULAR = compiled(_NAME)
_OTHERS = frozenset(("others", "et al", "et al."))


def names_of(raw: str) -> tuple[str, ...]:
    """The names of an ``author`` field as ``Family, Given``; ``and others`` is left out."""
    if not raw:
        return ()
    if _REGULAR.fullmatch(raw) and "--" not in raw and "''" not in raw:
        return tuple(dict.fromkeys(raw.split(" and ")))
    parts = (part.strip() for part in _split_outside_braces(raw, _AND))
    return unique(
        part if _ONE_REGULAR.fullmatch(part) and is_plain(part) else _name_of(part)
        for part in parts
        if part not in _OTHERS
    )


def _split_outside_braces(raw: str, pattern: re.Pattern[str]) -> list[str]:
    """What stands between the places that a pattern finds, which must find braces too."""
    parts, depth, start = [], 0, 0
    for match in pattern.finditer(raw):
        if match[0] in "{}":
            depth += 1 if match[0] == "{" else -1
        elif depth <= 0:
            parts.append(raw[start : match.start()])
            start = match.end()
    return [*parts, raw[start:]]


# Authors publish more than once, and the names that come here are those with accents.
@functools.lru_cache(maxsize=1 << 15)
def _name_of(raw: str) -> str:
    raw = raw.strip()
    if raw.startswith("{") and (whole := _WRAPPED.fullmatch(raw)):
        inner = whole[1]
        if not (inner.startswith("\\") and len(inner) < 6):  # ``{\\'E}`` is a letter, not a name
            return canonical_name(latex_to_text(inner))
    if "{" in raw:
        parts = [latex_to_text(part) for part in _split_outside_braces(raw, _COMMA)]
        return canonical_name(",".join(parts)) if len(parts) > 1 else _inverted(raw)
    if "," in raw:
        return canonical_name(latex_to_text(raw))
    return _inverted(raw)


def _inverted(raw: str) -> str:
    """``Family, Given`` from ``Given von Family``, by BibTeX's rule for the ``von`` part."""
    braced = "{" in raw
    parts = _split_outside_braces(raw, _BLANKS) if braced else raw.replace("~", " ").split()
    words = [*filter(None, map(latex_to_text, parts))]
    if len(words) < 2:
        return canonical_name("".join(words))
    small = [index for index, word in enumerate(words[:-1]) if word[0].islower()]
    cut = small[0] if small else len(words) - 1
    return canonical_name(f"{' '.join(words[cut:])}, {' '.join(words[:cut])}")


# --- Writing --------------------------------------------------------------------------------

_PLAIN_FIELDS = (
    "volume", "number", "pages", "publisher", "doi", "url", "language", "crossref", "abstract",
)  # fmt: skip
_SAFE_KEY = re.compile(r"[^\s,{}\"#%~\\=()@']+")


def entry_of(document: Document) -> str:
    """A BibTeX entry for the document, ready to paste: the original where there is one."""
    if document.bibtex is None:
        return write_entry(document)
    head, bibtex = head_of(document.bibtex), document.bibtex
    given = fields_of(bibtex).get("citebed-id") if "citebed-id" in bibtex else None
    if head is None or (latex_to_text(given) if given else head.key) == document.doc_id:
        return bibtex
    return with_fields(bibtex, {}, key=document.doc_id)


def write_entry(document: Document) -> str:
    """An entry written from the document's fields, which reads back as an equal document."""
    kind = document.type if re.fullmatch("[a-z]+", document.type) else "misc"
    key, fields = _key_fields(document.doc_id, document.doi)
    date = document.date or (str(document.year) if document.year else "")
    year, month, day = (*date.split("-"), "", "")[:3]
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
    for name in _PLAIN_FIELDS:
        fields[name] = text_to_latex(getattr(document, name) or "")
    lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items() if value]
    return f"@{kind}{{{key},\n{''.join(lines)}}}"


def _key_fields(doc_id: str, doi: str | None) -> tuple[str, dict[str, str]]:
    """A key for the document, and its id as a field where that cannot be the key.

    A key that is a DOI is read as the document's, so it is none unless it is the right one.
    """
    is_right = normalise_doi(doc_id) in (None, doi)
    if is_right and _SAFE_KEY.fullmatch(doc_id):
        return doc_id, {}
    safe = "-".join(_SAFE_KEY.findall(doc_id)) or "x"
    return safe if is_right else safe.replace("/", "-"), {"citebed-id": text_to_latex(doc_id)}


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


def sniff(head: str) -> bool:
    """Whether a file starts like BibTeX: an ``@word{`` at the start of a line."""
    head = head.lstrip("\ufeff \t\r\n")
    return head[:1] not in ("<", "[", "{", "") and _SNIFF.search(head) is not None


BIBTEX = Format("bibtex", "BibTeX and BibLaTeX", sniff, parse, cut, carry)
