"""Research questions: as stated, as worded now, and those that were set aside.

A question's wordings are a history: what its author stated, what the organisers made of it, what
the author made of that. The paper's rules set questions aside; each exclusion is recorded with its
reason, and lifted, on record too, when its ground is gone.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, func, insert, select

from citebed.errors import UnknownName
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.schema import (
    CURRENT,
    approvals,
    authorships,
    exclusions,
    forms,
    items,
    judgements,
    now,
    papers,
    people,
    pools,
    questions,
    wordings,
)

FIRST_AUTHOR = "first author answered"
NOTHING_RELEVANT = "no relevant document in the collection"
BY_HAND = "set aside by the organiser"


def all_questions(store: CampaignStore) -> Select[Any]:
    """Every question with its author, paper and place among the authors."""
    return (
        select(
            questions.c.id,
            questions.c.query_id,
            questions.c.number,
            questions.c.form_id,
            forms.c.paper_id,
            forms.c.person_id,
            papers.c.label.label("paper"),
            people.c.name.label("person"),
            people.c.opted_out_at,
            authorships.c.position,
        )
        .join(forms, forms.c.id == questions.c.form_id)
        .join(papers, papers.c.id == forms.c.paper_id)
        .join(people, people.c.id == forms.c.person_id)
        .join(
            authorships,
            and_(
                authorships.c.paper_id == forms.c.paper_id,
                authorships.c.person_id == forms.c.person_id,
            ),
        )
        .where(questions.c.campaign_id == store.id)
        .order_by(papers.c.id, authorships.c.position, questions.c.number)
    )


def live_questions(store: CampaignStore, connection: Connection) -> Iterator[Row[Any]]:
    """The questions that are not set aside."""
    aside = set_aside(store, connection)
    for question in connection.execute(all_questions(store)).all():
        if question.id not in aside:
            yield question


def question_row(store: CampaignStore, connection: Connection, query_id: str) -> Row[Any]:
    """The question of that id."""
    every = all_questions(store)
    row = connection.execute(every.where(questions.c.query_id == query_id)).first()
    if row is None:
        known = (each.query_id for each in connection.execute(every))
        raise UnknownName("query", query_id, known)
    return row


def author_of(connection: Connection, question: int) -> int:
    """The person who stated a question: nobody else may approve or reword it."""
    stated = select(forms.c.person_id).join(questions, questions.c.form_id == forms.c.id)
    return int(connection.execute(stated.where(questions.c.id == question)).scalar_one())


def wording_of(connection: Connection, question: int, kind: str | None = None) -> Row[Any]:
    """How a question is worded now, or was last worded in one way."""
    mine = wordings.c.question_id == question
    chosen = select(wordings).where(mine if kind is None else mine & (wordings.c.kind == kind))
    return connection.execute(chosen.order_by(wordings.c.id.desc()).limit(1)).one()


def wording_history(connection: Connection, question: int) -> list[Row[Any]]:
    """All wordings of a question, the first one first."""
    mine = wordings.c.question_id == question
    return list(connection.execute(select(wordings).where(mine).order_by(wordings.c.id)))


def last_approval(connection: Connection, wording: int, person: int) -> Row[Any] | None:
    """What somebody last said of a wording: whether they approve, and when."""
    mine = (approvals.c.wording_id == wording) & (approvals.c.person_id == person)
    chosen = select(approvals).where(mine).order_by(approvals.c.id.desc())
    return connection.execute(chosen.limit(1)).first()


def set_aside(store: CampaignStore, connection: Connection) -> dict[int, dict[str, str]]:
    """The questions that are excluded now: rules with their reasons, by question.

    What has no relevant document is seen from the answers as they are, which on the web come one
    by one; what co-authors asked is set aside when phase one is closed.
    """
    excluded = {
        question: {NOTHING_RELEVANT: reason}
        for question, reason in _without_relevant(store, connection).items()
    }
    for question, rules in _on_record(store, connection).items():
        standing = {rule: reason for rule, reason in rules.items() if rule != NOTHING_RELEVANT}
        if standing:
            excluded[question] = standing | excluded.get(question, {})
    return excluded


def _on_record(store: CampaignStore, connection: Connection) -> dict[int, dict[str, str]]:
    """The exclusions that were put down and not lifted."""
    last = (
        select(func.max(exclusions.c.id))
        .join(questions, questions.c.id == exclusions.c.question_id)
        .where(questions.c.campaign_id == store.id)
        .group_by(exclusions.c.question_id, exclusions.c.rule)
    )
    rows = connection.execute(
        select(exclusions).where(exclusions.c.id.in_(last), exclusions.c.lifted.is_(False))
    )
    recorded: dict[int, dict[str, str]] = {}
    for row in rows:
        recorded.setdefault(row.question_id, {})[row.rule] = row.reason
    return recorded


def exclude(
    connection: Connection, question: int, rule: str, reason: str, who: str, lifted: bool = False
) -> None:
    """Set a question aside, or take it back."""
    row = {"question_id": question, "rule": rule, "reason": reason, "lifted": lifted}
    connection.execute(insert(exclusions).values(**row, who=who, at=now()))


def put_rules_on_record(store: CampaignStore) -> None:
    """Apply the rules to the answers as they are now, of which those on the web come one by one."""
    with store.writing() as connection:
        apply_rules(store, connection)


def apply_rules(store: CampaignStore, connection: Connection) -> None:
    """Put on record which questions lack a relevant document, as the answers so far have it."""
    wanted = _without_relevant(store, connection)
    _put_on_record(store, connection, NOTHING_RELEVANT, wanted, grounds=wanted)


def close_phase_one(store: CampaignStore, connection: Connection, who: str = "organiser") -> int:
    """Set the questions of co-authors aside whose first author responded; how many are new.

    Closing again does the same with what came since. What is in phase two already stays there.
    """
    due = due_at_closing(store, connection)
    grounds = _of_co_authors(store, connection)
    _put_on_record(store, connection, FIRST_AUTHOR, due, grounds=grounds)
    store.log(connection, "phase one closed", who, set_aside=len(due))
    return len(due)


def due_at_closing(store: CampaignStore, connection: Connection) -> dict[int, str]:
    """The questions that would be set aside if phase one were closed now, with the reason."""
    recorded = _on_record(store, connection)
    pooled = set(connection.scalars(select(pools.c.question_id)))
    return {
        question: reason
        for question, reason in _of_co_authors(store, connection).items()
        if question not in pooled and FIRST_AUTHOR not in recorded.get(question, {})
    }


def _put_on_record(
    store: CampaignStore,
    connection: Connection,
    rule: str,
    wanted: Mapping[int, str],
    *,
    grounds: Container[int],
) -> None:
    """Set aside by a rule what is not yet, and take back what is without ``grounds`` for it."""
    known = {q for q, rules in _on_record(store, connection).items() if rule in rules}
    for question in sorted(wanted.keys() - known):
        exclude(connection, question, rule, wanted[question], "rule")
    for question in sorted(each for each in known if each not in grounds):
        exclude(connection, question, rule, "its ground is gone", "rule", lifted=True)


def papers_answered(store: CampaignStore, connection: Connection) -> set[int]:
    """The papers whose first author responded: with a question and judgements of references."""
    judged = with_judgements(store, connection, judgements.c.value.is_not(None))
    return {
        question.paper_id
        for question in connection.execute(all_questions(store))
        if question.position == 1 and question.id in judged
    }


def _of_co_authors(store: CampaignStore, connection: Connection) -> dict[int, str]:
    answered = papers_answered(store, connection)
    return {
        question.id: f"the first author of {question.paper} answered too"
        for question in connection.execute(all_questions(store))
        if question.position > 1 and question.paper_id in answered
    }


def _without_relevant(store: CampaignStore, connection: Connection) -> dict[int, str]:
    relevant = with_judgements(
        store,
        connection,
        items.c.doc_id.is_not(None) & (judgements.c.value >= store.settings.relevant_from),
    )
    reason = "none of its references that are in the collection was judged relevant"
    every = connection.execute(all_questions(store))
    return {question.id: reason for question in every if question.id not in relevant}


def with_judgements(
    store: CampaignStore, connection: Connection, such: ColumnElement[bool]
) -> set[int]:
    """Questions with such judgements of references."""
    return set(
        connection.scalars(
            select(items.c.question_id)
            .join(judgements, judgements.c.item_id == items.c.id)
            .join(questions, questions.c.id == items.c.question_id)
            .where(questions.c.campaign_id == store.id, items.c.reference_id.is_not(None))
            .where(CURRENT, such)
            .distinct()
        )
    )
