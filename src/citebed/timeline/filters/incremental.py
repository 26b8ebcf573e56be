"""Incremental learning: a classifier for each topic that keeps learning from judgements.

After UvA's run at TREC KBA 2012 (``UvAIncLearnHigh``), the best of the tables in Dietz, Dalton and
Balog, "Time-aware evaluation of cumulative citation recommendation systems". Logistic regression
with one gradient step for each judgement (Bottou, "Online learning and stochastic
approximations", 1998) over hashed terms (Weinberger et al., "Feature hashing for large scale
multitask learning", ICML 2009).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from citebed.runs.tables import Floats, Ints
from citebed.timeline.filters.names import Names
from citebed.timeline.filters.online_learning import (
    Filter,
    FilterFeatures,
    Labels,
    Numbers,
    Returned,
    RunningFilter,
    TrainingExample,
    confidence,
    packed,
    unpacked,
)
from citebed.timeline.filters.topics import (
    DocumentFeatures,
    FilterContext,
    Skipped,
    State,
    TermStatistics,
    Topic,
    Vectors,
)

BIAS = -3.0
MENTION = 4.0
"""Initial weights: a document without a mention of the topic's names is relevant with probability
0.05, with one certain mention 0.27, with very many 0.73."""


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
        """Check the parameters."""
        self.check_below_one("least")

    def start(self, topics: Sequence[Topic], tools: FilterContext) -> IncrementalFiltering:
        """Begin with a stream."""
        return IncrementalFiltering(self, topics, tools)


class IncrementalFiltering(RunningFilter):
    """A running incremental classifier."""

    def __init__(
        self, declared: Incremental, topics: Sequence[Topic], tools: FilterContext
    ) -> None:
        numbers = Numbers(tools, declared.buckets)
        self._buckets = numbers.buckets
        super().__init__(topics, numbers, Labels(topics, tools.labels), tools.delay)
        self._declared = declared
        self._counts = self.tally()
        self._bias: Floats = np.full(len(topics), BIAS)
        self._mention: Floats = np.full(len(topics), MENTION)
        self._weights: Floats = np.zeros((self._buckets, len(topics)))
        self._other: tuple[Ints, Floats] = (np.empty(0, np.int64), np.empty(0))

    def tally(self) -> TermStatistics:
        """Return empty document counts of terms and names."""
        return TermStatistics(len(self.names.names), self._buckets)

    def _see(self, first: int, reads: DocumentFeatures) -> FilterFeatures:
        evidence = Names().evidence(self.names, first, reads)
        return FilterFeatures(reads.rows, evidence, _unit_vectors(reads.terms, first + reads.rows))

    def _look_back(
        self, part: Skipped, passed: FilterFeatures, judged: Ints, start: int, end: int
    ) -> None:
        first = last = len(passed.rows)
        while first and passed.rows[first - 1] == end - 1:
            first, end = first - 1, end - 1  # the documents before these are not known
        if self._look_at(passed.take(np.arange(first, last)), judged):
            return
        if start < end:
            for some in part.more(start, end):
                self._look_at(self._see(part.first, self._counts.after(some)), judged)

    def _look_at(self, seen: FilterFeatures, judged: Ints) -> bool:
        """Remember the last unreturned document of these; return whether there is one."""
        is_known = (self._beliefs(seen) > self._floor).any(axis=1) | np.isin(seen.rows, judged)
        return self._remember(seen, np.flatnonzero(is_known).tolist())

    def _returned(self, seen: FilterFeatures) -> list[Returned]:
        z = self._beliefs(seen)
        likely = np.argwhere(z > self._floor)
        pairs = zip(likely.tolist(), z[likely[:, 0], likely[:, 1]].tolist(), strict=True)
        return [Returned(at, topic, confidence(_sigmoid(own))) for (at, topic), own in pairs]

    @property
    def _floor(self) -> float:
        """The log-odds that a document must exceed to be returned."""
        least = self._declared.least
        return math.log(least / (1 - least)) if least else -math.inf

    def _beliefs(self, seen: FilterFeatures) -> Floats:
        """Return the log-odds of relevance, one row per document, one column per topic."""
        from scipy.sparse import csr_array

        ends, numbers, values, _ = seen.vectors
        shape = len(ends) - 1, self._buckets
        learned = csr_array((values, numbers, ends), shape=shape) @ self._weights
        z: Floats = self._bias + learned
        named = seen.mentions
        z[named.places(), named.numbers] += self._mention[named.numbers] * _saturated(named.values)
        return z

    def _passed(self, seen: FilterFeatures, known: Collection[int]) -> None:
        self._remember(seen, known)

    def _remember(self, seen: FilterFeatures, known: Collection[int]) -> bool:
        """Remember the last document not in ``known``; return whether there is one."""
        places = reversed(range(len(seen.vectors.ends) - 1))
        other = next((place for place in places if place not in known), None)
        if other is not None:
            self._other = seen.vectors.at(other)
        return other is not None

    def _learn(self, lesson: TrainingExample) -> None:
        self._step(lesson, float(lesson.relevant))
        if lesson.relevant and self._other[0].size:
            numbers, values = self._other
            self._step(TrainingExample(0, lesson.topic, False, 0.0, numbers, values), 0.0)

    def _step(self, lesson: TrainingExample, target: float) -> None:
        """Take one gradient step on the log-likelihood."""
        topic, numbers, values = lesson.topic, lesson.numbers, lesson.values
        mention = _saturated(lesson.mention)
        z = float(self._bias[topic]) + float(self._mention[topic]) * mention
        z += float((values * self._weights[numbers, topic]).sum())
        step = self._declared.rate * (target - _sigmoid(z))
        self._bias[topic] += step
        self._mention[topic] += step * mention
        self._weights[numbers, topic] += step * values

    def state(self) -> State:
        """Return counts, weights and queued examples."""
        return {
            "bias": self._bias.copy(),
            "mention": self._mention.copy(),
            **packed("df", self._counts.terms),
            **packed("weights", self._weights),
            "other_numbers": self._other[0],
            "other_values": self._other[1],
            "names_df": self._counts.names.astype(np.int64),
            **super().state(),
        }

    def restore(self, state: State) -> None:
        """Continue from a state."""
        super().restore(state)
        self._bias = state["bias"].astype(np.float64)
        self._mention = state["mention"].astype(np.float64)
        self._counts.terms = unpacked("df", state, self._counts.terms.shape)
        self._counts.names = state["names_df"].astype(np.float64)
        self._weights = unpacked("weights", state, self._weights.shape)
        numbers, values = state["other_numbers"], state["other_values"]
        self._other = numbers.astype(np.int64), values.astype(np.float64)


def _unit_vectors(terms: Vectors, before: Ints) -> Vectors:
    """Weigh terms by tf-idf with unit length; ``before`` counts the documents before each."""
    places = terms.places()
    values = (1 + np.log(terms.values)) * np.log((before + 2)[places] / (terms.counted + 0.5))
    lengths = np.sqrt(terms.sums(values * values))
    lengths[lengths == 0] = 1.0
    return terms._replace(values=values / lengths[places])


def _saturated(evidence: Any) -> Any:
    return evidence / (evidence + 1.0)


def _sigmoid(z: float) -> float:
    """Return the logistic function, 0 where the exponential would overflow."""
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0
