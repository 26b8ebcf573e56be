"""What the filters share that learn: reading every document, and the judged ones once more.

A document is scored with what was known before it. If it is judged, it becomes a lesson that is
taken when it is due, before the first document that may know of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from citebed.runs.writing import FilterLine, stream_id
from citebed.timeline.filters.base import RELEVANT, Batch, State, Tools
from citebed.timeline.filters.feedback import Labels, Lesson, Lessons
from citebed.timeline.filters.hashing import Numbers, Values, checked_buckets, counted
from citebed.timeline.filters.topics import Topic
from citebed.timeline.streams.stream_files import TEXTS


class Seen(NamedTuple):
    """What a filter sees of a document: the evidence for the topics that it names, its terms as
    numbers, and a value for each of them."""

    mentions: Mapping[int, float]
    numbers: Numbers
    values: Values


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
        self._buckets = checked_buckets(buckets)
        self._ids = [topic.query_id for topic in topics]
        self._labels = Labels(topics, labels)
        self._lessons = Lessons(tools.delay)

    def score(self, batch: Batch) -> list[FilterLine]:
        """The lines for a batch; learns what is due before each document."""
        lines: list[FilterLine] = []
        mentions = self._mentions(batch)
        rows = batch.table.select("doc_id", "time", *TEXTS).iter_rows()
        for row, (doc_id, time, *texts) in enumerate(rows):
            for lesson in self._lessons.due(time):
                self._learn(lesson)
            numbers, tf = self._counted("\n".join(text for text in texts if text))
            values = self._values(numbers, tf, batch.first + row)
            seen = Seen(mentions.get(row, {}), numbers, values)
            name = stream_id(doc_id, time)
            found = list(self._found(seen))
            lines += [
                FilterLine(self._ids[topic], name, time, sure, RELEVANT, topic in seen.mentions)
                for topic, sure in found
            ]
            judged = self._labels.of(doc_id, name)
            for topic, relevant in judged:
                mention = seen.mentions.get(topic, 0.0)
                self._lessons.add(time, Lesson(0, topic, relevant, mention, numbers, values))
            self._passed(seen, is_other=not found and not judged)
        return lines

    def _counted(self, text: str) -> tuple[Numbers, Values]:
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
    def _mentions(self, batch: Batch) -> Mapping[int, Mapping[int, float]]:
        """The evidence of names for each topic, in each row that names any."""

    @abstractmethod
    def _values(self, numbers: Numbers, tf: Values, before: int) -> Values:
        """What a document's terms weigh; ``before`` is how many documents came before it."""

    @abstractmethod
    def _found(self, seen: Seen) -> Iterable[tuple[int, int]]:
        """The topics that a document is returned for, in their order, with the confidences."""

    @abstractmethod
    def _learn(self, lesson: Lesson) -> None:
        """Take a judgement in that has become known."""

    @abstractmethod
    def _passed(self, seen: Seen, is_other: bool) -> None:
        """Remember a document for those after it; ``is_other`` if it was neither returned nor
        judged for any topic."""
