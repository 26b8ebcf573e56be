"""How strong a match is, in a word, where no chance can be told of it."""

from __future__ import annotations

from typing import NamedTuple

HELD_BY_FEW = 0.5
"""So much of a few words, or of any text where no chance is known, a document must have to be more
than a weak match."""


class Cuts(NamedTuple):
    """The least chance and the least share of the words, of a strong match and of a fair one."""

    strong: tuple[float, float]
    fair: tuple[float, float]


CUTS = Cuts(strong=(0.1, 0.35), fair=(0.02, 0.3))
"""Chosen by ``bench/strengths.py`` on libraries and citing papers of one field (the life sciences,
from which nothing else was learned); what came true in others is in ``docs/recommend.md``. Chances
alone do not tell: outside the field that they were learned in they are too high."""


class Match(NamedTuple):
    """A document found for a text: its chance (as in a large collection), the share that it has of
    a sentence's words, and whether the text is a few words only."""

    chance: float | None
    held: float
    is_short: bool

    def strength(self, cuts: Cuts = CUTS) -> str:
        """``weak``, ``fair`` or ``strong``; without a chance words alone tell, and none is
        strong."""
        if self.held < HELD_BY_FEW and (self.is_short or self.chance is None):
            return "weak"
        if self.chance is None:
            return "fair"
        at = (self.chance, self.held)
        if _reaches(at, cuts.strong):
            return "strong"
        return "fair" if _reaches(at, cuts.fair) else "weak"


def _reaches(at: tuple[float, float], least: tuple[float, float]) -> bool:
    return at[0] >= least[0] and at[1] >= least[1]
