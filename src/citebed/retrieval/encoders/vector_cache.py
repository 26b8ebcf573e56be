"""Vectors on disk, so that a text is encoded once: keyed by the model and by the text.

Every model has an SQLite database of its own, named by the model's fingerprint: a row per text with
the text's hash, the vector as little-endian float32, and a checksum of both. Rows are written in
transactions, so whatever is cut short (a crash, a full disk, a kill) leaves none of its rows. A row
is checked against its checksum whenever it is read. The databases are the user's own, in the user's
cache folder unless another is named; what a collection brings along is not opened.
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
from citebed.files.output_files import (
    is_plain_or_missing,
    open_to_append,
    translate_write_errors,
)
from citebed.retrieval.vectors.vectors import OnProgress, Vectors
from citebed.wording import printable

if TYPE_CHECKING:
    from citebed.retrieval.encoders.encoding import Encoder

_LOG = logging.getLogger("citebed")
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR)

_SCHEMA = """
CREATE TABLE model (name TEXT, fingerprint TEXT, dimensions INTEGER);
CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB, checksum INTEGER);
"""
# A database may be damaged: nothing that its schema says is run, and no cell believed.
_SETTINGS = (
    *("page_size = 16384", "cache_size = -32768", "synchronous = NORMAL"),
    *("trusted_schema = OFF", "cell_size_check = ON"),
)
_BESIDE = ("", "-journal", "-wal", "-shm")
_SECONDS_TO_WAIT = 60.0  # for another process to finish its transaction
# What the disk or another process is to blame for; anything else is damage.
_NO_DAMAGE = (
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
)
# So many texts are encoded before their vectors are written: what a crash can lose.
_AT_ONCE = 256


class VectorCache:
    """A folder of vectors, for any number of models, threads and processes at once.

    It is the user's, for all collections, unless another ``folder`` is given.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = vectors_folder() if folder is None else Path(folder)

    def vectors(
        self,
        encoder: Encoder,
        texts: Sequence[str],
        *,
        batch: int = 32,
        progress: OnProgress | None = None,
    ) -> Vectors:
        """One vector per text, in order; only texts that the cache does not have are encoded.

        ``progress`` is called with the number of texts encoded so far and to be encoded in all.
        Where the folder is read-only, what it has is used and nothing is added.
        """
        keys = [text_key(text) for text in texts]
        asked = dict(zip(keys, texts, strict=True))
        places = {key: place for place, key in enumerate(asked)}
        rows = np.empty((len(asked), encoder.dimensions), np.float32)
        with _opened(self.folder, encoder) as shelf:
            found = set() if shelf is None else shelf.read(places, rows)
            wanted = [key for key in asked if key not in found]
            for start in range(0, len(wanted), _AT_ONCE):
                part = wanted[start : start + _AT_ONCE]
                tell = None if progress is None else _later(progress, start, len(wanted))
                made = encoder.encode([asked[key] for key in part], batch=batch, progress=tell)
                if shelf is not None and shelf.is_writable:
                    shelf.write(part, made)
                rows[[places[key] for key in part]] = made
        return rows if len(rows) == len(keys) else rows[[places[key] for key in keys]]


def text_key(text: str) -> bytes:
    """16 bytes that stand for a text; two texts share them with a chance of 1 in 10^38."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _later(progress: OnProgress, before: int, all_of_them: int) -> OnProgress:
    """Progress of a part, told as that of the whole."""
    return lambda done, _: progress(before + done, all_of_them)


@contextlib.contextmanager
def _opened(folder: Path, encoder: Encoder) -> Iterator[_Shelf | None]:
    """The vectors of one model; what SQLite says goes wrong is told as the user needs it.

    ``None`` where there are none and none can be kept.
    """
    path = folder / f"{encoder.fingerprint[:32]}.sqlite"
    with translate_write_errors(path):
        for end in _BESIDE:
            if not is_plain_or_missing(path.with_name(path.name + end)):
                raise _damaged(path, f"{path.name}{end} is not a plain file")
        check_journal(path)
        is_writable = _is_writable(path)
        is_there = path.exists() and (is_writable or path.stat().st_size > 0)
    if not is_writable:
        _tell_read_only(folder)
    if not is_there:
        yield None
        return
    try:
        uri = f"{path.absolute().as_uri()}?mode={'rw' if is_writable else 'ro'}"
        connection = sqlite3.connect(uri, _SECONDS_TO_WAIT, isolation_level=None, uri=True)
        with contextlib.closing(connection):
            yield _Shelf(connection, path, encoder, is_writable=is_writable)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # also in the words of the first
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_DAMAGE:
            raise CitebedError(f"cannot write {printable(path)}: {error}") from error
        raise _damaged(path, printable(str(error))) from error


def _is_writable(path: Path) -> bool:
    """Whether the database can be changed; it is made if it is not there."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            open_to_append(path).close()  # with the permissions that the umask leaves
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise
        return False
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


@cache
def _tell_read_only(folder: Path) -> None:
    """Say once that vectors are not kept."""
    _LOG.warning("note: '%s' is read-only: vectors are not kept there", printable(folder))


def _damaged(path: Path, what: str) -> CitebedError:
    return CitebedError(
        f"the vector cache '{printable(path)}' is damaged: {what}. Delete that file; its vectors "
        "will be computed anew"
    )


class _Shelf:
    """The open database of one model."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, encoder: Encoder, *, is_writable: bool
    ) -> None:
        self._database, self._path, self.is_writable = connection, path, is_writable
        self._width, self._mark = encoder.dimensions, crc32(encoder.fingerprint.encode())
        found = read_schema(connection)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 4 * self._width + (1 << 16))
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        if is_writable and not found:
            with self._transaction():
                if not read_schema(connection):  # another process may have been faster
                    for statement in filter(str.strip, _SCHEMA.split(";")):
                        connection.execute(statement)
                    says = (encoder.name, encoder.fingerprint, self._width)
                    connection.execute("INSERT INTO model VALUES (?, ?, ?)", says)
            found = read_schema(connection)
        same = found == parse_schema(_SCHEMA) and connection.execute(
            "SELECT fingerprint, dimensions FROM model"
        ).fetchall() == [(encoder.fingerprint, self._width)]
        if not same:
            raise _damaged(path, "it is of another version or another model")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        with self._database:
            yield

    def read(self, places: Mapping[bytes, int], rows: Vectors) -> set[bytes]:
        """Put the vectors that are there, each checked, into their places; which keys they have."""
        found: set[bytes] = set()
        size, mark = 4 * self._width, self._mark
        for answer in self._answers(list(places)):
            while batch := answer.fetchmany(_AT_ONCE):
                part = [row for row in batch if row[0] in places]
                if not all(
                    isinstance(v, bytes) and len(v) == size and crc32(v, crc32(k, mark)) == check
                    for k, v, check in part
                ):
                    raise _damaged(self._path, "a vector is not what was written")
                vectors = np.frombuffer(b"".join(vector for _, vector, _ in part), "<f4")
                rows[[places[key] for key, _, _ in part]] = vectors.reshape(len(part), self._width)
                found.update(key for key, _, _ in part)
        return found

    def _answers(self, keys: Sequence[bytes]) -> Iterator[sqlite3.Cursor]:
        """Rows that hold those of the keys: all rows in their order, where most are asked for."""
        query = "SELECT key, vector, checksum FROM vectors"
        ((count,),) = self._database.execute("SELECT max(rowid) FROM vectors")
        if len(keys) * 4 > (count or 0):
            yield self._database.execute(query)
            return
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            yield self._database.execute(f"{query} WHERE key IN ({marks})", part)

    def write(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep vectors; what another process wrote meanwhile stays."""
        vectors = np.ascontiguousarray(vectors, "<f4")
        if vectors.shape != (len(keys), self._width) or not np.isfinite(vectors).all():
            raise CitebedError(
                f"the encoder gave an array of {vectors.shape} for {len(keys)} texts of "
                f"{self._width} dimensions, or numbers that are none: nothing was kept"
            )
        # The checksum is of the model and the text too: no damage makes it another's vector.
        rows = [
            (key, row, crc32(row.data, crc32(key, self._mark)))
            for key, row in zip(keys, vectors, strict=True)
        ]
        with self._transaction():
            self._database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
