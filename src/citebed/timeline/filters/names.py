"""Surface names: a document is relevant if it mentions the topic by an unambiguous name.

After CWI's runs at TREC KBA 2012 (``google_dic``), which took the probability that a name means an
entity from a dictionary: here the topics file is the dictionary, and gives the weight of a name if
it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citebed.timeline.filters.name_table import NameTable
from citebed.timeline.filters.online_learning import (
    Filter,
    FilterFeatures,
    Returned,
    RunningFilter,
    confidence,
)
from citebed.timeline.filters.topics import (
    DocumentFeatures,
    FilterContext,
    State,
    Topic,
    Vectors,
)

PRIOR = 1000
"""Imaginary documents without names before the stream, so that no name is common at its start."""


@dataclass(frozen=True)
class Names(Filter):
    """Mentions of a topic's names, each weighed by how surely it means the topic.

    The evidence ``x`` is the sum over mentions of P(topic | name) · c(name), a mention in the
    title counting ``title`` times; the confidence is 1000 · x / (x + half), so one sure mention
    gives 500. A name is a common word if more than a share ``common`` of the documents before
    had it: c(name) = min(1, common · (N + 1000) / df), with df of the N documents seen before
    having the name. Documents without a mention are not returned.
    """

    name: ClassVar[str] = "names"
    block: ClassVar[int] = 1 << 24
    half: float = 1.0
    title: float = 2.0
    common: float = 0.01

    def start(self, topics: Sequence[Topic], tools: FilterContext) -> NameFiltering:  # noqa: ARG002
        """Begin with a stream."""
        return NameFiltering(self, topics)

    def evidence(self, table: NameTable, first: int, reads: DocumentFeatures) -> Vectors:
        """Return the evidence for each topic in documents that were counted.

        ``first`` is the number of documents before their batch.
        """
        mentions = reads.mentions
        rarity = np.ones(mentions.numbers.size)
        known = np.flatnonzero(mentions.counted)
        if self.common:
            before = first + reads.rows[mentions.places()[known]] + PRIOR
            rarity[known] = np.minimum(1.0, self.common * before / mentions.counted[known])
        return table.topics(mentions, rarity * np.where(mentions.values, self.title, 1.0))


class NameFiltering(RunningFilter):
    """A running name filter that counts the documents so far with each name."""

    def __init__(self, declared: Names, topics: Sequence[Topic]) -> None:
        super().__init__(topics)
        self._declared = declared

    def _see(self, first: int, reads: DocumentFeatures) -> FilterFeatures:
        evidence = self._declared.evidence(self.names, first, reads)
        return FilterFeatures(reads.rows, evidence, reads.terms)

    def _returned(self, seen: FilterFeatures) -> list[Returned]:
        half, found = self._declared.half, seen.mentions
        columns = (found.places().tolist(), found.numbers.tolist(), found.values.tolist())
        return [
            Returned(place, topic, confidence(x / (x + half) if x else 0.0))
            for place, topic, x in zip(*columns, strict=True)
        ]

    def state(self) -> State:
        """Return the counts of names."""
        return {"df": self._counts.names.astype(np.int64)}

    def restore(self, state: State) -> None:
        """Continue from a state."""
        self._counts.names = state["df"].astype(np.float64)
