"""PDFs that cannot be read well: the message says why, and what to do."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from tests import pdfs
from tests.pdfs import SMALL_PAPER, plain_pdf, set_in, set_paper
from tests.sampling import sized

from citebed.papers import child_process
from citebed.papers.child_process import PaperFile, PaperProblem, read_paper
from citebed.papers.paper import ReadPaper

WHOLE = set_paper()
_PORTRAIT, _LANDSCAPE = b"[0 0 612 792]", b"[0 0 992 792]"
SLIDES = plain_pdf([["# Elms", "a point", "another point", "a third"]] * 4).replace(
    _PORTRAIT, _LANDSCAPE
)
TALKATIVE = plain_pdf(
    [["# Elms", "", *["Elms grow in gardens of all kinds and sizes."] * 9]] * 4
).replace(_PORTRAIT, _LANDSCAPE)
REFUSED = {
    "an empty file": (b"", "an empty file, not a PDF"),
    "blanks": (b" \n ", "an empty file, not a PDF"),
    "a web page": (b"<!DOCTYPE html>\n<html>403", "a web page, not a PDF.*in a browser"),
    "a web page with a mark": (b"\n<html><p>%pdf</p>", "a web page, not a PDF"),
    "a picture": (b"\x89PNG\r\n", "a PNG image, not a PDF"),
    "some text": (b"words " * 400, "not a PDF: %PDF- is not in its first bytes"),
    "a scan": (pdfs.scanned(), "a scan: its pages are pictures without text.*ocrmypdf in.pdf"),
    "a password": (set_paper(password=("secret", "owner")), "only with a password.*qpdf"),
    "the first half": (WHOLE[: len(WHOLE) // 2], "cut short: its end is missing"),
    "damage": (SMALL_PAPER[:20] + b"%%EOF", "damaged: .* no page can be read"),
    "too many pages": (plain_pdf([[]] * 10_000), "has 10,000 pages;.*up to 2,000"),
    "pages in a ring": (pdfs.looping_pages(), "pages"),
    "a font without names": (
        pdfs.nameless_font(),
        r"\d+ of \d+ sampled characters cannot be read.*ocrmypdf --force-ocr",
    ),
}


def read(data: bytes) -> ReadPaper | PaperProblem:
    return read_paper(PaperFile("a.pdf", data))


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    data, says = REFUSED[name]
    found = read(data)
    assert isinstance(found, PaperProblem)
    assert re.search(says, found.what), found.what
    assert found.error.path == "a.pdf"


NOTED = {
    "only its owner's password": (set_paper(password=("", "owner")), ""),
    "lines before it": (b"From a mail\r\n\r\n" + SMALL_PAPER, ""),
    "an end that is missing": (
        WHOLE.replace(b"%%EOF", b""),
        "its end is missing; citebed read",
    ),
    "slides": (SLIDES, "it has no running text; it may be slides"),
    "slides with sentences": (TALKATIVE, "no reference list found; it may be slides"),
    "no references": (
        plain_pdf([["# Elms", "", *["Elms grow in gardens of all kinds and sizes."] * 9]]),
        "no reference list found; it may be a paper without citations",
    ),
    "no words": (plain_pdf([[]]), "it has no running text"),
    "brackets in brackets": (pdfs.nested_bomb(), "it has no running text"),
}


@pytest.mark.parametrize("name", NOTED)
def test_notes_about_odd_files(name: str) -> None:
    data, says = NOTED[name]
    found = read(data)
    assert isinstance(found, ReadPaper), found
    assert re.search(says, " | ".join(found.notes)), found.notes
    assert bool(found.notes) == bool(says)


BOMBS = {
    "unpacks to gigabytes": partial(pdfs.unpacking_bomb, sized(1, 4)),
    "draws a thousand million times": pdfs.drawing_bomb,
    "millions of words on a page": partial(pdfs.many_words, sized(12, 30)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_its_child_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3]))
    monkeypatch.setattr(child_process, "_PREPARE", "tests.paper_targets:prepare")
    children = child_process.Children()
    found = children.read(PaperFile("a.pdf", BOMBS[name]()))
    assert isinstance(found, PaperProblem)
    assert re.search("PDFium crashed|timed out|memory", found.what), found.what
    assert isinstance(children.read(PaperFile("a.pdf", SMALL_PAPER)), ReadPaper)
    children.close()


HEBREW = "אלו הן מילים של מאמר קצר על עצים בגנים גדולים"
ARABIC = "هذه كلمات من مقالة قصيرة عن الأشجار في الحدائق الكبيرة"


@pytest.mark.parametrize("line", [HEBREW, ARABIC])
def test_text_from_right_to_left_is_read_in_its_order(line: str) -> None:
    found = read(set_in([line[::-1]] * 12))
    assert isinstance(found, ReadPaper), found
    assert line in found.paragraphs[0].content.text
    boxes = found.paragraphs[0].content.boxes(0, len(line))
    assert boxes[0].right == pytest.approx(520, abs=3)
    assert any("from right to left" in note for note in found.notes)


def test_a_paragraph_that_ends_in_a_hyphen_is_a_paragraph() -> None:
    lines = ["Elms grow in gardens of all kinds and of all sizes, and in the open coun-"] * 3
    page = ["# Elms of the World", "", "## 1 Introduction", *lines, "", "## 2 Gardens", *lines]
    found = read(plain_pdf([page]))
    assert isinstance(found, ReadPaper), found
    assert [each.section for each in found.paragraphs] == ["Introduction", "Gardens"]
