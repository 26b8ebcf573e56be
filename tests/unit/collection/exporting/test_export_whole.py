"""Written whole or not at all, never over something else, and errors that say what to do."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from citebed.collection import Collection, import_sources, open_collection
from citebed.collection.exporting import EXPORTERS, export
from citebed.collection.exporting.base import Output
from citebed.errors import CitebedError, UnknownName

FORMS = ("trec", "bibtex")


def target_of(folder: Path, form: str) -> Path:
    return folder / ("out.bib" if form == "bibtex" else "out")


def break_in_the_middle(monkeypatch: pytest.MonkeyPatch, form: str, error: BaseException) -> None:
    """Let the form write everything and then fail before it is done."""
    real = EXPORTERS[form]

    def write(collection: Collection, output: Output) -> None:
        real.write(collection, output)
        raise error

    monkeypatch.setitem(EXPORTERS, form, dataclasses.replace(real, write=write))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("bug")])
def test_an_interrupted_export_leaves_nothing(
    small: Collection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    error: BaseException,
) -> None:
    break_in_the_middle(monkeypatch, form, error)
    with pytest.raises(type(error)):
        export(small, form, target_of(tmp_path, form))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", FORMS)
def test_an_interrupted_overwrite_leaves_the_former(
    small: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    target = target_of(tmp_path, form)
    export(small, form, target)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    break_in_the_middle(monkeypatch, form, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        export(small, form, target, overwrite=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_full_disk_is_the_users_to_fix(
    small: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_in_the_middle(monkeypatch, "trec", OSError(28, "No space left on device"))
    with pytest.raises(CitebedError, match="No space left"):
        export(small, "trec", tmp_path / "out")


@pytest.mark.parametrize("form", FORMS)
def test_an_existing_target_is_replaced_only_with_overwrite(
    small: Collection, tmp_path: Path, form: str
) -> None:
    target = target_of(tmp_path, form)
    export(small, form, target)
    with pytest.raises(CitebedError, match="exists"):
        export(small, form, target)
    if target.is_dir():
        (target / "stale.txt").write_text("old")
    report = export(small, form, target, overwrite=True)
    assert not (target / "stale.txt").exists()
    assert report.files
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_a_collection_is_never_overwritten(
    small: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for target in (small.folder, small.folder.parent):
        with pytest.raises(CitebedError, match="not overwritten"):
            export(small, "trec", target, overwrite=True)
    work = tmp_path / "work" / "here"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    with pytest.raises(CitebedError, match="not overwritten"):
        export(small, "trec", tmp_path / "work", overwrite=True)


def test_a_folder_is_not_a_file_and_a_file_no_folder(small: Collection, tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="is a folder"):
        export(small, "bibtex", tmp_path, overwrite=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(CitebedError, match="is a file"):
        export(small, "trec", tmp_path / "file", overwrite=True)


def test_a_place_where_nothing_can_be(small: Collection, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CitebedError, match="cannot write"):
        export(small, "trec", tmp_path / "file" / "out")


def test_unknown_names_are_reported(small: Collection, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'trec'"):
        export(small, "tre", tmp_path / "out")
    with pytest.raises(UnknownName, match="Did you mean 'cats'"):
        export(small, "trec", tmp_path / "out", query_sets=["cat"])
    assert list(tmp_path.iterdir()) == []


def test_an_id_that_trec_cannot_hold(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"doc_id": "#1", "title": "T"}\n')
    import_sources(tmp_path / "c", [tmp_path / "a.jsonl"])
    with pytest.raises(CitebedError, match="'#1'"):
        export(open_collection(tmp_path / "c"), "trec", tmp_path / "out")
    assert not (tmp_path / "out").exists()
