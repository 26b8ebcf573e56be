"""Checks of SQLite databases before citebed opens and reads them.

A database may come from a stranger. It must have exactly citebed's schema: SQLite would evaluate
generated columns, views, triggers, checks and indexes on expressions, however long that takes.

Beside a database may lie the journal of an interrupted transaction, which SQLite undoes when it
opens the database. A journal can name another file, which SQLite then deletes, wherever it is.
citebed never writes such journals, so a journal that names another file is an attack.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.output_files import is_plain_or_missing
from citebed.files.system_errors import error_reason
from citebed.wording import printable

_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""Follows the name of another file; see "The Rollback Journal" in SQLite's file format."""

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\S")
_STATISTICS = {
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
}
"""Tables that ``ANALYZE`` adds."""

Schema = Mapping[tuple[str, str], tuple[str, ...]]
"""The words of the statement that created each object, by its kind and name."""

_LIMITS = {
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 0,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 5,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 1000,
    sqlite3.SQLITE_LIMIT_LENGTH: 1 << 20,
}
"""Limits while reading a schema. citebed's schema calls no function and has expressions of at most
three levels."""


def read_schema(database: sqlite3.Connection) -> Schema:
    """Return the schema of a database, without key indexes and statistics.

    Call this first on a connection: at the first query SQLite parses the schema and reads the
    statistics, whose table may have generated columns. This query limits what SQLite computes.
    """
    schema: dict[tuple[str, str], tuple[str, ...]] = {}
    defaults = {limit: database.setlimit(limit, most) for limit, most in _LIMITS.items()}
    try:
        rows = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    finally:
        for limit, most in defaults.items():
            database.setlimit(limit, most)
    for kind, name, table, sql in rows:
        if sql is None or sql in _STATISTICS:  # an index without a statement belongs to a key
            continue
        words = (word.strip('"') for each in (table, sql) for word in _TOKEN.findall(str(each)))
        key = str(kind), str(name)
        schema[key] = (*schema.get(key, ()), *words)  # a repeated name never equals citebed's
    return schema


@cache
def parse_schema(script: str) -> Schema:
    """Return the schema that a script of SQL statements creates."""
    database = sqlite3.connect(":memory:")
    try:
        database.executescript(script)
        return read_schema(database)
    finally:
        database.close()


def check_schema(path: str | Path, found: Schema, ours: Schema) -> None:
    """Raise if a database has any object that is not in citebed's schema; it may lack objects."""
    for (kind, name), words in found.items():
        if ours.get((kind, name)) != words:
            what = "differs from citebed's" if (kind, name) in ours else "is not citebed's"
            raise refused_database(path, f"its {kind} '{printable(name[:80])}' {what}")


def refused_database(path: str | Path, why: str) -> CitebedError:
    """Return the error for a database that citebed did not create."""
    return CitebedError(
        f"{printable(path)} was not created by citebed, or is damaged: {why}. Move it away, or "
        "restore a copy that you trust."
    )


def check_journal(database: Path) -> None:
    """Raise if the journal beside a database would make SQLite change another file."""
    path = database.with_name(f"{database.name}-journal")
    if not is_plain_or_missing(path):
        raise _journal_error(path, "it is not a plain file")
    if names_other_file(path):
        raise _journal_error(path, "it names another file, which opening the database would delete")


def names_other_file(journal: Path) -> bool:
    """Return True if a journal names another file, which SQLite may delete."""
    try:
        with journal.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - len(_MAGIC)))
            return file.read() == _MAGIC
    except FileNotFoundError:  # no journal, or another transaction just ended
        return False


def _journal_error(path: Path, why: str) -> CitebedError:
    return CitebedError(
        f"'{printable(path)}' was not written by citebed: {why}. Delete it, unless another program "
        "of yours has the database open."
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
        why = f"cannot create the database {printable(path)}: {error_reason(error)}"
        raise CitebedError(why) from error
