"""The draft store: the drafts of a collection, their baskets, and your feedback on recommended
papers. The store is ``desk.sqlite`` in the collection's folder. A draft is a typed text or the text
of uploaded files. citebed writes feedback to disk before it responds, and an import never
overwrites it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.collection import Collection
from citebed.drafts.records import Draft, draft_from_json, draft_to_json
from citebed.errors import CitebedError
from citebed.files.databases import (
    check_journal,
    check_schema,
    create_private_database,
    parse_schema,
    read_schema,
    refused_database,
)
from citebed.files.output_files import is_plain_or_missing, replace_files
from citebed.runs.tables import Qrels
from citebed.runs.writer import write_qrels
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
CREATE TABLE IF NOT EXISTS versions (
  draft_id TEXT PRIMARY KEY REFERENCES drafts, version TEXT NOT NULL, copy_of TEXT NOT NULL
) STRICT;
"""
_DRAFT, _LIBRARY = "draft", "library"
"""Kinds of files: the draft's text from its file, and the author's .bib files."""
_PARTS = (
    "SELECT doc_id FROM basket WHERE draft_id = ? ORDER BY at, doc_id",
    "SELECT doc_id, relevance FROM judgements WHERE draft_id = ? ORDER BY at, doc_id",
    "SELECT kind, name FROM files WHERE draft_id = ? ORDER BY at, name",
    "SELECT draft_id FROM versions WHERE copy_of = ? ORDER BY draft_id",
)
"""Queries for the basket, the judgements, the files and the conflicting copies of a draft."""
_EXCERPT = 120
_NOWHERE = ":memory:"


class NoSuchDraft(CitebedError):
    """A draft that the store does not contain."""


class DraftConflict(CitebedError):
    """Two saves changed the same version of a draft: ``draft`` has the first one's text, ``copy``
    is a draft that keeps the other."""

    def __init__(self, draft: StoredDraft, copy: StoredDraft) -> None:
        super().__init__(
            "this draft was changed elsewhere since you loaded it. Both texts are kept: choose one."
        )
        self.draft, self.copy = draft, copy


class StoredDraft(NamedTuple):
    """A stored draft: its text, its basket in the order of adding, and the relevance of judged
    documents (1 good, 0 not this).

    ``file`` is the name of the draft's file, or empty; ``libraries`` are the names of the author's
    .bib files. ``version`` identifies the current text; ``copies`` are the ids of drafts that keep
    a conflicting text until the author chooses one.
    """

    draft_id: str
    name: str
    text: str
    changed: str
    basket: tuple[str, ...]
    judged: dict[str, int]
    file: str = ""
    libraries: tuple[str, ...] = ()
    version: str = ""
    copies: tuple[str, ...] = ()

    def judged_as(self, relevance: int) -> list[str]:
        """Return the documents with this relevance, in the order of judging."""
        return [doc_id for doc_id, value in self.judged.items() if value == relevance]


class DraftSummary(NamedTuple):
    """A draft in the list of drafts: its first words and the size of its basket."""

    draft_id: str
    name: str
    excerpt: str
    changed: str
    basket: int
    file: str


class DraftStore:
    """The drafts of a collection. Several threads and processes can use it at once."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / FILE
        self._turn = threading.RLock()
        self._open(self.path if self.path.exists() else _NOWHERE)

    def _open(self, place: Path | str) -> None:
        """Open the file. Without a file, use an empty store; citebed creates the file with the
        first draft."""
        self._is_file = place != _NOWHERE
        _check_files(self.path)
        if "_database" in self.__dict__:
            self.close()
        try:
            self._database = sqlite3.connect(place, timeout=20, check_same_thread=False)
            # The collection may come from a stranger, so the tables must match `_SCHEMA` and
            # every value must have its column's type.
            self._database.execute("PRAGMA trusted_schema=OFF")
            self._database.execute("PRAGMA cell_size_check=ON")
            found = read_schema(self._database)
            check_schema(self.path, found, parse_schema(_SCHEMA))
            if found:
                ((result,),) = self._database.execute("PRAGMA quick_check(1)").fetchall()
                if result != "ok":
                    raise refused_database(self.path, printable(str(result)[:200]))
            self._database.executescript(_SCHEMA)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            what = f"{printable(self.path)} cannot be opened: {printable(str(error))}."
            raise CitebedError(what) from error

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Run a change as one transaction."""
        with self._turn:
            if not self._is_file and self.path.exists():  # another process created it
                self._open(self.path)
            try:
                with self._database:
                    yield self._database
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise CitebedError(f"{printable(self.path)} was not changed: {error}.") from error

    def close(self) -> None:
        """Close the file after running writes."""
        with self._turn:
            self._database.close()

    def new(self, text: str = "", name: str = "") -> StoredDraft:
        """Store a new draft and return it."""
        with self._turn:
            if not self._is_file:
                create_private_database(self.path)
                self._open(self.path)
        with self._changing() as database:
            draft_id = _insert(database, name, text, _new_version())
        return self.draft(draft_id)

    def drafts(self) -> list[DraftSummary]:
        """Return all drafts, the one changed last first."""
        rows = self._rows(
            f"""SELECT draft_id, name, substr(text, 1, {_EXCERPT}), changed,
            (SELECT count(*) FROM basket WHERE basket.draft_id = drafts.draft_id),
            coalesce((SELECT files.name FROM files WHERE files.draft_id = drafts.draft_id
                      AND kind = '{_DRAFT}'), '')
            FROM drafts ORDER BY changed DESC, draft_id"""
        )
        return [DraftSummary(*row) for row in rows]  # type: ignore[arg-type]

    def draft(self, draft_id: str) -> StoredDraft:
        """Return a draft by its id, or raise `NoSuchDraft`."""
        with self._changing() as database:
            name, text, changed, version = _stored(database, draft_id)
            taken, judged, files, copies = (
                database.execute(query, (draft_id,)).fetchall() for query in _PARTS
            )
        basket = tuple(doc_id for (doc_id,) in taken)
        file = next((each for kind, each in files if kind == _DRAFT), "")
        libraries = tuple(each for kind, each in files if kind == _LIBRARY)
        return StoredDraft(
            draft_id, name, text, changed, basket, dict(judged), file, libraries, version,
            tuple(copy for (copy,) in copies),
        )  # fmt: skip

    def write(
        self,
        draft_id: str,
        *,
        text: str | None = None,
        name: str | None = None,
        base: str | None = None,
        writer: str = "",
        number: int = 0,
    ) -> StoredDraft:
        """Store a new text or name of a draft.

        A text needs ``base``, the version it changes. If another save changed that version, citebed
        keeps both texts and raises `DraftConflict`. ``writer`` and ``number`` name the page that
        saves and count its saves: a page's own saves never conflict, and a save that arrives after
        a later one of the same page changes nothing.
        """
        if text is not None and base is None:
            raise CitebedError(
                "a text needs 'base', the version of the draft that it changes. Load the draft, "
                "and send its 'version' as 'base'."
            )
        copy_id = ""
        with self._changing() as database:
            database.execute("BEGIN IMMEDIATE")  # other servers may write to the same file
            called, stored, _, version = _stored(database, draft_id)
            if name is not None:
                change = "UPDATE drafts SET name = ?, changed = ? WHERE draft_id = ?"
                database.execute(change, (name, _now(), draft_id))
            if text is not None and text != stored and not _is_late(version, writer, number):
                made = f"{writer}.{number}" if writer else _new_version()
                if base == version or (writer and _split(version)[0] == writer):
                    _put_text(database, draft_id, text, made)
                else:
                    copy_id = _keep_copy(database, draft_id, called or stored, text, made)
        if copy_id:
            raise DraftConflict(self.draft(draft_id), self.draft(copy_id))
        return self.draft(draft_id)

    def choose(self, draft_id: str, copy_id: str, *, copy: bool, base: str) -> StoredDraft:
        """Continue with the text of a conflicting ``copy`` or with the draft's own text; ``base``
        is the version of the draft that the author saw. citebed keeps the other text as a separate
        draft."""
        is_stale = False
        with self._changing() as database:
            database.execute("BEGIN IMMEDIATE")
            _, mine, _, version = _stored(database, draft_id)
            _, other, _, _ = _stored(database, copy_id)
            query = "SELECT 1 FROM versions WHERE draft_id = ? AND copy_of = ?"
            if database.execute(query, (copy_id, draft_id)).fetchone() is None:
                raise CitebedError("you already chose between these texts. Load the draft again.")
            is_stale = copy and base != version
            if copy and not is_stale:
                _put_text(database, draft_id, other, _new_version())
                _put_text(database, copy_id, mine, _new_version())
            if not is_stale:
                database.execute("UPDATE versions SET copy_of = '' WHERE draft_id = ?", (copy_id,))
        if is_stale:
            raise DraftConflict(self.draft(draft_id), self.draft(copy_id))
        return self.draft(draft_id)

    def _change(self, draft_id: str, *changes: tuple[str, Sequence[object]]) -> StoredDraft:
        """Run statements with their values in one transaction, and return the draft."""
        with self._changing() as database:
            _stored(database, draft_id)  # raises for an unknown draft
            for statement, values in changes:
                database.execute(statement, values)
        return self.draft(draft_id)

    def cite(self, draft_id: str, doc_id: str, *, taken: bool = True) -> StoredDraft:
        """Add a document to a draft's basket, or remove it."""
        if taken:
            row = (draft_id, doc_id, _now())
            return self._change(draft_id, ("INSERT OR IGNORE INTO basket VALUES (?, ?, ?)", row))
        delete = "DELETE FROM basket WHERE draft_id = ? AND doc_id = ?"
        return self._change(draft_id, (delete, (draft_id, doc_id)))

    def judge(
        self, draft_id: str, doc_id: str, relevance: int | None, text: str = ""
    ) -> StoredDraft:
        """Store that a document is good (1) or not (0) for a draft, or delete the judgement
        (``None``). ``text`` is the judged passage (default: the whole draft)."""
        written = self.draft(draft_id).text
        passage = text or written
        query_id = f"{draft_id}-{hashlib.sha256(passage.encode()).hexdigest()[:8]}"
        delete = "DELETE FROM judgements WHERE draft_id = ? AND doc_id = ?"
        if relevance is None:
            return self._change(draft_id, (delete, (draft_id, doc_id)))
        row = (draft_id, doc_id, relevance, query_id, passage, _now())
        insert = "INSERT OR REPLACE INTO judgements VALUES (?, ?, ?, ?, ?, ?)"
        return self._change(draft_id, (insert, row))

    def remove(self, draft_id: str) -> None:
        """Delete a draft with its feedback."""
        self.draft(draft_id)
        with self._changing() as database:
            database.execute("UPDATE versions SET copy_of = '' WHERE copy_of = ?", (draft_id,))
            for table in ("files", "judgements", "basket", "versions", "drafts"):
                database.execute(f"DELETE FROM {table} WHERE draft_id = ?", (draft_id,))

    # --- Files ---

    def put_files(
        self, draft_id: str, draft: Draft | None, libraries: Mapping[str, str]
    ) -> StoredDraft:
        """Store a draft's file, replacing an earlier one, and the texts of .bib files by name. A
        draft without a name takes its title or its file's name."""
        before = self.draft(draft_id)
        rows = [(draft_id, _LIBRARY, name, text, _now()) for name, text in libraries.items()]
        called = before.name
        if draft is not None:
            rows.append((draft_id, _DRAFT, draft.file, draft_to_json(draft), _now()))
            called = called or draft.title[:200] or draft.file
        with self._changing() as database:
            if draft is not None:
                change = "DELETE FROM files WHERE draft_id = ? AND kind = ?"
                database.execute(change, (draft_id, _DRAFT))
            database.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", rows)
            database.execute(
                "UPDATE drafts SET name = ?, changed = ? WHERE draft_id = ?",
                (called, _now(), draft_id),
            )
        return self.draft(draft_id)

    def remove_file(self, draft_id: str, name: str) -> StoredDraft:
        """Remove a draft's file by name."""
        delete = "DELETE FROM files WHERE draft_id = ? AND name = ?"
        return self._change(draft_id, (delete, (draft_id, name)))

    def read_draft(self, draft_id: str) -> Draft | None:
        """Return the text of a draft's file, or ``None`` if it has no file."""
        contents = self._contents(draft_id, _DRAFT)
        return draft_from_json(contents[0]) if contents else None

    def libraries(self, draft_id: str) -> tuple[str, ...]:
        """Return the texts of the uploaded .bib files; the draft may name others."""
        return tuple(self._contents(draft_id, _LIBRARY))

    def _contents(self, draft_id: str, kind: str) -> list[str]:
        query = "SELECT content FROM files WHERE draft_id = ? AND kind = ? ORDER BY at, name"
        return [str(content) for (content,) in self._rows(query, draft_id, kind)]

    # --- Feedback as a test collection ---

    def qrels(self) -> Qrels:
        """Return the feedback on recommended papers as judgements."""
        columns = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
        rows = self._rows("SELECT query_id, doc_id, relevance FROM judgements ORDER BY 1, 2")
        return Qrels(pl.DataFrame(rows, schema=columns, orient="row"), "desk", self.path)

    def queries(self) -> pl.DataFrame:
        """Return the judged passages: ``query_id`` and ``text``."""
        rows = self._rows("SELECT DISTINCT query_id, text FROM judgements ORDER BY 1")
        return pl.DataFrame(rows, schema={"query_id": pl.String, "text": pl.String}, orient="row")

    def export(
        self, qrels: Path | None = None, queries: Path | None = None, *, overwrite: bool = False
    ) -> list[Path]:
        """Write the feedback as judgements and queries (JSON Lines) for `evaluate` and `search`,
        and return the written files. ``overwrite`` replaces existing files."""
        for path in filter(None, (qrels, queries)):
            if os.path.lexists(path) and not overwrite:
                raise CitebedError(
                    f"'{printable(path)}' already exists. Add --overwrite to replace it."
                )
        written = [] if qrels is None else write_qrels(qrels, self.qrels())
        if queries is not None:
            with replace_files(queries) as (draft,), draft.open("wb") as file:
                self.queries().write_ndjson(file)
            written.append(queries)
        return written

    def follow(self, collection: Collection) -> int:
        """Update document ids after the collection merged documents, and return how many changed.
        An id without a document stays."""
        both = "SELECT doc_id FROM basket UNION SELECT doc_id FROM judgements"
        kept = [str(doc_id) for (doc_id,) in self._rows(both)]
        if not kept:
            return 0
        named = collection.scan_documents().select("doc_id", "aliases")
        known = named.filter(pl.col("doc_id").is_in(kept)).select("doc_id").collect()["doc_id"]
        gone = sorted({*kept} - {*known})
        if not gone:
            return 0
        aliases = named.explode("aliases").filter(pl.col("aliases").is_in(gone)).collect()
        renamed = dict(zip(aliases["aliases"], aliases["doc_id"], strict=True))
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


# --- Versions of a draft's text ---------------------------------------------------------------


def _stored(database: sqlite3.Connection, draft_id: str) -> tuple[str, str, str, str]:
    """Return a draft's name, text, time of change and version ('' before its first new save)."""
    found: tuple[str, str, str, str] | None = database.execute(
        "SELECT name, text, changed, coalesce(version, '') FROM drafts LEFT JOIN versions "
        "USING (draft_id) WHERE draft_id = ?",
        (draft_id,),
    ).fetchone()
    if found is None:
        raise NoSuchDraft(f"there is no draft '{draft_id[:40]}' in this collection.")
    return found


def _insert(
    database: sqlite3.Connection, name: str, text: str, version: str, copy_of: str = ""
) -> str:
    draft_id = secrets.token_urlsafe(9)
    row = (draft_id, name, text, _now())
    database.execute("INSERT INTO drafts VALUES (?, ?, ?, ?)", row)
    database.execute("INSERT INTO versions VALUES (?, ?, ?)", (draft_id, version, copy_of))
    return draft_id


def _put_text(database: sqlite3.Connection, draft_id: str, text: str, version: str) -> None:
    change = "UPDATE drafts SET text = ?, changed = ? WHERE draft_id = ?"
    database.execute(change, (text, _now(), draft_id))
    database.execute(
        "INSERT INTO versions VALUES (?, ?, '') ON CONFLICT (draft_id) DO UPDATE SET "
        "version = excluded.version",
        (draft_id, version),
    )


def _keep_copy(
    database: sqlite3.Connection, draft_id: str, called: str, text: str, version: str
) -> str:
    """Keep a conflicting text as a draft of its own and return its id. A page has one copy, however
    often it saves before the author chooses."""
    writer, number = _split(version)
    query = "SELECT draft_id, version, text FROM versions JOIN drafts USING (draft_id)"
    for copy_id, made, kept in database.execute(f"{query} WHERE copy_of = ?", (draft_id,)):
        if kept == text or _is_late(made, writer, number):
            return str(copy_id)
        if writer and _split(made)[0] == writer:
            _put_text(database, copy_id, text, version)
            return str(copy_id)
    name = f"{' '.join(called.split()[:8])[:60]} (other version)".lstrip()
    return _insert(database, name, text, version, draft_id)


def _new_version() -> str:
    return f".{secrets.token_urlsafe(9)}"


def _split(version: str) -> tuple[str, int]:
    """Return the page that made a version and its number; a version of no page has neither."""
    writer, _, number = version.rpartition(".")
    is_number = number.isascii() and number.isdigit() and len(number) < 20
    return (writer, int(number)) if writer and is_number else ("", 0)


def _is_late(version: str, writer: str, number: int) -> bool:
    by, latest = _split(version)
    return bool(writer) and by == writer and number <= latest


def _check_files(path: Path) -> None:
    """Raise an error if the database or one of SQLite's side files is a link, if another user put
    it there for everyone to write, or if a journal would make SQLite write to another file."""
    for ending in ("", "-wal", "-shm"):
        if not is_plain_or_missing(path.with_name(path.name + ending)):
            raise CitebedError(
                f"'{printable(path)}{ending}' is not a regular file. citebed does not follow "
                f"links inside a collection. Delete it and try again."
            )
    if path.exists():
        status = path.stat()
        if status.st_uid != os.geteuid() and status.st_mode & stat.S_IWOTH:
            raise CitebedError(
                f"'{printable(path)}' belongs to another user, and everyone may write it. That "
                "user could read your drafts. Delete it and try again."
            )
    check_journal(path)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
