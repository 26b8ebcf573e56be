"""Research questions: their wordings, exclusions and reformulations.

A question has a history of wordings: as its author stated it, as the organisers reformulated it,
and as the author corrected that. The paper's rules exclude questions. Each exclusion is recorded
with its reason, and so is its lifting when the reason no longer holds.

citebed suggests changes that make a question self-contained, in the four classes of the paper's
Table 1 (likely typos, filler phrases, references to earlier questions, and missing context), and
the organiser decides.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, func, select

from citebed.collection import Collection
from citebed.errors import CitebedError, UnknownName
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
from citebed.text.normalise import fold

MAX_LENGTH = 4000
"""The maximum length of a question, a wording or a comment."""
FIRST_AUTHOR = "first author answered"
NOTHING_RELEVANT = "no relevant document in the collection"
BY_HAND = "set aside by the organiser"


def all_questions(tx: Transaction, *condition: ColumnElement[bool]) -> Sequence[Row[Any]]:
    """Return all questions that meet the conditions, with author, position and paper."""
    columns = [questions.c[name] for name in ("id", "query_id", "number", "form_id")]
    columns += [forms.c.paper_id, forms.c.person_id, people.c.opted_out_at, authorships.c.position]
    named = [papers.c.label.label("paper"), people.c.name.label("person")]
    is_author = (authorships.c.paper_id == papers.c.id) & (authorships.c.person_id == people.c.id)
    return tx.execute(
        select(*columns, *named)
        .select_from(questions)
        .join(forms)
        .join(papers)
        .join(people)
        .join(authorships, is_author)
        .where(questions.c.campaign_id == tx.id, *condition)
        .order_by(papers.c.id, authorships.c.position, questions.c.number)
    ).all()


def live_questions(tx: Transaction) -> list[Row[Any]]:
    """Return the questions that are not excluded."""
    left_out = excluded_questions(tx)
    return [question for question in all_questions(tx) if question.id not in left_out]


def load_question(tx: Transaction, query_id: str) -> Row[Any]:
    """Return the question with this id."""
    for row in all_questions(tx, questions.c.query_id == query_id):
        return row
    raise UnknownName("query", query_id, (each.query_id for each in all_questions(tx)))


def load_author(tx: Transaction, question: int) -> int:
    """Return the author of a question, the only person who may approve or reword it."""
    return int(tx.row(forms, tx.row(questions, question).form_id).person_id)


# --- Wordings ---------------------------------------------------------------------------------


def add_wording(tx: Transaction, question: int, kind: str, text: str, who: str, **more: Any) -> int:
    """Add a wording to a question; ``kind`` is ``stated``, ``reformulated`` or ``corrected``.

    ``more`` may have its ``classes``, the channel (``via``) and its ``return_id``.
    """
    row = {"classes": [], "via": "desk"} | more | {"kind": kind, "text": text, "who": who}
    return tx.add(wordings, question_id=question, **row, at=now())


def current_wording(tx: Transaction, question: int, kind: str | None = None) -> Row[Any]:
    """Return the current wording of a question, or its last wording of one kind."""
    mine = wordings.c.question_id == question
    chosen = select(wordings).where(mine if kind is None else mine & (wordings.c.kind == kind))
    return tx.execute(chosen.order_by(wordings.c.id.desc()).limit(1)).one()


def wording_history(tx: Transaction, question: int) -> list[Row[Any]]:
    """Return all wordings of a question, the oldest first."""
    mine = wordings.c.question_id == question
    return list(tx.execute(select(wordings).where(mine).order_by(wordings.c.id)))


def last_approval(tx: Transaction, wording: int, person: int) -> Row[Any] | None:
    """Return a person's last approval or disapproval of a wording."""
    mine = (approvals.c.wording_id == wording) & (approvals.c.person_id == person)
    chosen = select(approvals).where(mine).order_by(approvals.c.id.desc())
    return tx.execute(chosen.limit(1)).first()


# --- Exclusions -------------------------------------------------------------------------------


def excluded_questions(tx: Transaction) -> dict[int, dict[str, str]]:
    """Return the rules and reasons of all excluded questions.

    A missing relevant document is derived from the current answers, which on the web arrive one by
    one. Questions of co-authors are excluded when phase one is closed.
    """
    excluded = {
        question: {NOTHING_RELEVANT: reason}
        for question, reason in _questions_without_relevant(tx).items()
    }
    for question, rules in _recorded_exclusions(tx).items():
        others = {rule: reason for rule, reason in rules.items() if rule != NOTHING_RELEVANT}
        if others:
            excluded[question] = others | excluded.get(question, {})
    return excluded


def _recorded_exclusions(tx: Transaction) -> dict[int, dict[str, str]]:
    """Return the recorded exclusions that were not lifted."""
    last = (
        select(func.max(exclusions.c.id))
        .join(questions)
        .where(questions.c.campaign_id == tx.id)
        .group_by(exclusions.c.question_id, exclusions.c.rule)
    )
    valid = select(exclusions).where(exclusions.c.id.in_(last), ~exclusions.c.lifted)
    recorded: dict[int, dict[str, str]] = {}
    for row in tx.execute(valid):
        recorded.setdefault(row.question_id, {})[row.rule] = row.reason
    return recorded


def exclude(
    tx: Transaction, question: int, rule: str, reason: str, who: str, lifted: bool = False
) -> None:
    """Record that a question is excluded, or no longer."""
    row = {"question_id": question, "rule": rule, "reason": reason, "lifted": lifted}
    tx.add(exclusions, **row, who=who, at=now())


def apply_rules(tx: Transaction) -> None:
    """Record which questions have no relevant document so far."""
    wanted = _questions_without_relevant(tx)
    _update_exclusions(tx, NOTHING_RELEVANT, wanted, grounds=wanted)


def close_phase_one(tx: Transaction, who: str = "organiser") -> int:
    """Exclude co-authors' questions if the first author responded; return how many are new.

    Repeated calls handle new answers. Questions that are already pooled stay in phase two.
    """
    due = exclusions_at_closing(tx)
    _update_exclusions(tx, FIRST_AUTHOR, due, grounds=_co_author_questions(tx))
    tx.log("phase one closed", who, set_aside=len(due))
    return len(due)


def exclusions_at_closing(tx: Transaction) -> dict[int, str]:
    """Return the questions that closing phase one now would exclude, with the reason."""
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
    """Record new exclusions by a rule, and lift exclusions outside ``grounds``."""
    known = {q for q, rules in _recorded_exclusions(tx).items() if rule in rules}
    for question in sorted(wanted.keys() - known):
        exclude(tx, question, rule, wanted[question], "rule")
    for question in sorted(each for each in known if each not in grounds):
        exclude(tx, question, rule, "the reason no longer holds", "rule", lifted=True)


def papers_with_first_author_answers(tx: Transaction) -> set[int]:
    """Return the papers whose first author stated a question and judged references."""
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
    """Return the questions with judgements of references that meet a condition."""
    chosen = select(items.c.question_id).join(judgements).join(questions).distinct()
    mine = (questions.c.campaign_id == tx.id) & items.c.reference_id.is_not(None)
    return set(tx.scalars(chosen.where(mine, CURRENT, condition)))


# --- Reformulations ---------------------------------------------------------------------------

CLASSES = {
    "typo": "a spelling or typographical error was corrected",
    "filler": "words that add nothing to the meaning were removed",
    "anaphor": "a reference to an earlier question was resolved",
    "context": "terms of earlier questions were added for missing context",
}

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_FILLERS = re.compile(
    r"\b(?:(?:in this (?:paper|work|article|study)[, ]+)?"
    r"(?:we|this (?:paper|work|article|study)|the (?:paper|authors?))\s+"
    r"(?:(?:also|further|therefore|thus)\s+)?"
    r"(?:presents?|proposes?|introduces?|describes?|investigates?|explores?|examines?|address(?:es)?|"
    r"study|studies|show|shows|report|reports|consider|considers|are interested in|aim to|try to|"
    r"ask(?: the question(?: of)?)?|want to know)"
    r"(?:\s+(?:whether|how|that))?"
    r"(?:\s+(?:an?|the)\s+(?:(?:novel|new|simple|general|efficient)\s+)*"
    r"(?:mechanism|method|approach|technique|framework|way|problem|question|task)\s+"
    r"(?:for|of|to|that))?"
    r"|in this (?:paper|work|article|study)"
    r"|(?:the|our) (?:main |primary |overall )?(?:goal|aim|purpose|objective|research question)s?"
    r"(?: of (?:this|our) (?:paper|work|study))? (?:is|was|are) (?:to )?"
    r"|it is (?:well )?known that"
    r"|it is (?:interesting|important) to (?:note|know|see) (?:that|whether)"
    r"|novel|basically|actually|in order)\b[,:]?\s*",
    re.IGNORECASE,
)
_ANAPHORS = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|such an?|such|the same|the former|"
    r"the latter|the (?:above|previous|proposed|resulting) \w+|"
    r"the (?:model|method|approach|system|algorithm|task|problem|data|corpus|results?))\b",
    re.IGNORECASE,
)
_SHORT_QUESTION = 5
_SHORT_WORD = 4
_MIN_SIMILARITY = 0.82


class Suggestion(NamedTuple):
    """A suggested change: class, place, text and its replacement (``None``: to be written)."""

    kind: str
    start: int
    end: int
    text: str
    replacement: str | None
    why: str


class Change(NamedTuple):
    """A part of a difference: ``same``, ``removed`` or ``added``."""

    kind: str
    text: str


def count_words(collection: Collection) -> Mapping[str, int]:
    """Count the lower-case words of titles and abstracts."""
    words: Counter[str] = Counter()
    for title, abstract in collection.documents.select("title", "abstract").iter_rows():
        words.update(word.lower() for word in _WORD.findall(f"{title} {abstract or ''}"))
    return words


def suggest_changes(
    text: str, earlier: Sequence[str] = (), known: Mapping[str, int] | None = None
) -> list[Suggestion]:
    """Return suggested changes of a question, in the order of its text.

    ``earlier`` are questions of the same form; ``known`` are the words of the collection with
    their frequencies, without which citebed suggests no typos.
    """
    why = "adds nothing to the topic"
    suggested = [Suggestion("filler", *m.span(), m[0], "", why) for m in _FILLERS.finditer(text)]
    for match in _ANAPHORS.finditer(text) if earlier else ():
        # Only at the beginning is "that" a pronoun; compare "a model that learns".
        if match[0].lower() != "that" or not text[: match.start()].strip():
            why = "may refer to an earlier question"
            suggested.append(Suggestion("anaphor", *match.span(), match[0], None, why))
    words = _WORD.findall(text)
    if earlier and len(words) <= _SHORT_QUESTION:
        mine = {word.lower() for word in words}
        others = _WORD.findall(_FILLERS.sub("", earlier[0]))
        new = [word for word in others if word.lower() not in mine and len(word) > _SHORT_WORD]
        if new:
            why = "the question is short; these words are from an earlier question"
            end, more = len(text), f" - {' '.join(new[:4])}"
            suggested.append(Suggestion("context", end, end, "", more, why))
    if known:
        suggested += _suggest_typos(text, known)
    return sorted(suggested, key=lambda each: (each.start, each.kind))


def _suggest_typos(text: str, known: Mapping[str, int]) -> list[Suggestion]:
    by_letter: dict[str, list[str]] = {}
    for word, times in known.items():
        if times > 1 and len(word) >= _SHORT_WORD:
            by_letter.setdefault(word[0], []).append(word)
    typos = []
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if len(word) < _SHORT_WORD or word in known or match[0].isupper():
            continue
        near = difflib.get_close_matches(word, by_letter.get(word[0], ()), 3, _MIN_SIMILARITY)
        # Words that differ only in their endings (filters, filter) are not typos of each other.
        ends = {other: min(len(word), len(other)) - 1 for other in near}
        if near and all(word[:end] != other[:end] for other, end in ends.items()):
            ratio = {each: difflib.SequenceMatcher(None, word, each).ratio() for each in near}
            best = max(near, key=lambda each: (ratio[each], known[each]))
            replacement = best.capitalize() if match[0][0].isupper() else best
            why = f"no document has this word; '{best}' occurs {known[best]:,} times"
            typos.append(Suggestion("typo", *match.span(), match[0], replacement, why))
    return typos


def diff_words(old: str, new: str) -> list[Change]:
    """Compare two texts word by word."""
    one, other = (re.findall(r"\s+|\w+|[^\w\s]", text) for text in (old, new))
    changes = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, one, other, False).get_opcodes():
        if kind == "equal":
            changes.append(Change("same", "".join(one[a:b])))
            continue
        if a < b:
            changes.append(Change("removed", "".join(one[a:b])))
        if c < d:
            changes.append(Change("added", "".join(other[c:d])))
    return changes


def reformulate(
    store: CampaignStore, query_id: str, text: str, *classes: str, who: str = "organiser"
) -> None:
    """Store a self-contained wording of a question; its author will be asked to approve it."""
    text = fold(text)
    if not text or len(text) > MAX_LENGTH:
        raise CitebedError(
            f"a query has 1 to {MAX_LENGTH:,} characters; this one has {len(text):,}."
        )
    for name in classes:
        if name not in CLASSES:
            raise UnknownName("class of reformulation", name, CLASSES)
    if not classes:
        raise CitebedError(f"give at least one class for the change: {', '.join(CLASSES)}.")
    with store.writing() as tx:
        question = load_question(tx, query_id)
        if current_wording(tx, question.id).text == text:
            raise CitebedError("the query already has this wording.")
        add_wording(tx, question.id, "reformulated", text, who, classes=list(classes))
