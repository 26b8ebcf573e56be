"""The tables of a campaign's database, the same for SQLite and PostgreSQL.

The history tables (returns, wordings, judgements, marks, exclusions, events …) are append-only,
which database triggers enforce. The current state is derived: the judgement that no other
supersedes, the last wording, the exclusions that were not lifted. Machine judges and their
judgements have tables of their own.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    Date,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    exists,
    select,
)
from sqlalchemy.schema import SchemaItem

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcTime(TypeDecorator[datetime]):
    """A time in UTC; SQLite stores it without a time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the value that the database stores."""
        if value is None or dialect.name != "sqlite":
            return value
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, _: Dialect) -> datetime | None:
        """Return the value with its time zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def _table(name: str, *columns: SchemaItem, since: str = "0004") -> Table:
    """Declare a table; ``since`` is the schema version that added it."""
    number = Column("id", Integer, primary_key=True)
    return Table(name, metadata, number, *columns, info={"since": since})


def _key(target: str, *, null: bool = False, **more: Any) -> Column[int]:
    name = more.pop("name", f"{target.removesuffix('s')}_id")
    return Column(name, ForeignKey(f"{target}.id"), nullable=null, index=True, **more)


def _at(name: str, *, null: bool = False) -> Column[datetime]:
    return Column(name, UtcTime, nullable=null)


def _unique_where(name: str, where: ColumnElement[bool], *columns: Column[Any]) -> None:
    Index(name, *columns, unique=True, sqlite_where=where, postgresql_where=where)


campaigns = _table(
    "campaigns",
    Column("name", String(100), nullable=False, unique=True),
    Column("settings", JSON, nullable=False),
    Column("secret", String(64), nullable=False),
    Column("simulated", Boolean, nullable=False),
    _at("created_at"),
)

papers = _table(
    "papers",
    _key("campaigns"),
    Column("label", String(200), nullable=False),
    Column("title", Text, nullable=False),
    Column("year", Integer),
    Column("url", Text),
    Column("online_on", Date),
    UniqueConstraint("campaign_id", "label"),
)

people = _table(
    "people",
    _key("campaigns"),
    Column("name", Text, nullable=False),
    Column("email", String(320)),
    _at("opted_out_at", null=True),
    UniqueConstraint("campaign_id", "email"),
)

authorships = _table(
    "authorships",
    _key("papers"),
    _key("people", name="person_id"),
    Column("position", Integer, nullable=False),
    UniqueConstraint("paper_id", "person_id"),
)

references = _table(
    "cited",
    _key("papers"),
    Column("number", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("authors", Text, nullable=False),
    Column("year", Integer),
    Column("url", Text),
    Column("doc_id", Text),
    UniqueConstraint("paper_id", "number"),
)

forms = _table(
    "forms",
    _key("campaigns"),
    Column("code", String(40), nullable=False, unique=True),
    Column("phase", Integer, nullable=False),
    _key("people", name="person_id"),
    _key("papers"),
    Column("round", Integer, nullable=False),
    Column("content", JSON, nullable=False),
    _at("made_at"),
    _at("expires_at"),
    _at("revoked_at", null=True),
    UniqueConstraint("paper_id", "person_id", "phase", "round"),
    CheckConstraint("phase IN (1, 2)", name="phase"),
)

returns = _table(
    "returns",
    _key("campaigns"),
    Column("sha256", String(64), nullable=False),
    Column("name", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("content_type", Text),
    Column("undated", Boolean),
    Column("via", String(20)),
    _key("forms", null=True),
    _at("answered_at"),
    _at("received_at"),
    UniqueConstraint("campaign_id", "sha256"),
)

problems = _table(
    "problems",
    _key("returns"),
    Column("line", Integer, nullable=False),
    Column("what", Text, nullable=False),
    _at("settled_at", null=True),
    Column("settled_by", Text),
)

questions = _table(
    "questions",
    _key("forms"),
    Column("number", Integer, nullable=False),
    Column("query_id", String(260), nullable=False),
    _key("campaigns"),
    UniqueConstraint("form_id", "number"),
    UniqueConstraint("campaign_id", "query_id"),
)

wordings = _table(
    "wordings",
    _key("questions"),
    Column("kind", String(20), nullable=False),
    Column("text", Text, nullable=False),
    Column("classes", JSON, nullable=False),
    Column("who", Text, nullable=False),
    Column("via", String(20), nullable=False),
    _key("returns", null=True),
    _at("at"),
    CheckConstraint("kind IN ('stated', 'reformulated', 'corrected')", name="kind"),
)

approvals = _table(
    "approvals",
    _key("wordings"),
    _key("people", name="person_id"),
    Column("approved", Boolean, nullable=False),
    Column("via", String(20), nullable=False),
    _at("at"),
)

searches = _table(
    "searches",
    _key("questions"),
    Column("text", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("results", JSON, nullable=False),
    Column("who", Text, nullable=False),
    _at("at"),
)

marks = _table(
    "marks",
    _key("questions"),
    _key("searches", name="search_id", null=True),
    Column("doc_id", Text, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("marked", Boolean, nullable=False),
    Column("who", Text, nullable=False),
    _at("at"),
)

pools = _table(
    "pools",
    _key("questions"),
    Column("round", Integer, nullable=False),
    _key("wordings"),
    Column("method", Text, nullable=False),
    Column("settings", JSON, nullable=False),
    _at("made_at"),
    UniqueConstraint("question_id", "round"),
)

contributors = _table(
    "found",
    _key("pools"),
    Column("doc_id", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("rank", Integer, nullable=False),
    UniqueConstraint("pool_id", "doc_id", "method"),
)

items = _table(
    "items",
    _key("questions"),
    _key("cited", name="reference_id", null=True),
    _key("pools", null=True),
    Column("position", Integer, nullable=False),
    Column("doc_id", Text),
    Column("shown", JSON),
    Column("drawn", JSON),
    UniqueConstraint("question_id", "reference_id"),
    CheckConstraint("(reference_id IS NULL) <> (pool_id IS NULL)", name="phase"),
)
_unique_where("uq_items_pooled", items.c.pool_id.is_not(None), items.c.question_id, items.c.doc_id)

pairs = _table(
    "pairs",
    _key("forms"),
    _key("questions"),
    Column("position", Integer, nullable=False),
    _key("items", name="left_id"),
    _key("items", name="right_id"),
    UniqueConstraint("form_id", "left_id", "right_id"),
    since="0006",
)


def _judgement_table(name: str, judged: str, since: str = "0004") -> Table:
    """Declare the history of judgements of the rows of another table."""
    table = _table(
        name,
        _key(judged, name="item_id"),
        _key("people", name="person_id"),
        Column("value", Integer),
        Column("comment", Text, nullable=False),
        Column("via", String(20), nullable=False),
        _key("forms"),
        _key("returns", null=True),
        Column("key", String(80), nullable=False, unique=True),
        Column("supersedes", ForeignKey(f"{name}.id"), unique=True),
        Column("browser", String(80)),
        Column("sequence", BigInteger),
        Column("outranked", Boolean),
        _at("answered_at"),
        _at("recorded_at"),
        Column("withdrawn", Boolean),
        Column("took_ms", Integer),
        since=since,
    )
    is_first = table.c.supersedes.is_(None) & table.c.outranked.is_(None)
    _unique_where(f"uq_{name}_first", is_first, table.c.item_id, table.c.person_id)
    return table


judgements = _judgement_table("judgements", "items")
preferences = _judgement_table("preferences", "pairs", since="0006")
"""Judgements of pairs: 0 for a tie, 1 for the left paper, 2 for the right one."""

exclusions = _table(
    "exclusions",
    _key("questions"),
    Column("rule", String(40), nullable=False),
    Column("reason", Text, nullable=False),
    Column("lifted", Boolean, nullable=False),
    Column("who", Text, nullable=False),
    _at("at"),
)

mails = _table(
    "mails",
    _key("campaigns"),
    _key("people", name="person_id"),
    _key("forms"),
    Column("key", String(200), nullable=False, unique=True),
    Column("kind", String(20), nullable=False),
    Column("subject", Text, nullable=False),
    Column("file", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("state", String(20), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text),
    _at("written_at"),
    _at("sent_at", null=True),
    CheckConstraint("state IN ('written', 'sending', 'sent', 'failed', 'held')", name="state"),
)

events = _table(
    "events",
    _key("campaigns"),
    Column("what", String(40), nullable=False),
    Column("who", Text, nullable=False),
    _key("forms", null=True),
    Column("detail", JSON, nullable=False),
    _at("at"),
)

machine_judges = _table(
    "machine_judges",
    _key("campaigns"),
    Column("name", String(100), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("version", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("prompt_sha256", String(64), nullable=False),
    Column("settings", JSON, nullable=False),
    _at("made_at"),
    UniqueConstraint("campaign_id", "name"),
    since="0005",
)

machine_judgements = _table(
    "machine_judgements",
    _key("machine_judges", name="judge_id"),
    _key("wordings"),
    Column("doc_id", Text, nullable=False),
    Column("value", Integer),
    Column("problem", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("tokens", Integer),
    Column("took_ms", Integer),
    Column("key", String(80), nullable=False, unique=True),
    _at("at"),
    since="0005",
)

organisers = _table(
    "organisers",
    Column("name", String(200), nullable=False, unique=True),
    Column("password", Text, nullable=False),
    _at("created_at"),
)

sessions = _table(
    "sessions",
    _key("organisers"),
    Column("token", String(64), nullable=False, unique=True),
    Column("csrf", String(64), nullable=False),
    _at("created_at"),
    _at("expires_at"),
    _at("ended_at", null=True),
)

logins = _table(
    "logins",
    Column("name", String(200), nullable=False, index=True),
    Column("address", String(80), nullable=False, index=True),
    Column("right", Boolean, nullable=False),
    Column("at", UtcTime, nullable=False, index=True),
)

HISTORY = (returns, wordings, approvals, searches, marks, judgements, preferences, exclusions,
           events, machine_judges, machine_judgements)  # fmt: skip
"""The append-only tables."""


def create_tables(connection: Connection, version: str) -> None:
    """Create the tables that a schema version adds; triggers refuse changes of the history."""
    new = [table for table in metadata.sorted_tables if table.info["since"] == version]
    metadata.create_all(connection, new)
    for table in (table for table in HISTORY if table in new):
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(
                f"CREATE TRIGGER {table}_history BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
                "EXECUTE FUNCTION citebed_refuse()"
            )
            continue
        for change in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(_REFUSE % (table, change.lower(), change, table))


_REFUSE = """
    CREATE TRIGGER %s_%s BEFORE %s ON %s
    BEGIN SELECT RAISE(ABORT, 'what was said is not changed'); END
"""


def is_last(table: Table) -> ColumnElement[bool]:
    """Return the condition: the last judgement of its judge for its item, even if withdrawn."""
    newer = table.alias("newer")
    is_replaced = exists(select(newer.c.id).where(newer.c.supersedes == table.c.id))
    return table.c.outranked.is_(None) & ~is_replaced


def is_current(table: Table) -> ColumnElement[bool]:
    """Return the condition: the current judgement of its judge for its item."""
    return is_last(table) & table.c.withdrawn.is_not(True)


CURRENT = is_current(judgements)
