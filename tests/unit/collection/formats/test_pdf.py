"""PDFs as a format of import: a document, and the citing paper that it is."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tests.pdfs import SMALL_PAPER, scanned, set_paper

import citebed
from citebed.collection import ImportOptions, Rules, import_sources, open_collection
from citebed.collection.formats import FORMATS, Chunk
from citebed.errors import FormatError
from citebed.records import CitingPaper, Document, Link, Problem, Record


def parsed(data: bytes, name: str = "papers/elms.pdf") -> list[Record]:
    return list(FORMATS["pdf"].parse(Chunk(data, name)))


def test_a_paper_is_a_document_and_cites() -> None:
    document, paper = parsed(SMALL_PAPER)
    assert isinstance(document, Document)
    assert (document.doc_id, document.title) == ("elms", "On the Growth of Elms")
    assert document.authors == ("Author, Ann", "Writer, Bob")
    assert document.abstract is not None
    assert document.abstract.startswith("Elms grow in places")
    assert [section.heading for section in document.sections] == ["Introduction"]
    assert document.links == tuple(Link(f"10.1145/{at}.{at}") for at in (1, 2, 3))
    assert isinstance(paper, CitingPaper)
    (context,) = paper.contexts
    assert context.section == "Introduction"
    assert [sentence.cites for sentence in context.sentences] == [("1", "2", "3"), ("2",)]
    assert {sentence.anonymised for sentence in context.sentences} == {None}
    first, _, last = paper.references
    assert (first.ref_id, first.doi) == ("1", "10.1145/1.1")
    assert first.title == "A long history of the gardens of the world"
    assert (last.author, last.doi) == ("Yew, E.", "10.1145/3.3")


def test_a_doi_of_a_reference_is_not_the_papers_own() -> None:
    document = parsed(SMALL_PAPER)[0]
    assert isinstance(document, Document)
    assert document.doi is None


def test_what_cannot_be_read_is_a_problem() -> None:
    (problem,) = parsed(scanned())
    assert isinstance(problem, Problem)
    assert problem.kind == "skipped"
    assert "ocrmypdf" in problem.what


def test_papers_in_folders_and_archives_cite_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "one.pdf").write_bytes(set_paper())
    (folder / "page.pdf").write_bytes(b"<!DOCTYPE html><html>Log in</html>")
    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("deep/elms.pdf", SMALL_PAPER)
    (tmp_path / "cited.bib").write_text(
        "@article{oak, title={A long history of the gardens of the world}, author={Oak, Carl},"
        " doi={10.1145/1.1}}\n"
        "@article{town, title={The Gardens of Town Number 3 and Their Elms}, author={Oak, Carl}}\n"
    )
    rules = Rules(types=("article", "misc"))
    sources = [folder, tmp_path / "cited.bib"]
    report = import_sources(tmp_path / "c", sources, ImportOptions(rules=rules, workers=1))
    assert report.documents == 4
    problems = dict(report.problems.select("source", "what").iter_rows())
    assert "a web page, not a PDF" in problems["papers/page.pdf"]
    collection = open_collection(tmp_path / "c")
    found = collection.references.drop_nulls("doc_id").select("paper_id", "ref_id", "doc_id")
    assert ("elms", "1", "oak") in found.rows()
    assert citebed.open(tmp_path / "c").documents.height == 4


def test_many_papers_are_read_by_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from citebed.collection.reading import parser

    monkeypatch.setattr(parser, "IN_PROCESS_BYTES", 1)
    monkeypatch.setattr(parser, "JOB_BYTES", 1)
    for at in range(4):
        whole = set_paper(references=3 + at)
        (tmp_path / f"{at}.pdf").write_bytes(whole[: len(whole) // 2] if at == 2 else whole)
    paths = [tmp_path / f"{at}.pdf" for at in range(4)]
    report = import_sources(tmp_path / "c", paths, ImportOptions(workers=2))
    assert report.problems.select("source", "line").rows() == [("2.pdf", 1)]
    assert set(open_collection(tmp_path / "c").set_aside["doc_id"]) | set(
        open_collection(tmp_path / "c").documents["doc_id"]
    ) >= {"0", "1", "3"}


def test_strictly_a_paper_that_cannot_be_read_ends_the_import(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(scanned())
    (tmp_path / "b.pdf").write_bytes(SMALL_PAPER)
    with pytest.raises(FormatError, match="ocrmypdf"):
        import_sources(
            tmp_path / "c", [tmp_path / "a.pdf", tmp_path / "b.pdf"], ImportOptions(strict=True)
        )
