"""The parts of a paper that headings name: ``2 Background and Related Work`` is related work."""

from __future__ import annotations

import re
from collections.abc import Collection

from citebed.text.normalise import fold

BELOW = " / "
"""Separates a heading from those below it: ``Related Work / Test collections``."""
NO_HEADING = "none"
"""The name of text without a heading in a list of sections."""

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
    """Return True if a heading, or one above it, names one of the wanted parts of a paper.

    The heading, or one of its pieces around "and", must begin with the words of the part: ``1.
    Introduction and Motivation`` names ``introduction``.
    """
    if not section:
        return NO_HEADING in wanted
    headings = [_plain(heading) for heading in section.split(BELOW)]
    pieces = {piece for heading in headings for piece in (heading, *_PARTS.split(heading))}
    return any(_names(part).match(piece) for part in wanted for piece in pieces)


def _plain(heading: str) -> str:
    """Return a heading in lower case, without its number, with spaces for hyphens."""
    lower = re.sub(r"[-_‐‑\s]+", " ", fold(heading).lower())
    number = _NUMBER.match(lower)
    return lower[number.end() :] if number else lower


def _names(part: str) -> re.Pattern[str]:
    words = re.sub(r"[-_\s]+", " ", part.strip().lower())
    every = "|".join(map(re.escape, (words, *_ALSO.get(words, ()))))
    return re.compile(rf"(?:{every})s?\b")
