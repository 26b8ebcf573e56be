"""Pages that are read from right to left, seen in a mirror: there they run as all others do.

PDFium gives words of Hebrew and Arabic in the order in which they are read; only their places run
the other way. What was read from a mirrored page is put back into its place.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from citebed.papers.paper import Box, PlacedText, ReadPaper, ReadParagraph, ReferenceEntry

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_LETTER = re.compile(r"[^\W\d_]")
_Part = TypeVar("_Part", ReadParagraph, ReferenceEntry)


def runs_right_to_left(text: str) -> bool:
    """Whether most letters of a text are of a script that is written from right to left."""
    if text.isascii() or _RIGHT_TO_LEFT.search(text) is None:
        return False
    return 2 * len(_RIGHT_TO_LEFT.findall(text)) > len(_LETTER.findall(text))


def put_back(paper: ReadPaper, mirrored: Collection[int]) -> ReadPaper:
    """The paper with what stands on mirrored pages in its true place."""

    def back(part: _Part) -> _Part:
        places = tuple(
            _turned(box, paper.pages[box.page][0]) if box.page in mirrored else box
            for box in part.content.places
        )
        content = PlacedText(part.content.text, part.content.starts, places)
        return replace(part, content=content)

    return replace(
        paper,
        paragraphs=tuple(map(back, paper.paragraphs)),
        references=tuple(map(back, paper.references)),
    )


def _turned(box: Box, width: float) -> Box:
    return box._replace(left=width - box.right, right=width - box.left)
