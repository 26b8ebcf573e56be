"""Surface names: a document is relevant if it mentions the topic by an unambiguous name.

After CWI's runs at TREC KBA 2012 (``google_dic``), which took the probability that a name means
an entity from a dictionary: here the topics file is the dictionary, and gives a weight with a
name where it is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.runs.tables import Ints
from citebed.runs.writer import FilterLine
from citebed.timeline.filters.base import (
    RELEVANT,
    DocumentFeatures,
    Documents,
    Filter,
    FilterContext,
    LearningDocuments,
    Skipped,
    State,
    TermStatistics,
    confidence,
    no_terms,
)
from citebed.timeline.filters.name_matcher import NameTable
from citebed.timeline.filters.topics import Topic

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


class NameFiltering:
    """A running name filter that counts the documents so far with each name."""

    def __init__(self, declared: Names, topics: Sequence[Topic]) -> None:
        self._declared = declared
        self._ids = [topic.query_id for topic in topics]
        self.names = NameTable(topics)
        self._df: NDArray[np.int64] = np.zeros(len(self.names.names), np.int64)

    def score(self, batch: Documents) -> list[FilterLine]:
        """Return the lines for the documents that mention a name."""
        return self.take(batch.first, self.read(batch.table))

    def read(self, table: pl.DataFrame) -> DocumentFeatures:
        """Extract the documents that mention a name."""
        found = dict(self.names.found(table))
        there = table.select("doc_id", "time")[list(found)]
        rows: Ints = np.array(list(found), np.int64)
        mentions = dict(enumerate(found.values()))
        times = there["time"].to_numpy()
        return DocumentFeatures(rows, there["doc_id"], times, mentions, no_terms(len(rows)))

    def take(self, first: int, reads: DocumentFeatures) -> list[FilterLine]:
        """Return the lines for these documents."""
        half = self._declared.half
        ids, times, names = self._ids, reads.times.tolist(), reads.names.to_list()
        return [
            FilterLine(ids[topic], names[place], times[place], sure, RELEVANT, True)
            for place, evidence in self.evidence(first, reads).items()
            for topic, x in sorted(evidence.items())
            for sure in [confidence(x / (x + half) if x else 0.0)]
        ]

    def evidence(self, first: int, reads: DocumentFeatures) -> dict[int, dict[int, float]]:
        """Return the evidence for each topic, and count the documents' names.

        ``first`` is the number of documents before their batch.
        """
        found = {}
        for place, mentions in reads.mentions.items():
            df = {mention >> 1: int(self._df[mention >> 1]) for mention in mentions}
            for name in df:
                self._df[name] += 1
            found[place] = self._weighed(mentions, first + int(reads.rows[place]), df)
        return found

    def evidence_of(self, first: int, told: LearningDocuments) -> dict[int, dict[int, float]]:
        """Return the evidence in documents of a skipped part, without counting."""
        found = {}
        for place, mentions in told.reads.mentions.items():
            counted = zip(mentions, told.names[place].tolist(), strict=True)
            df = {mention >> 1: int(self._df[mention >> 1]) + more for mention, more in counted}
            found[place] = self._weighed(mentions, first + int(told.reads.rows[place]), df)
        return found

    def _weighed(
        self, mentions: Sequence[int], before: int, df: Mapping[int, int]
    ) -> dict[int, float]:
        evidence: dict[int, float] = {}
        for mention in mentions:
            name, in_title = divmod(mention, 2)
            rarity = self._rarity(df[name], before)
            weight = rarity * (self._declared.title if in_title else 1.0)
            for topic, share in self.names.uses[name]:
                evidence[topic] = evidence.get(topic, 0.0) + share * weight
        return evidence

    def _rarity(self, df: int, before: int) -> float:
        common = self._declared.common
        return min(1.0, common * (before + PRIOR) / df) if df and common else 1.0

    def tally(self) -> TermStatistics:
        """Return empty document counts of names."""
        return TermStatistics(len(self.names.names))

    def skip(self, part: Skipped) -> None:
        """Count the names of a part."""
        self.count(part.tally)

    def count(self, tally: TermStatistics) -> None:
        """Count the names of many documents."""
        self._df += tally.names

    def judged(self, reads: DocumentFeatures) -> Collection[int]:  # noqa: ARG002
        """Return nothing: names do not learn from judgements."""
        return ()

    def unmet(self) -> list[str]:
        """Return nothing: names do not learn from judgements."""
        return []

    def state(self) -> State:
        """Return the counts of names."""
        return {"df": self._df.copy()}

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self._df = state["df"].astype(np.int64)
