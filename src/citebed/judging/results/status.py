"""How a campaign stands: every form, what became of its mails, and how far it is answered."""

from __future__ import annotations

from typing import Any

import polars as pl
from sqlalchemy import Row, func, select

from citebed.judging.asking.assigning import answered, has_responded, is_noted
from citebed.judging.store.handle import Transaction
from citebed.judging.store.schema import (
    CURRENT,
    events,
    exclusions,
    forms,
    judgements,
    mails,
    now,
    papers,
    people,
    problems,
    questions,
    references,
    returns,
)
from citebed.wording import count


def form_table(tx: Transaction) -> pl.DataFrame:
    """A row per form: ``state`` is sent, opened, begun, finished, opted out, revoked or expired."""
    chosen = (
        select(forms, papers.c.label, people.c.name, people.c.email, people.c.opted_out_at)
        .join(papers)
        .join(people)
        .where(forms.c.campaign_id == tx.id)
        .order_by(forms.c.id)
    )
    rows = [_row(tx, form) for form in tx.execute(chosen).all()]
    whole = dict.fromkeys(("phase", "round", "mails", "answered", "items"), pl.Int32)
    kinds = dict.fromkeys(_COLUMNS, pl.String) | whole | {"opened": pl.Boolean}
    return pl.DataFrame(rows, kinds, orient="row")


_COLUMNS = ("phase", "round", "paper", "judge", "email", "mails", "mail", "opened", "answered",
            "items", "state", "code")  # fmt: skip


def _row(tx: Transaction, form: Any) -> tuple[Any, ...]:
    mine = mails.c.form_id == form.id
    states = list(tx.scalars(select(mails.c.state).where(mine).order_by(mails.c.id)))
    done, of = answered(tx, form)
    begun = has_responded(tx, form)
    seen = is_noted(tx, form, "opened") or begun
    finished = is_noted(tx, form, "finished") or (of > 0 and done == of)
    whom = (form.phase, form.round, form.label, form.name, form.email)
    written = (len(states), states[-1] if states else None)
    return *whom, *written, seen, done, of, _state(form, seen, begun, finished), form.code


def _state(form: Any, seen: bool, begun: bool, finished: bool) -> str:
    if finished:
        return "finished"
    if form.opted_out_at is not None:
        return "opted out"
    if form.revoked_at is not None:
        return "revoked"
    if form.expires_at <= now():
        return "expired"
    return "begun" if begun else "opened" if seen else "sent"


def open_problems(tx: Transaction) -> pl.DataFrame:
    """What could not be read in returns and nobody has settled: file, line, what."""
    number, file = problems.c.id.label("problem"), returns.c.name.label("file")
    return tx.table(
        select(number, file, problems.c.line, problems.c.what, problems.c.return_id)
        .join(returns)
        .where(returns.c.campaign_id == tx.id, problems.c.settled_at.is_(None))
        .order_by(returns.c.id, problems.c.id)
    )


def exclusion_history(tx: Transaction) -> pl.DataFrame:
    """Every exclusion and its lifting, in the order in which they happened."""
    columns = [exclusions.c[name] for name in ("rule", "reason", "lifted", "who", "at")]
    chosen = select(questions.c.query_id, *columns).join(exclusions)
    mine = questions.c.campaign_id == tx.id
    return tx.table(chosen.where(mine).order_by(exclusions.c.id))


def mail_table(tx: Transaction) -> pl.DataFrame:
    """Every mail: to whom, of what kind, what became of it."""
    names = ("state", "attempts", "error", "written_at", "sent_at")
    columns = [mails.c.kind, people.c.name, people.c.email, *(mails.c[name] for name in names)]
    chosen = select(*columns).join(people).where(mails.c.campaign_id == tx.id)
    return tx.table(chosen.order_by(mails.c.id))


def campaign_counts(tx: Transaction) -> str:
    """A campaign in one line: papers, people, forms, questions, judgements."""
    named = {"paper": papers, "author": people, "form": forms, "question": questions}
    chosen = {
        noun: select(func.count(table.c.id)).where(table.c.campaign_id == tx.id)
        for noun, table in named.items()
    }
    judged = select(func.count(judgements.c.id)).join(forms, forms.c.id == judgements.c.form_id)
    chosen["judgement"] = judged.where(forms.c.campaign_id == tx.id, CURRENT)
    numbers = (count(int(tx.scalar(each) or 0), noun) for noun, each in chosen.items())
    simulated = " (simulated)" if tx.store.simulated else ""
    return f"{tx.store.name}{simulated}: {', '.join(numbers)}"


def references_matched(tx: Transaction) -> tuple[int, int]:
    """How many references of the source papers are documents of the collection, and of how many."""
    chosen = select(func.count(references.c.doc_id), func.count(references.c.id)).join(papers)
    inside, every = tx.execute(chosen.where(papers.c.campaign_id == tx.id)).one()
    return int(inside), int(every)


def recent_events(tx: Transaction, what: str, most: int | None = 20) -> list[Row[Any]]:
    """The last events of a kind, the newest first."""
    mine = (events.c.campaign_id == tx.id) & (events.c.what == what)
    chosen = select(events).where(mine).order_by(events.c.id.desc()).limit(most)
    return list(tx.execute(chosen))
