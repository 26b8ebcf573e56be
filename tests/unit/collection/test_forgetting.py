"""Sources that go: forgotten by name or path, pruned since they are gone; and files by any path."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import citebed
from citebed.cli.app import main
from citebed.collection import (
    ImportOptions,
    ImportReport,
    forget_sources,
    import_sources,
    open_collection,
)
from citebed.collection.storing import store
from citebed.errors import CitebedError, CollectionError, UnknownName

ONE = "@article{one, title={One Paper of One Kind}, author={Doe, Jo}, year=2001}\n"
TWO = "@article{two, title={Another of Another Sort}, author={Roe, Jo}, year=2002}\n"
ONE_TOO = (
    "@article{uno, title={One paper of one kind}, author={Doe, J.}, year=2001, pages={1--2}}\n"
)
PAPER = """<doc><id>p</id><title>T</title><contexts><context id="01" section="introduction">
<s cites="1">See [1].</s></context></contexts><references><reference id="1">one</reference>
</references></doc>
"""


def imported(folder: Path, *paths: str | Path, **options: object) -> ImportReport:
    return import_sources(folder, paths, ImportOptions(workers=1, **options))  # type: ignore[arg-type]


def ids(folder: Path) -> list[str]:
    return open_collection(folder).documents["doc_id"].to_list()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sources beside their collection (``c``); not to be changed."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "a.bib").write_text(ONE)
    (folder / "b.bib").write_text(TWO + ONE_TOO)
    (folder / "papers").mkdir()
    (folder / "papers" / "p.xml").write_text(PAPER)
    imported(folder / "c", folder / "a.bib", folder / "b.bib", folder / "papers")
    return folder


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "home")


def same_as_without(folder: Path, *paths: Path) -> None:
    """The collection is what an import of only these paths gives, but for the cite keys, which
    documents keep."""
    imported(folder / "fresh", *paths)
    fresh, left = open_collection(folder / "fresh"), open_collection(folder / "c")
    for name in ("documents", "papers", "references", "contexts", "set_aside", "files"):
        ours, theirs = (
            getattr(each, name).drop("cite_key", strict=False) for each in (left, fresh)
        )
        assert ours.equals(theirs), name
    assert left.query_sets == fresh.query_sets
    assert left.sources == fresh.sources


def test_a_document_keeps_the_fields_of_its_other_sources(home: Path) -> None:
    report = forget_sources(home / "c", ["b.bib"])
    assert report.forgotten == ["b.bib"]
    document = open_collection(home / "c").document("one")
    assert (ids(home / "c"), document.pages, document.keys) == (["one"], None, ("one",))
    same_as_without(home, home / "a.bib", home / "papers")


def test_the_other_way_round_the_document_goes_by_the_other_key(home: Path) -> None:
    forget_sources(home / "c", ["a.bib"])
    assert ids(home / "c") == ["two", "uno"]
    same_as_without(home, home / "b.bib", home / "papers")


@pytest.mark.parametrize("way", ["papers", "papers/", "papers/p.xml", "place", "relative"])
def test_a_source_is_named_as_stored_or_by_its_path(
    way: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "deep").mkdir()
    monkeypatch.chdir(home / "deep")
    source = {"place": str(home / "papers"), "relative": "../papers"}.get(way, way)
    assert forget_sources("../c", [source]).papers == 0
    same_as_without(home, home / "a.bib", home / "b.bib")


def test_a_source_imported_again_restores_the_collection(home: Path) -> None:
    before = open_collection(home / "c").documents
    forget_sources(home / "c", ["a.bib"])
    imported(home / "c", home / "a.bib")
    again = open_collection(home / "c").documents
    assert again.drop("cite_key").equals(before.drop("cite_key"))
    # While a.bib was out, b.bib decided.
    assert (before["cite_key"][0], again["cite_key"][0]) == ("one", "uno")


def test_many_sources_are_listed_by_their_folders(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(30):
        bib = f"@misc{{n{number}, title={{Number {number}}}}}"
        (tmp_path / f"many/{number}.bib").write_text(bib)
    imported(tmp_path / "c", tmp_path / "many")
    with pytest.raises(UnknownName, match=r"^unknown source 'c\.bib'\. Known: many\. No paper"):
        forget_sources(tmp_path / "c", ["c.bib"])


def test_an_unknown_source_is_an_error_and_changes_nothing(home: Path) -> None:
    with pytest.raises(UnknownName, match=r"unknown source 'c\.bib'.*Known: a\.bib"):
        forget_sources(home / "c", ["a.bib", "c.bib"])
    assert ids(home / "c") == ["one", "two"]
    with pytest.raises(CollectionError, match="no collection"):
        forget_sources(home / "nowhere", ["a.bib"])


def test_killed_before_it_is_decided_nothing_has_happened(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(store, "commit_change", die)
        with pytest.raises(Killed):
            forget_sources(home / "c", ["a.bib"])
    assert ids(home / "c") == ["one", "two"]


def test_the_last_source_may_go_too(home: Path) -> None:
    forget_sources(home / "c", ["a.bib", "b.bib", "papers"])
    assert ids(home / "c") == []
    assert open_collection(home / "c").query_sets == ()


def test_the_open_collection_in_python_changes_too(home: Path) -> None:
    mine = citebed.open(home / "c")
    mine.index(quiet=True)
    assert mine.documents.height == 2
    report = mine.forget("b.bib")
    assert (report.documents, mine.documents.height) == (1, 1)
    assert mine.imported is report
    mine.index(quiet=True)
    assert [row["doc_id"] for row in mine.recommend("one paper of a kind").table.to_dicts()] == [
        "one"
    ]


def test_the_verb(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    citebed.open(home / "c").index(quiet=True)
    assert main(["forget", str(home / "c"), "a.bib"]) == 0
    errors = capsys.readouterr().err
    assert f"the index still has what you forgot; run: citebed index {home / 'c'}" in errors
    shutil.rmtree(home / "c" / "index")
    assert main(["forget", str(home / "c"), "b.bib"]) == 0
    out = capsys.readouterr().out
    assert "0 documents\n" in out
    assert "forgot" in out
    assert "b.bib" in out
    assert "citebed index" not in out
    assert main(["forget", str(home / "c"), "b.bib"]) == 1
    assert "unknown source 'b.bib'" in capsys.readouterr().err


# --- pruning --------------------------------------------------------------------------------


def test_a_named_file_that_is_gone_is_pruned(home: Path) -> None:
    (home / "b.bib").unlink()
    with pytest.raises(CitebedError, match=r"no longer there.*citebed forget .*c b\.bib.*--prune"):
        imported(home / "c", home / "b.bib")
    assert imported(home / "c", home / "b.bib", prune=True).forgotten == ["b.bib"]
    assert ids(home / "c") == ["one"]


@pytest.mark.parametrize("named", [("a.bib",), ()])
def test_whatever_is_named_all_that_is_gone_is_pruned(home: Path, named: tuple[str, ...]) -> None:
    (home / "b.bib").unlink()
    (home / "papers" / "p.xml").unlink()
    paths = [home / name for name in named]
    assert imported(home / "c", *paths).forgotten == []
    report = imported(home / "c", *paths, prune=True)
    assert report.forgotten == ["b.bib", "papers/p.xml"]
    assert ids(home / "c") == ["one"]


def test_what_is_there_is_not_pruned(home: Path) -> None:
    assert imported(home / "c", home / "a.bib", prune=True).forgotten == []
    assert ids(home / "c") == ["one", "two"]


def test_a_source_elsewhere_is_pruned_where_it_is_named(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    (tmp_path / "there" / "x.bib").write_text(ONE)
    (tmp_path / "there" / "y.bib").write_text(TWO)
    collection = tmp_path / "here" / "c"
    imported(collection, tmp_path / "there" / "x.bib", tmp_path / "there" / "y.bib")
    (tmp_path / "there" / "y.bib").unlink()
    report = imported(collection, tmp_path / "there" / "x.bib", prune=True)
    assert (report.forgotten, report.elsewhere) == ([], ["y.bib"])
    assert "citebed cannot check y.bib" in dict(report.lines())["elsewhere"]
    assert imported(collection, tmp_path / "there" / "y.bib", prune=True).forgotten == ["y.bib"]


def test_pruning_leaves_something(home: Path) -> None:
    for name in ("a.bib", "b.bib", "papers/p.xml"):
        (home / name).unlink()
    with pytest.raises(CitebedError, match="nothing would be left"):
        imported(home / "c", prune=True)
    assert ids(home / "c") == ["one", "two"]


# --- the same file by another path ------------------------------------------------------------


def ways(home: Path) -> dict[str, str]:
    """Paths by which ``refs.bib`` can be named, seen from ``home/deep``."""
    os.symlink("refs.bib", home / "link.bib")
    os.symlink(home, home / "deep" / "around")
    return {
        "absolute": str(home / "refs.bib"), "relative": "../refs.bib",
        "dotted": "./.././deep/../refs.bib", "link": str(home / "link.bib"),
        "folder link": "around/refs.bib", "both links": "around/link.bib",
    }  # fmt: skip


@pytest.mark.parametrize("place", ["home/c", "elsewhere/c"])
def test_the_same_file_by_another_path_is_the_same_source(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(home / "deep")
    for number, path in enumerate([*ways(home).values(), "../refs.bib"]):
        (home / "refs.bib").write_text(TWO if number % 2 else ONE)
        imported(tmp_path / place, path)
        assert ids(tmp_path / place) == (["two"] if number % 2 else ["one"]), path
        assert len(open_collection(tmp_path / place).sources) == 1


def test_two_paths_of_one_file_at_once_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(ONE)
    os.symlink("refs.bib", tmp_path / "link.bib")
    report = imported(tmp_path / "c", tmp_path / "refs.bib", tmp_path / "link.bib")
    assert report.files == 1
    assert open_collection(tmp_path / "c").files["source"].to_list() == ["refs.bib"]


def test_a_collection_by_another_path_knows_its_sources(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    (tmp_path / "refs.bib").write_text(ONE)
    os.symlink(tmp_path / "big" / "c", tmp_path / "c")
    imported(tmp_path / "big" / "c", tmp_path / "refs.bib")
    (tmp_path / "refs.bib").write_text(TWO)
    imported(tmp_path / "c", tmp_path / "refs.bib")
    assert ids(tmp_path / "c") == ["two"]


def test_links_in_a_folder_keep_the_names_they_have_there(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "papers").mkdir()
    (tmp_path / "store" / "0f3a.bib").write_text(ONE)
    os.symlink("../store/0f3a.bib", tmp_path / "papers" / "mine.bib")
    imported(tmp_path / "c", tmp_path / "papers")
    assert open_collection(tmp_path / "c").files["source"].to_list() == ["papers/mine.bib"]


def test_the_folder_around_the_collection(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(ONE)
    (tmp_path / "b.bib").write_text(TWO)
    imported(tmp_path / "c", tmp_path)
    assert open_collection(tmp_path / "c").files["source"].to_list() == ["a.bib", "b.bib"]
    (tmp_path / "b.bib").unlink()
    assert imported(tmp_path / "c", tmp_path).missing == ["b.bib"]
    assert imported(tmp_path / "c", tmp_path, prune=True).forgotten == ["b.bib"]


def test_an_old_name_wins_over_a_whole_path(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(ONE)
    imported(tmp_path / "c", tmp_path / "a.bib")
    (tmp_path / "a.bib").write_text(TWO)
    imported(tmp_path / "c", tmp_path / "a.bib", absolute=True)
    assert ids(tmp_path / "c") == ["two"]
