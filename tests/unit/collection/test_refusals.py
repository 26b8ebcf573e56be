"""Files that cannot be imported: the error names their kind and says what to do."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile
from pathlib import Path

import pytest

from citebed.cli.app import main
from citebed.collection import ImportOptions, Rules, import_sources
from citebed.errors import CitebedError, UnknownName
from citebed.text.languages import is_language

ONE = "@misc{one, title = {On Zebras}}\n"


def _zip(path: Path, **members: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)


def _database(path: Path) -> None:
    with sqlite3.connect(path) as made:
        made.execute("create table items (itemID integer)")


OTHERS = {
    "zotero.sqlite": "SQLite database.*Export the library",
    "paper.pdf": "cut short: its end is missing",
    "paper.docx": "a Word document, not a bibliography",
    "paper.odt": "an OpenDocument file, not a bibliography",
    "table.xlsx": "an Excel workbook.*CSV",
    "notes.ipynb": "a Jupyter notebook",
    "page.html": "HTML",
}


@pytest.fixture
def others(tmp_path: Path) -> Path:
    folder = tmp_path / "others"
    folder.mkdir()
    _database(folder / "zotero.sqlite")
    (folder / "paper.pdf").write_bytes(b"%PDF-1.7\n%\xe2\xe3\n1 0 obj")
    types = {"[Content_Types].xml": "<Types/>", "_rels/.rels": "<r/>"}
    _zip(folder / "paper.docx", **types, **{"word/document.xml": "<w/>"})
    _zip(folder / "table.xlsx", **types, **{"xl/workbook.xml": "<w/>"})
    kind = "application/vnd.oasis.opendocument.text"
    _zip(folder / "paper.odt", mimetype=kind, **{"content.xml": "<w/>"})
    notebook = {"cells": [], "metadata": {}, "nbformat": 4}
    (folder / "notes.ipynb").write_text(json.dumps(notebook))
    (folder / "page.html").write_text("<!DOCTYPE html><html><body>Zebras</body></html>")
    return folder


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_without_records_is_reported_with_its_kind(others: Path, name: str) -> None:
    with pytest.raises(
        CitebedError, match=rf"nothing was imported: others/{name}(?::1)?: .*{OTHERS[name]}"
    ):
        import_sources(others.parent / "c", [others / name])
    assert not (others.parent / "c").exists()


def test_such_files_beside_a_bibliography_are_reported_once_each(others: Path) -> None:
    (others / "refs.bib").write_text(ONE)
    report = import_sources(others.parent / "c", [others])
    assert report.documents == 1
    told = dict(report.problems.select("source", "what").iter_rows())
    assert {source.removeprefix("others/") for source in told} == set(OTHERS)
    skipped = report.problems.filter(kind="skipped")["source"].to_list()
    assert skipped == ["others/paper.pdf"]
    assert set(report.problems["kind"]) == {"ignored", "skipped"}


def test_an_archive_of_bibliographies_is_read_whatever_else_is_in_it(tmp_path: Path) -> None:
    _zip(tmp_path / "all.zip", **{"refs.bib": ONE, "word/notes.txt": "words", "mimetype": "x"})
    assert import_sources(tmp_path / "c", [tmp_path / "all.zip"]).documents == 1


@pytest.mark.parametrize("inside", [(), (".hidden.bib",), ("deep/er/",)])
def test_an_empty_folder_is_an_error_with_its_name(tmp_path: Path, inside: tuple[str, ...]) -> None:
    folder = tmp_path / "nothing here"
    folder.mkdir()
    for name in inside:
        place = folder / name
        place.mkdir(parents=True) if name.endswith("/") else place.write_text(ONE)
    (tmp_path / "refs.bib").write_text(ONE)
    for paths in ([folder], [folder, tmp_path / "refs.bib"]):
        with pytest.raises(CitebedError, match=r"no file to read in the folder '.*nothing here'"):
            import_sources(tmp_path / "c", paths)
    import_sources(tmp_path / "c", [tmp_path / "refs.bib"])
    with pytest.raises(CitebedError, match="no file to read"):
        import_sources(tmp_path / "c", [folder])


def test_a_folder_that_became_empty_is_reported_as_missing(tmp_path: Path) -> None:
    folder = tmp_path / "was"
    folder.mkdir()
    (folder / "a.bib").write_text(ONE)
    import_sources(tmp_path / "c", [folder])
    (folder / "a.bib").unlink()
    assert import_sources(tmp_path / "c", [folder]).missing == ["was/a.bib"]


def test_a_collection_is_not_a_source(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(ONE)
    import_sources(tmp_path / "c", [tmp_path / "refs.bib"])
    with pytest.raises(CitebedError, match=r"'.*c' is itself a collection"):
        import_sources(tmp_path / "d", [tmp_path / "c"])


# --- languages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["en", "English", "en-GB", "eng", "sq", "german", "ZH"])
def test_languages_go_by_names_and_codes(name: str) -> None:
    assert is_language(name)


def test_an_unknown_language_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "refs.bib").write_text(ONE)
    words = ["import", str(tmp_path / "c"), str(tmp_path / "refs.bib"), "--languages"]
    assert main([*words, "klingon"]) == 1
    assert "unknown language 'klingon'" in capsys.readouterr().err
    assert main([*words, "germn"]) == 1
    assert "Did you mean 'german'?" in capsys.readouterr().err
    with pytest.raises(UnknownName, match="klingon"):
        import_sources(
            tmp_path / "c",
            [tmp_path / "refs.bib"],
            ImportOptions(rules=Rules(languages=("klingon",))),
        )
    assert main([*words, "en,sq"]) == 0


def test_a_language_that_records_state_is_one(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("@misc{one, title = {tlhIngan Hol}, language = {klingon}}\n")
    rules = Rules(languages=("klingon",))
    report = import_sources(tmp_path / "c", [tmp_path / "refs.bib"], ImportOptions(rules=rules))
    assert report.documents == 1


def test_a_reason_that_is_a_sentence_ends_with_one_full_stop(tmp_path: Path) -> None:
    (tmp_path / "bomb.bib.gz").write_bytes(gzip.compress(b"x" * (1 << 20), 9) * 1100)
    with pytest.raises(CitebedError, match=r"and try again\. citebed reads BibTeX"):
        import_sources(tmp_path / "c", [tmp_path / "bomb.bib.gz"])
