"""Judgements saved one after the other, each with statements of its own: slow and obvious."""

from __future__ import annotations

from sqlalchemy import insert, select

from citebed.errors import CitebedError
from citebed.judging.judgements import SaveResult, Source, Verdict
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import judgements, now


def save_one(tx: Transaction, source: Source, verdict: Verdict) -> SaveResult | CitebedError:
    """Add a judgement from a browser; a late one is stored beside the others."""
    rows = tx.execute(select(judgements).order_by(judgements.c.id)).all()
    for known in rows:
        if known.key == verdict.key:
            if (known.item_id, known.person_id) != (verdict.item_id, source.person_id):
                return CitebedError("that key belongs to another judgement.")
            return SaveResult(known.id, "later" if known.outranked else "same")
    mine = [row for row in rows if (row.item_id, row.person_id) == (verdict.item_id, source[0])]
    overruled = {row.supersedes for row in mine}
    standing = [row for row in mine if row.id not in overruled and not row.outranked]
    before = standing[0] if standing else None
    later = False
    if before is not None:
        own = [row.sequence for row in mine if row.browser and row.browser == source.browser]
        if own and max(own) > source.sequence:
            later = True
        elif before.browser is None or before.browser != source.browser:
            later = before.answered_at > source.answered_at
    row = source._asdict() | verdict._asdict() | {"recorded_at": now(), "outranked": later or None}
    row.pop("undated")
    row["supersedes"] = before.id if before is not None and not later else None
    made = tx.execute(insert(judgements).returning(judgements.c.id).values(row))
    number = int(made.scalar_one())
    is_same = before is not None and (before.value, before.comment) == verdict[1:3]
    stands = before.id if before is not None and later else number
    return SaveResult(stands, "same" if is_same else "later" if later else "new")
