"""A campaign in its database."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, insert, select, update

from citebed.errors import CitebedError, UnknownName
from citebed.judging.settings import CampaignSettings
from citebed.judging.store.engine import NEW_NAMES, Database
from citebed.judging.store.schema import campaigns, events, now

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class CampaignStore:
    """One campaign of a database: its settings, its secret, and transactions."""

    def __init__(self, database: Database, name: str) -> None:
        self.database = database
        with database.reading() as connection:
            row = connection.execute(select(campaigns).where(campaigns.c.name == name)).first()
            known = connection.scalars(select(campaigns.c.name)).all() if row is None else []
        if row is None:
            raise UnknownName("campaign", name, known)
        self.name = name
        self.id: int = row.id
        self.secret = bytes.fromhex(row.secret)
        self.simulated: bool = row.simulated
        self.settings = CampaignSettings.from_json(row.settings)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} in {self.database.url}>"

    def reading(self) -> AbstractContextManager[Connection]:
        """One state of the database."""
        return self.database.reading()

    def writing(self) -> AbstractContextManager[Connection]:
        """All or nothing, one organiser's verb after the other; judges need not wait for them."""
        return self.database.writing(turn=self.id)

    def change_settings(self, **changes: Any) -> None:
        """Other values of some settings; ``None`` leaves one as it is."""
        settings = self.settings.changed(**changes)
        if settings != self.settings:
            with self.writing() as connection:
                connection.execute(
                    update(campaigns)
                    .where(campaigns.c.id == self.id)
                    .values(settings=settings.as_json())
                )
            self.settings = settings

    def log(
        self,
        connection: Connection,
        what: str,
        who: str = "organiser",
        form_id: int | None = None,
        **detail: Any,
    ) -> None:
        """Note that something happened."""
        row = {"campaign_id": self.id, "what": what, "who": who, "form_id": form_id}
        connection.execute(insert(events).values(**row, detail=detail, at=now()))


def create_campaign(
    database: Database,
    name: str,
    settings: CampaignSettings,
    *,
    simulated: bool = False,
    secret: str | None = None,
    fill: Callable[[Connection, int], object] | None = None,
) -> CampaignStore:
    """Start a campaign in a database that has none of that name.

    Its ``secret`` is drawn, but for a simulation that must come out the same again. ``fill`` puts
    the first things into it, by its id: all of them are there then, or there is no campaign.
    """
    if not _NAME.fullmatch(name):
        raise CitebedError(
            f"'{name}' cannot name a campaign: use letters, digits, dots, dashes and underscores."
        )
    with database.writing(turn=NEW_NAMES) as connection:
        if connection.scalar(select(campaigns.c.id).where(campaigns.c.name == name)) is not None:
            raise CitebedError(f"there is a campaign '{name}' already in {database.url}.")
        row = {"name": name, "secret": secret or secrets.token_hex(32), "simulated": simulated}
        made = insert(campaigns).values(**row, settings=settings.as_json(), created_at=now())
        number = connection.execute(made.returning(campaigns.c.id)).scalar_one()
        if fill is not None:
            fill(connection, int(number))
    return CampaignStore(database, name)
