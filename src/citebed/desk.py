"""The desk: drafts that are worked on with a collection, what they will cite, and what was said of
the papers that were recommended. It lies in the collection's folder, in ``desk.sqlite``.

What is said is on the disk before it is answered, and is never overwritten by an import.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.errors import CitebedError
from citebed.runs.tables import Qrels
from citebed.wording import printable

FILE = "desk.sqlite"
_SCHEMA = """
PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;
CREATE TABLE IF NOT EXISTS drafts (
  draft_id TEXT PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL, changed TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS basket (
  draft_id TEXT NOT NULL REFERENCES drafts, doc_id TEXT NOT NULL, at TEXT NOT NULL,
  PRIMARY KEY (draft_id, doc_id)
) STRICT;
CREATE TABLE IF NOT EXISTS judgements (
  draft_id TEXT NOT NULL REFERENCES drafts, doc_id TEXT NOT NULL, relevance INTEGER NOT NULL,
  query_id TEXT NOT NULL, text TEXT NOT NULL, at TEXT NOT NULL,
  PRIMARY KEY (draft_id, doc_id)
) STRICT;
"""


class NoSuchDraft(CitebedError):
    """A draft that is not on the desk."""


class DeskDraft(NamedTuple):
    """A draft on the desk: its text, the documents it will cite in the order they were taken, and
    the relevance of those that were judged for it (1 good, 0 not this)."""

    draft_id: str
    name: str
    text: str
    changed: str
    basket: tuple[str, ...]
    judged: dict[str, int]


class Desk:
    """The drafts of a collection; safe to use from several threads and processes."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / FILE
        self._turn = threading.RLock()
        try:
            self._database = sqlite3.connect(self.path, timeout=20, check_same_thread=False)
            self._database.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise CitebedError(f"{printable(self.path)} cannot be opened: {error}.") from error

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """All of a change, or nothing."""
        with self._turn:
            try:
                with self._database:
                    yield self._database
            except sqlite3.Error as error:
                raise CitebedError(f"{printable(self.path)} was not changed: {error}.") from error

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def new(self, text: str = "", name: str = "") -> DeskDraft:
        """Put a draft on the desk."""
        draft_id = secrets.token_urlsafe(9)
        with self._changing() as database:
            row = (draft_id, name, text, _now())
            database.execute("INSERT INTO drafts VALUES (?, ?, ?, ?)", row)
        return self.draft(draft_id)

    def drafts(self) -> list[DeskDraft]:
        """All drafts, the one changed last first."""
        with self._changing() as database:
            rows = database.execute("SELECT draft_id FROM drafts ORDER BY changed DESC, draft_id")
            return [self.draft(draft_id) for (draft_id,) in rows.fetchall()]

    def draft(self, draft_id: str) -> DeskDraft:
        """A draft by its id; `NoSuchDraft` where there is none."""
        with self._changing() as database:
            found = database.execute(
                "SELECT draft_id, name, text, changed FROM drafts WHERE draft_id = ?", (draft_id,)
            ).fetchone()
            if found is None:
                raise NoSuchDraft(f"there is no draft '{draft_id[:40]}' on this desk.")
            taken = database.execute(
                "SELECT doc_id FROM basket WHERE draft_id = ? ORDER BY at, doc_id", (draft_id,)
            ).fetchall()
            judged = database.execute(
                "SELECT doc_id, relevance FROM judgements WHERE draft_id = ? ORDER BY at, doc_id",
                (draft_id,),
            ).fetchall()
        basket = tuple(doc_id for (doc_id,) in taken)
        return DeskDraft(found[0], found[1], found[2], found[3], basket, dict(judged))

    def write(
        self, draft_id: str, *, text: str | None = None, name: str | None = None
    ) -> DeskDraft:
        """Keep what a draft says now, or is called."""
        before = self.draft(draft_id)
        row = (before.text if text is None else text, before.name if name is None else name)
        with self._changing() as database:
            database.execute(
                "UPDATE drafts SET text = ?, name = ?, changed = ? WHERE draft_id = ?",
                (*row, _now(), draft_id),
            )
        return self.draft(draft_id)

    def cite(self, draft_id: str, doc_id: str, *, taken: bool = True) -> DeskDraft:
        """Take a document into a draft's basket, or out of it."""
        self.draft(draft_id)
        with self._changing() as database:
            if taken:
                row = (draft_id, doc_id, _now())
                database.execute("INSERT OR IGNORE INTO basket VALUES (?, ?, ?)", row)
            else:
                database.execute(
                    "DELETE FROM basket WHERE draft_id = ? AND doc_id = ?", (draft_id, doc_id)
                )
        return self.draft(draft_id)

    def judge(self, draft_id: str, doc_id: str, relevance: int | None, text: str = "") -> DeskDraft:
        """Keep that a document is good (1) or not (0) for a draft, or forget it (``None``);
        ``text`` is the passage that asked for it, else the draft is."""
        passage = text or self.draft(draft_id).text
        query_id = f"{draft_id}-{hashlib.sha256(passage.encode()).hexdigest()[:8]}"
        with self._changing() as database:
            database.execute(
                "DELETE FROM judgements WHERE draft_id = ? AND doc_id = ?", (draft_id, doc_id)
            )
            if relevance is not None:
                row = (draft_id, doc_id, relevance, query_id, passage, _now())
                database.execute("INSERT INTO judgements VALUES (?, ?, ?, ?, ?, ?)", row)
        return self.draft(draft_id)

    def remove(self, draft_id: str) -> None:
        """Take a draft off the desk, with what was said for it."""
        self.draft(draft_id)
        with self._changing() as database:
            for table in ("judgements", "basket", "drafts"):
                database.execute(f"DELETE FROM {table} WHERE draft_id = ?", (draft_id,))

    # --- What was said, as a test collection ---

    def qrels(self) -> Qrels:
        """What was said of recommended papers, as judgements."""
        columns = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
        rows = self._rows("SELECT query_id, doc_id, relevance FROM judgements ORDER BY 1, 2")
        return Qrels(pl.DataFrame(rows, schema=columns, orient="row"), "desk", self.path)

    def queries(self) -> pl.DataFrame:
        """The passages that these were said for: ``query_id`` and ``text``."""
        rows = self._rows("SELECT DISTINCT query_id, text FROM judgements ORDER BY 1")
        return pl.DataFrame(rows, schema={"query_id": pl.String, "text": pl.String}, orient="row")

    def _rows(self, query: str) -> list[tuple[object, ...]]:
        with self._changing() as database:
            return database.execute(query).fetchall()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
