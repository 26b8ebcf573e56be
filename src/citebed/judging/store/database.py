"""Open a campaign's database: an SQLite file or a PostgreSQL URL.

SQLite uses a write-ahead log that is synced at every commit, and foreign keys. Writers of one
process wait for a lock before they ask SQLite, which only polls; writers of several processes wait
for each other in SQLite.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Container, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import (
    JSON,
    URL,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Date,
    Engine,
    Integer,
    LargeBinary,
    String,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError
from sqlalchemy.pool import NullPool

from citebed.errors import CitebedError, import_extra
from citebed.files.databases import (
    Schema,
    check_journal,
    check_schema,
    create_private_database,
    read_schema,
    refused_database,
)
from citebed.judging.store.schema import UtcTime, metadata
from citebed.wording import printable

MIGRATIONS = Path(__file__).parent / "migrations"
UNRELEASED = ("0001", "0002", "0003")
"""Schema versions that were never released."""
WAIT_SECONDS = 30
TRIES = 20
_PATIENCE = {
    "connect_timeout": str(WAIT_SECONDS),
    "options": f"-c lock_timeout={WAIT_SECONDS}s",
    "keepalives_idle": str(WAIT_SECONDS),  # notice a server that disappeared
    "tcp_user_timeout": str(WAIT_SECONDS * 1000),
}
"""Timeouts for PostgreSQL; parameters of the database URL take precedence."""
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "trusted_schema=OFF",  # run no code from a stranger's file
    # A checkpoint blocks writers, so run one after 64 MB instead of after each 4 MB.
    "wal_autocheckpoint=16384",
)


class Unavailable(CitebedError):
    """The database does not respond or rejected a change; a later retry may succeed."""


class WriteConflict(Unavailable):
    """Two concurrent changes conflicted and the database aborted this one; retry it."""


_LOCK = 20261116
_TAKE_TURN = text(f"SELECT pg_advisory_xact_lock({_LOCK}, :turn)")
NEW_NAMES = 0
"""The lock number for adding unique names: campaigns and organisers."""
LOGINS = -1
"""The lock number for logins, which are counted before a password is checked."""
_TROUBLES = ("SQLITE_IOERR", "SQLITE_FULL", "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN")
"""SQLite's errors that say nothing about what is in a database."""
_COLLISIONS = ("40001", "40P01")  # could not serialise; deadlock


class Database:
    """An open database with read and write transactions."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        weakref.finalize(self, engine.dispose)  # callers need not close it
        self._write_engine = engine.execution_options(writes=True)
        self._read_engine = engine
        if engine.dialect.name == "postgresql":
            self._read_engine = engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        self._turn: AbstractContextManager[Any] = (
            threading.Lock() if engine.dialect.name == "sqlite" else nullcontext()
        )

    @property
    def url(self) -> str:
        """The URL without its password."""
        return self.engine.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Begin a read transaction, which sees one consistent state of the database."""
        with _translated_errors(self.url), self._read_engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, turn: int | None = None) -> Iterator[Connection]:
        """Begin a write transaction, which is synced to the disk or rolled back at its end.

        Transactions with the same ``turn`` run one after the other, also in several processes.
        SQLite runs all write transactions one after the other.
        """
        with _translated_errors(self.url), self._turn, self._write_engine.begin() as connection:
            if turn is not None and connection.dialect.name == "postgresql":
                connection.execute(_TAKE_TURN, {"turn": turn})
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_database(url: str | Path, *, create: bool = False) -> Database:
    """Open the database at a URL or in a file and migrate it to the current schema.

    ``create`` allows a new SQLite file. A PostgreSQL database must exist, but may have no tables.
    """
    address, backend = None, ""
    if isinstance(url, Path) or "://" not in url:
        address, backend = URL.create("sqlite", database=str(url)), "sqlite"
    else:
        with suppress(ArgumentError):
            address = make_url(url)
            backend = address.get_backend_name()
    if address is not None and backend == "sqlite":
        engine = _sqlite(address, create)
        _check_sqlite(address)
    elif address is not None and backend == "postgresql":
        import_extra("postgresql", "psycopg")
        engine = create_engine(
            address.set(drivername="postgresql+psycopg"),
            pool_size=20, max_overflow=30, pool_pre_ping=True,
            connect_args={k: v for k, v in _PATIENCE.items() if k not in address.query},
        )  # fmt: skip
    else:
        raise CitebedError(
            f"'{printable(url)}' is not a supported database. Use a file or "
            "postgresql://user@host/name."
        )
    database = Database(engine)
    with _translated_errors(database.url):
        _bring_up_to_date(engine)
    return database


def _bring_up_to_date(engine: Engine) -> None:
    """Run the missing migrations, all or none, in one process at a time."""
    config = _config()
    scripts = ScriptDirectory.from_config(config)
    with engine.connect() as connection:
        if _version(connection) == scripts.get_current_head():
            return
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        _refuse_others(_version(connection), {each.revision for each in scripts.walk_revisions()})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _version(connection: Connection) -> str | None:
    heads = MigrationContext.configure(connection).get_current_heads()
    if len(heads) > 1:
        raise refused_database(
            connection.engine.url.database or "", "it has several schema versions"
        )
    return heads[0] if heads else None


def _check_sqlite(address: URL) -> None:
    """Refuse a file whose schema differs from the migrations' or that has values of wrong types.

    The file may be a stranger's, so this check comes before any setting or change. A file without
    tables is new.
    """
    path = address.database or ""
    scripts = ScriptDirectory.from_config(_config())
    head = str(scripts.get_current_head())
    version_table = ("table", "alembic_version")
    unset = create_engine(address, poolclass=NullPool, connect_args={"timeout": WAIT_SECONDS})
    with _translated_errors(path), unset.connect() as connection:
        found = _read_schema(connection)
        if not found:
            return
        if version_table not in found:
            raise refused_database(path, "it is not a campaign database")
        check_schema(path, {version_table: found[version_table]}, _made_schema(head))
        version = _version(connection)
        _refuse_others(version, {each.revision for each in scripts.walk_revisions()})
        check_schema(path, found, _made_schema(version or head))
        if why := find_damage(connection, {name for kind, name in found if kind == "table"}):
            raise refused_database(path, why)


@cache
def _made_schema(version: str) -> Schema:
    """Return the schema that the migrations create up to a version."""
    engine = create_engine("sqlite://")
    config = _config()
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, version)
            return _read_schema(connection)
    finally:
        engine.dispose()


def _read_schema(connection: Connection) -> Schema:
    return read_schema(connection.connection.driver_connection)  # type: ignore[arg-type]


def find_damage(connection: Connection, names: Container[str]) -> str:
    """Return the first damage in the rows of an SQLite database, or "".

    SQLite stores values of any type in any column. ``names`` are the tables of the database.
    """
    for table in metadata.sorted_tables:
        if table.name not in names:
            continue
        wrong = " OR ".join(map(_wrong_value, table.c))
        row = connection.exec_driver_sql(f"SELECT rowid FROM {table.name} WHERE {wrong} LIMIT 1")
        if (number := row.scalar()) is not None:
            return f"row {number} of its table '{table.name}' has a value of a wrong type"
    check = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
    if check != "ok":
        return printable(check[:200])
    orphan = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if orphan is not None:
        return f"row {orphan[1]} of its table '{orphan[0]}' refers to a missing row"
    return ""


def _wrong_value(column: Column[Any]) -> str:
    """Return the SQL condition that a column's value is not of the type that the driver expects."""
    is_id = column.primary_key or column.foreign_keys
    kinds = (kind for kind in _RIGHT if isinstance(column.type, kind))
    right = _RIGHT[BigInteger if is_id else next(kinds)]
    name = f'"{column.name}"'
    null = f"{name} IS NULL OR " if column.nullable else ""
    if isinstance(column.type, JSON):
        right = f"CASE WHEN {right} THEN {_SHAPES.get(str(column), _OBJECT)} END"
        null = f"{null}{name} = 'null' OR " if null else ""  # restored backups have these
    return f"NOT ({null}coalesce({right.format(name)}, 0))"


# Time columns have numeric affinity; ``substr`` keeps the comparison textual. SQLite accepts
# 31 February unless the date is converted to a day number first.
_DAY = (
    "typeof({0}) = 'text' AND substr({0}, 1, 4) >= '0001' "
    "AND date(julianday(substr({0}, 1, 10))) = substr({0}, 1, 10) "
)
_RIGHT: dict[type, str] = {
    UtcTime: f"{_DAY}AND time(substr({{0}}, 12, 8)) = substr({{0}}, 12, 8) "
    "AND substr({0}, 11, 1) = ' ' AND substr({0}, 20) GLOB '.[0-9][0-9][0-9][0-9][0-9][0-9]'",
    Date: f"{_DAY}AND length({{0}}) = 10",
    JSON: "typeof({0}) = 'text' AND json_valid({0})",
    LargeBinary: "typeof({0}) = 'blob'",
    Boolean: "typeof({0}) = 'integer' AND {0} IN (0, 1)",
    BigInteger: "typeof({0}) = 'integer'",
    Integer: "typeof({0}) = 'integer' AND {0} BETWEEN -2147483648 AND 2147483647",
    String: "typeof({0}) = 'text'",
}
"""The SQL condition that a value is valid, by the first matching column type."""
_OBJECT = "json_type({0}) = 'object'"
_TEXTS = (
    "json_type({0}) = 'array' AND NOT EXISTS (SELECT 1 FROM json_each({0}) WHERE type != 'text')"
)
_SHAPES = {
    "campaigns.settings": "1",  # checked by `CampaignSettings`
    "wordings.classes": _TEXTS,
    "searches.results": _TEXTS,
    "items.shown": f"{_OBJECT} AND json_type({{0}}, '$.title') = 'text' AND NOT EXISTS (SELECT 1 "
    "FROM json_each({0}) WHERE CASE WHEN key IN ('title', 'authors') THEN type != 'text' "
    "WHEN key = 'year' THEN type NOT IN ('integer', 'null') "
    "WHEN key = 'url' THEN type NOT IN ('text', 'null') ELSE 1 END)",
    "forms.content": f"{_OBJECT} AND (phase = 1 OR json_type({{0}}, '$.asked') = 'array') "
    "AND NOT EXISTS (SELECT 1 FROM json_each({0}, '$.asked') AS asked WHERE type != 'object' "
    "OR json_extract(asked.value, '$.question') NOT IN (SELECT id FROM questions) "
    "OR json_extract(asked.value, '$.wording') NOT IN (SELECT id FROM wordings) "
    "OR coalesce(json_type(asked.value, '$.items'), '') != 'array' "
    "OR json_extract(asked.value, '$.question') IS NULL "
    "OR json_extract(asked.value, '$.wording') IS NULL "
    "OR EXISTS (SELECT 1 FROM json_each(asked.value, '$.items') AS item "
    "WHERE item.value NOT IN (SELECT id FROM items)))",
}
"""The SQL condition on the shape of a JSON column; other JSON columns hold an object."""


def _refuse_others(version: str | None, known: set[str]) -> None:
    if version in UNRELEASED:
        raise CitebedError(
            f"the database is older than the first release of citebed (schema {version}). Write a "
            "backup with 'citebed campaign backup' of the version that created it, then restore "
            "that with 'citebed campaign restore'."
        )
    if version is not None and version not in known:
        raise CitebedError(
            f"the database was written by a newer citebed (schema {version}). "
            "Install that version to open it."
        )


def _sqlite(address: URL, create: bool) -> Engine:
    path = Path(address.database or "")
    if not create and not path.is_file():
        raise CitebedError(
            f"there is no database {printable(path)}. If you moved it, enter its new place in the "
            "campaign's campaign.toml; if it is lost, restore a backup with 'citebed campaign "
            "restore'."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    check_journal(path)
    create_private_database(path)
    engine = create_engine(
        address, pool_size=20, max_overflow=40, connect_args={"timeout": WAIT_SECONDS},
        json_deserializer=_read_json,
    )  # fmt: skip

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # this module begins transactions itself
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:  # SQLite reads deeper nesting than Python
        raise CitebedError("the database has JSON that is nested too deeply to read.") from None


@contextmanager
def _translated_errors(url: str) -> Iterator[None]:
    """Translate database errors: out of reach, full, damaged or locked too long."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # `read_schema` raises these
        reason = printable(str(error)[:200])
        if getattr(error, "sqlite_errorname", "").startswith(_TROUBLES):
            message = f"the database {printable(url)} does not respond: {reason}"
            raise Unavailable(message) from error
        raise refused_database(url, reason) from error
    except DatabaseError as error:
        if type(error) not in (DatabaseError, OperationalError):
            raise
        reason = str(error.orig).strip().partition("\n")[0]
        collided = getattr(error.orig, "sqlstate", None) in _COLLISIONS
        raise (WriteConflict if collided else Unavailable)(
            f"the database {printable(url)} does not respond: {reason}"
        ) from error
