"""What each line of a paper is: its title, a heading, prose, a note, a caption, a reference.

The style that most characters have is the prose's. All else is told from it: headings are bolder or
larger and short, notes smaller and below, running heads come again on other pages.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from statistics import median

from citebed.papers.lines import Line

NUMBER = r"(?:(?:\d{1,2}|[A-H]|[IVX]{1,5})(?:\.\d{1,2}){0,3}\.?)"
_HEADING = re.compile(rf"(?:{NUMBER}\s+)?\S.{{0,110}}")
_NUMBERED = re.compile(rf"({NUMBER})\s+(\S.*)")
_CAPTION = re.compile(
    r"(?:Figures?|Fig\.|FIGURE|FIG\.|Tables?|TABLE|Algorithm|Listing|Scheme|Plate|Chart|Box|Abbildung"
    r"|Abb\.|Tabelle|Tab\.|Tableau|Figura|Cuadro|Tabla)"
    r"\s*(?:\d+|[IVX]+|[A-Z]\d*|S\d+)\s*[a-z]?\s*(?:[.:|–—-]|$|\()"
)
_LABEL = re.compile(r"\S+\s*(?:\d+|[IVX]+|[A-Z]\d*)[.:]?")
_REFERENCES = re.compile(
    rf"(?:{NUMBER}\s+)?(?:references(?: and notes)?|bibliography|literature(?: cited)?|works cited|"
    r"references cited|literatur(?:verzeichnis)?|références|bibliographie|referencias|bibliografía)"
    r"\s*:?",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"abstract|introduction|related works?|conclusions?(?: and .{4,20})?|acknowledge?ments?|"
    r"materials and methods|discussion|background",
    re.IGNORECASE,
)
_MATH = re.compile(
    r"\b(?:cm|lm)(?:mi|sy|ex|bsy|mib)|txex|txsy|txmi|math|symbol|mtsy|msam|msbm|wasy", re.I
)
_SMALL_CAPITALS = re.compile(r"\b(?:cm|ec)csc|\bsf(?:cc|xc)|csc\d|smallcap|smcp|-sc\b|caps", re.I)
_MARGIN_LINES = 3


class Kind(Enum):
    """What a line is."""

    PROSE = "prose"
    HEADING = "heading"
    CAPTION = "caption"
    NOTE = "note"
    RUNNING = "running"
    OTHER = "other"


@dataclass(frozen=True)
class Style:
    """The prose of a paper: size, font, distance of lines, and where its columns lie."""

    size: float
    font: str
    leading: float
    columns: dict[tuple[int, int], tuple[float, float]]
    """By page and column the left and right edge."""

    def edges(self, line: Line) -> tuple[float, float]:
        """Where the column of a line begins and ends."""
        key = (line.page, line.column)
        return (
            self.columns.get(key) or self.columns.get((-1, line.column)) or (line.left, line.right)
        )


def style_of(lines: Sequence[Line]) -> Style:
    """How a paper's prose looks: as most of its characters."""
    sizes: Counter[float] = Counter()
    for line in _before_references(lines):
        sizes[round(line.size * 4) / 4] += len(line.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    prose = [line for line in lines if is_like(line, size)]
    fonts: Counter[str] = Counter()
    for line in prose:
        fonts[line.main.font.name] += len(line.text)
    font = fonts.most_common(1)[0][0] if fonts else ""
    return Style(size, font, _leading(prose, size), _columns(prose))


def is_like(line: Line, size: float) -> bool:
    """Whether a line is written in letters of that size."""
    return abs(line.size - size) < 0.045 * size + 0.05


def _before_references(lines: Sequence[Line]) -> Iterator[Line]:
    for line in lines:
        if _REFERENCES.fullmatch(line.text):
            return
        yield line


def _leading(prose: Sequence[Line], size: float) -> float:
    steps = [
        after.baseline - line.baseline
        for line, after in pairwise(prose)
        if (line.page, line.column) == (after.page, after.column)
    ]
    usual = [step for step in steps if 0.9 * size < step < 2.2 * size]
    return median(usual) if usual else 1.2 * size


def _columns(prose: Sequence[Line]) -> dict[tuple[int, int], tuple[float, float]]:
    lines: dict[tuple[int, int], list[Line]] = defaultdict(list)
    for line in prose:
        lines[line.page, line.column].append(line)
        lines[-1, line.column].append(line)
    found = {}
    for key, some in lines.items():
        if key[0] < 0 or len(some) >= 6:
            found[key] = _usual([line.left for line in some]), _usual([line.right for line in some])
    return found


def _usual(places: Sequence[float]) -> float:
    """The place where most lines begin, or end."""
    counts: Counter[int] = Counter()
    for place in places:
        counts[round(place)] += 2
        counts[round(place) - 1] += 1
        counts[round(place) + 1] += 1
    return float(counts.most_common(1)[0][0])


def running_lines(pages: Sequence[Sequence[Line]]) -> set[int]:
    """Heads and feet of pages, by ``id``: what stands at the same place of other pages too."""
    seen: dict[str, list[tuple[int, Line]]] = defaultdict(list)
    for number, page in enumerate(pages):
        ordered = sorted(page, key=lambda line: line.baseline)
        margin = {*ordered[:_MARGIN_LINES], *ordered[-_MARGIN_LINES:]}
        for line in margin:
            seen[re.sub(r"\d+|\b[ivxlc]+\b", "0", line.text)].append((number, line))
    found = set()
    for same in seen.values():
        for number, line in same:
            if any(
                other != number and abs(line.baseline - twin.baseline) < 4 for other, twin in same
            ):
                found.add(id(line))
    return found


def kinds_of(lines: Sequence[Line], style: Style, running: set[int]) -> list[Kind]:
    """What each line is, in their order."""
    kinds: list[Kind] = []
    caption: Line | None = None
    heads = _heading_styles(lines, style)
    for line in lines:
        kind = Kind.RUNNING if id(line) in running else _kind(line, style, heads)
        if kind is Kind.CAPTION:
            caption = line
        elif caption is not None and _goes_on(caption, line, kind):
            kind, caption = Kind.CAPTION, line
        else:
            caption = None
        kinds.append(kind)
    return kinds


def _goes_on(caption: Line, line: Line, kind: Kind) -> bool:
    """Whether a line belongs to the caption that another one is part of."""
    same = (line.page, line.column) == (caption.page, caption.column)
    if kind in (Kind.HEADING, Kind.RUNNING) or not same:
        return False
    step = line.baseline - caption.baseline
    if abs(line.size - caption.size) > 0.3:
        return False
    if _LABEL.fullmatch(caption.text) and line.italic and step < 3 * caption.size:
        return True
    same = (line.bold, line.italic) == (caption.bold, caption.italic)
    return step < 1.45 * caption.size and same


def _kind(line: Line, style: Style, heads: set[Look]) -> Kind:
    if _CAPTION.match(line.text) and not _is_mid_sentence(line, style):
        return Kind.CAPTION
    if _look(line) in heads and _may_head(line, style):
        return Kind.HEADING
    if is_like(line, style.size):
        return Kind.PROSE
    return Kind.NOTE if line.size < style.size else Kind.OTHER


def _is_mid_sentence(line: Line, style: Style) -> bool:
    """A sentence that begins a line with "Table 2 shows" has the prose's font and small letters."""
    after = _CAPTION.sub("", line.text, count=1).lstrip()
    plain = line.main.font.name == style.font and is_like(line, style.size)
    return plain and not line.words[0].font.bold and after[:1].islower()


Look = tuple[str, float, bool]
"""Font and size of a heading, and whether it is in capitals."""


def _look(line: Line) -> Look:
    return line.main.font.name, round(line.size, 1), _plain_name(line.text).isupper()


def _plain_name(text: str) -> str:
    """A heading without its number."""
    numbered = _NUMBERED.fullmatch(text.strip())
    return (numbered[2] if numbered else text).strip(" .:")


def _heading_styles(lines: Sequence[Line], style: Style) -> set[Look]:
    """How headings look in this paper: as those that nothing else can be.

    These are the lines of known names, as "References", and numbered lines that count up, in
    letters that are not the prose's.
    """
    numbers: dict[Look, list[str]] = defaultdict(list)
    found = set()
    for line in lines:
        if not _may_head(line, style):
            continue
        text = line.text.strip()
        numbered = _NUMBERED.fullmatch(text)
        if _KNOWN.fullmatch(numbered[2] if numbered else text) or _REFERENCES.fullmatch(text):
            found.add(_look(line))
        elif numbered and line.size >= style.size - 0.5:
            numbers[_look(line)].append(numbered[1])
    return found | {look for look, some in numbers.items() if _counts_up(some)}


def _counts_up(numbers: Sequence[str]) -> bool:
    """Whether numbers of headings follow one another, as 2.1 and 2.2 or 3."""
    keys = [_parts(number) for number in numbers]
    return len(keys) > 1 and all(a < b for a, b in pairwise(keys))


def _parts(number: str) -> tuple[int, ...]:
    roman = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9}
    parts = number.strip(".").split(".")
    return tuple(
        int(part) if part.isdigit() else roman.get(part, 10 + ord(part[0])) for part in parts
    )


def _may_head(line: Line, style: Style) -> bool:
    """Whether a line stands out from the prose as a heading does."""
    text = line.text.strip()
    if not _HEADING.fullmatch(text) or sum(map(str.isalpha, text)) < 3:
        return False
    other = line.main.font.name != style.font and not is_math(line.main.font.name)
    larger = line.size > 1.08 * style.size
    styled = line.bold or line.italic or _SMALL_CAPITALS.search(line.main.font.name)
    if not (larger or _plain_name(text).isupper() or (other and styled)):
        return False
    if text.endswith((",", ";")) or (text.endswith(".") and not larger):
        return False
    return larger or style.edges(line)[1] - line.right > style.size


def is_math(font: str) -> bool:
    """Whether a font is one of formulas."""
    return _MATH.search(font) is not None


def is_references(text: str) -> bool:
    """Whether a heading is that of the reference list."""
    return _REFERENCES.fullmatch(text.strip()) is not None


def plain_heading(text: str) -> str:
    """A heading without its number."""
    return _plain_name(text)


def heading_level(text: str) -> int:
    """How deep a numbered heading stands: 1, or 2 for ``2.1``; 0 without a number."""
    numbered = _NUMBERED.fullmatch(text.strip())
    return len(numbered[1].strip(".").split(".")) if numbered else 0
