"""Drafts as PDFs: paragraphs ask, and what the reference list has is cited already."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pdfs import SMALL_PAPER, prose, scanned, set_paper

from citebed.drafts import draft_from_bytes, pieces, read_draft
from citebed.errors import CitebedError


def test_a_pdf_is_read_as_a_draft(tmp_path: Path) -> None:
    (tmp_path / "elms.pdf").write_bytes(SMALL_PAPER)
    draft = read_draft(tmp_path / "elms.pdf")
    assert (draft.title, draft.authors) == ("On the Growth of Elms", ("Author, Ann", "Writer, Bob"))
    assert [passage.section for passage in draft.passages] == ["Abstract", "Introduction"]
    last = draft.passages[-1]
    assert last.text.startswith("Trees have been studied since people had gardens, and elms")
    assert last.cites == ("10.1145/1.1", "10.1145/2.2", "10.1145/3.3")
    assert set(draft.cited.dois) == {"10.1145/1.1", "10.1145/2.2", "10.1145/3.3"}
    assert [entry.key for entry in draft.cited.entries] == ["1", "2", "3"]
    assert draft.file == str(tmp_path / "elms.pdf")


def test_a_line_is_a_page() -> None:
    draft = draft_from_bytes(set_paper(), "standard input")
    pages = {passage.section: passage.line for passage in draft.passages}
    assert (pages["Introduction"], pages[prose(3, words=3)]) == (1, 3)
    assert {piece.line for piece in pieces(draft, "sentence")} == {1, 2, 3}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (scanned(), "ocrmypdf"),
        (b"<!DOCTYPE html><html>", "a web page, not a PDF"),
        (b"", "an empty file, not a PDF"),
        (set_paper(password=("secret", "owner")), "password"),
    ],
)
def test_files_that_are_not_papers_are_reported(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "draft.pdf").write_bytes(data)
    with pytest.raises(CitebedError, match=rf"draft\.pdf: .*{says}"):
        read_draft(tmp_path / "draft.pdf")
