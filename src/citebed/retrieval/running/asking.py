"""A query made ready, and the answer to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.search.exhaustive import Hits

if TYPE_CHECKING:
    from citebed.retrieval.learned.ranking import Ranked

Docs = NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """A query made ready: terms, what it must not find, and whose citing text does not count.

    ``raw`` is the text as it was given, ``text`` what of it was searched for; ``asker`` the paper
    that asks, and ``sentences`` the text's, where they are known already.
    """

    query_id: str
    text: str
    terms: TermWeights
    excluded: Docs
    before: str | None = None
    paper: str | None = None
    raw: str = ""
    asker: str | None = None
    sentences: Sequence[str] = ()


class Answer(NamedTuple):
    """The best documents for a query, the terms that found them (feedback may have changed the
    query's own), and what a ranking by several signals says of them."""

    terms: TermWeights
    hits: Hits
    ranked: Ranked | None = None

    def chance(self, place: int) -> float | None:
        """How likely the document at a place is right, where that was learned."""
        chances = None if self.ranked is None else self.ranked.chances
        return None if chances is None else float(chances[place])

    def is_unlikely(self, place: int) -> bool:
        """Whether the document at a place has less than the chance of a good match."""
        chance = self.chance(place)
        return self.ranked is not None and chance is not None and chance < self.ranked.least

    def only(self, places: Sequence[int]) -> Answer:
        """The answer with only the documents at some places, in their order."""
        those = np.zeros(len(self.hits.docs), bool)
        those[list(places)] = True
        hits = Hits(self.hits.docs[those], self.hits.scores[those])
        return Answer(self.terms, hits, None if self.ranked is None else self.ranked.kept(those))

    def without_those_below(self, chance: float) -> Answer:
        """The answer with only those documents that are as likely to be right."""
        if self.ranked is None or self.ranked.chances is None:
            return self
        kept = self.ranked.kept(self.ranked.chances >= chance)
        return Answer(self.terms, kept.hits, kept)

    def at_least(self, chance: float) -> Answer:
        """The same for a chance that somebody asked for: then none of the documents is unlikely.
        Where chances are not known, any document has that of 0, and there is no other."""
        if not 0 <= chance <= 1:
            raise CitebedError(f"the least chance is {chance}; expected a number from 0 to 1")
        if chance and (self.ranked is None or self.ranked.chances is None):
            raise CitebedError(
                "how likely an answer is knows only a ranking that learned it with the vectors of "
                "the index: leave out the least chance, or recommend with bm25+learned"
            )
        found = self.without_those_below(chance)
        ranked = None if found.ranked is None else found.ranked._replace(least=0.0)
        return Answer(self.terms, found.hits, ranked)
