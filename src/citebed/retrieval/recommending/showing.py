"""What people are shown of a learned ranking: no answer without a good match, no tail of what is
hardly ever right, and chances only where they were learned for such a case."""

from __future__ import annotations

import numpy as np

from citebed.retrieval.pipeline import SEEN, Learned
from citebed.retrieval.recommending.saying import HARDLY_ANY
from citebed.retrieval.recommending.strength import Match
from citebed.retrieval.recommending.subject import Subject
from citebed.retrieval.running.asking import Answer, Asked
from citebed.retrieval.running.runner import Runner
from citebed.text.words import telling_words

HARDLY_ANY_OF_FEW = 0.001
"""A list ends at what is hardly ever right; in a small collection, where chances are too low, it
ends later."""
OF_STRANGE, OF_STRANGE_WORDS = 0.4, 0.2
"""The least chances of a good match for a text on another subject: vectors, which learned from
papers, often find something for it that is likely, though not as likely as this. Less is needed
where a document has half of the text's words."""
FEWEST_WORDS = 4
"""Fewer telling words are what somebody looks for: they get what there is."""
FAR_LARGER = 100
"""In a collection of so many times fewer documents than chances were learned among, they are too
low: where what is wanted is there, of the documents with a chance of 0.3 among 108,857, half were
right among 1,000, and nine in ten among 100."""

_UNTOLD = "no chances are told: they "
_OF_FEW_WORDS = f"{_UNTOLD}were learned from sentences and paragraphs, not from a few words"
_OF_FEW_DOCUMENTS = f"{_UNTOLD}were learned in a far larger collection, and are too low in this one"
_OF_OTHER_VECTORS = (
    f"{_UNTOLD}were not learned with the vectors of this index; learn them with: "
    "citebed train ranker"
)


class Showing:
    """What is shown of the answers of a runner; of rankings that are not learned, all."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._subject = runner, Subject(runner.index)
        self._is_learned = isinstance(runner.pipeline.stage, Learned)

    def is_poor(self, text: str, answer: Answer) -> bool:
        """Whether a text gets no answer: it has enough words, but no good match among as many
        documents as the least chance was learned from, however many are asked for."""
        if not self._is_learned or not len(answer.hits.docs) or _is_short(text):
            return False
        best = answer.chance(0)  # what stands higher is no less likely
        if best is not None and (answer.is_unlikely(0) or best >= OF_STRANGE):
            return answer.is_unlikely(0)
        if not self._subject.is_strange(text):
            return False
        has_words = self._subject.most_held(text, answer.hits.docs[:SEEN]) >= 0.5
        return not has_words or (best is not None and best < OF_STRANGE_WORDS)

    def without_tail(self, text: str, answer: Answer) -> Answer:
        """The answer up to where documents are hardly ever right, as far as chances tell that."""
        if not self._is_learned or _is_short(text):
            return answer
        return answer.without_those_below(HARDLY_ANY_OF_FEW if self.untold(text) else HARDLY_ANY)

    def untold(self, text: str) -> str:
        """Why a text's answers have no chances, in a line for people; empty where they have."""
        if not self._is_learned:
            return ""
        ranks = self._runner.ranks
        if not ranks.has_chances:
            return _OF_OTHER_VECTORS
        if len(self._runner.index.ids) * FAR_LARGER < ranks.learned_among:
            return _OF_FEW_DOCUMENTS
        return _OF_FEW_WORDS if _is_short(text) else ""

    def matches(self, asked: Asked, answer: Answer) -> list[Match]:
        """What each document of an answer is told to be a strong or a weak match by."""
        texts = asked.sentences or (asked.text,)
        held = np.max([self._subject.held(each, answer.hits.docs) for each in texts], axis=0)
        short = _is_short(asked.text)
        return [
            Match(answer.chance(place), float(share), short) for place, share in enumerate(held)
        ]


def _is_short(text: str) -> bool:
    return len(telling_words(text)) < FEWEST_WORDS
