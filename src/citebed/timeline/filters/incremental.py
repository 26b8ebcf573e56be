"""Incremental learning: a classifier for each topic that goes on learning from judgements.

After UvA's run at TREC KBA 2012 (``UvAIncLearnHigh``), the best of the tables in Dietz, Dalton and
Balog, "Time-aware evaluation of cumulative citation recommendation systems". Logistic regression
with one gradient step for each judgement (Bottou, "Online learning and stochastic
approximations", 1998) over hashed terms (Weinberger et al., "Feature hashing for large scale
multitask learning", ICML 2009).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citebed.timeline.filters.base import (
    RELEVANT,
    TEXTS,
    Batch,
    Filter,
    State,
    Tools,
    confidence,
)
from citebed.timeline.filters.feedback import Lesson, Lessons, known_labels
from citebed.timeline.filters.hashing import (
    Numbers,
    Values,
    checked_buckets,
    counted,
    packed,
    unpacked,
)
from citebed.timeline.filters.names import NameFiltering, Names
from citebed.timeline.filters.topics import Topic
from citebed.timeline.kba_format import FilterLine, stream_id

BIAS = -3.0
MENTION = 4.0
"""What is believed before the first judgement: without a mention of its names, a document is
relevant with probability 0.05; with one sure mention 0.27; with very many 0.73."""


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
    rate: float = 1.0
    least: float = 0.1
    buckets: float = 1 << 17

    def __post_init__(self) -> None:
        """Refuse what is no probability."""
        self.check_below_one("least")

    def start(self, topics: Sequence[Topic], tools: Tools) -> IncrementalFiltering:
        """Begin with a stream."""
        return IncrementalFiltering(self, topics, tools)


class IncrementalFiltering:
    """Incremental learning at work."""

    def __init__(self, declared: Incremental, topics: Sequence[Topic], tools: Tools) -> None:
        self._declared = declared
        self._terms = tools.terms
        self._buckets = checked_buckets(declared.buckets)
        self._ids = [topic.query_id for topic in topics]
        self._names = NameFiltering(Names(), topics)
        self._labels = known_labels(topics, tools.labels)
        self._lessons = Lessons(tools.delay)
        self._df: Values = np.zeros(self._buckets, np.float64)
        self._bias: Values = np.full(len(topics), BIAS)
        self._mention: Values = np.full(len(topics), MENTION)
        self._weights: Values = np.zeros((self._buckets, len(topics)))
        self._other: tuple[Numbers, Values] = (np.empty(0, np.int64), np.empty(0))

    def score(self, batch: Batch) -> list[FilterLine]:
        """The lines of the documents that are likely enough to be relevant."""
        lines: list[FilterLine] = []
        evidence = self._names.evidences(batch)
        rows = batch.table.select("doc_id", "time", *TEXTS).iter_rows()
        for row, (doc_id, time, *texts) in enumerate(rows):
            for lesson in self._lessons.due(time):
                self._learn(lesson)
            numbers, values = self._features(texts, batch.first + row + 1)
            mentions = evidence.get(row, {})
            name = stream_id(doc_id, time)
            found = self._found(mentions, numbers, values)
            lines += [
                FilterLine(self._ids[topic], name, time, sure, RELEVANT, topic in mentions)
                for topic, sure in found
            ]
            judged = self._labels.get(name) or self._labels.get(doc_id, ())
            for topic, relevant in judged:
                mention = _saturated(mentions.get(topic, 0.0))
                self._lessons.add(time, Lesson(0, topic, relevant, mention, numbers, values))
            if not found and not judged:
                self._other = numbers, values
        return lines

    def _features(self, texts: Sequence[str | None], documents: int) -> tuple[Numbers, Values]:
        """A document's unit vector; counts its terms."""
        terms = self._terms("\n".join(text for text in texts if text))
        numbers, tf = counted(terms, self._buckets)
        self._df[numbers] += 1
        idf = np.log((documents + 1) / (self._df[numbers] + 0.5))
        values = (1 + np.log(tf)) * idf
        length = math.sqrt(float((values * values).sum()))
        return numbers, values / length if length else values

    def _found(
        self, mentions: dict[int, float], numbers: Numbers, values: Values
    ) -> list[tuple[int, int]]:
        """The topics a document is returned for, with the confidences."""
        z = self._bias + (values[:, None] * self._weights[numbers]).sum(axis=0)
        for topic, evidence in mentions.items():
            z[topic] += self._mention[topic] * _saturated(evidence)
        least = self._declared.least
        floor = math.log(least / (1 - least)) if least else -math.inf
        likely = np.flatnonzero(z > floor).tolist()
        return [(topic, confidence(_sigmoid(float(z[topic])))) for topic in likely]

    def _learn(self, lesson: Lesson) -> None:
        self._step(lesson, float(lesson.relevant))
        if lesson.relevant and self._other[0].size:
            numbers, values = self._other
            self._step(Lesson(0, lesson.topic, False, 0.0, numbers, values), 0.0)

    def _step(self, lesson: Lesson, target: float) -> None:
        """One step up the gradient of the log-likelihood."""
        topic, numbers, values = lesson.topic, lesson.numbers, lesson.values
        z = float(self._bias[topic]) + float(self._mention[topic]) * lesson.mention
        z += float((values * self._weights[numbers, topic]).sum())
        step = self._declared.rate * (target - _sigmoid(z))
        self._bias[topic] += step
        self._mention[topic] += step * lesson.mention
        self._weights[numbers, topic] += step * values

    def state(self) -> State:
        """What was counted, learned, and is still to be."""
        return {
            "bias": self._bias.copy(),
            "mention": self._mention.copy(),
            **{f"df_{name}": array for name, array in packed(self._df).items()},
            **{f"weights_{name}": array for name, array in packed(self._weights).items()},
            "other_numbers": self._other[0],
            "other_values": self._other[1],
            **{f"names_{name}": array for name, array in self._names.state().items()},
            **self._lessons.state(),
        }

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self._bias = state["bias"].astype(np.float64)
        self._mention = state["mention"].astype(np.float64)
        df = unpacked(state["df_places"], state["df_values"], self._df.shape)
        weights = unpacked(state["weights_places"], state["weights_values"], self._weights.shape)
        self._df, self._weights = df.astype(np.float64), weights.astype(np.float64)
        self._other = (
            state["other_numbers"].astype(np.int64),
            state["other_values"].astype(np.float64),
        )
        self._names.restore({"df": state["names_df"]})
        self._lessons.restore(state)


def _saturated(evidence: float) -> float:
    return evidence / (evidence + 1.0)


def _sigmoid(z: float) -> float:
    """The logistic function, also where it is next to nothing."""
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0
