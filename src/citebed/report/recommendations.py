"""Recommendations as text for terminals and editors, and as one HTML page."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator

from citebed.drafts import Passage
from citebed.retrieval.recommend import display
from citebed.retrieval.recommend.recommendations import Recommendation, Recommendations
from citebed.wording import count

_NARROWEST, _WIDEST = 20, 200
_LONGEST = 1000
"""The largest number of characters of a title, or of authors and venue."""


def passage_lines(passage: Passage, found: list[Recommendation], *, alone: bool) -> Iterator[str]:
    """Yield the lines of a passage and its recommendations; ``alone`` leaves out its heading."""
    width = max(_NARROWEST, min(shutil.get_terminal_size().columns, _WIDEST))
    if not alone:
        place = display.format_place(passage)
        yield f"── {place}: {_shorten(passage.text, width - len(place) - 6)}"
    if not found:
        yield "nothing found"
    indent = " " * 4

    def wrap(text: str, first: str = indent, then: str = indent) -> list[str]:
        return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=then)

    for each in found:
        title = textwrap.wrap(_shorten(each.title or each.doc_id, _LONGEST), width - 4)
        first, *rest = title or [each.doc_id]
        yield f"{each.rank:>2}. {first}"
        yield from (indent + line for line in rest)
        yield from wrap(_shorten(display.format_record(each), _LONGEST))
        yield f"{indent}cite as: {display.format_key(each)}"
        because = f"because of: {each.reason}" if each.reason else ""
        parts = (display.format_confidence(each), because)
        yield from wrap("  ".join(filter(None, parts)), then=indent * 2)
        for label, text, by in display.evidence_lines(each, several=len(passage.sentences) > 1):
            yield f"{indent}{label}: {_shorten(text, width - len(label) - 7)}"
            if by:
                yield from wrap(f"by {_shorten(by, _LONGEST)}", indent + "  ", indent * 2)
    yield ""


def editor_lines(found: Iterable[Recommendation]) -> Iterator[str]:
    """Yield ``file:line:column: message`` for each recommendation, as compilers print it.

    The file of a text from standard input is ``-``.
    """
    for each in found:
        who = ", ".join(filter(None, (display.format_authors(each.authors), str(each.year or ""))))
        about = f"{_shorten(each.title or each.doc_id, _LONGEST)}{f' ({who})' if who else ''}"
        key = f"cite {display.format_key(each)}"
        because = f"; because of {each.reason}" if each.reason else ""
        place = f"{each.file or '-'}:{each.line}:{each.column}"
        yield f"{place}: {key}: {about}{because}"


def recommendation_page(found: Recommendations, title: str, command: str) -> str:
    """Return a page of recommendations: self-contained HTML with links to the papers."""
    from markupsafe import Markup

    from citebed.report.page import render
    from citebed.retrieval.recommend.display import STYLE, anchor, format_html

    passages = [
        (anchor(passage), display.format_place(passage), count(len(answers), "paper"))
        for passage, answers in found.by_passage
    ]
    sections = {
        **({"passages": "Passages"} if len(passages) > 1 else {}),
        "answers": "What to cite",
        **({"notes": "Notes"} if found.all_notes else {}),
    }
    return render(
        "recommendations.html.j2", sections, (), title=title, command=command, libraries=(),
        more_style=STYLE, summary=found.summary, passages=passages, notes=found.all_notes,
        answers=Markup(format_html(found.by_passage)),  # which escapes its texts
    )  # fmt: skip


def _shorten(text: str, width: int) -> str:
    """Shorten a text to ``width`` characters, without splitting a word or a number."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    cut = text[: max(width - 1, 1)]
    if text[len(cut)] != " ":
        cut = cut.rsplit(" ", 1)[0]  # split a text without blanks anywhere
    return cut.rstrip() + "…"
