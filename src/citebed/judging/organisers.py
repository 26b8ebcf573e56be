"""Organisers: their passwords (argon2), the sessions they work in, and guessing made slow.

A session is a random token that only the browser has; the database has its SHA-256. A try at a
password is written down before the password is looked at, so that any number of guesses at once
are still counted, and no guess beyond `MAX_WRONG_TRIES` costs the work of a hash.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import threading
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from citebed.errors import CitebedError
from citebed.judging.store.engine import LOGINS, NEW_NAMES, Database
from citebed.judging.store.schema import logins, now, organisers, sessions
from citebed.text.normalise import fold

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MAX_WRONG_TRIES = 10
WINDOW = timedelta(minutes=15)
"""So many wrong tries, for a name or from an address, are looked at in that time."""
IDLE = timedelta(hours=2)
LONGEST_SESSION = timedelta(hours=12)
LOGIN_RETENTION = timedelta(days=30)
"""How long it is on record who logged in, and who tried."""
SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 1000
_RENEWED_AFTER = timedelta(minutes=5)
_hashing_lock = threading.Lock()  # a hash takes much memory, on purpose


class TooManyTries(CitebedError):
    """Nobody looks at a password now."""


class Session(NamedTuple):
    """Who works, and the secret that their forms carry."""

    id: int
    organiser: str
    csrf: str


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _dummy_hash() -> str:
    """What an unknown name's password is compared with, so that it takes as long."""
    return _hasher().hash(secrets.token_hex(16))


def add_organiser(database: Database, name: str, password: str) -> None:
    """Let somebody in, or give them another password, which ends their sessions."""
    name = _normalise_name(name)
    if not name:
        raise CitebedError("an organiser needs a name.")
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise CitebedError(
            f"a password of {len(password)} characters: give {SHORTEST_PASSWORD} or more."
        )
    hashed = _hasher().hash(_bytes(password))
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
    """Let somebody in no longer; what they did stays under their name."""
    with database.writing() as connection:
        mine = organisers.c.name == _normalise_name(name)
        known = connection.scalar(select(organisers.c.id).where(mine))
        if known is None:
            raise CitebedError(f"there is no organiser '{name}'.")
        connection.execute(sessions.delete().where(sessions.c.organiser_id == known))
        connection.execute(organisers.delete().where(mine))


def organiser_names(database: Database) -> list[str]:
    """Who may log in."""
    with database.reading() as connection:
        return list(connection.scalars(select(organisers.c.name).order_by(organisers.c.name)))


def check_password(database: Database, name: str, password: str, address: str) -> int | None:
    """The organiser's id if the password is right; `TooManyTries` after many wrong ones."""
    name, address = _normalise_name(name), _address_block(address)
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
            return _hasher().verify(hashed, _bytes(password))
        except (VerificationError, InvalidHashError):
            return False


def _refuse_guessing(connection: Connection, name: str, address: str) -> None:
    lately = (logins.c.at > now() - WINDOW) & logins.c.right.is_(False)
    for mine in (logins.c.name == name, logins.c.address == address):
        tries = connection.scalar(select(func.count()).select_from(logins).where(lately, mine))
        if int(tries or 0) >= MAX_WRONG_TRIES:
            minutes = int(WINDOW.total_seconds()) // 60
            raise TooManyTries(
                f"too many wrong passwords. Nothing is tried for up to {minutes} minutes."
            )


def _normalise_name(name: str) -> str:
    return fold(name)[:200]


def _address_block(address: str) -> str:
    """Where somebody is: of the newer addresses one has many, which begin alike."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return fold(address)[:80]
    if ip.version == 4:
        return str(ip)
    return str(ipaddress.ip_network((int(ip), 64), strict=False))


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")


def begin_session(database: Database, organiser: int) -> str:
    """A new session's token, which nobody could know before."""
    token, at = secrets.token_urlsafe(32), now()
    row = {"organiser_id": organiser, "token": _digest(token), "csrf": secrets.token_urlsafe(32)}
    row |= {"created_at": at, "expires_at": at + IDLE}
    with database.writing() as connection:
        connection.execute(sessions.delete().where(sessions.c.expires_at < at - LOGIN_RETENTION))
        connection.execute(insert(sessions).values(row))
    return token


def load_session(database: Database, token: str | None) -> Session | None:
    """The session of a token, if it goes on; using it keeps it alive, up to `LONGEST_SESSION`."""
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
    """Log out: the token opens nothing from now on."""
    with database.writing() as connection:
        mine = (sessions.c.token == _digest(token)) & sessions.c.ended_at.is_(None)
        connection.execute(update(sessions).where(mine).values(ended_at=now()))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
