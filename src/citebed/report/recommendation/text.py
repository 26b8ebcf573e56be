"""Recommendations for people: a few lines each, with the reasons; and a line each for editors."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator

from citebed.drafts import Passage
from citebed.retrieval.recommend import wording
from citebed.retrieval.recommend.recommendation import Recommendation

_NARROWEST, _WIDEST = 20, 200
_LONGEST = 1000
"""Characters that are shown of a title, or of authors and venue."""


def passage_lines(passage: Passage, found: list[Recommendation], *, alone: bool) -> Iterator[str]:
    """A passage and what it should cite; the passage is only named where there are several."""
    width = max(_NARROWEST, min(shutil.get_terminal_size().columns, _WIDEST))
    if not alone:
        place = wording.place_of(passage)
        yield f"── {place}: {_cut(passage.text, width - len(place) - 6)}"
    if not found:
        yield "nothing found"
    several = len(passage.sentences) > 1
    for each in found:
        yield from _lines(each, width, several)
    yield ""


def _lines(each: Recommendation, width: int, several: bool) -> Iterator[str]:
    indent = " " * 4
    title = textwrap.wrap(_cut(wording.title_of(each), _LONGEST), width - 4) or [each.doc_id]
    yield f"{each.rank:>2}. {title[0]}"
    yield from (indent + line for line in title[1:])
    shown = _cut(wording.about(each), _LONGEST)
    yield from textwrap.wrap(shown, width, initial_indent=indent, subsequent_indent=indent)
    yield f"{indent}cite as: {wording.key_of(each)}"
    because = f"because of: {wording.because(each)}" if each.terms else ""
    line = "  ".join(filter(None, (wording.sure(each), because)))
    yield from textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=indent * 2)
    for label, text, by in wording.proofs(each, several=several):
        yield f"{indent}{label}: {_cut(text, width - len(label) - 7)}"
        if by:
            yield from textwrap.wrap(
                f"by {_cut(by, _LONGEST)}", width, initial_indent=indent + "  ",
                subsequent_indent=indent * 2,
            )  # fmt: skip


def editor_lines(found: Iterable[Recommendation]) -> Iterator[str]:
    """``file:line:column: message`` for each, as editors and compilers have it.

    A text that came from no file is ``-``.
    """
    for each in found:
        who = ", ".join(filter(None, (wording.authors(each), str(each.year or ""))))
        about = f"{_cut(wording.title_of(each), _LONGEST)}{f' ({who})' if who else ''}"
        key = f"cite {wording.key_of(each)}"
        because = f"; because of {', '.join(each.terms)}" if each.terms else ""
        place = f"{each.file or '-'}:{each.line}:{each.column}"
        yield f"{place}: {key}: {about}{because}"


def _cut(text: str, width: int) -> str:
    """Shorten a text to ``width`` characters, without splitting a word or a number."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    cut = text[: max(width - 1, 1)]
    if text[len(cut)] != " ":
        cut = cut.rsplit(" ", 1)[0]  # a text without blanks is cut anywhere
    return cut.rstrip() + "…"
