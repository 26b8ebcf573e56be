"""From bytes to a draft: formats, encodings, text that is not prose, and search text."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.drafts import draft_from_bytes, guess_form, parse_draft, pieces, read_draft
from citebed.errors import CitebedError, UnknownName

TEXT = "Über naïve Wörter."


@pytest.mark.parametrize(
    ("data", "notes"),
    [
        (TEXT.encode(), 0), (TEXT.encode("utf-8-sig"), 0), (TEXT.encode("utf-16"), 0),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), 0), (TEXT.encode("utf-16-le"), 0),
        (TEXT.encode("utf-16-be"), 0), (TEXT.encode("latin-1"), 1),
    ],
)  # fmt: skip
def test_encodings(data: bytes, notes: int) -> None:
    draft = draft_from_bytes(data, "draft")
    assert [passage.text for passage in draft.passages] == [TEXT]
    assert len(draft.notes) == notes


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends(end: str) -> None:
    draft = draft_from_bytes(f"One{end}line.{end}{end}Two.".encode(), "draft")
    assert [(passage.text, passage.line) for passage in draft.passages] == [
        ("One line.", 1), ("Two.", 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "cut short: its end is missing"),
        (b"PK\x03\x04....[Content_Types].xml....word/document.xml", "Word"),
        (b"PK\x03\x04....mimetypeapplication/vnd.oasis.opendocument.text", "OpenDocument"),
        (b"PK\x03\x04....paper.tex", "zip archive; unpack"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"{\\rtf1\\ansi Words.}", "RTF"),
        (b"%!PS-Adobe-3.0", "PostScript"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\n<!DOCTYPE html><html>", "HTML"),
        (b"words\0and more words", "a NUL byte at position 5"),
        (b"x" * 5000 + b"\0", "a NUL byte at position 5000"),
        (bytes(range(256)) * 8, "binary"),
        (b"", "no text"),
        (b" \n\t\n", "no text"),
        (b"\xef\xbb\xbf", "no text"),
    ],
)
def test_files_without_text_are_reported(data: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "draft.txt"
    path.write_bytes(data)
    with pytest.raises(CitebedError) as error:
        read_draft(path)
    assert says in str(error.value)
    assert str(error.value).startswith(str(path))


def test_files_that_are_not_there_or_no_files(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="no such file"):
        read_draft(tmp_path / "gone.tex")
    with pytest.raises(CitebedError, match="this is a folder"):
        read_draft(tmp_path)
    with pytest.raises(CitebedError, match="cannot be read"):
        read_draft(tmp_path / ("x" * 300))
    with pytest.raises(CitebedError, match="cannot be read"):
        read_draft(Path("a\0b"))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Some words [1] and (2).", "text"),
        (r"Some words \citep[see]{a}.", "tex"),
        (r"\section{One} Words.", "tex"),
        ("\\begin{itemize}", "tex"),
        ("Words [see @a] here.", "markdown"),
        ("# One\n\nWords.", "markdown"),
        ("---\ntitle: x\n---\n", "markdown"),
        ("Mail to me@example.org, C# and #1.", "text"),
        ("A table of\n\n# Queries\n\nand more.", "text"),
    ],
)
def test_the_form_of_a_text(text: str, form: str) -> None:
    assert guess_form(text) == form


def test_the_suffix_decides_the_form(tmp_path: Path) -> None:
    for name, text in (
        ("a.tex", "50% off"), ("a.md", "50% *off*"), ("a.txt", "50% off"), ("a", "50% off"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    texts = [
        read_draft(tmp_path / name).passages[0].text for name in ("a.tex", "a.md", "a.txt", "a")
    ]
    assert texts == ["50", "50% off", "50% off", "50% off"]


def test_names_that_are_not_known() -> None:
    with pytest.raises(UnknownName, match="markdown"):
        parse_draft("Words.", "markdwon")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="sentence"):
        pieces(parse_draft("Words."), "sentences")  # type: ignore[arg-type]
    with pytest.raises(CitebedError, match="empty"):
        parse_draft(" \n ")


def test_a_draft_without_prose_says_so() -> None:
    draft = parse_draft(r"\documentclass{article}\begin{document}\maketitle\end{document}")
    assert draft.passages == ()
    assert draft.notes == ("the text contains no prose",)
    assert pieces(draft, "text") == []


def test_pieces() -> None:
    draft = parse_draft("\n\\section{S}\nOne \\cite{a}. Two \\cite{b}.\n\nThree \\cite{a}.", "tex")
    (whole,) = pieces(draft, "text")
    assert whole.text == "One. Two.\n\nThree."
    assert (whole.cites, whole.line, whole.number) == (("a", "b"), 3, 1)
    assert pieces(draft, "paragraph") == list(draft.passages)
    sentences = pieces(draft, "sentence")
    assert [(s.number, s.text, s.cites, s.line, s.section) for s in sentences] == [
        (1, "One.", ("a",), 3, "S"),
        (2, "Two.", ("b",), 3, "S"),
        (3, "Three.", ("a",), 5, "S"),
    ]
