"""The parts that Word and OpenDocument readers share: the archive, its XML, paragraphs, citations.

citebed reads the zip archive and the XML in it with limits. XML is read as a stream to save memory.
A document type is refused, because it may define entities and no word processor writes one. No
other files are opened.

Paragraphs are prose, headings, captions or references. The line of a position is the number of the
paragraph, and its column the character in it. All paragraphs with text count, also headings,
captions and table cells. A note has the position of its mark.

Reference managers store citations in field codes and names of marks: Zotero and Mendeley CSL-JSON,
EndNote its own XML, Word the tags of its sources, and JabRef keys. Paths and URLs in them are not
opened.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
import stat
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal
from xml.parsers import expat

from citebed.collection.formats.csl import parse_csl_item
from citebed.collection.formats.json_files import JsonObject
from citebed.collection.formats.xml import child, descendants, parse_xml, text_at
from citebed.collection.formats.xml_records import parse_endnote_record
from citebed.drafts.parsed_draft import (
    PLACE,
    Block,
    Origin,
    ParsedDraft,
    Raw,
    without_places,
)
from citebed.drafts.plain import parse_heading
from citebed.drafts.records import Entry, Place
from citebed.drafts.references import (
    Sections,
    ends_references,
    entry_from_document,
    is_references_heading,
)
from citebed.drafts.tex_commands import place_commands
from citebed.errors import CitebedError
from citebed.files.limits import (
    BOMB_RATIO,
    DecompressionBudget,
    LimitedStream,
    decompression_errors,
    effective_limit,
    format_size,
)
from citebed.records import Document
from citebed.text.identifiers import doi_of
from citebed.text.normalise import fold, unique

_MOST_MEMBERS = 20_000
_MEMBER_BYTES = 64 << 20
"""Limit for one part of a document: a book of a thousand pages needs a third of it."""
_MOST_ELEMENTS = 1_500_000
_ENTRY_MARK = b"PK\x01\x02"
_PROTECTED = 0x1
_PIECE = 1 << 16

Attributes = Mapping[str, str]


class Package:
    """The members of a document's archive; raises ``CitebedError`` if it cannot be read."""

    def __init__(self, data: bytes, name: str, kind: str) -> None:
        self.name = name
        if data.count(_ENTRY_MARK) > _MOST_MEMBERS:  # each takes memory before it is read
            raise self.error(f"{kind} with more than {_MOST_MEMBERS:,} members; not read")
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except _damage() as error:
            what = f"this is {kind}, but damaged or cut short ({error}); get it again"
            raise self.error(what) from error
        self._names = {info.filename: info for info in self._archive.infolist()}
        self._budget = DecompressionBudget(len(data))

    def error(self, what: str) -> CitebedError:
        """Return an error about this file."""
        return CitebedError(f"{self.name}: {what}")

    def names(self) -> list[str]:
        """Return the names of all members."""
        return list(self._names)

    def is_link(self, member: str) -> bool:
        """Return True if a member is a symbolic link, which Unix archives may contain."""
        return stat.S_ISLNK(self._names[member].external_attr >> 16)

    def read(self, member: str) -> bytes | None:
        """Return the contents of a member, or ``None`` if it does not exist."""
        info = self._names.get(member)
        if info is None:
            return None
        if info.flag_bits & _PROTECTED:
            raise self.error("it is protected by a password; save it without one")
        packed, most = max(info.compress_size, 1), effective_limit(_MEMBER_BYTES)
        try:
            with self._archive.open(info) as content:
                watched = LimitedStream(content, lambda: packed, self._budget)
                data = io.BufferedReader(watched, 1 << 20).read(most + 1)
        except _damage() as error:
            raise self.error(f"{member} in it cannot be read: {error}") from error
        if len(data) > max(_MEMBER_BYTES, 1) and len(data) > BOMB_RATIO * packed:
            raise self.error(f"{member} in it expands far too much, like a decompression bomb")
        if len(data) > most:
            raise self.error(
                f"{member} in it has more than {format_size(most)}; split the document"
            )
        return data


def _damage() -> tuple[type[Exception], ...]:
    return (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        struct.error,
        *decompression_errors(),
    )


# --- XML --------------------------------------------------------------------------------------

_PREFIXES = {
    "/wordprocessingml/main": "w", "/wordprocessingml/2006/main": "w",
    "/officeDocument/math": "m", "/officeDocument/2006/math": "m",
    "/markup-compatibility/2006": "mc",
    ":text:1.0": "text", ":style:1.0": "style", ":table:1.0": "table", ":office:1.0": "office",
    ":drawing:1.0": "draw", ":meta:1.0": "meta", "dc/elements/1.1/": "dc",
    ":svg-compatible:1.0": "svg", ":field:1.0": "field",
}  # fmt: skip
"""Prefixes of names, by the end of their namespace."""
_MOST_NAMES = 10_000


class _Refused(Exception):
    """XML that exceeds a limit, and the reason."""


def walk(
    package: Package,
    member: str,
    start: Callable[[str, Attributes], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], object] | None = None,
) -> None:
    """Call functions for all elements and texts of a member, if it exists, in document order.

    Names are ``prefix:local``, or ``local`` for unknown namespaces. Attributes have local names.
    """
    data = package.read(member)
    if data is None:
        return
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    short, left = lru_cache(_MOST_NAMES)(_short_name), _MOST_ELEMENTS

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _Refused(f"has more than {_MOST_ELEMENTS:,} elements; split the document")
        if attributes:
            attributes = {key.rpartition("}")[2]: value for key, value in attributes.items()}
        start(short(name), attributes)

    def refuse(*_: object) -> None:
        raise _Refused("has a document type, which no word processor writes; not read")

    parser.StartElementHandler = begin
    if end is not None:
        parser.EndElementHandler = lambda name: end(short(name))
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = refuse
    try:
        for at in range(0, len(data) + _PIECE, _PIECE):
            parser.Parse(data[at : at + _PIECE], at >= len(data))
    except _Refused as error:
        raise package.error(f"{member} in it {error}") from None
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise package.error(f"{member} in it is not valid XML ({error}); save it again") from error


def _short_name(name: str) -> str:
    space, _, local = name.rpartition("}")
    prefix = next((own for ending, own in _PREFIXES.items() if space.endswith(ending)), "")
    return f"{prefix}:{local}" if prefix else local


def bookmark_codes(package: Package, member: str, element: str) -> dict[str, str]:
    """Return the codes of citations at bookmarks, which Zotero stores as document properties.

    A code has several parts (``…_1``, ``…_2``); each is a property, an ``element`` with a name.
    """
    parts: dict[str, dict[int, list[str]]] = {}
    current = ""

    def start(name: str, attributes: Attributes) -> None:
        nonlocal current
        current = attributes.get("name", "") if name == element else current

    def end(name: str) -> None:
        nonlocal current
        current = "" if name == element else current

    def text(text: str) -> None:
        if part := _CODE_PART.fullmatch(current):
            parts.setdefault(part[1], {}).setdefault(int(part[2]), []).append(text)

    walk(package, member, start, end, text)
    return {
        mark: "".join(text for number in sorted(some) for text in some[number])
        for mark, some in parts.items()
    }


_CODE_PART = re.compile(r"(ZOTERO_BREF.*)_(\d{1,4})", re.DOTALL)


# --- Paragraphs -------------------------------------------------------------------------------

Kind = Literal["", "title", "author", "abstract", "heading", "caption", "item", "reference", "none"]
"""The kind of a paragraph by its style; ``none`` is for example a table of contents."""

_STARTS: tuple[tuple[str, Kind], ...] = (
    ("heading", "heading"), ("title", "title"), ("author", "author"), ("abstract", "abstract"),
    ("caption", "caption"), ("image caption", "caption"), ("table caption", "caption"),
    ("bibliography", "reference"), ("references", "reference"),
    ("endnote bibliography", "reference"),
    ("list", "item"), ("toc", "none"), ("contents", "none"), ("header", "none"),
    ("footer", "none"), ("index", "none"), ("table of figures", "none"),
)  # fmt: skip
_EXACT: dict[str, Kind] = {
    "illustration": "caption", "figure": "caption", "drawing": "caption", "table": "caption",
    "toc heading": "none", "list paragraph": "", "bibliography heading": "heading",
    "abstract title": "heading", "contents heading": "none", "index heading": "none",
}  # fmt: skip
_LOWEST = 9


class Styles:
    """Styles of paragraphs: by id their names, the styles they are based on, and their levels."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.bases: dict[str, str] = {}
        self.levels: dict[str, int] = {}

    def kind(self, style: str) -> tuple[Kind, int]:
        """Return the kind of paragraphs with a style, and the level of a heading."""
        for _ in range(_LONGEST_CHAIN):
            name = self.names.get(style, style)
            kind = _kind_of_name(name)
            if kind is None and style in self.levels:
                kind = "heading"
            if kind is not None:
                digits = name[-1:] if name[-1:].isdecimal() else ""
                return kind, self.levels.get(style, int(digits or "0"))
            style = self.bases.get(style, "")
            if not style:
                break
        return "", 0


_LONGEST_CHAIN = 10


def _kind_of_name(name: str) -> Kind | None:
    """Return the kind of paragraphs with a style, by its English name; ``None`` if unknown."""
    plain = name.lower().replace("_20_", " ").replace("_", " ").strip()
    if plain in _EXACT:
        return _EXACT[plain]
    return next((kind for start, kind in _STARTS if plain.startswith(start)), None)


@dataclass
class Paragraph:
    """A paragraph: its words with citation marks, and its displayed text."""

    words: list[str] = field(default_factory=list)
    displayed: list[str] = field(default_factory=list)
    kind: Kind = ""
    level: int = 0
    in_table: bool = False
    in_note: bool = False
    notes: list[Paragraph] = field(default_factory=list)

    def add(self, text: str, *, cited: bool = False) -> None:
        """Add text; ``cited`` text is displayed for a citation, and is not part of the words."""
        self.displayed.append(text)
        if not cited:
            self.words.append(text)

    @property
    def text(self) -> str:
        """Its words, with blanks for line breaks."""
        return "".join(self.words).replace("\n", " ").replace("\f", " ")

    @property
    def has_text(self) -> bool:
        """True if it contains more than citations."""
        return any(map(str.isalnum, PLACE.sub("", self.text)))


class Body:
    """Reads the paragraphs of a part; a format defines what its elements do.

    ``skipped`` elements are left out with all that they contain; ``blanks`` stand for characters.
    """

    def __init__(self, skipped: frozenset[str], blanks: Mapping[str, str]) -> None:
        self._skipped, self._blanks = skipped, blanks
        self._open: list[Paragraph] = []
        self._depth: Counter[str] = Counter()  # open elements by name
        self._within = ""  # the current element
        self._skipped_depth = 0
        self._starts: dict[str, Callable[[Attributes], None]] = {}
        self._ends: dict[str, Callable[[], None]] = {}

    def read(self, package: Package, member: str) -> None:
        """Read a part of the document, if it exists."""
        walk(package, member, self._start, self._end, self._text)

    def _start(self, name: str, attributes: Attributes) -> None:
        if name in self._skipped or self._skipped_depth:
            self._skipped_depth += 1
            return
        self._within = name
        self._depth[name] += 1
        if (begin := self._starts.get(name)) is not None:
            begin(attributes)
        elif name in self._blanks:
            self._add(self._blanks[name])

    def _end(self, name: str) -> None:
        if self._skipped_depth:
            self._skipped_depth -= 1
            return
        self._within = ""
        if (finish := self._ends.get(name)) is not None:
            finish()
        self._depth[name] -= 1

    def _text(self, text: str) -> None:
        if not self._skipped_depth:
            self._add(without_places(text))

    def _add(self, text: str) -> None:
        """Add text to the open paragraph."""
        if self._open:
            self._open[-1].add(text, cited=self._in_citation())

    def _in_citation(self) -> bool:
        """Return True inside text that is displayed for a citation."""
        raise NotImplementedError

    def _put(self, mark: str) -> None:
        """Put the mark of a citation into the open paragraph."""
        if self._open:
            self._open[-1].words.append(mark)

    def _put_note(self, note: Paragraph | None) -> None:
        """Put a note after its paragraph, or a note with citations only in its own place."""
        if note is None or not self._open:
            return
        if note.has_text:
            self._open[-1].notes.append(note)
        else:
            self._open[-1].words.append(note.text)


class Outline:
    """Adds paragraphs to a draft, in order."""

    def __init__(self, parsed: ParsedDraft) -> None:
        self._parsed = parsed
        self._sections = Sections(parsed)
        self._number = 0
        self._items = 0

    def take(self, paragraph: Paragraph) -> None:
        """Add the next paragraph."""
        displayed = "".join(paragraph.displayed).replace("\n", " ")
        if not displayed.strip() and not paragraph.text.strip():
            return
        self._number += 1
        text = place_commands(paragraph.text, self._parsed)
        plain = fold(PLACE.sub("", text))
        if paragraph.kind == "none":
            return
        if not paragraph.in_table and self._is_structure(paragraph, plain):
            return
        if not paragraph.in_table:  # citations in a table count, but its words are not prose
            kind = paragraph.kind if paragraph.kind in ("caption", "item") else ""
            self._block(text, displayed, "Abstract" if paragraph.kind == "abstract" else "", kind)
        for note in paragraph.notes:
            self._block(note.text, "".join(note.displayed).replace("\n", " "))

    def _block(self, text: str, displayed: str, section: str = "", kind: str = "") -> None:
        raw = Raw(displayed, [Origin(0, Place("", self._number))])
        self._parsed.blocks.append(Block(text, raw, section or self._sections.current, kind))

    def _is_structure(self, paragraph: Paragraph, plain: str) -> bool:
        """Add a title, a heading or a reference entry; return False for prose."""
        parsed, sections = self._parsed, self._sections
        if paragraph.kind == "title":
            parsed.title = fold(f"{parsed.title} {plain}")
            return True
        if paragraph.kind == "author":
            parsed.authors = unique([*parsed.authors, plain])
            return True
        level = (paragraph.level or _LOWEST) if paragraph.kind == "heading" else 0
        if not level and (is_references_heading(plain) or self._is_unstyled_heading(plain)):
            level = _LOWEST
        if level and plain:
            sections.begin(level, plain)
            return True
        if paragraph.kind == "reference" or sections.in_references:
            # The item number is not part of the text.
            self._items += paragraph.kind == "item"
            label = f"[{self._items}] " if paragraph.kind == "item" else ""
            place = Place("", self._number)
            sections.references += [(f"{label}{plain}", place), ("", place)]
            return True
        return False

    def _is_unstyled_heading(self, plain: str) -> bool:
        """Return True for a heading that does not have a heading style."""
        in_references = self._sections.in_references
        return bool(parse_heading(plain)) and (not in_references or ends_references(plain))

    def end(self) -> None:
        """Store the references and the title at the end of the text."""
        self._sections.store_references()
        self._sections.take_title(least=2)


# --- Citations --------------------------------------------------------------------------------

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

    def _names(self, code: str) -> list[str]:
        if match := _CSL.search(code):
            return self._read_csl(_json_at(code, match.end()))
        if code.startswith(_MENDELEY_TAG):
            value = _TAG_VALUE.match(code)
            return self._read_csl(_json_at(_decoded(value[1]), 0)) if value else []
        if (at := code.find(_ENDNOTE)) >= 0:
            root, _ = parse_xml(code[at:].encode("utf-8", "replace"))
            names = []
            for cite in descendants(root, "Cite"):
                record = child(cite, "record")
                document = parse_endnote_record(record, 1) if record is not None else None
                if isinstance(document, Document):
                    number = text_at(cite, "RecNum")
                    names.append(self._add_entry(document, f"EndNote {number}" if number else ""))
            return [name for name in names if name]
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
