"""Judged feedback, as it becomes known: after the document, and after a delay.

What a filter may learn from a document is held back until a document comes that is later than it
by more than the delay. Documents of the same second never see each other's judgements, so their
order does not matter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from citebed.runs.reading import read_judged
from citebed.runs.tables import checked_columns
from citebed.runs.trec_files import QRELS
from citebed.timeline.filters.base import State
from citebed.timeline.filters.hashing import Numbers, Values
from citebed.timeline.filters.topics import Topic


class Lesson(NamedTuple):
    """A judged document: for which topic, whether relevant, and its features.

    ``mention`` is the evidence that its names give, 0 where they are not looked at.
    """

    due: int
    topic: int
    relevant: bool
    mention: float
    numbers: Numbers
    values: Values


class Lessons:
    """The lessons that are not due yet, in the order in which they will be.

    Documents come in the order of time and the delay is one for all, so this is a queue.
    """

    def __init__(self, delay: int) -> None:
        self._delay = delay
        self._waiting: deque[Lesson] = deque()

    def add(self, time: int, lesson: Lesson) -> None:
        """Hold a lesson back until after ``time`` plus the delay."""
        self._waiting.append(lesson._replace(due=time + self._delay))

    def due(self, time: int) -> Iterator[Lesson]:
        """The lessons that may be known to a document of this time; each is given once."""
        while self._waiting and self._waiting[0].due < time:
            yield self._waiting.popleft()

    def state(self) -> State:
        """The lessons, as arrays end to end."""
        kept = list(self._waiting)
        whole = np.array([(k.due, k.topic, k.relevant, k.numbers.size) for k in kept], np.int64)
        return {
            "lessons": whole.reshape(-1, 4),
            "lesson_mentions": np.array([k.mention for k in kept], np.float64),
            "lesson_numbers": np.concatenate([k.numbers for k in kept] or [np.empty(0, np.int64)]),
            "lesson_values": np.concatenate([k.values for k in kept] or [np.empty(0)]),
        }

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self._waiting.clear()
        numbers, values = state["lesson_numbers"], state["lesson_values"]
        start = 0
        for row, mention in zip(
            state["lessons"].tolist(), state["lesson_mentions"].tolist(), strict=True
        ):
            due, topic, relevant, size = row
            part = slice(start, start + size)
            self._waiting.append(
                Lesson(
                    due,
                    topic,
                    bool(relevant),
                    mention,
                    numbers[part].astype(np.int64),
                    values[part].astype(np.float64),
                )
            )
            start += size


def labels_of(path: str | Path) -> tuple[dict[str, dict[str, bool]], int]:
    """Judgements by document and topic, and how many lines were read.

    The file is in one of KBA's forms, TREC qrels (``query_id iteration doc_id relevance``), or
    Parquet.
    Several assessors of a pair are merged as KBA does: relevant (1) or central (2) only if all
    of them say so.
    """
    table = checked_columns(read_judged(Path(path)), QRELS)
    labels: dict[str, dict[str, bool]] = {}
    for query_id, doc_id, relevance in table.iter_rows():
        of_document = labels.setdefault(doc_id, {})
        of_document[query_id] = of_document.get(query_id, True) and relevance > 0
    return labels, table.height


def known_labels(
    topics: Sequence[Topic], labels: Mapping[str, Mapping[str, bool]]
) -> dict[str, tuple[tuple[int, bool], ...]]:
    """For each document the topics it is judged for, by number; training documents are
    relevant."""
    number = {topic.query_id: place for place, topic in enumerate(topics)}
    found: dict[str, dict[int, bool]] = {}
    for doc_id, of_document in labels.items():
        for query_id, relevant in of_document.items():
            if query_id in number:
                found.setdefault(doc_id, {})[number[query_id]] = relevant
    for place, topic in enumerate(topics):
        for doc_id in topic.training:
            found.setdefault(doc_id, {})[place] = True
    return {doc_id: tuple(sorted(pairs.items())) for doc_id, pairs in found.items()}


class Labels:
    """What becomes known of documents once they have passed; and which of them have."""

    def __init__(self, topics: Sequence[Topic], labels: Mapping[str, Mapping[str, bool]]) -> None:
        self._known = known_labels(topics, labels)
        self._unmet = set(self._known)

    def of(self, *ids: str) -> tuple[tuple[int, bool], ...]:
        """The topics that a document is judged for under any of its ids; the last one counts."""
        there = [doc_id for doc_id in ids if doc_id in self._known]
        self._unmet.difference_update(there)
        return tuple(sorted({t: r for name in there for t, r in self._known[name]}.items()))

    def unmet(self) -> list[str]:
        """The ids that no document had so far, in alphabetical order."""
        return sorted(self._unmet)

    def state(self) -> State:
        """Which of the ids, in alphabetical order, were met."""
        return {"labels_met": np.array([i not in self._unmet for i in sorted(self._known)], bool)}

    def restore(self, state: State) -> None:
        """Go on from a state."""
        ids = zip(sorted(self._known), state["labels_met"].tolist(), strict=True)
        self._unmet = {doc_id for doc_id, met in ids if not met}
