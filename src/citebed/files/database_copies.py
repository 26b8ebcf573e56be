"""Read SQLite databases of other programs, also while these programs write them.

citebed never opens such a database where it is: SQLite would create files beside it, and Zotero
locks its database as long as it runs. citebed copies the database and its journals, and SQLite
brings the copy to the last committed state.

A copy can be recovered if it equals the files at one moment. Two passes that read the same bytes
prove that. With a write-ahead log one pass is enough, even if the log grows meanwhile, unless the
log starts anew: whatever gets into the database is in the log before.

A database may come from a stranger. citebed reads plain tables only, no column that SQLite would
have to compute, and limits the steps of each query.
"""

from __future__ import annotations

import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError
from citebed.files.databases import names_other_file
from citebed.files.system_errors import error_reason
from citebed.wording import printable

_MAGIC = b"SQLite format 3\0"
_SUFFIXES = ("", "-journal", "-wal")
_BLOCK = 1 << 20
_LOG_HEADER = 32
_PATIENCE = 30.0
"""How many seconds to wait for a moment in which no program writes."""
_PASSES_BEFORE_LOCK, _LOCK_SECONDS = 8, 0.1
_SCHEMA_LIMITS = {
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 8,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 10_000,
    sqlite3.SQLITE_LIMIT_LENGTH: 1 << 20,
}
"""Limits while SQLite parses the schema; `citebed.files.databases` says why."""
_STEPS_AT_ONCE, _SCHEMA_STEPS = 1_000_000, 50_000
_MAX_TEXT_BYTES = 64 << 20


def is_database(path: Path) -> bool:
    """Return True if a file is an SQLite database."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


# --- Copies -----------------------------------------------------------------------------------


def copy_database(path: Path, copy: Path) -> None:
    """Copy a database with its journals; write nothing beside the original.

    citebed takes no lock, unless a program that lets others read keeps writing a rollback journal:
    then it takes SQLite's read lock while it copies. Raise if there is no quiet moment.
    """
    deadline, passes = time.monotonic() + _PATIENCE, 0
    while True:
        log = _head(path, "-wal", _LOG_HEADER)
        changed = [_update_copy(path, copy, suffix) for suffix in _SUFFIXES]
        is_same = passes > 0 and not any(changed)
        has_same_log = len(log) == _LOG_HEADER and log == _head(copy, "-wal", _LOG_HEADER)
        if (is_same or has_same_log) and not names_other_file(Path(f"{copy}-journal")):
            return
        passes += 1
        if passes.bit_count() == 1 and passes >= _PASSES_BEFORE_LOCK:  # 8, 16, 32 …
            has_log = _head(copy, "", 20)[18:] != b"\1\1"  # then SQLite would write beside it
            if not has_log and _copy_with_lock(path, copy):
                return
        if time.monotonic() > deadline:
            raise CitebedError(
                f"another program keeps writing {printable(path)}, perhaps to synchronise it. "
                "Nothing was imported; wait until that is done, or close the program."
            )


def _head(path: Path, suffix: str, size: int) -> bytes:
    try:
        with Path(f"{path}{suffix}").open("rb") as file:
            return file.read(size)
    except FileNotFoundError:
        return b""


def _update_copy(path: Path, copy: Path, suffix: str) -> bool:
    """Make the copy of one file equal to it; return True if it was different."""
    source, target = Path(f"{path}{suffix}"), Path(f"{copy}{suffix}")
    former = target.stat().st_size if target.exists() else None
    if suffix and not source.exists():
        target.unlink(missing_ok=True)
        return former is not None
    is_changed = False
    with target.open("x+b" if former is None else "r+b") as file:
        for block in _read_blocks(source, may_vanish=bool(suffix)):
            at = file.tell()
            if file.read(len(block)) != block:
                file.seek(at)
                file.write(block)
                is_changed = True
        return is_changed or file.truncate() != former


def _read_blocks(path: Path, *, may_vanish: bool) -> Iterator[bytes]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise CitebedError(f"{printable(path)} is not a plain file. Nothing was imported.")
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
    except OSError as error:
        if not (may_vanish and isinstance(error, FileNotFoundError)):
            why = f"cannot read {printable(path)}: {error_reason(error)}. Nothing was imported."
            raise CitebedError(why) from error


def _copy_with_lock(path: Path, copy: Path) -> bool:
    """Copy a database under SQLite's read lock; return False if another program locks it."""
    locked = copy.with_name("locked")
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with (
            closing(sqlite3.connect(address, uri=True, timeout=_LOCK_SECONDS)) as source,
            closing(sqlite3.connect(locked)) as target,
        ):
            source.backup(target, progress=_raise_if_locked)
    except sqlite3.Error:  # locked, or in the middle of a transaction: try again without a lock
        locked.unlink(missing_ok=True)
        return False
    for suffix in _SUFFIXES:
        Path(f"{copy}{suffix}").unlink(missing_ok=True)
    locked.rename(copy)
    return True


def _raise_if_locked(status: int, *_: int) -> None:
    if status not in (sqlite3.SQLITE_OK, sqlite3.SQLITE_DONE):  # Python would wait for ever
        raise sqlite3.OperationalError(f"status {status}")


# --- Reading ----------------------------------------------------------------------------------


class DatabaseCopy:
    """The plain tables of a copied database; messages call it ``name``."""

    def __init__(self, copy: Path, name: str) -> None:
        self.name = name
        self._database = database = sqlite3.connect(copy)
        size = sum(file.stat().st_size for file in copy.parent.iterdir())
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        former = {limit: database.setlimit(limit, most) for limit, most in _SCHEMA_LIMITS.items()}
        former[sqlite3.SQLITE_LIMIT_LENGTH] = _MAX_TEXT_BYTES
        self._limit_steps(_SCHEMA_STEPS + size // 64)
        for setting in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON"):
            [*self.rows(f"PRAGMA {setting}")]
        # Views and virtual tables have no page of their own.
        rows = self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")
        self._tables = {str(name) for (name,) in rows}
        for limit, most in former.items():
            database.setlimit(limit, most)
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
