"""Read Word documents (``.docx``), with citations in the fields of reference managers.

Deleted text, comments, headers, tables of contents and hidden alternatives are skipped. The target
of a link may contain a DOI, but is not opened.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field

from citebed.drafts.office import (
    Attributes,
    Body,
    Citations,
    Outline,
    Package,
    Paragraph,
    Styles,
    bookmark_codes,
    is_bibliography,
    is_contents,
    walk,
    word_sources,
)
from citebed.drafts.parsed_draft import ParsedDraft, without_places
from citebed.files.file_kinds import WORD

_MAIN = "word/document.xml"
_SKIPPED = frozenset(("w:del", "w:moveFrom", "mc:Fallback", "m:oMathPara", "w:pPrChange"))
_BLANKS = {"w:tab": "\t", "w:br": " ", "w:cr": " ", "w:noBreakHyphen": "-", "w:ptab": " "}
_MOST_SOURCES = 50
_DEEPEST = 8
"""Maximum depth of nested fields."""
_LEVELS = frozenset("012345678")


def read_word(data: bytes, name: str, parsed: ParsedDraft) -> None:
    """Read a Word document into ``parsed``; raise ``CitebedError`` if it is damaged."""
    package = Package(data, name, WORD)
    texts: list[str] = []

    def find_text(name: str, attributes: Attributes) -> None:
        if name == "Override" and attributes.get("ContentType", "").endswith(".main+xml"):
            texts.append(attributes.get("PartName", "").lstrip("/"))

    walk(package, "[Content_Types].xml", find_text)
    main = next(filter(None, texts), _MAIN)
    folder = posixpath.dirname(main)
    styles = _read_styles(package, posixpath.join(folder, "styles.xml"))
    sources = [n for n in package.names() if n.startswith("customXml/item") and n.endswith(".xml")]
    entries = word_sources([package.read(name) or b"" for name in sources[:_MOST_SOURCES]])
    codes = bookmark_codes(package, "docProps/custom.xml", "property")
    outline = Outline(parsed)
    body = _Body(parsed, styles, Citations(parsed, entries), codes, outline)
    for part in ("footnotes.xml", "endnotes.xml"):
        body.read_part(package, posixpath.join(folder, part), notes=True)
    if main not in package.names():
        raise package.error(f"{main} is missing; save it again as .docx")
    body.read_part(package, main, notes=False)
    outline.end()


def _read_styles(package: Package, member: str) -> Styles:
    styles, style = Styles(), ""

    def add(name: str, attributes: Attributes) -> None:
        nonlocal style
        value = attributes.get("val", "")
        if name == "w:style":
            style = attributes.get("styleId", "")
        elif name == "w:name":
            styles.names[style] = value
        elif name == "w:basedOn":
            styles.bases[style] = value
        elif name == "w:outlineLvl" and value in _LEVELS:
            styles.levels[style] = int(value) + 1

    walk(package, member, add)
    return styles


def _read_links(package: Package, member: str) -> dict[str, str]:
    """Return the targets of a part's links."""
    targets: dict[str, str] = {}

    def add(name: str, attributes: Attributes) -> None:
        if name == "Relationship" and attributes.get("Type", "").endswith("/hyperlink"):
            targets[attributes.get("Id", "")] = attributes.get("Target", "")

    folder, file = posixpath.split(member)
    walk(package, posixpath.join(folder, "_rels", f"{file}.rels"), add)
    return targets


@dataclass
class _Field:
    """An open field: its code, its data and its kind."""

    code: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    shows: bool = False
    kind: str = ""  # citation, bibliography, contents
    inner: int = 0  # the depth of a content control that is a citation
    mark: str = ""  # the id of a bookmark that is a citation
    target: str = ""


class _Body(Body):
    """Makes paragraphs from the elements of a document's parts, its notes first."""

    def __init__(
        self,
        parsed: ParsedDraft,
        styles: Styles,
        citations: Citations,
        codes: dict[str, str],
        outline: Outline,
    ) -> None:
        super().__init__(_SKIPPED, _BLANKS)
        self._parsed, self._styles, self._citations = parsed, styles, citations
        self._codes, self._outline = codes, outline  # codes of bookmarks
        self._fields: list[_Field] = []
        self._links: dict[str, str] = {}
        self._notes: dict[str, Paragraph] = {}  # by kind and id
        self._reads_notes = False
        self._note_key = ""
        self._starts = {
            "w:p": self._start_paragraph, "w:pStyle": self._style, "w:numPr": self._item,
            "w:outlineLvl": self._level, "w:fldChar": self._field_mark,
            "w:fldSimple": self._simple_field, "w:hyperlink": self._link, "w:tag": self._tag,
            "w:footnote": lambda attributes: self._start_note("w:footnote", attributes),
            "w:endnote": lambda attributes: self._start_note("w:endnote", attributes),
            "w:footnoteReference": lambda attributes: self._note("w:footnote", attributes),
            "w:endnoteReference": lambda attributes: self._note("w:endnote", attributes),
            "w:bookmarkStart": self._bookmark, "w:bookmarkEnd": self._end_bookmark,
        }  # fmt: skip
        self._ends = {
            "w:p": self._end_paragraph, "w:sdt": self._end_control,
            "w:fldSimple": self._end_field, "w:hyperlink": self._end_field,
        }  # fmt: skip

    def read_part(self, package: Package, member: str, *, notes: bool) -> None:
        """Read the notes, or the main part, in which they are used."""
        self._fields, self._reads_notes = [], notes
        self._links = _read_links(package, member)
        self.read(package, member)

    def _text(self, text: str) -> None:
        """Add text to the paragraph, or to the code or data of a field."""
        if self._skipped_depth:
            return
        if self._within in ("w:t", "m:t"):
            self._add(without_places(text))
        elif self._within == "w:instrText" and self._fields:
            self._fields[-1].code.append(text)
        elif self._within == "w:fldData" and self._fields:
            self._fields[-1].data.append(text)

    def _in_citation(self) -> bool:
        return any(each.shows and each.kind == "citation" for each in self._fields[-_DEEPEST:])

    # --- Paragraphs

    def _start_paragraph(self, _: Attributes) -> None:
        self._open.append(Paragraph(in_table=self._depth["w:tbl"] > 0))

    def _end_paragraph(self) -> None:
        if not self._open:
            return
        paragraph = self._open.pop()
        # An unclosed citation ends with its paragraph.
        if not self._open:
            self._fields = [current for current in self._fields if current.kind != "citation"]
        for current in self._fields[-_DEEPEST:]:
            self._set_kind_in_field(paragraph, current)
        if not self._reads_notes:
            self._outline.take(paragraph)
            return
        note = self._notes.setdefault(self._note_key, paragraph)
        if note is not paragraph:  # a note with several paragraphs
            note.words += [" ", *paragraph.words]
            note.displayed += [" ", *paragraph.displayed]

    def _set_kind_in_field(self, paragraph: Paragraph, current: _Field) -> None:
        """Set the kind of a paragraph inside a field."""
        if current.shows and current.kind == "contents":
            paragraph.kind = "none"
        elif current.shows and current.kind == "bibliography" and paragraph.kind != "heading":
            paragraph.kind = "reference"

    def _style(self, attributes: Attributes) -> None:
        if self._open:
            kind, level = self._styles.kind(attributes.get("val", ""))
            self._open[-1].kind = kind or self._open[-1].kind
            self._open[-1].level = level

    def _item(self, _: Attributes) -> None:
        if self._open and not self._open[-1].kind:
            self._open[-1].kind = "item"

    def _level(self, attributes: Attributes) -> None:
        if self._open and attributes.get("val", "") in _LEVELS:
            self._open[-1].kind, self._open[-1].level = "heading", int(attributes["val"]) + 1

    def _start_note(self, kind: str, attributes: Attributes) -> None:
        self._note_key = f"{kind} {attributes.get('id', '')}"

    def _note(self, kind: str, attributes: Attributes) -> None:
        self._put_note(self._notes.pop(f"{kind} {attributes.get('id', '')}", None))

    # --- Fields

    def _field_mark(self, attributes: Attributes) -> None:
        kind = attributes.get("fldCharType", "")
        if kind == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            self._show(self._fields[-1])
        elif kind == "end" and self._fields:
            if not self._fields[-1].shows:
                self._show(self._fields[-1])
            self._end_field()

    def _show(self, current: _Field) -> None:
        """Determine the kind of a field from its complete code."""
        code = "".join(current.code)
        current.shows = True
        if code.lstrip().startswith("ADDIN EN.CITE.DATA") and len(self._fields) > 1:
            self._fields[-2].data += current.data  # the rest of the field around it
        elif is_bibliography(code):
            current.kind = "bibliography"
        elif is_contents(code):
            current.kind = "contents"
        elif place := self._citations.place(code, "".join(current.data)):
            current.kind = "citation"
            self._put(place)
        elif code.lstrip().startswith("HYPERLINK"):
            current.target = code

    def _end_field(self) -> None:
        if self._fields:
            current = self._fields.pop()
            if self._open:
                self._set_kind_in_field(self._open[-1], current)
            if current.target and (mark := self._parsed.cite_url(current.target)):
                self._put(f" {mark}")

    def _simple_field(self, attributes: Attributes) -> None:
        self._fields.append(_Field([attributes.get("instr", "")]))
        self._show(self._fields[-1])

    def _link(self, attributes: Attributes) -> None:
        self._fields.append(
            _Field(shows=True, target=self._links.get(attributes.get("id", ""), ""))
        )

    # --- Content controls and bookmarks

    def _tag(self, attributes: Attributes) -> None:
        code = attributes.get("val", "")
        current = _Field([code], inner=self._depth["w:sdt"])
        if is_bibliography(code):
            self._fields.append(current)
            current.shows, current.kind = True, "bibliography"
        elif place := self._citations.place(code):
            self._fields.append(current)
            current.shows, current.kind = True, "citation"
            self._put(place)

    def _end_control(self) -> None:
        if self._fields and self._fields[-1].inner == self._depth["w:sdt"]:
            self._fields.pop()

    def _bookmark(self, attributes: Attributes) -> None:
        code = self._codes.get(attributes.get("name", ""), "")
        if code:
            current = _Field([code], mark=attributes.get("id", "") or "?")
            self._fields.append(current)
            self._show(current)

    def _end_bookmark(self, attributes: Attributes) -> None:
        if (
            self._fields
            and self._fields[-1].mark
            and self._fields[-1].mark == attributes.get("id", "")
        ):
            self._fields.pop()
