"""Join lines to running text that keeps the position of every word.

A word that was hyphenated at a line end keeps its hyphen if the paper writes it with a hyphen
elsewhere, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unicodedata import normalize

from citebed.papers.lines import Line
from citebed.papers.pages import Word
from citebed.papers.paper import Box, PlacedText
from citebed.text.hyphens import join_hyphens

_FORMULA = re.compile("[\ufb00-\ufb06\u210e\u00b5\u00a0\U0001d400-\U0001d7ff]+")
_RAISED = str.maketrans("0123456789-–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")
_FOOTNOTE = re.compile(r"[\d*†‡§¶,;–-]{1,40}")
_NO_BLANK = 0.16
"""In font sizes: a smaller gap before a sub- or superscript is not a blank."""
_LOOSE = re.compile(r"(?<=[\w)\]”\"’]) +(?=[,.;:)\]](?:\s|$|[,.;:)\]]))")
_ACCENT = re.compile("([´`¨˜ˆˇ˚¸˙˝¯]) ?([A-Za-zıȷ])")
_COMBINING = dict(
    zip(
        "´`¨˜ˆˇ˚¸˙˝¯",
        "\u0301\u0300\u0308\u0303\u0302\u030c\u030a\u0327\u0307\u030b\u0304",
        strict=True,
    )
)
_BETWEEN = "\n\0\n"


class _Piece(NamedTuple):
    text: str
    place: Box


def place_texts(groups: Sequence[Sequence[Line]], raised_cite: bool = False) -> list[PlacedText]:
    """Return the text of each group of lines.

    Raised numbers are kept as ``¹²`` if they are citations (``raised_cite``). Otherwise they are
    footnote numbers and left out.
    """
    if not groups:
        return []
    pieces = [[list(_pieces(line, raised_cite)) for line in group] for group in groups]
    raw = ["\n".join(map(_line_text, group)) for group in pieces]
    whole = join_hyphens(_BETWEEN.join(raw)).split("\0")
    return [
        _align(" ".join(text.split()), [piece for line in group for piece in line])
        for text, group in zip(whole, pieces, strict=True)
    ]


def _line_text(pieces: Sequence[_Piece]) -> str:
    """Join the pieces of a line, without the blanks that footnote numbers leave before stops."""
    return _LOOSE.sub("", "".join(piece.text for piece in pieces).strip())


def _pieces(line: Line, raised_cite: bool) -> Iterator[_Piece]:
    """Yield the words of a line as pieces of text; a blank belongs to the word before it."""
    tall = line.size
    for number, word in enumerate(line.words):
        text = _plain(word.text)
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
        yield _Piece(text + _blank(line, number), box)


def _plain(text: str) -> str:
    """Replace ligatures and formula letters by plain letters, and join accents with letters."""
    if text.isascii():
        return text
    text = _FORMULA.sub(lambda part: normalize("NFKC", part[0]), text)
    return normalize("NFC", _ACCENT.sub(_with_accent, text))


def _with_accent(match: re.Match[str]) -> str:
    """Join an accent with the letter that follows it, if Unicode has that letter."""
    letter = {"ı": "i", "ȷ": "j"}.get(match[2], match[2])
    whole = normalize("NFC", letter + _COMBINING[match[1]])
    return whole if len(whole) == 1 else match[0]


def _blank(line: Line, number: int) -> str:
    """Return the blank after a word, or "", for example before a sub- or superscript."""
    if number + 1 == len(line.words):
        return ""
    word, after = line.words[number], line.words[number + 1]
    is_script = abs(word.size - after.size) > 0.05 * line.size
    near = after.left - word.right < _NO_BLANK * line.size
    return "" if is_script and near else " "


def _with_raised(text: str, raised: int, raised_cite: bool) -> str:
    base, above = text[: len(text) - raised], text[len(text) - raised :]
    if not _FOOTNOTE.fullmatch(above):
        return text
    return base + above.translate(_RAISED) if raised_cite else base


def _align(text: str, pieces: Sequence[_Piece]) -> PlacedText:
    """Return the text with the positions of its pieces; they differ in hyphens and blanks only."""
    starts: list[int] = []
    at = 0
    for piece in pieces:
        word = piece.text.strip()
        at += text.startswith(" ", at)
        if word and text.startswith(word, at):
            starts.append(at)
            at += len(word)
        else:
            start, at = _align_word(text, at, word)
            starts.append(start)
    return PlacedText(text, tuple(starts), tuple(piece.place for piece in pieces))


def _align_word(text: str, at: int, word: str) -> tuple[int, int]:
    """Return the start and end of a word that is in the text with other hyphens or blanks."""
    start = -1
    for char in word:
        ahead = at + text.startswith(" ", at)
        if not char.isspace() and text.startswith(char, ahead):
            start = ahead if start < 0 else start
            at = ahead + 1
    return (start if start >= 0 else at), at


def count_raised_numbers(lines: Sequence[Line]) -> int:
    """Count the words that end in raised numbers."""
    return sum(_ends_raised(word) for line in lines for word in line.words)


def _ends_raised(word: Word) -> bool:
    return word.raised > 0 and word.text[-word.raised :].rstrip(",.").replace(",", "").isdigit()
