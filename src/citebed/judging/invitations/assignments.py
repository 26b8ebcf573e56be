"""Assign forms to judges: a form is for one person, one paper, one phase and one round.

In phase one each author of an online paper gets a form for research questions and grades. In
phase two the authors of pooled questions get a form for the documents that are new to them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from sqlalchemy import func, or_, select

from citebed.errors import CitebedError, UnknownName
from citebed.judging.forms.sheet import Entry, ListedQuery, Sheet
from citebed.judging.invitations.links import FormRow, make_link, make_token, new_code
from citebed.judging.invitations.papers import Author, find_or_add_person
from citebed.judging.invitations.questions import current_wording, live_questions, load_author
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.schema import (
    CURRENT,
    authorships,
    events,
    forms,
    items,
    judgements,
    now,
    papers,
    people,
    problems,
    questions,
    references,
    returns,
    wordings,
)


def assign_phase_one(store: CampaignStore, on: date) -> list[int]:
    """Create forms for the authors of papers that are online on a day; return the new ids."""
    assigned = select(forms.c.id).where(
        forms.c.paper_id == authorships.c.paper_id,
        forms.c.person_id == authorships.c.person_id,
        forms.c.phase == 1,
    )
    due = (
        select(authorships.c.paper_id, authorships.c.person_id)
        .join(papers)
        .join(people)
        .where(papers.c.campaign_id == store.id, people.c.opted_out_at.is_(None))
        .where(people.c.email.is_not(None), ~assigned.exists())
        .where(papers.c.online_on.is_(None) | (papers.c.online_on <= on))
        .order_by(papers.c.id, authorships.c.position)
    )
    with store.writing() as tx:
        return [_add_form(tx, 1, *pair) for pair in tx.execute(due).all()]


def assign_phase_two(store: CampaignStore) -> list[int]:
    """Create forms for pooled documents that are new to the question's author; return the ids."""
    with store.writing() as tx:
        return [_add_form(tx, 2, *pair, listed) for pair, listed in lists_to_send(tx).items()]


def lists_to_send(tx: Transaction) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the lists that were not assigned yet, by paper and person."""
    before = _assigned_items(tx)
    lists: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for question in live_questions(tx):
        person = question.person_id
        listed = _unassigned_list(tx, question.id, person, before)
        if listed is not None and question.opted_out_at is None:
            lists.setdefault((question.paper_id, person), []).append(listed)
    return lists


def assign_second_judge(store: CampaignStore, query_id: str, name: str, email: str) -> int | None:
    """Assign a query's list to a second judge, to measure agreement; return the new form's id.

    Return ``None`` if the list has nothing new for them.
    """
    with store.writing() as tx:
        every = {each.query_id: each for each in live_questions(tx)}
        if query_id not in every:
            raise UnknownName("query", query_id, every)
        question = every[query_id]
        if not _pooled_items(tx, question.id):
            raise CitebedError(f"'{query_id}' has no list yet. Pool it first.")
        person = find_or_add_person(tx, Author(name, email.lower()))
        if person == question.person_id:
            raise CitebedError(f"{email} is the author of '{query_id}'. Name another person.")
        listed = _unassigned_list(tx, question.id, person, _assigned_items(tx))
        if listed is None:
            return None
        return _add_form(tx, 2, question.paper_id, person, [listed])


def _assigned_items(tx: Transaction) -> set[tuple[int, int]]:
    """Return the pairs of person and item on the forms of phase two."""
    mine = (forms.c.campaign_id == tx.id) & (forms.c.phase == 2)
    rows = tx.execute(select(forms.c.person_id, forms.c.content).where(mine))
    return {
        (person, item)
        for person, content in rows
        for query in content["asked"]
        for item in query["items"]
    }


def _unassigned_list(
    tx: Transaction, question: int, person: int, before: set[tuple[int, int]]
) -> dict[str, Any] | None:
    """Return a question's wording and new items for a form, in this judge's order."""
    fresh = {
        doc_id: item
        for doc_id, item in _pooled_items(tx, question).items()
        if (person, item) not in before
    }
    if not fresh:
        return None
    order = shuffle_for_judge(list(fresh), tx.store.secret, str(person))
    ordered = [fresh[doc_id] for doc_id in order]
    return {"question": question, "wording": current_wording(tx, question).id, "items": ordered}


def _pooled_items(tx: Transaction, question: int) -> dict[str, int]:
    mine = (items.c.question_id == question) & items.c.pool_id.is_not(None)
    rows = tx.execute(select(items.c.doc_id, items.c.id).where(mine).order_by(items.c.id))
    return {row.doc_id: row.id for row in rows}


def _add_form(
    tx: Transaction, phase: int, paper: int, person: int, listed: list[dict[str, Any]] | None = None
) -> int:
    row: dict[str, Any] = {"phase": phase, "paper_id": paper, "person_id": person}
    mine = [forms.c[name] == value for name, value in row.items()]
    before = tx.scalar(select(func.max(forms.c.round)).where(*mine)) or 0
    row |= {"campaign_id": tx.id, "round": before + 1, "code": new_code(), "made_at": now()}
    until = row["made_at"] + timedelta(days=tx.settings.open_days)
    content = {} if listed is None else {"asked": listed}
    return tx.add(forms, **row, content=content, expires_at=until)


def load_sheet(tx: Transaction, form: FormRow) -> Sheet:
    """Load the content of a form."""
    settings = tx.settings
    link = make_link(tx.store, make_token(tx.store, form.code, form.expires_at))
    return Sheet(
        code=form.code,
        phase=form.phase,
        campaign=tx.store.name,
        title=settings.title,
        person=tx.row(people, form.person_id).name,
        paper=tx.row(papers, form.paper_id).title,
        grades=settings.grades,
        organiser=settings.organiser,
        contact=settings.contact,
        link=link,
        list_url=f"{link}/papers",
        references=_load_references(tx, form.paper_id) if form.phase == 1 else (),
        questions=settings.questions,
        queries=tuple(_load_queries(tx, form)) if form.phase == 2 else (),
        simulated=tx.store.simulated,
        relevant_from=settings.relevant_from,
    )


def _load_references(tx: Transaction, paper: int) -> tuple[Entry, ...]:
    columns = [references.c[name] for name in Entry._fields]
    mine = references.c.paper_id == paper
    rows = tx.execute(select(*columns).where(mine).order_by(references.c.number))
    return tuple(Entry(*row) for row in rows)


def _load_queries(tx: Transaction, form: FormRow) -> Iterable[ListedQuery]:
    for number, query in enumerate(form.content["asked"], 1):
        rows = tx.execute(select(items.c.id, items.c.shown).where(items.c.id.in_(query["items"])))
        shown = {row.id: row.shown for row in rows}
        entries = tuple(Entry(at, **shown[item]) for at, item in enumerate(query["items"], 1))
        wording = tx.row(wordings, query["wording"])
        stated = current_wording(tx, query["question"], "stated")
        own = load_author(tx, query["question"]) == form.person_id
        changed = own and wording.kind == "reformulated"
        yield ListedQuery(number, wording.text, entries, stated.text if changed else None, own)


def form_items(tx: Transaction, form: FormRow) -> dict[tuple[int, int], int]:
    """Return the items of a form by the numbers of question and entry."""
    if form.phase == 2:
        return {
            (number, at): item
            for number, query in enumerate(form.content["asked"], 1)
            for at, item in enumerate(query["items"], 1)
        }
    rows = tx.execute(
        select(questions.c.number, items.c.position, items.c.id)
        .join(items)
        .where(questions.c.form_id == form.id, items.c.reference_id.is_not(None))
    )
    return {(number, position): item for number, position, item in rows}


def load_authorship(tx: Transaction, form: FormRow) -> tuple[str, int]:
    """Return the label of a form's paper and its person's position among the authors."""
    mine = (papers.c.id == form.paper_id) & (authorships.c.person_id == form.person_id)
    place = select(papers.c.label, authorships.c.position).join(authorships).where(mine)
    label, position = tx.execute(place).one()
    return label, position


def shuffle_for_judge(doc_ids: Iterable[str], secret: bytes, judge: str) -> list[str]:
    """Return documents in a random order that is fixed per judge.

    The order does not depend on systems, ranks or scores and cannot be computed without the
    secret. Added or removed documents do not change the order of the others.
    """
    own = hmac.digest(secret, judge.encode("utf-8", "surrogatepass"), hashlib.sha256)

    def place(doc_id: str) -> tuple[bytes, str]:
        return hmac.digest(own, doc_id.encode("utf-8", "surrogatepass"), hashlib.sha256), doc_id

    return sorted(doc_ids, key=place)


def has_event(tx: Transaction, form: FormRow, what: str) -> bool:
    """Return whether a judge has ``opened`` or ``finished`` a form."""
    mine = (events.c.form_id == form.id) & (events.c.what == what)
    return tx.scalar(select(events.c.id).where(mine).limit(1)) is not None


def log_once(tx: Transaction, form: FormRow, what: str) -> None:
    """Log the first time that a judge has ``opened`` or ``finished`` a form."""
    if not has_event(tx, form, what):
        tx.log(what, f"author {form.person_id}", form.id)


def has_responded(tx: Transaction, form: FormRow) -> bool:
    """Return whether a judge responded with an answer, with a file, or by finishing the form.

    A returned file counts even if it is unreadable, unless the organiser settled all its problems
    and nothing was read from it, as for an automatic reply.
    """
    mine = returns.c.form_id == form.id
    problem = select(problems.c.id).where(problems.c.return_id == returns.c.id)
    taken = [
        select(table.c.id).where(table.c.return_id == returns.c.id).exists()
        for table in (judgements, wordings)
    ]
    is_open = problem.where(problems.c.settled_at.is_(None)).exists()
    came = select(returns.c.id).where(mine, or_(~problem.exists(), is_open, *taken)).limit(1)
    return (
        count_answered(tx, form)[0] > 0
        or tx.scalar(came) is not None
        or has_event(tx, form, "finished")
    )


def count_answered(tx: Transaction, form: FormRow) -> tuple[int, int]:
    """Return how many items of a form its person judged, and how many it has."""
    mine = list(form_items(tx, form).values())
    done = select(func.count(judgements.c.item_id.distinct())).where(
        judgements.c.item_id.in_(mine), judgements.c.person_id == form.person_id, CURRENT
    )
    return int(tx.scalar(done) or 0), len(mine)
