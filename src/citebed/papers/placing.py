"""The text of lines made whole, with the place of every word kept.

Words that were broken at the end of a line are joined with the whole paper in view: what it writes
with a hyphen elsewhere keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from citebed.papers.lines import Line
from citebed.papers.pages import Word
from citebed.papers.paper import Box, PlacedText
from citebed.text.hyphens import join_hyphens

_PLAIN = str.maketrans(
    {
        **{"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"},
        **{"\u00a0": " ", "\ufffe": "-", "\x02": "-", "\x1f": " "},
    }
)
_RAISED = str.maketrans("0123456789-–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")
_FOOTNOTE = re.compile(r"[\d*†‡§¶,]{1,5}")
_BETWEEN = "\n\x1f\n"


class _Piece(NamedTuple):
    text: str
    place: Box


def placed_texts(groups: Sequence[Sequence[Line]], raised_cite: bool = False) -> list[PlacedText]:
    """The text of each group of lines.

    Numbers that stand higher are citations (``raised_cite``) and written as such (``¹²``), or
    those of footnotes, and left out.
    """
    pieces = [[list(_pieces(line, raised_cite)) for line in group] for group in groups]
    raw = [
        "\n".join("".join(piece.text for piece in line).strip() for line in group)
        for group in pieces
    ]
    whole = join_hyphens(_BETWEEN.join(raw)).split("\x1f")
    return [
        _aligned(" ".join(text.split()), [piece for line in group for piece in line])
        for text, group in zip(whole, pieces, strict=True)
    ]


def _pieces(line: Line, raised_cite: bool) -> Iterator[_Piece]:
    """The words of a line as pieces of text; a blank belongs to the word before it."""
    tall = line.size
    for number, word in enumerate(line.words):
        text = word.text.translate(_PLAIN)
        small = word.size < 0.85 * tall and word.baseline < line.baseline - 0.15 * tall
        raised = len(word.text) if small else word.raised
        if raised and number:
            text = _with_raised(text, min(raised, len(text)), raised_cite)
        elif raised and raised < len(text):
            text = _with_raised(text, raised, raised_cite)
        box = Box(
            line.page,
            word.left,
            word.baseline - 0.8 * tall,
            word.right,
            word.baseline + 0.25 * tall,
        )
        last = number + 1 == len(line.words)
        yield _Piece(text if last else f"{text} ", box)


def _with_raised(text: str, raised: int, raised_cite: bool) -> str:
    base, above = text[: len(text) - raised], text[len(text) - raised :]
    if not _FOOTNOTE.fullmatch(above):
        return text
    return base + above.translate(_RAISED) if raised_cite else base


def _aligned(text: str, pieces: Sequence[_Piece]) -> PlacedText:
    """The text with the place of each piece: both have the same characters, but for some hyphens
    and blanks."""
    starts: list[int] = []
    at = 0
    for piece in pieces:
        begun = False
        for char in piece.text:
            if char.isspace():
                continue
            ahead = at
            while ahead < len(text) and text[ahead] == " ":
                ahead += 1
            if ahead < len(text) and text[ahead] == char:
                if not begun:
                    starts.append(ahead)
                    begun = True
                at = ahead + 1
        if not begun:
            starts.append(at)
    return PlacedText(text, tuple(starts), tuple(piece.place for piece in pieces))


def raised_numbers(lines: Sequence[Line]) -> int:
    """How many words of these lines end in numbers that stand higher."""
    return sum(_ends_raised(word) for line in lines for word in line.words)


def _ends_raised(word: Word) -> bool:
    return word.raised > 0 and word.text[-word.raised :].rstrip(",.").replace(",", "").isdigit()
