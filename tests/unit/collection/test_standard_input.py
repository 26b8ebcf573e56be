"""``citebed import COLLECTION -`` reads standard input, which is a source like others."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

import citebed
from citebed.cli.app import main
from citebed.collection import forget_sources, open_collection

ONE, TWO = "@misc{one, title = {On Zebras}}\n", "TY  - JOUR\nID  - two\nTI  - On Yaks\nER  - \n"


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> object:
    def pipe(data: str | bytes) -> None:
        raw = data.encode() if isinstance(data, str) else data
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))

    return pipe


def _ids(folder: Path) -> list[str]:
    return sorted(open_collection(folder).documents["doc_id"])


def test_what_is_piped_is_added_once(tmp_path: Path, piped: object) -> None:
    folder = tmp_path / "c"
    for data in (ONE, gzip.compress(TWO.encode()), ONE):
        piped(data)
        assert main(["import", str(folder), "-", "-q"]) == 0
    assert _ids(folder) == ["one", "two"]
    names = open_collection(folder).files["source"].to_list()
    assert len(names) == 2
    assert all(name.startswith("standard-input-") for name in names)
    assert main(["import", str(folder), "--prune", "-q"]) == 0  # it was never there to be gone
    forget_sources(folder, [next(name for name in names if _is_of(folder, name, "two"))])
    assert _ids(folder) == ["one"]


def _is_of(folder: Path, source: str, doc_id: str) -> bool:
    return source in open_collection(folder).documents.filter(doc_id=doc_id)["source"].to_list()


def test_files_are_read_beside_it_and_python_has_it_too(tmp_path: Path, piped: object) -> None:
    (tmp_path / "two.ris").write_text(TWO)
    piped(ONE)
    mine = citebed.create(tmp_path / "c", ["-", tmp_path / "two.ris"])
    assert sorted(mine.documents["doc_id"]) == ["one", "two"]


def test_whole_paths_do_not_make_a_path_of_it(tmp_path: Path, piped: object) -> None:
    piped(ONE)
    assert main(["import", str(tmp_path / "c"), "-", "--absolute-paths", "-q"]) == 0
    (name,) = open_collection(tmp_path / "c").files["source"]
    assert name.startswith("standard-input-")


def test_nothing_and_a_closed_input_are_refused(
    tmp_path: Path,
    piped: object,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    piped("")
    assert main(["import", str(tmp_path / "c"), "-"]) == 1
    assert "an empty file" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["import", str(tmp_path / "c"), "-"]) == 1
    assert "standard input is closed" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()
