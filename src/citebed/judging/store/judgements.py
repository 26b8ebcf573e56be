"""Judgements as a history that is only added to, one current judgement per judge and item.

Each judgement names the one it supersedes. The database allows one first judgement per judge and
item, and one successor per judgement: the history is a chain, whose last link is what counts.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, Row, insert, select
from sqlalchemy.exc import IntegrityError

from citebed.errors import CitebedError
from citebed.judging.store.engine import TRIES, Database
from citebed.judging.store.schema import CURRENT, judgements, now

_T = TypeVar("_T")


class Source(NamedTuple):
    """Who judges, in which form, by which way, and when."""

    person_id: int
    form_id: int
    via: str
    answered_at: datetime
    return_id: int | None = None


class Verdict(NamedTuple):
    """What is said of an item; ``value`` is ``None`` for "can't say".

    ``key`` names the act of judging: saving it again, after an answer was lost, changes nothing.
    """

    item_id: int
    value: int | None
    comment: str = ""
    key: str | None = None


class Saved(NamedTuple):
    """Which judgement stands now, and whether it is ``new``, the ``same``, or ``later`` said."""

    judgement_id: int
    outcome: str


def save(connection: Connection, source: Source, verdict: Verdict) -> Saved:
    """Add a judgement, unless it is there already or its judge said something else later."""
    if verdict.key is not None:
        known = connection.execute(
            select(judgements.c.id, judgements.c.item_id, judgements.c.person_id).where(
                judgements.c.key == verdict.key
            )
        ).first()
        if known is not None:
            if (known.item_id, known.person_id) != (verdict.item_id, source.person_id):
                raise CitebedError("that key belongs to another judgement.")
            return Saved(known.id, "same")
    before = current(connection, source.person_id, verdict.item_id)
    if before is not None:
        if (before.value, before.comment) == (verdict.value, verdict.comment):
            return Saved(before.id, "same")
        if before.answered_at > source.answered_at:
            return Saved(before.id, "later")
    made = connection.execute(
        insert(judgements)
        .returning(judgements.c.id)
        .values(
            item_id=verdict.item_id,
            person_id=source.person_id,
            value=verdict.value,
            comment=verdict.comment,
            via=source.via,
            form_id=source.form_id,
            return_id=source.return_id,
            key=verdict.key or str(uuid.uuid4()),
            supersedes=before.id if before is not None else None,
            answered_at=source.answered_at,
            recorded_at=now(),
        )
    )
    return Saved(int(made.scalar_one()), "new")


def current(connection: Connection, person_id: int, item_id: int) -> Row[tuple[object, ...]] | None:
    """The last word of a judge on an item."""
    mine = (judgements.c.person_id == person_id) & (judgements.c.item_id == item_id)
    return connection.execute(select(judgements).where(mine, CURRENT)).first()


def in_turn(database: Database, work: Callable[[Connection], _T]) -> _T:
    """Do ``work`` in a transaction; once more where somebody else was faster.

    PostgreSQL lets two savers read the same judgement and refuses the second successor.
    """
    for _ in range(TRIES):
        try:
            with database.writing() as connection:
                return work(connection)
        except IntegrityError as error:
            last = error
    raise last
