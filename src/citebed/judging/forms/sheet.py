"""The content of a form and its answers, independent of the format.

A form of phase one asks for research questions and for a grade per question and reference. A form
of phase two asks for each query which documents of a list are relevant. Text, PDF, HTML and web
forms show the same `Sheet` and are parsed to the same `Answers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote

from citebed.judging.settings import (
    BINARY,
    CANNOT_SAY,
    PREFERENCE_CHOICES,
    CampaignSettings,
    Choice,
)
from citebed.text.identifiers import arxiv_in, doi_in


class Entry(NamedTuple):
    """A paper on a form, with its number there."""

    number: int
    title: str
    authors: str = ""
    year: int | None = None
    url: str | None = None

    @property
    def link(self) -> str | None:
        """A link to the paper: its URL, or one made from its DOI or arXiv id."""
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
    """A query of phase two: its number on the form, its wording and the documents to judge.

    ``stated`` is the author's wording of an edited query, which needs approval. ``own`` is false
    for second judges, who cannot change the wording.
    """

    number: int
    text: str
    entries: tuple[Entry, ...]
    stated: str | None = None
    own: bool = True


class Sheet(NamedTuple):
    """The content of a form; ``link`` is the judge's page.

    A form that ``compares`` shows the papers of a query in pairs, only on the web.
    """

    code: str
    phase: int
    campaign: str
    settings: CampaignSettings
    person: str
    paper: str
    link: str
    references: tuple[Entry, ...] = ()
    queries: tuple[ListedQuery, ...] = ()
    simulated: bool = False
    compares: bool = False

    @property
    def list_url(self) -> str:
        """The page with the list of papers."""
        return f"{self.link}/papers"

    @property
    def choices(self) -> list[Choice]:
        """The possible answers, with their keys."""
        return PREFERENCE_CHOICES if self.compares else self.settings.choices(self.phase)

    @property
    def is_second(self) -> bool:
        """Whether the form is for a second judge."""
        return bool(self.queries) and not any(query.own for query in self.queries)

    def texts(self) -> Iterator[str]:
        """Yield the names, titles and questions on the form, the judge's name first."""
        yield from (self.person, self.paper, self.settings.title, self.settings.organiser)
        for query in self.queries:
            yield from (query.text, query.stated or "")
        listed = (*self.references, *(entry for query in self.queries for entry in query.entries))
        for entry in listed:
            yield from (entry.authors, entry.title)

    @property
    def about(self) -> str:
        """The title of the judge's paper; second judges do not learn whose question it is."""
        return "Questions of other authors" if self.is_second else self.paper

    def instructions(self) -> tuple[str, ...]:
        """Return the instructions for the judge, one string per paragraph."""
        task = (
            "You see two papers at a time. Please say which one is more relevant to the question, "
            "that both are equally relevant, or that you can't judge it. Which paper comes first "
            "means nothing."
            if self.compares
            else f"Please mark each paper as {BINARY[1]} or {BINARY[0]} to the question, or say "
            "that you can't judge it."
        )
        if self.is_second:
            return (
                self.about,
                "You are the second judge of this list: the author of a paper wrote the question "
                "below and judges the same papers. Please judge independently, as you understand "
                "the question. We compare both sets of judgements to measure how well two people "
                "agree.",
                f"{task} The wording of the question is its author's and stays as it is.",
            )
        if self.phase == 1:
            return (
                f"Your paper: {self.paper}",
                "Please write down the research question or questions behind this paper. Word "
                "each one so that a reader who does not know the paper understands it. Then rate "
                "for each question how much a reader needs each of your references.",
                f"The grades are 1 to {len(self.settings.grades)}; write u if you {CANNOT_SAY}. "
                "Anything that you leave empty counts as not answered.",
            )
        edited = (
            "We edited some questions slightly so that they can be understood on their own. "
            "Please approve the new wording or write a better one."
        )
        return (
            f"Your paper: {self.paper}",
            "Thank you for your research questions. We searched the collection for papers that "
            f"you did not cite. {task}",
            *((edited,) if any(query.stated is not None for query in self.queries) else ()),
        )


class Rating(NamedTuple):
    """A judgement on a form: the value (``None`` for can't say) and a comment."""

    value: int | None
    comment: str = ""


class ParseProblem(NamedTuple):
    """An unreadable answer, with its line in a text or its page in a PDF."""

    line: int
    what: str


@dataclass
class Answers:
    """The answers on a form.

    ``questions`` are texts by number. ``ratings`` are judgements by the numbers of question (or
    query) and entry. ``approved`` has ``True`` or a better wording by query. ``is_guess``: the
    charset of non-ASCII text was guessed.
    """

    code: str
    questions: dict[int, str] = field(default_factory=dict)
    ratings: dict[tuple[int, int], Rating] = field(default_factory=dict)
    approved: dict[int, bool | str] = field(default_factory=dict)
    opted_out: bool = False
    unread: list[ParseProblem] = field(default_factory=list)
    is_guess: bool = False
