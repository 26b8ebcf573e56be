"""The desk: drafts that are worked on with a collection, what they will cite, and what was said of
the papers that were recommended. It lies in the collection's folder, in ``desk.sqlite``.
A draft is a text that is typed, or what was read from files that were sent.

What is said is on the disk before it is answered, and is never overwritten by an import.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.collection import Collection
from citebed.drafts.keeping import draft_from_json, draft_to_json
from citebed.drafts.records import Draft
from citebed.errors import CitebedError
from citebed.files.databases import check_journal
from citebed.files.writing import is_own, whole_files
from citebed.runs.tables import Qrels
from citebed.runs.writing import write_qrels
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
CREATE TABLE IF NOT EXISTS files (
  draft_id TEXT NOT NULL REFERENCES drafts, kind TEXT NOT NULL, name TEXT NOT NULL,
  content TEXT NOT NULL, at TEXT NOT NULL,
  PRIMARY KEY (draft_id, kind, name)
) STRICT;
"""
_DRAFT, _LIBRARY = "draft", "library"
"""Kinds of files: the draft as it was read, and the author's .bib files."""
_EXCERPT = 120
_MOST_WRITERS = 1000


_NOWHERE = ":memory:"


class NoSuchDraft(CitebedError):
    """A draft that is not on the desk."""


class DeskDraft(NamedTuple):
    """A draft on the desk: its text, the documents it will cite in the order they were taken, and
    the relevance of those that were judged for it (1 good, 0 not this).

    ``file`` is the name of the file that it was read from, where it was; ``libraries`` are those of
    the author's .bib files.
    """

    draft_id: str
    name: str
    text: str
    changed: str
    basket: tuple[str, ...]
    judged: dict[str, int]
    file: str = ""
    libraries: tuple[str, ...] = ()

    def judged_as(self, relevance: int) -> list[str]:
        """The documents of which this was said, in the order of saying."""
        return [doc_id for doc_id, said in self.judged.items() if said == relevance]


class DeskLine(NamedTuple):
    """A draft in the list of all: how it begins, and how many documents it will cite."""

    draft_id: str
    name: str
    excerpt: str
    changed: str
    basket: int
    file: str


class Desk:
    """The drafts of a collection; safe to use from several threads and processes."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / FILE
        self._turn = threading.RLock()
        self._versions: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._open(self.path if self.path.exists() else _NOWHERE)

    def _open(self, place: Path | str) -> None:
        """Open the file, or until there is a draft a desk that is nowhere: who looks makes none."""
        self._is_file = place != _NOWHERE
        _check_files(self.path)
        if "_database" in self.__dict__:
            self.close()
        try:
            self._database = sqlite3.connect(place, timeout=20, check_same_thread=False)
            self._prepare()
        except sqlite3.Error as error:
            raise CitebedError(f"{printable(self.path)} cannot be opened: {error}.") from error

    def _prepare(self) -> None:
        """Make what is not there. A collection may be a stranger's: of what stands in its schema
        nothing is run."""
        self._database.execute("PRAGMA trusted_schema=OFF")
        query = "SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')"
        if self._database.execute(query).fetchone() is not None:
            raise CitebedError(
                f"{printable(self.path)} is no desk that citebed made: it has triggers or views. "
                "Move it away, and a new one is made."
            )
        self._database.executescript(_SCHEMA)

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """All of a change, or nothing."""
        with self._turn:
            if not self._is_file and self.path.exists():  # another made it
                self._open(self.path)
            try:
                with self._database:
                    yield self._database
            except sqlite3.Error as error:
                raise CitebedError(f"{printable(self.path)} was not changed: {error}.") from error

    def close(self) -> None:
        """Let go of the file, after what is being written."""
        with self._turn:
            self._database.close()

    def new(self, text: str = "", name: str = "") -> DeskDraft:
        """Put a draft on the desk."""
        with self._turn:
            if not self._is_file:
                self._open(self.path)
        draft_id = secrets.token_urlsafe(9)
        with self._changing() as database:
            row = (draft_id, name, text, _now())
            database.execute("INSERT INTO drafts VALUES (?, ?, ?, ?)", row)
        return self.draft(draft_id)

    def drafts(self) -> list[DeskLine]:
        """All drafts, the one changed last first."""
        rows = self._rows(
            f"""SELECT draft_id, name, substr(text, 1, {_EXCERPT}), changed,
            (SELECT count(*) FROM basket WHERE basket.draft_id = drafts.draft_id),
            coalesce((SELECT files.name FROM files WHERE files.draft_id = drafts.draft_id
                      AND kind = '{_DRAFT}'), '')
            FROM drafts ORDER BY changed DESC, draft_id"""
        )
        return [DeskLine(*row) for row in rows]  # type: ignore[arg-type]

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
            files = database.execute(
                "SELECT kind, name FROM files WHERE draft_id = ? ORDER BY at, name", (draft_id,)
            ).fetchall()
        basket = tuple(doc_id for (doc_id,) in taken)
        file = next((name for kind, name in files if kind == _DRAFT), "")
        libraries = tuple(name for kind, name in files if kind == _LIBRARY)
        return DeskDraft(
            found[0], found[1], found[2], found[3], basket, dict(judged), file, libraries
        )

    def write(
        self,
        draft_id: str,
        *,
        text: str | None = None,
        name: str | None = None,
        writer: str = "",
        version: int = 0,
    ) -> DeskDraft:
        """Keep what a draft says now, or is called. Of what one ``writer`` sends, a ``version``
        that is not above the last one kept came late, and replaces nothing."""
        with self._turn:
            before = self.draft(draft_id)
            if self._is_late(draft_id, writer, version):
                return before
            row = (before.text if text is None else text, before.name if name is None else name)
            with self._changing() as database:
                database.execute(
                    "UPDATE drafts SET text = ?, name = ?, changed = ? WHERE draft_id = ?",
                    (*row, _now(), draft_id),
                )
            self._versions[draft_id, writer] = version
            while len(self._versions) > _MOST_WRITERS:
                self._versions.popitem(last=False)
            return self.draft(draft_id)

    def _is_late(self, draft_id: str, writer: str, version: int) -> bool:
        return bool(writer) and version <= self._versions.get((draft_id, writer), -1)

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
        written = self.draft(draft_id).text
        passage = text or written
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
            for table in ("files", "judgements", "basket", "drafts"):
                database.execute(f"DELETE FROM {table} WHERE draft_id = ?", (draft_id,))

    # --- Files ---

    def put_files(
        self, draft_id: str, read: Draft | None, libraries: Mapping[str, str]
    ) -> DeskDraft:
        """Keep a draft that was read from a file, in place of the one before, and the texts of .bib
        files by their names; a draft that has no name is then called by its title or its file."""
        before = self.draft(draft_id)
        rows = [(draft_id, _LIBRARY, name, text, _now()) for name, text in libraries.items()]
        if read is not None:
            rows.append((draft_id, _DRAFT, read.file, draft_to_json(read), _now()))
        called = before.name or (read.title[:200] or read.file if read is not None else "")
        with self._changing() as database:
            if read is not None:
                self._take_away(database, draft_id, _DRAFT)
            database.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", rows)
            database.execute(
                "UPDATE drafts SET name = ?, changed = ? WHERE draft_id = ?",
                (called, _now(), draft_id),
            )
        return self.draft(draft_id)

    def remove_file(self, draft_id: str, name: str) -> DeskDraft:
        """Take a file of a draft away, by its name."""
        self.draft(draft_id)
        with self._changing() as database:
            database.execute("DELETE FROM files WHERE draft_id = ? AND name = ?", (draft_id, name))
        return self.draft(draft_id)

    @staticmethod
    def _take_away(database: sqlite3.Connection, draft_id: str, kind: str) -> None:
        database.execute("DELETE FROM files WHERE draft_id = ? AND kind = ?", (draft_id, kind))

    def read_draft(self, draft_id: str) -> Draft | None:
        """What was read from a draft's file; ``None`` where it has none."""
        contents = self._contents(draft_id, _DRAFT)
        return draft_from_json(contents[0]) if contents else None

    def libraries(self, draft_id: str) -> tuple[str, ...]:
        """The texts of the author's .bib files that were given; the draft may have others."""
        return tuple(self._contents(draft_id, _LIBRARY))

    def _contents(self, draft_id: str, kind: str) -> list[str]:
        query = "SELECT content FROM files WHERE draft_id = ? AND kind = ? ORDER BY at, name"
        return [str(content) for (content,) in self._rows(query, draft_id, kind)]

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

    def export(
        self, qrels: Path | None = None, queries: Path | None = None, *, overwrite: bool = False
    ) -> list[Path]:
        """Write what was said to files that `evaluate` and `search` read: judgements, and the
        queries as JSON Lines; gives the files written. What exists is replaced if ``overwrite``."""
        for path in filter(None, (qrels, queries)):
            if os.path.lexists(path) and not overwrite:
                raise CitebedError(f"'{printable(path)}' exists; add --overwrite to replace it.")
        written = [] if qrels is None else write_qrels(qrels, self.qrels())
        if queries is not None:
            with whole_files(queries) as (draft,), draft.open("wb") as file:
                self.queries().write_ndjson(file)
            written.append(queries)
        return written

    def follow(self, collection: Collection) -> int:
        """Call documents as the collection calls them now, which may have merged some since; gives
        how many got another id. What it has no document for stays as it is."""
        both = "SELECT doc_id FROM basket UNION SELECT doc_id FROM judgements"
        kept = [str(doc_id) for (doc_id,) in self._rows(both)]
        if not kept:
            return 0
        renamed = _renamed(collection, kept)
        with self._changing() as database:
            for before, now in renamed.items():
                for table in ("basket", "judgements"):
                    change = f"UPDATE OR IGNORE {table} SET doc_id = ? WHERE doc_id = ?"
                    database.execute(change, (now, before))
                    database.execute(f"DELETE FROM {table} WHERE doc_id = ?", (before,))
        return len(renamed)

    def _rows(self, query: str, *values: str) -> list[tuple[object, ...]]:
        with self._changing() as database:
            return database.execute(query, values).fetchall()


def _renamed(collection: Collection, kept: list[str]) -> dict[str, str]:
    """Of ids that no document has any more, those that one goes by: what its id is now."""
    named = collection.scan_documents().select("doc_id", "aliases")
    there = named.filter(pl.col("doc_id").is_in(kept)).select("doc_id").collect()["doc_id"]
    gone = sorted({*kept} - {*there})
    if not gone:
        return {}
    aliases = named.explode("aliases").filter(pl.col("aliases").is_in(gone)).collect()
    return dict(zip(aliases["aliases"], aliases["doc_id"], strict=True))


def _check_files(path: Path) -> None:
    """Refuse a link in the place of the database or of what SQLite puts beside it, and a journal
    that would have it touch another file."""
    for ending in ("", "-wal", "-shm"):
        if not is_own(path.with_name(path.name + ending)):
            raise CitebedError(
                f"'{printable(path)}{ending}' is no plain file; inside a collection nothing is "
                "written through links. Delete it."
            )
    check_journal(path)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
