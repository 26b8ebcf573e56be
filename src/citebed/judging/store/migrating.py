"""Bringing a database to the schema of this version, one migration after the other."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from citebed.errors import CitebedError

MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 20261116


def bring_up_to_date(engine: Engine) -> None:
    """Run the migrations that the database lacks, all or none, one process at a time."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    newest = ScriptDirectory.from_config(config).get_current_head()
    with engine.connect() as connection:
        if _version(connection) == newest:
            return
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        _refuse_newer(connection, config)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _version(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _refuse_newer(connection: Connection, config: Config) -> None:
    at = _version(connection)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if at is not None and at not in known:
        raise CitebedError(
            f"the database was written by a newer citebed (its schema is {at}); "
            "install that version to open it."
        )
