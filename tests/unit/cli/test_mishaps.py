"""Imports that fail: an empty file, a read-only folder, damaged tables."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.commands import Run

from citebed.cli.app import main
from citebed.collection import Rules, import_sources, open_collection
from citebed.collection.importing import ImportOptions
from citebed.errors import CitebedError, CollectionError, UnknownName

BIB = "@article{a, title={On Reading Well}, author={Ash, Ann}, year={2001}}\n"
MORE = "@misc{b, title={On Writing Well}}\n@misc{c, author = {Nobody"


@pytest.fixture
def run(command: Run) -> Run:
    """Run the command line beside a collection ``c`` of ``a.bib``; gives code, stdout, stderr."""
    Path("a.bib").write_text(BIB)
    Path("note.txt").write_text("nothing to import\n")
    import_sources("c", ["a.bib"])

    return command


# --- nothing to import ------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["c", "new"])
def test_an_import_of_nothing_is_an_error(folder: str, run: Run) -> None:
    code, out, err = run("import", folder, "note.txt")
    assert (code, out) == (1, "")
    assert "nothing was imported: note.txt: not in a format that citebed reads" in err
    assert not Path("new").exists()
    assert open_collection("c").files["source"].to_list() == ["a.bib"]


def test_a_source_that_became_empty_does_not_empty_the_collection(run: Run) -> None:
    Path("a.bib").write_text("")
    code, _, err = run("import", "c", "a.bib")
    assert code == 1
    assert "a.bib: an empty file" in err
    assert open_collection("c").documents.height == 1


@pytest.mark.parametrize("sources", [("a.bib",), ()])
def test_rules_that_keep_nothing_change_nothing(sources: tuple[str, ...], run: Run) -> None:
    assert run("import", "c", *sources, "--types", "articel")[0] == 1
    assert run("import", "c", *sources, "--types", "book")[0] == 1
    collection = open_collection("c")
    assert (collection.documents.height, collection.rules) == (1, Rules())


@pytest.mark.usefixtures("run")
def test_unknown_types_in_python_too() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'inproceedings'"):
        import_sources("c", ["a.bib"], ImportOptions(rules=Rules(types=("inproceeding",))))
    Path("own.bib").write_text("@jurthesis{x, title={A Type of One's Own}}")
    rules = Rules(types=("jurthesis",))
    assert import_sources("d", ["own.bib"], ImportOptions(rules=rules)).documents == 1


def test_what_has_no_document_but_queries_is_something(run: Run) -> None:
    Path("q.jsonl").write_text('{"query_id": "q", "text": "reading"}\n')
    assert run("import", "queries-only", "q.jsonl")[0] == 0


# --- the report -------------------------------------------------------------------------------


def test_what_became_of_each_new_file_is_reported_and_old_problems_once(run: Run) -> None:
    Path("b.bib").write_text(BIB.replace("{a,", "{other,") + MORE)
    _, out, _ = run("import", "c", "b.bib", "note.txt")
    assert "b.bib: 2 records, 1 document of its own, 1 merged with others" in " ".join(out.split())
    assert "note.txt: 0 records" in out
    assert "skipped 1" in out
    assert "note.txt:1: not in a format that citebed reads" in out
    Path("d.bib").write_text("@misc{d, title={On Counting Sheep}}")
    _, out, _ = run("import", "c", "d.bib", "b.bib", "note.txt")
    assert "d.bib: 1 record (bibtex)" in map(str.strip, out.splitlines())
    assert "b.bib" not in out
    assert "ignored" not in out
    assert "2 problems reported by earlier imports" in out
    assert open_collection("c").problems.height == 2


def test_a_copy_is_reported(run: Run) -> None:
    shutil.copy("a.bib", "copy.bib")
    assert "copy.bib: the same as a.bib, which was read" in run("import", "c", "copy.bib")[1]


def test_a_problem_that_stays_in_a_changed_file_is_reported_again(run: Run) -> None:
    Path("b.bib").write_text(MORE)
    run("import", "c", "b.bib")
    Path("b.bib").write_text(MORE.replace("Writing", "Arguing"))
    assert "skipped 1" in run("import", "c", "b.bib")[1]


# --- folders that are read-only ----------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
@pytest.mark.parametrize(
    "words", [("import", "c", "a.bib"), ("forget", "c", "a.bib"), ("index", "c")]
)
def test_a_read_only_folder_is_called_so(
    words: tuple[str, ...], number: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refused(path: str | Path, flags: int, *rest: int, **more: int) -> int:
        if Path(os.fsdecode(path)).name == ".lock":
            raise OSError(number, os.strerror(number), path)
        return opened(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refused)
    code, _, err = run(*words)
    assert code == 1
    assert f"cannot write to 'c': it is read-only ({os.strerror(number)})" in err
    assert "work on a copy" in err


def test_recommending_from_a_read_only_folder_without_an_index(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # noqa: ARG005
    code, _, err = run("recommend", "c", "reading")
    assert code == 1
    assert "c has no index yet. The folder is read-only: build one in a copy of it" in err


def test_a_folder_that_may_not_be_made_is_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "mkdir", refused)
    code, _, err = run("import", "new", "a.bib")
    assert code == 1
    assert "cannot write to 'new': it is read-only" in err


# --- damage -------------------------------------------------------------------------------------


def damage(how: str, path: Path) -> None:
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
        return
    flipped = bytes(byte ^ 0x55 for byte in data[8:300])
    damaged = {"cut": data[:200], "empty": b"", "text": b"hello", "flipped": data[:8] + flipped}
    path.write_bytes(damaged[how] + (data[300:] if how == "flipped" else b""))


@pytest.mark.parametrize("how", ["cut", "empty", "text", "flipped", "missing"])
def test_damaged_documents_are_named_with_how_to_fix(how: str, run: Run) -> None:
    Path("with blank.bib").write_text("@misc{z, title={In a File with a Blank}}")
    run("import", "c", "with blank.bib")
    run("index", "c")
    damage(how, Path("c/documents.parquet"))
    verbs = ("stats", "index", "lint", "import", "recommend", "forget")
    said = {verb: run(verb, "c", *_more(verb)) for verb in verbs}
    for verb, (code, _, err) in said.items():
        assert code == 1, verb
        assert "c/documents.parquet is " in err, verb
        again = "citebed import c a.bib 'with blank.bib'"
        assert f"Move 'c' away and import again: {again}" in err, verb
    shutil.move("c", "away")
    assert main(["import", "c", "a.bib", "with blank.bib"]) == 0
    assert open_collection("c").documents.height == 2


def _more(verb: str) -> tuple[str, ...]:
    return {"recommend": ("reading",), "forget": ("a.bib",), "index": ("--rebuild",)}.get(verb, ())


def test_damaged_queries_are_rebuilt_by_an_import(run: Run) -> None:
    Path("q.jsonl").write_text('{"query_id": "q", "text": "reading"}\n')
    run("import", "c", "q.jsonl")
    path = Path("c/queries/q.jsonl")
    path.write_text("{broken")
    with pytest.raises(CollectionError, match=r"q\.jsonl is damaged .* citebed import c"):
        open_collection("c").queries("q")
    assert run("import", "c")[0] == 0
    assert open_collection("c").queries("q")["text"].to_list() == ["reading"]


@pytest.mark.usefixtures("run")
def test_a_panic_for_want_of_room_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("called `unwrap()`: full (os error 28)")

    monkeypatch.setattr("citebed.collection.building.assembling.identities", panic)
    with pytest.raises(CitebedError, match=r"No space left on device.*Nothing was imported"):
        import_sources("c", ["a.bib"])


def test_without_words_a_verb_of_verbs_shows_its_use(run: Run) -> None:
    for words in ((), ("qrels",), ("campaign",)):
        code, _, err = run(*words)
        assert code == 1
        assert err.startswith("Usage: citebed")
        assert "citebed: " not in err


@pytest.mark.parametrize(
    ("words", "option", "other"),
    [
        ("import c a.bib --spark-conf a=b", "spark-conf", "on"),
        ("stats c --spark-conf a=b", "spark-conf", "on"),
        ("index c --spark-conf a=b", "spark-conf", "on"),
        ("search c --queries q -o o.run --spark-conf a=b", "spark-conf", "on"),
        ("evaluate q.qrels one.run --spark-conf a=b", "spark-conf", "on"),
        ("timeline q.qrels one.run --spark-conf a=b", "spark-conf", "on"),
        ("filter s.jsonl -t t.jsonl -o o.run --spark-conf a=b", "spark-conf", "on"),
        ("filter s.jsonl -t t.jsonl -o o.run --part-size 3", "part-size", "on"),
        ("annotate a.pdf -o there --export", "export", "review"),
        ("annotate a.pdf -o there --sure 0.5", "sure", "review"),
        ("annotate a.pdf -o there --port 8000", "port", "review"),
        ("annotate a.pdf -o there --no-browser", "browser", "review"),
        ("demo there --no-browser", "browser", "serve"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(
    words: str, option: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 1
    said = capsys.readouterr().err
    assert f"'--{option}': this option needs --{other}." in said
