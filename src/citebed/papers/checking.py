"""What a PDF is before it is read as a paper: a refusal that says what was found and what to do,
or notes on what was read."""

from __future__ import annotations

import contextlib
import ctypes
import re
from dataclasses import replace

import pypdfium2
import pypdfium2.raw as pdfium

from citebed.errors import CitebedError
from citebed.files.kinds import HEAD_BYTES, is_pdf, why_no_pdf
from citebed.papers.bounds import MOST_PAGES
from citebed.papers.mirroring import put_back, runs_right_to_left
from citebed.papers.paper import ReadPaper
from citebed.wording import count

_TAIL = 2048
_LOOKED_AT = 4
_EVERY = 3
_MOST_CHARACTERS = 3000
_FEW_CHARACTERS = 200
_UNREADABLE, _SOME, _DOUBT = 0.3, 0.1, 0.02
_NO_CHARACTER = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd\ufffe\uffff]")
_MANY_WORDS = 60
_SLIDES = 1.15


class Refused(CitebedError):
    """A file that is not read as a paper, and why."""


# --- Before it is opened ------------------------------------------------------------------------


def opened(data: bytes) -> pypdfium2.PdfDocument:
    """The document in some bytes; raises ``Refused`` where there is none to read."""
    if not is_pdf(data, ".pdf"):
        raise Refused(why_no_pdf(data[:HEAD_BYTES]))
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Refused(_why(error.err_code, data)) from None
    if len(document) > MOST_PAGES:
        raise Refused(
            f"has {len(document):,} pages; papers and theses of up to {MOST_PAGES:,} pages are "
            "read. Part it, e.g. qpdf --split-pages=100 in.pdf out.pdf"
        )
    return document


def is_cut_short(data: bytes) -> bool:
    """Whether the end of a PDF is missing."""
    return b"%%EOF" not in data[-_TAIL:]


def _why(code: int | None, data: bytes) -> str:
    if code == pdfium.FPDF_ERR_PASSWORD:
        return (
            "encrypted, and opens only with a password; save a copy without it, e.g. "
            "qpdf --decrypt --password=PASSWORD in.pdf out.pdf"
        )
    if code == pdfium.FPDF_ERR_SECURITY:
        return "encrypted in a way that PDFium does not know; save a copy without encryption"
    if is_cut_short(data):
        return "cut short: its end is missing, and no page can be read. Get it anew"
    return "damaged: it begins as a PDF does, but no page can be read. Get it anew"


# --- Once it is read ----------------------------------------------------------------------------


def checked(document: pypdfium2.PdfDocument, paper: ReadPaper, data: bytes) -> ReadPaper:
    """The paper with notes on what is odd about it; raises ``Refused`` where nothing of it is
    text that could be used."""
    unreadable = _unreadable(document)
    text = " ".join(_texts(paper))
    lost = sum(width == 0 for width, _ in paper.pages)
    if unreadable.share > _UNREADABLE:
        raise Refused(f"{unreadable}: its fonts do not say which characters they show. {_FORCED}")
    if len(text) < _FEW_CHARACTERS and _is_scanned(document):
        raise Refused(
            f"pages of pictures without text, as a scanner makes them. {_OCR} in.pdf out.pdf"
        )
    if runs_right_to_left(text):
        paper = put_back(paper, _mirrored(document))
    notes = [
        *([f"{unreadable}, since a font does not say which"] if unreadable.share > _SOME else []),
        *(["its end is missing: what is there was read"] if is_cut_short(data) else []),
        *([f"{count(lost, 'page')} of {len(paper.pages):,} cannot be read"] if lost else []),
        *_notes(paper, text),
        *paper.notes,
    ]
    return replace(paper, notes=tuple(notes))


_OCR = "Text recognition helps, e.g. ocrmypdf"
_FORCED = f"{_OCR} --force-ocr in.pdf out.pdf"


def _texts(paper: ReadPaper) -> list[str]:
    parts = [paper.title, paper.abstract, *(p.content.text for p in paper.paragraphs)]
    return [*parts, *(entry.content.text for entry in paper.references)]


def _notes(paper: ReadPaper, text: str) -> list[str]:
    notes = []
    if runs_right_to_left(text):
        notes.append(
            "written from right to left: columns, and words of other scripts, may be in the wrong "
            "order"
        )
    if not text.strip():
        notes.append("no running text was found in it")
    elif not paper.references:
        what = "slides, by the shape of its pages" if _is_wide(paper) else "no paper that cites"
        notes.append(f"no list of references was found in it; it may be {what}")
    return notes


def _mirrored(document: pypdfium2.PdfDocument) -> set[int]:
    """The pages whose words were read in a mirror."""
    found = set()
    for number in range(len(document)):
        with contextlib.suppress(pypdfium2.PdfiumError):
            page = document[number]
            text = page.get_textpage()
            if runs_right_to_left(text.get_text_range()):
                found.add(number)
            text.close()
            page.close()
    return found


def _is_wide(paper: ReadPaper) -> bool:
    wide = sum(width > _SLIDES * height for width, height in paper.pages)
    return wide > len(paper.pages) / 2


class _Unreadable:
    """How many of the characters looked at are none that can be read."""

    def __init__(self, bad: int, count: int) -> None:
        self.bad, self.count = bad, count

    @property
    def share(self) -> float:
        return self.bad / self.count if self.count >= _MANY_WORDS else 0.0

    def __str__(self) -> str:
        return f"{self.bad:,} of {self.count:,} characters looked at cannot be read"


def _unreadable(document: pypdfium2.PdfDocument) -> _Unreadable:
    """Looks at some characters of one page, and of others where that one leaves a doubt."""
    pages = len(document)
    seen = _looked_at(document, pages // 2)
    if seen.count > 0 and seen.bad <= _DOUBT * seen.count:
        return seen
    others = [_looked_at(document, at) for at in range(0, pages, max(1, pages // _LOOKED_AT))]
    return _Unreadable(sum(each.bad for each in others), sum(each.count for each in others))


def _looked_at(document: pypdfium2.PdfDocument, number: int) -> _Unreadable:
    try:
        page = document[number]
        text = page.get_textpage()
    except pypdfium2.PdfiumError:
        return _Unreadable(0, 0)
    try:
        most = min(pdfium.FPDFText_CountChars(text.raw), _MOST_CHARACTERS)
        bad = [_is_unreadable(text.raw, at) for at in range(0, most, _EVERY)]
        return _Unreadable(sum(bad), len(bad))
    finally:
        text.close()
        page.close()


def _is_unreadable(text: ctypes.c_void_p, at: int) -> bool:
    if pdfium.FPDFText_IsGenerated(text, at) == 1:
        return False
    if pdfium.FPDFText_HasUnicodeMapError(text, at) == 1:
        return True
    unit = pdfium.FPDFText_GetUnicode(text, at)
    return unit not in (2, 0xFFFE) and _NO_CHARACTER.match(chr(unit)) is not None


def _is_scanned(document: pypdfium2.PdfDocument) -> bool:
    """Whether most of the first pages show a picture, and next to no text."""
    shown, pages = 0, min(len(document), _LOOKED_AT)
    for number in range(pages):
        with contextlib.suppress(pypdfium2.PdfiumError):
            page = document[number]
            shown += _has_picture(page)
            page.close()
    return 2 * shown > pages


def _has_picture(page: pypdfium2.PdfPage) -> bool:
    return any(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3))
