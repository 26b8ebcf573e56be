"""Reformulate research questions into self-contained queries, in four classes (Table 1).

citebed suggests changes and the organiser decides: likely typos, filler phrases, references to
earlier questions, and missing context.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from citebed.collection import Collection
from citebed.errors import CitebedError, UnknownName
from citebed.judging.answers.responses import MAX_LENGTH, Wording, add_wording
from citebed.judging.invitations.questions import current_wording, load_question
from citebed.judging.store.campaign_store import CampaignStore
from citebed.text.normalise import fold

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
    """Return suggested changes of a question, in the order of its text."""
    why = "adds nothing to the topic"
    fillers = (Suggestion("filler", *m.span(), m[0], "", why) for m in _FILLERS.finditer(text))
    every = [*fillers, *_anaphors(text, earlier), *_context(text, earlier)]
    every += _typos(text, known) if known else ()
    return sorted(every, key=lambda each: (each.start, each.kind))


def _typos(text: str, known: Mapping[str, int]) -> Iterable[Suggestion]:
    by_start: dict[str, list[str]] = {}
    for word, times in known.items():
        if times > 1 and len(word) >= _SHORT_WORD:
            by_start.setdefault(word[0], []).append(word)
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if len(word) < _SHORT_WORD or word in known or match[0].isupper():
            continue
        near = difflib.get_close_matches(word, by_start.get(word[0], ()), 3, _MIN_SIMILARITY)
        if near and not any(_is_form_of(word, each) for each in near):
            ratio = {each: difflib.SequenceMatcher(None, word, each).ratio() for each in near}
            best = max(near, key=lambda each: (ratio[each], known[each]))
            replacement = best.capitalize() if match[0][0].isupper() else best
            why = f"no document has this word; '{best}' occurs {known[best]:,} times"
            yield Suggestion("typo", *match.span(), match[0], replacement, why)


def _is_form_of(word: str, other: str) -> bool:
    """Return whether two words differ only in their endings: *filters*, *filter*."""
    shared = min(len(word), len(other)) - 1
    return word[:shared] == other[:shared]


def _anaphors(text: str, earlier: Sequence[str]) -> Iterable[Suggestion]:
    why = "may refer to an earlier question"
    for match in _ANAPHORS.finditer(text) if earlier else ():
        # Only at the beginning is "that" a pronoun; compare "a model that learns".
        if match[0].lower() != "that" or not text[: match.start()].strip():
            yield Suggestion("anaphor", *match.span(), match[0], None, why)


def _context(text: str, earlier: Sequence[str]) -> Iterable[Suggestion]:
    words = _WORD.findall(text)
    if not earlier or len(words) > _SHORT_QUESTION:
        return
    mine = {word.lower() for word in words}
    before = _FILLERS.sub("", earlier[0])
    new = [word for word in _WORD.findall(before) if word.lower() not in mine]
    content = [word for word in new if len(word) > _SHORT_WORD][:4]
    if content:
        replacement = f" - {' '.join(content)}"
        why = "the question is short; these words are from an earlier question"
        yield Suggestion("context", len(text), len(text), "", replacement, why)


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
        wording = Wording("reformulated", text, who, classes)
        add_wording(tx, question.id, wording)
