"""Read citations that reference managers store in field codes and names of marks.

Zotero and Mendeley store CSL-JSON, EndNote its own XML, Word the tags of its sources, and JabRef
keys. Paths and URLs in them are not opened.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from citebed.collection.formats.csl import parse_csl_item
from citebed.collection.formats.json_files import JsonObject
from citebed.collection.formats.xml import child, descendants, parse_xml, text_at
from citebed.collection.formats.xml_records import parse_endnote_record
from citebed.drafts.parsed_draft import ParsedDraft
from citebed.drafts.records import Entry
from citebed.drafts.references import entry_from_document
from citebed.records import Document
from citebed.text.identifiers import doi_of
from citebed.text.normalise import fold, unique

_CSL = re.compile(r"\bCSL_CITATION\s*(?=\{)")
_ENDNOTE = "<EndNote>"
_WORD = re.compile(r"\s*CITATION\s+(.*)", re.DOTALL | re.IGNORECASE)
_SWITCH = re.compile(r"\\(\w)\s*(\"[^\"]*\"|[^\s\\]+)?")
_JABREF = re.compile(r"JABREF_(\S+) CID_\d+")
_MENDELEY_TAG = "MENDELEY_CITATION_"
_TAG_VALUE = re.compile(r"MENDELEY_CITATION_v\d+_([A-Za-z0-9+/=_-]+)")
_BIBLIOGRAPHY = re.compile(
    r"\s*(?:ADDIN\s+)?(?:ZOTERO_BIBL\b|EN\.REFLIST\b|Mendeley Bibliography\b|BIBLIOGRAPHY\b"
    r"|MENDELEY_BIBLIOGRAPHY\b|JR_bib\b|.{0,2000}\bCSL_BIBLIOGRAPHY\b)",
    re.DOTALL,
)
_CONTENTS = re.compile(r"\s*(?:TOC|INDEX|TOA)\b", re.IGNORECASE)
_LONGEST_KEY = 120


def is_bibliography(code: str) -> bool:
    """Return True if a field with this code contains the reference list."""
    return _BIBLIOGRAPHY.match(code) is not None


def is_contents(code: str) -> bool:
    """Return True if a field with this code contains a table of contents or an index."""
    return _CONTENTS.match(code) is not None


class Citations:
    """Reads the fields of one document, and stores an entry for each work that they describe."""

    def __init__(self, parsed: ParsedDraft, sources: dict[str, Entry] | None = None) -> None:
        self._parsed = parsed
        self._sources = sources or {}
        self._known: set[str] = set()

    def place(self, code: str, data: str = "") -> str:
        """Return the mark for the citation in a field's code or data, or "" for other fields."""
        names = unique([*self._names(code), *(self._names(_decoded(data)) if data else ())])
        return self._parsed.cite(names) if names else ""

    def cite_url(self, url: str) -> str:
        """Return the mark for the citation in a URL of a DOI or of arXiv, or ""."""
        return self._parsed.cite_url(url)

    def _names(self, code: str) -> list[str]:
        if match := _CSL.search(code):
            return self._read_csl(_json_at(code, match.end()))
        if code.startswith(_MENDELEY_TAG):
            value = _TAG_VALUE.match(code)
            return self._read_csl(_json_at(_decoded(value[1]), 0)) if value else []
        if (at := code.find(_ENDNOTE)) >= 0:
            return self._read_endnote(code[at:])
        if match := _WORD.match(code):
            return [self._add_source(tag) for tag in _tags(match[1])]
        return _JABREF.findall(code)

    def _read_csl(self, value: Any) -> list[str]:
        names = []
        for item in JsonObject(1, value if isinstance(value, dict) else {}).objects(
            "citationItems"
        ):
            data = item.object("itemData")
            described = {"id": "unknown", **data.values}
            document = parse_csl_item(JsonObject(1, described))
            if isinstance(document, Document):
                names.append(self._add_entry(document, _csl_key(item, data)))
        return [name for name in names if name]

    def _read_endnote(self, xml: str) -> list[str]:
        root, _ = parse_xml(xml.encode("utf-8", "replace"))
        names = []
        for cite in descendants(root, "Cite"):
            record = child(cite, "record")
            document = parse_endnote_record(record, 1) if record is not None else None
            if isinstance(document, Document):
                number = text_at(cite, "RecNum")
                names.append(self._add_entry(document, f"EndNote {number}" if number else ""))
        return [name for name in names if name]

    def _add_entry(self, document: Document, key: str) -> str:
        """Store the entry of a work, and return its DOI, arXiv id or key."""
        arxiv = f"arXiv:{document.arxiv}" if document.arxiv else ""
        key = key or fold(document.title)[:_LONGEST_KEY]
        if key and key not in self._known and (document.title or document.doi):
            self._known.add(key)
            self._parsed.entries.append(entry_from_document(key, document))
        return document.doi or arxiv or (key if document.title else "")

    def _add_source(self, tag: str) -> str:
        entry = self._sources.get(tag)
        if entry is not None and tag not in self._known:
            self._known.add(tag)
            self._parsed.entries.append(entry)
        return (entry.doi if entry else None) or tag


def _csl_key(item: JsonObject, data: JsonObject) -> str:
    """Return the cite key of an item, or the last part of its URI in the library.

    Its id is not unique: ``ITEM-1`` is the first item of every citation.
    """
    if key := data.text("citation-key", "citationKey"):
        return key[:_LONGEST_KEY]
    addresses = [*item.texts("uris"), *item.texts("uri")]
    return re.split(r"[/=]", addresses[0])[-1][:_LONGEST_KEY] if addresses else ""


def _json_at(text: str, at: int) -> Any:
    """Return the JSON value at an offset of a text, or ``None``."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, at)[0]
    except (ValueError, RecursionError):
        return None


def _decoded(text: str) -> str:
    """Decode base64 text; return "" if it is invalid."""
    joined = "".join(text.split()).rstrip("=")
    try:
        data = base64.b64decode(joined + "=" * (-len(joined) % 4), altchars=None)
    except (binascii.Error, ValueError):
        return ""
    wide = data[1:2] == b"\0"
    return data.decode("utf-16-le" if wide else "utf-8", "replace").replace("\0", "")


def _tags(code: str) -> Iterator[str]:
    """Yield the tags in one of Word's ``CITATION`` fields: ``Lee19 \\l 1033 \\m Ray20``."""
    first = code.split("\\", 1)[0].split()
    yield from (tag.strip('"') for tag in first[:1])
    for switch in _SWITCH.finditer(code):
        if switch[1] == "m" and switch[2]:
            yield switch[2].strip('"')


def word_sources(parts: Sequence[bytes]) -> dict[str, Entry]:
    """Return the sources that Word stores in a document's custom XML, by tag."""
    entries: dict[str, Entry] = {}
    for data in parts:
        root, _ = parse_xml(data)
        for source in descendants(root, "Source"):
            tag, title = text_at(source, "Tag"), text_at(source, "Title")
            if tag and title:
                people = tuple(_people(source))
                year = text_at(source, "Year")
                document = Document(
                    doc_id=tag, title=title, authors=people,
                    year=int(year) if re.fullmatch(r"[12]\d{3}", year) else None,
                    doi=doi_of(text_at(source, "DOI")),
                )  # fmt: skip
                entries[tag] = entry_from_document(tag, document)
    return entries


def _people(source: Any) -> Iterator[str]:
    for person in descendants(source, "Person"):
        family, given = text_at(person, "Last"), text_at(person, "First")
        yield f"{family}, {given}" if given else family
