"""Read Word documents (``.docx``), with citations in the fields of reference managers.

Deleted text, comments, headers, tables of contents and hidden alternatives are skipped. The target
of a link may contain a DOI, but is not opened.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from citebed.drafts.office import (
    Attributes,
    Bookmarks,
    Citations,
    Kind,
    Outline,
    Package,
    Paragraph,
    Walker,
    is_bibliography,
    is_contents,
    kind_of_style,
    walk,
    word_sources,
)
from citebed.drafts.parsed_draft import ParsedDraft, without_places
from citebed.files.file_kinds import WORD

_SKIPPED = frozenset(("w:del", "w:moveFrom", "mc:Fallback", "m:oMathPara", "w:pPrChange"))
_BLANKS = {"w:tab": "\t", "w:br": " ", "w:cr": " ", "w:noBreakHyphen": "-", "w:ptab": " "}
_TEXTS = frozenset(("w:t", "m:t"))
_OFF = frozenset(("0", "false", "none", "off"))


def read_word(data: bytes, name: str, parsed: ParsedDraft) -> None:
    """Read a Word document into ``parsed``; raise ``CitebedError`` if it is damaged."""
    package = Package(data, name, WORD)
    types = _Types()
    walk(package, "[Content_Types].xml", types)
    main = types.main or _MAIN
    kinds = _Styles()
    walk(package, posixpath.join(posixpath.dirname(main), "styles.xml"), kinds)
    sources = [n for n in package.names() if n.startswith("customXml/item") and n.endswith(".xml")]
    entries = word_sources([package.read(name) or b"" for name in sources[:_MOST_SOURCES]])
    marked = Bookmarks(_SPACES, "property")
    walk(package, "docProps/custom.xml", marked)
    shared = _Shared(kinds, Citations(parsed, entries), marked.codes())
    for part in ("footnotes.xml", "endnotes.xml"):
        member = posixpath.join(posixpath.dirname(main), part)
        notes = _Notes(shared, _read_links(package, member))
        walk(package, member, notes)
    outline = Outline(parsed)
    if not walk(package, main, _Body(shared, _read_links(package, main), outline.take)):
        raise package.error(f"{main} is missing; save it again as .docx")
    outline.end()


_MOST_SOURCES = 50
_DEEPEST = 8
"""Maximum depth of nested fields."""


# --- Styles, links and properties -------------------------------------------------------------

_SPACES = {
    "/wordprocessingml/main": "w", "/wordprocessingml/2006/main": "w",
    "/officeDocument/math": "m", "/officeDocument/2006/math": "m",
    "/markup-compatibility/2006": "mc",
}  # fmt: skip
_MAIN = "word/document.xml"


class _Types(Walker):
    """Finds the part of the archive with the text."""

    spaces = _SPACES
    main = ""

    def start(self, name: str, attributes: Attributes) -> None:
        if (
            name == "Override"
            and attributes.get("ContentType", "").endswith(".main+xml")
            and not self.main
        ):
            self.main = attributes.get("PartName", "").lstrip("/")


class _Links(Walker):
    """The targets of a part's links."""

    spaces = _SPACES

    def __init__(self) -> None:
        self.targets: dict[str, str] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "Relationship" and attributes.get("Type", "").endswith("/hyperlink"):
            self.targets[attributes.get("Id", "")] = attributes.get("Target", "")


def _read_links(package: Package, member: str) -> dict[str, str]:
    links = _Links()
    folder, file = posixpath.split(member)
    walk(package, posixpath.join(folder, "_rels", f"{file}.rels"), links)
    return links.targets


class _Styles(Walker):
    """The kinds of paragraph styles, by the name of a style or of the style it is based on."""

    spaces = _SPACES

    def __init__(self) -> None:
        self._style = ""
        self._names: dict[str, str] = {}
        self._bases: dict[str, str] = {}
        self._levels: dict[str, int] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        value = attributes.get("val", "")
        if name == "w:style":
            self._style = attributes.get("styleId", "")
        elif name == "w:name":
            self._names[self._style] = value
        elif name == "w:basedOn":
            self._bases[self._style] = value
        elif name == "w:outlineLvl" and value in _LEVELS:
            self._levels[self._style] = int(value) + 1

    def kind(self, style: str) -> tuple[Kind, int]:
        """Return the kind of paragraphs with a style, and the level of a heading."""
        for _ in range(_LONGEST_CHAIN):
            name = self._names.get(style, style)
            kind = kind_of_style(name)
            if kind is None and style in self._levels:
                kind = "heading"
            if kind is not None:
                digits = name[-1:] if name[-1:].isdecimal() else ""
                return kind, self._levels.get(style, int(digits or "0"))
            style = self._bases.get(style, "")
            if not style:
                break
        return "", 0


_LONGEST_CHAIN = 10
_LEVELS = frozenset("012345678")


# --- Text -------------------------------------------------------------------------------------


@dataclass
class _Shared:
    """State of all parts of a document: styles, citations, codes of bookmarks, and notes."""

    styles: _Styles
    citations: Citations
    codes: dict[str, str]
    notes: dict[str, Paragraph] = field(default_factory=dict)


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


class _Body(Walker):
    """Makes paragraphs from the elements of a part."""

    spaces = _SPACES

    def __init__(
        self, shared: _Shared, links: dict[str, str], take: Callable[[Paragraph], None]
    ) -> None:
        self._shared, self._links, self._take = shared, links, take
        self._open: list[Paragraph] = []
        self._fields: list[_Field] = []
        self._within = ""  # the current element
        self._skipped = 0
        self._depth: Counter[str] = Counter()  # open elements by name
        self._starts: dict[str, Callable[[Attributes], None]] = {
            "w:p": self._start_paragraph, "w:pStyle": self._style, "w:numPr": self._item,
            "w:outlineLvl": self._level, "w:fldChar": self._field_mark,
            "w:fldSimple": self._simple_field, "w:hyperlink": self._link, "w:tag": self._tag,
            "w:footnoteReference": lambda attributes: self._note("w:footnote", attributes),
            "w:endnoteReference": lambda attributes: self._note("w:endnote", attributes),
            "w:bookmarkStart": self._bookmark, "w:bookmarkEnd": self._end_bookmark,
        }  # fmt: skip
        self._ends: dict[str, Callable[[], None]] = {
            "w:p": self._end_paragraph, "w:sdt": self._end_control,
            "w:fldSimple": self._end_field, "w:hyperlink": self._end_field,
        }  # fmt: skip

    # --- Elements

    def start(self, name: str, attributes: Attributes) -> None:
        """Start an element."""
        if name in _SKIPPED or self._skipped:
            self._skipped += 1
            return
        self._within = name
        self._depth[name] += 1
        if (begin := self._starts.get(name)) is not None:
            begin(attributes)
        elif name in _BLANKS:
            self._add(_BLANKS[name])

    def end(self, name: str) -> None:
        """End an element."""
        if self._skipped:
            self._skipped -= 1
            return
        self._within = ""
        if (finish := self._ends.get(name)) is not None:
            finish()
        self._depth[name] -= 1

    def text(self, text: str) -> None:
        """Add text to the paragraph, or to the code or data of a field."""
        if self._skipped:
            return
        if self._within in _TEXTS:
            self._add(without_places(text))
        elif self._within == "w:instrText" and self._fields:
            self._fields[-1].code.append(text)
        elif self._within == "w:fldData" and self._fields:
            self._fields[-1].data.append(text)

    def _add(self, text: str) -> None:
        if self._open:
            cited = any(
                current.shows and current.kind == "citation" for current in self._fields[-_DEEPEST:]
            )
            self._open[-1].add(text, cited=cited)

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
        self._take(paragraph)

    def _set_kind_in_field(self, paragraph: Paragraph, current: _Field) -> None:
        """Set the kind of a paragraph inside a field."""
        if current.shows and current.kind == "contents":
            paragraph.kind = "none"
        elif current.shows and current.kind == "bibliography" and paragraph.kind != "heading":
            paragraph.kind = "reference"

    def _style(self, attributes: Attributes) -> None:
        if self._open:
            kind, level = self._shared.styles.kind(attributes.get("val", ""))
            self._open[-1].kind = kind or self._open[-1].kind
            self._open[-1].level = level

    def _item(self, _: Attributes) -> None:
        if self._open and not self._open[-1].kind:
            self._open[-1].kind = "item"

    def _level(self, attributes: Attributes) -> None:
        if self._open and attributes.get("val", "") in _LEVELS:
            self._open[-1].kind, self._open[-1].level = "heading", int(attributes["val"]) + 1

    def _note(self, kind: str, attributes: Attributes) -> None:
        """Put a note after its paragraph, or a note with citations only in its own place."""
        note = self._shared.notes.pop(f"{kind} {attributes.get('id', '')}", None)
        if note is None or not self._open:
            return
        if note.has_text:
            self._open[-1].notes.append(note)
        else:
            self._open[-1].words.append(note.text)

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
        elif place := self._shared.citations.place(code, "".join(current.data)):
            current.kind = "citation"
            self._put(place)
        elif code.lstrip().startswith("HYPERLINK"):
            current.target = code

    def _put(self, place: str) -> None:
        if self._open:
            self._open[-1].words.append(place)

    def _end_field(self) -> None:
        if self._fields:
            current = self._fields.pop()
            if self._open:
                self._set_kind_in_field(self._open[-1], current)
            if current.target and (mark := self._shared.citations.cite_url(current.target)):
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
        elif place := self._shared.citations.place(code):
            self._fields.append(current)
            current.shows, current.kind = True, "citation"
            self._put(place)

    def _end_control(self) -> None:
        if self._fields and self._fields[-1].inner == self._depth["w:sdt"]:
            self._fields.pop()

    def _bookmark(self, attributes: Attributes) -> None:
        code = self._shared.codes.get(attributes.get("name", ""), "")
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


class _Notes(_Body):
    """The notes of a document by kind and id, with the paragraphs of a note joined."""

    def __init__(self, shared: _Shared, links: dict[str, str]) -> None:
        super().__init__(shared, links, self._keep)
        self._key = ""

    def start(self, name: str, attributes: Attributes) -> None:
        """Start an element; a note has an id."""
        if name in ("w:footnote", "w:endnote"):
            self._key = f"{name} {attributes.get('id', '')}"
        super().start(name, attributes)

    def _keep(self, paragraph: Paragraph) -> None:
        note = self._shared.notes.setdefault(self._key, paragraph)
        if note is not paragraph:
            note.words += [" ", *paragraph.words]
            note.displayed += [" ", *paragraph.displayed]
