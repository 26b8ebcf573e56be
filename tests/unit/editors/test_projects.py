"""Which files an open file belongs to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from citebed.editors.projects import MAX_DRAFT, read_project

MAIN = r"\documentclass{book}\begin{document}\include{parts/one}\bibliography{refs}\end{document}"


@pytest.fixture
def thesis(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "main.tex").write_text(MAIN)
    (tmp_path / "other.tex").write_text(MAIN.replace("parts/one", "parts/two"))
    (tmp_path / "parts/one.tex").write_text(r"One idea is old \cite{a}.")
    (tmp_path / "refs.bib").write_text("@misc{a, title={A title}}")
    return tmp_path


def test_an_included_file_belongs_to_the_file_that_includes_it(thesis: Path) -> None:
    path = thesis / "parts/one.tex"
    found = read_project(path, {path: path.read_text()}, [thesis])
    assert found.root == thesis / "main.tex"
    assert {*found.files} == {thesis / "main.tex", path, thesis / "refs.bib"}
    assert found.bibs == {thesis / "refs.bib": "@misc{a, title={A title}}"}
    assert found.draft is not None
    assert found.draft.cited.keys == ("a",)


def test_unsaved_texts_replace_files(thesis: Path) -> None:
    path, new = thesis / "parts/one.tex", thesis / "parts/new.tex"
    texts = {
        path: r"\input{parts/new}", new: r"It is new \cite{b}.",
        thesis / "refs.bib": "@misc{b, title={B title}}",
    }  # fmt: skip
    found = read_project(path, texts, [thesis])
    assert found.root == thesis / "main.tex"
    assert found.draft is not None
    assert found.draft.cited.keys == ("b",)
    assert found.bibs[thesis / "refs.bib"] == "@misc{b, title={B title}}"


def test_a_comment_can_name_the_root(thesis: Path) -> None:
    path = thesis / "parts/one.tex"
    (thesis / "z.tex").write_text(MAIN)
    text = "% !TEX root = ../z.tex\n" + path.read_text()
    assert read_project(path, {path: text}, [thesis]).root == thesis / "z.tex"


def test_a_file_alone_has_the_bib_files_of_its_folder_or_workspace(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "bib").mkdir()
    (tmp_path / ".venv").mkdir()
    for name in ("bib/a.bib", ".venv/x.bib"):
        (tmp_path / name).write_text("@misc{a, title={A}}")
    path = tmp_path / "text/note.md"
    assert [*read_project(path, {path: "Known."}, [tmp_path]).bibs] == [tmp_path / "bib/a.bib"]
    (tmp_path / "text/own.bib").write_text("@misc{o, title={O}}")
    assert [*read_project(path, {path: "Known."}, [tmp_path]).bibs] == [tmp_path / "text/own.bib"]


def test_include_loops_end(tmp_path: Path) -> None:
    a, b = tmp_path / "a.tex", tmp_path / "b.tex"
    a.write_text(r"\documentclass{a}\input{b} Some words stay here.")
    b.write_text(r"\input{a} And other words.")
    assert read_project(b, {b: b.read_text()}, [tmp_path]).root == a


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"), ("\x7fELF\x02\x01\x01" + "\0" * 40, "binary|executable|text"),
        ("a" * (MAX_DRAFT + 1), "larger than 8 MB"),
    ],
)  # fmt: skip
def test_texts_that_are_not_drafts_have_a_problem(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "a.tex"
    path.write_text(text)
    found = read_project(path, {path: text}, [tmp_path])
    assert found.draft is None
    assert re.search(problem, found.problem)
