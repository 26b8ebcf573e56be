"""What an organiser does about a return that could not be read whole: look, answer, settle.

An answer is entered by somebody who sees what stands, so it counts from now on; who typed it, and
from which return, is on record, and the judgement says that it came so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select, update

from citebed.errors import CitebedError
from citebed.judging.answers.answering import Recorded, record
from citebed.judging.answers.pieces import Part
from citebed.judging.asking.assigning import form_by_code
from citebed.judging.forms import pdf_form
from citebed.judging.forms.sheet import Answers
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.judgements import Source, in_turn
from citebed.judging.store.schema import forms, now, problems, returns

ENTERED = "organiser"
"""The way of an answer that an organiser typed."""


def returned_file(store: CampaignStore, connection: Connection, return_id: int) -> Row[Any]:
    """What came back, as it is stored, with the code of its form if that is known."""
    mine = (returns.c.id == return_id) & (returns.c.campaign_id == store.id)
    chosen = select(returns, forms.c.code).outerjoin(forms, forms.c.id == returns.c.form_id)
    found = connection.execute(chosen.where(mine)).first()
    if found is None:
        raise CitebedError(f"there is no return {return_id} in this campaign.")
    return found


def text_of(returned: Row[Any]) -> str:
    """The text of what came back, in the lines that problems name; a PDF has none."""
    part = Part(*(getattr(returned, name) for name in Part._fields))
    return "" if pdf_form.is_this_form(part.content) else part.text().text


def enter_answers(
    store: CampaignStore, answers: Answers, who: str, return_id: int | None = None
) -> Recorded:
    """Put down what an author said, for them; all of it, or nothing with the reason."""

    def work(connection: Connection) -> Recorded:
        form = form_by_code(store, connection, answers.code)
        if form is None:
            raise CitebedError(f"there is no form '{answers.code[:40]}' in this campaign.")
        if return_id is not None:
            returned_file(store, connection, return_id)
        source = Source(form.person_id, form.id, ENTERED, now())
        recorded = record(store, connection, form, answers, source)
        if recorded.unread:
            raise CitebedError("; ".join(what for _, what in recorded.unread[:5]) + ".")
        detail = {"judgements": recorded.judgements, "return": return_id}
        store.log(connection, "entered", who, form.id, **detail)
        return recorded

    return in_turn(store.database, work)


def settle_problems(
    store: CampaignStore, wanted: Sequence[int | str], who: str = "organiser"
) -> int:
    """Deal with problems by their numbers, or with all of a file by its name; how many were open.

    A number or a name that is none of the campaign's is an error, and nothing is settled then.
    """
    with store.writing() as connection:
        found: set[int] = set()
        for each in wanted:
            column = problems.c.id if isinstance(each, int) else returns.c.name
            chosen = select(problems.c.id).join(returns, returns.c.id == problems.c.return_id)
            mine = chosen.where(returns.c.campaign_id == store.id, column == each)
            known = set(connection.scalars(mine))
            if not known:
                what = "problem" if isinstance(each, int) else "file with problems"
                raise CitebedError(f"there is no {what} '{each}' in this campaign.")
            found |= known
        fresh = problems.c.id.in_(found) & problems.c.settled_at.is_(None)
        done = update(problems).where(fresh).values(settled_at=now(), settled_by=who)
        return int(connection.execute(done).rowcount)
