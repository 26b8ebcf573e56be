"""What a person said of documents for a text, and the question that it makes of the text.

The terms move by Rocchio's feedback, the text's vectors likewise: towards the documents that are
right, away from those that are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.feedback.base import Feedback, TermWeights
from citebed.retrieval.feedback.rocchio import Rocchio
from citebed.retrieval.search.exhaustive import Hits
from citebed.retrieval.search.view import View
from citebed.retrieval.vectors.vectors import Docs, DocumentVectors, Vectors, unit_rows

_NONE: Docs = np.zeros(0, np.int64)


class Moving(NamedTuple):
    """How far a question moves: by so many terms at most, weighed by Rocchio's β; and the vector of
    the text, of length 1, by so much of the mean vector of either documents.

    Found on sentences that cite several papers (eLife of 2021, and computer science, of the fold of
    development), as ``bench/feedback.py --tune`` tries them. Away from what is wrong alone nothing
    moves: that made the rest worse. A text of several sentences asks for several things,
    and a document is right for one of them: it moves by the square of their number less, or what
    is right for the others would fall behind.
    """

    terms: int = 20
    beta: float = 0.75
    towards: float = 0.75
    away: float = 0.1

    def less(self, sentences: int) -> Moving:
        """The same for a text of so many sentences."""
        share = 1 / max(sentences, 1) ** 2
        return self._replace(
            beta=self.beta * share, towards=self.towards * share, away=self.away * share
        )


MOVING = Moving()


class Judged(NamedTuple):
    """Documents by number: those that are right for a text, and those that are not; and how far
    they move it."""

    relevant: Docs = _NONE
    nonrelevant: Docs = _NONE
    moving: Moving = MOVING

    def __bool__(self) -> bool:
        return bool(len(self.relevant) or len(self.nonrelevant))

    @property
    def moves(self) -> bool:
        """Whether there is something to move towards."""
        return len(self.relevant) > 0


NOT_JUDGED = Judged()


def moved_terms(
    view: View, terms: TermWeights, judged: Judged, feedback: Feedback | None = None
) -> TermWeights:
    """The terms that feedback makes of a query's, by default Rocchio's."""
    from citebed.retrieval.search.feeding import better_query  # with the readers of judgements

    how = feedback or Rocchio(terms=judged.moving.terms, beta=judged.moving.beta)
    wrong = _NONE if feedback is None else judged.nonrelevant  # Rocchio's γ is 0
    return better_query(view, how, terms, _hits(judged.relevant), _hits(wrong))


def moved_vectors(rows: Vectors, documents: DocumentVectors, judged: Judged) -> Vectors:
    """The vectors of a text and its sentences, of which that of the text moves."""
    towards = judged.moving.towards * _mean(documents, judged.relevant)
    away = judged.moving.away * _mean(documents, judged.nonrelevant)
    return np.concatenate([unit_rows(rows[:1] + towards - away), rows[1:]])


def _mean(documents: DocumentVectors, numbers: Docs) -> NDArray[np.float32]:
    """The mean vector of those documents that have one."""
    known = numbers[documents.scales[numbers] > 0]
    if not len(known):
        return np.zeros(documents.width, np.float32)
    return np.asarray(documents.decode(known).mean(axis=0), np.float32)


def _hits(numbers: Docs) -> Hits:
    return Hits(numbers, np.ones(len(numbers)))
