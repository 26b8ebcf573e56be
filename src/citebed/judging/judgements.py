"""Judgements: an append-only history, the current judgements as a table, and the sets J1, J2, J1+2.

Each judgement names the one that it supersedes. The database allows one first judgement per judge
and item and one successor per judgement, so the history is a chain whose last element counts. A
judgement that arrives late, after a newer one was stored, is kept outside the chain (outranked).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import polars as pl
from sqlalchemy import ColumnElement, Float, Table, case, func, insert, select, type_coerce

from citebed.errors import CitebedError, UnknownName
from citebed.judging.questions import excluded_questions
from citebed.judging.settings import CampaignSettings
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import (
    CURRENT,
    forms,
    is_last,
    items,
    judgements,
    now,
    people,
    questions,
    returns,
)
from citebed.runs.tables import Qrels


class Source(NamedTuple):
    """The judge, the form, the channel (``via``) and the time of a judgement.

    A file that did not come in a mail is ``undated``; its ``answered_at`` is when it arrived.
    Judgements of one ``browser`` have the ``sequence`` number of its queue.
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
    """A judgement of an item; ``value`` is ``None`` for "can't say".

    ``withdrawn`` takes an earlier judgement back, as if the item was never judged. ``took_ms`` is
    how long the judge looked at the item, if known. ``key`` identifies this judgement: saving it
    again, for example after a lost response, changes nothing.
    """

    item_id: int
    value: int | None
    comment: str = ""
    key: str | None = None
    withdrawn: bool = False
    took_ms: int | None = None


class SaveResult(NamedTuple):
    """The current judgement: a ``new`` one, the ``same``, or an existing one made ``later``."""

    judgement_id: int
    outcome: str


SaveOutcome = SaveResult | CitebedError
"""The result of saving a judgement, or the error if it was refused."""
_Act = tuple[Source, Verdict]


def save_all(tx: Transaction, acts: Sequence[_Act], table: Table = judgements) -> list[SaveOutcome]:
    """Save judgements in a table as if one after the other, but with few SQL statements.

    Judgements with the same judge and item, or the same key, are saved in order.
    """
    saved: dict[int, SaveOutcome] = {}
    waiting = list(enumerate(acts))
    while waiting:
        seen: set[object] = set()
        independent: list[tuple[int, _Act]] = []
        dependent: list[tuple[int, _Act]] = []
        for number, (source, verdict) in waiting:
            names = {verdict.key or number, (source.person_id, verdict.item_id)}
            (dependent if names & seen else independent).append((number, (source, verdict)))
            seen |= names
        outcomes = _save_independent(tx, [act for _, act in independent], table)
        saved |= zip((number for number, _ in independent), outcomes, strict=True)
        waiting = dependent
    return [saved[number] for number in range(len(acts))]


def _save_independent(tx: Transaction, acts: Sequence[_Act], table: Table) -> list[SaveOutcome]:
    """Save judgements that do not depend on each other."""
    keys = [verdict.key for _, verdict in acts if verdict.key]
    chosen = select(table).where(table.c.key.in_(keys))
    known = {row.key: row for row in tx.execute(chosen)} if keys else {}
    of_items = table.c.item_id.in_([verdict.item_id for _, verdict in acts])
    stored = select(table, returns.c.undated).outerjoin(returns, returns.c.id == table.c.return_id)
    last_rows = {
        (row.person_id, row.item_id): row
        for row in tx.execute(stored.where(of_items, is_last(table)))
    }
    sequences: dict[tuple[int, int, str], int] = {}
    if browsers := {source.browser for source, _ in acts if source.browser is not None}:
        queue = [table.c[name] for name in ("person_id", "item_id", "browser")]
        highest = select(*queue, func.max(table.c.sequence)).group_by(*queue)
        rows = tx.execute(highest.where(of_items, table.c.browser.in_(browsers)))
        sequences = {(row[0], row[1], row[2]): row[3] for row in rows}

    outcomes: list[SaveOutcome | tuple[str, str]] = []  # new judgements by their keys
    new = []
    for source, verdict in acts:
        same = known.get(verdict.key or "")
        last = last_rows.get((source.person_id, verdict.item_id))
        if same is not None:
            if (same.item_id, same.person_id) != (verdict.item_id, source.person_id):
                outcomes.append(CitebedError("that key belongs to another judgement."))
            else:
                outcomes.append(SaveResult(same.id, "later" if same.outranked else "same"))
            continue
        said = (verdict.value, verdict.comment, verdict.withdrawn)
        is_repeated = last is not None and said == (last.value, last.comment, bool(last.withdrawn))
        if is_repeated and last is not None and verdict.key is None:
            outcomes.append(SaveResult(last.id, "same"))
            continue
        is_late = False
        if last is not None:
            # Judgements of one browser are in the order of its queue, whatever the clocks say.
            queued = source.browser is not None and source.sequence is not None
            before = sequences.get((source.person_id, verdict.item_id, source.browser or ""))
            if queued and before is not None and before > (source.sequence or 0):
                is_late = True
            elif not queued or last.browser != source.browser:
                is_late = is_stored_newer(source, last.answered_at, undated=bool(last.undated))
        row = source._asdict() | verdict._asdict() | {"key": verdict.key or str(uuid.uuid4())}
        del row["undated"]  # stored with the return
        row["supersedes"] = None if last is None or is_late else last.id
        new.append({**row, "outranked": is_late or None, "recorded_at": now()})
        outcome = "same" if is_repeated else "later" if is_late else "new"
        current = SaveResult(last.id, outcome) if last is not None and is_late else None
        outcomes.append(current or (row["key"], outcome))
    ids: dict[str, int] = {}
    if new:
        added = insert(table).returning(table.c.key, table.c.id)
        ids = {row.key: row.id for row in tx.execute(added, new)}
    return [
        each if isinstance(each, SaveResult | CitebedError) else SaveResult(ids[each[0]], each[1])
        for each in outcomes
    ]


def is_stored_newer(source: Source, at: datetime, *, undated: bool = False) -> bool:
    """Return whether stored content is newer than incoming content, by their times.

    Undated content is never newer. A stored time in the future means that the clock was set back;
    then the order of arrival counts.
    """
    if source.undated or undated:
        return source.undated and not undated
    return source.answered_at < at <= now()


# --- Reading judgements -----------------------------------------------------------------------

SETS = ("j1", "j2", "j12")
PAIRS = {"t1": "j1", "t12": "j12"}
"""T1 and T1+2: the same queries under J1 and under J1+2, which is what the paper compares."""


def total_seconds(table: Table) -> ColumnElement[float]:
    """Return how long a judge looked at an item in all, in seconds."""
    earlier = table.alias("earlier")
    is_same = (earlier.c.item_id == table.c.item_id) & (earlier.c.person_id == table.c.person_id)
    total = select(func.sum(earlier.c.took_ms) / 1000.0).where(is_same)
    return type_coerce(total.scalar_subquery(), Float)


def current_judgements(tx: Transaction, *, excluded: bool = False) -> pl.DataFrame:
    """Return a row per judge and item with the current judgement.

    ``doc_id`` is null for papers outside the collection. ``seconds`` is the total time at the
    paper, known only on the web. ``excluded`` adds the judgements of excluded questions.
    """
    left_out = () if excluded else excluded_questions(tx)
    return tx.table(
        select(
            questions.c.query_id,
            items.c.doc_id,
            case((items.c.pool_id.is_(None), 1), else_=2).label("phase"),
            people.c.name.label("judge"),
            people.c.id.label("judge_id"),
            (forms.c.person_id == people.c.id).label("own"),
            judgements.c.value,
            judgements.c.comment,
            judgements.c.via,
            judgements.c.answered_at,
            total_seconds(judgements).label("seconds"),
            judgements.c.id.label("judgement_id"),
            items.c.id.label("item_id"),
        )
        .join(items, items.c.id == judgements.c.item_id)
        .join(questions, questions.c.id == items.c.question_id)
        .join(people, people.c.id == judgements.c.person_id)
        .join(forms, forms.c.id == questions.c.form_id)
        .where(questions.c.campaign_id == tx.id, CURRENT, questions.c.id.not_in(left_out))
        .order_by(questions.c.id, items.c.id, judgements.c.id)
    )


def build_qrels(tx: Transaction, name: str = "j12", *, graded: bool = False) -> Qrels:
    """Build the qrels J1, J2 or J1+2, or T1 or T1+2 of the queries judged in both phases.

    By default they are binary: a reference is relevant from the campaign's threshold on. ``graded``
    keeps the grades of phase one, the lowest as 0, and gives relevant documents of phase two a 1.
    The author's judgement takes precedence over other judges'. Of several judgements left (for
    example of two references to one document) the highest counts. "Can't say" does not count.
    """
    if name not in (*PAIRS, *SETS):
        raise UnknownName("set of judgements", name, (*PAIRS, *SETS))
    first, value, is_own = pl.col("phase") == 1, pl.col("value"), pl.col("own")
    grade = value - 1 if graded else value >= tx.settings.relevant_from
    relevance = pl.when(first).then(grade.cast(pl.Int64)).otherwise(value.cast(pl.Int64))
    chosen = {"j1": first, "j2": ~first, "j12": pl.lit(True)}[PAIRS.get(name, name)]
    judged = current_judgements(tx).filter(value.is_not_null(), pl.col("doc_id").is_not_null())
    if name in PAIRS:
        judged = judged.filter((first.any() & (~first & is_own).any()).over("query_id"))
    table = (
        judged.filter(chosen)
        .with_columns(relevance=relevance)
        .filter(is_own == is_own.max().over("query_id", "doc_id"))
        .group_by("query_id", "doc_id", maintain_order=True)
        .agg(pl.col("relevance").max())
    )
    return Qrels(table, name)


def mapping_rule(settings: CampaignSettings, *, graded: bool = False) -> str:
    """Return the rule from judgements to relevance as a sentence."""
    low, high = settings.relevant_from, len(settings.grades)
    one = f"grade g of 1 to {high} is relevance g-1" if graded else (
        f"grades {low} to {high} are 1, lower ones 0"
    )  # fmt: skip
    return (
        f"phase one: {one}; phase two: relevant is 1, not relevant 0; can't say does not count; "
        "the author's judgement takes precedence over other judges'; the highest of several "
        "judgements counts"
    )
