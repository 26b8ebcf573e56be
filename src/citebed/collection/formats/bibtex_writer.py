"""Writing BibTeX: entries from documents, fields added to entries, entries that LaTeX runs safely.

LaTeX runs what a bibliography contains: ``\\input`` reads a file, ``\\write18`` starts a program. A
bibliography may come from a stranger, so commands that bibliographies do not use are written as
text: LaTeX prints their names. An entry stays one entry, whatever a forged record contains: no
``@preamble`` comes with it, and no control characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from citebed.collection.formats.bibtex import (
    ASTRONOMY_JOURNALS,
    MONTH_NAMES,
    entry_to_document,
    parse_doi_field,
)
from citebed.collection.formats.bibtex_scanner import NOT_RECORDS, RawEntry, parse_head, scan
from citebed.collection.names import INVALID_IN_KEY
from citebed.records import Document
from citebed.text.identifiers import normalise_doi
from citebed.text.latex import (
    ACCENTS,
    BIBLIOGRAPHIES,
    LETTERS,
    MATHS_ACCENTS,
    NOTHING,
    OPERATORS,
    SYMBOLS,
    text_to_latex,
)
from citebed.wording import list_first

# --- Single entries -------------------------------------------------------------------------


def parse_single_entry(bibtex: str | None) -> RawEntry | None:
    """Return the entry if a text is one complete entry and nothing else."""
    items = list(scan(bibtex.strip(), 1, {})) if bibtex else []
    if len(items) != 1 or not isinstance(items[0], RawEntry) or items[0].is_truncated:
        return None
    return items[0] if items[0].text == (bibtex or "").strip() else None


def parse_fields(bibtex: str) -> dict[str, str]:
    """Return the raw fields of one entry; none if the text is not an entry."""
    entry = next(scan(bibtex, 1, {}), None)
    return entry.fields if isinstance(entry, RawEntry) else {}


def parse_document(bibtex: str) -> Document:
    """Return the document of one well-formed entry."""
    entry = next(scan(bibtex, 1, {}), None)
    if not isinstance(entry, RawEntry):
        raise ValueError(f"not a BibTeX entry: {entry.what if entry else bibtex[:40]}")
    return entry_to_document(entry)


# --- Writing --------------------------------------------------------------------------------

_PLAIN_FIELDS = (
    "volume", "number", "pages", "publisher", "doi", "url", "language", "crossref", "abstract",
)  # fmt: skip
_SAFE_KEY = re.compile(INVALID_IN_KEY.replace("[", "[^", 1) + "+")
_WORD_AND = re.compile(r"(?:^|\s)and(?:\s|$)", re.IGNORECASE)


def write_entry(document: Document) -> str:
    """Write an entry from the fields of a document; it reads back as an equal document."""
    is_type = re.fullmatch("[a-z_]+", document.type) and document.type not in NOT_RECORDS
    kind = document.type if is_type else "misc"
    key, fields = _make_key(document.doc_id, document.doi)
    year, month, day = (*(document.date or "").split("-"), "", "")[:3]
    year = year or str(document.year or "")
    keywords = map(text_to_latex, document.keywords)
    fields |= {
        "author": format_names(document.authors),
        "editor": format_names(document.editors),
        "title": text_to_latex(document.title),
        "journal" if kind == "article" else "booktitle": text_to_latex(document.venue or ""),
        "year": year,
        "month": MONTH_NAMES[int(month) - 1] if month else "",
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
    """Return place, edition, and ISBN (an ISSN if it has eight digits) by their BibTeX names."""
    number = document.isbn or ""
    name = "issn" if re.fullmatch(r"\W*\d{4}-?\d{3}[\dXx]\W*", number) else "isbn"
    return {"address": document.place, "edition": document.edition, name: document.isbn}


def _make_key(doc_id: str, doi: str | None) -> tuple[str, dict[str, str]]:
    """Return a key for a document, and a field with its id if the id cannot be the key.

    citebed reads a key that is a DOI as the DOI of the document, so the key must not be another.
    """
    if normalise_doi(doc_id) in (None, doi) and _SAFE_KEY.fullmatch(doc_id):
        return doc_id, {}
    safe = "-".join(_SAFE_KEY.findall(doc_id)) or "x"
    key = safe if normalise_doi(safe) is None else safe.replace("/", "-")
    return key, {"citebed-id": text_to_latex(doc_id)}


def format_names(names: tuple[str, ...]) -> str:
    """Write an ``author`` field that reads back as these names."""
    written = []
    for name in names:
        parts = name.split(", ")
        texts = [text_to_latex(part) for part in parts]
        if len(parts) > 1:
            braced = (
                f"{{{text}}}" if _WORD_AND.search(part) else text
                for part, text in zip(parts, texts, strict=True)
            )
            written.append(", ".join(braced))
        else:
            is_word = " " not in name and "\\" not in texts[0]
            is_plain = is_word and name.lower() not in ("others", "and")
            written.append(texts[0] if is_plain else f"{{{texts[0]}}}")
    return " and ".join(written)


def insert_fields(bibtex: str, fields: Mapping[str, str], key: str | None = None) -> str:
    """Insert raw fields before an entry's own and, if given, replace its key."""
    head = parse_head(bibtex)
    if head is None:
        return bibtex
    name, extra = head.key, dict(fields)
    if key is not None:
        stated = parse_fields(bibtex) | extra
        own, other = normalise_doi(head.key), parse_doi_field(stated.get("doi"))
        if own and own != other:
            extra["doi"] = text_to_latex(own)
        name, key_fields = _make_key(key, own or other)
        if "citebed-id" in stated:
            key_fields = {"citebed-id": text_to_latex(key)}
        extra = key_fields | extra
    lines = "".join(f"\n  {field} = {{{value}}}," for field, value in extra.items() if value)
    return f"{head.opening}{name},{lines}{bibtex[head.end :]}"


# --- Commands -------------------------------------------------------------------------------

COMMANDS = frozenset(
    (
        *ACCENTS,
        *MATHS_ACCENTS,
        *LETTERS,
        *SYMBOLS,
        *NOTHING,
        *OPERATORS,
        *BIBLIOGRAPHIES,
        *ASTRONOMY_JOURNALS,
    )
)
"""The LaTeX commands that an entry may contain, without backslash."""

CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]"
"""The control characters that an entry must not contain, as a pattern."""
_CONTROLS = re.compile(CONTROLS)
_COMMAND = re.compile(r"\\([A-Za-z]+)|\\.|\^\^", re.DOTALL)
_CARETS = r"\textasciicircum{}\textasciicircum{}"  # ``^^5c`` is a backslash to TeX


def _is_unknown(command: re.Match[str]) -> bool:
    return command[1] is not None and command[1] not in COMMANDS


def escape_commands(entry: str) -> str:
    """Return an entry in which unknown commands are text, and without control characters."""

    def escape(command: re.Match[str]) -> str:
        if command[0] == "^^":
            return _CARETS
        return rf"\textbackslash{{}}{command[1]}" if _is_unknown(command) else command[0]

    return _COMMAND.sub(escape, _CONTROLS.sub("", entry.replace("\r\n", "\n")))


def unknown_commands(entry: str) -> tuple[str, ...]:
    """Return what `escape_commands` writes as text: commands with their backslash, and ``^^``."""
    matches = _COMMAND.finditer(entry)
    return tuple(dict.fromkeys(m[0] for m in matches if m[0] == "^^" or _is_unknown(m)))


def describe_unknown_commands(commands: Iterable[str]) -> str:
    """Return the note about commands that were written as text."""
    names = list_first(list(dict.fromkeys(commands)))
    return f"unknown LaTeX commands were kept as plain text: {names}"
