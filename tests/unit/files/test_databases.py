"""SQLite databases of strangers: what lies beside them deletes no files."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.hot_journals import forge_journal, make_database

from citebed.errors import CitebedError
from citebed.files.databases import check_journal


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "thesis.tex"
    path.parent.mkdir()
    path.write_text("years of work")
    return path


def test_sqlite_itself_follows_a_forged_journal(tmp_path: Path, victim: Path) -> None:
    """What is guarded against: should SQLite mend it, this test says so."""
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


def test_a_journal_of_ones_own_is_taken(tmp_path: Path) -> None:
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

    monkeypatch.setattr("citebed.files.databases.is_own", is_own)
    check_journal(tmp_path / "x.sqlite")
    assert not journal.exists()
