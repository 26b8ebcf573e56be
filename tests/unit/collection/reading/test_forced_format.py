"""``--format``: files are read in the format a user names, and stay so until they change."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.cli.app import main
from citebed.collection import ImportOptions, ImportReport, import_sources, open_collection
from citebed.errors import UnknownName

LINES = '{"_id": "1", "text": "apples are sorted"}\n{"_id": "2", "text": "pears are not"}\n'
RIS = "TY  - JOUR\nTI  - Beside\nER  - \n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.jsonl").write_text(LINES)
    (tmp_path / "beside.ris").write_text(RIS)
    return tmp_path


def do_import(folder: Path, *names: str, format: str | None = None) -> ImportReport:
    paths = [folder / name for name in names]
    return import_sources(folder / "c", paths, ImportOptions(format=format))


def titles_and_texts(folder: Path) -> list[tuple[str, str | None]]:
    return open_collection(folder / "c").documents.select("title", "abstract").rows()


def test_a_format_is_forced(folder: Path) -> None:
    do_import(folder, "beside.ris")
    assert do_import(folder, "data.jsonl").documents == 1
    report = do_import(folder, "data.jsonl", format="beir-corpus")
    assert report.documents == 3
    assert ("", "apples are sorted") in titles_and_texts(folder)


def test_it_stays_forced_until_the_file_changes(folder: Path) -> None:
    do_import(folder, "beside.ris")
    do_import(folder, "data.jsonl", format="beir-corpus")
    assert do_import(folder, "data.jsonl", "beside.ris").documents == 3
    (folder / "data.jsonl").write_text(LINES + "\n")
    assert do_import(folder, "data.jsonl").documents == 1


def test_an_unknown_format_is_an_error_and_imports_nothing(folder: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'bibtex'"):
        do_import(folder, "beside.ris", format="bibtx")
    assert not (folder / "c").exists()


def test_the_command_line_forces_it(folder: Path) -> None:
    given = ["import", str(folder / "c"), str(folder / "data.jsonl"), "--format", "beir-corpus"]
    assert main([*given, "--quiet"]) == 0
    assert open_collection(folder / "c").documents.height == 2


def test_records_that_do_not_fit_a_forced_format_are_reported(folder: Path) -> None:
    report = do_import(folder, "beside.ris", "data.jsonl", format="ris")
    said = report.problems.filter(source="data.jsonl")["what"].to_list()
    assert said == ["no record was found in it"]
