"""SQLite databases of strangers: their journals delete no files, and SQLite computes none of
their expressions."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hot_journals import forge_journal, make_database

from citebed.drafts.draft_store import DraftStore
from citebed.errors import CitebedError
from citebed.files.databases import check_journal, check_schema, parse_schema, read_schema


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "thesis.tex"
    path.parent.mkdir()
    path.write_text("years of work")
    return path


def test_sqlite_itself_follows_a_forged_journal(tmp_path: Path, victim: Path) -> None:
    """citebed guards against this behaviour of SQLite; the test fails if SQLite changes it."""
    make_database(tmp_path / "a.sqlite")
    forge_journal(tmp_path / "a.sqlite", victim)
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    connection.execute("SELECT * FROM t").fetchall()
    connection.close()
    assert not victim.exists()


def test_a_journal_that_names_another_file_is_refused(tmp_path: Path, victim: Path) -> None:
    make_database(tmp_path / "a.sqlite")
    check_journal(tmp_path / "a.sqlite")
    path = forge_journal(tmp_path / "a.sqlite", victim)
    with pytest.raises(CitebedError, match=r"a\.sqlite-journal.* names another file"):
        check_journal(tmp_path / "a.sqlite")
    assert victim.exists()
    path.unlink()
    path.symlink_to(victim)
    with pytest.raises(CitebedError, match="not a plain file"):
        check_journal(tmp_path / "a.sqlite")


def test_a_journal_of_the_user_is_taken(tmp_path: Path) -> None:
    """That of a process that was killed in the middle of a transaction."""
    make_database(tmp_path / "a.sqlite", "CREATE TABLE t (x)", "INSERT INTO t VALUES ('before')")
    connection = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute("UPDATE t SET x = 'after'")
    connection.executemany("INSERT INTO t VALUES (?)", [["x" * 3000]] * 50)
    for name in ("a.sqlite", "a.sqlite-journal"):
        (tmp_path / name.replace("a", "b", 1)).write_bytes((tmp_path / name).read_bytes())
    connection.close()
    check_journal(tmp_path / "b.sqlite")
    again = sqlite3.connect(tmp_path / "b.sqlite")
    assert again.execute("SELECT x FROM t").fetchall() == [("before",)]
    again.close()


def test_a_journal_may_go_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread's transaction ends, and its journal with it."""
    journal = tmp_path / "x.sqlite-journal"
    journal.write_bytes(b"")

    def is_own(_: Path) -> bool:
        journal.unlink()
        return True

    monkeypatch.setattr("citebed.files.databases.is_plain_or_missing", is_own)
    check_journal(tmp_path / "x.sqlite")
    assert not journal.exists()


def change_statistics(path: Path, statement: str) -> None:
    """Change the statement that made the statistics of a database, which SQLite reads as soon as it
    reads the schema."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("ANALYZE")
    connection.execute("PRAGMA writable_schema = ON")
    change = "UPDATE sqlite_schema SET sql = ? WHERE name = 'sqlite_stat1'"
    connection.execute(change, (statement,))
    connection.close()


OPENED = {
    "desk": "from citebed.drafts.draft_store import DraftStore; DraftStore('.').new('a text')",
    "campaign": "from citebed.judging.store import database; "
    "database.open_database('desk.sqlite', create=True).close()",
}


@pytest.mark.parametrize("kind", OPENED)
def test_statistics_of_strangers_are_not_computed(tmp_path: Path, kind: str) -> None:
    peak = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)"
    program = f"try:\n  {OPENED[kind]}\nfinally:\n  {peak}"

    def opened() -> tuple[int, str]:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return int(done.stdout), done.stderr

    usual, said = opened()
    assert said == ""
    change_statistics(
        tmp_path / "desk.sqlite",
        "CREATE TABLE sqlite_stat1(x, tbl AS (x), idx AS (x), stat AS (hex(zeroblob(300000000))))",
    )
    peak_mb, said = opened()
    assert "malformed database schema (sqlite_stat1) - too many arguments" in said
    assert peak_mb < usual + 100


def test_statistics_must_be_as_sqlite_makes_them(tmp_path: Path) -> None:
    desk = DraftStore(tmp_path)
    desk.new("a text")
    desk.close()
    for change in ("stat AS (idx || idx)", "stat, more", "stat CHECK (stat)"):
        change_statistics(desk.path, f"CREATE TABLE sqlite_stat1(tbl,idx,{change})")
        with pytest.raises(CitebedError, match="its table 'sqlite_stat1' is not citebed's"):
            DraftStore(tmp_path)
        change_statistics(desk.path, "CREATE TABLE sqlite_stat1(tbl,idx,stat)")
        DraftStore(tmp_path).close()


def test_an_index_with_a_name_of_sqlites_own_is_refused(tmp_path: Path) -> None:
    ours = "CREATE TABLE t (x TEXT)"
    make_database(tmp_path / "a.sqlite", ours, "CREATE INDEX i ON t (x || x)")
    database = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
    database.execute("PRAGMA writable_schema = ON")
    database.execute(
        "UPDATE sqlite_schema SET name = 'sqlite_autoindex_t_9', "
        "sql = 'CREATE INDEX sqlite_autoindex_t_9 ON t (x || x)' WHERE name = 'i'"
    )
    database.close()
    database = sqlite3.connect(tmp_path / "a.sqlite")
    found = read_schema(database)
    database.close()
    with pytest.raises(CitebedError, match="its index 'sqlite_autoindex_t_9' is not citebed's"):
        check_schema("a.sqlite", found, parse_schema(ours))
