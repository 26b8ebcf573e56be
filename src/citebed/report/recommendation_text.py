"""Recommendations for people: a few lines each, with the reasons; and a line each for editors."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator

from citebed.drafts import Passage
from citebed.retrieval.recommendations import Recommendation
from citebed.retrieval.showing import HARDLY_ANY
from citebed.text.names import display_name

_NARROWEST, _WIDEST = 20, 100
_LONGEST = 1000
"""Characters that are shown of a title, or of authors and venue."""
_IN_BIB = " (in your .bib)"


def passage_lines(passage: Passage, found: list[Recommendation], *, alone: bool) -> Iterator[str]:
    """A passage and what it should cite; the passage is only named where there are several."""
    width = max(_NARROWEST, min(shutil.get_terminal_size().columns, _WIDEST))
    if not alone:
        line = f"{passage.source}:{passage.line}" if passage.source else f"line {passage.line}"
        place = " · ".join(filter(None, (passage.section, line)))
        yield f"── {place}: {_cut(passage.text, width - len(place) - 6)}"
    if not found:
        yield "nothing found"
    several = len(passage.sentences) > 1
    for each in found:
        yield from _lines(each, width, several)
    yield ""


def _lines(each: Recommendation, width: int, several: bool) -> Iterator[str]:
    indent = " " * 4
    title = textwrap.wrap(_cut(each.title or each.doc_id, _LONGEST), width - 4) or [each.doc_id]
    yield f"{each.rank:>2}. {title[0]}"
    yield from (indent + line for line in title[1:])
    about = (_authors(each.authors), str(each.year or ""), each.venue, each.doi)
    shown = _cut(" · ".join(filter(None, about)), _LONGEST)
    yield from textwrap.wrap(shown, width, initial_indent=indent, subsequent_indent=indent)
    yield f"{indent}cite as: {each.key}{_IN_BIB if each.in_bib else ''}"
    because = f"because of: {', '.join(each.terms)}" if each.terms else ""
    sure = f"{each.score:.2f}" if each.chance is None else chance_in_words(each.chance)
    yield indent + "  ".join(filter(None, (sure, because)))
    if several and each.sentence:
        yield f"{indent}asked by: {_cut(each.sentence, width - 15)}"
    if each.abstract_sentence:
        yield f"{indent}it says: {_cut(each.abstract_sentence, width - 14)}"
    for said in each.citing_sentences[:1]:
        yield f"{indent}cited elsewhere: {_cut(said, width - 22)}"


def chance_in_words(chance: float) -> str:
    """A chance as people say it: how many in ten, twenty or fifty that are as likely are right."""
    for of, least in ((10, 0.15), (20, 0.125), (10, 0.075), (20, 0.045), (50, HARDLY_ANY)):
        if chance >= least:
            return f"about {min(round(chance * of), of - 1)} in {of} are right"
    return "hardly any are right"


def editor_lines(found: Iterable[Recommendation]) -> Iterator[str]:
    """``file:line:column: message`` for each, as editors and compilers have it.

    A text that came from no file is ``-``.
    """
    for each in found:
        who = ", ".join(filter(None, (_authors(each.authors), str(each.year or ""))))
        about = f"{_cut(each.title or each.doc_id, _LONGEST)}{f' ({who})' if who else ''}"
        key = f"cite {each.key}{_IN_BIB if each.in_bib else ''}"
        because = f"; because of {', '.join(each.terms)}" if each.terms else ""
        place = f"{each.file or '-'}:{each.line}:{each.column}"
        yield f"{place}: {key}: {about}{because}"


def _authors(names: tuple[str, ...]) -> str:
    read = [display_name(name) for name in names[:3]]
    return ", ".join(read) if len(names) <= 3 else f"{read[0]} and {len(names) - 1} others"


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(width - 1, 1)].rstrip() + "…"
