"""Read OpenDocument texts (``.odt``), with citations by reference managers.

Tracked deletions, comments, indexes and tables of contents are skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

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
    kind_of_style,
    walk,
)
from citebed.drafts.parsed_draft import ParsedDraft, without_places
from citebed.drafts.records import Entry
from citebed.files.file_kinds import OPEN_DOCUMENT
from citebed.text.identifiers import doi_in
from citebed.text.normalise import fold

_SPACES = {
    ":text:1.0": "text", ":style:1.0": "style", ":table:1.0": "table", ":office:1.0": "office",
    ":drawing:1.0": "draw", ":meta:1.0": "meta", "dc/elements/1.1/": "dc",
    ":svg-compatible:1.0": "svg", "ooo:xmlns:field:1.0": "field", ":field:1.0": "field",
}  # fmt: skip
_SKIPPED = frozenset(
    """
    text:tracked-changes office:annotation text:note-citation text:table-of-content
    text:alphabetical-index text:illustration-index text:table-index text:object-index
    text:user-index svg:title svg:desc text:sequence-decls office:forms text:ruby-text
    office:scripts draw:object text:bibliography-source
    """.split()  # noqa: SIM905
)
_BLANKS = {"text:s": " ", "text:tab": "\t", "text:line-break": " "}
_PARAGRAPHS = frozenset(("text:p", "text:h"))
_KIND = "application/vnd.oasis.opendocument.text"
_YEAR = re.compile(r"[12]\d{3}")
_LONGEST_CHAIN = 10


def read_opendocument(data: bytes, name: str, parsed: ParsedDraft) -> None:
    """Read an OpenDocument text into ``parsed``; raise ``CitebedError`` for any other file."""
    package = Package(data, name, OPEN_DOCUMENT)
    kind = (package.read("mimetype") or b"").decode("ascii", "replace").strip()
    if kind and not kind.startswith(_KIND):
        raise package.error(f"this is not a text document ({kind[:80]}); expected an .odt file")
    if b"encryption-data" in (package.read("META-INF/manifest.xml") or b""):
        raise package.error("it is protected by a password; save it without one")
    styles, properties = _Styles(), Bookmarks(_SPACES, "meta:user-defined")
    walk(package, "styles.xml", styles)
    walk(package, "content.xml", styles)
    walk(package, "meta.xml", properties)
    outline = Outline(parsed)
    body = _Body(parsed, styles, properties.codes(), outline)
    if not walk(package, "content.xml", body):
        raise package.error("content.xml is missing; save it again as .odt")
    outline.end()


class _Styles(Walker):
    """The paragraph styles, including automatic styles."""

    spaces = _SPACES

    def __init__(self) -> None:
        self._bases: dict[str, str] = {}
        self._shown: dict[str, str] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        """Store a style."""
        if name == "style:style" and attributes.get("family", "paragraph") == "paragraph":
            style = attributes.get("name", "")
            self._bases[style] = attributes.get("parent-style-name", "")
            self._shown[style] = attributes.get("display-name", style)

    def kind(self, style: str) -> Kind:
        """Return the kind of paragraphs with a style."""
        for _ in range(_LONGEST_CHAIN):
            kind = kind_of_style(self._shown.get(style, style))
            if kind is not None or not style:
                return kind or ""
            style = self._bases.get(style, "")
        return ""


class _Body(Walker):
    """Makes paragraphs from the elements of a text."""

    spaces = _SPACES

    def __init__(
        self, parsed: ParsedDraft, styles: _Styles, codes: dict[str, str], outline: Outline
    ) -> None:
        self._parsed, self._citations = parsed, Citations(parsed)
        self._styles, self._codes, self._outline = styles, codes, outline
        self._open: list[Paragraph] = []
        self._links: list[str] = []
        self._sections: list[bool] = []  # for each open section, True if it is the bibliography
        self._depth: Counter[str] = Counter()  # open elements by name
        self._cited: list[str] = []  # marks of open citations
        self._skipped = 0
        self._starts: dict[str, Callable[[Attributes], None]] = {
            "text:p": self._start_paragraph, "text:h": self._start_heading,
            "text:reference-mark-start": self._start_mark, "text:note-body": self._start_note,
            "text:reference-mark-end": self._end_mark, "text:bookmark-start": self._start_bookmark,
            "text:bookmark-end": self._end_mark, "text:a": self._start_link,
            "text:bibliography-mark": self._bibliography_mark, "text:section": self._start_section,
            "field:param": self._field_code, "field:fieldmark-end": self._end_field,
        }  # fmt: skip

    def start(self, name: str, attributes: Attributes) -> None:
        """Start an element."""
        if name in _SKIPPED or self._skipped:
            self._skipped += 1
            return
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
        self._depth[name] -= 1
        if name in _PARAGRAPHS:
            if not self._open:
                return
            paragraph = self._open.pop()
            if self._open and self._open[-1].kind == "none" and self._open[-1].in_note:
                note = self._open[-1]
                note.words += [*paragraph.words, " "]
                note.displayed += [*paragraph.displayed, " "]
                return
            self._cited = []  # an unclosed citation ends with its paragraph
            self._outline.take(paragraph)
        elif name == "text:note-body":
            self._end_note()
        elif name == "text:a":
            target = self._links.pop() if self._links else ""
            if not self._open or self._cited or not target:
                return
            if mark := self._parsed.cite_url(target):
                self._open[-1].words.append(f" {mark}")
        elif name == "text:section":
            self._sections.pop()
        elif name == "text:bibliography-mark":
            self._end_mark({"name": "bibliography-mark"})

    def text(self, text: str) -> None:
        """Add text to the open paragraph."""
        if not self._skipped:
            self._add(without_places(text))

    def _add(self, text: str) -> None:
        if self._open:
            self._open[-1].add(text, cited=bool(self._cited))

    # --- Paragraphs and notes

    def _start_paragraph(self, attributes: Attributes) -> None:
        kind = self._styles.kind(attributes.get("style-name", ""))
        if self._depth["text:bibliography"] or any(self._sections):
            kind = "none" if kind == "heading" else "reference"
        elif not kind and self._depth["text:list-item"]:
            kind = "item"
        self._open.append(Paragraph(kind=kind, in_table=self._depth["table:table"] > 0))

    def _start_heading(self, attributes: Attributes) -> None:
        level = attributes.get("outline-level", "")
        number = int(level) if re.fullmatch(r"\d", level) else 0
        in_table = self._depth["table:table"] > 0
        self._open.append(Paragraph(kind="heading", level=number, in_table=in_table))

    def _start_note(self, _: Attributes) -> None:
        self._open.append(Paragraph(kind="none", in_note=True))

    def _end_note(self) -> None:
        """Put a note after its paragraph, or a note with citations only in its own place."""
        note = self._open.pop() if self._open and self._open[-1].in_note else None
        if note is None or not self._open:
            return
        if note.has_text:
            self._open[-1].notes.append(note)
        else:
            self._open[-1].words.append(note.text)

    def _start_section(self, attributes: Attributes) -> None:
        self._sections.append(is_bibliography(attributes.get("name", "")))

    # --- Citations

    def _start_mark(self, attributes: Attributes) -> None:
        self._cite(attributes.get("name", ""), attributes.get("name", ""))

    def _start_bookmark(self, attributes: Attributes) -> None:
        name = attributes.get("name", "")
        self._cite(self._codes.get(name, name), name)

    def _cite(self, code: str, mark: str) -> None:
        place = self._citations.place(code) if self._open else ""
        if place:
            self._open[-1].words.append(place)
            self._cited.append(mark)

    def _end_mark(self, attributes: Attributes) -> None:
        if self._cited and self._cited[-1] == attributes.get("name", ""):
            self._cited.pop()

    def _field_code(self, attributes: Attributes) -> None:
        """Read the code of a Word field that LibreOffice preserved."""
        if attributes.get("name", "").endswith("field.code"):
            self._cite(attributes.get("value", ""), "field")

    def _end_field(self, _: Attributes) -> None:
        self._end_mark({"name": "field"})

    def _bibliography_mark(self, attributes: Attributes) -> None:
        """Read LibreOffice's own citation, which contains the entry."""
        key, title, year = (attributes.get(each, "") for each in ("identifier", "title", "year"))
        if not key or not self._open:
            return
        text = ". ".join(filter(None, (attributes.get("author", ""), title, year)))
        doi = doi_in(attributes.get("url", "")) or doi_in(attributes.get("note", ""))
        stated = _YEAR.fullmatch(year)
        entry = Entry(key, fold(text), fold(title), doi, None, int(year) if stated else None)
        if entry not in self._parsed.entries[-_MOST_ALIKE:]:
            self._parsed.entries.append(entry)
        self._open[-1].words.append(self._parsed.cite([key]))
        self._cited.append("bibliography-mark")

    # --- Links

    def _start_link(self, attributes: Attributes) -> None:
        self._links.append(attributes.get("href", ""))


_MOST_ALIKE = 200
