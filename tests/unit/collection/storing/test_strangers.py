"""A collection from a stranger: opening it changes nothing outside it, and nothing in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from citebed.cli.app import main
from citebed.collection import import_sources, open_collection
from citebed.collection.storing import store
from citebed.collection.tables import PAPERS
from citebed.errors import CollectionError

BIB = "@article{one, title={One paper of one kind}, abstract={About cats.}}\n"
MORE = "@article{two, title={Another of another sort}}\n"
TOPICS = '{"_id": "q1", "text": "cats"}\n'
QRELS = "q1 0 one 1\n"
READING = (["stats"], ["lint"])


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sources (``in``) and their collection (``c``); not to be changed."""
    folder = tmp_path_factory.mktemp("imported")
    (folder / "in").mkdir()
    for name, text in (("a.bib", BIB), ("cats.jsonl", TOPICS), ("cats.qrels", QRELS)):
        (folder / "in" / name).write_text(text)
    import_sources(folder / "c", [folder / "in"])
    return folder


@pytest.fixture
def collection(imported: Path, tmp_path: Path) -> Path:
    shutil.copytree(imported, tmp_path, dirs_exist_ok=True)
    return tmp_path / "c"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "victim"
    folder.mkdir()
    for name in ("precious.txt", "over.txt", "x.qrels", "x.jsonl"):
        (folder / name).write_text("precious")
    return folder


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file and link below a folder: its content and when it was changed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = (os.fsencode(os.readlink(path)), 0)
        elif path.is_file():
            found[str(path)] = (path.read_bytes(), path.stat().st_mtime_ns)
    return found


def staged(collection: Path, *names: str) -> None:
    for name in names:
        path = collection / ".staging" / "ready" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("evil")


def journal(collection: Path, **entries: object) -> None:
    whole = {"from": ".staging/ready", "files": [], "remove": [], **entries}
    (collection / ".commit.json").write_text(json.dumps(whole))


FORGED: dict[str, Callable[[Path], object]] = {
    "moves out": lambda c: journal(c, files=["../victim/over.txt"]),
    "removes outside": lambda c: journal(c, remove=["../victim/precious.txt"]),
    "takes from elsewhere": lambda c: journal(c, **{"from": "stage", "files": ["citebed.toml"]}),
    "takes from outside": lambda c: journal(c, **{"from": "../victim", "files": ["citebed.toml"]}),
    "an absolute name": lambda c: journal(c, remove=[str(c.parent / "victim" / "precious.txt")]),
    "a set outside": lambda c: journal(c, files=["qrels/../../victim/x.qrels"]),
    "a file that is not ours": lambda c: journal(c, remove=["notes.txt"]),
    "no names": lambda c: journal(c, files=[1, None, {"a": 2}]),
    "no lists": lambda c: journal(c, files="citebed.toml"),
    "a list": lambda c: (c / ".commit.json").write_text("[]"),
    "no JSON": lambda c: (c / ".commit.json").write_text("{"),
    "nested": lambda c: (c / ".commit.json").write_text("[" * 100_000),
    "no text": lambda c: (c / ".commit.json").write_bytes(b"\xff\xfe\0"),
    "empty": lambda c: (c / ".commit.json").write_text(""),
    "a link": lambda c: (c / ".commit.json").symlink_to(c.parent / "victim" / "over.txt"),
    "a link to nothing": lambda c: (c / ".commit.json").symlink_to(c.parent / "victim" / "new"),
    "a folder": lambda c: (c / ".commit.json").mkdir(),
}


@pytest.mark.usefixtures("victim")
@pytest.mark.parametrize("how", FORGED)
def test_a_forged_journal_changes_nothing(
    collection: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    staged(collection, "citebed.toml")
    (collection / "stage").mkdir()
    (collection / "notes.txt").write_text("mine")
    (collection / "stage" / "citebed.toml").write_text("evil")
    FORGED[how](collection)
    before = state(collection.parent)
    for verb in READING:
        assert main([*verb, str(collection)]) == 1
        assert "not a journal that citebed wrote" in capsys.readouterr().err
    after = state(collection.parent)
    after.pop(str(collection / ".lock"), None)
    before.pop(str(collection / ".lock"), None)
    assert after == before


@pytest.mark.parametrize("linked", ["queries", "qrels", "import", ".staging"])
def test_links_in_a_collection_lead_no_change_out_of_it(
    collection: Path, victim: Path, linked: str
) -> None:
    staged(collection, "citebed.toml", "qrels/x.qrels", "queries/x.jsonl", "import/lists.parquet")
    if linked == ".staging":
        (collection / ".staging").rename(victim / "stage")
        (collection / ".staging").symlink_to(victim / "stage")
    else:
        shutil.rmtree(collection / linked, ignore_errors=True)
        (collection / linked).symlink_to(victim)
    journal(collection, files=["qrels/x.qrels", "queries/x.jsonl", "import/lists.parquet"])
    before = state(victim)
    with pytest.raises(CollectionError, match=rf"'{linked}\S*' is a link"):
        open_collection(collection)
    assert state(victim) == before


@pytest.mark.parametrize("planted", [".lock", ".commit.json.new", ".commit.json", ".staging"])
def test_an_import_follows_no_planted_link(collection: Path, victim: Path, planted: str) -> None:
    (collection / planted).unlink(missing_ok=True)
    (collection / planted).symlink_to(victim / "new")
    (collection.parent / "in" / "b.bib").write_text(MORE)
    before = state(victim)
    main(["import", str(collection), str(collection.parent / "in")])
    assert state(victim) == before


@pytest.mark.parametrize(
    "name", ["../../x", "../x", "/etc/x", "a/b", ".hidden", "", "a\0b", "x" * 300]
)
def test_a_forged_query_set_writes_nothing_outside(
    collection: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = collection / "citebed.toml"
    forged = f"query_sets = [{json.dumps(name)}]"
    manifest.write_text(
        "\n".join(
            forged if line.startswith("query_sets") else line
            for line in manifest.read_text().split("\n")
        )
    )
    before = state(tmp_path)
    target = tmp_path / "deep" / "er" / "out"
    for form in ("trec", "beir", "jsonl"):
        assert main(["export", str(collection), str(target), "--to", form]) == 1
        assert "is not a list of query sets" in capsys.readouterr().err
    assert state(tmp_path) == before


def test_reading_leaves_a_collection_as_it_is(collection: Path) -> None:
    before = state(collection)
    listing = sorted(os.listdir(collection))
    for verb in READING:
        assert main([*verb, str(collection)]) == 0
    opened = open_collection(collection)
    assert opened.documents.height == 1
    assert opened.qrels("cats").table.height == 1
    assert state(collection) == before
    assert sorted(os.listdir(collection)) == listing


@pytest.mark.parametrize("name", ["documents.parquet", "qrels/cats.qrels", "queries/cats.jsonl"])
def test_a_damaged_file_is_reported(collection: Path, name: str) -> None:
    path = collection / name
    path.write_bytes(path.read_bytes()[:-3] + b"\xff\xff")
    opened = open_collection(collection)
    with pytest.raises(CollectionError, match=f"{path.name} is damaged"):
        _ = (opened.documents, opened.qrels("cats").table, opened.queries("cats"))


CTRL_C = "called `Result::unwrap()` on an `Err` value: PyErr { type: <class 'KeyboardInterrupt'> }"


@pytest.mark.parametrize(
    ("error", "expected"),
    [(pl.exceptions.PanicException(CTRL_C), KeyboardInterrupt), (MemoryError(), MemoryError)],
)
def test_an_interrupt_or_lack_of_memory_is_not_reported_as_damage(
    collection: Path,
    error: BaseException,
    expected: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    opened = open_collection(collection)
    monkeypatch.setattr(pl, "scan_parquet", fail)
    with pytest.raises(expected):
        _ = opened.documents
    monkeypatch.undo()
    assert opened.documents.height == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("qrels/cats.qrels", "q1 0  1"),
        ("qrels/cats.qrels", "q1 0 one"),
        ("queries/cats.jsonl", '{"text": "cats"}'),
        ("queries/cats.jsonl", '{"query_id": "q2"}'),
    ],
)
def test_a_line_that_lacks_a_value_is_reported(collection: Path, name: str, line: str) -> None:
    path = collection / name
    path.write_text(path.read_text() + line + "\n")
    opened = open_collection(collection)
    with pytest.raises(CollectionError, match=f"{path.name} is damaged"):
        _ = (opened.qrels("cats").table, opened.queries("cats"))


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (pl.lit(1).alias("title"), "column 'title' holds Int32, not String"),
        (pl.lit("x").alias("records"), "column 'records' holds String, not Int32"),
        (None, "has no column 'doc_id'"),
    ],
    ids=str,
)
def test_a_table_of_other_columns_is_reported(
    collection: Path, column: pl.Expr | None, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = collection / "documents.parquet"
    table = pl.read_parquet(path)
    changed = table.drop("doc_id") if column is None else table.with_columns(column)
    changed.write_parquet(path)
    export = ["export", str(collection), str(collection.parent / "out"), "--to", "jsonl"]
    for words in (*([verb, str(collection)] for verb in ("stats", "lint", "index")), export):
        assert main(words) == 1
        errors = capsys.readouterr().err
        assert "documents.parquet is damaged" in errors
        assert says in errors


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("documents", "doc_id"), ("documents", "title"), ("documents", "records"),
        ("papers", "references"), ("papers", "found"),
    ],
)  # fmt: skip
def test_a_table_that_lacks_values_is_reported(collection: Path, name: str, column: str) -> None:
    path = collection / f"{name}.parquet"
    if name == "papers":
        row = dict.fromkeys(PAPERS) | {"paper_id": "p", "references": 1, "found": 1}
        pl.DataFrame([row], schema=dict(PAPERS)).write_parquet(path)
    table = pl.read_parquet(path)
    table.with_columns(pl.lit(None, table[column].dtype).alias(column)).write_parquet(path)
    opened = open_collection(collection)
    reads = [lambda: getattr(opened, name)]
    if name == "documents":
        reads.append(opened.scan_documents().select(column).collect)
    for read in reads:
        with pytest.raises(CollectionError, match=f"damaged .*'{column}' lacks values"):
            read()


@pytest.mark.parametrize("name", ["topics", "judgements", "sources"])
def test_a_table_without_values_ends_an_import(
    collection: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = collection / "import" / f"{name}.parquet"
    table = pl.read_parquet(path)
    table.with_columns(pl.lit(None, pl.String).alias(table.columns[0])).write_parquet(path)
    assert main(["import", str(collection), str(collection.parent / "in"), "--prune"]) == 1
    assert f"{name}.parquet is damaged" in capsys.readouterr().err


def test_an_export_of_a_damaged_table_is_refused(
    collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = collection / "papers.parquet"
    path.write_bytes(path.read_bytes()[:-3])
    target = collection.parent / "out"
    assert main(["export", str(collection), str(target), "--to", "parquet"]) == 1
    assert "papers.parquet is damaged" in capsys.readouterr().err
    assert not target.exists()


# --- one state or the other -----------------------------------------------------------------


def change(collection: Path) -> None:
    (collection.parent / "in" / "b.bib").write_text(MORE)
    import_sources(collection, [collection.parent / "in"])


def test_an_open_collection_says_that_it_was_changed(collection: Path) -> None:
    opened = open_collection(collection)
    read = opened.documents
    change(collection)
    assert opened.documents is read
    for use in (
        lambda: opened.contexts,
        lambda: opened.queries("cats"),
        lambda: opened.qrels("cats").table,
        lambda: opened.scan_documents().select("title").collect(),
        lambda: list(opened.iter_documents(full_text=True)),
    ):
        with pytest.raises(Exception, match="was changed by another citebed") as caught:
            use()
        assert "Open it again" in str(caught.value)
    assert open_collection(collection).documents.height == 2


WRITER = """
import sys
from pathlib import Path
from citebed.collection import ImportOptions, import_sources
folder, source = Path(sys.argv[1]), Path(sys.argv[2])
for number in range(int(sys.argv[3])):
    text = "".join(f"@article{{k{n}, title={{State {number} of {n}}}}}\\n" for n in range(40))
    text += "".join(f"@article{{s{number}x{n}, title={{More {n}}}}}\\n" for n in range(number))
    (source / "a.bib").write_text(text)
    topics = "".join(f'{{"_id": "{n}", "text": "t"}}\\n' for n in range(40 + number))
    (source / "cats.jsonl").write_text(topics)
    import_sources(folder, [source], ImportOptions(prune=True))
"""


def test_readers_see_one_state_while_another_process_commits_and_is_killed(
    collection: Path,
) -> None:
    """As many queries as documents in every state: a mixture would show."""
    source = collection.parent / "in"
    (source / "cats.qrels").unlink()
    command = [sys.executable, "-c", WRITER, str(collection), str(source), "25"]
    writer = subprocess.Popen(command)
    late = time.monotonic() + 120  # a machine may have much else to do
    seen: set[tuple[int, int]] = set()
    said: set[str] = set()
    try:
        while writer.poll() is None and len(seen) < 12 and time.monotonic() < late:
            try:
                opened = open_collection(collection)
                documents, queries = opened.documents.height, opened.queries("cats").height
            except CollectionError as error:
                said.add(str(error))
                continue
            seen.add((documents, queries))
    finally:
        writer.kill()
        writer.wait()
    assert all("change" in what for what in said), said
    assert len(seen) > 3
    assert all(a == b for a, b in seen if a >= 40), seen


def test_a_change_that_was_cut_short_is_finished_by_the_next_reader(collection: Path) -> None:
    with store.lock_collection(collection), store.prepare_change(collection) as staging:
        (staging / "ready").mkdir()
        manifest = (collection / "citebed.toml").read_text().replace('name = "c"', 'name = "new"')
        (staging / "ready" / "citebed.toml").write_text(manifest)
        (collection / "kept").mkdir()
        shutil.copytree(staging, collection / "kept", dirs_exist_ok=True)
    (collection / "kept").rename(collection / ".staging")
    journal(collection, files=["citebed.toml"], seal=store.sign_change(["citebed.toml"], []))
    assert open_collection(collection).name == "new"
    assert not (collection / ".commit.json").exists()


def test_judgements_of_a_source_without_a_name_are_a_set_anyway(collection: Path) -> None:
    path = collection / "import" / "judgements.parquet"
    pl.read_parquet(path).with_columns(source=pl.lit("")).write_parquet(path)
    (collection.parent / "in" / "b.bib").write_text(MORE)
    import_sources(collection, [collection.parent / "in"])
    opened = open_collection(collection)
    assert [opened.qrels(name).table.height for name in opened.query_sets] == [1]
