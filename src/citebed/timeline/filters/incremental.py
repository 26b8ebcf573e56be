"""Incremental learning: a classifier for each topic that goes on learning from judgements.

After UvA's run at TREC KBA 2012 (``UvAIncLearnHigh``), the best of the tables in Dietz, Dalton and
Balog, "Time-aware evaluation of cumulative citation recommendation systems". Logistic regression
with one gradient step for each judgement (Bottou, "Online learning and stochastic
approximations", 1998) over hashed terms (Weinberger et al., "Feature hashing for large scale
multitask learning", ICML 2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

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
from citebed.timeline.filters.names import NameFiltering, Names
from citebed.timeline.filters.topics import Topic

BIAS = -3.0
MENTION = 4.0
"""What is believed before the first judgement: without a mention of its names, a document is
relevant with probability 0.05; with one sure mention 0.27; with very many 0.73."""
_AT_ONCE = 1000


@dataclass(frozen=True)
class Incremental(Filter):
    """P(relevant) = σ(bias + a · m + v · f), with bias, a and v learned for each topic.

    m = x / (x + 1) is the evidence of ``names``; f is the document's unit vector of
    (1 + ln tf) · ln((N + 1) / (df + 0.5)), df of the N documents so far, this one among them,
    having the term. Before the first judgement bias = -3, a = 4 and v = 0. Each judgement that
    becomes known is one step of size ``rate`` up the gradient; a relevant document is set against
    the last document that was returned for no topic, so that relevant judgements alone teach
    something. Documents with P ≤ ``least`` are not returned.
    """

    name: ClassVar[str] = "incremental"
    needs_terms: ClassVar[bool] = True
    takes_judgements: ClassVar[bool] = True
    looks_back: ClassVar[bool] = True
    rate: float = 1.0
    least: float = 0.1
    buckets: float = 1 << 17

    def __post_init__(self) -> None:
        """Refuse what is no probability."""
        self.check_below_one("least")

    def start(self, topics: Sequence[Topic], tools: Tools) -> IncrementalFiltering:
        """Begin with a stream."""
        return IncrementalFiltering(self, topics, tools)


class IncrementalFiltering(Learner):
    """Incremental learning at work."""

    def __init__(self, declared: Incremental, topics: Sequence[Topic], tools: Tools) -> None:
        super().__init__(topics, tools, tools.labels, declared.buckets)
        self._declared = declared
        self._names = NameFiltering(Names(), topics)
        self._df: Floats = np.zeros(self._buckets, np.float64)
        self._bias: Floats = np.full(len(topics), BIAS)
        self._mention: Floats = np.full(len(topics), MENTION)
        self._weights: Floats = np.zeros((self._buckets, len(topics)))
        self._other: tuple[Ints, Floats] = (np.empty(0, np.int64), np.empty(0))

    def _table(self) -> NameTable:
        return self._names.names

    def _see(self, read: Read, before: int) -> Seen:
        self._df[read.numbers] += 1
        values = _unit_vector(read.tf, self._df[read.numbers], before)
        return Seen(self._names.evidence(read.mentions, before), read.numbers, values)

    def _see_of(self, told: Told, before: int) -> Seen:
        numbers = told.read.numbers
        values = _unit_vector(told.read.tf, self._df[numbers] + told.terms, before)
        return Seen(self._names.evidence_of(told, before), numbers, values)

    def tally(self) -> Tally:
        """Terms and names, by documents."""
        return Tally(len(self._names.names.names), self._buckets, once=True)

    def _count(self, tally: Tally) -> None:
        self._df += tally.terms
        self._names.count(tally)

    def _look_back(self, part: Skipped, passed: Sequence[Passed], start: int, end: int) -> None:
        for each in reversed(passed):
            if each.row != end - 1:
                break  # what stands between was not told
            if self._is_other(each):
                return
            end -= 1
        if start < end:
            self._look_through(part, part.more(start, end))

    def _look_through(self, part: Skipped, those: Iterator[Told]) -> None:
        """Remember the last one of many documents that is to be, some at a time from behind."""
        while some := list(islice(those, _AT_ONCE)):
            for told in reversed(some):
                seen = self._see_of(told, part.first + told.read.row)
                if self._is_other(Passed(told.read.row, seen, self.judged(told.read))):
                    break

    def _is_other(self, passed: Passed) -> bool:
        """Whether a document is neither judged nor returned for any topic, and so remembered."""
        is_other = not passed.judged and not self._returned(passed.seen)
        self._passed(passed.seen, is_other)
        return is_other

    def _returned(self, seen: Seen) -> list[tuple[int, int]]:
        z = self._bias + (seen.values[:, None] * self._weights[seen.numbers]).sum(axis=0)
        for topic, evidence in seen.mentions.items():
            z[topic] += self._mention[topic] * _saturated(evidence)
        least = self._declared.least
        floor = math.log(least / (1 - least)) if least else -math.inf
        likely = np.flatnonzero(z > floor).tolist()
        return [(topic, confidence(_sigmoid(float(z[topic])))) for topic in likely]

    def _passed(self, seen: Seen, is_other: bool) -> None:
        if is_other:
            self._other = seen.numbers, seen.values

    def _learn(self, lesson: Lesson) -> None:
        self._step(lesson, float(lesson.relevant))
        if lesson.relevant and self._other[0].size:
            numbers, values = self._other
            self._step(Lesson(0, lesson.topic, False, 0.0, numbers, values), 0.0)

    def _step(self, lesson: Lesson, target: float) -> None:
        """One step up the gradient of the log-likelihood."""
        topic, numbers, values = lesson.topic, lesson.numbers, lesson.values
        mention = _saturated(lesson.mention)
        z = float(self._bias[topic]) + float(self._mention[topic]) * mention
        z += float((values * self._weights[numbers, topic]).sum())
        step = self._declared.rate * (target - _sigmoid(z))
        self._bias[topic] += step
        self._mention[topic] += step * mention
        self._weights[numbers, topic] += step * values

    def state(self) -> State:
        """What was counted, learned, and is still to be."""
        return {
            "bias": self._bias.copy(),
            "mention": self._mention.copy(),
            **packed("df", self._df),
            **packed("weights", self._weights),
            "other_numbers": self._other[0],
            "other_values": self._other[1],
            "names_df": self._names.state()["df"],
            **super().state(),
        }

    def restore(self, state: State) -> None:
        """Go on from a state."""
        super().restore(state)
        self._bias = state["bias"].astype(np.float64)
        self._mention = state["mention"].astype(np.float64)
        self._df = unpacked("df", state, self._df.shape)
        self._weights = unpacked("weights", state, self._weights.shape)
        numbers, values = state["other_numbers"], state["other_values"]
        self._other = numbers.astype(np.int64), values.astype(np.float64)
        self._names.restore({"df": state["names_df"]})


def _unit_vector(tf: Floats, df: Floats, before: int) -> Floats:
    """What a document's terms weigh; ``df`` counts it."""
    values = (1 + np.log(tf)) * np.log((before + 2) / (df + 0.5))
    length = math.sqrt(float((values * values).sum()))
    return values / length if length else values


def _saturated(evidence: float) -> float:
    return evidence / (evidence + 1.0)


def _sigmoid(z: float) -> float:
    """The logistic function, also where it is next to nothing."""
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0
