"""Judgements as a history that is only added to, one current judgement per judge and item.

Each judgement names the one it supersedes. The database allows one first judgement per judge and
item, and one successor per judgement: the history is a chain, whose last link is what counts.
Every act is on record; what was said before something that is stored already is outranked by it,
and stands beside the chain.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Row, func, insert, select

from citebed.errors import CitebedError
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import LAST, judgements, now, returns


class Source(NamedTuple):
    """Who judges, in which form, by which way, and when.

    Nobody knows when a file was filled in that came without a mail: it is ``undated``, and its
    ``answered_at`` is when it came. Acts of one ``browser`` have the ``sequence`` of its queue.
    """

    person_id: int
    form_id: int
    via: str
    answered_at: datetime
    return_id: int | None = None
    undated: bool = False
    browser: str | None = None
    sequence: int | None = None


class Verdict(NamedTuple):
    """What is said of an item; ``value`` is ``None`` for "can't say".

    ``withdrawn`` says that nothing is said any more: the item is as if it was never judged.
    ``took_ms`` is how long its judge looked at it, if known. ``key`` names the act of judging:
    saving it again, after an answer was lost, changes nothing.
    """

    item_id: int
    value: int | None
    comment: str = ""
    key: str | None = None
    withdrawn: bool = False
    took_ms: int | None = None


class SaveResult(NamedTuple):
    """Which judgement stands now: a ``new`` one, the ``same``, or one that was ``later`` said."""

    judgement_id: int
    outcome: str


SaveOutcome = SaveResult | CitebedError
"""What became of a judgement, or why it was refused."""
_Entry = tuple[Source, Verdict]


def save_all(tx: Transaction, acts: Sequence[_Entry]) -> list[SaveOutcome]:
    """Save judgements as if one after the other, with few statements for many of them.

    Those of one judge on one item, or of one key, depend on each other and are saved in turn.
    """
    saved: dict[int, SaveOutcome] = {}
    waiting = list(enumerate(acts))
    while waiting:
        seen: set[object] = set()
        every, waiting = waiting, []
        apart: list[tuple[int, _Entry]] = []
        for number, act in every:
            names = {act[1].key or number, (act[0].person_id, act[1].item_id)}
            (waiting if names & seen else apart).append((number, act))
            seen |= names
        outcomes = _save_independent(tx, [act for _, act in apart])
        saved |= zip((number for number, _ in apart), outcomes, strict=True)
    return [saved[number] for number in range(len(acts))]


def _save_independent(tx: Transaction, acts: Sequence[_Entry]) -> list[SaveOutcome]:
    """Save judgements none of which depends on another."""
    known = _rows_by_key(tx, [verdict.key for _, verdict in acts if verdict.key])
    before, newest = _current_rows(tx, acts), _last_sequences(tx, acts)
    outcomes: list[SaveOutcome | tuple[str, str]] = []  # those to add by their keys
    rows = []
    for source, verdict in acts:
        last = before.get((source.person_id, verdict.item_id))
        done = _existing_outcome(known.get(verdict.key or ""), last, source, verdict)
        if done is not None:
            outcomes.append(done)
            continue
        later = last is not None and _is_outranked(source, verdict, last, newest)
        rows.append(_row(source, verdict, last, outranked=later))
        outcome = "same" if _is_repeated(last, verdict) else "later" if later else "new"
        stands = last if later else None
        outcomes.append(SaveResult(stands.id, outcome) if stands else (rows[-1]["key"], outcome))
    made: dict[str, int] = {}
    if rows:
        added = insert(judgements).returning(judgements.c.key, judgements.c.id)
        made = {row.key: row.id for row in tx.execute(added, rows)}
    return [
        each if isinstance(each, SaveResult | CitebedError) else SaveResult(made[each[0]], each[1])
        for each in outcomes
    ]


def _existing_outcome(
    known: Row[Any] | None, last: Row[Any] | None, source: Source, verdict: Verdict
) -> SaveOutcome | None:
    """Why a judgement adds nothing, if so: it is on record, or a form says what was said."""
    if known is not None:
        if (known.item_id, known.person_id) != (verdict.item_id, source.person_id):
            return CitebedError("that key belongs to another judgement.")
        return SaveResult(known.id, "later" if known.outranked else "same")
    if last is None or verdict.key is not None:
        return None
    return SaveResult(last.id, "same") if _is_repeated(last, verdict) else None


def _is_repeated(last: Row[Any] | None, verdict: Verdict) -> bool:
    if last is None:
        return False
    before = (last.value, last.comment, bool(last.withdrawn))
    return before == (verdict.value, verdict.comment, verdict.withdrawn)


def _is_outranked(source: Source, verdict: Verdict, last: Row[Any], newest: _Sequences) -> bool:
    """Whether the last word of a judge was said after this act, which came later.

    Acts of one browser are in the order of its queue, whatever its clock or ours said.
    """
    if source.browser is not None and source.sequence is not None:
        before = newest.get((source.person_id, verdict.item_id, source.browser))
        if before is not None and before > source.sequence:
            return True
        if last.browser == source.browser:
            return False
    return is_stored_newer(source, last.answered_at, undated=bool(last.undated))


def is_stored_newer(source: Source, at: datetime, *, undated: bool = False) -> bool:
    """Whether something that is stored was said after what comes now, by their times.

    What is undated is never the later one. A stored time that is still to come tells that the
    clock was set back: then the order is that in which things came.
    """
    if source.undated or undated:
        return source.undated and not undated
    return source.answered_at < at <= now()


def _row(
    source: Source, verdict: Verdict, last: Row[Any] | None, *, outranked: bool
) -> dict[str, Any]:
    columns = source._asdict() | verdict._asdict()
    del columns["undated"]  # its return says so
    return {
        **columns,
        "key": verdict.key or str(uuid.uuid4()),
        "supersedes": None if last is None or outranked else last.id,
        "outranked": outranked or None,
        "recorded_at": now(),
    }


def _rows_by_key(tx: Transaction, keys: Sequence[str]) -> dict[str, Row[Any]]:
    names = ("key", "id", "item_id", "person_id", "outranked")
    columns = [judgements.c[name] for name in names]
    chosen = select(*columns).where(judgements.c.key.in_(keys))
    return {row.key: row for row in tx.execute(chosen)} if keys else {}


def _current_rows(tx: Transaction, acts: Sequence[_Entry]) -> dict[tuple[int, int], Row[Any]]:
    wanted = judgements.c.item_id.in_([verdict.item_id for _, verdict in acts])
    chosen = select(judgements, returns.c.undated).outerjoin(
        returns, returns.c.id == judgements.c.return_id
    )
    rows = tx.execute(chosen.where(wanted, LAST))
    return {(row.person_id, row.item_id): row for row in rows}


_Sequences = dict[tuple[int, int, str], int]


def _last_sequences(tx: Transaction, acts: Sequence[_Entry]) -> _Sequences:
    """How far the queue of each browser is, by judge, item and browser."""
    browsers = {source.browser for source, _ in acts if source.browser is not None}
    if not browsers:
        return {}
    columns = [judgements.c[name] for name in ("person_id", "item_id", "browser")]
    wanted = judgements.c.item_id.in_([verdict.item_id for _, verdict in acts])
    chosen = select(*columns, func.max(judgements.c.sequence)).group_by(*columns)
    rows = tx.execute(chosen.where(wanted, judgements.c.browser.in_(browsers)))
    return {(row[0], row[1], row[2]): row[3] for row in rows}
