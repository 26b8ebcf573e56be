"""Opening a campaign's database: SQLite in a file, or PostgreSQL by its URL.

SQLite runs with a write-ahead log that is synced at every commit, and with foreign keys. Writers
of one process take turns before they ask SQLite, whose own waiting polls; writers of several
processes wait for each other in SQLite.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

from citebed.errors import CitebedError, import_extra
from citebed.files.databases import check_journal
from citebed.files.system_errors import why_not
from citebed.wording import printable

MIGRATIONS = Path(__file__).parent / "migrations"
UNRELEASED = ("0001", "0002", "0003")
"""Schemas that no release had."""
WAIT_SECONDS = 30
TRIES = 20
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "trusted_schema=OFF",  # it may be a stranger's: what it says of itself is not run
    # Moving the log into the database holds writers up: after 64 MB, not after each 4 MB.
    "wal_autocheckpoint=16384",
)


class Unavailable(CitebedError):
    """The database did not answer, or did not take a change; trying again later may help."""


class Collided(Unavailable):
    """Two changes got into each other's way; the database gave this one up, and it may go now."""


_LOCK = 20261116
_TAKE_TURN = text(f"SELECT pg_advisory_xact_lock({_LOCK}, :turn)")
NEW_NAMES = 0
"""The turn of those who add a name that may be there only once: campaigns, organisers."""
_COLLISIONS = ("40001", "40P01")  # could not serialise; deadlock


class Database:
    """An open database; ``reading()`` gives one consistent view, ``writing()`` all or nothing."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        weakref.finalize(self, engine.dispose)  # nobody needs to close it
        self._changing = engine.execution_options(writes=True)
        self._seeing = engine
        if engine.dialect.name == "postgresql":
            self._seeing = engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        self._turn: AbstractContextManager[Any] = (
            threading.Lock() if engine.dialect.name == "sqlite" else nullcontext()
        )

    @property
    def url(self) -> str:
        """Where it is, without its password."""
        return self.engine.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database, whatever others write meanwhile."""
        with _translated_errors(self.url), self._seeing.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, turn: int | None = None) -> Iterator[Connection]:
        """A transaction that is on the disk when it ends, or has not been.

        Those of the same ``turn`` run one after the other, also in several processes: each sees all
        that was done before. SQLite lets all writers take turns.
        """
        with _translated_errors(self.url), self._turn, self._changing.begin() as connection:
            if turn is not None and connection.dialect.name == "postgresql":
                connection.execute(_TAKE_TURN, {"turn": turn})
            yield connection

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def open_database(url: str | Path, *, create: bool = False) -> Database:
    """The database at a URL or in a file, brought to the schema of this version.

    A file is only made with ``create``; of PostgreSQL the database must exist, not its tables.
    """
    address = _address(url)
    if address.get_backend_name() == "sqlite":
        engine = _sqlite(address, create)
    else:
        import_extra("postgresql", "psycopg")
        engine = create_engine(address, pool_size=20, max_overflow=30, pool_pre_ping=True)
    database = Database(engine)
    with _translated_errors(database.url):
        _bring_up_to_date(engine)
    return database


def _bring_up_to_date(engine: Engine) -> None:
    """Run the migrations that the database lacks, all or none, one process at a time."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
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


def _version(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _refuse_others(version: str | None, known: set[str]) -> None:
    if version in UNRELEASED:
        raise CitebedError(
            f"the database is older than the first release of citebed (its schema is {version}): "
            "write a backup with the version that made it, 'citebed campaign backup', and make "
            "the campaign anew of it with 'citebed campaign restore'."
        )
    if version is not None and version not in known:
        raise CitebedError(
            f"the database was written by a newer citebed (its schema is {version}); "
            "install that version to open it."
        )


def _address(url: str | Path) -> URL:
    if isinstance(url, Path) or "://" not in url:
        return URL.create("sqlite", database=str(url))
    try:
        address = make_url(url)
        backend = address.get_backend_name()
    except ArgumentError:
        backend = ""
    if backend not in ("sqlite", "postgresql"):
        raise CitebedError(
            f"'{printable(url)}' is no database that a campaign can be in: give a file, or "
            "postgresql://user@host/name."
        )
    return address.set(drivername="postgresql+psycopg") if backend == "postgresql" else address


def _sqlite(address: URL, create: bool) -> Engine:
    path = Path(address.database or "")
    if not create and not path.is_file():
        raise CitebedError(
            f"there is no database {printable(path)}. If it was moved, say where it is in the "
            "campaign's campaign.toml; if it is lost, make it anew of a backup with 'citebed "
            "campaign restore'."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    check_journal(path)
    _make_private(path)
    engine = create_engine(
        address, pool_size=20, max_overflow=40, connect_args={"timeout": WAIT_SECONDS}
    )

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


def _make_private(path: Path) -> None:
    """Make the file where it is missing: for its owner only, as SQLite then makes its log too."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return  # whoever may read it was decided before
    except OSError as error:
        why = f"cannot make the database {printable(path)}: {why_not(error)}"
        raise CitebedError(why) from error


@contextmanager
def _translated_errors(url: str) -> Iterator[None]:
    """Tell what a database says of itself: out of reach, full, damaged, locked too long."""
    try:
        yield
    except DatabaseError as error:
        if type(error) not in (DatabaseError, OperationalError):
            raise
        reason = str(error.orig).strip().partition("\n")[0]
        collided = getattr(error.orig, "sqlstate", None) in _COLLISIONS
        raise (Collided if collided else Unavailable)(
            f"the database {printable(url)} does not answer: {reason}"
        ) from error
