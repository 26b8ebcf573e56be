"""What the filters share that learn: terms as numbers, judgements as they become known.

A document is scored with what was known before it. If it is judged, it becomes a lesson, which is
held back until a document comes that is later than it by more than the delay. Documents of the
same second never see each other's judgements, so their order does not matter.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.runs.assessors import merge_assessors
from citebed.runs.reading import read_judged
from citebed.runs.tables import Floats, Ints, checked_columns
from citebed.runs.trec_files import QRELS
from citebed.runs.writing import FilterLine, stream_id
from citebed.timeline.filters.base import (
    RELEVANT,
    Documents,
    Read,
    Skipped,
    State,
    Tally,
    Told,
    Tools,
)
from citebed.timeline.filters.matching import NameTable
from citebed.timeline.filters.topics import Topic
from citebed.timeline.streams.stream_files import TEXTS

# --- terms as numbers -------------------------------------------------------------------------


@lru_cache(maxsize=1 << 17)
def number(term: str) -> int:
    """The 32-bit number of a term, the same in every process."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def counted(terms: Iterable[str], buckets: int) -> tuple[Ints, Floats]:
    """The buckets of a text's terms in ascending order, and how often each occurs.

    What is counted in buckets does not grow with the stream. Different terms may share one; with
    a million of them and the words of a language, few do.
    """
    counts = Counter(number(term) % buckets for term in terms)
    keys = sorted(counts)
    return np.array(keys, np.int64), np.array([counts[key] for key in keys], np.float64)


def packed(name: str, array: Floats) -> dict[str, NDArray[np.generic]]:
    """An array of mostly zeros in little room: the places that are not, and what is there."""
    places = np.flatnonzero(array.ravel() != 0)
    return {f"{name}_places": places, f"{name}_values": array.ravel()[places]}


def unpacked(name: str, state: dict[str, NDArray[np.generic]], shape: tuple[int, ...]) -> Floats:
    """The array that was ``packed`` under a name."""
    array: Floats = np.zeros(shape, np.float64)
    array.ravel()[state[f"{name}_places"].astype(np.int64)] = state[f"{name}_values"]
    return array


# --- feedback ---------------------------------------------------------------------------------


class Lesson(NamedTuple):
    """A judged document: for which topic, whether relevant, and its features.

    ``mention`` is the evidence that its names give, 0 where they are not looked at.
    """

    due: int
    topic: int
    relevant: bool
    mention: float
    numbers: Ints
    values: Floats


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
        lessons = list(self._waiting)
        whole = np.array([(k.due, k.topic, k.relevant, k.numbers.size) for k in lessons], np.int64)
        return {
            "lessons": whole.reshape(-1, 4),
            "lesson_mentions": np.array([k.mention for k in lessons], np.float64),
            "lesson_numbers": np.concatenate(
                [k.numbers for k in lessons] or [np.empty(0, np.int64)]
            ),
            "lesson_values": np.concatenate([k.values for k in lessons] or [np.empty(0)]),
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
    for query_id, doc_id, relevance in merge_assessors(table).iter_rows():
        labels.setdefault(doc_id, {})[query_id] = relevance > 0
    return labels, table.height


def known_labels(
    topics: Sequence[Topic], labels: Mapping[str, Mapping[str, bool]]
) -> dict[str, tuple[tuple[int, bool], ...]]:
    """For each document the topics it is judged for, by number; training documents are
    relevant."""
    number = {topic.query_id: place for place, topic in enumerate(topics)}
    known: dict[str, dict[int, bool]] = {}
    for doc_id, of_document in labels.items():
        for query_id, relevant in of_document.items():
            if query_id in number:
                known.setdefault(doc_id, {})[number[query_id]] = relevant
    for place, topic in enumerate(topics):
        for doc_id in topic.training:
            known.setdefault(doc_id, {})[place] = True
    return {doc_id: tuple(sorted(pairs.items())) for doc_id, pairs in known.items()}


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


# --- at work ----------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What a filter sees of a document: the evidence for the topics that it names, its terms as
    numbers, and a value for each of them."""

    mentions: Mapping[int, float]
    numbers: Ints
    values: Floats


class Passed(NamedTuple):
    """A document of a part that is skipped: its row, what was seen of it, whether it is judged."""

    row: int
    seen: Seen
    judged: bool


class Learner(ABC):
    """A filter at work that learns; its kinds say what it sees, believes and learns."""

    def __init__(
        self,
        topics: Sequence[Topic],
        tools: Tools,
        labels: Mapping[str, Mapping[str, bool]],
        buckets: float,
    ) -> None:
        self._terms = tools.terms
        if buckets != int(buckets) or not 1024 <= buckets <= 1 << 28:
            raise CitebedError(f"buckets={buckets:g} is not a whole number from 1024 to {1 << 28}")
        self._buckets = int(buckets)
        self._ids = [topic.query_id for topic in topics]
        self._labels = Labels(topics, labels)
        self._lessons = Lessons(tools.delay)

    def score(self, batch: Documents) -> list[FilterLine]:
        """The lines for a batch; learns what is due before each document."""
        return self.take(batch.first, self.read(batch.table))

    def read(self, table: pl.DataFrame) -> Iterator[Read]:
        """All documents: each counts, whatever it says."""
        mentions = dict(self._table().found(table))
        rows = table.select("doc_id", "time", *TEXTS).iter_rows()
        for row, (doc_id, time, *texts) in enumerate(rows):
            numbers, tf = self._counted("\n".join(text for text in texts if text))
            yield Read(row, doc_id, time, mentions.get(row, ()), numbers, tf)

    def take(self, first: int, reads: Iterable[Read]) -> list[FilterLine]:
        """The lines for documents; learns what is due before each of them."""
        lines: list[FilterLine] = []
        for read in reads:
            for lesson in self._lessons.due(read.time):
                self._learn(lesson)
            seen = self._see(read, first + read.row)
            name = stream_id(read.doc_id, read.time)
            returned = list(self._returned(seen))
            lines += [
                FilterLine(
                    self._ids[topic], name, read.time, sure, RELEVANT, topic in seen.mentions
                )
                for topic, sure in returned
            ]
            judged = self._hold_back(read, seen)
            self._passed(seen, is_other=not returned and not judged)
        return lines

    def skip(self, part: Skipped) -> None:
        """Learn from a part as if its documents had been taken, of which it is told some: those
        that are judged, those before which a lesson is due and, for a filter that looks back, some
        before these and before the end."""
        if part.told is not None:
            self._follow(part, part.told)
        self._count(part.tally)

    def _follow(self, part: Skipped, those: Sequence[Told]) -> None:
        passed: list[Passed] = []
        start = 0
        for told in those:
            due = list(self._lessons.due(told.read.time))
            if due:
                self._look_back(part, passed, start, told.read.row)
                passed, start = [], told.read.row
            for lesson in due:
                self._learn(lesson)
            seen = self._see_of(told, part.first + told.read.row)
            judged = self._hold_back(told.read, seen)
            passed.append(Passed(told.read.row, seen, judged))
        self._look_back(part, passed, start, part.length)

    def _hold_back(self, read: Read, seen: Seen) -> bool:
        """Keep what a document teaches until it is due; gives whether it is judged."""
        judged = self._labels.of(read.doc_id, stream_id(read.doc_id, read.time))
        for topic, relevant in judged:
            mention = seen.mentions.get(topic, 0.0)
            lesson = Lesson(0, topic, relevant, mention, seen.numbers, seen.values)
            self._lessons.add(read.time, lesson)
        return bool(judged)

    def judged(self, read: Read) -> bool:
        """Whether a document is judged for any topic; it is remembered that it came."""
        return bool(self._labels.of(read.doc_id, stream_id(read.doc_id, read.time)))

    def _counted(self, text: str) -> tuple[Ints, Floats]:
        """The terms of a text as numbers, and how often each occurs."""
        return counted(self._terms(text), self._buckets)

    def unmet(self) -> list[str]:
        """The documents it could have learned from that did not come, in alphabetical order."""
        return self._labels.unmet()

    def state(self) -> State:
        """What is still to be learned, and which judged documents have come."""
        return {**self._lessons.state(), **self._labels.state()}

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self._lessons.restore(state)
        self._labels.restore(state)

    @abstractmethod
    def _look_back(self, part: Skipped, passed: Sequence[Passed], start: int, end: int) -> None:
        """Remember what ``_passed`` would have of a part's rows from ``start`` to before ``end``,
        between which nothing was learned; ``passed`` are some of them."""

    @abstractmethod
    def tally(self) -> Tally:
        """A tally of what it counts, with nothing in it."""

    @abstractmethod
    def _table(self) -> NameTable:
        """The names that it looks for."""

    @abstractmethod
    def _see(self, read: Read, before: int) -> Seen:
        """What it sees of a document; ``before`` is how many documents came before it."""

    @abstractmethod
    def _see_of(self, told: Told, before: int) -> Seen:
        """The same of a document in a part that is skipped."""

    @abstractmethod
    def _count(self, tally: Tally) -> None:
        """Count what a part has."""

    @abstractmethod
    def _returned(self, seen: Seen) -> Iterable[tuple[int, int]]:
        """The topics that a document is returned for, in their order, with the confidences."""

    @abstractmethod
    def _learn(self, lesson: Lesson) -> None:
        """Take a judgement in that has become known."""

    @abstractmethod
    def _passed(self, seen: Seen, is_other: bool) -> None:
        """Remember a document for those after it; ``is_other`` if it was neither returned nor
        judged for any topic."""
