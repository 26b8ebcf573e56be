"""Read a paper from a PDF: pages, lines, the kind of each line, paragraphs and references.

A file that is not a readable PDF is refused with a reason and a remedy. Anything odd about a paper
that was read becomes one of its notes.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TypeVar

import pypdfium2
import pypdfium2.raw as pdfium

from citebed.errors import CitebedError
from citebed.files.file_kinds import HEAD_BYTES, explain_not_pdf, is_pdf
from citebed.files.limits import effective_limit, format_size
from citebed.papers.footnotes import cite_in_footnotes, find_footnotes
from citebed.papers.front_matter import (
    FrontMatter,
    find_abstract,
    parse_front_matter,
    strip_abstract_heading,
)
from citebed.papers.pages import (
    build_lines,
    find_gutters,
    find_page_gutters,
    open_page,
    order_lines,
    read_pages,
    remove_line_numbers,
    restore_ligatures,
    runs_right_to_left,
)
from citebed.papers.paper import (
    CPU_SECONDS,
    CPU_SECONDS_PER_PAGE,
    MAX_CPU_SECONDS,
    MAX_PAGES,
    MEMORY,
    Box,
    ReadPaper,
    ReadParagraph,
    ReferenceEntry,
    allow_cpu_seconds,
)
from citebed.papers.paragraphs import (
    Paragraph,
    bullet_length,
    count_raised_numbers,
    place_texts,
    plain_letters,
    split_body,
)
from citebed.papers.properties import read_properties
from citebed.papers.reference_list import find_references, label_length
from citebed.papers.structure import Style, classify_lines, find_running_lines, measure_style
from citebed.text.identifiers import doi_in
from citebed.wording import count


class Refused(CitebedError):
    """A file that cannot be read as a paper, and why."""


def read_pdf(data: bytes) -> ReadPaper:
    """Return the paper in a PDF; raise `Refused` if the file is not a readable PDF.

    Limits the processor time of this process, so call it in a child process.
    """
    allow_cpu_seconds(CPU_SECONDS)
    try:
        if not is_pdf(data, ".pdf"):
            raise Refused(explain_not_pdf(data[:HEAD_BYTES]))
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            raise Refused(_why_not_opened(error.err_code, data)) from None
        if len(document) > MAX_PAGES:
            raise Refused(
                f"has {len(document):,} pages; citebed reads papers and theses of up to "
                f"{MAX_PAGES:,} pages. Split it, e.g. qpdf --split-pages=100 in.pdf out.pdf"
            )
        seconds = CPU_SECONDS + int(CPU_SECONDS_PER_PAGE * len(document))
        allow_cpu_seconds(min(seconds, MAX_CPU_SECONDS))
        try:
            return _checked(document, read_document(document, data), data)
        finally:
            document.close()
    except MemoryError:
        raise Refused(
            f"takes more than {format_size(effective_limit(MEMORY))} of memory to read"
        ) from None


# --- Open the file ------------------------------------------------------------------------------

_TAIL = 2048


def _why_not_opened(code: int | None, data: bytes) -> str:
    if code == pdfium.FPDF_ERR_PASSWORD:
        return (
            "encrypted, and opens only with a password; save a copy without it, e.g. "
            "qpdf --decrypt --password=PASSWORD in.pdf out.pdf"
        )
    if code == pdfium.FPDF_ERR_SECURITY:
        return "encrypted in a way that PDFium does not know; save a copy without encryption"
    if _is_cut_short(data):
        return "cut short: its end is missing, and no page can be read. Download it again"
    return "damaged: it begins like a PDF, but no page can be read. Download it again"


def _is_cut_short(data: bytes) -> bool:
    return b"%%EOF" not in data[-_TAIL:]


# --- Read the document --------------------------------------------------------------------------

_CITING = 0.25
"""Share of the footnotes that must cite, so that their numbers are citation markers."""
_BRACKETS = re.compile(r"\[\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\]|\(\D{2,60}\d{4}[a-z]?\)")


def read_document(document: pypdfium2.PdfDocument, data: bytes = b"") -> ReadPaper:
    """Return the paper in an open PDF; ``data`` is the file, which may have XMP metadata."""
    sizes, raw = [], []
    for page in remove_line_numbers(read_pages(document)):
        sizes.append((page.width, page.height))
        raw.append(build_lines(page))
    raw = restore_ligatures(raw)
    width = max((width for width, _ in sizes), default=0)
    gutters = find_gutters(raw, width)
    pages = [order_lines(lines, find_page_gutters(lines, gutters, width)) for lines in raw]
    style = measure_style([line for page in pages for line in page])
    front = FrontMatter()
    if pages:
        front = parse_front_matter(pages, style, read_properties(document, data))
    lines = [line for page in pages for line in page if id(line) not in front.lines]
    kinds = classify_lines(lines, style, find_running_lines(pages))
    notes = find_footnotes(lines, kinds, style)
    noted = {id(line) for _, note in notes for line in note}
    above = [at for at, line in enumerate(lines) if id(line) not in noted]
    head, abstract = find_abstract([lines[at] for at in above], [kinds[at] for at in above], style)
    in_abstract = set(map(id, [head, *abstract]))
    rest = [at for at, line in enumerate(lines) if id(line) not in in_abstract]
    lines, kinds = [lines[at] for at in rest], [kinds[at] for at in rest]
    entries = find_references(lines, kinds, style)
    if notes:  # they may interrupt the list; or they are the list
        free = [at for at, line in enumerate(lines) if id(line) not in noted]
        other = find_references([lines[at] for at in free], [kinds[at] for at in free], style)
        if sum(entry.label != "" for entry in entries) <= max(len(other), len(notes) / 2):
            entries = other
    notes = [] if any(entry.label for entry in entries) else notes
    listed = {id(line) for entry in entries for line in entry.lines}
    body = split_body(lines, kinds, style, listed | noted if notes else listed)
    references = []
    for entry, content in zip(entries, place_texts([e.lines for e in entries]), strict=True):
        printed = plain_letters("\n".join(line.text for line in entry.lines))
        own = content.part(label_length(entry.label, content.text))
        printed = printed[label_length(entry.label, printed) :]
        references.append(ReferenceEntry(entry.label, own, printed))
    # Raised numbers cite if the paper has many more of them than citations in brackets.
    brackets = sum(len(_BRACKETS.findall(line.text)) for p in body for line in p.lines)
    raised_cite = sum(count_raised_numbers(p.lines) for p in body) > 2 * brackets
    cited_in: dict[str, tuple[int, ...]] = {}
    if raised_cite and notes:
        texts = place_texts([note for _, note in notes])
        footnotes = [
            (name, text.part(len(name.partition("@")[0])))
            for (name, _), text in zip(notes, texts, strict=True)
        ]
        found, citing = cite_in_footnotes(footnotes, references)
        if len(citing) >= _CITING * len(notes):
            references, cited_in = found, citing
    # In a list without numbers, raised numbers are those of footnotes.
    raised_cite &= not entries or bool(cited_in) or any(each.label.isdigit() for each in entries)
    summary, *paragraphs = _place_paragraphs([Paragraph("", abstract), *body], style, raised_cite)
    cited = {doi_in(entry.content.text) for entry in references}
    return ReadPaper(
        title=front.title,
        authors=front.authors,
        abstract=strip_abstract_heading(summary.content.text),
        doi=front.doi if front.doi not in cited else None,  # references may begin on page one
        year=front.year,
        paragraphs=tuple(paragraphs),
        references=tuple(references),
        pages=tuple(sizes),
        footnotes=tuple(cited_in.items()),
        notes=front.notes,
    )


def _place_paragraphs(
    paragraphs: Sequence[Paragraph], style: Style, raised_cite: bool
) -> list[ReadParagraph]:
    texts = place_texts([p.lines for p in paragraphs], raised_cite=raised_cite)
    read = []
    for paragraph, content in zip(paragraphs, texts, strict=True):
        text = content.text
        head = _run_in_heading_length(paragraph, text, style) or bullet_length(text)
        rest = content.part(head) if head else content
        read.append(ReadParagraph(paragraph.section, rest, text[:head].strip(), paragraph.is_item))
    return read


def _run_in_heading_length(paragraph: Paragraph, text: str, style: Style) -> int:
    """Return the length of the bold or italic words, up to a stop, that head a paragraph."""
    words = [word for line in paragraph.lines[:3] for word in line.words]
    font = words[0].font if words else None
    if font is None or font.name == style.font or not (font.bold or font.italic):
        return 0
    same = takewhile(lambda word: word.font == font, words)
    length = sum(len(word.text) + 1 for word in same)
    head = text[: max(length - 1, 0)]
    return length if head.rstrip().endswith(".") and "[" not in head and length <= 130 else 0


# --- Check the paper ----------------------------------------------------------------------------

_FEW_CHARACTERS = 200
_UNREADABLE, _NOTEWORTHY = 0.3, 0.1
"""Shares of unreadable characters: above the first a file is refused, above the second noted."""
_SLIDES = 1.15
"""Width of a page by its height, above which a document is probably slides."""
_OCR = "Text recognition helps, e.g. ocrmypdf"
_FORCED_OCR = f"{_OCR} --force-ocr in.pdf out.pdf"


def _checked(document: pypdfium2.PdfDocument, paper: ReadPaper, data: bytes) -> ReadPaper:
    """Return the paper with notes on its oddities; raise `Refused` if it has no usable text."""
    unreadable, sampled = _sample_characters(document)
    share = unreadable / sampled if sampled >= _MIN_SAMPLE else 0.0
    problem = f"{unreadable:,} of {sampled:,} sampled characters cannot be read"
    parts = [paper.title, paper.abstract, *(p.content.text for p in paper.paragraphs)]
    text = " ".join([*parts, *(entry.content.text for entry in paper.references)])
    lost = sum(width == 0 for width, _ in paper.pages)
    if share > _UNREADABLE:
        raise Refused(f"{problem}: its fonts have no Unicode mapping. {_FORCED_OCR}")
    if len(text) < _FEW_CHARACTERS and _is_scanned(document):
        raise Refused(f"a scan: its pages are pictures without text. {_OCR} in.pdf out.pdf")
    right_to_left = runs_right_to_left(text)
    if right_to_left:
        paper = _unmirror(paper, document)
    notes = []
    if share > _NOTEWORTHY:
        notes.append(f"{problem}: a font has no Unicode mapping")
    if _is_cut_short(data):
        notes.append("its end is missing; citebed read the rest")
    if lost:
        notes.append(f"{count(lost, 'page')} of {len(paper.pages):,} cannot be read")
    if right_to_left:
        notes.append(
            "written from right to left: columns, and words of other scripts, may be in the wrong "
            "order"
        )
    wide = sum(width > _SLIDES * height for width, height in paper.pages)
    are_slides = wide > len(paper.pages) / 2
    if not text.strip():
        notes.append("it has no running text" + "; it may be slides" * are_slides)
    elif not paper.references:
        kind = "slides" if are_slides else "a paper without citations"
        notes.append(f"no reference list found; it may be {kind}")
    return replace(paper, notes=(*notes, *paper.notes))


_SAMPLED_PAGES = 4
_MAX_CHARACTERS, _STEP = 3000, 3
_MIN_SAMPLE = 60
_DOUBT = 0.02
_NO_CHARACTER = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd\ufffe\uffff]")


def _sample_characters(document: pypdfium2.PdfDocument) -> tuple[int, int]:
    """Count unreadable characters and all characters in a sample.

    The sample is one page, or several if that page has too many unreadable characters.
    """
    pages = len(document)
    unreadable, sampled = _sample_page(document, pages // 2)
    if sampled > 0 and unreadable <= _DOUBT * sampled:
        return unreadable, sampled
    step = max(1, pages // _SAMPLED_PAGES)
    counts = [_sample_page(document, number) for number in range(0, pages, step)]
    return sum(bad for bad, _ in counts), sum(number for _, number in counts)


def _sample_page(document: pypdfium2.PdfDocument, number: int) -> tuple[int, int]:
    unreadable: list[bool] = []
    with contextlib.suppress(pypdfium2.PdfiumError), open_page(document, number) as (_, text):
        last = min(pdfium.FPDFText_CountChars(text.raw), _MAX_CHARACTERS)
        for at in range(0, last, _STEP):
            unit = pdfium.FPDFText_GetUnicode(text.raw, at)
            strange = unit not in (2, 0xFFFE) and _NO_CHARACTER.match(chr(unit)) is not None
            unreadable.append(
                pdfium.FPDFText_IsGenerated(text.raw, at) != 1
                and (strange or pdfium.FPDFText_HasUnicodeMapError(text.raw, at) == 1)
            )
    return sum(unreadable), len(unreadable)


def _is_scanned(document: pypdfium2.PdfDocument) -> bool:
    """Return True if most of the first pages contain a picture."""
    pictures, pages = 0, min(len(document), _SAMPLED_PAGES)
    for number in range(pages):
        with contextlib.suppress(pypdfium2.PdfiumError):
            page = document[number]
            pictures += any(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3))
            page.close()
    return 2 * pictures > pages


# --- Right-to-left pages ------------------------------------------------------------------------
# PDFium returns Hebrew and Arabic words in reading order, but their positions run from right to
# left. `read_pages` mirrors such pages, so that all code above sees text that runs to the right.

_Part = TypeVar("_Part", ReadParagraph, ReferenceEntry)


def _unmirror(paper: ReadPaper, document: pypdfium2.PdfDocument) -> ReadPaper:
    """Return the paper with true positions on mirrored pages."""
    mirrored = set()
    for number in range(len(document)):
        with contextlib.suppress(pypdfium2.PdfiumError), open_page(document, number) as (_, text):
            if runs_right_to_left(text.get_text_range()):
                mirrored.add(number)

    def true_box(box: Box) -> Box:
        if box.page not in mirrored:
            return box
        width = paper.pages[box.page][0]
        return box._replace(left=width - box.right, right=width - box.left)

    def unmirror(part: _Part) -> _Part:
        return replace(
            part, content=replace(part.content, places=tuple(map(true_box, part.content.places)))
        )

    return replace(
        paper,
        paragraphs=tuple(map(unmirror, paper.paragraphs)),
        references=tuple(map(unmirror, paper.references)),
    )
