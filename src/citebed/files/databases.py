"""What is looked at before an SQLite database is opened.

Beside a database may lie the journal of a transaction that was cut short; SQLite undoes that
transaction when it opens the database. Such a journal can name another file, of transactions over
several databases, which SQLite then deletes, wherever it is. citebed makes no such transactions: a
journal that names another file is somebody's trap.
"""

from __future__ import annotations

import os
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.writing import is_own
from citebed.wording import printable

_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""Behind the name of another file; see "The Rollback Journal" in SQLite's file format."""


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
