"""Classify the lines of a paper: heading, prose, note, caption, running head.

Prose has the style of most characters. The other kinds differ from it: headings are short and
bolder or larger, notes are smaller, and running heads repeat on other pages.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise, takewhile
from statistics import median
from unicodedata import normalize

import numpy as np

from citebed.papers.pages import Line
from citebed.papers.vocabulary import phrases


def letters_only(text: str) -> str:
    """Return the letters of a text in lower case, without accents and blanks."""
    return "".join(filter(str.isalpha, normalize("NFKD", text.lower())))


NUMBER = r"(?:(?:\d{1,2}|[A-H]|[IVX]{1,5})(?:\.\d{1,2}){0,3}\.?)"
_HEADING = re.compile(rf"(?:{NUMBER}\s+)?\S.{{0,110}}")
_NUMBERED = re.compile(rf"({NUMBER})\s+(\S.*)")
_CAPTION = re.compile(
    rf"(?:S\d{{1,2}} (?:Fig|Table|Text|File|Data|Appendix)[.:]|(?:{phrases('caption')})"
    r"\s*(?:\d+|[IVX]+|[A-Z]\d*|S\d+)\s*[a-z]?\s*(?:[.:|–—-]|$|\())"
)
_LABEL = re.compile(r"\S+\s*(?:\d+|[IVX]+|[A-Z]\d*)[.:]?")
_REFERENCES = frozenset(map(letters_only, phrases("reference_headings").split("|")))
_KNOWN = re.compile(phrases("known_headings"), re.IGNORECASE)
_MATH = re.compile(
    r"\b(?:cm|lm)(?:mi|sy|ex|bsy|mib)|txex|txsy|txmi|math|symbol|mtsy|msam|msbm|wasy", re.I
)
_SMALL_CAPITALS = re.compile(r"\b(?:cm|ec)csc|\bsf(?:cc|xc)|csc\d|smallcap|smcp|-sc\b|caps", re.I)
_LONG, _LONG_WORDS, _SAME_WIDTH = 6, 20, 0.04
"""Letters of long words, and their least number and largest relative difference in width per letter
in a typewriter font. Other fonts have more than 0.05."""
_LARGER = 0.4
"""Share of the most common size's characters that a larger size of prose has at least."""
_TEXT_SHARE = 0.25
"""Share of prose that is not in a typewriter font, in a paper that is not typewritten."""
_MARGIN_LINES = 3
_NEAR, _SMALL_LINES = 3.2, 3
"""Largest step in font sizes, and fewest lines, of smaller prose below a heading."""


class Kind(Enum):
    """The kind of a line."""

    PROSE = "prose"
    HEADING = "heading"
    CAPTION = "caption"
    NOTE = "note"
    RUNNING = "running"
    OTHER = "other"


@dataclass(frozen=True)
class Style:
    """The style of a paper's prose: font size, font, line distance and column edges."""

    size: float
    font: str
    leading: float
    columns: dict[tuple[int, int], tuple[float, float]]
    """Left and right edge for each page and column; page -1 stands for all pages."""
    typewriter: frozenset[str] = frozenset()
    """Names of the fonts of program code, unless prose has such a font, too."""

    def edges(self, line: Line) -> tuple[float, float]:
        """Return the left and right edge of a line's column."""
        own = self.columns.get(line.place) or self.columns.get((-1, line.column))
        return own or (line.left, line.right)

    def is_apart(self, before: Line, line: Line) -> bool:
        """Return True if a line has more space above than the lines of a paragraph."""
        step = line.baseline - before.baseline
        return before.place != line.place or step > self.leading + 0.25 * self.size

    def is_next(self, before: Line, line: Line) -> bool:
        """Return True if a line has as much space above as the lines of a paragraph."""
        return 0 < line.baseline - before.baseline < self.leading + 0.25 * self.size

    def is_prose(self, line: Line) -> bool:
        """Return True if a line has the font and the size of prose."""
        return line.main.font.name == self.font and has_size(line, self.size)


def measure_style(lines: Sequence[Line]) -> Style:
    """Return the style of most characters before the reference list.

    If a smaller size has more characters, it belongs to long footnotes or lists of authors.
    """
    sizes: Counter[float] = Counter()
    for line in takewhile(lambda line: not heads_references(line.text), lines):
        sizes[round(line.size * 4) / 4] += len(line.text)
    most = max(sizes.values(), default=0)
    size = max((size for size, number in sizes.items() if number > _LARGER * most), default=10.0)
    size = size or 0.25  # of letters that are too small to see
    prose = [line for line in lines if has_size(line, size)]
    fonts: Counter[str] = Counter()
    for line in prose:
        fonts[line.main.font.name] += len(line.text)
    code = _typewriter_fonts(lines)
    text_fonts = Counter({name: count for name, count in fonts.items() if name not in code})
    if text_fonts.total() > _TEXT_SHARE * fonts.total():
        fonts = text_fonts  # although there is more program code
        prose = [line for line in prose if line.main.font.name not in code]
    font = fonts.most_common(1)[0][0] if fonts else ""
    steps = (a.baseline - b.baseline for b, a in pairwise(prose) if a.place == b.place)
    plausible = [step for step in steps if 0.9 * size < step < 2.2 * size]
    leading = median(plausible) if plausible else 1.2 * size
    places: dict[tuple[int, int], list[Line]] = defaultdict(list)
    for line in prose:
        places[line.place].append(line)
        places[-1, line.column].append(line)
    columns: dict[tuple[int, int], tuple[float, float]] = {}
    for place, some in sorted(places.items()):  # page -1 first
        lefts = [line.left for line in some]
        left, usual = _mode(lefts), columns.get((-1, place[1]), (0.0, 0.0))[0]
        if sum(abs(each - usual) < 1 for each in lefts) > 1:  # a page full of list items
            left = min(left, usual)
        if place[0] < 0 or len(some) >= 6:
            columns[place] = left, _mode([line.right for line in some])
    return Style(size, font, leading, columns, frozenset() if font in code else code)


def _typewriter_fonts(lines: Sequence[Line]) -> frozenset[str]:
    """Return the names of the fonts whose letters all have the same width."""
    widths: dict[str, dict[str, float]] = defaultdict(dict)
    for line in lines:
        for word in line.words:
            if len(word.text) >= _LONG and word.size and not word.raised:
                width = (word.right - word.left) / len(word.text) / word.size
                widths[word.font.name][word.text] = width
    same = {name: np.fromiter(some.values(), float) for name, some in widths.items()}
    return frozenset(
        name
        for name, some in same.items()
        if len(some) >= _LONG_WORDS and some.std() < _SAME_WIDTH * some.mean()
    )


def has_size(line: Line, size: float) -> bool:
    """Return True if the letters of a line have this font size, or nearly."""
    return abs(line.size - size) < 0.045 * size + 0.05


def _mode(values: Sequence[float]) -> float:
    """Return the most common value, in points; values one point away count half."""
    counts: Counter[int] = Counter()
    for value in map(round, values):
        counts.update({value: 2, value - 1: 1, value + 1: 1})
    return float(counts.most_common(1)[0][0])


def find_running_lines(pages: Sequence[Sequence[Line]]) -> set[int]:
    """Return the ``id`` of each running head and foot: lines that other pages repeat there."""
    by_text: dict[str, list[tuple[int, Line]]] = defaultdict(list)
    for number, page in enumerate(pages):
        ordered = sorted(page, key=lambda line: line.baseline)
        margin = {*ordered[:_MARGIN_LINES], *ordered[-_MARGIN_LINES:]}
        for line in margin:
            by_text[re.sub(r"\d+|\b[ivxlc]+\b", "0", line.text)].append((number, line))
    return {
        id(line)
        for same in by_text.values()
        for number, line in same
        if any(other != number and abs(line.baseline - twin.baseline) < 4 for other, twin in same)
    }


def classify_lines(lines: Sequence[Line], style: Style, running: set[int]) -> list[Kind]:
    """Return the kind of each line."""
    kinds: list[Kind] = []
    caption: Line | None = None
    looks = [
        (line.main.font.name, round(line.size, 1), plain_heading(line.text).isupper())
        for line in lines
    ]
    heading_looks = _heading_looks(lines, looks, style)
    for before, line, look in zip((None, *lines), lines, looks, strict=False):
        if id(line) in running:
            kind = Kind.RUNNING
        elif _CAPTION.match(line.text):
            kind = Kind.PROSE if _is_mid_sentence(before, line, style) else Kind.CAPTION
        elif look in heading_looks and _may_be_heading(line, style, other_font=True):
            kind = Kind.HEADING
        elif has_size(line, style.size):
            kind = Kind.OTHER if _is_code(before, line, style) else Kind.PROSE
        else:
            kind = Kind.NOTE if line.size < style.size else Kind.OTHER
        if kind is Kind.CAPTION:
            caption = line
        elif caption is not None and _continues_caption(caption, line, kind, style):
            kind, caption = Kind.CAPTION, line
        elif kind in (Kind.PROSE, Kind.HEADING):
            caption = None
        kinds.append(kind)
    _mark_small_prose(lines, kinds)
    return kinds


def _mark_small_prose(lines: Sequence[Line], kinds: list[Kind]) -> None:
    """Mark smaller text right below a heading as prose, as journals print their methods.

    It goes on in its font size, also in the next column, until other text follows.
    """
    at = [n for n, kind in enumerate(kinds) if kind not in (Kind.RUNNING, Kind.CAPTION)]
    block: list[int] = []
    for number, (before, n) in enumerate(pairwise(at)):
        line, last = lines[n], lines[before]
        same = line.place == last.place
        near = not same or 0 <= line.baseline - last.baseline < _NEAR * line.size
        goes_on = bool(block) and block[-1] == before and has_size(line, last.size)
        begins = kinds[before] is Kind.HEADING and same
        if kinds[n] is Kind.NOTE and near and (goes_on or begins):
            block.append(n)
        if block and (block[-1] != n or number == len(at) - 2):
            if len(block) >= _SMALL_LINES:
                for each in block:
                    kinds[each] = Kind.PROSE
            block = []


def _continues_caption(caption: Line, line: Line, kind: Kind, style: Style) -> bool:
    step = line.baseline - caption.baseline
    if (
        kind in (Kind.HEADING, Kind.RUNNING)
        or abs(line.size - caption.size) > 0.3
        or line.page != caption.page
    ):
        return False
    if style.font not in (line.main.font.name, caption.main.font.name):  # whatever its columns
        return -0.3 * line.size < step < 1.45 * line.size
    if line.column != caption.column:
        return False
    if _LABEL.fullmatch(caption.text) and line.italic and step < 3 * caption.size:
        return True
    same = (line.bold, line.italic) == (caption.bold, caption.italic)
    return step < 1.45 * caption.size and same


def _is_mid_sentence(before: Line | None, line: Line, style: Style) -> bool:
    """Return True for prose that begins like a caption: "Table 2 shows …", "Table 2 [3]. …"."""
    if not style.is_prose(line) or line.words[0].font.bold:
        return False
    if _CAPTION.sub("", line.text, count=1).lstrip()[:1].islower():
        return True
    if before is None or line.place != before.place or not style.is_next(before, line):
        return False
    return not before.text.rstrip().endswith((".", ":", "?", "!")) and has_size(before, style.size)


def _is_code(before: Line | None, line: Line, style: Style) -> bool:
    """Return True for a line of program code: all in a typewriter font, but not amid a sentence."""
    if not style.typewriter.issuperset(word.font.name for word in line.words):
        return False
    if before is None or before.main.font.name in style.typewriter:
        return True
    whole = style.edges(before)[1] - before.right < 3 * style.size
    ended = before.text.rstrip().endswith((".", ":"))
    return ended or not (whole and style.is_next(before, line))


Look = tuple[str, float, bool]
"""Font name, font size, and True for capitals."""


def plain_heading(text: str) -> str:
    """Return a heading without its number."""
    numbered = _NUMBERED.fullmatch(text.strip())
    return (numbered[2] if numbered else text).strip(" .:")


def _heading_looks(lines: Sequence[Line], looks: Sequence[Look], style: Style) -> set[Look]:
    """Return the looks of the lines that are certainly headings.

    These have known names such as "References", numbers that count up, or stand alone several times
    between paragraphs.
    """
    numbers: dict[Look, list[str]] = defaultdict(list)
    alone: dict[Look, list[bool]] = defaultdict(list)
    for n, (before, line, after) in enumerate(zip(lines, lines[1:], lines[2:], strict=False), 1):
        apart = style.is_apart(before, line)
        if looks[n - 1] == looks[n] and not apart:
            continue  # the second line of a heading
        if line.size > 0.9 * style.size and _may_be_heading(line, style, other_font=False):
            ended = before.text.rstrip().endswith((".", "!", "?", ":", ".”", ")", "]"))
            ended |= before.main.font.name != style.font
            starts = line.text[:1].isupper() and after.text[:1].isupper()
            two = looks[n + 1] == looks[n] and apart
            alone[looks[n]].append(ended and (two or (style.is_prose(after) and starts)))
    certain = set()
    for line, look in zip(lines, looks, strict=True):
        known = _KNOWN.fullmatch(plain_heading(line.text)) or heads_references(line.text)
        if not _may_be_heading(line, style, other_font=bool(known)):
            continue
        numbered = _NUMBERED.fullmatch(line.text.strip())
        if known:
            certain.add(look)
        elif numbered and line.size >= style.size - 0.5:
            numbers[look].append(numbered[1])
    certain |= {look for look, some in alone.items() if sum(some) > max(2, 0.7 * len(some))}
    return certain | {look for look, some in numbers.items() if _counts_up(some)}


def _counts_up(numbers: Sequence[str]) -> bool:
    """Return True if each heading number is greater than the one before, as 2.1, 2.2, 3."""
    roman = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9}
    keys = [
        [int(part) if part.isdigit() else roman.get(part, 10 + ord(part[0])) for part in parts]
        for parts in (number.strip(".").split(".") for number in numbers)
    ]
    return len(keys) > 1 and all(a < b for a, b in pairwise(keys))


def _may_be_heading(line: Line, style: Style, other_font: bool) -> bool:
    """Return True if a line looks different from prose in the way that headings do.

    With ``other_font``, another font is enough; else it must be bold, in italics or small capitals.
    """
    text = line.text.strip()
    if not _HEADING.fullmatch(text) or sum(map(str.isalpha, text)) < 3:
        return False
    other = line.main.font.name != style.font and not _MATH.search(line.main.font.name)
    larger = line.size > 1.08 * style.size
    styled = line.bold or line.italic or _SMALL_CAPITALS.search(line.main.font.name)
    if not (larger or plain_heading(text).isupper() or (other and (styled or other_font))):
        return False
    if text.endswith((",", ";")) or (text.endswith(".") and not larger):
        return False
    return larger or style.edges(line)[1] - line.right > style.size


def heads_references(text: str) -> bool:
    """Return True for the heading of a reference list."""
    plain = plain_heading(text) if len(text) < 80 else ""
    return not plain[:1].islower() and letters_only(plain) in _REFERENCES


def heading_level(text: str) -> int:
    """Return the level of a numbered heading: 2 for ``2.1``; 0 without a number."""
    numbered = _NUMBERED.fullmatch(text.strip())
    return len(numbered[1].strip(".").split(".")) if numbered else 0
