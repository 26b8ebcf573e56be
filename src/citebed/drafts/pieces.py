"""What to search with: the whole draft, its paragraphs, or its sentences."""

from __future__ import annotations

from typing import Literal, get_args

from citebed.drafts.records import Draft, Passage
from citebed.errors import UnknownName
from citebed.text.normalise import unique

Unit = Literal["text", "paragraph", "sentence"]


def pieces(draft: Draft, unit: Unit) -> list[Passage]:
    """The draft as one passage, as its paragraphs, or as its sentences; numbered from 1.

    A sentence has its paragraph's line and section, and only what it cites itself.
    """
    if unit not in get_args(Unit):
        raise UnknownName("unit of text", unit, get_args(Unit))
    if unit == "paragraph" or not draft.passages:
        return list(draft.passages)
    return [_whole(draft)] if unit == "text" else _sentences(draft)


def _whole(draft: Draft) -> Passage:
    passages = draft.passages
    return Passage(
        text="\n\n".join(passage.text for passage in passages),
        line=passages[0].line,
        number=1,
        cites=unique(name for passage in passages for name in passage.cites),
        sentences=tuple(text for passage in passages for text in passage.sentences),
        sentence_cites=tuple(names for passage in passages for names in passage.sentence_cites),
        source=passages[0].source,
    )


def _sentences(draft: Draft) -> list[Passage]:
    found: list[Passage] = []
    for passage in draft.passages:
        for text, cites in zip(passage.sentences, passage.sentence_cites, strict=True):
            number = len(found) + 1
            place = (passage.line, passage.section, number)
            found.append(Passage(text, *place, cites, (text,), (cites,), passage.source))
    return found
