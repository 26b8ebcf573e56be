"""A judge's list for the web page: the papers to judge and the answers so far.

It shows what a judge needs to know of a document, and nothing of how the document was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sqlalchemy import select

from citebed.collection import Collection
from citebed.judging.forms.sheet import Entry, ListedQuery, Sheet
from citebed.judging.invitations.assignments import form_items, load_sheet
from citebed.judging.invitations.links import FormRow
from citebed.judging.invitations.questions import current_wording, last_approval, wording_history
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import CURRENT, items, judgements, questions, references

AbstractLookup = Callable[[str], str]
"""A function from a document's id to its abstract, or ""."""


class ListedItem(NamedTuple):
    """A paper to judge; ``item`` is 0 until its question is stated."""

    item: int
    entry: Entry
    abstract: str
    judged: bool = False
    value: int | None = None
    comment: str = ""


class ListedQuestion(NamedTuple):
    """A question with its papers.

    ``stated`` is the author's wording of an edited question, ``approved`` their decision about the
    edit, if any, and ``correction`` their better wording. Judges can reword only their ``own``
    questions.
    """

    number: int
    text: str
    papers: tuple[ListedItem, ...]
    stated: str | None = None
    approved: bool | None = None
    correction: str = ""
    own: bool = True


class JudgeList(NamedTuple):
    """The content of a judge's page; ``blank`` are the papers for a new question of phase one."""

    sheet: Sheet
    questions: tuple[ListedQuestion, ...]
    blank: tuple[ListedItem, ...] = ()


def load_judge_list(tx: Transaction, form: FormRow, abstract: AbstractLookup) -> JudgeList:
    """Load a form with the judge's current judgement of each paper."""
    sheet = load_sheet(tx, form)
    listing = _Listing(tx, form, abstract)
    if form.phase == 2:
        pairs = zip(sheet.queries, form.content["asked"], strict=True)
        return JudgeList(sheet, tuple(listing.worded(query, stored) for query, stored in pairs))
    cited = select(references.c.number, references.c.doc_id)
    rows = tx.execute(cited.where(references.c.paper_id == form.paper_id))
    doc_ids = {row.number: row.doc_id for row in rows}
    blank = (ListedItem(0, each, abstract(doc_ids[each.number] or "")) for each in sheet.references)
    return JudgeList(sheet, tuple(listing.stated(sheet)), tuple(blank))


class _Listing:
    """Builds the questions of a form from data that is loaded once."""

    def __init__(self, tx: Transaction, form: FormRow, abstract: AbstractLookup) -> None:
        self._tx, self._form, self._abstract = tx, form, abstract
        self._items = form_items(tx, form)
        wanted = list(self._items.values())
        mine = (judgements.c.person_id == form.person_id) & judgements.c.item_id.in_(wanted)
        rows = tx.execute(select(judgements).where(mine, CURRENT))
        self._judged = {row.item_id: row for row in rows}
        rows = tx.execute(select(items.c.id, items.c.doc_id).where(items.c.id.in_(wanted)))
        self._doc_ids = {row.id: row.doc_id for row in rows}

    def _paper(self, question: int, entry: Entry) -> ListedItem:
        item = self._items[question, entry.number]
        judgement = self._judged.get(item)
        rating = (True, judgement.value, judgement.comment) if judgement is not None else ()
        return ListedItem(item, entry, self._abstract(self._doc_ids[item] or ""), *rating)

    def stated(self, sheet: Sheet) -> Iterator[ListedQuestion]:
        """Yield the questions of phase one that were stated so far."""
        mine = questions.c.form_id == self._form.id
        rows = self._tx.execute(select(questions).where(mine).order_by(questions.c.number))
        for row in rows.all():
            text = current_wording(self._tx, row.id, "stated").text
            listed = [e for e in sheet.references if (row.number, e.number) in self._items]
            papers = tuple(self._paper(row.number, entry) for entry in listed)
            yield ListedQuestion(row.number, text, papers)

    def worded(self, query: ListedQuery, stored: dict[str, Any]) -> ListedQuestion:
        """Return a query of phase two; for its author with the approval of its wording."""
        papers = tuple(self._paper(query.number, entry) for entry in query.entries)
        if not query.own:
            return ListedQuestion(query.number, query.text, papers, own=False)
        approval = last_approval(self._tx, stored["wording"], self._form.person_id)
        said = approval.approved if approval is not None else None
        later = [
            each.text
            for each in wording_history(self._tx, stored["question"])
            if each.kind == "corrected" and each.id > stored["wording"]
        ]
        correction = later[-1] if later else ""
        return ListedQuestion(query.number, query.text, papers, query.stated, said, correction)


def make_abstract_lookup(collection: Collection) -> AbstractLookup:
    """Return a function that looks up abstracts."""
    table = collection.documents
    rows = {doc_id: row for row, doc_id in enumerate(table["doc_id"])}
    column = table["abstract"]

    def look_up(doc_id: str) -> str:
        row = rows.get(doc_id)
        return "" if row is None else column[row] or ""

    return look_up
