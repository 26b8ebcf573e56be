"""A relevance model of each topic: its text, and its training documents as they pass.

After UMass's and Delaware's runs at TREC KBA 2012 (``PC_RM10``, ``UDInfoKBA_WIKI1``), which
expanded an entity's article to a language model. Lavrenko and Croft, "Relevance-based language
models", SIGIR 2001; smoothing after Zhai and Lafferty, "A study of smoothing methods", SIGIR 2001.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citebed.errors import CitebedError
from citebed.runs.tables import Floats, Ints
from citebed.timeline.filters.base import (
    Filter,
    Read,
    Skipped,
    State,
    Tally,
    Told,
    Tools,
    confidence,
)
from citebed.timeline.filters.learning import Learner, Lesson, Passed, Seen, packed, unpacked
from citebed.timeline.filters.matching import NameTable
from citebed.timeline.filters.topics import Topic


@dataclass(frozen=True)
class RelevanceModel(Filter):
    """How much of what sets a topic apart from the stream a document has.

    The topic's model is P(w|q) = text · P(w | its names and text) + (1 - text) · mean of P(w|d)
    over its training documents so far, cut to the ``terms`` likeliest terms. The background
    P(w|C) is of the documents so far and the topics' own texts, with half a count for each term.
    A document's model is smoothed with ``mu``. The score is the log-likelihood ratio

        s = Σ_w P(w|q) · ln((tf + mu · P(w|C)) / ((|d| + mu) · P(w|C)))

    and the confidence 1000 · s / s*, where s* is the score of a document as long as this one in
    which each term stands as often as the topic's model says, tf = |d| · P(w|q). Documents with
    s ≤ ``least`` · s* are not returned.
    """

    name: ClassVar[str] = "relevance_model"
    needs_terms: ClassVar[bool] = True
    mu: float = 300.0
    text: float = 0.5
    terms: float = 50
    least: float = 0.1
    buckets: float = 1 << 20

    def __post_init__(self) -> None:
        """Refuse what the formulas cannot take."""
        self.check_below_one("text", "least")
        if not self.mu:
            raise CitebedError("mu=0 leaves documents without smoothing; take more than 0")

    def start(self, topics: Sequence[Topic], tools: Tools) -> RelevanceFiltering:
        """Begin with a stream."""
        return RelevanceFiltering(self, topics, tools)


class Background:
    """How often terms occur in what was seen so far."""

    def __init__(self, buckets: int) -> None:
        self._counts: Floats = np.zeros(buckets, np.float64)
        self._total = 0.0
        self._different = 0

    def add(self, numbers: Ints, tf: Floats) -> None:
        """Count a text."""
        self._different += int(np.count_nonzero(self._counts[numbers] == 0))
        self._counts[numbers] += tf
        self._total += float(tf.sum())

    def probability(self, numbers: Ints) -> Floats:
        """P(w|C): counts with a half added, for one more term than were seen."""
        all_of_it = self._total + 0.5 * (self._different + 1)
        return np.asarray((self._counts[numbers] + 0.5) / all_of_it, np.float64)

    def state(self) -> State:
        """The counts."""
        return packed("background", self._counts)

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self._counts = unpacked("background", state, self._counts.shape)
        self._total = float(self._counts.sum())
        self._different = int(np.count_nonzero(self._counts))


class _Profile:
    """A topic's model: what its text says, the sum of its training documents, and both."""

    def __init__(self, numbers: Ints, tf: Floats, declared: RelevanceModel) -> None:
        self._declared = declared
        self._text = _shares(numbers, tf)
        self.learned: dict[int, float] = {}
        self.documents = 0
        self._mix()

    def learn(self, numbers: Ints, tf: Floats) -> None:
        """Take a training document in; one without terms teaches nothing."""
        if numbers.size:
            for number, share in _shares(numbers, tf).items():
                self.learned[number] = self.learned.get(number, 0.0) + share
            self.documents += 1
            self._mix()

    def restore(self, learned: dict[int, float], documents: int) -> None:
        """Go on with what was learned."""
        self.learned, self.documents = learned, documents
        self._mix()

    def _mix(self) -> None:
        """Take the likeliest terms: ``keys`` in ascending order, and their ``weights``."""
        share = self._declared.text if self._text else 0.0
        share = share if self.documents else 1.0
        mixed = {number: share * p for number, p in self._text.items()}
        for number, total in self.learned.items():
            mixed[number] = mixed.get(number, 0.0) + (1 - share) * total / self.documents
        best = sorted((n for n in mixed if mixed[n] > 0), key=lambda n: (-mixed[n], n))
        self.keys = sorted(best[: max(1, int(self._declared.terms))])
        self.key_set = frozenset(self.keys)
        self.numbers: Ints = np.array(self.keys, np.int64)
        weights = np.array([mixed[number] for number in self.keys], np.float64)
        self.weights: Floats = weights / weights.sum() if self.keys else weights


def _shares(numbers: Ints, tf: Floats) -> dict[int, float]:
    total = float(tf.sum())
    return {n: count / total for n, count in zip(numbers.tolist(), tf.tolist(), strict=True)}


class RelevanceFiltering(Learner):
    """Relevance models at work; they learn from training documents only."""

    def __init__(self, declared: RelevanceModel, topics: Sequence[Topic], tools: Tools) -> None:
        super().__init__(topics, tools, {}, declared.buckets)
        self._declared = declared
        self._names = NameTable(topics)
        self._background = Background(self._buckets)
        self._profiles = []
        for topic in topics:
            numbers, tf = self._counted(" ".join((*(n.name for n in topic.names), topic.text)))
            self._background.add(numbers, tf)
            self._profiles.append(_Profile(numbers, tf, declared))

    def _table(self) -> NameTable:
        return self._names

    def _see(self, read: Read, before: int) -> Seen:  # noqa: ARG002
        topics = self._names.topics_of(read.mentions)
        return Seen(dict.fromkeys(topics, 0.0), read.numbers, read.tf)

    def _see_of(self, told: Told, before: int) -> Seen:
        return self._see(told.read, before)

    def tally(self) -> Tally:
        """Terms, each time that they occur."""
        return Tally(len(self._names.names), self._buckets)

    def _look_back(self, part: Skipped, passed: Sequence[Passed], start: int, end: int) -> None:
        """Do nothing: documents that pass are counted, not remembered."""

    def _count(self, tally: Tally) -> None:
        numbers = np.flatnonzero(tally.terms)
        self._background.add(numbers, tally.terms[numbers])

    def _learn(self, lesson: Lesson) -> None:
        self._profiles[lesson.topic].learn(lesson.numbers, lesson.values)

    def _passed(self, seen: Seen, is_other: bool) -> None:  # noqa: ARG002
        self._background.add(seen.numbers, seen.values)

    def _returned(self, seen: Seen) -> Iterator[tuple[int, int]]:
        length = float(seen.values.sum())
        frequency = dict(zip(seen.numbers.tolist(), seen.values.tolist(), strict=True))
        for topic, profile in enumerate(self._profiles):
            if profile.key_set.isdisjoint(frequency):
                continue  # all it has is less likely than in the background
            there = np.array([frequency.get(key, 0.0) for key in profile.keys])
            background = self._background.probability(profile.numbers)
            ideal = length * profile.weights
            score = self._ratio(profile, there, background, length)
            best = self._ratio(profile, ideal, background, length)
            if best > 0 and score > self._declared.least * best:
                yield topic, confidence(score / best)

    def _ratio(self, profile: _Profile, tf: Floats, background: Floats, length: float) -> float:
        """The log-likelihood ratio of a document to the background, under a topic's model."""
        mu = self._declared.mu
        document = (tf + mu * background) / (length + mu)
        return float((profile.weights * np.log(document / background)).sum())

    def state(self) -> State:
        """Counts, what was learned, and what is still to be."""
        learned = [
            (topic, number)
            for topic, profile in enumerate(self._profiles)
            for number in profile.learned
        ]
        shares = [share for profile in self._profiles for share in profile.learned.values()]
        return {
            "learned": np.array(learned, np.int64).reshape(-1, 2),
            "learned_shares": np.array(shares, np.float64),
            "learned_documents": np.array([p.documents for p in self._profiles], np.int64),
            **self._background.state(),
            **super().state(),
        }

    def restore(self, state: State) -> None:
        """Go on from a state."""
        super().restore(state)
        learned: list[dict[int, float]] = [{} for _ in self._profiles]
        for (topic, number), share in zip(
            state["learned"].tolist(), state["learned_shares"].tolist(), strict=True
        ):
            learned[topic][number] = share
        for profile, shares, documents in zip(
            self._profiles, learned, state["learned_documents"].tolist(), strict=True
        ):
            profile.restore(shares, documents)
        self._background.restore(state)
