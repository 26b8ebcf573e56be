"""Which part of a paper a heading names: ``2 Background and Related Work`` is related work."""

from __future__ import annotations

import re
from collections.abc import Collection

from citebed.text.normalise import fold

BELOW = " / "
"""Between a heading and those below it: ``Related Work / Test collections``."""
NO_HEADING = "none"
"""What text without a heading is called in a list of sections."""

_ALSO = {
    "introduction": ("intro",),
    "related work": (
        *("related research", "related literature", "related studies", "previous work"),
        *("previous research", "prior work", "prior research", "earlier work", "existing work"),
        *("literature review", "literature survey", "review of the literature", "state of the art"),
    ),
}
_NUMBER = re.compile(
    r"(?:section |chapter )?(?:\d+(?:\.\d+)*\s?[.:)]?\s*|(?:[ivx]+|[a-z])\s?[.:)]?\s+)"
)
_PARTS = re.compile(r"\s?(?:[,:;/&|–—]|\band\b|\bor\b|\+)\s?")


def is_under(section: str, wanted: Collection[str]) -> bool:
    """Whether a heading, or one that it stands below, names one of the wanted parts of a paper.

    A heading names a part if it, or what stands beside an "and" in it, begins with the part's
    words: ``introduction`` is that of ``1. Introduction and Motivation``.
    """
    if not section:
        return NO_HEADING in wanted
    headings = [_plain(heading) for heading in section.split(BELOW)]
    pieces = {piece for heading in headings for piece in (heading, *_PARTS.split(heading))}
    return any(_names(part).match(piece) for part in wanted for piece in pieces)


def _plain(heading: str) -> str:
    """A heading in small letters, without its number, hyphens as blanks."""
    lower = re.sub(r"[-_‐‑\s]+", " ", fold(heading).lower())
    number = _NUMBER.match(lower)
    return lower[number.end() :] if number else lower


def _names(part: str) -> re.Pattern[str]:
    words = re.sub(r"[-_\s]+", " ", part.strip().lower())
    every = "|".join(map(re.escape, (words, *_ALSO.get(words, ()))))
    return re.compile(rf"(?:{every})s?\b")
