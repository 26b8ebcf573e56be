"""The draft store: drafts, baskets, judgements and files outlive the process."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.hot_journals import forge_journal, make_database

import citebed
from citebed.cli.app import main
from citebed.drafts.draft_store import DraftConflict, DraftStore, NoSuchDraft
from citebed.drafts.reader import parse_draft
from citebed.drafts.uploads import read_uploads
from citebed.errors import CitebedError

PROSE = "Short queries are expanded with terms from the documents that were found first."


@pytest.fixture
def desk(tmp_path: Path) -> DraftStore:
    return DraftStore(tmp_path)


def test_a_draft_with_its_basket_and_judgements_is_there_for_the_next(desk: DraftStore) -> None:
    draft_id = desk.new("a text").draft_id
    for doc_id in ("b", "a", "b"):
        desk.cite(draft_id, doc_id)
    desk.judge(draft_id, "c", 0)
    desk.judge(draft_id, "d", 1)
    desk.judge(draft_id, "c", 1)
    desk.judge(draft_id, "e", 0, "a passage")
    desk.cite(draft_id, "a", taken=False)
    desk.write(draft_id, name="a name")
    desk.close()
    found = DraftStore(desk.path.parent).draft(draft_id)
    assert (found.name, found.text, found.basket) == ("a name", "a text", ("b",))
    assert found.judged_as(1) == ["d", "c"]
    assert found.judged_as(0) == ["e"]


def test_the_list_of_drafts(desk: DraftStore) -> None:
    first, second = desk.new("one " * 100), desk.new("two")
    desk.cite(first.draft_id, "a")
    desk.write(first.draft_id, name="first")
    lines = desk.drafts()
    assert [(each.draft_id, each.name, each.basket) for each in lines] == [
        (first.draft_id, "first", 1),
        (second.draft_id, "", 0),
    ]
    assert len(lines[0].excerpt) == 120
    desk.remove(first.draft_id)
    assert [each.draft_id for each in desk.drafts()] == [second.draft_id]
    with pytest.raises(NoSuchDraft):
        desk.draft(first.draft_id)
    with pytest.raises(NoSuchDraft):
        desk.cite(first.draft_id, "a")
    with pytest.raises(NoSuchDraft):
        desk.judge(first.draft_id, "a", 1, "a passage")


def test_what_was_read_from_files_is_kept(desk: DraftStore) -> None:
    draft_id = desk.new().draft_id
    sent = read_uploads(
        [("my.md", f"# A title\n\n{PROSE}".encode()), ("my.bib", b"@misc{a, title={B}}")]
    )
    kept = desk.put_files(draft_id, sent.draft, sent.libraries)
    assert (kept.file, kept.libraries) == ("my.md", ("my.bib",))
    assert kept.name
    assert desk.read_draft(draft_id) == sent.draft
    assert desk.libraries(draft_id) == ("@misc{a, title={B}}",)
    assert [each.file for each in desk.drafts()] == ["my.md"]
    desk.put_files(draft_id, read_uploads([("other.txt", PROSE.encode())]).draft, {})
    assert desk.draft(draft_id).file == "other.txt"
    desk.remove_file(draft_id, "my.bib")
    desk.remove_file(draft_id, "other.txt")
    assert desk.read_draft(draft_id) is None
    assert desk.draft(draft_id).libraries == ()


def test_only_the_user_may_read_the_drafts(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        desk = DraftStore(tmp_path)
        desk.new("a draft that is not published")
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert {name: f"{mode:o}" for name, mode in modes.items()} == dict.fromkeys(modes, "600")
    assert "desk.sqlite" in modes
    desk.path.chmod(0o660)  # the owner shares it on purpose
    DraftStore(tmp_path).new("another")
    assert desk.path.stat().st_mode & 0o777 == 0o660


def test_a_save_that_arrives_late_changes_nothing(desk: DraftStore) -> None:
    made = desk.new("one")
    draft_id, base = made.draft_id, made.version
    third = desk.write(draft_id, text="three", base=base, writer="a", number=3)
    assert third.text == "three"
    assert desk.write(draft_id, text="two", base=base, writer="a", number=2) == third
    # The answer to the third save was lost: the page saves again from the version it knows.
    fourth = desk.write(draft_id, text="four", base=base, writer="a", number=4)
    assert fourth.text == "four"
    again = DraftStore(desk.path.parent)  # another server knows which saves came before
    assert again.write(draft_id, text="two", base=base, writer="a", number=2) == fourth
    assert again.draft(draft_id).copies == ()


def test_two_saves_of_one_version_keep_both_texts(desk: DraftStore) -> None:
    made = desk.new("one", "My paper")
    draft_id, base = made.draft_id, made.version
    other_server = DraftStore(desk.path.parent)
    first = other_server.write(draft_id, text="one, first", base=base, writer="a", number=1)
    with pytest.raises(DraftConflict, match="Both texts are kept") as caught:
        desk.write(draft_id, text="one, second", base=base, writer="b", number=1)
    assert (caught.value.draft.text, caught.value.copy.text) == ("one, first", "one, second")
    assert caught.value.draft.version == first.version
    assert caught.value.copy.name == "My paper (other version)"
    with pytest.raises(DraftConflict) as again:  # more is typed before the author chooses
        desk.write(draft_id, text="one, second and more", base=base, writer="b", number=2)
    copy_id = again.value.copy.draft_id
    assert copy_id == caught.value.copy.draft_id
    with pytest.raises(DraftConflict) as same:  # a reloaded page sends the same text
        desk.write(draft_id, text="one, second and more", base=base, writer="c", number=1)
    assert same.value.copy.draft_id == copy_id
    assert desk.draft(draft_id).copies == (copy_id,)
    with pytest.raises(DraftConflict):  # the author's choice refers to an outdated text
        desk.choose(draft_id, copy_id, copy=True, base=base)
    chosen = desk.choose(draft_id, copy_id, copy=True, base=first.version)
    assert (chosen.text, chosen.copies) == ("one, second and more", ())
    assert desk.draft(copy_id).text == "one, first"
    with pytest.raises(CitebedError, match="already"):
        desk.choose(draft_id, copy_id, copy=True, base=chosen.version)
    with pytest.raises(DraftConflict):  # the first page did not see the choice
        desk.write(draft_id, text="one, first!", base=first.version, writer="a", number=2)


def test_the_drafts_own_text_is_chosen_and_the_copy_stays(desk: DraftStore) -> None:
    made = desk.new("one")
    desk.write(made.draft_id, text="first", base=made.version)
    with pytest.raises(DraftConflict) as caught:
        desk.write(made.draft_id, text="second", base=made.version)
    copy_id = caught.value.copy.draft_id
    chosen = desk.choose(made.draft_id, copy_id, copy=False, base="")
    assert (chosen.text, chosen.copies) == ("first", ())
    assert desk.draft(copy_id).text == "second"
    desk.remove(made.draft_id)
    assert [each.draft_id for each in desk.drafts()] == [copy_id]


def test_the_same_text_from_two_pages_is_not_a_conflict(desk: DraftStore) -> None:
    made = desk.new("one")
    first = desk.write(made.draft_id, text="two", base=made.version, writer="a", number=1)
    assert desk.write(made.draft_id, text="two", base=made.version, writer="b", number=1) == first
    named = desk.write(made.draft_id, name="Called")
    assert (named.name, named.version) == ("Called", first.version)
    with pytest.raises(CitebedError, match="'base'"):
        desk.write(made.draft_id, text="three")


def test_of_many_saves_at_once_no_text_is_lost(desk: DraftStore) -> None:
    made = desk.new("")
    desks = [desk, DraftStore(desk.path.parent)]

    def save(number: int) -> None:
        with contextlib.suppress(DraftConflict):
            desks[number % 2].write(
                made.draft_id, text=f"text {number}", base=made.version, writer=f"p{number}"
            )

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(save, range(30)))
    assert sorted(each.excerpt for each in desk.drafts()) == sorted(f"text {n}" for n in range(30))
    assert len(desk.draft(made.draft_id).copies) == 29


def test_judgements_and_queries_as_files(tmp_path: Path) -> None:
    mine = citebed.demo(tmp_path / "demo")
    draft_id = mine.desk.new(PROSE).draft_id
    mine.desk.judge(draft_id, "a", 1)
    mine.desk.judge(draft_id, "b", 0)
    mine.desk.judge(draft_id, "c", 1, "another passage")
    assert mine.desk.qrels().table["relevance"].to_list().count(1) == 2
    written = mine.desk.export(tmp_path / "my.qrels", tmp_path / "my.jsonl")
    assert written == [tmp_path / "my.qrels", tmp_path / "my.jsonl"]
    queries = [json.loads(line) for line in (tmp_path / "my.jsonl").read_text().splitlines()]
    assert {each["text"] for each in queries} == {PROSE, "another passage"}
    lines = [line.split() for line in (tmp_path / "my.qrels").read_text().splitlines()]
    assert {line[0] for line in lines} == {each["query_id"] for each in queries}


def test_an_import_leaves_the_desk_as_it_is(tmp_path: Path) -> None:
    mine = citebed.demo(tmp_path / "demo")
    draft_id = mine.desk.new(PROSE).draft_id
    (tmp_path / "more.bib").write_text("@misc{more, title={More of it}, year=2001}")
    again = citebed.create(tmp_path / "demo", tmp_path / "more.bib")
    assert again.desk.draft(draft_id).text == PROSE


def test_documents_that_an_import_merges_stay_in_the_basket(tmp_path: Path) -> None:
    (tmp_path / "one.bib").write_text("@misc{zebra, title={Stripes of it}, doi={10.5072/z}}")
    mine = citebed.create(tmp_path / "c", tmp_path / "one.bib")
    draft_id = mine.desk.new(PROSE).draft_id
    mine.desk.cite(draft_id, "zebra")
    mine.desk.cite(draft_id, "gone")
    mine.desk.judge(draft_id, "zebra", 1)
    (tmp_path / "two.bib").write_text("@misc{ant, title={Stripes of it}, doi={10.5072/z}}")
    again = citebed.create(tmp_path / "c", tmp_path / "two.bib")
    now = again.documents["doc_id"][0]
    found = again.desk.draft(draft_id)
    assert set(found.basket) == {now, "gone"}
    assert found.judged == {now: 1}


def test_who_looks_makes_no_desk(tmp_path: Path) -> None:
    one, other = DraftStore(tmp_path), DraftStore(tmp_path)
    assert one.drafts() == []
    assert list(tmp_path.iterdir()) == []
    made = other.new("a text")
    assert one.draft(made.draft_id) == made


def test_many_at_once(desk: DraftStore) -> None:
    draft_id = desk.new("a text").draft_id
    other = DraftStore(desk.path.parent)
    with ThreadPoolExecutor(8) as threads:
        jobs = [
            threads.submit(each.cite, draft_id, str(number))
            for number in range(40)
            for each in (desk, other)
        ]
        for job in jobs:
            job.result()
    assert len(desk.draft(draft_id).basket) == 40


def test_a_desk_that_is_damaged_is_reported(tmp_path: Path) -> None:
    (tmp_path / "desk.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(CitebedError, match=r"desk\.sqlite cannot be opened"):
        DraftStore(tmp_path)


def test_a_desk_of_before_files_gets_a_place_for_them(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "desk.sqlite") as old:
        old.execute(
            "CREATE TABLE drafts (draft_id TEXT PRIMARY KEY, name TEXT NOT NULL, "
            "text TEXT NOT NULL, changed TEXT NOT NULL) STRICT"
        )
        old.execute("INSERT INTO drafts VALUES ('x', '', 'old', '2026')")
    old.close()
    desk = DraftStore(tmp_path)
    desk.put_files("x", parse_draft(PROSE), {"a.bib": ""})
    assert desk.draft("x").libraries == ("a.bib",)
    assert desk.draft("x").version == ""
    new = desk.write("x", text="new", base="", writer="a", number=1)
    assert (new.text, new.version) == ("new", "a.1")
    with pytest.raises(DraftConflict):
        desk.write("x", text="newer", base="", writer="b", number=1)


def test_a_strangers_desk_touches_no_other_file(tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    linked, forged, tricked = (tmp_path / name for name in ("linked", "forged", "tricked"))
    for folder in (linked, forged, tricked):
        folder.mkdir()
    (linked / "desk.sqlite").symlink_to(victim)
    with pytest.raises(CitebedError, match="is not a regular file"):
        DraftStore(linked)
    make_database(forged / "desk.sqlite")
    forge_journal(forged / "desk.sqlite", victim)
    with pytest.raises(CitebedError, match="names another file"):
        DraftStore(forged)
    trigger = "CREATE TRIGGER t AFTER INSERT ON drafts BEGIN DELETE FROM drafts; END"
    make_database(tricked / "desk.sqlite", "CREATE TABLE drafts (draft_id)", trigger)
    with pytest.raises(CitebedError, match="its table 'drafts' differs from citebed's"):
        DraftStore(tricked)
    assert victim.read_text() == "precious"


def test_a_file_of_another_user_that_everyone_may_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "desk.sqlite"
    path.touch()
    monkeypatch.setattr("os.geteuid", lambda: path.stat().st_uid + 1)
    path.chmod(0o660)  # of a group that shares a collection
    DraftStore(tmp_path)
    path.chmod(0o666)
    with pytest.raises(CitebedError, match="belongs to another user, and everyone may write it"):
        DraftStore(tmp_path)


_DRAFTS = (
    "CREATE TABLE drafts (draft_id TEXT PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL{}, "
    "changed TEXT NOT NULL{}) STRICT"
)
_BOMB = " GENERATED ALWAYS AS (hex(zeroblob(400000000))) VIRTUAL"


@pytest.mark.parametrize(
    ("statements", "what"),
    [
        ((_DRAFTS.format(_BOMB, ""),), r"malformed database schema \(drafts\) - too many arg"),
        ((_DRAFTS.format("", ", CHECK (length(zeroblob(900000000)) > 0)"),), r".*\(drafts\)"),
        ((_DRAFTS.format("", " DEFAULT (hex(zeroblob(400000000)))"),), r".*\(drafts\) - too"),
        ((_DRAFTS.format(" AS (name || name)", ""),), "its table 'drafts' differs from citebed's"),
        (("CREATE VIEW drafts AS SELECT 1 AS draft_id",), "its view 'drafts' is not citebed's"),
        ((_DRAFTS.format("", ""), "CREATE INDEX i ON drafts (hex(text))"), r".*\(i\)"),
        (
            (
                _DRAFTS.format("", ""),
                "CREATE TRIGGER t AFTER INSERT ON drafts BEGIN DELETE FROM drafts; END",
            ),
            "its trigger 't' is not citebed's",
        ),
        (("CREATE TABLE other (x)",), "its table 'other' is not citebed's"),
        (("CREATE VIRTUAL TABLE files USING fts5(content)",), "its table 'files"),
    ],
)
def test_a_desk_with_another_schema_is_refused_before_anything_is_computed(
    tmp_path: Path, statements: tuple[str, ...], what: str
) -> None:
    make_database(tmp_path / "desk.sqlite", *statements)
    before = (tmp_path / "desk.sqlite").read_bytes()
    with pytest.raises(CitebedError, match=f"(damaged|opened): {what}"):
        DraftStore(tmp_path)
    assert (tmp_path / "desk.sqlite").read_bytes() == before


@pytest.mark.parametrize("value", ["NULL", "x'00ff'", "9e999", "7"])
def test_a_desk_with_values_of_other_types_is_refused(tmp_path: Path, value: str) -> None:
    """The schema is ours, but was written over another one after the rows were."""
    desk = DraftStore(tmp_path)
    desk.new("a text")
    desk.close()
    with sqlite3.connect(tmp_path / "desk.sqlite", isolation_level=None) as database:
        ours = database.execute("SELECT sql FROM sqlite_schema WHERE name = 'drafts'").fetchone()
        database.execute("PRAGMA writable_schema = ON")
        loose = "CREATE TABLE drafts (draft_id PRIMARY KEY, name, text, changed)"
        change = "UPDATE sqlite_schema SET sql = ? WHERE name = 'drafts'"
        database.execute(change, (loose,))
    database.close()
    with sqlite3.connect(tmp_path / "desk.sqlite", isolation_level=None) as database:
        database.execute(f"UPDATE drafts SET text = {value}")
        database.execute("PRAGMA writable_schema = ON")
        database.execute(change, ours)
    database.close()
    with pytest.raises(CitebedError, match=r"or is damaged: (NULL|non-TEXT) value in drafts\."):
        DraftStore(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["null", "[]", '{"passages": [{"text": null}]}', '{"passages": [{"text": "a", "line": "7"}]}',
     '{"passages": [{"text": "a", "sentences": ["a"], "wanted": [1]}]}', "[" * 100_000],
)  # fmt: skip
def test_a_draft_from_another_program_is_checked(tmp_path: Path, content: str) -> None:
    desk = DraftStore(tmp_path)
    draft_id = desk.new("").draft_id
    with sqlite3.connect(desk.path) as database:
        row = (draft_id, "draft", "a.tex", content, "2026")
        database.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?)", row)
    database.close()
    with pytest.raises(CitebedError, match="stored draft is damaged"):
        desk.read_draft(draft_id)
    desk.close()


def test_the_verb_of_the_desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    mine = citebed.demo(folder)
    draft_id = mine.desk.new(PROSE, "My \x1b[31mdraft").draft_id
    mine.desk.judge(draft_id, "a", 1)
    assert main(["desk", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "1 draft in the workbench" in said
    assert "\x1b" not in said
    assert main(["desk", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["draft_id"] == draft_id
    out = ["--qrels", str(tmp_path / "a.qrels"), "--queries", str(tmp_path / "a.jsonl")]
    assert main(["desk", str(folder), *out]) == 0
    assert "1 judgement for 1 query" in capsys.readouterr().err
    assert main(["desk", str(folder), *out]) == 1
    assert main(["desk", str(folder), *out, "--overwrite"]) == 0
    assert main(["desk", str(tmp_path)]) == 1
    assert not (tmp_path / "desk.sqlite").exists()
