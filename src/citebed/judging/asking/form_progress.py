"""How far a form has come: opened, answered in part, finished, or silent."""

from __future__ import annotations

from sqlalchemy import Connection, func, or_, select

from citebed.judging.asking.assigning import Form, items_of
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.schema import CURRENT, events, judgements, problems, returns, wordings


def is_noted(connection: Connection, form: Form, what: str) -> bool:
    """Whether a judge has ``opened`` or ``finished`` a form."""
    mine = (events.c.form_id == form.id) & (events.c.what == what)
    return connection.scalar(select(events.c.id).where(mine).limit(1)) is not None


def note_once(store: CampaignStore, connection: Connection, form: Form, what: str) -> None:
    """Put down that a judge has ``opened`` or ``finished`` a form, the first time."""
    if not is_noted(connection, form, what):
        store.log(connection, what, f"author {form.person_id}", form.id)


def has_responded(connection: Connection, form: Form) -> bool:
    """Whether something came of a form: an answer, a file, or that it is finished.

    A file counts however little could be read of it. Only where nothing was read and the organiser
    has settled that, as of an automatic reply, it is as if none had come.
    """
    mine = returns.c.form_id == form.id
    problem = select(problems.c.id).where(problems.c.return_id == returns.c.id)
    kept = [
        select(table.c.id).where(table.c.return_id == returns.c.id).exists()
        for table in (judgements, wordings)
    ]
    is_open = problem.where(problems.c.settled_at.is_(None)).exists()
    came = select(returns.c.id).where(mine, or_(~problem.exists(), is_open, *kept)).limit(1)
    return (
        answered(connection, form)[0] > 0
        or connection.scalar(came) is not None
        or is_noted(connection, form, "finished")
    )


def answered(connection: Connection, form: Form) -> tuple[int, int]:
    """How many items of a form have a judgement by its person, and how many there are."""
    mine = list(items_of(connection, form).values())
    done = select(func.count(judgements.c.item_id.distinct())).where(
        judgements.c.item_id.in_(mine), judgements.c.person_id == form.person_id, CURRENT
    )
    return int(connection.scalar(done) or 0), len(mine)
