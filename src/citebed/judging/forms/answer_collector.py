"""Collect the answers of a form, and parse the marks and grades that people write.

The parsers of all form formats feed one `AnswerCollector`. It checks numbers and grades against
the form and finds contradictions. It never guesses: answers in doubt are listed as problems.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from citebed.judging.forms.sheet import Answers, Entry, ParseProblem, Rating, Sheet
from citebed.text.normalise import fold

_ONE = r"(?:\d{1,6}\.)?\d{1,6}(?:\s*-\s*(?:\d{1,6}\.)?\d{1,6})?"
_NUMBERS = re.compile(
    r"numbers\s*:\s*(?:grades\s+1\s*-\s*([2-9])\s*;\s*)?(?:references|documents)\s+"
    rf"({_ONE}(?:\s*,\s*{_ONE}){{0,1000}})",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(?:(\d{1,6})\.)?(\d{1,6})(?:\s*-\s*(?:\d{1,6}\.)?(\d{1,6}))?")
_MAX_QUESTIONS = 99
_QUOTE_LENGTH = 160

Key = tuple[int, int]


class Limits(NamedTuple):
    """The valid numbers of a form: its grades, and its papers as ranges (query, first, last).

    References have the query 0, since all questions share them. If the form lost its line of
    numbers, ``ranges`` is empty and the store checks the numbers.
    """

    grades: int = 9
    ranges: tuple[tuple[int, int, int], ...] = ()

    def has(self, query: int, paper: int) -> bool:
        """Return whether a paper is on the form."""
        return not self.ranges or any(
            low <= paper <= high and of in (0, query) for of, low, high in self.ranges
        )


def format_limits(sheet: Sheet) -> str:
    """``Numbers: grades 1-4; references 1-60`` or ``Numbers: documents 1.1-1.15, 2.1-2.9``."""
    if sheet.phase == 1:
        numbers = ", ".join(_format_ranges(sheet.references, ""))
        return f"Numbers: grades 1-{len(sheet.settings.grades)}; references {numbers or 0}"
    numbers = ", ".join(
        part
        for query in sheet.queries
        for part in _format_ranges(query.entries, f"{query.number}.")
    )
    return f"Numbers: documents {numbers or 0}"


def _format_ranges(entries: tuple[Entry, ...], before: str) -> list[str]:
    ends: list[list[int]] = []
    for number in sorted(entry.number for entry in entries):
        if ends and number == ends[-1][1] + 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return [
        f"{before}{low}-{before}{high}" if high > low else f"{before}{low}" for low, high in ends
    ]


def parse_limits(text: str) -> Limits:
    """Parse the line of numbers in a form."""
    match = _NUMBERS.search(text)
    if match is None:
        return Limits()
    ranges = (
        (int(query or 0), int(low), int(high or low))
        for query, low, high in _RANGE.findall(match[2])
    )
    return Limits(int(match[1] or 9), tuple(ranges))


def quote(text: str) -> str:
    """Return a text in quotes, on one line and shortened, for a message."""
    text = fold(text)
    return f"'{text[:_QUOTE_LENGTH]}…'" if len(text) > _QUOTE_LENGTH else f"'{text}'"


class AnswerCollector:
    """Collects the answers of one form; ``line`` is the place of an answer."""

    def __init__(self, code: str, limits: Limits) -> None:
        self.code = code
        self.limits = limits
        self.opted_out = False
        self._questions: dict[int, tuple[int, str]] = {}
        self._graded: set[Key] = set()
        self._ratings: dict[Key, tuple[int, Rating]] = {}
        self._approved: dict[int, tuple[int, bool | str]] = {}
        self._doubtful: set[tuple[str, int, int]] = set()
        self._unread: list[ParseProblem] = []

    def unread(self, line: int, what: str) -> None:
        """Report a problem that concerns no particular item."""
        self._unread.append(ParseProblem(line, what))

    def question(self, number: int, text: str, line: int) -> None:
        """Add the text of a research question."""
        text = fold(text)
        is_none = text.casefold().strip(" .") in ("n/a", "na", "none")
        if is_none or not any(map(str.isalnum, text)):
            return
        if not 1 <= number <= _MAX_QUESTIONS:
            self.unread(line, f"question {number}: {quote(text)}; the numbers are 1 to 99")
            return
        before = self._questions.setdefault(number, (line, text))
        if before[1] != text:
            self._doubtful.add(("question", number, 0))
            self.unread(line, f"question {number} is {quote(text)} here, but {quote(before[1])} "
                        f"at {before[0]}")  # fmt: skip

    def grade(self, question: int, paper: int, grade: int | None, line: int) -> None:
        """Add a grade for a reference; ``None`` for can't say."""
        where = f"Q{question} of [{paper}]"
        if grade is not None and not 1 <= grade <= self.limits.grades:
            what = f"{where}: {grade} is not a grade; use 1 to {self.limits.grades}"
            self.doubt(question, paper, line, what)
            return
        if not 1 <= question <= _MAX_QUESTIONS:
            self.doubt(question, paper, line, f"{where}: the form has no such question")
            return
        self._graded.add((question, paper))
        self._rate(question, paper, Rating(grade), line, where)

    def verdict(self, query: int, paper: int, value: int | None, comment: str, line: int) -> None:
        """Add a judgement of a document; ``None`` for can't judge."""
        rating = Rating(value, fold(comment))
        self._rate(query, paper, rating, line, f"document [{query}.{paper}]")

    def _rate(self, query: int, paper: int, rating: Rating, line: int, where: str) -> None:
        key = (query, paper)
        if not self.limits.has(query, paper):
            self.doubt(*key, line, f"{where}: this number is not on the form")
            return
        at, before = self._ratings.setdefault(key, (line, rating))
        if before.value != rating.value:
            values = (rating.value, before.value)
            names = ["can't say" if value is None else str(value) for value in values]
            self.doubt(*key, line, f"{where} is {names[0]} here, but {names[1]} at {at}")
        elif rating.comment not in ("", before.comment):
            comment = f"{before.comment} / {rating.comment}".removeprefix(" / ")
            self._ratings[key] = (at, Rating(before.value, comment))

    def doubt(self, query: int, paper: int, line: int = 0, what: str = "") -> None:
        """Drop an item because one of its marks is unreadable, whatever other marks it has."""
        self._doubtful.add(("rating", query, paper))
        if what:
            self.unread(line, what)

    def approve(self, query: int, approved: bool | str, line: int) -> None:
        """Add the author's decision on a reformulated query: ``True`` or a better wording."""
        before = self._approved.setdefault(query, (line, approved))
        if before[1] != approved:
            if True in (before[1], approved):
                what = "is approved, but also has a better wording"
            else:
                what = (
                    f"has two better wordings: {quote(str(before[1]))} and {quote(str(approved))}"
                )
            self.doubt_approval(query, line, what)

    def doubt_approval(self, query: int, line: int, what: str) -> None:
        """Drop the decision on a query's wording because it is unreadable."""
        self._doubtful.add(("approved", query, 0))
        self.unread(line, f"query {query} {what}")

    def answers(self) -> Answers:
        """Return the clear answers and the problems; grades of unstated questions are problems."""
        answers = Answers(self.code, opted_out=self.opted_out)
        for number, (_, text) in sorted(self._questions.items()):
            if ("question", number, 0) not in self._doubtful:
                answers.questions[number] = text
        for (query, paper), (_, rating) in sorted(self._ratings.items()):
            if ("rating", query, paper) not in self._doubtful:
                answers.ratings[query, paper] = rating
        for query, (_, approved) in sorted(self._approved.items()):
            if ("approved", query, 0) not in self._doubtful:
                answers.approved[query] = approved
        answers.unread = sorted([*self._unread, *self._without_text(answers)], key=lambda u: u.line)
        return answers

    def _without_text(self, answers: Answers) -> Iterator[ParseProblem]:
        """Remove grades of questions without text, and yield a problem for each."""
        graded = self._graded & answers.ratings.keys()
        for question in sorted({each for each, _ in graded} - answers.questions.keys()):
            papers = sorted(paper for each, paper in graded if each == question)
            for paper in papers:
                del answers.ratings[question, paper]
            numbers = ", ".join(f"[{paper}]" for paper in papers[:10])
            more = f" and {len(papers) - 10} more" if len(papers) > 10 else ""
            line = min(self._ratings[question, paper][0] for paper in papers)
            what = (
                f"Q{question} has grades for {numbers}{more}, but question {question} has no text"
            )
            yield ParseProblem(line, what)


class CheckboxState(Enum):
    """The state of a checkbox or of a mark after a label, or a field without a grade."""

    EMPTY = "empty"
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


# The last two of the first row look like x: a sign, and a letter of Russian keyboards.
_YES = frozenset(("x", "xx", "xxx", "×", "х", "✓", "✔", "✅", "☑", "√", "yes", "y"))
_NO = frozenset(("no", "n"))
_CANNOT = frozenset(
    ("u", "?", "??", "???", "can't say", "cant say", "cannot say", "can not say", "don't know",
     "dont know", "can't judge", "cannot judge", "n/a", "na", "n.a")
)  # fmt: skip
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_FILLING = " \t\n_.,;…'\""
_BRACKETS = "[](){}"
_BLANKS = re.compile(r"\s+")


def tidy(text: str) -> str:
    """Return a mark in lower case, without surrounding brackets, dots and spaces."""
    stripped = text.strip(_FILLING + _BRACKETS)
    return _BLANKS.sub(" ", stripped).casefold().removesuffix("\ufe0f")


def parse_checkbox(text: str) -> CheckboxState:
    """Parse a checkbox. Crosses (✗) may mean yes or no, so they are unknown."""
    mark = tidy(text)
    if not mark:
        return CheckboxState.EMPTY
    if mark in _YES:
        return CheckboxState.YES
    return CheckboxState.NO if mark in _NO else CheckboxState.UNKNOWN


def parse_grade(text: str) -> int | CheckboxState | None:
    """Parse a grade, which may be outside the scale; ``None`` means can't say.

    Return EMPTY for an empty field and UNKNOWN for anything else.
    """
    grade = tidy(text)
    if not grade:
        return CheckboxState.EMPTY
    if grade.isascii() and grade.isdigit() and len(grade) < 7:
        return int(grade)
    if grade in _WORDS:
        return _WORDS.index(grade) + 1
    return None if grade in _CANNOT else CheckboxState.UNKNOWN


def combine_checkboxes(
    relevant: CheckboxState, not_relevant: CheckboxState, cannot: CheckboxState
) -> int | CheckboxState | None:
    """Return the judgement of three checkboxes: 1, 0, or ``None`` for can't judge.

    Return EMPTY if no box is marked and UNKNOWN if they contradict each other. ``relevant: no``
    means not relevant; ``not relevant: no`` alone is ambiguous.
    """
    marks = (relevant, not_relevant, cannot)
    yes = [mark is CheckboxState.YES for mark in marks]
    no = [mark is CheckboxState.NO for mark in marks]
    if CheckboxState.UNKNOWN in marks or sum(yes) > 1:
        return CheckboxState.UNKNOWN
    if yes[0]:
        return 1
    if yes[1] or (no[0] and not no[1] and not yes[2]):
        return 0
    if no[0] != no[1] or (no[0] and not yes[2]):
        return CheckboxState.UNKNOWN
    return None if yes[2] else CheckboxState.EMPTY
