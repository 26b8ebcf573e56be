"""From a PDF file to a paper: pages, lines, what each line is, paragraphs and references."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence

import pypdfium2
import pypdfium2.raw as pdfium

from citebed.papers.entries import Entry, entries_of, text_behind
from citebed.papers.front import Front, abstract_of, abstract_text, front_of
from citebed.papers.ligatures import mend
from citebed.papers.lines import gutters, in_reading_order, lines_of
from citebed.papers.margins import without_line_numbers
from citebed.papers.pages import read_pages
from citebed.papers.paper import PlacedText, ReadPaper, ReadParagraph, ReferenceEntry
from citebed.papers.paragraphs import Paragraph, body_of, sign_length
from citebed.papers.placing import placed_texts, raised_numbers
from citebed.papers.structure import Style, kinds_of, running_lines, style_of
from citebed.text.identifiers import doi_in

_BRACKETS = re.compile(r"\[\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\]|\(\D{2,60}\d{4}[a-z]?\)")


def read_document(document: pypdfium2.PdfDocument) -> ReadPaper:
    """The paper that a PDF holds."""
    sizes, raw = [], []
    for page in without_line_numbers(read_pages(document)):
        sizes.append((page.width, page.height))
        raw.append(lines_of(page))
    raw = mend(raw)
    edges = gutters(raw, max((width for width, _ in sizes), default=0))
    pages = [in_reading_order(lines, edges) for lines in raw]
    lines = [line for page in pages for line in page]
    style = style_of(lines)
    front = front_of(pages[0], style, _author_property(document)) if pages else Front()
    kept = [line for line in lines if id(line) not in front.lines]
    kinds = kinds_of(kept, style, running_lines(pages))
    abstract = abstract_of(kept, kinds)
    apart = set(map(id, abstract))
    rest = [(line, kind) for line, kind in zip(kept, kinds, strict=True) if id(line) not in apart]
    body = body_of([line for line, _ in rest], [kind for _, kind in rest], style)
    summary, *paragraphs = _paragraphs([Paragraph("", abstract), *body.paragraphs], style)
    references = tuple(_references(entries_of(body.references, style)))
    cited = {doi_in(entry.content.text) for entry in references}
    return ReadPaper(
        title=front.title,
        authors=front.authors,
        abstract=abstract_text(summary.content.text),
        doi=front.doi if front.doi not in cited else None,  # they may begin on the first page
        year=front.year,
        paragraphs=tuple(paragraphs),
        references=references,
        pages=tuple(sizes),
        notes=front.notes,
    )


def _author_property(document: pypdfium2.PdfDocument) -> str:
    """The file's own entry of its authors; ``get_metadata_value`` raises on half a character."""
    length = pdfium.FPDF_GetMetaText(document, b"Author", None, 0)
    buffer = ctypes.create_string_buffer(max(length, 2))
    pdfium.FPDF_GetMetaText(document, b"Author", buffer, length)
    return buffer.raw[:-2].decode("utf-16-le", "replace")


def _paragraphs(found: Sequence[Paragraph], style: Style) -> list[ReadParagraph]:
    raised = sum(raised_numbers(paragraph.lines) for paragraph in found)
    brackets = sum(len(_BRACKETS.findall(line.text)) for p in found for line in p.lines)
    texts = placed_texts([p.lines for p in found], raised_cite=raised > 2 * brackets)
    read = []
    for paragraph, content in zip(found, texts, strict=True):
        head = _head(paragraph, content.text, style) or sign_length(content.text)
        text = behind(content, head) if head else content
        read.append(
            ReadParagraph(paragraph.section, text, content.text[:head].strip(), paragraph.is_item)
        )
    return read


def _head(paragraph: Paragraph, text: str, style: Style) -> int:
    """Where a paragraph's own head ends: its first words in another style, up to a stop."""
    words = paragraph.lines[0].words if paragraph.lines else ()
    font = words[0].font if words else None
    if font is None or font.name == style.font or not (font.bold or font.italic):
        return 0
    length = 0
    for line in paragraph.lines[:3]:
        for word in line.words:
            if word.font != words[0].font:
                break
            length += len(word.text) + 1
        else:
            continue
        break
    head = text[: max(length - 1, 0)]
    if not head.rstrip().endswith(".") or "[" in head or length > 130:
        return 0
    return length


def behind(content: PlacedText, start: int) -> PlacedText:
    """What stands behind a place of a text."""
    text = content.text[start:].lstrip()
    cut = len(content.text) - len(text)
    pairs = [(at - cut, box) for at, box in zip(content.starts, content.places, strict=True)]
    kept = [(max(at, 0), box) for at, box in pairs if at >= 0]
    return PlacedText(text, tuple(at for at, _ in kept), tuple(box for _, box in kept))


def _references(entries: Sequence[Entry]) -> Iterator[ReferenceEntry]:
    texts = placed_texts([entry.lines for entry in entries])
    for entry, content in zip(entries, texts, strict=True):
        printed = "\n".join(line.text for line in entry.lines)
        yield ReferenceEntry(
            entry.label,
            behind(content, text_behind(entry.label, content.text)),
            printed[text_behind(entry.label, printed) :],
        )
