"""A journal moves and deletes nothing outside its collection, and only its writer's is finished."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from citebed.cli.app import main
from citebed.collection import finish_change, import_sources, open_collection
from citebed.collection.storing import store
from citebed.errors import CollectionError

BIB = "@article{one, title={One paper of one kind}, abstract={About cats.}}\n"


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bib").write_text(BIB)
    (tmp_path / "in" / "cats.jsonl").write_text('{"_id": "q1", "text": "cats"}\n')
    import_sources(tmp_path / "c", [tmp_path / "in"])
    return tmp_path / "c"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Files of the reader's, with names that a collection has too."""
    folder = tmp_path / "home" / "notes"
    folder.mkdir(parents=True)
    for name in ("diary.jsonl", "diary.qrels", "lists.parquet", "citebed.toml"):
        (folder / name).write_text("mine")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def write_journal(
    collection: Path, files: list[str], remove: list[str], *, sealed: bool = False
) -> None:
    seal = store.sign_change(files, remove) if sealed else "0" * 64
    journal = {"from": ".staging/ready", "files": files, "remove": remove, "seal": seal}
    (collection / ".commit.json").write_text(json.dumps(journal))


def left_in_a_change(collection: Path, *, sealed: bool) -> None:
    """The collection as a kill after the decision leaves it: a new name waits to be put in place,
    and the query set to be taken away."""
    ready = collection / ".staging" / "ready"
    ready.mkdir(parents=True)
    manifest = (collection / "citebed.toml").read_text()
    changed = manifest.replace('name = "c"', 'name = "new"').replace('["cats"]', "[]")
    (ready / "citebed.toml").write_text(changed)
    write_journal(collection, ["citebed.toml"], ["queries/cats.jsonl"], sealed=sealed)


LINKED = {
    ".staging": [".staging", "ready"],
    ".staging/ready": [],
    ".staging/ready/queries": ["queries/diary.jsonl"],
    ".staging/ready/qrels": ["qrels/diary.qrels"],
    ".staging/ready/import": ["import/lists.parquet"],
    "queries": ["queries/diary.jsonl"],
    "qrels": ["qrels/diary.qrels"],
    "import": ["import/lists.parquet"],
}


@pytest.mark.parametrize("trusted", ["by its seal", "by the reader", "by nobody"])
@pytest.mark.parametrize("linked", LINKED)
def test_no_link_leads_a_journal_out_of_the_collection(
    collection: Path, notes: Path, linked: str, trusted: str
) -> None:
    """Whatever the journal's author or the user does: this holds without the seal, too."""
    place = collection / linked
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        place.rename(collection / "aside")
    place.symlink_to(os.path.relpath(notes, place.parent))
    names = [name for name in LINKED[linked] if "/" in name] or ["citebed.toml"]
    write_journal(collection, names, names, sealed=trusted == "by its seal")
    before, listing = contents(notes), sorted(os.listdir(collection))
    with pytest.raises(CollectionError):
        (finish_change if trusted == "by the reader" else open_collection)(collection)
    assert contents(notes) == before
    assert sorted(os.listdir(collection)) == listing


def test_a_link_in_place_of_a_file_is_not_put_in_place(collection: Path, notes: Path) -> None:
    ready = collection / ".staging" / "ready"
    ready.mkdir(parents=True)
    (ready / "documents.parquet").symlink_to(notes / "lists.parquet")
    write_journal(collection, ["documents.parquet"], [], sealed=True)
    with pytest.raises(CollectionError, match="not a plain file"):
        open_collection(collection)
    assert not (collection / "documents.parquet").is_symlink()


def test_the_next_reader_finishes_a_change_of_the_same_user(collection: Path) -> None:
    left_in_a_change(collection, sealed=True)
    assert open_collection(collection).name == "new"
    assert not (collection / ".commit.json").exists()
    assert not (collection / "queries" / "cats.jsonl").exists()


@pytest.mark.parametrize("verb", ["stats", "lint", "import", "index"])
def test_a_strangers_change_is_reported_and_not_finished(
    collection: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    left_in_a_change(collection, sealed=False)
    assert main([verb, str(collection)]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "was left incomplete by a change on another machine" in said
    assert "import" in said
    assert "--finish" in said
    assert (collection / "queries" / "cats.jsonl").exists()
    assert (collection / ".commit.json").exists()


def test_the_way_out_is_one_that_works(collection: Path) -> None:
    left_in_a_change(collection, sealed=False)
    assert main(["import", str(collection), "--finish"]) == 0
    assert open_collection(collection).name == "new"
    assert not (collection / ".commit.json").exists()
    finish_change(collection)  # there is nothing left to finish


def test_a_seal_is_of_the_names_that_it_was_made_for(collection: Path) -> None:
    left_in_a_change(collection, sealed=True)
    path = collection / ".commit.json"
    journal = json.loads(path.read_text())
    path.write_text(json.dumps({**journal, "remove": ["documents.parquet"]}))
    with pytest.raises(CollectionError, match="another machine"):
        open_collection(collection)
    assert (collection / "documents.parquet").exists()
