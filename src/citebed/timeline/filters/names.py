"""Surface names: a document is relevant if it mentions the topic by an unambiguous name.

After CWI's runs at TREC KBA 2012 (``google_dic``), which took the probability that a name means
an entity from a dictionary: here the topics file is the dictionary, and gives a weight with a
name where it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from citebed.runs.writing import FilterLine, stream_id
from citebed.timeline.filters.base import RELEVANT, Documents, Filter, State, Tools, confidence
from citebed.timeline.filters.matching import NameTable
from citebed.timeline.filters.topics import Topic
from citebed.timeline.streams.stream_files import TEXTS

PRIOR = 1000
"""Documents without any name that are thought of before the stream: no name is common at once."""


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

    def start(self, topics: Sequence[Topic], tools: Tools) -> NameFiltering:  # noqa: ARG002
        """Begin with a stream."""
        return NameFiltering(self, topics)


class NameFiltering:
    """Name match at work: ``df`` counts, for each name, the documents so far that had it."""

    def __init__(self, declared: Names, topics: Sequence[Topic]) -> None:
        self._declared = declared
        self._ids = [topic.query_id for topic in topics]
        self._table = NameTable(topics)
        self._df: NDArray[np.int64] = np.zeros(len(self._table.names), np.int64)

    def score(self, batch: Documents) -> list[FilterLine]:
        """The lines of the documents that mention a name."""
        lines: list[FilterLine] = []
        half, evidences = self._declared.half, self.evidences(batch)
        rows = batch.table.select("doc_id", "time")[list(evidences)].iter_rows()
        for (doc_id, time), evidence in zip(rows, evidences.values(), strict=True):
            name = stream_id(doc_id, time)
            lines += [
                FilterLine(self._ids[topic], name, time, sure, RELEVANT, True)
                for topic, x in sorted(evidence.items())
                for sure in [confidence(x / (x + half) if x else 0.0)]
            ]
        return lines

    def evidences(self, batch: Documents) -> dict[int, dict[int, float]]:
        """The evidence for each topic in each row that mentions any; counts the names."""
        by_row: dict[int, dict[int, float]] = {}
        rows = self._table.candidates(batch.table).select("row", *TEXTS).iter_rows()
        for row, *texts in rows:
            evidence = self._evidence(texts, batch.first + row)
            if evidence:
                by_row[row] = evidence
        return by_row

    def _evidence(self, texts: Sequence[str | None], before: int) -> dict[int, float]:
        """The evidence for each topic in a document's texts, title first; counts its names.

        ``before`` is how many documents came before this one.
        """
        evidence: dict[int, float] = {}
        seen: set[int] = set()
        for place, text in enumerate(texts):
            for name in self._table.mentions(text) if text else ():
                seen.add(name)
                weight = self._rarity(name, before) * (self._declared.title if place == 0 else 1.0)
                for topic, share in self._table.uses[name]:
                    evidence[topic] = evidence.get(topic, 0.0) + share * weight
        for name in seen:
            self._df[name] += 1
        return evidence

    def _rarity(self, name: int, before: int) -> float:
        df = int(self._df[name])
        common = self._declared.common
        return min(1.0, common * (before + PRIOR) / df) if df and common else 1.0

    def unmet(self) -> list[str]:
        """Nothing: it does not learn from documents."""
        return []

    def state(self) -> State:
        """The counts of names."""
        return {"df": self._df.copy()}

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self._df = state["df"].astype(np.int64)
