"""Placeholders in Word and OpenDocument files, and citations in their place.

A citation is what Zotero's plugin writes: a field (Word) or a reference mark (LibreOffice) with the
record as CSL-JSON. Zotero takes it over when the user refreshes the document. Only the bytes of the
placeholder change: the XML is edited at byte offsets, never written anew.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from citebed.collection.exporting.bibliographies import format_csl
from citebed.drafts.office import Package
from citebed.errors import CitebedError
from citebed.files.file_kinds import OPEN_DOCUMENT, WORD, detect_office_kind
from citebed.records import Document
from citebed.text.names import family_name
from citebed.writing.gaps import Span, Style

_WORD_PARTS = re.compile(r"word/(?:document\d*|footnotes|endnotes)\.xml")
_SCHEMA = "https://github.com/citation-style-language/schema/raw/master/csl-citation.json"
_MARK_STYLE = Style("\\cite{", after="}")
_HIDDEN = frozenset(
    """
    del moveFrom hyperlink fldSimple instrText Fallback oMath tracked-changes annotation
    note-citation bibliography-mark table-of-content a
    """.split()  # noqa: SIM905
)
"""Elements, by local name, in which a placeholder cannot be replaced by a citation."""
_BREAK = "\n"


class _Char(NamedTuple):
    """A character of a paragraph: its bytes in the part, and the run and text element it is in."""

    text: str
    start: int
    end: int
    run: int
    tag: tuple[int, int]


@dataclass
class _Part:
    """Walks over one XML part, and yields the characters of each paragraph."""

    package: Package
    member: str
    data: bytes
    paragraphs: list[list[_Char]] = field(default_factory=list)
    properties: dict[int, bytes] = field(default_factory=dict)

    def read(self) -> None:  # noqa: PLR0915 - handlers that share the parser's state
        """Read the part; raise ``CitebedError`` if it is not valid."""
        parser = expat.ParserCreate()
        parser.buffer_text = False
        open_names: list[str] = []
        open_paragraphs: list[list[_Char]] = []
        runs, tag, fields, start_of_properties = [0], (0, 0), 0, 0
        hidden = 0

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal tag, fields, hidden, start_of_properties
            local, at = name.rpartition(":")[2], parser.CurrentByteIndex
            open_names.append(local)
            hidden += local in _HIDDEN
            if local in ("p", "h"):
                open_paragraphs.append([])
            elif local == "r":
                runs.append(at)
            elif local == "rPr" and open_names[-2:-1] == ["r"]:
                start_of_properties = at
            elif local == "t":
                tag = (at, self.data.index(b">", at))
            elif local in ("fldChar", "reference-mark-start", "reference-mark-end"):
                kind = next((v for k, v in attributes.items() if k.endswith("fldCharType")), local)
                fields = max(0, fields + {"begin": 1, "end": -1}.get(kind.rpartition("-")[2], 0))
                fields += local == "reference-mark-start"
            elif open_paragraphs and local in ("tab", "br", "s", "line-break", "note"):
                open_paragraphs[-1].append(_Char(_BREAK, at, at, 0, (0, 0)))

        def end(_: str) -> None:
            nonlocal hidden
            local = open_names.pop()
            hidden -= local in _HIDDEN
            if local in ("p", "h") and open_paragraphs:
                self.paragraphs.append(open_paragraphs.pop())
            elif local == "r" and len(runs) > 1:
                runs.pop()
            elif local == "rPr" and open_names[-1:] == ["r"]:
                stop = self.data.index(b">", parser.CurrentByteIndex) + 1
                self.properties[runs[-1]] = self.data[start_of_properties:stop]

        def text(content: str) -> None:
            if not open_paragraphs:
                return
            at, is_word = parser.CurrentByteIndex, bool(_WORD_PARTS.fullmatch(self.member))
            usable = not hidden and not fields and (open_names[-1:] == ["t"] or not is_word)
            if self.data[at : at + 1] in (b"&", b"\r") or not usable:
                stop = self.data.index(b";", at) + 1 if self.data[at : at + 1] == b"&" else at + 1
                shown = content if usable else _BREAK
                open_paragraphs[-1].append(_Char(shown, at, stop, runs[-1], tag))
                return
            for character in content:
                stop = at + len(character.encode())
                open_paragraphs[-1].append(_Char(character, at, stop, runs[-1], tag))
                at = stop

        def refuse(*_: object) -> None:
            raise self.package.error(f"{self.member} in it has a document type; not read")

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, refuse
        try:
            self.data.decode()
            parser.Parse(self.data, True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            what = f"{self.member} in it is not valid XML ({error}); save it again"
            raise self.package.error(what) from error


def _parts(data: bytes, name: str) -> Iterator[_Part]:
    package = _package(data, name)
    for member in package.names():
        if _WORD_PARTS.fullmatch(member) or member == "content.xml":
            part = _Part(package, member, package.read(member) or b"")
            part.read()
            yield part


def _package(data: bytes, name: str) -> Package:
    is_odt = detect_office_kind(data) == OPEN_DOCUMENT or name.lower().endswith(".odt")
    return Package(data, name, OPEN_DOCUMENT if is_odt else WORD)


def find_office_spans(data: bytes, name: str, pattern: re.Pattern[str]) -> list[Span]:
    """Return the placeholders in the text of a document."""
    spans = []
    for part in _parts(data, name):
        for paragraph in part.paragraphs:
            text = "".join(each.text for each in paragraph)
            for match in pattern.finditer(text):
                first, last = paragraph[match.start()], paragraph[match.end() - 1]
                lead = text[max(0, match.start() - 300) : match.start()]
                spans.append(Span(
                    first.start, last.end, _MARK_STYLE, match[0], (), part.member, lead or " ",
                ))  # fmt: skip
    return spans


def mark_office(data: bytes, name: str, marks: Mapping[Span, str]) -> bytes:
    """Return the document with a text in the place of each placeholder."""
    return _replace(data, name, {span: escape(text).encode() for span, text in marks.items()}, {})


def fill_office(data: bytes, name: str, cited: Mapping[Span, Sequence[Document]]) -> bytes:
    """Return the document with a Zotero citation of these documents in each place."""
    return _replace(data, name, {}, cited)


def _replace(
    data: bytes, name: str, texts: Mapping[Span, bytes], cited: Mapping[Span, Sequence[Document]]
) -> bytes:
    changed: dict[str, bytes] = {}
    for part in _parts(data, name):
        edits: list[tuple[int, int, bytes]] = []
        wanted = {span.start: span for span in (*texts, *cited) if span.member == part.member}
        for paragraph in part.paragraphs:
            for at, char in enumerate(paragraph):
                span = wanted.get(char.start)
                if span is None or char.end == char.start:
                    continue
                inside = [each for each in paragraph[at:] if each.start < span.end]
                edits += [(each.start, each.end, b"") for each in inside]
                if span in texts:
                    edits.append((char.start, char.start, texts[span]))
                elif part.member == "content.xml":
                    edits.append((char.start, char.start, _reference_mark(cited[span], span)))
                else:
                    edits += _field(part, char, cited[span], span)
        if edits:
            changed[part.member] = _edited(part.data, edits)
    return _with_members(data, name, changed)


def _edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    pieces, at = [], 0
    for start, end, new in sorted(set(edits), key=lambda edit: (edit[0], edit[1])):
        pieces += [data[at:start], new]
        at = max(at, end)
    return b"".join([*pieces, data[at:]])


def _with_members(data: bytes, name: str, changed: Mapping[str, bytes]) -> bytes:
    """Return the archive with some members replaced, and all others as they are."""
    package, target = _package(data, name), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(target, "w") as after:
        for info in before.infolist():
            content = changed.get(info.filename)
            if content is None:
                content = package.read(info.filename) or b""
            after.writestr(info, content, compress_type=info.compress_type)
    return target.getvalue()


# --- Zotero's citations ---------------------------------------------------------------------------


def _code(documents: Sequence[Document], span: Span) -> tuple[str, str]:
    """Return the code of a citation, and what it displays until Zotero formats it."""
    shown = f"({'; '.join(map(_short_name, documents))})"
    name = hashlib.sha256(f"{span.start}|{shown}".encode()).hexdigest()
    items = []
    for document in documents:
        (data,) = json.loads(format_csl([(document, document.doc_id)]))
        address = f"https://doi.org/{document.doi}" if document.doi else document.url
        # Zotero looks items up by URI; without one, it would take the id for one of its own.
        address = (
            address or "urn:citebed:" + hashlib.sha256(document.doc_id.encode()).hexdigest()[:16]
        )
        data["id"] = address
        items.append({"id": address, "uris": [address], "itemData": data})
    value = {
        "citationID": name[:8],
        "properties": {"formattedCitation": shown, "plainCitation": shown, "noteIndex": 0},
        "citationItems": items,
        "schema": _SCHEMA,
    }
    code = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"ZOTERO_ITEM CSL_CITATION {code}", shown


def _short_name(document: Document) -> str:
    names = [family_name(name) or name for name in document.authors]
    who = document.title if not names else names[0]
    who += " et al." if len(names) > 2 else f" & {names[1]}" if len(names) == 2 else ""
    return f"{who}, {document.year or 'n.d.'}"


def _reference_mark(documents: Sequence[Document], span: Span) -> bytes:
    code, shown = _code(documents, span)
    name = f"{code} RND{hashlib.sha256(code.encode()).hexdigest()[:10]}"
    mark = f"text:name={quoteattr(name)}/>"
    return (
        f"<text:reference-mark-start {mark}{escape(shown)}<text:reference-mark-end {mark}".encode()
    )


def _field(
    part: _Part, char: _Char, documents: Sequence[Document], span: Span
) -> Iterator[tuple[int, int, bytes]]:
    """Yield the edits that end a run at a character, and put a field before its rest."""
    opening = re.match(rb"<(?:([\w.-]+):)?t\b", part.data[char.tag[0] : char.tag[1]])
    if opening is None:
        raise CitebedError(f"{part.package.name}: {part.member} in it has an unknown structure")
    w = f"{opening[1].decode()}:" if opening[1] else ""
    properties = part.properties.get(char.run, b"").decode()
    code, shown = _code(documents, span)

    def run(content: str) -> str:
        return f"<{w}r>{properties}{content}</{w}r>"

    preserve = 'xml:space="preserve"'
    pieces = [
        f"</{w}t></{w}r>",
        run(f'<{w}fldChar {w}fldCharType="begin"/>'),
        run(f"<{w}instrText {preserve}> ADDIN {escape(code)} </{w}instrText>"),
        run(f'<{w}fldChar {w}fldCharType="separate"/>'),
        run(f"<{w}t {preserve}>{escape(shown)}</{w}t>"),
        run(f'<{w}fldChar {w}fldCharType="end"/>'),
        f"<{w}r>{properties}<{w}t {preserve}>",
    ]
    yield char.start, char.start, "".join(pieces).encode()
    if b"xml:space" not in part.data[char.tag[0] : char.tag[1]]:
        yield char.tag[1], char.tag[1], f" {preserve}".encode()
