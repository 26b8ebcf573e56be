"""Sources are called by names that tell nothing of their owner's folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from citebed.collection import ImportOptions, import_sources, open_collection
from citebed.collection.reading.sources import SourceNames

ONE = "@article{one, title={One paper of one kind}}\n"
TWO = "@article{two, title={Another of another sort}}\n"


def row(name: str, place: str) -> dict[str, str]:
    return {"path": name, "place": place}


def test_what_is_beside_the_collection_is_named_from_there(tmp_path: Path) -> None:
    names = SourceNames(tmp_path / "c")
    assert names.name_of(tmp_path / "refs.bib") == "refs.bib"
    assert names.name_of(tmp_path / "papers" / "." / "a.xml") == "papers/a.xml"
    assert names.name_of(tmp_path / "c" / "inside.bib") == "c/inside.bib"
    assert names.path_hash_of("refs.bib") == ""


def test_what_is_elsewhere_is_named_by_its_last_part(tmp_path: Path) -> None:
    names = SourceNames(tmp_path / "here" / "c")
    assert names.name_of("/home/ann/refs.bib") == "refs.bib"
    assert names.name_of("/home/ann/refs.bib") == "refs.bib"
    assert names.name_of("/home/ben/refs.bib") == "ben/refs.bib"
    assert names.name_of("/home/ann/papers") == "papers"
    assert names.name_of("/home/ann/papers/deep/a.xml") == "papers/deep/a.xml"
    assert names.name_of(tmp_path / "here" / "papers" / "b.xml") == "./papers/b.xml"


def test_names_are_the_same_the_next_time(tmp_path: Path) -> None:
    first = SourceNames(tmp_path / "here" / "c")
    given = ["/a/refs.bib", "/b/refs.bib", "/b/x/refs.bib"]
    made = [first.name_of(path) for path in given]
    assert len(set(made)) == 3
    rows = [row(name, first.path_hash_of(name)) for name in made]
    again = SourceNames(tmp_path / "here" / "c", rows)
    assert [again.name_of(path) for path in reversed(given)] == made[::-1]


def test_whole_paths_where_they_are_asked_for(tmp_path: Path) -> None:
    names = SourceNames(tmp_path / "c", absolute=True)
    assert names.name_of(tmp_path / "a.bib") == str(tmp_path / "a.bib")


def test_a_collection_does_not_reveal_the_folders_of_its_maker(tmp_path: Path) -> None:
    secret = tmp_path / "anns-secret-project"
    home = tmp_path / "shared"
    for folder in (secret, home):
        folder.mkdir()
    (secret / "refs.bib").write_text(ONE)
    import_sources(home / "c", [secret / "refs.bib"])
    files = [path for path in (home / "c").rglob("*") if path.is_file()]
    assert len(files) > 3
    for path in files:
        assert b"secret" not in path.read_bytes(), path
    import_sources(home / "d", [secret], ImportOptions(absolute=True))
    assert "anns-secret-project" in (home / "d" / "citebed.toml").read_text()


def test_files_of_one_name_from_two_folders_do_not_replace_each_other(tmp_path: Path) -> None:
    for folder, text in (("a", ONE), ("b", TWO)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "refs.bib").write_text(text)
    collection = tmp_path / "here" / "c"
    collection.parent.mkdir()
    for folder in ("a", "b"):
        import_sources(collection, [tmp_path / folder / "refs.bib"])
    assert set(open_collection(collection).documents["doc_id"]) == {"one", "two"}
    (tmp_path / "a" / "refs.bib").write_text(TWO.replace("two", "three"))
    import_sources(collection, [tmp_path / "a" / "refs.bib"])
    assert "one" not in set(open_collection(collection).documents["doc_id"])


def test_a_file_is_the_same_by_another_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "refs.bib").write_text(ONE)
    import_sources(tmp_path / "c", [tmp_path / "refs.bib"])
    monkeypatch.chdir(tmp_path / "x")
    (tmp_path / "refs.bib").write_text(TWO)
    report = import_sources("../c", [os.path.join("..", "refs.bib")])
    assert report.documents == 1
    assert open_collection(tmp_path / "c").documents["doc_id"].to_list() == ["two"]


def test_a_name_with_the_sign_of_archives_is_a_name_anyway(tmp_path: Path) -> None:
    path = tmp_path / "wow!.bib"
    for text in (ONE, TWO):
        path.write_text(text)
        report = import_sources(tmp_path / "c", [path])
    assert open_collection(tmp_path / "c").documents["doc_id"].to_list() == ["two"]
    assert report.unchanged == 0
    assert import_sources(tmp_path / "c", [path]).unchanged == 1
