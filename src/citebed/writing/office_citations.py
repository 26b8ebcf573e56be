"""Placeholders in Word and OpenDocument files, and citations in their place.

A citation is what Zotero's plugin writes: a field (Word) or a reference mark (LibreOffice) with the
record as CSL-JSON. Zotero takes it over when the user refreshes the document. citebed edits the XML
at byte offsets, so only the bytes of the placeholder change.
"""

from __future__ import annotations

import hashlib
import html
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from citebed.collection.exporting.bibliographies import format_csl
from citebed.drafts.files import document_kind
from citebed.drafts.office import Package, walk
from citebed.drafts.prose import PLACEHOLDER
from citebed.records import Document
from citebed.text.names import family_name
from citebed.writing.gaps import Span, Style

_PARTS = re.compile(r"word/(?:document\d*|footnotes|endnotes)\.xml|content\.xml")
_SCHEMA = "https://github.com/citation-style-language/schema/raw/master/csl-citation.json"
_CLOSED = frozenset(
    b"""
    del moveFrom hyperlink fldSimple instrText Fallback oMath tracked-changes annotation
    note-citation bibliography-mark table-of-content a
    """.split()
)
"""Elements, by local name, in which a placeholder cannot be replaced by a citation."""
_BREAKS = frozenset((b"tab", b"br", b"s", b"line-break", b"note"))
_FIELDS = frozenset((b"fldChar", b"reference-mark-start", b"reference-mark-end"))
_DEPTHS = {b"begin": 1, b"end": -1, b"reference-mark-start": 1, b"reference-mark-end": -1}
_TOKEN = re.compile(
    rb"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>"
    rb"|<(?P<slash>/?)(?P<prefix>(?:[^\s/>:]+:)?)(?P<name>[^\s/>]+)"
    rb"(?P<rest>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>|(?P<text>&[^;]*;|[^<&]+)",
    re.DOTALL,
)
_FIELD_TYPE = re.compile(rb"fldCharType\s*=\s*[\"'](\w+)")


class _Char(NamedTuple):
    """A character of a paragraph, its bytes in the part, the properties of its run, and the tag of
    its text element (in Word). Text that cannot be replaced is a line break."""

    text: str
    start: int
    end: int
    properties: bytes = b""
    tag: re.Match[bytes] | None = None


def _open(data: bytes, name: str) -> Package:
    return Package(data, name, document_kind(data, name))


def _read_parts(package: Package) -> Iterator[tuple[str, bytes, list[list[_Char]]]]:
    """Yield the name and data of each part with text, and the characters of its paragraphs."""
    for member in filter(_PARTS.fullmatch, package.names()):
        walk(package, member, lambda *_: None)  # raises for invalid XML and for a document type
        data = package.read(member) or b""
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise package.error(f"{member} in it is not UTF-8; save it again") from error
        yield member, data, list(_paragraphs(data, is_word=member != "content.xml"))


def _paragraphs(  # noqa: PLR0912 - one branch for each element
    data: bytes, *, is_word: bool
) -> Iterator[list[_Char]]:
    """Yield the characters of each paragraph of valid XML."""
    names, paragraphs, runs = [b""], list[list[_Char]](), [b""]
    tag: re.Match[bytes] | None = None
    closed = fields = start_of_properties = 0
    for token in _TOKEN.finditer(data):
        name, at = token["name"], token.start()
        if name and not token["slash"]:
            names.append(name)
            closed += name in _CLOSED
            if name in (b"p", b"h"):
                paragraphs.append([])
            elif name == b"r":
                runs.append(b"")
            elif name == b"rPr" and names[-2] == b"r":
                start_of_properties = at
            elif name == b"t":
                tag = token
            elif name in _BREAKS and paragraphs:
                paragraphs[-1].append(_Char("\n", at, at))
            elif name in _FIELDS:
                kind = _FIELD_TYPE.search(token["rest"])
                fields = max(0, fields + _DEPTHS.get(kind[1] if kind else name, 0))
        if name and (token["slash"] or token["rest"].endswith(b"/")):
            names.pop()
            closed -= name in _CLOSED
            if name in (b"p", b"h"):
                yield paragraphs.pop()
            elif name == b"r" and is_word:
                runs.pop()
            elif name == b"rPr" and names[-1] == b"r":
                runs[-1] = data[start_of_properties : token.end()]
        elif token["text"] and paragraphs:
            if closed or fields or (is_word and names[-1] != b"t"):
                paragraphs[-1].append(_Char("\n", at, token.end()))
                continue
            text = token["text"].decode()
            is_entity = text.startswith("&")
            for character in html.unescape(text) if is_entity else text:
                end = token.end() if is_entity else at + len(character.encode())
                paragraphs[-1].append(_Char(character, at, end, runs[-1], tag))
                at = end


def find_office_spans(data: bytes, name: str) -> list[Span]:
    """Return the placeholders in the text of a document."""
    spans = []
    for member, _, paragraphs in _read_parts(_open(data, name)):
        for paragraph in paragraphs:
            text = "".join(each.text for each in paragraph)
            for match in PLACEHOLDER.finditer(text):
                start, end = paragraph[match.start()].start, paragraph[match.end() - 1].end
                lead = text[max(0, match.start() - 300) : match.start()] or " "
                spans.append(Span(start, end, Style(), match[0], (), member, lead))
    return spans


def replace_office_spans(
    data: bytes, name: str, cited: Mapping[Span, str | Sequence[Document]]
) -> bytes:
    """Return the document with a text, or a Zotero citation of documents, in each place."""
    package, target = _open(data, name), io.BytesIO()
    changed = {}
    for member, part, paragraphs in _read_parts(package):
        spans = {span.start: span for span in cited if span.member == member}
        edits: dict[tuple[int, int], bytes] = {}
        for paragraph in paragraphs if spans else ():
            for at, char in enumerate(paragraph):
                span = spans.get(char.start)
                if span is not None and char.end > char.start:
                    inside = takewhile(lambda each: each.start < span.end, paragraph[at:])  # noqa: B023
                    edits |= {(each.start, each.end): b"" for each in inside}
                    edits |= _insert(char, cited[span])
        pieces, at = [], 0
        for (start, end), new in sorted(edits.items()):
            pieces += [part[at:start], new]
            at = end
        changed[member] = b"".join([*pieces, part[at:]])
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(target, "w") as after:
        for info in before.infolist():
            content = changed.get(info.filename) or package.read(info.filename) or b""
            after.writestr(info, content, compress_type=info.compress_type)
    return target.getvalue()


def _insert(char: _Char, cited: str | Sequence[Document]) -> dict[tuple[int, int], bytes]:
    """Return the edits, by start and end, that put a text or a citation before a character."""
    here = (char.start, char.start)
    if isinstance(cited, str):
        return {here: escape(cited).encode()}
    code, shown = _citation(cited, char.start)
    if char.tag is None:  # OpenDocument
        name = quoteattr(f"{code} RND{hashlib.sha256(code.encode()).hexdigest()[:10]}")
        start, end = (f"<text:reference-mark-{x} text:name={name}/>" for x in ("start", "end"))
        return {here: f"{start}{escape(shown)}{end}".encode()}
    # The field ends the run of the character; the rest of its text becomes a run with the same
    # properties.
    w, preserve = char.tag["prefix"].decode(), 'xml:space="preserve"'
    opening = f"<{w}r>{char.properties.decode()}"
    parts = (
        f'<{w}fldChar {w}fldCharType="begin"/>',
        f"<{w}instrText {preserve}> ADDIN {escape(code)} </{w}instrText>",
        f'<{w}fldChar {w}fldCharType="separate"/>',
        f"<{w}t {preserve}>{escape(shown)}</{w}t>",
        f'<{w}fldChar {w}fldCharType="end"/>',
    )
    runs = "".join(f"{opening}{part}</{w}r>" for part in parts)
    edits = {here: f"</{w}t></{w}r>{runs}{opening}<{w}t {preserve}>".encode()}
    if b"xml:space" not in char.tag["rest"]:
        edits[char.tag.end() - 1, char.tag.end() - 1] = f" {preserve}".encode()
    return edits


def _citation(documents: Sequence[Document], start: int) -> tuple[str, str]:
    """Return the code of a Zotero citation, and the text to show until Zotero formats it."""
    shown = f"({'; '.join(map(_short_name, documents))})"
    items = []
    for document in documents:
        (data,) = json.loads(format_csl([(document, document.doc_id)]))
        # Zotero looks items up by URI; without one, it would take the id for one of its own.
        address = f"https://doi.org/{document.doi}" if document.doi else document.url
        own = "urn:citebed:" + hashlib.sha256(document.doc_id.encode()).hexdigest()[:16]
        data["id"] = address or own
        items.append({"id": data["id"], "uris": [data["id"]], "itemData": data})
    value = {
        "citationID": hashlib.sha256(f"{start}|{shown}".encode()).hexdigest()[:8],
        "properties": {"formattedCitation": shown, "plainCitation": shown, "noteIndex": 0},
        "citationItems": items,
        "schema": _SCHEMA,
    }
    code = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"ZOTERO_ITEM CSL_CITATION {code}", shown


def _short_name(document: Document) -> str:
    names = [family_name(name) or name for name in document.authors] or [document.title]
    who = f"{names[0]} et al." if len(names) > 2 else " & ".join(names)
    return f"{who}, {document.year or 'n.d.'}"
