"""Judgements saved one after the other, each with statements of its own: slow and obvious."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from citebed.errors import CitebedError
from citebed.judging.store.judgements import Saved, Source, Verdict, current
from citebed.judging.store.schema import judgements, now


def save_one(connection: Connection, source: Source, verdict: Verdict) -> Saved | CitebedError:
    """Add a judgement, unless it is there already or its judge said something else later."""
    known = connection.execute(select(judgements).where(judgements.c.key == verdict.key)).first()
    if known is not None:
        if (known.item_id, known.person_id) != (verdict.item_id, source.person_id):
            return CitebedError("that key belongs to another judgement.")
        return Saved(known.id, "same")
    before = current(connection, source.person_id, verdict.item_id)
    if before is not None:
        if (before.value, before.comment) == (verdict.value, verdict.comment):
            return Saved(before.id, "same")
        if before.answered_at > source.answered_at:
            return Saved(before.id, "later")
    row = source._asdict() | verdict._asdict() | {"recorded_at": now()}
    row["supersedes"] = before.id if before is not None else None
    made = connection.execute(insert(judgements).returning(judgements.c.id).values(row))
    return Saved(int(made.scalar_one()), "new")
