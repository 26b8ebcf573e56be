"""Letters that a font has no code for, read from the words they stand in.

Fonts of LaTeX draw "Th", "fi" or "tt" as one glyph, and some files do not say what it stands for:
``so?ware``. What fits the words of all its places is taken: each of the usual ligatures is tried,
and the one that makes the most common words wins.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from citebed.papers.lines import Line

_UNKNOWN = re.compile("[\uf600-\uf6ff]")
_LIGATURES = ("fi", "fl", "ff", "ffi", "ffl", "Th", "tt", "ft", "Qu", "tz", "st", "ct", "fj", "ch")
_USUAL = frozenset(
    re.findall(
        r"\w+",
        """
        affect affected affects affluent afford after aspect attached attempt attention attribute
        baffle baffling before benefit best better between buffer classification classifier
        classifiers coefficient coefficients committed confidence conflict conflicting conflicts
        consider context contexts correct craft cuff cutting define defined defines definition
        definitions differ difference differences different differently differing differs difficult
        difficulty diffuse diffusion direct draft effect effective effectively effectiveness effects
        efficacy efficiency efficient efficiently effluent effort efforts emitted exact exactly
        expect fact factor factors field fields fifth fifty figure figures file files filter
        filtered filtering filters final finally find finding findings finds fine finite first
        firstly fit fits fitted fitting five fixed flag flags flat flexibility flexible flight flip
        float floor flow flows fluctuation fluctuations fluid flux getting identified identifies
        identify infinite inflated inflation inflow influence influenced influences interest just
        justify left letter letters little matter matters metric modified modify more most must
        object off offer offered offering offers office official offline offload offset often
        omitted online overfitting overflow pattern patterns permitted profile profiles profit
        project quality quantify quantitative quantity queries query question questions quick
        quickly quite reflect reflected reflecting reflection reflections reflects related research
        result results satisfaction satisfied satisfy scattered scientific scientist scientists
        select setting settings shift shifts shuffle shuffled shuffles shuffling significance
        significant significantly simplified soft software specific specifically specification
        specified specify staff state step stiff still strong student students study stuff submitted
        such suffer suffers sufficient sufficiently system systems test tests text than that the
        their them then theorem theoretical theory there thereby therefore these they thing things
        think third this thorough those though thought thousand thousands three threshold through
        throughout thus trade-off trade-offs traffic transfer transmitted unaffected unified unit
        until up verified verify waffle which while with workflow written
        """,
    )
)
"""Common words of papers with one of these in them."""


def mend(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The lines with letters in place of codes without one, where one fits."""
    words: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for word in (word for page in pages for line in page for word in line.words):
        for code in set(_UNKNOWN.findall(word.text)):
            words[word.font.name, code][word.text] += 1
    if not words:
        return [list(page) for page in pages]
    known = {key: _letters(key[1], texts) for key, texts in words.items()}
    return [[_mended(line, known) for line in page] for page in pages]


def _letters(code: str, texts: Counter[str]) -> str:
    """The letters that a code stands for: those that make most of its words usual."""
    scores = {ligature: _usual(code, ligature, texts) for ligature in _LIGATURES}
    best = max(_LIGATURES, key=lambda ligature: scores[ligature])
    return best if scores[best] else code


def _usual(code: str, ligature: str, texts: Counter[str]) -> int:
    return sum(
        times
        for text, times in texts.items()
        for part in _parts(text.replace(code, ligature))
        if ligature.lower() in part and part in _USUAL
    )


def _parts(text: str) -> Iterable[str]:
    lower = text.lower()
    return {lower.strip(".,;:()[]“”\"'’-"), *re.findall(r"[a-z]+", lower)}


def _mended(line: Line, known: dict[tuple[str, str], str]) -> Line:
    if not _UNKNOWN.search(line.text):
        return line
    words = []
    for word in line.words:
        text = word.text
        for code in _UNKNOWN.findall(text):
            text = text.replace(code, known[word.font.name, code])
        words.append(word._replace(text=text))
    return Line(line.page, tuple(words), line.column)
