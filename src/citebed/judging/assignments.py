"""Judges' forms: their codes and personal links, their content, and the answers so far.

A form is for a person, a paper and a phase, and has a round number: later ones have a higher one.
In phase one each author of a published paper gets a form for research questions and grades. In
phase two the authors of pooled questions get a form for the documents that are new to them.
An item is a paper to judge, an entry shows it. Links are signed, expire and can be revoked.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Row, Table, func, or_, select, update

from citebed.errors import CitebedError, UnknownName
from citebed.files.secret_files import is_same_secret
from citebed.judging.forms.sheet import Entry, ListedQuery, Sheet
from citebed.judging.papers import Author, find_or_add_person
from citebed.judging.questions import (
    current_wording,
    last_approval,
    live_questions,
    load_author,
    wording_history,
)
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.schema import (
    authorships,
    events,
    forms,
    is_current,
    items,
    judgements,
    now,
    pairs,
    papers,
    people,
    preferences,
    problems,
    questions,
    references,
    returns,
    wordings,
)

_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # without letters that look like digits
CODE = re.compile(rf"\b[{_ALPHABET}]{{4}}(?:-[{_ALPHABET}]{{4}}){{3}}\b")

FormRow = Row[Any]
"""A row of the table of forms."""


# --- Codes and links --------------------------------------------------------------------------


def make_token(store: CampaignStore, code: str, expires_at: datetime) -> str:
    """Return the token of a personal link: form code, expiry time and signature."""
    payload = f"{code}.{int(expires_at.timestamp()):x}"
    return f"{payload}.{_signature(store, payload)}"


def verify_token(store: CampaignStore, token: str, when: datetime) -> str | None:
    """Return the form code of a token; ``None`` if it is forged or expired."""
    payload, _, signature = token.rpartition(".")
    if not is_same_secret(signature, _signature(store, payload)):
        return None
    code, _, expiry = payload.partition(".")
    return code if when.timestamp() < int(expiry, 16) else None


def _signature(store: CampaignStore, payload: str) -> str:
    message = f"citebed link {store.name} {payload}".encode("utf-8", "surrogatepass")
    digest = hmac.digest(store.secret, message, hashlib.sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def make_link(store: CampaignStore, token: str) -> str:
    """Return the URL of a judge's page."""
    return f"{store.settings.address.rstrip('/')}/{store.name}/judge/{token}"


class LinkRefused(CitebedError):
    """A link that was refused; ``why`` is for the organiser, not for the visitor."""

    def __init__(self, why: str, form_id: int | None = None) -> None:
        super().__init__("this link is not valid. Ask the organiser for a new one.")
        self.why = why
        self.form_id = form_id


def open_link(tx: Transaction, token: str) -> FormRow:
    """Return the form of a link's token; raise `LinkRefused` for an invalid or replaced link."""
    form = open_links(tx, [token])[token]
    if isinstance(form, LinkRefused):
        raise form
    return form


def open_links(tx: Transaction, tokens: Iterable[str]) -> dict[str, FormRow | LinkRefused]:
    """Return the form of each token, or why the token was refused."""
    when = now()
    codes = {each: verify_token(tx.store, each, when) for each in set(tokens)}
    wanted = [code for code in codes.values() if code is not None]
    is_wanted = (forms.c.campaign_id == tx.id) & forms.c.code.in_(wanted)
    rows = tx.execute(select(forms).where(is_wanted)) if wanted else ()
    form_of_code = {row.code: row for row in rows}
    opened: dict[str, FormRow | LinkRefused] = {}
    for token, code in codes.items():
        form = form_of_code.get(code)
        if code is None:
            opened[token] = LinkRefused("forged, altered, expired or of another campaign")
        elif form is None:
            opened[token] = LinkRefused("unknown form")
        elif form.revoked_at is not None:
            opened[token] = LinkRefused("revoked", form.id)
        elif form.expires_at <= when:
            opened[token] = LinkRefused("expired", form.id)
        elif token != make_token(tx.store, form.code, form.expires_at):
            opened[token] = LinkRefused("another link was given since", form.id)
        else:
            opened[token] = form
    return opened


def revoke_link(store: CampaignStore, code: str, who: str = "organiser") -> None:
    """Revoke the links of a form; its answers stay."""
    with store.writing() as tx:
        form = load_form(tx, code)
        if form.revoked_at is None:
            is_form = forms.c.id == form.id
            tx.execute(update(forms).where(is_form).values(revoked_at=now()))
            tx.log("revoked", who, form.id)


def renew_link(store: CampaignStore, code: str, who: str = "organiser") -> str:
    """Return a new link of a form, with the full lifetime; old links stop working."""
    with store.writing() as tx:
        form = load_form(tx, code)
        until = now() + timedelta(days=store.settings.open_days)
        # Links contain their expiry in seconds, so the new time must differ from the old one.
        if int(until.timestamp()) <= int(form.expires_at.timestamp()):
            until = form.expires_at + timedelta(seconds=1)
        is_form = forms.c.id == form.id
        tx.execute(update(forms).where(is_form).values(revoked_at=None, expires_at=until))
        tx.log("renewed", who, form.id)
    return make_link(store, make_token(store, form.code, until))


def form_by_code(tx: Transaction, code: str) -> FormRow | None:
    """Return the form of this campaign with this code."""
    is_form = (forms.c.campaign_id == tx.id) & (forms.c.code == code.strip().upper())
    return tx.execute(select(forms).where(is_form)).first()


def load_form(tx: Transaction, code: str) -> FormRow:
    """Return the form with this code; raise an error for an unknown code."""
    form = form_by_code(tx, code)
    if form is None:
        raise CitebedError(f"there is no form '{code[:40]}' in this campaign.")
    return form


# --- Assigning forms --------------------------------------------------------------------------


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
        return [add_form(tx, 1, *pair) for pair in tx.execute(due).all()]


def assign_phase_two(store: CampaignStore) -> list[int]:
    """Create forms for pooled documents that are new to the question's author; return the ids."""
    with store.writing() as tx:
        return [add_form(tx, 2, *pair, lists) for pair, lists in find_unassigned_lists(tx).items()]


def find_unassigned_lists(tx: Transaction) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the lists that were not assigned yet, by paper and person."""
    lists: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for question in live_questions(tx):
        person = question.person_id
        new_list = _unassigned_list(tx, question.id, person)
        if new_list is not None and question.opted_out_at is None:
            lists.setdefault((question.paper_id, person), []).append(new_list)
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
        pooled = (items.c.question_id == question.id) & items.c.pool_id.is_not(None)
        if tx.scalar(select(items.c.id).where(pooled).limit(1)) is None:
            raise CitebedError(f"'{query_id}' has no list yet. Pool it first.")
        person = find_or_add_person(tx, Author(name, email.lower()))
        if person == question.person_id:
            raise CitebedError(f"{email} is the author of '{query_id}'. Name another person.")
        new_list = _unassigned_list(tx, question.id, person)
        return None if new_list is None else add_form(tx, 2, question.paper_id, person, [new_list])


def _unassigned_list(tx: Transaction, question: int, person: int) -> dict[str, Any] | None:
    """Return a question's wording and the items that are new to a judge, in this judge's order."""
    is_of_judge = (forms.c.person_id == person) & (forms.c.phase == 2)
    seen_items = {
        item
        for content in tx.scalars(select(forms.c.content).where(is_of_judge))
        for query in content["asked"]
        for item in query["items"]
    }
    pooled = (items.c.question_id == question) & items.c.pool_id.is_not(None)
    rows = tx.execute(select(items.c.doc_id, items.c.id).where(pooled).order_by(items.c.id))
    new = {row.doc_id: row.id for row in rows if row.id not in seen_items}
    if not new:
        return None
    ordered = [new[doc_id] for doc_id in shuffle_for_judge(new, tx.store.secret, str(person))]
    return {"question": question, "wording": current_wording(tx, question).id, "items": ordered}


def add_form(
    tx: Transaction,
    phase: int,
    paper: int,
    person: int,
    lists: list[dict[str, Any]] | None = None,
    **content: Any,
) -> int:
    """Add a form with lists of phase two, and return its id; ``content`` is stored with them."""
    row: dict[str, Any] = {"phase": phase, "paper_id": paper, "person_id": person}
    conditions = [forms.c[name] == value for name, value in row.items()]
    last_round = tx.scalar(select(func.max(forms.c.round)).where(*conditions)) or 0
    # A code can be typed, but not guessed (78 bits).
    code = "-".join("".join(secrets.choice(_ALPHABET) for _ in range(4)) for _ in range(4))
    row |= {"campaign_id": tx.id, "round": last_round + 1, "code": code, "made_at": now()}
    until = row["made_at"] + timedelta(days=tx.settings.open_days)
    content |= {} if lists is None else {"asked": lists}
    return tx.add(forms, **row, content=content, expires_at=until)


def shuffle_for_judge(doc_ids: Iterable[str], secret: bytes, judge: str) -> list[str]:
    """Return documents in a random order that is fixed per judge.

    The order does not depend on systems, ranks or scores and cannot be computed without the
    secret. Added or removed documents do not change the order of the others.
    """
    key = hmac.digest(secret, judge.encode("utf-8", "surrogatepass"), hashlib.sha256)

    def sort_key(doc_id: str) -> tuple[bytes, str]:
        return hmac.digest(key, doc_id.encode("utf-8", "surrogatepass"), hashlib.sha256), doc_id

    return sorted(doc_ids, key=sort_key)


# --- The content of a form --------------------------------------------------------------------


def load_sheet(tx: Transaction, form: FormRow) -> Sheet:
    """Load the content of a form."""
    cited: list[Entry] = []
    queries: list[ListedQuery] = []
    if form.phase == 1:
        columns = [references.c[name] for name in Entry._fields]
        of_paper = select(*columns).where(references.c.paper_id == form.paper_id)
        cited = [Entry(*row) for row in tx.execute(of_paper.order_by(references.c.number))]
    for number, query in enumerate(form.content.get("asked", ()), 1):
        rows = tx.execute(select(items.c.id, items.c.shown).where(items.c.id.in_(query["items"])))
        shown = {row.id: row.shown for row in rows}
        entries = tuple(Entry(place, **shown[item]) for place, item in enumerate(query["items"], 1))
        wording = tx.row(wordings, query["wording"])
        is_author = load_author(tx, query["question"]) == form.person_id
        original_wording = None
        if is_author and wording.kind == "reformulated":
            original_wording = current_wording(tx, query["question"], "stated").text
        queries.append(ListedQuery(number, wording.text, entries, original_wording, is_author))
    return Sheet(
        code=form.code,
        phase=form.phase,
        campaign=tx.store.name,
        settings=tx.settings,
        person=tx.row(people, form.person_id).name,
        paper=tx.row(papers, form.paper_id).title,
        link=make_link(tx.store, make_token(tx.store, form.code, form.expires_at)),
        references=tuple(cited),
        queries=tuple(queries),
        simulated=tx.store.simulated,
        compares=judgement_table(form) is preferences,
    )


def judgement_table(form: FormRow) -> Table:
    """Return the table of a form's judgements: of papers, or preferences between two papers."""
    return preferences if form.content.get("compares") else judgements


def form_items(tx: Transaction, form: FormRow) -> dict[tuple[int, int], int]:
    """Return ``{(question number, entry number): item id}`` for a form.

    For a form that compares, these are the numbers and ids of its pairs.
    """
    if judgement_table(form) is preferences:
        place = {query["question"]: number for number, query in enumerate(form.content["asked"], 1)}
        rows = tx.execute(select(pairs).where(pairs.c.form_id == form.id).order_by(pairs.c.id))
        return {(place.get(row.question_id, 0), row.position): row.id for row in rows}
    if form.phase == 2:
        return {
            (number, entry): item
            for number, query in enumerate(form.content["asked"], 1)
            for entry, item in enumerate(query["items"], 1)
        }
    rows = tx.execute(
        select(questions.c.number, items.c.position, items.c.id)
        .join(items)
        .where(questions.c.form_id == form.id, items.c.reference_id.is_not(None))
    )
    return {(number, position): item for number, position, item in rows}


def load_authorship(tx: Transaction, form: FormRow) -> tuple[str, int]:
    """Return the label of a form's paper and its person's position among the authors."""
    is_author = (papers.c.id == form.paper_id) & (authorships.c.person_id == form.person_id)
    query = select(papers.c.label, authorships.c.position).join(authorships).where(is_author)
    label, position = tx.execute(query).one()
    return label, position


# --- Progress ---------------------------------------------------------------------------------


def has_event(tx: Transaction, form: FormRow, what: str) -> bool:
    """Return whether a judge has ``opened`` or ``finished`` a form."""
    is_event = (events.c.form_id == form.id) & (events.c.what == what)
    return tx.scalar(select(events.c.id).where(is_event).limit(1)) is not None


def log_once(tx: Transaction, form: FormRow, what: str) -> None:
    """Log the first time that a judge has ``opened`` or ``finished`` a form."""
    if not has_event(tx, form, what):
        tx.log(what, f"author {form.person_id}", form.id)


def has_responded(tx: Transaction, form: FormRow) -> bool:
    """Return whether a judge responded with an answer, with a file, or by finishing the form.

    A returned file counts, even an unreadable one. It does not count if nothing was read from it
    and the organiser settled all its problems (as for an automatic reply).
    """
    problem = select(problems.c.id).where(problems.c.return_id == returns.c.id)
    was_read = [
        select(table.c.id).where(table.c.return_id == returns.c.id).exists()
        for table in (judgements, wordings)
    ]
    is_open = problem.where(problems.c.settled_at.is_(None)).exists()
    counts = or_(~problem.exists(), is_open, *was_read)
    counting = select(returns.c.id).where(returns.c.form_id == form.id, counts).limit(1)
    return (
        count_answered(tx, form)[0] > 0
        or tx.scalar(counting) is not None
        or has_event(tx, form, "finished")
    )


def count_answered(tx: Transaction, form: FormRow) -> tuple[int, int]:
    """Return how many items of a form its person judged, and how many it has."""
    item_ids = list(form_items(tx, form).values())
    table = judgement_table(form)
    judged = select(func.count(table.c.item_id.distinct())).where(
        table.c.item_id.in_(item_ids), table.c.person_id == form.person_id, is_current(table)
    )
    return int(tx.scalar(judged) or 0), len(item_ids)


# --- A judge's page ---------------------------------------------------------------------------

AbstractLookup = Callable[[str], str]
"""A function from a document's id to its abstract, or ""."""


class ListedItem(NamedTuple):
    """A paper to judge; ``item`` is its id, or 0 for a question that is not stated yet.

    In a pair, this is the first paper, ``other`` the second one, and ``item`` the pair's id.
    """

    item: int
    entry: Entry
    abstract: str
    judged: bool = False
    value: int | None = None
    comment: str = ""
    other: ListedItem | None = None


class ListedQuestion(NamedTuple):
    """A question with its papers.

    If the organiser edited the question, ``stated`` is the author's original wording, ``approved``
    whether the author accepted the edit (if known), and ``correction`` the author's new wording.
    Judges can reword only their ``own`` questions.
    """

    number: int
    text: str
    papers: tuple[ListedItem, ...]
    stated: str | None = None
    approved: bool | None = None
    correction: str = ""
    own: bool = True


class JudgeList(NamedTuple):
    """The content of a judge's page; ``blank`` are the papers for a new question of phase one.

    It shows what a judge needs to know of a document, and nothing of how the document was found.
    """

    sheet: Sheet
    questions: tuple[ListedQuestion, ...]
    blank: tuple[ListedItem, ...] = ()


def load_judge_list(tx: Transaction, form: FormRow, find_abstract: AbstractLookup) -> JudgeList:
    """Load a form with the judge's current judgement of each paper."""
    sheet = load_sheet(tx, form)
    item_ids = form_items(tx, form)
    table = judgement_table(form)
    is_of_judge = table.c.person_id == form.person_id
    is_of_judge &= table.c.item_id.in_(list(item_ids.values()))
    rows = tx.execute(select(table).where(is_of_judge, is_current(table)))
    judged = {row.item_id: (True, row.value, row.comment) for row in rows}
    chosen = select(pairs).where(pairs.c.form_id == form.id)
    sides = {row.id: (row.left_id, row.right_id) for row in tx.execute(chosen)}
    shown_ids = {paper for item in item_ids.values() for paper in sides.get(item, (item,))}
    rows = tx.execute(select(items.c.id, items.c.doc_id).where(items.c.id.in_(shown_ids)))
    doc_ids = {row.id: row.doc_id for row in rows}

    def list_for(question: int, entries: Mapping[int, Entry]) -> tuple[ListedItem, ...]:
        papers = []
        for (number, place), item in sorted(item_ids.items()):
            listed = [
                ListedItem(item, entries[paper]._replace(number=place),
                           find_abstract(doc_ids[paper] or ""), *judged.get(item, ()))
                for paper in sides.get(item, (item,)) if number == question and paper in entries
            ]  # fmt: skip
            if listed:
                papers.append(listed[0]._replace(other=next(iter(listed[1:]), None)))
        return tuple(papers)

    shown: list[ListedQuestion] = []
    if form.phase == 1:
        form_questions = select(questions).where(questions.c.form_id == form.id)
        for row in tx.execute(form_questions.order_by(questions.c.number)).all():
            text = current_wording(tx, row.id, "stated").text
            keys = {(row.number, each.number): each for each in sheet.references}
            entries = {item_ids[key]: entry for key, entry in keys.items() if key in item_ids}
            shown.append(ListedQuestion(row.number, text, list_for(row.number, entries)))
        cited = select(references.c.number, references.c.doc_id)
        rows = tx.execute(cited.where(references.c.paper_id == form.paper_id))
        by_number = {row.number: row.doc_id for row in rows}
        unasked = (ListedItem(0, each, find_abstract(by_number[each.number] or ""))
                 for each in sheet.references)  # fmt: skip
        return JudgeList(sheet, tuple(shown), tuple(unasked))
    for query, stored in zip(sheet.queries, form.content["asked"], strict=True):
        listed = list_for(query.number, dict(zip(stored["items"], query.entries, strict=True)))
        question = ListedQuestion(query.number, query.text, listed, own=query.own)
        if query.own:
            approval = last_approval(tx, stored["wording"], form.person_id)
            history = wording_history(tx, stored["question"])
            corrections = (each for each in history if each.kind == "corrected")
            later = [each.text for each in corrections if each.id > stored["wording"]]
            question = question._replace(
                stated=query.stated,
                approved=None if approval is None else approval.approved,
                correction=later[-1] if later else "",
            )
        shown.append(question)
    return JudgeList(sheet, tuple(shown))
