"""Save judgements in an append-only history with one current judgement per judge and item.

Each judgement names the one that it supersedes. The database allows one first judgement per judge
and item and one successor per judgement, so the history is a chain whose last element counts. A
judgement that arrives late, after a newer one was stored, is kept outside the chain (outranked).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import Float, Row, case, func, insert, select, type_coerce

from citebed.errors import CitebedError, UnknownName
from citebed.judging.questions import excluded_questions
from citebed.judging.settings import CampaignSettings
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import (
    CURRENT,
    LAST,
    forms,
    items,
    judgements,
    now,
    people,
    questions,
    returns,
)
from citebed.runs.tables import Qrels


class Source(NamedTuple):
    """Who judged, on which form, by which channel (``via``) and when.

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
_Entry = tuple[Source, Verdict]


def save_all(tx: Transaction, acts: Sequence[_Entry]) -> list[SaveOutcome]:
    """Save judgements as if one after the other, but with few SQL statements.

    Judgements with the same judge and item, or the same key, are saved in order.
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
    """Save judgements that do not depend on each other."""
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
    """Return the outcome of a judgement that needs no new row, if so."""
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
    """Return whether the stored judgement was made after this one, which arrived later.

    Judgements of one browser are in the order of its queue, whatever the clocks say.
    """
    if source.browser is not None and source.sequence is not None:
        before = newest.get((source.person_id, verdict.item_id, source.browser))
        if before is not None and before > source.sequence:
            return True
        if last.browser == source.browser:
            return False
    return is_stored_newer(source, last.answered_at, undated=bool(last.undated))


def is_stored_newer(source: Source, at: datetime, *, undated: bool = False) -> bool:
    """Return whether stored content is newer than incoming content, by their times.

    Undated content is never newer. A stored time in the future means that the clock was set back;
    then the order of arrival counts.
    """
    if source.undated or undated:
        return source.undated and not undated
    return source.answered_at < at <= now()


def _row(
    source: Source, verdict: Verdict, last: Row[Any] | None, *, outranked: bool
) -> dict[str, Any]:
    columns = source._asdict() | verdict._asdict()
    del columns["undated"]  # stored with the return
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
    """Return the highest stored sequence number by judge, item and browser."""
    browsers = {source.browser for source, _ in acts if source.browser is not None}
    if not browsers:
        return {}
    columns = [judgements.c[name] for name in ("person_id", "item_id", "browser")]
    wanted = judgements.c.item_id.in_([verdict.item_id for _, verdict in acts])
    chosen = select(*columns, func.max(judgements.c.sequence)).group_by(*columns)
    rows = tx.execute(chosen.where(wanted, judgements.c.browser.in_(browsers)))
    return {(row[0], row[1], row[2]): row[3] for row in rows}


SETS = ("j1", "j2", "j12")

_earlier = judgements.alias("earlier")
_SECONDS = (
    select(func.sum(_earlier.c.took_ms) / 1000.0)
    .where(_earlier.c.item_id == judgements.c.item_id)
    .where(_earlier.c.person_id == judgements.c.person_id)
    .scalar_subquery()
)
"""The total time that a judge looked at a paper, in seconds."""


def current_judgements(tx: Transaction, *, excluded: bool = False) -> pl.DataFrame:
    """Return a row per judge and item with the current judgement.

    ``doc_id`` is null for papers outside the collection. ``seconds`` is the total time at the
    paper, known only on the web. ``excluded`` adds the judgements of excluded questions.
    """
    aside = () if excluded else excluded_questions(tx)
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
            type_coerce(_SECONDS, Float).label("seconds"),
            judgements.c.id.label("judgement_id"),
            items.c.id.label("item_id"),
        )
        .join(items, items.c.id == judgements.c.item_id)
        .join(questions, questions.c.id == items.c.question_id)
        .join(people, people.c.id == judgements.c.person_id)
        .join(forms, forms.c.id == questions.c.form_id)
        .where(questions.c.campaign_id == tx.id, CURRENT, questions.c.id.not_in(aside))
        .order_by(questions.c.id, items.c.id, judgements.c.id)
    )


def build_qrels(tx: Transaction, name: str = "j12", *, graded: bool = False) -> Qrels:
    """Build the qrels J1, J2 or J1+2.

    By default they are binary: a reference is relevant from the campaign's threshold on. ``graded``
    keeps the grades of phase one, the lowest as 0, and gives relevant documents of phase two a 1.
    The author's judgement takes precedence over other judges'. Of several judgements left (for
    example of two references to one document) the highest counts. "Can't say" does not count.
    """
    if name not in SETS:
        raise UnknownName("set of judgements", name, SETS)
    table = current_judgements(tx)
    first = pl.col("phase") == 1
    grade = pl.col("value") - 1 if graded else pl.col("value") >= tx.settings.relevant_from
    relevance = pl.when(first).then(grade.cast(pl.Int64)).otherwise(pl.col("value").cast(pl.Int64))
    chosen = {"j1": first, "j2": ~first, "j12": pl.lit(True)}[name]
    table = (
        table.filter(chosen, pl.col("value").is_not_null(), pl.col("doc_id").is_not_null())
        .with_columns(relevance=relevance)
        .filter(pl.col("own") == pl.col("own").max().over("query_id", "doc_id"))
        .group_by("query_id", "doc_id", maintain_order=True)
        .agg(pl.col("relevance").max())
    )
    return Qrels(table, name)


_PRECEDENCE = (
    "can't say does not count; the author's judgement takes precedence over other judges'; the "
    "highest of several judgements counts"
)


def mapping_rule(settings: CampaignSettings, *, graded: bool = False) -> str:
    """Return the rule from judgements to relevance as a sentence."""
    if graded:
        return (
            f"phase one: grade g of 1 to {len(settings.grades)} is relevance g-1; "
            f"phase two: relevant is 1, not relevant 0; {_PRECEDENCE}"
        )
    return (
        f"phase one: grades {settings.relevant_from} to {len(settings.grades)} are 1, lower ones "
        f"0; phase two: relevant is 1, not relevant 0; {_PRECEDENCE}"
    )
