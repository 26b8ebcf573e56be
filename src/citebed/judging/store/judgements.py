"""Judgements as a history that is only added to, one current judgement per judge and item.

Each judgement names the one it supersedes. The database allows one first judgement per judge and
item, and one successor per judgement: the history is a chain, whose last link is what counts.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

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


Told = Saved | CitebedError
"""What became of a judgement, or why it was refused."""
_Act = tuple[Source, Verdict]


def save(connection: Connection, source: Source, verdict: Verdict) -> Saved:
    """Add a judgement, unless it is there already or its judge said something else later."""
    [told] = save_all(connection, [(source, verdict)])
    if isinstance(told, CitebedError):
        raise told
    return told


def save_all(connection: Connection, acts: Sequence[_Act]) -> list[Told]:
    """Save judgements as if one after the other, with few statements for many of them.

    Those of one judge on one item, or of one key, depend on each other and are saved in turn.
    """
    told: dict[int, Told] = {}
    waiting = list(enumerate(acts))
    while waiting:
        seen: set[object] = set()
        every, waiting = waiting, []
        apart: list[tuple[int, _Act]] = []
        for number, act in every:
            names = {act[1].key or number, (act[0].person_id, act[1].item_id)}
            (waiting if names & seen else apart).append((number, act))
            seen |= names
        outcomes = _save_apart(connection, [act for _, act in apart])
        told |= zip((number for number, _ in apart), outcomes, strict=True)
    return [told[number] for number in range(len(acts))]


def _save_apart(connection: Connection, acts: Sequence[_Act]) -> list[Told]:
    """Save judgements none of which depends on another."""
    known = _by_key(connection, [verdict.key for _, verdict in acts if verdict.key])
    before = _last_words(connection, acts)
    told: list[Told | str] = []
    rows = []
    for source, verdict in acts:
        last = before.get((source.person_id, verdict.item_id))
        done = _is_done(known.get(verdict.key or ""), last, source, verdict)
        if done is None:
            rows.append(_row(source, verdict, last))
        told.append(done or rows[-1]["key"])
    made: dict[str, int] = {}
    if rows:
        added = insert(judgements).returning(judgements.c.key, judgements.c.id)
        made = {row.key: row.id for row in connection.execute(added, rows)}
    return [Saved(made[each], "new") if isinstance(each, str) else each for each in told]


def _is_done(
    known: Row[Any] | None, last: Row[Any] | None, source: Source, verdict: Verdict
) -> Told | None:
    """Why a judgement adds nothing, if so."""
    if known is not None:
        if (known.item_id, known.person_id) != (verdict.item_id, source.person_id):
            return CitebedError("that key belongs to another judgement.")
        return Saved(known.id, "same")
    if last is not None:
        if (last.value, last.comment) == (verdict.value, verdict.comment):
            return Saved(last.id, "same")
        if last.answered_at > source.answered_at:
            return Saved(last.id, "later")
    return None


def _row(source: Source, verdict: Verdict, last: Row[Any] | None) -> dict[str, Any]:
    return {
        **source._asdict(),
        **verdict._asdict(),
        "key": verdict.key or str(uuid.uuid4()),
        "supersedes": None if last is None else last.id,
        "recorded_at": now(),
    }


def _by_key(connection: Connection, keys: Sequence[str]) -> dict[str, Row[Any]]:
    columns = [judgements.c[name] for name in ("key", "id", "item_id", "person_id")]
    chosen = select(*columns).where(judgements.c.key.in_(keys))
    return {row.key: row for row in connection.execute(chosen)} if keys else {}


def _last_words(connection: Connection, acts: Sequence[_Act]) -> dict[tuple[int, int], Row[Any]]:
    wanted = judgements.c.item_id.in_([verdict.item_id for _, verdict in acts])
    rows = connection.execute(select(judgements).where(wanted, CURRENT))
    return {(row.person_id, row.item_id): row for row in rows}


def current(connection: Connection, person_id: int, item_id: int) -> Row[Any] | None:
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
