"""The form as a PDF with fields, which any reader of PDFs can fill.

Fields are named by what they ask: ``question.2``, ``grade.2.17`` (question 2, reference 17),
``relevant.1.3`` (query 1, document 3), ``not.1.3``, ``cannot.1.3``, ``comment.1.3``,
``approve.1``, ``better.1``, ``opt_out``; ``form`` and ``numbers`` are hidden.
"""

from __future__ import annotations

from citebed.judging.forms.gathering import limits_text
from citebed.judging.forms.pdf_pages import LEFT, QUIET, RIGHT, Pages, width_of, wrapped
from citebed.judging.forms.pdf_reading import is_this_form, read
from citebed.judging.forms.sheet import Entry, ListedQuery, Sheet
from citebed.judging.forms.text_form import OPT_OUT, shown_link

__all__ = ["is_this_form", "read", "write"]

_INDENT = LEFT + 42
_END = 60
"""Points that the end of the form takes: the last paper is kept on a page with it."""
_A_ROW = 7
_CHOICES = (("relevant", "relevant"), ("not", "not relevant"), ("cannot", "can't judge"))


def write(sheet: Sheet) -> bytes:
    """The form as a file."""
    pages = Pages(sheet.title, f"Form: {sheet.code} · {sheet.title}")
    pages.hidden("form", sheet.code)
    pages.hidden("numbers", limits_text(sheet))
    _top(pages, sheet)
    if sheet.phase == 1:
        _phase_one(pages, sheet)
    else:
        for query in sheet.queries:
            _query(pages, query, query is sheet.queries[-1])
    pages.room(_END)
    pages.rule()
    pages.y -= 16
    pages.box("opt_out", OPT_OUT, LEFT, pages.y)
    pages.draw(wrapped(OPT_OUT, 9, 400)[0], LEFT + 18, pages.y + 2)
    pages.y -= 8
    pages.write(wrapped(f"Form: {sheet.code}", 9, RIGHT - LEFT, "Bold"))
    return pages.content()


def _top(pages: Pages, sheet: Sheet) -> None:
    width = RIGHT - LEFT
    pages.write(wrapped(sheet.title, 15, width, "Bold"))
    if sheet.simulated:
        pages.write(wrapped("SIMULATED: nobody is asked, and nobody answers.", 10, width, "Bold"))
    pages.y -= 4
    pages.write(wrapped(f"For {sheet.person}", 10, width))
    pages.write(wrapped(f"Form: {sheet.code}", 9, width), colour=QUIET)
    for paragraph in sheet.instructions():
        pages.y -= 5
        pages.write(wrapped(paragraph, 10, width))
    if sheet.phase == 1:
        pages.y -= 4
        for grade, meaning in [*enumerate(sheet.grades, 1), ("?", "can't say")]:
            lines = wrapped(meaning, 9.5, width - 30)
            pages.room(len(lines) * 13)
            pages.write(wrapped(str(grade), 9.5, 20, "Bold"), LEFT + 10)
            pages.y += 9.5 * 1.35
            pages.write(lines, LEFT + 28)
    pages.y -= 6
    pages.write(wrapped("Fill in the fields, save the file and send it back. Everything can also "
                        "be answered on your own page:", 10, width))  # fmt: skip
    _link(pages, sheet.link, LEFT)
    pages.y -= 4
    pages.write(wrapped("The papers, each with a link:", 10, width))
    _link(pages, sheet.list_url, LEFT)
    if who := ", ".join(filter(None, (sheet.organiser, sheet.contact))):
        pages.y -= 4
        pages.write(wrapped(f"Anything unclear? Write to {who}.", 10, width))


def _link(pages: Pages, url: str | None, x: float) -> None:
    if url and (link := shown_link(url)):
        pages.link(link, x)


def _heading(pages: Pages, text: str, room: float) -> None:
    pages.room(room)
    pages.y -= 8
    pages.rule()
    pages.write(wrapped(text, 12, RIGHT - LEFT, "Bold"))
    pages.y -= 2


def _phase_one(pages: Pages, sheet: Sheet) -> None:
    _heading(pages, "Research questions", 120)
    for number in range(1, sheet.questions + 1):
        pages.room(72)
        pages.write(wrapped(f"Question {number} (Q{number})", 9.5, 300))
        pages.y -= 50
        box = (LEFT, pages.y, RIGHT - LEFT, 48)
        pages.field(
            f"question.{number}", f"Research question {number}", box, fieldFlags="multiline"
        )
        pages.y -= 6
    _heading(pages, "References", 120)
    for entry in sheet.references:
        _graded(pages, sheet, entry)


def _graded(pages: Pages, sheet: Sheet, entry: Entry) -> None:
    """A reference with a field per question, so many to a row."""
    end = _END if entry is sheet.references[-1] else 0
    rows = -(-sheet.questions // _A_ROW)
    top = _entry(pages, entry, str(entry.number), 4 + 19 * rows + end) - 17
    for at in range(sheet.questions):
        number = at + 1
        x, y = _INDENT + at % _A_ROW * 62, top - at // _A_ROW * 19
        pages.draw(wrapped(f"Q{number}", 9, 40)[0], x, y + 4)
        tip = f"Grade of reference {entry.number} for question {number}"
        place = (x + width_of(f"Q{number}", 9) + 5, y, 22.0, 15.0)
        pages.field(f"grade.{number}.{entry.number}", tip, place, maxlen=1)
    pages.y = top - (rows - 1) * 19 - 6


def _entry(pages: Pages, entry: Entry, number: str, more: float) -> float:
    """A paper with its number, kept on one page with so much more; where it ends."""
    lines = wrapped(entry.line() or "(without a title)", 9.5, RIGHT - _INDENT)
    link = shown_link(entry.link) if entry.link else ""
    links = wrapped(link, 8, RIGHT - _INDENT) if link else []
    pages.room(len(lines) * 12.9 + len(links) * 10.8 + more + 6)
    pages.y -= 4
    start = pages.y
    pages.write(wrapped(f"[{number}]", 9.5, 60, "Bold"))
    pages.y = start
    pages.write(lines, _INDENT)
    if link:
        pages.link(link, _INDENT)
    return pages.y


def _query(pages: Pages, asked: ListedQuery, is_last: bool) -> None:
    _heading(pages, f"Question {asked.number}", 170)
    width = RIGHT - LEFT
    if asked.stated is None:
        pages.write(wrapped(asked.text, 10, width))
    else:
        pages.write(wrapped(f"You wrote: {asked.stated}", 10, width))
        pages.y -= 3
        pages.write(wrapped(f"We suggest: {asked.text}", 10, width))
        pages.room(64)
        pages.y -= 18
        number = asked.number
        pages.box(f"approve.{number}", f"I approve the wording of query {number}", LEFT, pages.y)
        pages.draw(wrapped("I approve the new wording; or a better one:", 9, width)[0],
                   LEFT + 18, pages.y + 2)  # fmt: skip
        pages.y -= 38
        pages.field(f"better.{number}", f"A better wording of query {number}",
                    (LEFT, pages.y, width, 32), fieldFlags="multiline")  # fmt: skip
    pages.y -= 6
    for entry in asked.entries:
        end = _END if is_last and entry is asked.entries[-1] else 0
        _judged(pages, asked.number, entry, end)


def _judged(pages: Pages, query: int, entry: Entry, end: int) -> None:
    key = f"{query}.{entry.number}"
    pages.y = _entry(pages, entry, key, 40 + end) - 16
    x = _INDENT
    for name, label in _CHOICES:
        pages.box(f"{name}.{key}", f"{label}: document {key}", x, pages.y)
        pages.draw(wrapped(label, 9, 100)[0], x + 15, pages.y + 2)
        x += width_of(label, 9) + 34
    pages.y -= 18
    pages.draw(wrapped("comment", 8, 100)[0], _INDENT, pages.y + 4, QUIET)
    pages.field(f"comment.{key}", f"Comment on document {key}",
                (_INDENT + 42, pages.y, RIGHT - _INDENT - 42, 15))  # fmt: skip
    pages.y -= 5
