"""Read OpenDocument texts (``.odt``), with citations by reference managers.

Tracked deletions, comments, indexes and tables of contents are skipped.
"""

from __future__ import annotations

import re

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
    walk,
)
from citebed.drafts.parsed_draft import ParsedDraft
from citebed.drafts.records import Entry
from citebed.files.file_kinds import OPEN_DOCUMENT
from citebed.text.identifiers import doi_in
from citebed.text.normalise import fold

_SKIPPED = frozenset(
    """
    text:tracked-changes office:annotation text:note-citation text:table-of-content
    text:alphabetical-index text:illustration-index text:table-index text:object-index
    text:user-index svg:title svg:desc text:sequence-decls office:forms text:ruby-text
    office:scripts draw:object text:bibliography-source
    """.split()  # noqa: SIM905
)
_BLANKS = {"text:s": " ", "text:tab": "\t", "text:line-break": " "}
_KIND = "application/vnd.oasis.opendocument.text"
_YEAR = re.compile(r"[12]\d{3}")
_MOST_ALIKE = 200


def read_opendocument(data: bytes, name: str, parsed: ParsedDraft) -> None:
    """Read an OpenDocument text into ``parsed``; raise ``CitebedError`` for any other file."""
    package = Package(data, name, OPEN_DOCUMENT)
    kind = (package.read("mimetype") or b"").decode("ascii", "replace").strip()
    if kind and not kind.startswith(_KIND):
        raise package.error(f"this is not a text document ({kind[:80]}); expected an .odt file")
    if b"encryption-data" in (package.read("META-INF/manifest.xml") or b""):
        raise package.error("it is protected by a password; save it without one")
    styles = Styles()

    def add_style(element: str, attributes: Attributes) -> None:
        if element == "style:style" and attributes.get("family", "paragraph") == "paragraph":
            style = attributes.get("name", "")
            styles.bases[style] = attributes.get("parent-style-name", "")
            styles.names[style] = attributes.get("display-name", style)

    walk(package, "styles.xml", add_style)
    walk(package, "content.xml", add_style)  # automatic styles
    codes = bookmark_codes(package, "meta.xml", "meta:user-defined")
    if "content.xml" not in package.names():
        raise package.error("content.xml is missing; save it again as .odt")
    outline = Outline(parsed)
    _Body(parsed, styles, codes, outline).read(package, "content.xml")
    outline.end()


class _Body(Body):
    """Makes paragraphs from the elements of a text."""

    def __init__(
        self, parsed: ParsedDraft, styles: Styles, codes: dict[str, str], outline: Outline
    ) -> None:
        super().__init__(_SKIPPED, _BLANKS)
        self._parsed, self._citations = parsed, Citations(parsed)
        self._styles, self._codes, self._outline = styles, codes, outline
        self._links: list[str] = []
        self._sections: list[bool] = []  # for each open section, True if it is the bibliography
        self._cited: list[str] = []  # marks of open citations
        self._starts = {
            "text:p": self._start_paragraph, "text:h": self._start_heading,
            "text:reference-mark-start": self._start_mark, "text:note-body": self._start_note,
            "text:reference-mark-end": self._end_mark, "text:bookmark-start": self._start_mark,
            "text:bookmark-end": self._end_mark, "text:a": self._start_link,
            "text:bibliography-mark": self._bibliography_mark, "text:section": self._start_section,
            "field:param": self._field_code, "field:fieldmark-end": self._end_field,
        }  # fmt: skip
        self._ends = {
            "text:p": self._end_paragraph, "text:h": self._end_paragraph,
            "text:note-body": self._end_note, "text:a": self._end_link,
            "text:section": self._end_section,
            "text:bibliography-mark": lambda: self._end_mark({"name": "bibliography-mark"}),
        }  # fmt: skip

    def _in_citation(self) -> bool:
        return bool(self._cited)

    # --- Paragraphs and notes

    def _start_paragraph(self, attributes: Attributes) -> None:
        kind, _ = self._styles.kind(attributes.get("style-name", ""))
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

    def _end_paragraph(self) -> None:
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

    def _start_note(self, _: Attributes) -> None:
        self._open.append(Paragraph(kind="none", in_note=True))

    def _end_note(self) -> None:
        if self._open and self._open[-1].in_note:
            self._put_note(self._open.pop())

    def _start_section(self, attributes: Attributes) -> None:
        self._sections.append(is_bibliography(attributes.get("name", "")))

    def _end_section(self) -> None:
        self._sections.pop()

    # --- Citations

    def _start_mark(self, attributes: Attributes) -> None:
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

    def _end_link(self) -> None:
        target = self._links.pop() if self._links else ""
        if self._open and not self._cited and (mark := self._parsed.cite_url(target)):
            self._put(f" {mark}")
