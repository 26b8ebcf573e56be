"""A judge's own list as a page shows it: what is asked, and what was answered so far.

Of a document it has what a reader needs to judge it, and nothing of how it was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, select

from citebed.collection import Collection
from citebed.errors import CollectionError, UnknownName
from citebed.judging.asking.assigning import items_of, sheet_of
from citebed.judging.asking.links import FormRow
from citebed.judging.asking.questions import last_approval, wording_of
from citebed.judging.forms.sheet import Entry, ListedQuery, Sheet
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.schema import (
    CURRENT,
    items,
    judgements,
    questions,
    references,
    wordings,
)
from citebed.retrieval.analysis import ANALYSERS, Analyser, analyser_of, is_telling
from citebed.retrieval.analysis.words import word_spans
from citebed.retrieval.index.layout import FOLDER, read_description

Abstracts = Callable[[str], str]
"""The abstract of a document by its id, empty where there is none."""
_MOST_WORDS = 100_000


class ListedItem(NamedTuple):
    """A paper to judge; ``item`` is 0 before its question is stated."""

    item: int
    entry: Entry
    abstract: str
    judged: bool = False
    value: int | None = None
    comment: str = ""


class ListedQuestion(NamedTuple):
    """A question with its papers.

    ``stated`` is what the author wrote, where it was changed; ``approved`` what they said of the
    change, if anything; ``correction`` the wording that they gave instead. Nobody words a question
    that is not their ``own``.
    """

    number: int
    text: str
    papers: tuple[ListedItem, ...]
    stated: str | None = None
    approved: bool | None = None
    correction: str = ""
    own: bool = True


class JudgeList(NamedTuple):
    """All of a judge's page; ``blank`` are the papers for one more question of phase one."""

    sheet: Sheet
    questions: tuple[ListedQuestion, ...]
    blank: tuple[ListedItem, ...] = ()


def judge_list(
    store: CampaignStore, connection: Connection, form: FormRow, abstract: Abstracts
) -> JudgeList:
    """What a form asks, with the judge's last word on each paper."""
    sheet = sheet_of(store, connection, form)
    listing = _Listing(connection, form, abstract)
    if form.phase == 2:
        asked = zip(sheet.queries, form.content["asked"], strict=True)
        queries = tuple(listing.worded(query, stored) for query, stored in asked)
        return JudgeList(sheet, queries)
    blank = tuple(
        ListedItem(0, entry, listing.abstract(("reference", entry.number)))
        for entry in sheet.references
    )
    return JudgeList(sheet, tuple(listing.stated(sheet)), blank)


class _Listing:
    """What is needed for every question of a form."""

    def __init__(self, connection: Connection, form: FormRow, abstract: Abstracts) -> None:
        self._connection, self._form, self._abstract = connection, form, abstract
        self._items = items_of(connection, form)
        self._said = judgements_of(connection, form, list(self._items.values()))
        self._documents = dict(self._doc_ids())

    def _doc_ids(self) -> Iterator[tuple[tuple[str, int], str | None]]:
        mine = references.c.paper_id == self._form.paper_id
        for number, doc_id in self._connection.execute(
            select(references.c.number, references.c.doc_id).where(mine)
        ):
            yield ("reference", number), doc_id
        wanted = items.c.id.in_(list(self._items.values()))
        for item, doc_id in self._connection.execute(
            select(items.c.id, items.c.doc_id).where(wanted)
        ):
            yield ("item", item), doc_id

    def abstract(self, key: tuple[str, int]) -> str:
        """The abstract of a paper on the form, if the collection has one."""
        doc_id = self._documents.get(key)
        return self._abstract(doc_id) if doc_id else ""

    def _paper(self, question: int, entry: Entry) -> ListedItem:
        item = self._items[question, entry.number]
        judgement = self._said.get(item)
        rating = (True, judgement.value, judgement.comment) if judgement is not None else ()
        return ListedItem(item, entry, self.abstract(("item", item)), *rating)

    def stated(self, sheet: Sheet) -> Iterator[ListedQuestion]:
        """The questions of phase one so far."""
        mine = questions.c.form_id == self._form.id
        rows = self._connection.execute(select(questions).where(mine).order_by(questions.c.number))
        for row in rows.all():
            text = wording_of(self._connection, row.id, "stated").text
            listed = [e for e in sheet.references if (row.number, e.number) in self._items]
            papers = tuple(self._paper(row.number, entry) for entry in listed)
            yield ListedQuestion(row.number, text, papers)

    def worded(self, query: ListedQuery, stored: dict[str, Any]) -> ListedQuestion:
        """A query of phase two, for its author with what they said of the wording."""
        papers = tuple(self._paper(query.number, entry) for entry in query.entries)
        if not query.own:
            return ListedQuestion(query.number, query.text, papers, own=False)
        approval = last_approval(self._connection, stored["wording"], self._form.person_id)
        corrected = select(wordings.c.text).where(
            wordings.c.question_id == stored["question"],
            wordings.c.kind == "corrected",
            wordings.c.id > stored["wording"],
        )
        last = corrected.order_by(wordings.c.id.desc()).limit(1)
        return ListedQuestion(
            query.number,
            query.text,
            papers,
            query.stated,
            approval.approved if approval is not None else None,
            self._connection.scalar(last) or "",
        )


def judgements_of(connection: Connection, form: FormRow, wanted: list[int]) -> dict[int, Row[Any]]:
    """The last word of a form's judge on items."""
    mine = (judgements.c.person_id == form.person_id) & judgements.c.item_id.in_(wanted)
    rows = connection.execute(select(judgements).where(mine, CURRENT))
    return {row.item_id: row for row in rows}


def abstracts_of(collection: Collection) -> Abstracts:
    """Look abstracts up, one at a time."""
    table = collection.documents
    rows = {doc_id: row for row, doc_id in enumerate(table["doc_id"])}
    column = table["abstract"]

    def look_up(doc_id: str) -> str:
        row = rows.get(doc_id)
        return "" if row is None else column[row] or ""

    return look_up


class QueryWords:
    """The words of a query in a text, for judges to see at a glance.

    They are found by their terms, so that "ranked" is found for "ranking".
    """

    def __init__(self, analyser: Analyser) -> None:
        self._term = lru_cache(_MOST_WORDS)(analyser.term)
        self._terms = lru_cache(1000)(self._terms_of)

    def _terms_of(self, query: str) -> frozenset[str]:
        terms = (self._term(word) for word, _, _ in word_spans(query))
        return frozenset(term for term in terms if term is not None and is_telling(term))

    def marked(self, text: str, query: str) -> list[tuple[str, bool]]:
        """A text in pieces, and whether each is a word of the query."""
        wanted = self._terms(query)
        pieces, at = [], 0
        for word, start, end in word_spans(text) if wanted else ():
            if self._term(word) in wanted:
                pieces += [(text[at:start], False), (text[start:end], True)]
                at = end
        return [(piece, is_word) for piece, is_word in (*pieces, (text[at:], False)) if piece]


def query_words(collection: Collection) -> QueryWords:
    """As the collection's index takes words; where it has none that can be read, as English.

    Nothing but what is marked depends on it, and no judge is sent away for it.
    """
    try:
        return QueryWords(analyser_of(read_description(collection.folder / FOLDER).analyser))
    except (CollectionError, UnknownName):
        return QueryWords(ANALYSERS["english"])
