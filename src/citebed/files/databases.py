"""What is looked at before an SQLite database is opened, and before it is read.

A database may come from a stranger. It must have exactly our schema: generated columns, views,
triggers, checks and indexes on expressions would be computed, however much that takes.

Beside a database may lie the journal of a transaction that was cut short; SQLite undoes that
transaction when it opens the database. Such a journal can name another file, of transactions over
several databases, which SQLite then deletes, wherever it is. citebed makes no such transactions: a
journal that names another file is somebody's trap.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.system_errors import why_not
from citebed.files.writing import is_own
from citebed.wording import printable

_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""Behind the name of another file; see "The Rollback Journal" in SQLite's file format."""


_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\S")
_STATISTICS = {
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
}
"""Tables that ``ANALYZE`` adds."""

Schema = Mapping[tuple[str, str], tuple[str, ...]]
"""The words of the statement that made each object, by its kind and name."""


_LIMITS = {
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 0,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 5,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 1000,
    sqlite3.SQLITE_LIMIT_LENGTH: 1 << 20,
}
"""Limits for reading a schema. Ours calls no function; its deepest expression has three levels."""


def read_schema(database: sqlite3.Connection) -> Schema:
    """Return what a database consists of, without indexes of keys and statistics.

    The first query of a connection has SQLite parse the schema and read the statistics, whose table
    may be generated from anything: so this must be the first, and it limits what SQLite computes.
    """
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    usual = {limit: database.setlimit(limit, most) for limit, most in _LIMITS.items()}
    try:
        rows = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    finally:
        for limit, most in usual.items():
            database.setlimit(limit, most)
    for kind, name, table, sql in rows:
        if sql is None or sql in _STATISTICS:  # an index without a statement is a key's
            continue
        words = (word.strip('"') for each in (table, sql) for word in _TOKEN.findall(str(each)))
        key = str(kind), str(name)
        found[key] = (*found.get(key, ()), *words)  # a name that is there twice is not ours
    return found


@cache
def schema_of_script(script: str) -> Schema:
    """Return the schema that a script of SQL statements makes."""
    database = sqlite3.connect(":memory:")
    try:
        database.executescript(script)
        return read_schema(database)
    finally:
        database.close()


def check_schema(path: str | Path, found: Schema, ours: Schema) -> None:
    """Raise if a database has anything that is not ours; what it lacks is for others to say."""
    for (kind, name), words in found.items():
        if ours.get((kind, name)) != words:
            what = "is not as citebed makes it" if (kind, name) in ours else "is not citebed's"
            raise refused_database(path, f"its {kind} '{printable(name[:80])}' {what}")


def refused_database(path: str | Path, why: str) -> CitebedError:
    """Return the error for a database that is not one of ours."""
    return CitebedError(
        f"{printable(path)} is no database that citebed made, or it is damaged: {why}. Move it "
        "away, or put back a copy that you trust."
    )


def check_journal(database: Path) -> None:
    """Raise if the journal beside a database would have SQLite touch another file."""
    path = database.with_name(f"{database.name}-journal")
    if not is_own(path):
        raise _refused(path, "it is not a plain file")
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - len(_MAGIC)))
            tail = file.read()
    except FileNotFoundError:  # there is none, or another's transaction has ended since
        return
    if tail == _MAGIC:
        raise _refused(path, "it names another file, which opening the database would delete")


def _refused(path: Path, why: str) -> CitebedError:
    return CitebedError(
        f"'{printable(path)}' is no journal that citebed left: {why}. Delete it, unless another "
        "program of yours has the database open."
    )


def create_private_database(path: Path) -> None:
    """Create a missing database as an empty file that only its owner may read.

    SQLite's log gets the same permissions. An existing file keeps its own.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        why = f"cannot create the database {printable(path)}: {why_not(error)}"
        raise CitebedError(why) from error
