"""Store what judges respond: questions, wordings, approvals and judgements.

Responses of all channels come here: text, PDF and HTML forms, and clicks on the web page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import Row, insert, select, update

from citebed.errors import CitebedError
from citebed.judging.assignments import (
    FormRow,
    LinkRefused,
    form_items,
    load_authorship,
    open_links,
)
from citebed.judging.forms.sheet import Answers, ParseProblem, Rating
from citebed.judging.judgements import (
    SaveOutcome,
    SaveResult,
    Source,
    Verdict,
    is_stored_newer,
    save_all,
)
from citebed.judging.questions import (
    MAX_LENGTH,
    add_wording,
    current_wording,
    last_approval,
    load_author,
)
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import (
    CURRENT,
    approvals,
    items,
    judgements,
    now,
    people,
    questions,
    references,
    returns,
)
from citebed.text.normalise import fold

WEB = "web"
"""The value of ``via`` of answers on the web."""
_GUESSED = "its charset is a guess"
_OUTDATED = "older than the stored answer, or undated"


class RecordResult(NamedTuple):
    """How many answers of a form were new or unchanged, and which had problems."""

    questions: int
    judgements: int
    unchanged: int
    unread: tuple[ParseProblem, ...]


def record_answers(
    tx: Transaction, form: FormRow, answers: Answers, source: Source
) -> RecordResult:
    """Store every valid answer; report the rest as problems."""
    unread: list[ParseProblem] = []
    stated = 0
    if form.phase == 1:
        for number, text in sorted(answers.questions.items()):
            if kept := _protected_text(tx, _question_id(tx, form, number), text, answers.is_guess):
                what = f"question {number}: {_GUESSED}, so the stored '{kept}' stays"
                unread.append(ParseProblem(0, what))
                continue
            outcome = state_question(tx, form, number, text, source)
            stated += outcome == "new"
            if outcome == "later":
                stands = current_wording(tx, _question_id(tx, form, number) or 0, "stated")
                unread.append(
                    ParseProblem(0, f"question {number}: {_OUTDATED}: '{stands.text}' stays")
                )
    known = form_items(tx, form)
    comments = _stored_comments(tx, form, known.values()) if answers.is_guess else {}
    places, verdicts = [], []
    for (question, entry), rating in sorted(answers.ratings.items()):
        item = known.get((question, entry))
        why = _value_problem(tx, form, rating) if item is not None else "no such question or paper"
        if item is None or why:
            unread.append(ParseProblem(0, f"question {question}, paper {entry}: {why}"))
            continue
        places.append(f"question {question}, paper {entry}")
        comment = fold(rating.comment)[:MAX_LENGTH]
        if not comment.isascii() and comments.get(item, comment) != comment:
            unread.append(ParseProblem(0, f"{places[-1]}: {_GUESSED}: the comment "
                                 f"'{comments[item]}' stays"))  # fmt: skip
            comment = comments[item]
        verdicts.append(Verdict(item, rating.value, comment))
    saved = save_all(tx, [(source, verdict) for verdict in verdicts])
    outcomes = [each.outcome for each in saved if isinstance(each, SaveResult)]
    unread += [
        ParseProblem(0, f"{place}: {_OUTDATED}; that one stays")
        for place, outcome in zip(places, outcomes, strict=True)
        if outcome == "later"
    ]
    for number, approved in answers.approved.items():
        if isinstance(approved, str) and answers.is_guess and not approved.isascii():
            what = f"query {number}: {_GUESSED}: its wording stays, not '{approved}'"
            unread.append(ParseProblem(0, what))
        else:
            unread += _record_approval(tx, form, number, approved, source)
    if answers.opted_out:
        opt_out(tx, form.person_id)
    new = outcomes.count("new")
    return RecordResult(stated, new, outcomes.count("same"), tuple(unread))


def _protected_text(tx: Transaction, question: int | None, text: str, is_guess: bool) -> str:
    """Return the stored wording that a text in a guessed charset must not replace, if any."""
    if not is_guess or question is None or text.isascii():
        return ""
    stored = str(current_wording(tx, question, "stated").text)
    return "" if stored == fold(text)[:MAX_LENGTH] else stored


def _stored_comments(tx: Transaction, form: FormRow, wanted: Iterable[int]) -> dict[int, str]:
    """Return the stored comments of a form's judge, by item."""
    mine = (judgements.c.person_id == form.person_id) & judgements.c.item_id.in_(list(wanted))
    rows = tx.execute(select(judgements.c.item_id, judgements.c.comment).where(mine, CURRENT))
    return {item: comment for item, comment in rows if comment}


def _value_problem(tx: Transaction, form: FormRow, rating: Rating) -> str:
    values = tx.settings.values(form.phase)
    if rating.value is not None and rating.value not in values:
        return f"{rating.value} is not one of {values[0]} to {values[-1]}"
    return ""


class NotOnForm(CitebedError):
    """A judgement of a document that is not on the judge's form."""

    def __init__(self, form_id: int) -> None:
        super().__init__("this document is not on your list.")
        self.form_id = form_id


FormJudgement = tuple[FormRow, Verdict, Source]
"""A judgement and its form."""


def save_judgements(tx: Transaction, clicks: Sequence[FormJudgement]) -> list[SaveOutcome]:
    """Save judgements of many forms; refuse those that do not fit their form."""
    listed = _items_on_forms(tx, clicks)
    outcomes: list[SaveOutcome | None] = []
    acts = []
    for form, verdict, source in clicks:
        wrong: CitebedError | None = None
        if (form.id, verdict.item_id) not in listed:
            wrong = NotOnForm(form.id)
        elif why := _value_problem(tx, form, Rating(verdict.value)):
            wrong = CitebedError(f"{why}.")
        else:
            acts.append((source, verdict._replace(comment=fold(verdict.comment)[:MAX_LENGTH])))
        outcomes.append(wrong)
    saved = iter(save_all(tx, acts))
    return [next(saved) if each is None else each for each in outcomes]


def _items_on_forms(tx: Transaction, clicks: Sequence[FormJudgement]) -> set[tuple[int, int]]:
    """Return the pairs of form and item that exist, without loading whole forms."""
    first = [verdict.item_id for form, verdict, _ in clicks if form.phase == 1]
    chosen = select(questions.c.form_id, items.c.id).join(
        items, items.c.question_id == questions.c.id
    )
    mine = items.c.id.in_(first) & items.c.reference_id.is_not(None)
    rows = tx.execute(chosen.where(mine)) if first else ()
    return {(form, item) for form, item in rows} | {
        (form.id, verdict.item_id)
        for form, verdict, _ in clicks
        if form.phase == 2
        and any(verdict.item_id in query["items"] for query in form.content["asked"])
    }


def state_question(
    tx: Transaction, form: FormRow, number: int, text: str, source: Source
) -> Literal["new", "same", "later", "empty"]:
    """Store a research question with the paper's references as items to judge.

    The ``same`` text changes nothing. Another text is a ``new`` wording of the question, unless a
    ``later`` one is stored: then it is only logged.
    """
    if form.phase != 1:
        raise CitebedError("this form asks for no questions.")
    text = fold(text)[:MAX_LENGTH]
    if not text:
        return "empty"
    question = _question_id(tx, form, number)
    if question is None:
        question = _add_question(tx, form, number)
    else:
        last = current_wording(tx, question, "stated")
        if last.text == text:
            return "same"
        if _is_stored_wording_newer(tx, last, source):
            who = f"author {form.person_id}"
            tx.log("outranked", who, form.id, question=number, text=text)
            return "later"
    who = f"author {form.person_id}"
    add_wording(tx, question, "stated", text, who, via=source.via, return_id=source.return_id)
    return "new"


def _question_id(tx: Transaction, form: FormRow, number: int) -> int | None:
    mine = (questions.c.form_id == form.id) & (questions.c.number == number)
    return tx.scalar(select(questions.c.id).where(mine))


def _is_stored_wording_newer(tx: Transaction, last: Row[Any], source: Source) -> bool:
    """Return whether the stored wording is newer than the incoming one."""
    came = tx.execute(select(returns).where(returns.c.id == last.return_id)).first()
    if came is None:
        return is_stored_newer(source, last.at)
    return is_stored_newer(source, came.answered_at, undated=bool(came.undated))


def _add_question(tx: Transaction, form: FormRow, number: int) -> int:
    label, position = load_authorship(tx, form)
    row = {"form_id": form.id, "number": number, "campaign_id": tx.id}
    question = tx.add(questions, **row, query_id=f"{label}-a{position}q{number}")
    listed = select(references.c.id, references.c.number, references.c.doc_id).where(
        references.c.paper_id == form.paper_id
    )
    rows = [
        {"question_id": question, "reference_id": ref, "position": at, "doc_id": doc_id}
        for ref, at, doc_id in tx.execute(listed.order_by(references.c.number))
    ]
    tx.execute(insert(items), rows)
    return question


def _record_approval(
    tx: Transaction, form: FormRow, number: int, approved: bool | str, source: Source
) -> list[ParseProblem]:
    """Store an author's approval of a reformulation, or their better wording."""
    listed = form.content.get("asked", [])
    if not 1 <= number <= len(listed):
        return [ParseProblem(0, f"query {number}: there is no such query on this form")]
    wording, question = listed[number - 1]["wording"], listed[number - 1]["question"]
    if load_author(tx, question) != source.person_id:
        return [ParseProblem(0, f"query {number}: only its author may approve or reword it")]
    better = fold(approved)[:MAX_LENGTH] if isinstance(approved, str) else ""
    row = {"wording_id": wording, "person_id": source.person_id, "approved": approved is True}
    before = last_approval(tx, wording, source.person_id)
    is_other = before is None or before.approved is not (approved is True)
    is_worded = better != "" and current_wording(tx, question).text != better
    came_late = source.return_id and before and is_stored_newer(source, before.at)
    if came_late and (is_other or is_worded):
        return [ParseProblem(0, f"query {number}: {_OUTDATED}; that one stays")]
    if is_other:
        tx.add(approvals, **row, via=source.via, at=source.answered_at)
    if is_worded:
        who, came = f"author {source.person_id}", source.return_id
        add_wording(tx, question, "corrected", better, who, via=source.via, return_id=came)
    return []


def approve(
    tx: Transaction, form: FormRow, number: int, approved: bool | str, source: Source
) -> None:
    """Store one approval or better wording; raise an error if it is refused."""
    if unread := _record_approval(tx, form, number, approved, source):
        raise CitebedError(f"{unread[0].what}.")


def opt_out(tx: Transaction, person: int) -> None:
    """Record that a person wants no more mails; their answers stay."""
    fresh = (people.c.id == person) & people.c.opted_out_at.is_(None)
    if tx.execute(update(people).where(fresh).values(opted_out_at=now())).rowcount:
        tx.log("opted out", f"author {person}")


class WebJudgement(NamedTuple):
    """A judgement on the web, with the token of its link and its place in the browser's queue."""

    token: str
    verdict: Verdict
    at: datetime
    browser: str | None = None
    sequence: int | None = None


def save_web_judgements(tx: Transaction, clicks: Sequence[WebJudgement]) -> list[SaveOutcome]:
    """Save judgements in the given order; return a result or an error for each."""
    opened = open_links(tx, [click.token for click in clicks])
    outcomes: list[SaveOutcome | None] = []
    let_in = []
    for click in clicks:
        form = opened[click.token]
        outcomes.append(form if isinstance(form, LinkRefused) else None)
        if not isinstance(form, CitebedError):
            source = Source(form.person_id, form.id, WEB, click.at)
            source = source._replace(browser=click.browser, sequence=click.sequence)
            let_in.append((form, click.verdict, source))
    saved = iter(save_judgements(tx, let_in))
    return [next(saved) if each is None else each for each in outcomes]
