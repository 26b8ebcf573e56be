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
    r"(?:Figures?|Fig\.|FIGURE|Tables?|TABLE|Algorithm|Listing|Scheme|Plate|Chart|Box)"
    r"\s*(?:\d+|[IVX]+|[A-Z]\d*|S\d+)\s*[a-z]?\s*(?:[.:|–—-]|$|\()"
)
_REFERENCES = re.compile(
    rf"(?:{NUMBER}\s+)?(?:references(?: and notes)?|bibliography|literature(?: cited)?|works cited|"
    r"references cited|literatur(?:verzeichnis)?|références|bibliographie|referencias|bibliografía)"
    r"\s*:?",
    re.IGNORECASE,
)
_ABSTRACT = re.compile(r"(?:abstract|summary|zusammenfassung|résumé|resumen)\b\s*[.:—–-]*\s*", re.I)
_UNNUMBERED = re.compile(
    r"introduction|background|related works?|(?:materials and )?methods?|methodology|results?|"
    r"discussion|conclusions?(?: and future work)?|acknowledge?ments?|appendix(?: \w)?|"
    r"results and discussion|experiments?|evaluation|limitations|keywords?|ccs concepts|"
    r"acm reference format:?|author contributions|funding|data availability|supplementary.{0,40}|"
    r"state of the art|literature review|theor(?:y|etical background)|preliminaries|motivation",
    re.IGNORECASE,
)
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
    for line in lines:
        kind = Kind.RUNNING if id(line) in running else _kind(line, style)
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
    if kind in (Kind.HEADING, Kind.RUNNING) or (line.page, line.column) != (
        caption.page,
        caption.column,
    ):
        return False
    near = line.baseline - caption.baseline < 1.45 * caption.size
    return near and abs(line.size - caption.size) < 0.3 and line.bold == caption.bold


def _kind(line: Line, style: Style) -> Kind:
    text = line.text
    if _CAPTION.match(text) and not _is_mid_sentence(line, style):
        return Kind.CAPTION
    if is_heading(line, style):
        return Kind.HEADING
    if is_like(line, style.size):
        return Kind.PROSE
    return Kind.NOTE if line.size < style.size else Kind.OTHER


def _is_mid_sentence(line: Line, style: Style) -> bool:
    """A sentence that begins a line with "Table 2 shows" has the prose's font and small letters."""
    after = _CAPTION.sub("", line.text, count=1).lstrip()
    plain = (
        line.main.font.name == style.font
        and is_like(line, style.size)
        and not line.words[0].font.bold
    )
    return plain and after[:1].islower()


def is_heading(line: Line, style: Style) -> bool:
    """Whether a line heads a section."""
    text = line.text.strip()
    if not _HEADING.fullmatch(text) or not any(map(str.isalpha, text)):
        return False
    larger = line.size > 1.08 * style.size
    stands_out = line.bold or larger or (line.main.font.name != style.font and line.italic)
    numbered = _NUMBERED.fullmatch(text)
    bare = numbered[2] if numbered else text
    if _REFERENCES.fullmatch(text) or _UNNUMBERED.fullmatch(bare) or _ABSTRACT.fullmatch(text):
        return stands_out or text.isupper() or line.main.font.name != style.font
    if not stands_out and not (text.isupper() and numbered):
        return False
    if text.endswith((".", ",", ";")) and not larger:
        return False
    fills = style.edges(line)[1] - line.right < style.size
    return bool(numbered or larger or (line.bold and text.istitle())) and not (fills and not larger)


def is_references(text: str) -> bool:
    """Whether a heading is that of the reference list."""
    return _REFERENCES.fullmatch(text.strip()) is not None


def is_abstract(text: str) -> bool:
    """Whether a heading is the abstract's."""
    return _ABSTRACT.fullmatch(text.strip()) is not None


def plain_heading(text: str) -> str:
    """A heading without its number."""
    numbered = _NUMBERED.fullmatch(text.strip())
    return (numbered[2] if numbered else text).strip(" .:")
