"""A cache of vectors on disk, so that citebed encodes each text only once.

Each model has its own SQLite database, named by the model's fingerprint, with one row per text: a
hash of the text, the vector as little-endian float32, and a checksum of both, which citebed checks
when it reads the row. Rows are written in transactions, so an interrupted one (crash, full disk,
kill) leaves no rows. The databases belong to the user and are in the user's cache folder unless
another folder is given; citebed does not open databases that come with a collection.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from citebed.errors import CitebedError
from citebed.files.databases import check_journal, parse_schema, read_schema
from citebed.files.environment import vectors_folder
from citebed.files.output_files import is_plain_or_missing, open_to_append, translate_write_errors
from citebed.retrieval.vectors.vectors import OnProgress, Vectors
from citebed.wording import printable

if TYPE_CHECKING:
    from citebed.retrieval.encoders.models import Encoder

_LOG = logging.getLogger("citebed")
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR)
_SCHEMA = """
CREATE TABLE model (name TEXT, fingerprint TEXT, dimensions INTEGER);
CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB, checksum INTEGER);
"""
# A database may be damaged: SQLite runs nothing from its schema, and checks each cell.
_SETTINGS = (
    *("page_size = 16384", "cache_size = -32768", "synchronous = NORMAL"),
    *("trusted_schema = OFF", "cell_size_check = ON"),
)
_FILE_ENDINGS = ("", "-journal", "-wal", "-shm")
_LOCK_TIMEOUT = 60.0
# Errors of the disk or of another process; all others mean a damaged database.
_NO_DAMAGE = (
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
)
_CHUNK = 256
"""Texts that citebed encodes before it writes their vectors, and so the most that a crash loses."""


class VectorCache:
    """A folder of vectors, for any number of models, threads and processes at once.

    By default this is the user's folder for all collections.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = vectors_folder() if folder is None else Path(folder)

    def vectors(
        self, encoder: Encoder, texts: Sequence[str], *, progress: OnProgress | None = None
    ) -> Vectors:
        """Return one vector per text, and encode only texts that the cache lacks.

        ``progress`` gets the number of encoded texts and of all texts to encode. If the folder is
        read-only, citebed uses its vectors and adds none.
        """
        # 16 bytes: two texts share a hash with a probability of 10^-38.
        encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
        keys = [hashlib.blake2b(data, digest_size=16).digest() for data in encoded]
        by_key = dict(zip(keys, texts, strict=True))
        places = {key: place for place, key in enumerate(by_key)}
        rows = np.empty((len(by_key), encoder.dimensions), np.float32)
        with _open_database(self.folder, encoder) as database:
            known = set() if database is None else database.read(places, rows)
            missing = [key for key in by_key if key not in known]
            for start in range(0, len(missing), _CHUNK):
                part = missing[start : start + _CHUNK]

                def report(done: int, _: int, start: int = start) -> None:
                    if progress is not None:
                        progress(start + done, len(missing))

                vectors = encoder.encode([by_key[key] for key in part], progress=report)
                if database is not None and database.is_writable:
                    database.write(part, vectors)
                rows[[places[key] for key in part]] = vectors
        return rows if len(rows) == len(keys) else rows[[places[key] for key in keys]]


@contextlib.contextmanager
def _open_database(folder: Path, encoder: Encoder) -> Iterator[_Database | None]:
    """Open the vectors of one model, and translate SQLite's errors for the user.

    Yield ``None`` if a read-only folder has no vectors of the model.
    """
    path = folder / f"{encoder.fingerprint[:32]}.sqlite"
    with translate_write_errors(path):
        for ending in _FILE_ENDINGS:
            if not is_plain_or_missing(path.with_name(path.name + ending)):
                raise _damaged(path, f"{path.name}{ending} is not a plain file")
        check_journal(path)
        is_writable = _is_writable(path)
        exists = path.exists() and (is_writable or path.stat().st_size > 0)
    if not is_writable:
        _warn_read_only(folder)
    if not exists:
        yield None
        return
    try:
        uri = f"{path.absolute().as_uri()}?mode={'rw' if is_writable else 'ro'}"
        connection = sqlite3.connect(uri, _LOCK_TIMEOUT, isolation_level=None, uri=True)
        with contextlib.closing(connection):
            yield _Database(connection, path, encoder, is_writable=is_writable)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # a message of SQLite may be no UTF-8
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_DAMAGE:
            raise CitebedError(f"cannot write {printable(path)}: {error}") from error
        raise _damaged(path, printable(str(error))) from error


def _is_writable(path: Path) -> bool:
    """Return True if the database can be changed; create it if it does not exist."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            open_to_append(path).close()  # with the permissions of the umask
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise
        return False
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


@cache
def _warn_read_only(folder: Path) -> None:
    _LOG.warning("note: '%s' is read-only: citebed stores no vectors there", printable(folder))


def _damaged(path: Path, what: str) -> CitebedError:
    return CitebedError(
        f"the vector cache '{printable(path)}' is damaged: {what}. Delete that file; citebed will "
        "compute its vectors again"
    )


class _Database:
    """The open database of one model."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, encoder: Encoder, *, is_writable: bool
    ) -> None:
        self._connection, self._path, self.is_writable = connection, path, is_writable
        # A checksum covers the model and the text, so a damaged row is never another's vector.
        self._width, self._seed = encoder.dimensions, crc32(encoder.fingerprint.encode())
        schema = read_schema(connection)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 4 * self._width + (1 << 16))
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        if is_writable and not schema:
            with self._transaction():
                if not read_schema(connection):  # another process may have been faster
                    for statement in filter(str.strip, _SCHEMA.split(";")):
                        connection.execute(statement)
                    row = (encoder.name, encoder.fingerprint, self._width)
                    connection.execute("INSERT INTO model VALUES (?, ?, ?)", row)
            schema = read_schema(connection)
        is_same = schema == parse_schema(_SCHEMA) and connection.execute(
            "SELECT fingerprint, dimensions FROM model"
        ).fetchall() == [(encoder.fingerprint, self._width)]
        if not is_same:
            raise _damaged(path, "it belongs to another version or another model")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection:
            yield

    def read(self, places: Mapping[bytes, int], rows: Vectors) -> set[bytes]:
        """Copy the stored vectors into ``rows`` after a check, and return their keys."""
        known: set[bytes] = set()
        size, seed = 4 * self._width, self._seed
        for cursor in self._select(list(places)):
            while batch := cursor.fetchmany(_CHUNK):
                part = [row for row in batch if row[0] in places]
                if not all(
                    isinstance(v, bytes) and len(v) == size and crc32(v, crc32(k, seed)) == check
                    for k, v, check in part
                ):
                    raise _damaged(self._path, "a vector does not match its checksum")
                vectors = np.frombuffer(b"".join(vector for _, vector, _ in part), "<f4")
                rows[[places[key] for key, _, _ in part]] = vectors.reshape(len(part), self._width)
                known.update(key for key, _, _ in part)
        return known

    def _select(self, keys: Sequence[bytes]) -> Iterator[sqlite3.Cursor]:
        """Select the rows of some keys, or all rows in their order if most are wanted."""
        query = "SELECT key, vector, checksum FROM vectors"
        ((count,),) = self._connection.execute("SELECT max(rowid) FROM vectors")
        if len(keys) * 4 > (count or 0):
            yield self._connection.execute(query)
            return
        for start in range(0, len(keys), _CHUNK):
            part = keys[start : start + _CHUNK]
            marks = ",".join("?" * len(part))
            yield self._connection.execute(f"{query} WHERE key IN ({marks})", part)

    def write(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Store vectors; rows that another process wrote meanwhile stay."""
        vectors = np.ascontiguousarray(vectors, "<f4")
        if vectors.shape != (len(keys), self._width) or not np.isfinite(vectors).all():
            raise CitebedError(
                f"the encoder returned an array of {vectors.shape} for {len(keys)} texts of "
                f"{self._width} dimensions, or numbers that are not finite: citebed stored none"
            )
        rows = [
            (key, row, crc32(row.data, crc32(key, self._seed)))
            for key, row in zip(keys, vectors, strict=True)
        ]
        with self._transaction():
            self._connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
