"""How a campaign stands: every form, what became of its mails, and how far it is answered."""

from __future__ import annotations

from typing import Any

import polars as pl
from sqlalchemy import Connection, Row, Select, Table, func, select

from citebed.judging.asking.assigning import answered, has_responded, is_noted
from citebed.judging.store.handle import CampaignStore
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

_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "phase": pl.Int32,
    "round": pl.Int32,
    "paper": pl.String,
    "judge": pl.String,
    "email": pl.String,
    "mails": pl.Int32,
    "mail": pl.String,
    "opened": pl.Boolean,
    "answered": pl.Int32,
    "items": pl.Int32,
    "state": pl.String,
    "code": pl.String,
}


def form_table(store: CampaignStore, connection: Connection) -> pl.DataFrame:
    """A row per form: ``state`` is sent, opened, begun, finished, opted out, revoked or expired."""
    chosen = (
        select(forms, papers.c.label, people.c.name, people.c.email, people.c.opted_out_at)
        .join(papers, papers.c.id == forms.c.paper_id)
        .join(people, people.c.id == forms.c.person_id)
        .where(forms.c.campaign_id == store.id)
        .order_by(forms.c.id)
    )
    rows = [_row(connection, form) for form in connection.execute(chosen).all()]
    return pl.DataFrame(rows, _COLUMNS, orient="row")


def _row(connection: Connection, form: Any) -> tuple[Any, ...]:
    written = connection.execute(
        select(mails.c.state).where(mails.c.form_id == form.id).order_by(mails.c.id)
    ).all()
    done, of = answered(connection, form)
    begun = has_responded(connection, form)
    seen = is_noted(connection, form, "opened") or begun
    finished = is_noted(connection, form, "finished") or (of > 0 and done == of)
    return (
        form.phase,
        form.round,
        form.label,
        form.name,
        form.email,
        len(written),
        written[-1].state if written else None,
        seen,
        done,
        of,
        _state(form, seen, begun, finished),
        form.code,
    )


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


def open_problems(store: CampaignStore, connection: Connection) -> pl.DataFrame:
    """What could not be read in returns and nobody has settled: file, line, what."""
    rows = connection.execute(
        select(problems.c.id, returns.c.name, problems.c.line, problems.c.what, returns.c.id)
        .join(returns, returns.c.id == problems.c.return_id)
        .where(returns.c.campaign_id == store.id, problems.c.settled_at.is_(None))
        .order_by(returns.c.id, problems.c.id)
    ).all()
    columns = {"problem": pl.Int64, "file": pl.String, "line": pl.Int32, "what": pl.String}
    columns |= {"return_id": pl.Int64}
    return pl.DataFrame([tuple(row) for row in rows], columns, orient="row")


def exclusion_history(store: CampaignStore, connection: Connection) -> pl.DataFrame:
    """Every exclusion and its lifting, in the order in which they happened."""
    rows = connection.execute(
        select(
            questions.c.query_id,
            exclusions.c.rule,
            exclusions.c.reason,
            exclusions.c.lifted,
            exclusions.c.who,
            exclusions.c.at,
        )
        .join(questions, questions.c.id == exclusions.c.question_id)
        .where(questions.c.campaign_id == store.id)
        .order_by(exclusions.c.id)
    ).all()
    names = ["query_id", "rule", "reason", "lifted", "who", "at"]
    kinds = [*[pl.String] * 3, pl.Boolean, pl.String, pl.Datetime("us", "UTC")]
    schema = dict(zip(names, kinds, strict=True))
    return pl.DataFrame([tuple(row) for row in rows], schema, orient="row")  # type: ignore[arg-type]


def campaign_counts(store: CampaignStore, connection: Connection) -> str:
    """A campaign in one line: papers, people, forms, questions, judgements."""
    here = {
        "paper": _rows_of(papers, store),
        "author": _rows_of(people, store),
        "form": _rows_of(forms, store),
        "question": _rows_of(questions, store),
        "judgement": select(func.count())
        .select_from(judgements)
        .join(forms, forms.c.id == judgements.c.form_id)
        .where(forms.c.campaign_id == store.id, CURRENT),
    }
    numbers = (count(int(connection.scalar(each) or 0), noun) for noun, each in here.items())
    return f"{store.name}{' (simulated)' if store.simulated else ''}: {', '.join(numbers)}"


def references_matched(store: CampaignStore, connection: Connection) -> tuple[int, int]:
    """How many references of the source papers are documents of the collection, and of how many."""
    chosen = select(func.count(references.c.doc_id), func.count())
    chosen = chosen.join(papers, papers.c.id == references.c.paper_id)
    inside, every = connection.execute(chosen.where(papers.c.campaign_id == store.id)).one()
    return int(inside), int(every)


def _rows_of(table: Table, store: CampaignStore) -> Select[int]:
    return select(func.count()).select_from(table).where(table.c.campaign_id == store.id)


def mail_table(store: CampaignStore, connection: Connection) -> pl.DataFrame:
    """Every mail: to whom, of what kind, what became of it."""
    columns = [mails.c.kind, people.c.name, people.c.email, mails.c.state, mails.c.attempts,
               mails.c.error, mails.c.written_at, mails.c.sent_at]  # fmt: skip
    chosen = select(*columns).join(people, people.c.id == mails.c.person_id)
    rows = connection.execute(chosen.where(mails.c.campaign_id == store.id).order_by(mails.c.id))
    moment = pl.Datetime("us", "UTC")
    kinds = [*[pl.String] * 4, pl.Int32, pl.String, moment, moment]
    names = ["kind", "name", "email", "state", "attempts", "error", "written_at", "sent_at"]
    schema: dict[str, Any] = dict(zip(names, kinds, strict=True))
    return pl.DataFrame([tuple(row) for row in rows], schema, orient="row")


def recent_events(
    store: CampaignStore, connection: Connection, what: str, most: int | None = 20
) -> list[Row[Any]]:
    """The last events of a kind, the newest first."""
    mine = (events.c.campaign_id == store.id) & (events.c.what == what)
    chosen = select(events).where(mine).order_by(events.c.id.desc()).limit(most)
    return list(connection.execute(chosen))
