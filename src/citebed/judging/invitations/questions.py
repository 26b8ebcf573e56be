"""Research questions: as stated, as worded now, and those that were set aside.

A question's wordings are a history: what its author stated, what the organisers made of it, what
the author made of that. The paper's rules set questions aside; each exclusion is recorded with its
reason, and lifted, on record too, when its ground is gone.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, func, select

from citebed.errors import UnknownName
from citebed.judging.store.campaign_store import CampaignStore, Transaction
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


def all_questions(tx: Transaction, *condition: ColumnElement[bool]) -> Sequence[Row[Any]]:
    """Every question, or all such, with its author, paper and place among the authors."""
    columns = [questions.c[name] for name in ("id", "query_id", "number", "form_id")]
    columns += [forms.c.paper_id, forms.c.person_id, people.c.opted_out_at, authorships.c.position]
    named = [papers.c.label.label("paper"), people.c.name.label("person")]
    return tx.execute(
        select(*columns, *named)
        .select_from(questions)
        .join(forms)
        .join(papers)
        .join(people)
        .join(
            authorships,
            (authorships.c.paper_id == papers.c.id) & (authorships.c.person_id == people.c.id),
        )
        .where(questions.c.campaign_id == tx.id, *condition)
        .order_by(papers.c.id, authorships.c.position, questions.c.number)
    ).all()


def live_questions(tx: Transaction) -> list[Row[Any]]:
    """The questions that are not set aside."""
    aside = excluded_questions(tx)
    return [question for question in all_questions(tx) if question.id not in aside]


def load_question(tx: Transaction, query_id: str) -> Row[Any]:
    """The question of that id."""
    for row in all_questions(tx, questions.c.query_id == query_id):
        return row
    raise UnknownName("query", query_id, (each.query_id for each in all_questions(tx)))


def load_author(tx: Transaction, question: int) -> int:
    """The person who stated a question: nobody else may approve or reword it."""
    return int(tx.row(forms, tx.row(questions, question).form_id).person_id)


def current_wording(tx: Transaction, question: int, kind: str | None = None) -> Row[Any]:
    """How a question is worded now, or was last worded in one way."""
    mine = wordings.c.question_id == question
    chosen = select(wordings).where(mine if kind is None else mine & (wordings.c.kind == kind))
    return tx.execute(chosen.order_by(wordings.c.id.desc()).limit(1)).one()


def wording_history(tx: Transaction, question: int) -> list[Row[Any]]:
    """All wordings of a question, the first one first."""
    mine = wordings.c.question_id == question
    return list(tx.execute(select(wordings).where(mine).order_by(wordings.c.id)))


def last_approval(tx: Transaction, wording: int, person: int) -> Row[Any] | None:
    """What somebody last said of a wording: whether they approve, and when."""
    mine = (approvals.c.wording_id == wording) & (approvals.c.person_id == person)
    chosen = select(approvals).where(mine).order_by(approvals.c.id.desc())
    return tx.execute(chosen.limit(1)).first()


def excluded_questions(tx: Transaction) -> dict[int, dict[str, str]]:
    """The questions that are excluded now: rules with their reasons, by question.

    What has no relevant document is seen from the answers as they are, which on the web come one
    by one; what co-authors asked is set aside when phase one is closed.
    """
    excluded = {
        question: {NOTHING_RELEVANT: reason}
        for question, reason in _questions_without_relevant(tx).items()
    }
    for question, rules in _recorded_exclusions(tx).items():
        standing = {rule: reason for rule, reason in rules.items() if rule != NOTHING_RELEVANT}
        if standing:
            excluded[question] = standing | excluded.get(question, {})
    return excluded


def _recorded_exclusions(tx: Transaction) -> dict[int, dict[str, str]]:
    """The exclusions that were put down and not lifted."""
    last = (
        select(func.max(exclusions.c.id))
        .join(questions)
        .where(questions.c.campaign_id == tx.id)
        .group_by(exclusions.c.question_id, exclusions.c.rule)
    )
    standing = select(exclusions).where(exclusions.c.id.in_(last), ~exclusions.c.lifted)
    recorded: dict[int, dict[str, str]] = {}
    for row in tx.execute(standing):
        recorded.setdefault(row.question_id, {})[row.rule] = row.reason
    return recorded


def exclude(
    tx: Transaction, question: int, rule: str, reason: str, who: str, lifted: bool = False
) -> None:
    """Set a question aside, or take it back."""
    row = {"question_id": question, "rule": rule, "reason": reason, "lifted": lifted}
    tx.add(exclusions, **row, who=who, at=now())


def record_exclusions(store: CampaignStore) -> None:
    """Apply the rules to the answers as they are now, of which those on the web come one by one."""
    with store.writing() as tx:
        apply_rules(tx)


def apply_rules(tx: Transaction) -> None:
    """Put on record which questions lack a relevant document, as the answers so far have it."""
    wanted = _questions_without_relevant(tx)
    _update_exclusions(tx, NOTHING_RELEVANT, wanted, grounds=wanted)


def close_phase_one(tx: Transaction, who: str = "organiser") -> int:
    """Set the questions of co-authors aside whose first author responded; how many are new.

    Closing again does the same with what came since. What is in phase two already stays there.
    """
    due = exclusions_at_closing(tx)
    _update_exclusions(tx, FIRST_AUTHOR, due, grounds=_co_author_questions(tx))
    tx.log("phase one closed", who, set_aside=len(due))
    return len(due)


def exclusions_at_closing(tx: Transaction) -> dict[int, str]:
    """The questions that would be set aside if phase one were closed now, with the reason."""
    recorded = _recorded_exclusions(tx)
    pooled = set(tx.scalars(select(pools.c.question_id)))
    return {
        question: reason
        for question, reason in _co_author_questions(tx).items()
        if question not in pooled and FIRST_AUTHOR not in recorded.get(question, {})
    }


def _update_exclusions(
    tx: Transaction, rule: str, wanted: Mapping[int, str], *, grounds: Container[int]
) -> None:
    """Set aside by a rule what is not yet, and take back what is without ``grounds`` for it."""
    known = {q for q, rules in _recorded_exclusions(tx).items() if rule in rules}
    for question in sorted(wanted.keys() - known):
        exclude(tx, question, rule, wanted[question], "rule")
    for question in sorted(each for each in known if each not in grounds):
        exclude(tx, question, rule, "its ground is gone", "rule", lifted=True)


def papers_with_first_author_answers(tx: Transaction) -> set[int]:
    """The papers whose first author responded: with a question and judgements of references."""
    judged = questions_with_judgements(tx, judgements.c.value.is_not(None))
    return {
        question.paper_id
        for question in all_questions(tx)
        if question.position == 1 and question.id in judged
    }


def _co_author_questions(tx: Transaction) -> dict[int, str]:
    answered = papers_with_first_author_answers(tx)
    return {
        question.id: f"the first author of {question.paper} answered too"
        for question in all_questions(tx)
        if question.position > 1 and question.paper_id in answered
    }


def _questions_without_relevant(tx: Transaction) -> dict[int, str]:
    relevant = questions_with_judgements(
        tx, items.c.doc_id.is_not(None) & (judgements.c.value >= tx.settings.relevant_from)
    )
    reason = "none of its references that are in the collection was judged relevant"
    return {each.id: reason for each in all_questions(tx) if each.id not in relevant}


def questions_with_judgements(tx: Transaction, condition: ColumnElement[bool]) -> set[int]:
    """Questions with such judgements of references."""
    chosen = select(items.c.question_id).join(judgements).join(questions).distinct()
    mine = (questions.c.campaign_id == tx.id) & items.c.reference_id.is_not(None)
    return set(tx.scalars(chosen.where(mine, CURRENT, condition)))
