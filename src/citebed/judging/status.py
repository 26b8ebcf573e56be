"""The status of a campaign: its forms, mails, problems, exclusions and counts."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import Row, bindparam, func, literal, select

from citebed.judging.assignments import count_answered, has_event, has_responded
from citebed.judging.questions import live_questions, wording_history
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import (
    events,
    exclusions,
    forms,
    is_current,
    items,
    judgements,
    mails,
    now,
    pairs,
    papers,
    people,
    pools,
    preferences,
    problems,
    questions,
    references,
    returns,
)
from citebed.wording import count

MAIL_STATES = {"held": "no mail", "written": "in outbox", "sending": "sending",
               "failed": "not sent", "sent": "sent"}  # fmt: skip
"""The state of an unopened form, by the state of its mail."""
STATES = (*MAIL_STATES.values(), "opened", "begun", "finished", "opted out", "revoked", "expired")
_COLUMNS = ("phase", "round", "paper", "judge", "email", "mails", "mail", "opened", "answered",
            "items", "state", "code", "pairs")  # fmt: skip


def form_table(tx: Transaction) -> pl.DataFrame:
    """Return a row per form; ``state`` is one of `STATES`, ``pairs``: its judge compares papers."""
    chosen = (
        select(forms, papers.c.label, people.c.name, people.c.email, people.c.opted_out_at)
        .join(papers)
        .join(people)
        .where(forms.c.campaign_id == tx.id)
        .order_by(forms.c.id)
    )
    rows = []
    for form in tx.execute(chosen).all():
        mine = select(mails.c.state).where(mails.c.form_id == form.id).order_by(mails.c.id)
        states = list(tx.scalars(mine))
        last = states[-1] if states else None
        done, size = count_answered(tx, form)
        is_begun = has_responded(tx, form)
        is_opened = has_event(tx, form, "opened") or is_begun
        ended = {"finished": has_event(tx, form, "finished") or 0 < size == done,
                 "opted out": form.opted_out_at is not None,
                 "revoked": form.revoked_at is not None,
                 "expired": form.expires_at <= now()}  # fmt: skip
        mailed = "sent" if "sent" in states else MAIL_STATES[last or "held"]
        state = "begun" if is_begun else "opened" if is_opened else mailed
        state = next((name for name, is_so in ended.items() if is_so), state)
        who = (form.phase, form.round, form.label, form.name, form.email)
        facts = (len(states), last, is_opened, done, size, state, form.code)
        rows.append((*who, *facts, "compares" in form.content))
    whole = dict.fromkeys(("phase", "round", "mails", "answered", "items"), pl.Int32)
    answers = dict.fromkeys(("opened", "pairs"), pl.Boolean)
    kinds = dict.fromkeys(_COLUMNS, pl.String) | whole | answers
    return pl.DataFrame(rows, kinds, orient="row")


def open_problems(tx: Transaction) -> pl.DataFrame:
    """Return the open problems of returned files, with file and line.

    ``is_read``: the file was read as a judge's form, apart from the problem.
    """
    number, file = problems.c.id.label("problem"), returns.c.name.label("file")
    is_read = (returns.c.via.is_not(None) & returns.c.form_id.is_not(None)).label("is_read")
    return tx.table(
        select(number, file, problems.c.line, problems.c.what, problems.c.return_id, is_read)
        .join(returns)
        .where(returns.c.campaign_id == tx.id, problems.c.settled_at.is_(None))
        .order_by(returns.c.id, problems.c.id)
    )


def exclusion_history(tx: Transaction) -> pl.DataFrame:
    """Return all exclusions and their liftings, in order of time."""
    columns = [exclusions.c[name] for name in ("rule", "reason", "lifted", "who", "at")]
    chosen = select(questions.c.query_id, *columns).join(exclusions)
    mine = questions.c.campaign_id == tx.id
    return tx.table(chosen.where(mine).order_by(exclusions.c.id))


def mail_table(tx: Transaction) -> pl.DataFrame:
    """Return a row per mail with its recipient, kind and state."""
    names = ("state", "attempts", "error", "written_at", "sent_at")
    columns = [mails.c.kind, people.c.name, people.c.email, *(mails.c[name] for name in names)]
    chosen = select(*columns).join(people).where(mails.c.campaign_id == tx.id)
    return tx.table(chosen.order_by(mails.c.id))


def mails_in_outbox(tx: Transaction) -> int:
    """Count the mails that citebed wrote and did not send."""
    mine = (mails.c.campaign_id == tx.id) & (mails.c.state == "written")
    return int(tx.scalar(select(func.count(mails.c.id)).where(mine)) or 0)


class RestatedQuestion(NamedTuple):
    """A question with judgements or preferences that were made for another wording."""

    query_id: str
    judged_as: str
    text: str
    judgements: int
    preferences: int = 0

    def warning(self) -> str:
        """Return a warning for organisers."""
        numbers = ((self.judgements, "judgement"), (self.preferences, "preference"))
        made = " and ".join(count(number, what) for number, what in numbers if number)
        return f"{self.query_id} was restated after {made}: '{self.judged_as}' is now '{self.text}'"


def restated_questions(tx: Transaction) -> list[RestatedQuestion]:
    """Return the questions whose exported text is not the one that was judged.

    Judgements of phase one are for the question as stated; a minimal reformulation by the
    organisers, which the author approves, keeps them. Judgements of phase two are for the wording
    on the form; a wording that was pooled since, as the paper does with corrections, keeps them.
    """
    counted = [
        select(literal(made.name).label("what"), made.c.recorded_at, made.c.return_id,
               forms.c.phase, forms.c.content)
        .join(shown, shown.c.id == made.c.item_id)
        .join(forms, forms.c.id == made.c.form_id)
        .where(shown.c.question_id == bindparam("question"), made.c.value.is_not(None))
        .where(is_current(made))
        .order_by(made.c.id)
        for made, shown in ((judgements, items), (preferences, pairs))
    ]  # fmt: skip
    restated = []
    for question in live_questions(tx):
        history = wording_history(tx, question.id)
        stated = [each for each in history if each.kind == "stated"]
        pooled = select(pools.c.id).where(pools.c.wording_id == history[-1].id).limit(1)
        is_pooled = tx.scalar(pooled) is not None
        changed: list[tuple[str, str]] = []
        numbers = Counter[str]()
        for row in (row for each in counted for row in tx.execute(each, {"question": question.id})):
            if row.phase == 1:  # the last wording that the judge had in front of them
                before = [each.text for each in stated if each.at <= row.recorded_at
                          or (row.return_id and each.return_id == row.return_id)]  # fmt: skip
                pair = ((before or [stated[0].text])[-1], stated[-1].text)
            elif is_pooled:
                continue
            else:
                asked = {one["question"]: one["wording"] for one in row.content["asked"]}
                seen = next(each.text for each in history if each.id == asked[question.id])
                pair = (seen, history[-1].text)
            if pair[0] != pair[1]:
                changed.append(pair)
                numbers[row.what] += 1
        if changed:
            sizes = (numbers["judgements"], numbers["preferences"])
            restated.append(RestatedQuestion(question.query_id, *changed[-1], *sizes))
    return restated


def references_matched(tx: Transaction) -> tuple[int, int]:
    """Return how many references of the source papers the collection has, and how many exist."""
    chosen = select(func.count(references.c.doc_id), func.count(references.c.id)).join(papers)
    inside, every = tx.execute(chosen.where(papers.c.campaign_id == tx.id)).one()
    return int(inside), int(every)


def recent_events(tx: Transaction, what: str, most: int | None = 20) -> list[Row[Any]]:
    """Return the last events of a kind, the newest first."""
    mine = (events.c.campaign_id == tx.id) & (events.c.what == what)
    chosen = select(events).where(mine).order_by(events.c.id.desc()).limit(most)
    return list(tx.execute(chosen))
