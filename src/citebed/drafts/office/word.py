"""Word documents (``.docx``) to blocks of prose, with what the fields of reference managers cite.

Deleted text, comments, headers, tables of contents and hidden alternatives are passed over. A link
outside is a text in which a DOI may stand: it is not followed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field

from citebed.drafts.findings import Findings, without_places
from citebed.drafts.office.citations import (
    Citations,
    is_bibliography,
    is_contents,
    word_sources,
)
from citebed.drafts.office.outline import Outline, Paragraph
from citebed.drafts.office.packages import Attributes, Package, walk
from citebed.drafts.office.word_parts import (
    LEVELS,
    SPACES,
    Properties,
    Styles,
    links_of,
    main_part,
)
from citebed.files.kinds import WORD
from citebed.text.identifiers import arxiv_in, doi_in

_SKIPPED = frozenset(("w:del", "w:moveFrom", "mc:Fallback", "m:oMathPara", "w:pPrChange"))
_BLANKS = {"w:tab": "\t", "w:br": " ", "w:cr": " ", "w:noBreakHyphen": "-", "w:ptab": " "}
_TEXTS = frozenset(("w:t", "m:t"))
_OFF = frozenset(("0", "false", "none", "off"))


def read_word(data: bytes, name: str, findings: Findings) -> None:
    """Read a Word document into ``findings``; raises ``CitebedError`` for one that is damaged."""
    package = Package(data, name, WORD)
    main = main_part(package)
    kinds = Styles()
    walk(package, posixpath.join(posixpath.dirname(main), "styles.xml"), kinds)
    sources = [n for n in package.names() if n.startswith("customXml/item") and n.endswith(".xml")]
    entries = word_sources([package.read(each) or b"" for each in sources[:_MOST_SOURCES]])
    marked = Properties()
    walk(package, "docProps/custom.xml", marked)
    shared = _Shared(kinds, Citations(findings, entries), marked.codes())
    for part in ("footnotes.xml", "endnotes.xml"):
        member = posixpath.join(posixpath.dirname(main), part)
        notes = _Notes(shared, links_of(package, member))
        walk(package, member, notes)
    outline = Outline(findings)
    if not walk(package, main, _Body(shared, links_of(package, main), outline.take)):
        raise package.error(f"there is no {main} in it; save it anew as .docx")
    outline.end()


_MOST_SOURCES = 50
_DEEPEST = 8
"""Fields in fields are looked at so deep."""


@dataclass
class _Shared:
    """What all parts of a document know of: styles, citations, bookmarks' codes, and notes."""

    styles: Styles
    citations: Citations
    codes: dict[str, str]
    notes: dict[str, Paragraph] = field(default_factory=dict)


@dataclass
class _Field:
    """A field while it is read: its code, what is kept beside it, and what it turned out to be."""

    code: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    shows: bool = False
    kind: str = ""  # citation, bibliography, contents
    inner: int = 0  # the depth of a content control that is a citation
    mark: str = ""  # the id of a bookmark that is one
    target: str = ""


class _Body:
    """Makes paragraphs of the elements of a part."""

    spaces = SPACES

    def __init__(
        self, shared: _Shared, links: dict[str, str], take: Callable[[Paragraph], None]
    ) -> None:
        self._shared, self._links, self._take = shared, links, take
        self._open: list[Paragraph] = []
        self._fields: list[_Field] = []
        self._within = ""  # the element whose text matters
        self._skipped = self._tables = self._depth = self._controls = 0
        self._starts: dict[str, Callable[[Attributes], None]] = {
            "w:p": self._start_paragraph, "w:pStyle": self._style, "w:numPr": self._item,
            "w:outlineLvl": self._level, "w:fldChar": self._field_mark, "w:sdt": self._control,
            "w:fldSimple": self._simple_field, "w:hyperlink": self._link, "w:tag": self._tag,
            "w:footnoteReference": lambda own: self._note("w:footnote", own),
            "w:endnoteReference": lambda own: self._note("w:endnote", own),
            "w:tbl": self._start_table, "w:bookmarkStart": self._bookmark,
            "w:bookmarkEnd": self._end_bookmark,
        }  # fmt: skip
        self._ends: dict[str, Callable[[], None]] = {
            "w:p": self._end_paragraph, "w:tbl": self._end_table, "w:sdt": self._end_control,
            "w:fldSimple": self._end_field, "w:hyperlink": self._end_field,
        }  # fmt: skip

    # --- Elements

    def start(self, name: str, attributes: Attributes) -> None:
        """An element begins."""
        if name in _SKIPPED or self._skipped:
            self._skipped += 1
            return
        self._within = name
        if (begin := self._starts.get(name)) is not None:
            begin(attributes)
        elif name in _BLANKS:
            self._add(_BLANKS[name])

    def end(self, name: str) -> None:
        """An element ends."""
        if self._skipped:
            self._skipped -= 1
            return
        self._within = ""
        if (finish := self._ends.get(name)) is not None:
            finish()

    def text(self, text: str) -> None:
        """Words, or the code of a field."""
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
            cited = any(each.shows and each.kind == "citation" for each in self._fields[-_DEEPEST:])
            self._open[-1].add(text, cited=cited)

    # --- Paragraphs

    def _start_paragraph(self, _: Attributes) -> None:
        self._open.append(Paragraph(in_table=self._tables > 0))

    def _end_paragraph(self) -> None:
        if not self._open:
            return
        paragraph = self._open.pop()
        # A citation that nobody closed ends with its paragraph.
        if not self._open:
            self._fields = [each for each in self._fields if each.kind != "citation"]
        for each in self._fields[-_DEEPEST:]:
            self._belongs(paragraph, each)
        self._take(paragraph)

    def _belongs(self, paragraph: Paragraph, each: _Field) -> None:
        """What a paragraph is that stands in a field."""
        if each.shows and each.kind == "contents":
            paragraph.kind = "none"
        elif each.shows and each.kind == "bibliography" and paragraph.kind != "heading":
            paragraph.kind = "reference"

    def _style(self, own: Attributes) -> None:
        if self._open:
            kind, level = self._shared.styles.kind(own.get("val", ""))
            self._open[-1].kind = kind or self._open[-1].kind
            self._open[-1].level = level

    def _item(self, _: Attributes) -> None:
        if self._open and not self._open[-1].kind:
            self._open[-1].kind = "item"

    def _level(self, own: Attributes) -> None:
        if self._open and own.get("val", "") in LEVELS:
            self._open[-1].kind, self._open[-1].level = "heading", int(own["val"]) + 1

    def _start_table(self, _: Attributes) -> None:
        self._tables += 1

    def _end_table(self) -> None:
        self._tables -= 1

    def _note(self, kind: str, own: Attributes) -> None:
        """A note's text stands behind its paragraph; one that only cites cites in its place."""
        note = self._shared.notes.pop(f"{kind} {own.get('id', '')}", None)
        if note is None or not self._open:
            return
        if note.says_something:
            self._open[-1].notes.append(note)
        else:
            self._open[-1].words.append(note.text)

    # --- Fields

    def _field_mark(self, own: Attributes) -> None:
        kind = own.get("fldCharType", "")
        if kind == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            self._show(self._fields[-1])
        elif kind == "end" and self._fields:
            if not self._fields[-1].shows:
                self._show(self._fields[-1])
            self._end_field()

    def _show(self, each: _Field) -> None:
        """A field's code is complete: tell what it is."""
        code = "".join(each.code)
        each.shows = True
        if code.lstrip().startswith("ADDIN EN.CITE.DATA") and len(self._fields) > 1:
            self._fields[-2].data += each.data  # the rest of the field around it
        elif is_bibliography(code):
            each.kind = "bibliography"
        elif is_contents(code):
            each.kind = "contents"
        elif place := self._shared.citations.place(code, "".join(each.data)):
            each.kind = "citation"
            self._put(place)
        elif code.lstrip().startswith("HYPERLINK"):
            each.target = code

    def _put(self, place: str) -> None:
        if self._open:
            self._open[-1].words.append(place)

    def _end_field(self) -> None:
        if self._fields:
            each = self._fields.pop()
            if self._open:
                self._belongs(self._open[-1], each)
            if doi := doi_in(each.target) if each.target else None:
                self._put(f" {self._shared.citations.name(doi)}")
            elif arxiv := arxiv_in(each.target) if each.target else None:
                self._put(f" {self._shared.citations.name(f'arXiv:{arxiv}')}")

    def _simple_field(self, own: Attributes) -> None:
        self._fields.append(_Field([own.get("instr", "")]))
        self._show(self._fields[-1])

    def _link(self, own: Attributes) -> None:
        self._fields.append(_Field(shows=True, target=self._links.get(own.get("id", ""), "")))

    # --- Content controls and bookmarks

    def _control(self, _: Attributes) -> None:
        self._controls += 1

    def _tag(self, own: Attributes) -> None:
        code = own.get("val", "")
        each = _Field([code], inner=self._controls)
        if is_bibliography(code):
            self._fields.append(each)
            each.shows, each.kind = True, "bibliography"
        elif place := self._shared.citations.place(code):
            self._fields.append(each)
            each.shows, each.kind = True, "citation"
            self._put(place)

    def _end_control(self) -> None:
        if self._fields and self._fields[-1].inner == self._controls:
            self._fields.pop()
        self._controls -= 1

    def _bookmark(self, own: Attributes) -> None:
        code = self._shared.codes.get(own.get("name", ""), "")
        if code:
            each = _Field([code], mark=own.get("id", "") or "?")
            self._fields.append(each)
            self._show(each)

    def _end_bookmark(self, own: Attributes) -> None:
        if self._fields and self._fields[-1].mark and self._fields[-1].mark == own.get("id", ""):
            self._fields.pop()


class _Notes(_Body):
    """The notes of a document, by kind and id; the paragraphs of one are put together."""

    def __init__(self, shared: _Shared, links: dict[str, str]) -> None:
        super().__init__(shared, links, self._keep)
        self._key = ""

    def start(self, name: str, attributes: Attributes) -> None:
        """An element begins; a note has an id."""
        if name in ("w:footnote", "w:endnote"):
            self._key = f"{name} {attributes.get('id', '')}"
        super().start(name, attributes)

    def _keep(self, paragraph: Paragraph) -> None:
        note = self._shared.notes.setdefault(self._key, paragraph)
        if note is not paragraph:
            note.words += [" ", *paragraph.words]
            note.seen += [" ", *paragraph.seen]
