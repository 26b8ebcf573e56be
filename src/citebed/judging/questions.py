"""Research questions: as stated, as worded now, and those that were set aside.

A question's wordings are a history: what its author stated, what the organisers made of it, what
the author made of that. The paper's rules set questions aside; each exclusion is recorded with its
reason, and lifted, on record too, when its ground is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, insert, select

from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.schema import (
    CURRENT,
    authorships,
    exclusions,
    forms,
    items,
    judgements,
    now,
    papers,
    people,
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


def set_aside(store: CampaignStore, connection: Connection) -> dict[int, dict[str, str]]:
    """The questions that are excluded now: rules with their reasons, by question.

    What the rules say is seen from the answers as they are, which on the web come one by one.
    """
    found = _by_rule(store, connection)
    for question, rules in _on_record(store, connection).items():
        if BY_HAND in rules:
            found.setdefault(question, {})[BY_HAND] = rules[BY_HAND]
    return found


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
    found: dict[int, dict[str, str]] = {}
    for row in rows:
        found.setdefault(row.question_id, {})[row.rule] = row.reason
    return found


def exclude(
    connection: Connection, question: int, rule: str, reason: str, who: str, lifted: bool = False
) -> None:
    """Set a question aside, or take it back."""
    row = {"question_id": question, "rule": rule, "reason": reason, "lifted": lifted}
    connection.execute(insert(exclusions).values(**row, who=who, at=now()))


def apply_rules(store: CampaignStore, connection: Connection) -> None:
    """Put the exclusions by rule on record as the answers so far have them."""
    wanted, recorded = _by_rule(store, connection), _on_record(store, connection)
    for question in sorted({*wanted, *recorded}):
        now_wanted, known = wanted.get(question, {}), recorded.get(question, {})
        for rule, reason in now_wanted.items():
            if rule not in known:
                exclude(connection, question, rule, reason, "rule")
        for rule in set(known) - set(now_wanted) - {BY_HAND}:
            exclude(connection, question, rule, "its ground is gone", "rule", lifted=True)


def _by_rule(store: CampaignStore, connection: Connection) -> dict[int, dict[str, str]]:
    """The questions that the paper's rules set aside, with their reasons."""
    every = connection.execute(all_questions(store)).all()
    answered = {question.paper_id for question in every if question.position == 1}
    relevant = _with_relevant_documents(store, connection)
    found: dict[int, dict[str, str]] = {}
    for question in every:
        if question.position > 1 and question.paper_id in answered:
            reason = f"the first author of {question.paper} answered too"
            found.setdefault(question.id, {})[FIRST_AUTHOR] = reason
        if question.id not in relevant:
            reason = "none of its references that are in the collection was judged relevant"
            found.setdefault(question.id, {})[NOTHING_RELEVANT] = reason
    return found


def _with_relevant_documents(store: CampaignStore, connection: Connection) -> set[int]:
    """Questions with a relevant reference that is in the collection."""
    return set(
        connection.scalars(
            select(items.c.question_id)
            .join(judgements, judgements.c.item_id == items.c.id)
            .join(questions, questions.c.id == items.c.question_id)
            .where(questions.c.campaign_id == store.id, items.c.reference_id.is_not(None))
            .where(items.c.doc_id.is_not(None), CURRENT)
            .where(judgements.c.value >= store.settings.relevant_from)
            .distinct()
        )
    )
