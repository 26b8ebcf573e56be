"""What a form asks, and what it was answered, whatever it is written on.

A sheet of phase one asks for research questions and for a grade per question and reference; one
of phase two shows a list of documents per query and asks whether each is relevant. Text, PDF,
HTML and the web show the same sheet, and what comes back of any of them is the same `Answers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote

from citebed.judging.settings import BINARY, CANNOT_SAY, Choice, answer_choices
from citebed.text.identifiers import arxiv_in, doi_in


class Entry(NamedTuple):
    """A paper on the sheet, by the number that stands before it there."""

    number: int
    title: str
    authors: str = ""
    year: int | None = None
    url: str | None = None

    @property
    def link(self) -> str | None:
        """Where it can be read: its address, or the one that its DOI or arXiv id gives it."""
        if self.url and re.match("(https?|ftp)://", self.url, re.IGNORECASE):
            return self.url
        named = f"{self.url or ''} {self.title}"
        if doi := doi_in(named):
            return f"https://doi.org/{quote(doi, safe='/:;().')}"
        arxiv = arxiv_in(named)
        return f"https://arxiv.org/abs/{arxiv}" if arxiv else None

    def line(self) -> str:
        """``Salton, Wong, Yang (1975). A vector space model.``"""
        year = f" ({self.year})" if self.year else ""
        who = f"{self.authors}{year}" if self.authors else year.strip()
        return f"{who}. {self.title}" if who else self.title


class ListedQuery(NamedTuple):
    """A query of phase two: its number on the sheet, its wording, and the documents to judge.

    ``stated`` is what its author wrote, where the organisers changed it and ask for approval. A
    second judge is asked about a query that is not their ``own``, and has no say in its wording.
    """

    number: int
    text: str
    entries: tuple[Entry, ...]
    stated: str | None = None
    own: bool = True


class Sheet(NamedTuple):
    """All that a form says; ``link`` is the judge's own page, ``list_url`` shows the papers."""

    code: str
    phase: int
    campaign: str
    title: str
    person: str
    paper: str
    grades: tuple[str, ...]
    organiser: str
    contact: str
    link: str
    list_url: str
    references: tuple[Entry, ...] = ()
    questions: int = 3
    queries: tuple[ListedQuery, ...] = ()
    simulated: bool = False
    relevant_from: int = 2

    @property
    def choices(self) -> list[Choice]:
        """The answers that the judge chooses from, with their keys."""
        return answer_choices(self.phase, self.grades, self.relevant_from)

    @property
    def is_second(self) -> bool:
        """Whether it is for somebody who judges what another person asked."""
        return bool(self.queries) and not any(query.own for query in self.queries)

    def texts(self) -> Iterator[str]:
        """Yield what the form says in words of other people, the judge's name first."""
        yield from (self.person, self.paper, self.title, self.organiser)
        for query in self.queries:
            yield from (query.text, query.stated or "")
        listed = (*self.references, *(entry for query in self.queries for entry in query.entries))
        for entry in listed:
            yield from (entry.authors, entry.title)

    @property
    def about(self) -> str:
        """What it is about in a few words: the judge's paper; a second judge is not told whose."""
        return "Questions of other authors" if self.is_second else self.paper

    def instructions(self) -> tuple[str, ...]:
        """What the judge is asked to do, a paragraph each."""
        if self.is_second:
            return _second_judge(self)
        return _phase_one(self) if self.phase == 1 else _phase_two(self)


def _phase_one(sheet: Sheet) -> tuple[str, ...]:
    return (
        f"Your paper: {sheet.paper}",
        "Please write down the research question or questions behind this paper. Word each one so "
        "that a reader who does not know the paper understands it. Then rate for each question "
        "how much a reader needs each of your references.",
        f"The grades are 1 to {len(sheet.grades)}; write u if you {CANNOT_SAY}. Anything that you "
        "leave empty counts as not answered.",
    )


def _phase_two(sheet: Sheet) -> tuple[str, ...]:
    edited = (
        "We edited some questions slightly so that they can be understood on their own. Please "
        "approve the new wording or write a better one."
    )
    return (
        f"Your paper: {sheet.paper}",
        "Thank you for your research questions. We searched the collection for papers that you "
        f"did not cite. Please mark each of them as {BINARY[1]} or {BINARY[0]} to the question, "
        "or say that you can't judge it.",
        *((edited,) if any(query.stated is not None for query in sheet.queries) else ()),
    )


def _second_judge(sheet: Sheet) -> tuple[str, ...]:
    return (
        sheet.about,
        "You are the second judge of this list: the author of a paper wrote the question below and "
        "judges the same papers. Please judge independently, as you understand the question. We "
        "compare both sets of judgements to measure how well two people agree.",
        f"Please mark each paper as {BINARY[1]} or {BINARY[0]} to the question, or say that you "
        "can't judge it. The wording of the question is its author's and stays as it is.",
    )


class Rating(NamedTuple):
    """A judgement in a form: the value (``None`` for can't say), and a comment."""

    value: int | None
    comment: str = ""


class ParseProblem(NamedTuple):
    """What could not be read, with the line (of the text, or the page of a PDF)."""

    line: int
    what: str


@dataclass
class Answers:
    """What a form was answered with.

    ``questions`` are the texts by number. ``ratings`` has a judgement by the number of the question
    or query, and the number of the entry. ``approved`` has by query ``True``, or a new wording.
    ``is_guess`` says that texts beyond ASCII were read in a charset that had to be guessed.
    """

    code: str
    questions: dict[int, str] = field(default_factory=dict)
    ratings: dict[tuple[int, int], Rating] = field(default_factory=dict)
    approved: dict[int, bool | str] = field(default_factory=dict)
    opted_out: bool = False
    unread: list[ParseProblem] = field(default_factory=list)
    is_guess: bool = False
