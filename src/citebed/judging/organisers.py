"""Organisers of campaigns: passwords (argon2), sessions, and a limit on password guessing.

A session is a random token in the browser; the database stores its SHA-256. Each login attempt is
stored before its password is checked, so concurrent guesses are counted too, and attempts beyond
`MAX_WRONG_TRIES` cost no hashing.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from citebed.errors import CitebedError
from citebed.files.secret_files import address_block
from citebed.judging.store.database import LOGINS, NEW_NAMES, Database
from citebed.judging.store.schema import logins, now, organisers, sessions
from citebed.text.normalise import fold

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MAX_WRONG_TRIES = 10
WINDOW = timedelta(minutes=15)
"""The period in which `MAX_WRONG_TRIES` wrong attempts per name or address are allowed."""
IDLE = timedelta(hours=2)
LONGEST_SESSION = timedelta(hours=12)
LOGIN_RETENTION = timedelta(days=30)
"""How long login attempts are stored."""
SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 1000
_RENEWED_AFTER = timedelta(minutes=5)
_hashing_lock = threading.Lock()  # argon2 deliberately uses much memory


class TooManyTries(CitebedError):
    """There were too many wrong passwords; no password is checked for a while."""


class Session(NamedTuple):
    """A session of an organiser, with the secret in its forms."""

    id: int
    organiser: str
    csrf: str


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _dummy_hash() -> str:
    """Return a hash for unknown names, so that checking them takes as long."""
    return _hasher().hash(secrets.token_hex(16))


def add_organiser(database: Database, name: str, password: str) -> None:
    """Add an organiser, or change the password of one and end their sessions."""
    name = _normalise_name(name)
    if not name:
        raise CitebedError("an organiser needs a name.")
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise CitebedError(
            f"the password has {len(password)} characters. Use {SHORTEST_PASSWORD} to "
            f"{LONGEST_PASSWORD:,}."
        )
    hashed = _hasher().hash(password.encode("utf-8", "surrogatepass"))
    with database.writing(turn=NEW_NAMES) as connection:
        mine = organisers.c.name == name
        known = connection.scalar(select(organisers.c.id).where(mine))
        if known is None:
            row = {"name": name, "password": hashed, "created_at": now()}
            connection.execute(insert(organisers).values(row))
            return
        connection.execute(update(organisers).where(mine).values(password=hashed))
        open_ones = (sessions.c.organiser_id == known) & sessions.c.ended_at.is_(None)
        connection.execute(update(sessions).where(open_ones).values(ended_at=now()))


def remove_organiser(database: Database, name: str) -> None:
    """Remove an organiser; records of their work keep their name."""
    with database.writing() as connection:
        mine = organisers.c.name == _normalise_name(name)
        known = connection.scalar(select(organisers.c.id).where(mine))
        if known is None:
            raise CitebedError(f"there is no organiser '{name}'.")
        connection.execute(sessions.delete().where(sessions.c.organiser_id == known))
        connection.execute(organisers.delete().where(mine))


def organiser_names(database: Database) -> list[str]:
    """Return the names of all organisers."""
    with database.reading() as connection:
        return list(connection.scalars(select(organisers.c.name).order_by(organisers.c.name)))


def check_password(database: Database, name: str, password: str, address: str) -> int | None:
    """Return the organiser's id if the password is right; raise `TooManyTries` after many tries."""
    name, address = _normalise_name(name), address_block(address)
    with database.reading() as connection:
        _refuse_guessing(connection, name, address)
    with database.writing(turn=LOGINS) as connection:  # concurrent logins must see each other
        _refuse_guessing(connection, name, address)
        connection.execute(logins.delete().where(logins.c.at < now() - LOGIN_RETENTION))
        row = {"name": name, "address": address, "right": False, "at": now()}
        made = insert(logins).returning(logins.c.id).values(row)
        attempt = connection.execute(made).scalar_one()
        known = connection.execute(select(organisers).where(organisers.c.name == name)).first()
    hashed = known.password if known is not None else _dummy_hash()
    if not _is_right(hashed, password) or known is None:
        return None
    with database.writing() as connection:
        connection.execute(update(logins).where(logins.c.id == attempt).values(right=True))
    return int(known.id)


def _is_right(hashed: str, password: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError

    if len(password) > LONGEST_PASSWORD:
        return False
    with _hashing_lock:
        try:
            return _hasher().verify(hashed, password.encode("utf-8", "surrogatepass"))
        except (VerificationError, InvalidHashError):
            return False


def _refuse_guessing(connection: Connection, name: str, address: str) -> None:
    lately = (logins.c.at > now() - WINDOW) & logins.c.right.is_(False)
    for mine in (logins.c.name == name, logins.c.address == address):
        tries = connection.scalar(select(func.count()).select_from(logins).where(lately, mine))
        if int(tries or 0) >= MAX_WRONG_TRIES:
            minutes = int(WINDOW.total_seconds()) // 60
            raise TooManyTries(f"too many wrong passwords. Try again in {minutes} minutes.")


def _normalise_name(name: str) -> str:
    return fold(name)[:200]


def begin_session(database: Database, organiser: int) -> str:
    """Start a session and return its random token."""
    token, at = secrets.token_urlsafe(32), now()
    row = {"organiser_id": organiser, "token": _digest(token), "csrf": secrets.token_urlsafe(32)}
    row |= {"created_at": at, "expires_at": at + IDLE}
    with database.writing() as connection:
        connection.execute(sessions.delete().where(sessions.c.expires_at < at - LOGIN_RETENTION))
        connection.execute(insert(sessions).values(row))
    return token


def load_session(database: Database, token: str | None) -> Session | None:
    """Return the live session of a token and extend it, up to `LONGEST_SESSION`."""
    if not token:
        return None
    at = now()
    mine = (sessions.c.token == _digest(token)) & sessions.c.ended_at.is_(None)
    with database.reading() as connection:
        chosen = select(sessions, organisers.c.name).join(organisers)
        row = connection.execute(chosen.where(mine)).first()
    if row is None or row.expires_at <= at or row.created_at + LONGEST_SESSION <= at:
        return None
    until = min(at + IDLE, row.created_at + LONGEST_SESSION)
    if until - row.expires_at > _RENEWED_AFTER:
        with database.writing() as connection:
            mine = (sessions.c.id == row.id) & sessions.c.ended_at.is_(None)
            connection.execute(update(sessions).where(mine).values(expires_at=until))
    return Session(row.id, row.name, row.csrf)


def end_session(database: Database, token: str) -> None:
    """End the session of a token."""
    with database.writing() as connection:
        mine = (sessions.c.token == _digest(token)) & sessions.c.ended_at.is_(None)
        connection.execute(update(sessions).where(mine).values(ended_at=now()))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
