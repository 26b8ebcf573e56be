"""Running filters: read a stream, score its documents, and learn from judgements after a delay.

A document is scored with what the filter knew before it. A judged document becomes a training
example, which is used for the first document that is later by more than the delay. Documents of
the same second never see each other's judgements, so their order does not matter.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.grammar import Call
from citebed.runs.assessors import merge_assessors
from citebed.runs.reader import read_judgement_table
from citebed.runs.tables import Floats, Ints, checked_columns
from citebed.runs.trec_files import QRELS
from citebed.runs.writer import FilterLine
from citebed.timeline.filters.name_table import NameTable
from citebed.timeline.filters.topics import (
    DocumentFeatures,
    FilterContext,
    Skipped,
    State,
    TermStatistics,
    Topic,
    Vectors,
    no_vectors,
)
from citebed.timeline.streams.stream_files import TEXTS

# --- terms as numbers -------------------------------------------------------------------------


class Numbers(dict[str, int]):
    """A cache from words to term numbers below ``buckets``, the same in every process.

    Terms are hashed, so that counts do not grow with the stream. Different terms may share a
    number; with a million buckets and the words of one language, few do.
    """

    def __init__(self, tools: FilterContext, buckets: float) -> None:
        super().__init__()
        if buckets != int(buckets) or not 1024 <= buckets <= 1 << 28:
            raise CitebedError(f"buckets={buckets:g} is not a whole number from 1024 to {1 << 28}")
        self._tools, self.buckets = tools, int(buckets)

    def __missing__(self, word: str) -> int:
        """Compute the number of a word that is not cached; empty the cache when it is full."""
        if len(self) == _REMEMBERED:
            self.clear()
        term = self._tools.term(word)
        if term is None:
            self[word] = _NO_TERM
        else:
            self[word] = zlib.crc32(term.encode("utf-8", "surrogatepass")) % self.buckets
        return self[word]

    def counted(self, texts: Iterable[str]) -> Vectors:
        """Count the terms of each text."""
        flat: list[int] = []
        ends = [0]
        number, words = self.__getitem__, self._tools.words
        for text in texts:
            flat += map(number, words(text))
            ends.append(len(flat))
        places = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        numbers: Ints = np.array(flat, np.int64)
        keys = (places * self.buckets + numbers)[numbers != _NO_TERM]
        keys, counts = np.unique(keys, return_counts=True)
        places, there = np.divmod(keys, self.buckets)
        starts = np.searchsorted(places, np.arange(len(ends)))
        return Vectors(starts, there, counts.astype(np.float64))


_NO_TERM = -1
_NO_TERMS: Ints = np.empty(0, np.int64)
_REMEMBERED = 1 << 18


def packed(name: str, array: Floats) -> dict[str, NDArray[np.generic]]:
    """Store a sparse array as the positions and values of its non-zero elements."""
    places = np.flatnonzero(array.ravel() != 0)
    return {f"{name}_places": places, f"{name}_values": array.ravel()[places]}


def unpacked(name: str, state: dict[str, NDArray[np.generic]], shape: tuple[int, ...]) -> Floats:
    """Restore an array that ``packed`` stored under this name."""
    array: Floats = np.zeros(shape, np.float64)
    array.ravel()[state[f"{name}_places"].astype(np.int64)] = state[f"{name}_values"]
    return array


# --- feedback ---------------------------------------------------------------------------------


class TrainingExample(NamedTuple):
    """A judged document with its topic, relevance and features.

    It is used for documents later than ``due``. ``mention`` is the evidence from names, or 0.
    """

    due: int
    topic: int
    relevant: bool
    mention: float
    numbers: Ints
    values: Floats


class Lessons:
    """A queue of training examples that are not due yet, in order of their time."""

    def __init__(self, delay: int) -> None:
        self._delay = delay
        self._waiting: deque[TrainingExample] = deque()

    def add(self, time: int, lesson: TrainingExample) -> None:
        """Add an example that is due after ``time`` plus the delay."""
        self._waiting.append(lesson._replace(due=self.after(time)))

    def due(self, time: int) -> Iterator[TrainingExample]:
        """Remove and yield the examples that are due before this time."""
        while self._waiting and self._waiting[0].due < time:
            yield self._waiting.popleft()

    def next(self) -> list[int]:
        """Return the due time of the first example, or an empty list."""
        return [self._waiting[0].due] if self._waiting else []

    def after(self, time: int) -> int:
        """Return the due time of an example that is added at this time."""
        return time + self._delay

    def state(self) -> State:
        """Return the examples as concatenated arrays."""
        lessons = list(self._waiting)
        whole = np.array([(k.due, k.topic, k.relevant, k.numbers.size) for k in lessons], np.int64)
        return {
            "lessons": whole.reshape(-1, 4),
            "lesson_mentions": np.array([k.mention for k in lessons], np.float64),
            "lesson_numbers": np.concatenate(
                [np.empty(0, np.int64), *(k.numbers for k in lessons)]
            ),
            "lesson_values": np.concatenate([np.empty(0), *(k.values for k in lessons)]),
        }

    def restore(self, state: State) -> None:
        """Continue from a state."""
        due, topic, relevant, sizes = state["lessons"].T
        ends = np.cumsum(sizes)[:-1]
        examples = zip(
            due.tolist(),
            topic.tolist(),
            relevant.astype(bool).tolist(),
            state["lesson_mentions"].tolist(),
            np.split(state["lesson_numbers"].astype(np.int64), ends),
            np.split(state["lesson_values"].astype(np.float64), ends),
            strict=False,  # of no examples, there is one empty part
        )
        self._waiting = deque(TrainingExample(*example) for example in examples)


def labels_of(path: str | Path) -> tuple[dict[str, dict[str, bool]], int]:
    """Read judgements by document and topic; return them with the number of lines.

    The file has one of KBA's formats, is TREC qrels (``query_id iteration doc_id relevance``), or
    Parquet. Several judgements of a pair are merged as in KBA: relevant (1) or central (2) only
    if all assessors agree.
    """
    table = checked_columns(read_judgement_table(Path(path)), QRELS)
    labels: dict[str, dict[str, bool]] = {}
    for query_id, doc_id, relevance in merge_assessors(table).iter_rows():
        labels.setdefault(doc_id, {})[query_id] = relevance > 0
    return labels, table.height


def known_labels(
    topics: Sequence[Topic], labels: Mapping[str, Mapping[str, bool]]
) -> dict[str, tuple[tuple[int, bool], ...]]:
    """Map each document to the numbers of its topics, with relevance; training is relevant."""
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
    """The labels of documents, and which labelled documents have occurred in the stream."""

    def __init__(self, topics: Sequence[Topic], labels: Mapping[str, Mapping[str, bool]]) -> None:
        self._known = known_labels(topics, labels)
        self._unmet = set(self._known)

    def of(self, reads: DocumentFeatures) -> dict[int, tuple[tuple[int, bool], ...]]:
        """Return the labels of these documents by position.

        A document is found under its own id and its id in a run; labels of the latter win.
        """
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
        """Return the labelled ids that have not occurred yet, sorted."""
        return sorted(self._unmet)

    def state(self) -> State:
        """Return which of the sorted labelled ids have occurred."""
        return {"labels_met": np.array([i not in self._unmet for i in sorted(self._known)], bool)}

    def restore(self, state: State) -> None:
        """Continue from a state."""
        ids = zip(sorted(self._known), state["labels_met"].tolist(), strict=True)
        self._unmet = {doc_id for doc_id, met in ids if not met}


# --- at work ----------------------------------------------------------------------------------

RELEVANT = 1
"""The rating of every line that a filter writes; only the confidence varies."""


@dataclass(frozen=True)
class Filter:
    """A filter model with its parameters, all of them numbers."""

    name: ClassVar[str]
    needs_terms: ClassVar[bool] = False
    takes_judgements: ClassVar[bool] = False
    looks_back: ClassVar[bool] = False
    """Whether learning also uses the documents before the judged one."""
    block: ClassVar[int] = 1 << 18
    """Bytes of the stream per batch; fast models use larger batches."""

    def __str__(self) -> str:
        return str(Call(self.name, tuple((f.name, getattr(self, f.name)) for f in fields(self))))

    def check_below_one(self, *names: str) -> None:
        """Raise an error unless these parameters are in [0, 1)."""
        for name in names:
            if not 0 <= getattr(self, name) < 1:
                raise CitebedError(f"{name}={getattr(self, name):g} is not in [0, 1)")

    def start(self, topics: Sequence[Topic], tools: FilterContext) -> RunningFilter:
        """Start filtering a stream."""
        raise NotImplementedError


@dataclass(frozen=True)
class FilterFeatures:
    """Weighted features of documents with these ``rows``.

    ``mentions`` has the topics that each document names, with the evidence; ``vectors`` has the
    term weights.
    """

    rows: Ints
    mentions: Vectors
    vectors: Vectors

    def take(self, places: Ints) -> FilterFeatures:
        """Return the documents at these positions."""
        mentions, vectors = self.mentions.take(places), self.vectors.take(places)
        return FilterFeatures(self.rows[places], mentions, vectors)


Judged = Mapping[int, tuple[tuple[int, bool], ...]]
"""Topics and relevance of the judged documents, by position."""


class Returned(NamedTuple):
    """A document, by its position, that is returned for a topic."""

    place: int
    topic: int
    confidence: int


def confidence(share: float) -> int:
    """Convert a share between 0 and 1 into a confidence between 1 and 1000."""
    return min(1000, max(1, round(1000 * share)))


class RunningFilter:
    """A filter at work on a stream; subclasses define its features, scores and learning steps.

    Without ``numbers`` for terms, it reads only documents with a mention. Documents are scored in
    batches within which no training example becomes due.
    """

    def __init__(
        self,
        topics: Sequence[Topic],
        numbers: Numbers | None = None,
        labels: Labels | None = None,
        delay: int = 0,
    ) -> None:
        self._ids = [topic.query_id for topic in topics]
        self.names = NameTable(topics)
        self._numbers = numbers
        self._labels = labels or Labels((), {})
        self._lessons = Lessons(delay)
        self._counts = TermStatistics(len(self.names.names))

    def read(self, table: pl.DataFrame) -> DocumentFeatures:
        """Extract the features of a batch of documents in stream order.

        The columns are ``doc_id``, ``time``, ``title``, ``abstract``, ``text``. This takes most of
        the time and needs no state, so that it can run in parallel.
        """
        mentions = self.names.read(table)
        if self._numbers is None:
            rows: Ints = np.flatnonzero(np.diff(mentions.ends))
            mentions, terms = mentions.take(rows), no_vectors(len(rows))
        else:  # term counts need every document
            rows = np.arange(table.height)
            texts = table.select(TEXTS).iter_rows()
            terms = self._numbers.counted("\n".join(filter(None, own)) for own in texts)
        there = table.select("doc_id", "time")[rows]
        return DocumentFeatures(rows, there["doc_id"], there["time"].to_numpy(), mentions, terms)

    def take(self, first: int, reads: DocumentFeatures) -> list[FilterLine]:
        """Return the lines for documents that were read, by document and then by topic.

        ``first`` is the number of documents before the batch. Before each document, the filter
        learns what is due.
        """
        judged = self._labels.of(reads)
        names = reads.names.to_list()
        lines: list[FilterLine] = []
        start = 0
        while start < len(reads):
            for lesson in self._lessons.due(int(reads.times[start])):
                self._learn(lesson)
            end = self._changes(reads.times, start, judged)
            some = reads.take(np.arange(start, end))
            seen = self._see(first, self._counts.told(some))
            returned = self._returned(seen)
            topics = seen.mentions
            named = set(zip(topics.places().tolist(), topics.numbers.tolist(), strict=True))
            for place, topic, sure in returned:
                name, time = names[start + place], int(some.times[place])
                is_named = (place, topic) in named
                lines.append(FilterLine(self._ids[topic], name, time, sure, RELEVANT, is_named))
            those = {place - start: judged[place] for place in judged if start <= place < end}
            self._hold_back(some.times, seen, those)
            self._passed(seen, {place for place, *_ in returned}.union(those))
            start = end
        return lines

    def _changes(self, times: Ints, start: int, judged: Judged) -> int:
        """Return the position of the first document that could use a new training example."""
        first = next((place for place in judged if place >= start), None)
        due = self._lessons.next()
        if first is not None:
            due = [*due, self._lessons.after(int(times[first]))]
        return int(np.searchsorted(times, min(due), side="right")) if due else len(times)

    def skip(self, part: Skipped) -> None:
        """Change the state as ``take`` would for all documents of a part.

        ``part.told`` has the judged documents, those before which an example becomes due and, for
        a filter that looks back, some documents before these and before the end.
        """
        if part.told is not None:
            self._follow(part, part.told)
        self._count(part.tally)

    def _follow(self, part: Skipped, told: DocumentFeatures) -> None:
        seen = self._see(part.first, self._counts.after(told))
        judged = self._labels.of(told)
        rows = told.rows[list(judged)]
        start = row = 0
        for place, time in enumerate(told.times.tolist()):
            due = list(self._lessons.due(time))
            if due:
                now = int(told.rows[place])
                self._look_back(part, seen.take(np.arange(start, place)), rows, row, now)
                start, row = place, now
            for lesson in due:
                self._learn(lesson)
            if place in judged:
                self._hold_back(told.times, seen, {place: judged[place]})
        self._look_back(part, seen.take(np.arange(start, len(told))), rows, row, part.length)

    def _hold_back(self, times: Ints, seen: FilterFeatures, judged: Judged) -> None:
        """Queue the training examples of judged documents."""
        for place, topics in judged.items():
            numbers, values = seen.vectors.at(place)
            named = dict(zip(*seen.mentions.at(place), strict=True))
            for topic, relevant in topics:
                mention = float(named.get(topic, 0.0))
                lesson = TrainingExample(0, topic, relevant, mention, numbers, values)
                self._lessons.add(int(times[place]), lesson)

    def judged(self, reads: DocumentFeatures) -> Collection[int]:
        """Return the positions of the documents to learn from, and record that they occurred."""
        return self._labels.of(reads).keys()

    def unmet(self) -> list[str]:
        """Return the labelled documents that have not occurred, sorted."""
        return self._labels.unmet()

    def state(self) -> State:
        """Return everything that the next batch depends on."""
        return {**self._lessons.state(), **self._labels.state()}

    def restore(self, state: State) -> None:
        """Continue from an earlier ``state()``."""
        self._lessons.restore(state)
        self._labels.restore(state)

    def tally(self) -> TermStatistics:
        """Return empty counts of the kind that this filter keeps, by default of names."""
        return TermStatistics(len(self.names.names))

    def _see(self, first: int, reads: DocumentFeatures) -> FilterFeatures:
        """Weigh the features of documents with their counts.

        ``first`` counts the documents before their batch or part.
        """
        raise NotImplementedError

    def _returned(self, seen: FilterFeatures) -> list[Returned]:
        """Return the documents to return for each topic, ordered by document and topic."""
        raise NotImplementedError

    def _count(self, tally: TermStatistics) -> None:
        """Add the counts of a skipped part."""
        self._counts.merge(tally)

    def _learn(self, lesson: TrainingExample) -> None:
        """Learn from an example that is due."""

    def _passed(self, seen: FilterFeatures, known: Collection[int]) -> None:
        """Remember scored documents; those at ``known`` positions were returned or judged."""

    def _look_back(
        self, part: Skipped, passed: FilterFeatures, judged: Ints, start: int, end: int
    ) -> None:
        """Remember what ``_passed`` would have remembered of rows ``start`` to ``end - 1``.

        Nothing was learned between these rows; ``passed`` are some of them, ``judged`` the rows of
        judged documents.
        """
