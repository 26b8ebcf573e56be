"""What the filters share that learn: terms as numbers, judgements as they become known.

A document is scored with what was known before it. If it is judged, it becomes a lesson, which is
held back until a document comes that is later than it by more than the delay. Documents of the
same second never see each other's judgements, so their order does not matter.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.runs.assessors import merge_assessors
from citebed.runs.reader import read_judgement_table
from citebed.runs.tables import Floats, Ints, checked_columns
from citebed.runs.trec_files import QRELS
from citebed.runs.writer import FilterLine
from citebed.timeline.filters.base import (
    RELEVANT,
    DocumentFeatures,
    Documents,
    FilterContext,
    LearningDocuments,
    Skipped,
    State,
    TermStatistics,
    Vectors,
    between,
)
from citebed.timeline.filters.name_matcher import NameTable
from citebed.timeline.filters.topics import Topic
from citebed.timeline.streams.stream_files import TEXTS

# --- terms as numbers -------------------------------------------------------------------------


class Numbers(dict[str, int]):
    """The number of each word's term, below ``buckets`` and the same in every process; many are
    remembered. A word that is no term has none.

    What is counted in buckets does not grow with the stream. Different terms may share one; with
    a million of them and the words of a language, few do.
    """

    def __init__(self, tools: FilterContext, buckets: int) -> None:
        super().__init__()
        self._tools, self._buckets = tools, buckets

    def __missing__(self, word: str) -> int:
        """Make the number of a word that is new, or was forgotten with all others."""
        if len(self) == _REMEMBERED:
            self.clear()
        term = self._tools.term(word)
        if term is None:
            self[word] = _NO_TERM
        else:
            self[word] = zlib.crc32(term.encode("utf-8", "surrogatepass")) % self._buckets
        return self[word]

    def counted(self, texts: Iterable[str]) -> Vectors:
        """How often terms occur in each of some texts."""
        flat: list[int] = []
        ends = [0]
        number, words = self.__getitem__, self._tools.words
        for text in texts:
            flat += map(number, words(text))
            ends.append(len(flat))
        places = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        numbers: Ints = np.array(flat, np.int64)
        keys = (places * self._buckets + numbers)[numbers != _NO_TERM]
        keys, counts = np.unique(keys, return_counts=True)
        places, there = np.divmod(keys, self._buckets)
        starts = np.searchsorted(places, np.arange(len(ends)))
        return Vectors(starts, there, counts.astype(np.float64))


_NO_TERM = -1
_REMEMBERED = 1 << 18


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


class TrainingExample(NamedTuple):
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
        self._waiting: deque[TrainingExample] = deque()

    def add(self, time: int, lesson: TrainingExample) -> None:
        """Hold a lesson back until after ``time`` plus the delay."""
        self._waiting.append(lesson._replace(due=self.after(time)))

    def due(self, time: int) -> Iterator[TrainingExample]:
        """The lessons that may be known to a document of this time; each is given once."""
        while self._waiting and self._waiting[0].due < time:
            yield self._waiting.popleft()

    def next(self) -> list[int]:
        """The time after which the first of them is due, if there is one."""
        return [self._waiting[0].due] if self._waiting else []

    def after(self, time: int) -> int:
        """The time after which a lesson is due that was added at a time."""
        return time + self._delay

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
                TrainingExample(
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
    table = checked_columns(read_judgement_table(Path(path)), QRELS)
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

    def of(self, reads: DocumentFeatures) -> dict[int, tuple[tuple[int, bool], ...]]:
        """The topics that documents are judged for under any of their ids, of which the one in a
        run counts more; by the places of those that are."""
        known = self._known
        if not known:
            return {}
        judged: dict[int, dict[int, bool]] = {}
        for ids in (reads.doc_ids, reads.names):
            for place, doc_id in enumerate(ids.to_list()):
                if doc_id in known:
                    self._unmet.discard(doc_id)
                    judged.setdefault(place, {}).update(known[doc_id])
        return {place: tuple(sorted(judged[place].items())) for place in sorted(judged)}

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


@dataclass(frozen=True)
class FilterFeatures:
    """What a filter sees of documents: the evidence for the topics that they name, at the places of
    those that name some, and a value for each term."""

    mentions: Mapping[int, Mapping[int, float]]
    vectors: Vectors

    def part(self, start: int, end: int) -> FilterFeatures:
        """Those from a place to before another."""
        inside = between(self._named, start, end)
        mentions = {place - start: self.mentions[place] for place in inside}
        return FilterFeatures(mentions, self.vectors.part(start, end))

    @cached_property
    def _named(self) -> list[int]:
        return list(self.mentions)


Judged = Mapping[int, tuple[tuple[int, bool], ...]]
"""The places of documents that are judged, with the topics and whether they are relevant."""


class Returned(NamedTuple):
    """A document that is returned for a topic: its place, and how sure that is."""

    place: int
    topic: int
    confidence: int


class Learner(ABC):
    """A filter at work that learns; its kinds say what it sees, believes and learns.

    Documents are taken many at a time, in stretches within which nothing becomes known.
    """

    def __init__(
        self,
        topics: Sequence[Topic],
        tools: FilterContext,
        labels: Mapping[str, Mapping[str, bool]],
        buckets: float,
    ) -> None:
        if buckets != int(buckets) or not 1024 <= buckets <= 1 << 28:
            raise CitebedError(f"buckets={buckets:g} is not a whole number from 1024 to {1 << 28}")
        self._buckets = int(buckets)
        self._numbers = Numbers(tools, self._buckets)
        self._ids = [topic.query_id for topic in topics]
        self._labels = Labels(topics, labels)
        self._lessons = Lessons(tools.delay)

    def score(self, batch: Documents) -> list[FilterLine]:
        """The lines for a batch; learns what is due before each document."""
        return self.take(batch.first, self.read(batch.table))

    def read(self, table: pl.DataFrame) -> DocumentFeatures:
        """All documents: each counts, whatever it says."""
        mentions = dict(self._table().found(table))
        texts = (
            "\n".join(text for text in texts if text) for texts in table.select(TEXTS).iter_rows()
        )
        rows: Ints = np.arange(table.height)
        times = table["time"].to_numpy()
        return DocumentFeatures(
            rows, table["doc_id"], times, mentions, self._numbers.counted(texts)
        )

    def take(self, first: int, reads: DocumentFeatures) -> list[FilterLine]:
        """The lines for documents; learns what is due before each of them."""
        judged = self._labels.of(reads)
        places, names = list(judged), reads.names.to_list()
        lines: list[FilterLine] = []
        start = 0
        while start < len(reads):
            for lesson in self._lessons.due(int(reads.times[start])):
                self._learn(lesson)
            end = self._changes(reads.times, start, places)
            some = reads.part(start, end)
            seen = self._see(first, some)
            returned = self._returned(seen)
            for place, topic, sure in returned:
                name, time = names[start + place], int(some.times[place])
                is_named = topic in seen.mentions.get(place, ())
                lines.append(FilterLine(self._ids[topic], name, time, sure, RELEVANT, is_named))
            those = {place - start: judged[place] for place in between(places, start, end)}
            self._hold_back(some.times, seen, those)
            self._passed(seen, {place for place, *_ in returned}.union(those))
            start = end
        return lines

    def _changes(self, times: Ints, start: int, judged: Sequence[int]) -> int:
        """The place of the first document after ``start`` before which something becomes known."""
        first = between(judged, start, len(times))[:1]
        due = [*self._lessons.next(), *(self._lessons.after(int(times[place])) for place in first)]
        return int(np.searchsorted(times, min(due), side="right")) if due else len(times)

    def skip(self, part: Skipped) -> None:
        """Learn from a part as if its documents had been taken, of which it is told some: those
        that are judged, those before which a lesson is due and, for a filter that looks back, some
        before these and before the end."""
        if part.told is not None:
            self._follow(part, part.told)
        self._count(part.tally)

    def _follow(self, part: Skipped, told: LearningDocuments) -> None:
        reads = told.reads
        seen = self._see_of(part.first, told)
        judged = self._labels.of(reads)
        places = list(judged)

        def passed(start: int, end: int) -> SkippedDocuments:
            those = {place - start for place in between(places, start, end)}
            return SkippedDocuments(reads.rows[start:end], seen.part(start, end), those)

        start, row = 0, 0
        for place, time in enumerate(reads.times.tolist()):
            due = list(self._lessons.due(time))
            if due:
                now = int(reads.rows[place])
                self._look_back(part, passed(start, place), row, now)
                start, row = place, now
            for lesson in due:
                self._learn(lesson)
            if place in judged:
                self._hold_back(reads.times, seen, {place: judged[place]})
        self._look_back(part, passed(start, len(reads)), row, part.length)

    def _hold_back(self, times: Ints, seen: FilterFeatures, judged: Judged) -> None:
        """Keep what documents teach until it is due."""
        for place, topics in judged.items():
            numbers, values = seen.vectors.at(place)
            named = seen.mentions.get(place, {})
            for topic, relevant in topics:
                lesson = TrainingExample(0, topic, relevant, named.get(topic, 0.0), numbers, values)
                self._lessons.add(int(times[place]), lesson)

    def judged(self, reads: DocumentFeatures) -> Collection[int]:
        """The places of documents that are judged; it is remembered that they came."""
        return self._labels.of(reads).keys()

    def _counted(self, text: str) -> tuple[Ints, Floats]:
        """The terms of a text as numbers, and how often each occurs."""
        return self._numbers.counted([text]).at(0)

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
    def _look_back(self, part: Skipped, passed: SkippedDocuments, start: int, end: int) -> None:
        """Remember what ``_passed`` would have of a part's rows from ``start`` to before ``end``,
        between which nothing was learned; ``passed`` are some of them."""

    @abstractmethod
    def tally(self) -> TermStatistics:
        """A tally of what it counts, with nothing in it."""

    @abstractmethod
    def _table(self) -> NameTable:
        """The names that it looks for."""

    @abstractmethod
    def _see(self, first: int, reads: DocumentFeatures) -> FilterFeatures:
        """What it sees of documents; ``first`` is how many came before the table that they are rows
        of."""

    @abstractmethod
    def _see_of(self, first: int, told: LearningDocuments) -> FilterFeatures:
        """The same of documents in a part that is skipped."""

    @abstractmethod
    def _count(self, tally: TermStatistics) -> None:
        """Count what a part has."""

    @abstractmethod
    def _returned(self, seen: FilterFeatures) -> list[Returned]:
        """Which documents are returned for which topics, in the order of both."""

    @abstractmethod
    def _learn(self, lesson: TrainingExample) -> None:
        """Take a judgement in that has become known."""

    @abstractmethod
    def _passed(self, seen: FilterFeatures, known: Collection[int]) -> None:
        """Remember documents for those after them; those at the places that are ``known`` were
        returned or judged for some topic."""


class SkippedDocuments(NamedTuple):
    """Documents of a part that is skipped: their rows, what was seen of them, and the places of
    those that are judged."""

    rows: Ints
    seen: FilterFeatures
    judged: Collection[int]
