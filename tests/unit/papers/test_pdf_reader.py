"""Made-up papers in several styles, read from their PDFs against what is true of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from citebed.papers.annotation import Annotation
from citebed.papers.annotator import annotate
from citebed.papers.paper import ReadPaper
from citebed.papers.pdf_reader import read_document

FOLDER = Path(__file__).resolve().parents[2] / "papers_made" / "pdf"
PDFS = sorted(FOLDER.glob("*.pdf"))


def plain(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()


@pytest.fixture(scope="module", params=PDFS, ids=lambda path: path.stem)
def made(request: pytest.FixtureRequest) -> tuple[ReadPaper, Annotation, dict[str, Any]]:
    """A paper as it is read, its annotation, and the truth."""
    pdf: Path = request.param
    paper = read_document(pypdfium2.PdfDocument(pdf))
    truth = json.loads(pdf.with_suffix(".json").read_text("utf-8"))
    return paper, annotate(paper, pdf.stem, sections=()), truth


def keys_of(found: Annotation, truth: dict[str, Any]) -> dict[str, str]:
    """The true key of each entry that was found."""
    return {
        entry.ref_id: key
        for entry in found.references
        for key, said in truth["references"].items()
        if plain(said["title"]) in plain(entry.text)
    }


def test_every_reference_is_found_once(
    made: tuple[ReadPaper, Annotation, dict[str, Any]],
) -> None:
    _paper, found, truth = made
    keys = keys_of(found, truth)
    assert sorted(keys.values()) == sorted(truth["references"])
    longest = max(len(entry.text) for entry in found.references)
    assert longest < 400


def test_nearly_all_markers_mean_the_right_reference(
    made: tuple[ReadPaper, Annotation, dict[str, Any]],
) -> None:
    _paper, found, truth = made
    keys = keys_of(found, truth)
    ours = sorted(
        keys.get(cite, "") for c in found.contexts for s in c.sentences for cite in s.cites
    )
    wanted = sorted(
        key
        for paragraph in truth["paragraphs"]
        for sentence in paragraph["sentences"]
        for key in {key for cites in sentence["cites"] for key in cites}
    )
    right = sum(min(ours.count(key), wanted.count(key)) for key in set(wanted))
    assert 2 * right / (len(ours) + len(wanted)) > 0.95


def test_paragraphs_are_whole(made: tuple[ReadPaper, Annotation, dict[str, Any]]) -> None:
    paper, _found, truth = made
    ours = [plain(p.content.text) for p in paper.paragraphs]
    uncited = [
        [plain(said["text"]) for said in p["sentences"] if not said["cites"]]
        for p in truth["paragraphs"]
    ]
    whole = [any(all(said in text for said in some) for text in ours) for some in uncited]
    assert sum(whole) >= 0.9 * len(whole)
    assert abs(len(paper.paragraphs) - len(whole)) <= 2


def test_the_head_is_read(made: tuple[ReadPaper, Annotation, dict[str, Any]]) -> None:
    paper, _found, truth = made
    assert plain(paper.title) == plain(truth["title"])
    assert plain(paper.abstract) == plain(truth["abstract"])
    assert truth["year"] in (None, paper.year)


def test_every_box_lies_on_its_page(
    made: tuple[ReadPaper, Annotation, dict[str, Any]],
) -> None:
    paper, _found, _truth = made
    texts = [p.content for p in paper.paragraphs] + [r.content for r in paper.references]
    for box in (box for text in texts for box in text.boxes()):
        width, height = paper.pages[box.page]
        assert 0 <= box.left < box.right <= width
        assert 0 <= box.top < box.bottom <= height
