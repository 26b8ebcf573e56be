"""A campaign in its database, and its transactions."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import polars as pl
from sqlalchemy import (
    Boolean,
    Connection,
    Float,
    Integer,
    Row,
    Select,
    Table,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from citebed.errors import CitebedError, UnknownName
from citebed.files.secret_files import parse_secret
from citebed.judging.settings import CampaignSettings
from citebed.judging.store.database import NEW_NAMES, TRIES, Database, WriteConflict
from citebed.judging.store.schema import UtcTime, campaigns, events, now

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


_T = TypeVar("_T")


class CampaignStore:
    """One campaign of a database: its settings, its secret and its transactions."""

    def __init__(self, database: Database, name: str, connection: Connection | None = None) -> None:
        self.database = database
        with nullcontext(connection) if connection else database.reading() as here:
            row = here.execute(select(campaigns).where(campaigns.c.name == name)).first()
            known = here.scalars(select(campaigns.c.name)).all() if row is None else []
        if row is None:
            raise UnknownName("campaign", name, known)
        self.name = name
        self.id: int = row.id
        self.secret = parse_secret(row.secret, f"campaign '{name}' of {database.url}")
        self.simulated: bool = row.simulated
        self.settings = CampaignSettings.from_json(row.settings)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} in {self.database.url}>"

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Begin a read transaction, which sees one state of the database."""
        with self.database.reading() as connection:
            yield Transaction(self, connection)

    @contextmanager
    def writing(self, *, in_turn: bool = True) -> Iterator[Transaction]:
        """Begin a write transaction; organisers write ``in_turn``, judges do not wait for them."""
        with self.database.writing(turn=self.id if in_turn else None) as connection:
            yield Transaction(self, connection)

    def run_with_retry(self, work: Callable[[Transaction], _T]) -> _T:
        """Run a judge's change in a transaction; retry after a conflict with another writer.

        PostgreSQL lets two writers read the same judgement and refuses the second successor.
        """
        last: Exception
        for _ in range(TRIES):
            try:
                with self.writing(in_turn=False) as tx:
                    return work(tx)
            except (IntegrityError, WriteConflict) as error:
                last = error
        raise last

    def change_settings(self, **changes: Any) -> None:
        """Change settings; ``None`` leaves a setting as it is."""
        settings = self.settings.changed(**changes)
        if settings != self.settings:
            mine = update(campaigns).where(campaigns.c.id == self.id)
            with self.writing() as tx:
                tx.execute(mine.values(settings=settings.as_json()))
            self.settings = settings


class Transaction:
    """A transaction of a campaign, with shortcuts for common statements."""

    def __init__(self, store: CampaignStore, connection: Connection) -> None:
        self.store, self.connection = store, connection
        self.id, self.settings = store.id, store.settings
        self.execute, self.scalar = connection.execute, connection.scalar
        self.scalars = connection.scalars

    def row(self, table: Table, number: int) -> Row[Any]:
        """Return the row of a table with this id."""
        return self.execute(select(table).where(table.c.id == number)).one()

    def add(self, table: Table, **values: Any) -> int:
        """Insert a row into a table and return its id."""
        return int(self.execute(insert(table).returning(table.c.id), values).scalar_one())

    def table(self, chosen: Select[Any]) -> pl.DataFrame:
        """Return the result of a query as a DataFrame with the types of its columns."""
        schema = {column.name: _kind_of(column) for column in chosen.selected_columns}
        return pl.DataFrame([tuple(row) for row in self.execute(chosen)], schema, orient="row")

    def log(
        self, what: str, who: str = "organiser", form_id: int | None = None, **detail: Any
    ) -> None:
        """Add an event to the campaign's log."""
        row = {"campaign_id": self.id, "what": what, "who": who, "form_id": form_id}
        self.execute(insert(events).values(**row, detail=detail, at=now()))


def _kind_of(column: Any) -> pl.DataType | type[pl.DataType]:
    if isinstance(column.type, UtcTime):
        return pl.Datetime("us", "UTC")
    if isinstance(column.type, Integer):
        return pl.Int64 if column.primary_key or column.foreign_keys else pl.Int32
    if isinstance(column.type, Float):
        return pl.Float64
    return pl.Boolean if isinstance(column.type, Boolean) else pl.String


def create_campaign(
    database: Database,
    name: str,
    settings: CampaignSettings,
    *,
    simulated: bool = False,
    secret: str | None = None,
    fill: Callable[[Transaction], object] | None = None,
) -> CampaignStore:
    """Create a campaign; its name must be new in this database.

    ``secret`` is random by default; reproducible simulations set it. ``fill`` adds the first rows
    in the same transaction, so that a campaign is created completely or not at all.
    """
    if not NAME.fullmatch(name):
        raise CitebedError(
            f"'{name}' is not a valid campaign name. Use letters, digits, '.', '-' and '_'."
        )
    with database.writing(turn=NEW_NAMES) as connection:
        if connection.scalar(select(campaigns.c.id).where(campaigns.c.name == name)) is not None:
            raise CitebedError(f"there is already a campaign '{name}' in {database.url}.")
        row = {"name": name, "secret": secret or secrets.token_hex(32), "simulated": simulated}
        row |= {"settings": settings.as_json(), "created_at": now()}
        connection.execute(insert(campaigns).values(row))
        store = CampaignStore(database, name, connection)
        if fill is not None:
            fill(Transaction(store, connection))
    return store
