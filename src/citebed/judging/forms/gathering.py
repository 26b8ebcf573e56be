"""What a reader of forms finds, put together: never guessed, never lost.

All forms are read into one `Gathering`. It checks numbers and grades against what the form asks,
finds contradictions, and leaves out of the answers whatever is in doubt, which it lists instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from citebed.judging.forms.sheet import Answers, Entry, Said, Sheet, Unread
from citebed.text.normalise import fold

_ONE = r"(?:\d{1,6}\.)?\d{1,6}(?:\s*-\s*(?:\d{1,6}\.)?\d{1,6})?"
_NUMBERS = re.compile(
    r"numbers\s*:\s*(?:grades\s+1\s*-\s*([2-9])\s*;\s*)?(?:references|documents)\s+"
    rf"({_ONE}(?:\s*,\s*{_ONE}){{0,1000}})",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(?:(\d{1,6})\.)?(\d{1,6})(?:\s*-\s*(?:\d{1,6}\.)?(\d{1,6}))?")
_QUESTIONS = 99
_SHOWN = 160

Key = tuple[int, int]


class Limits(NamedTuple):
    """The numbers of a form: its grades, and its papers as ranges (query, first, last).

    References have the query 0, since they are the same for all questions. A form that does not
    say its numbers any more has no ranges, and the store decides.
    """

    grades: int = 9
    ranges: tuple[tuple[int, int, int], ...] = ()

    def has(self, query: int, paper: int) -> bool:
        """Whether that paper is on the form."""
        return not self.ranges or any(
            low <= paper <= high and of in (0, query) for of, low, high in self.ranges
        )


def limits_text(sheet: Sheet) -> str:
    """``Numbers: grades 1-4; references 1-60`` or ``Numbers: documents 1.1-1.15, 2.1-2.9``."""
    if sheet.phase == 1:
        found = ", ".join(_ranges(sheet.references, ""))
        return f"Numbers: grades 1-{len(sheet.grades)}; references {found or 0}"
    found = ", ".join(
        part for asked in sheet.asked for part in _ranges(asked.entries, f"{asked.number}.")
    )
    return f"Numbers: documents {found or 0}"


def _ranges(entries: tuple[Entry, ...], before: str) -> list[str]:
    ends: list[list[int]] = []
    for number in sorted(entry.number for entry in entries):
        if ends and number == ends[-1][1] + 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return [
        f"{before}{low}-{before}{high}" if high > low else f"{before}{low}" for low, high in ends
    ]


def limits_in(text: str) -> Limits:
    """The numbers that a form says it has."""
    found = _NUMBERS.search(text)
    if found is None:
        return Limits()
    ranges = (
        (int(query or 0), int(low), int(high or low))
        for query, low, high in _RANGE.findall(found[2])
    )
    return Limits(int(found[1] or 9), tuple(ranges))


def quoted(text: str) -> str:
    """What somebody wrote, on one line and not too long, as a message shows it."""
    text = fold(text)
    return f"'{text[:_SHOWN]}…'" if len(text) > _SHOWN else f"'{text}'"


def question_text(text: str) -> str:
    """A question as it is kept; what says that there is none is none."""
    text = fold(text)
    is_none = text.casefold().strip(" .") in ("n/a", "na", "none")
    return "" if is_none or not any(map(str.isalnum, text)) else text


class Gathering:
    """Finds of one form; ``line`` is where each was found."""

    def __init__(self, code: str, limits: Limits) -> None:
        self.code = code
        self.limits = limits
        self.opted_out = False
        self._questions: dict[int, tuple[int, str]] = {}
        self._graded: set[Key] = set()
        self._said: dict[Key, tuple[int, Said]] = {}
        self._approved: dict[int, tuple[int, bool | str]] = {}
        self._doubtful: set[tuple[str, int, int]] = set()
        self._unread: list[Unread] = []

    def unread(self, line: int, what: str) -> None:
        """Something that cannot be read and belongs to nothing that was asked."""
        self._unread.append(Unread(line, what))

    def question(self, number: int, text: str, line: int) -> None:
        """The text of a research question."""
        if not (text := question_text(text)):
            return
        if not 1 <= number <= _QUESTIONS:
            self.unread(line, f"question {number}: {quoted(text)}; the numbers are 1 to 99")
            return
        before = self._questions.setdefault(number, (line, text))
        if before[1] != text:
            self._doubtful.add(("question", number, 0))
            self.unread(line, f"question {number} is {quoted(text)} here, but {quoted(before[1])} "
                        f"at {before[0]}")  # fmt: skip

    def grade(self, question: int, paper: int, grade: int | None, line: int) -> None:
        """A grade for a reference; ``None`` for can't say."""
        where = f"Q{question} of [{paper}]"
        if grade is not None and not 1 <= grade <= self.limits.grades:
            what = f"{where}: {grade} is no grade; they are 1 to {self.limits.grades}"
            self.doubt(question, paper, line, what)
            return
        if not 1 <= question <= _QUESTIONS:
            self.doubt(question, paper, line, f"{where}: there is no such question")
            return
        self._graded.add((question, paper))
        self._say(question, paper, Said(grade), line, where)

    def verdict(self, query: int, paper: int, value: int | None, comment: str, line: int) -> None:
        """Whether a document is relevant; ``None`` for can't judge."""
        said = Said(value, fold(comment))
        self._say(query, paper, said, line, f"document [{query}.{paper}]")

    def _say(self, query: int, paper: int, said: Said, line: int, where: str) -> None:
        key = (query, paper)
        if not self.limits.has(query, paper):
            self.doubt(*key, line, f"{where}: there is no such number on this form")
            return
        at, before = self._said.setdefault(key, (line, said))
        if before.value != said.value:
            names = [_named(each.value) for each in (said, before)]
            self.doubt(*key, line, f"{where} is {names[0]} here, but {names[1]} at {at}")
        elif said.comment not in ("", before.comment):
            comment = f"{before.comment} / {said.comment}".removeprefix(" / ")
            self._said[key] = (at, Said(before.value, comment))

    def doubt(self, query: int, paper: int, line: int = 0, what: str = "") -> None:
        """A mark that cannot be read: its item is not answered, whatever else is found of it."""
        self._doubtful.add(("said", query, paper))
        if what:
            self.unread(line, what)

    def approve(self, query: int, approved: bool | str, line: int) -> None:
        """The author's word on a reformulated query: ``True``, or a better wording."""
        before = self._approved.setdefault(query, (line, approved))
        if before[1] != approved:
            self.doubt_approval(
                query, line, "is approved, and worded anew too" if True in (before[1], approved)
                else "has two better wordings: " + " and ".join(
                    quoted(str(each)) for each in (before[1], approved)),
            )  # fmt: skip

    def doubt_approval(self, query: int, line: int, what: str) -> None:
        """What is said of a query's wording cannot be read."""
        self._doubtful.add(("approved", query, 0))
        self.unread(line, f"query {query} {what}")

    def answers(self) -> Answers:
        """All that is beyond doubt, and what is not; a grade needs a question that has a text."""
        found = Answers(self.code, opted_out=self.opted_out)
        for number, (_, text) in sorted(self._questions.items()):
            if ("question", number, 0) not in self._doubtful:
                found.questions[number] = text
        for (query, paper), (_, said) in sorted(self._said.items()):
            if ("said", query, paper) not in self._doubtful:
                found.said[query, paper] = said
        for query, (_, approved) in sorted(self._approved.items()):
            if ("approved", query, 0) not in self._doubtful:
                found.approved[query] = approved
        found.unread = sorted([*self._unread, *self._without_text(found)], key=lambda u: u.line)
        return found

    def _without_text(self, found: Answers) -> Iterator[Unread]:
        """Take out grades for questions that have no text."""
        graded = self._graded & found.said.keys()
        for question in sorted({each for each, _ in graded} - found.questions.keys()):
            papers = sorted(paper for each, paper in graded if each == question)
            for paper in papers:
                del found.said[question, paper]
            numbers = ", ".join(f"[{paper}]" for paper in papers[:10])
            more = f" and {len(papers) - 10} more" if len(papers) > 10 else ""
            line = min(self._said[question, paper][0] for paper in papers)
            what = f"Q{question} has grades for {numbers}{more}, but question {question} no text"
            yield Unread(line, what)


def _named(value: int | None) -> str:
    return "can't say" if value is None else str(value)
