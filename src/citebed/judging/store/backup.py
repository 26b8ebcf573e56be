"""Back up a campaign to one JSON Lines file, and restore it.

A backup reads the database in one transaction, so judges can continue meanwhile. It can be
restored into an empty SQLite or PostgreSQL database. It contains the secret that signs links and
the mails with the links, so that these still work after a restore; therefore only the owner may
read the file. Passwords and sessions of organisers are left out.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Date, LargeBinary, Table, insert, select, text
from sqlalchemy.exc import DatabaseError, OperationalError, StatementError

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import open_input
from citebed.files.output_files import replace_files
from citebed.judging.store.campaign_store import CampaignStore
from citebed.judging.store.database import NEW_NAMES, Database, find_damage
from citebed.judging.store.schema import UtcTime, campaigns, logins, metadata, organisers, sessions
from citebed.wording import json_text, printable

FORMAT = "citebed campaign 1"
_PRIVATE = (organisers, sessions, logins)
_TABLES = [table for table in metadata.sorted_tables if table not in _PRIVATE]
"""The tables of a campaign, each after the tables that it refers to."""
_ROWS = 500


def backup(store: CampaignStore, path: str | Path) -> dict[str, int]:
    """Write a campaign to a file, gzipped if its name ends in ``.gz``; return rows per table."""
    path = Path(path)
    counts: dict[str, int] = {}
    digest = hashlib.sha256()
    with store.reading() as tx, replace_files(path, private=True) as [draft]:
        rows_at_once = tx.connection.execution_options(yield_per=_ROWS)
        is_packed = path.suffix == ".gz"
        with gzip.open(draft, "wb", 6) if is_packed else draft.open("wb") as file:
            head = {"format": FORMAT, "campaign": store.name, "simulated": store.simulated}
            file.write(_line(head))
            for table in _TABLES:
                counts[table.name] = 0
                chosen = select(table).where(_of_campaign(table, tx.id)).order_by(table.c.id)
                for row in rows_at_once.execute(chosen).mappings():
                    line = _line({"table": table.name, **row})
                    digest.update(line)
                    file.write(line)
                    counts[table.name] += 1
            file.write(_line({"rows": counts, "sha256": digest.hexdigest()}))
    return counts


def _line(row: dict[str, Any]) -> bytes:
    """Return a row as a line of JSON: bytes in Base64, times in ISO format."""
    values = dict(row)
    for name, value in row.items():
        if isinstance(value, bytes):
            values[name] = base64.b64encode(value).decode()
        elif isinstance(value, date | datetime):
            values[name] = value.isoformat()
    return json_text(values).encode() + b"\n"


def _of_campaign(table: Table, campaign: int) -> Any:
    """Return the condition that a row belongs to the campaign, directly or through its parent."""
    if table is campaigns:
        return table.c.id == campaign
    if "campaign_id" in table.c:
        return table.c.campaign_id == campaign
    key = next(key for key in table.foreign_keys if not key.parent.nullable)
    parent = key.column.table
    return key.parent.in_(select(parent.c.id).where(_of_campaign(parent, campaign)))


def restore(path: str | Path, database: Database) -> CampaignStore:
    """Restore a backup into a database without campaigns, completely or not at all."""
    path = Path(path)
    with database.writing(turn=NEW_NAMES) as connection:
        if connection.scalar(select(campaigns.c.name).limit(1)) is not None:
            raise CitebedError(f"{printable(database.url)} already has a campaign. Use an empty "
                               "database.")  # fmt: skip
        try:
            with open_input(path) as file:
                name = _restore(path, file, connection)
        except (StatementError, UnicodeError, OverflowError) as error:
            if type(error) in (DatabaseError, OperationalError):  # not the backup's fault
                raise
            why = printable(str(getattr(error, "orig", error)).partition("\n")[0][:200])
            raise FormatError(path, None, f"the backup is damaged: {why}.") from error
        if connection.dialect.name == "sqlite" and (
            why := find_damage(connection, metadata.tables)
        ):
            raise FormatError(path, None, f"the backup is damaged: {why}.")
        if connection.dialect.name == "postgresql":
            for table in _TABLES:  # continue the ids after the restored ones
                connection.execute(
                    text(
                        f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "
                        f"COALESCE(MAX(id), 1), MAX(id) IS NOT NULL) FROM {table.name}"
                    )
                )
        return CampaignStore(database, name, connection)


def name_in(path: str | Path) -> str:
    """Return the campaign's name in a backup; raise `FormatError` for another file."""
    with open_input(Path(path)) as file:
        return str(_head(Path(path), file)["campaign"])


def _head(path: Path, file: Any) -> dict[str, Any]:
    head = _parsed(path, 1, file.readline())
    if head.get("format") != FORMAT or not isinstance(head.get("campaign"), str):
        raise FormatError(path, 1, f"this is not a campaign backup; expected '{FORMAT}'.")
    return head


def _restore(path: Path, file: Any, connection: Connection) -> str:
    head = _head(path, file)
    tables = {table.name: table for table in _TABLES}
    counts = dict.fromkeys(tables, 0)
    digest = hashlib.sha256()
    waiting: list[dict[str, Any]] = []
    last = ""
    for number, line in enumerate(file, 2):
        row = _parsed(path, number, line)
        name = row.pop("table", "")
        if waiting and (name != last or len(waiting) == _ROWS):
            connection.execute(insert(tables[last]), waiting)
            waiting = []
        if not name:
            expected = {name: number for name, number in counts.items() if number}
            stated = row.get("rows")  # which lacks the newer tables in older backups
            counted = stated if isinstance(stated, dict) else {}
            if row.get("sha256") != digest.hexdigest() or expected != {
                name: number for name, number in counted.items() if number
            }:
                raise FormatError(path, number, "the backup is damaged (checksum mismatch).")
            return str(head["campaign"])
        if not isinstance(name, str) or name not in tables:
            raise FormatError(path, number, f"unknown table '{str(name)[:40]}'.")
        waiting.append(_from_json(path, number, tables[name], row))
        counts[name] += 1
        digest.update(line)
        last = name
    raise FormatError(path, None, "the backup is incomplete: its last line is missing.")


def _parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise FormatError(path, number, "this line is not from a campaign backup.")
    return row


def _from_json(path: Path, number: int, table: Table, row: dict[str, Any]) -> dict[str, Any]:
    # Older backups lack newer columns, which are nullable.
    needed = {column.name for column in table.c if not column.nullable}
    if not needed <= set(row) <= set(table.c.keys()):
        raise FormatError(path, number, f"unexpected columns in a row of {table.name}.")
    values = {}
    try:
        for column in table.c:
            value = row.get(column.name)
            if value is not None and isinstance(column.type, LargeBinary):
                value = base64.b64decode(value, validate=True)
            elif value is not None and isinstance(column.type, UtcTime):
                value = datetime.fromisoformat(value)
            elif value is not None and isinstance(column.type, Date):
                value = date.fromisoformat(value)
            values[column.name] = value
    except (TypeError, ValueError) as error:
        raise FormatError(path, number, f"a row of {table.name} is damaged.") from error
    return values
