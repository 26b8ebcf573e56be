"""Store what judges respond: questions, wordings, approvals and judgements.

Responses of all channels come here: text, PDF and HTML forms, and clicks on the web page.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from sqlalchemy import Table, insert, select, update

from citebed.errors import CitebedError
from citebed.judging.assignments import (
    FormRow,
    LinkRefused,
    form_items,
    judgement_table,
    load_authorship,
    open_links,
)
from citebed.judging.forms.sheet import Answers, ParseProblem
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
from citebed.judging.settings import PREFERENCES
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import (
    approvals,
    is_current,
    items,
    judgements,
    now,
    pairs,
    people,
    preferences,
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
    """Store every valid answer; report the rest as problems.

    A text in a guessed charset never replaces a stored one.
    """
    stated, unread = _record_questions(tx, form, answers, source)
    known, table = form_items(tx, form), judgement_table(form)
    comments: dict[int, str] = {}
    if answers.is_guess:
        mine = table.c.person_id == form.person_id
        mine &= table.c.item_id.in_(list(known.values())) & is_current(table)
        rows = tx.execute(select(table.c.item_id, table.c.comment).where(mine))
        comments = {item: comment for item, comment in rows if comment}
    places, verdicts = [], []
    for (question, entry), rating in sorted(answers.ratings.items()):
        place = f"question {question}, paper {entry}"
        item = known.get((question, entry))
        why = _value_problem(tx, form, rating.value) if item else "no such question or paper"
        if item is None or why:
            unread.append(f"{place}: {why}")
            continue
        comment = fold(rating.comment)[:MAX_LENGTH]
        if not comment.isascii() and comments.get(item, comment) != comment:
            unread.append(f"{place}: {_GUESSED}: the comment '{comments[item]}' stays")
            comment = comments[item]
        places.append(place)
        verdicts.append(Verdict(item, rating.value, comment))
    saved = save_all(tx, [(source, verdict) for verdict in verdicts], table)
    outcomes = [each.outcome for each in saved if isinstance(each, SaveResult)]
    for place, outcome in zip(places, outcomes, strict=True):
        if outcome == "later":
            unread.append(f"{place}: {_OUTDATED}; that one stays")

    for number, approved in answers.approved.items():
        if isinstance(approved, str) and answers.is_guess and not approved.isascii():
            unread.append(f"query {number}: {_GUESSED}: its wording stays, not '{approved}'")
        elif why := _record_approval(tx, form, number, approved, source):
            unread.append(why)
    if answers.opted_out:
        opt_out(tx, form.person_id)
    problems = tuple(ParseProblem(0, what) for what in unread)
    return RecordResult(stated, outcomes.count("new"), outcomes.count("same"), problems)


def _record_questions(
    tx: Transaction, form: FormRow, answers: Answers, source: Source
) -> tuple[int, list[str]]:
    """Store the questions of a form; return how many texts are new, and the problems."""
    stated, unread = 0, []
    for number, text in sorted(answers.questions.items()) if form.phase == 1 else ():
        question = _question_id(tx, form, number)
        stored = "" if question is None else current_wording(tx, question, "stated").text
        is_guess = answers.is_guess and not text.isascii()
        if is_guess and stored and stored != fold(text)[:MAX_LENGTH]:
            unread.append(f"question {number}: {_GUESSED}, so the stored '{stored}' stays")
            continue
        outcome = state_question(tx, form, number, text, source)
        stated += outcome == "new"
        if outcome == "later":
            unread.append(f"question {number}: {_OUTDATED}: '{stored}' stays")
    return stated, unread


def _value_problem(tx: Transaction, form: FormRow, value: int | None) -> str:
    is_pair = judgement_table(form) is preferences
    values = PREFERENCES if is_pair else tx.settings.values(form.phase)
    if value is None or value in values:
        return ""
    return f"{value} is not one of {values[0]} to {values[-1]}"


# --- Judgements -------------------------------------------------------------------------------


class NotOnForm(CitebedError):
    """A judgement of a document that is not on the judge's form."""

    def __init__(self, form_id: int) -> None:
        super().__init__("this document is not on your list.")
        self.form_id = form_id


class WebJudgement(NamedTuple):
    """A judgement on the web, with the token of its link and its place in the browser's queue."""

    token: str
    verdict: Verdict
    at: datetime
    browser: str | None = None
    sequence: int | None = None


def save_web_judgements(tx: Transaction, clicks: Sequence[WebJudgement]) -> list[SaveOutcome]:
    """Save judgements and preferences in the given order; return a result or an error for each.

    A refused link and a judgement that does not fit its form are errors.
    """
    opened = open_links(tx, [click.token for click in clicks])
    listed: set[tuple[int, int]] = set()  # pairs of form and item, without loading whole forms
    in_phase_one = {token for token, form in opened.items() if getattr(form, "phase", 2) == 1}
    if first := [click.verdict.item_id for click in clicks if click.token in in_phase_one]:
        chosen = select(questions.c.form_id, items.c.id).join(
            items, items.c.question_id == questions.c.id
        )
        mine = items.c.id.in_(first) & items.c.reference_id.is_not(None)
        listed |= {(form, item) for form, item in tx.execute(chosen.where(mine))}
    comparing = {
        token
        for token, form in opened.items()
        if not isinstance(form, LinkRefused) and judgement_table(form) is preferences
    }
    if compared := [click.verdict.item_id for click in clicks if click.token in comparing]:
        shown = select(pairs.c.form_id, pairs.c.id).where(pairs.c.id.in_(compared))
        listed |= {(form, pair) for form, pair in tx.execute(shown)}
    outcomes: list[SaveOutcome | Table] = []
    acts: dict[Table, list[tuple[Source, Verdict]]] = {judgements: [], preferences: []}
    for click in clicks:
        form, verdict = opened[click.token], click.verdict
        if isinstance(form, LinkRefused):
            outcomes.append(form)
        elif (form.id, verdict.item_id) not in listed and not (
            click.token not in comparing
            and any(verdict.item_id in query["items"] for query in form.content.get("asked", ()))
        ):
            outcomes.append(NotOnForm(form.id))
        elif why := _value_problem(tx, form, verdict.value):
            outcomes.append(CitebedError(f"{why}."))
        else:
            source = Source(form.person_id, form.id, WEB, click.at)
            source = source._replace(browser=click.browser, sequence=click.sequence)
            verdict = verdict._replace(comment=fold(verdict.comment)[:MAX_LENGTH])
            outcomes.append(table := judgement_table(form))
            acts[table].append((source, verdict))
    saved = {table: iter(save_all(tx, acts[table], table)) for table in acts}
    return [next(saved[each]) if isinstance(each, Table) else each for each in outcomes]


# --- Questions and approvals ------------------------------------------------------------------


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
    who = f"author {form.person_id}"
    question = _question_id(tx, form, number)
    if question is None:
        question = _add_question(tx, form, number)
    else:
        last = current_wording(tx, question, "stated")
        if last.text == text:
            return "same"
        came = tx.execute(select(returns).where(returns.c.id == last.return_id)).first()
        at, undated = (came.answered_at, bool(came.undated)) if came else (last.at, False)
        if is_stored_newer(source, at, undated=undated):
            tx.log("outranked", who, form.id, question=number, text=text)
            return "later"
    add_wording(tx, question, "stated", text, who, via=source.via, return_id=source.return_id)
    return "new"


def _question_id(tx: Transaction, form: FormRow, number: int) -> int | None:
    mine = (questions.c.form_id == form.id) & (questions.c.number == number)
    return tx.scalar(select(questions.c.id).where(mine))


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


def approve(
    tx: Transaction, form: FormRow, number: int, approved: bool | str, source: Source
) -> None:
    """Store one approval or better wording; raise an error if it is refused."""
    if why := _record_approval(tx, form, number, approved, source):
        raise CitebedError(f"{why}.")


def _record_approval(
    tx: Transaction, form: FormRow, number: int, approved: bool | str, source: Source
) -> str:
    """Store an author's approval of a reformulation, or their better wording, or say why not."""
    listed = form.content.get("asked", [])
    if not 1 <= number <= len(listed):
        return f"query {number}: this query is not on the form"
    wording, question = listed[number - 1]["wording"], listed[number - 1]["question"]
    if load_author(tx, question) != source.person_id:
        return f"query {number}: only its author may approve or reword it"
    better = fold(approved)[:MAX_LENGTH] if isinstance(approved, str) else ""
    before = last_approval(tx, wording, source.person_id)
    is_other = before is None or before.approved is not (approved is True)
    is_worded = better != "" and current_wording(tx, question).text != better
    came_late = source.return_id and before and is_stored_newer(source, before.at)
    if came_late and (is_other or is_worded):
        return f"query {number}: {_OUTDATED}; that one stays"
    if is_other:
        row = {"wording_id": wording, "person_id": source.person_id, "approved": approved is True}
        tx.add(approvals, **row, via=source.via, at=source.answered_at)
    if is_worded:
        who, came = f"author {source.person_id}", source.return_id
        add_wording(tx, question, "corrected", better, who, via=source.via, return_id=came)
    return ""


def opt_out(tx: Transaction, person: int) -> None:
    """Record that a person wants no more mails; their answers stay."""
    new = (people.c.id == person) & people.c.opted_out_at.is_(None)
    if tx.execute(update(people).where(new).values(opted_out_at=now())).rowcount:
        tx.log("opted out", f"author {person}")
