"""Read SQLite databases of other programs, also while these programs write them.

citebed never opens such a database where it is: SQLite would create files beside it, and Zotero
locks its database as long as it runs. citebed copies the database and its journals, and SQLite
brings the copy to the last committed state.

A copy can be recovered if it equals the files at one moment. Two passes that read the same bytes
prove that. With a write-ahead log one pass is enough, even if the log grows meanwhile, unless the
log starts again: whatever gets into the database is in the log before.

A database may come from a stranger. citebed reads plain tables only, no column that SQLite would
have to compute, and limits the steps of each query.
"""

from __future__ import annotations

import filecmp
import itertools
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError
from citebed.files.databases import names_other_file
from citebed.files.system_errors import open_for_reading
from citebed.wording import printable

_MAGIC = b"SQLite format 3\0"
_SUFFIXES = ("", "-journal", "-wal")
_LOG_HEADER = 32
_PATIENCE = 30.0
"""How many seconds to wait for a moment in which no program writes."""
_PASSES_PER_LOCK, _LOCK_SECONDS = 8, 0.1
_LIMITS = {
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 8,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 10_000,
    sqlite3.SQLITE_LIMIT_LENGTH: 1 << 20,
}
"""Limits while SQLite parses the schema; `citebed.files.databases` says why. Later queries may read
longer texts."""
_STEPS_AT_ONCE, _SCHEMA_STEPS = 1_000_000, 50_000
_MAX_TEXT_BYTES = 64 << 20


def is_database(path: Path) -> bool:
    """Return True if a file is an SQLite database."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


# --- Copies -----------------------------------------------------------------------------------


def copy_database(path: Path, copy: Path) -> None:
    """Copy a database with its journals; write nothing to its folder.

    citebed takes no lock, unless a program that lets others read keeps writing a rollback journal:
    then it takes SQLite's read lock while it copies. Raise if the writer never pauses.
    """
    files, copies = ([Path(f"{p}{suffix}") for suffix in _SUFFIXES] for p in (path, copy))
    for file in files:
        if file.exists() and not file.is_file():
            raise CitebedError(f"{printable(file)} is not a plain file. Nothing was imported.")
    deadline = time.monotonic() + _PATIENCE
    for passes in itertools.count(1):
        header = _read_head(files[-1], _LOG_HEADER)
        for file, target in zip(files, copies, strict=True):
            target.unlink(missing_ok=True)
            with (
                suppress(FileNotFoundError),
                open_for_reading(file) as source,
                target.open("wb") as copied,
            ):
                shutil.copyfileobj(source, copied)
        # The log may also start again while it is copied: compare the header in both files.
        heads = {header, *(_read_head(each[-1], _LOG_HEADER) for each in (copies, files))}
        is_same_log = len(header) == _LOG_HEADER and len(heads) == 1
        is_complete = copy.exists() and (is_same_log or _are_same(files, copies))
        if is_complete and not names_other_file(copies[1]):
            return
        # SQLite would write to the folder of a database with a log.
        may_lock = passes % _PASSES_PER_LOCK == 0 and _read_head(copy, 20)[18:] == b"\1\1"
        if may_lock and _copy_with_lock(path, copies):
            return
        if time.monotonic() > deadline:
            raise CitebedError(
                f"another program keeps writing {printable(path)}, perhaps to synchronise it. "
                "Nothing was imported; wait until that is done, or close the program."
            )


def _read_head(path: Path, size: int) -> bytes:
    with suppress(FileNotFoundError), path.open("rb") as file:
        return file.read(size)
    return b""


def _are_same(files: Sequence[Path], copies: Sequence[Path]) -> bool:
    filecmp.clear_cache()  # which trusts the times of files
    pairs = [pair for pair in zip(files, copies, strict=True) if any(map(Path.exists, pair))]
    try:
        return all(filecmp.cmp(*pair, shallow=False) for pair in pairs)
    except FileNotFoundError:  # only one of a pair exists
        return False


def _copy_with_lock(path: Path, copies: Sequence[Path]) -> bool:
    """Copy a database under SQLite's read lock; return False if another program locks it."""

    def check_status(status: int, *_: int) -> None:
        if status not in (sqlite3.SQLITE_OK, sqlite3.SQLITE_DONE):  # Python would wait for ever
            raise sqlite3.OperationalError(f"status {status}")

    for each in copies:
        each.unlink(missing_ok=True)
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with (
            closing(sqlite3.connect(address, uri=True, timeout=_LOCK_SECONDS)) as source,
            closing(sqlite3.connect(copies[0])) as target,
        ):
            source.backup(target, progress=check_status)
    except sqlite3.Error:  # locked, or in the middle of a transaction: try again without a lock
        return False
    return True


# --- Reading ----------------------------------------------------------------------------------


class DatabaseCopy:
    """The plain tables of a copied database; messages call it ``name``."""

    def __init__(self, copy: Path, name: str) -> None:
        self.name = name
        self._database = database = sqlite3.connect(copy)
        size = sum(file.stat().st_size for file in copy.parent.iterdir())
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for limit, most in _LIMITS.items():
            database.setlimit(limit, most)
        self._limit_steps(_SCHEMA_STEPS + size // 64)
        for setting in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON"):
            [*self.rows(f"PRAGMA {setting}")]
        # Views and virtual tables have no page of their own.
        rows = self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")
        self._tables = {str(name) for (name,) in rows}
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_TEXT_BYTES)
        self._limit_steps(100 * (_STEPS_AT_ONCE + size))

    def _limit_steps(self, most: int) -> None:
        """Interrupt SQLite after this many steps, in all queries together."""
        calls = iter(range(max(1, most // _STEPS_AT_ONCE)))
        every = min(most, _STEPS_AT_ONCE)
        self._database.set_progress_handler(lambda: next(calls, None) is None, every)

    def close(self) -> None:
        self._database.close()

    def has(self, table: str, *columns: str) -> bool:
        """Return True if there is a plain table with these columns, none of them computed."""
        if table not in self._tables:
            return False
        info = [*self.rows(f"SELECT name, hidden FROM pragma_table_xinfo('{table}')")]
        return set(columns) <= {str(name) for name, _ in info} and not any(n for _, n in info)

    def rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query over tables for which ``has`` returned True."""
        try:
            # A map has no close(), which would fail after that of the database.
            yield from map(tuple, self._database.execute(query))
        # SQLite's message may quote bytes that are no text.
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise CitebedError(
                f"{self.name} is damaged, or not what it seems to be ({printable(str(error))}). "
                "Nothing was imported. Restore a copy (Zotero keeps zotero.sqlite.bak beside it), "
                "or export the library and import that file."
            ) from error


@contextmanager
def open_copy(path: Path, folder: Path) -> Iterator[DatabaseCopy]:
    """Copy a database to a new folder, open the copy, and delete both in the end."""
    folder.mkdir()
    try:
        copy_database(path, folder / "copy")
        with closing(DatabaseCopy(folder / "copy", printable(path))) as database:
            yield database
    finally:
        shutil.rmtree(folder)
