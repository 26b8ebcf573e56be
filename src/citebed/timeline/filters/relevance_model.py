"""A relevance model of each topic: its text, and its training documents as they pass.

After UMass's and Delaware's runs at TREC KBA 2012 (``PC_RM10``, ``UDInfoKBA_WIKI1``), which
expanded an entity's article to a language model. Lavrenko and Croft, "Relevance-based language
models", SIGIR 2001; smoothing after Zhai and Lafferty, "A study of smoothing methods", SIGIR 2001.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from citebed.errors import CitebedError
from citebed.runs.tables import Floats, Ints
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
    State,
    TermStatistics,
    Topic,
    Vectors,
)

_CELLS = 1 << 20
"""Term frequencies per topic that are in memory at a time, at 64 bytes each."""


@dataclass(frozen=True)
class RelevanceModel(Filter):
    """Score documents by how much of a topic's distinctive vocabulary they contain.

    The topic's model is P(w|q) = text · P(w | its names and text) + (1 - text) · mean of P(w|d)
    over its training documents so far, cut to the ``terms`` likeliest terms. The background
    P(w|C) counts the documents so far and the topics' own texts, plus a half for each term.
    A document's model is smoothed with ``mu``. The score is the log-likelihood ratio

        s = Σ_w P(w|q) · ln((tf + mu · P(w|C)) / ((|d| + mu) · P(w|C)))

    and the confidence 1000 · s / s*, where s* is the score of a document of the same length whose
    terms have exactly the frequencies of the topic's model, tf = |d| · P(w|q). Documents with s ≤
    ``least`` · s* are not returned.
    """

    name: ClassVar[str] = "relevance_model"
    needs_terms: ClassVar[bool] = True
    mu: float = 300.0
    text: float = 0.5
    terms: float = 50
    least: float = 0.1
    buckets: float = 1 << 20

    def __post_init__(self) -> None:
        """Check the parameters."""
        self.check_below_one("text", "least")
        if not self.mu:
            raise CitebedError("mu=0 leaves documents without smoothing; take more than 0")

    def start(self, topics: Sequence[Topic], tools: FilterContext) -> RelevanceFiltering:
        """Begin with a stream."""
        return RelevanceFiltering(self, topics, tools)


class Background:
    """Term counts of the documents so far."""

    def __init__(self, buckets: int) -> None:
        self._counts: Floats = np.zeros(buckets, np.float64)
        self._total = 0.0
        self._different = 0

    def add(self, numbers: Ints, tf: Floats) -> None:
        """Count texts."""
        self._different += self._new(numbers).size
        np.add.at(self._counts, numbers, tf)
        self._total += float(tf.sum())

    def _new(self, numbers: Ints) -> Ints:
        """Return the positions of terms that occur for the first time."""
        new = np.flatnonzero(self._counts[numbers] == 0)
        return new[np.unique(numbers[new], return_index=True)[1]]

    def counts(self, numbers: Ints) -> Floats:
        """Return the term counts, each plus one half."""
        return np.asarray(self._counts[numbers] + 0.5, np.float64)

    def totals(self, vectors: Vectors, lengths: Floats) -> Floats:
        """Return the total of all smoothed counts before each of consecutive documents.

        Each different term adds one half, and so does one unseen term.
        """
        new = np.bincount(vectors.places()[self._new(vectors.numbers)], minlength=lengths.size)
        different = self._different + np.cumsum(new) - new
        return np.asarray(self._total + np.cumsum(lengths) - lengths + 0.5 * (different + 1))

    def state(self) -> State:
        """The counts."""
        return packed("background", self._counts)

    def restore(self, state: State) -> None:
        """Continue from a state."""
        self._counts = unpacked("background", state, self._counts.shape)
        self._total = float(self._counts.sum())
        self._different = int(np.count_nonzero(self._counts))


class _Profile:
    """A topic's language model, mixed from its text and its training documents."""

    def __init__(self, numbers: Ints, tf: Floats, declared: RelevanceModel) -> None:
        self._declared = declared
        self._text = _shares(numbers, tf)
        self.learned: dict[int, float] = {}
        self.documents = 0
        self._mix()

    def learn(self, numbers: Ints, tf: Floats) -> None:
        """Add a training document; ignore one without terms."""
        if numbers.size:
            for number, share in _shares(numbers, tf).items():
                self.learned[number] = self.learned.get(number, 0.0) + share
            self.documents += 1
            self._mix()

    def restore(self, learned: dict[int, float], documents: int) -> None:
        """Restore what was learned."""
        self.learned, self.documents = learned, documents
        self._mix()

    def _mix(self) -> None:
        """Set ``numbers`` and ``weights`` to the likeliest terms, by ascending number."""
        share = self._declared.text if self._text else 0.0
        share = share if self.documents else 1.0
        mixed = {number: share * p for number, p in self._text.items()}
        for number, total in self.learned.items():
            mixed[number] = mixed.get(number, 0.0) + (1 - share) * total / self.documents
        best = sorted((n for n in mixed if mixed[n] > 0), key=lambda n: (-mixed[n], n))
        keys = sorted(best[: max(1, int(self._declared.terms))])
        self.numbers: Ints = np.array(keys, np.int64)
        weights = np.array([mixed[number] for number in keys], np.float64)
        self.weights: Floats = weights / weights.sum() if keys else weights


def _shares(numbers: Ints, tf: Floats) -> dict[int, float]:
    total = float(tf.sum())
    return {n: count / total for n, count in zip(numbers.tolist(), tf.tolist(), strict=True)}


class _Hits(NamedTuple):
    """Occurrences of a topic's terms: positions in its model and among the documents' terms."""

    topic: int
    inside: Ints
    there: Ints


class _TermTable:
    """An index of all topics' terms."""

    def __init__(self, profiles: Sequence[_Profile], buckets: int) -> None:
        sizes = [profile.numbers.size for profile in profiles]
        numbers = np.concatenate([profile.numbers for profile in profiles])
        order = np.argsort(numbers, kind="stable")
        self._numbers = numbers[order]
        self._topics = np.repeat(np.arange(len(sizes)), sizes)[order]
        self._inside = np.concatenate([np.arange(size) for size in sizes])[order]
        self._is_there = np.zeros(buckets, bool)
        self._is_there[numbers] = True

    def hits(self, numbers: Ints) -> Iterator[_Hits]:
        """Find the topics' terms among these terms, topic by topic."""
        there = np.flatnonzero(self._is_there[numbers])
        first, end = (np.searchsorted(self._numbers, numbers[there], s) for s in ("left", "right"))
        uses = end - first
        at = np.arange(uses.sum()) + np.repeat(first - np.cumsum(uses) + uses, uses)
        there, topics = np.repeat(there, uses), self._topics[at]
        order = np.argsort(topics, kind="stable")
        cuts = np.flatnonzero(np.diff(topics[order])) + 1
        for its in np.split(order, cuts) if order.size else ():
            yield _Hits(int(topics[its[0]]), self._inside[at[its]], there[its])


def _cuts(places: Ints, most: int) -> Iterator[slice]:
    """Cut ascending positions into pieces with at most ``most`` different ones each."""
    first = np.flatnonzero(np.diff(places, prepend=-1))[::most].tolist()
    yield from map(slice, first, [*first[1:], places.size])


class RelevanceFiltering(RunningFilter):
    """Running relevance models; they learn from training documents only."""

    def __init__(
        self, declared: RelevanceModel, topics: Sequence[Topic], tools: FilterContext
    ) -> None:
        numbers = Numbers(tools, declared.buckets)
        self._buckets = numbers.buckets
        super().__init__(topics, numbers, Labels(topics, {}), tools.delay)
        self._declared = declared
        self._background = Background(self._buckets)
        self._term_table: _TermTable | None = None
        self._profiles = []
        for topic in topics:
            text = " ".join((*(name.name for name in topic.names), topic.text))
            terms, tf = numbers.counted([text]).at(0)
            self._background.add(terms, tf)
            self._profiles.append(_Profile(terms, tf, declared))

    def tally(self) -> TermStatistics:
        """Return empty counts of all term occurrences."""
        return TermStatistics(len(self.names.names), self._buckets, once=False)

    def _see(self, first: int, reads: DocumentFeatures) -> FilterFeatures:  # noqa: ARG002
        named = self.names.topics(reads.mentions, np.zeros(reads.mentions.numbers.size))
        return FilterFeatures(reads.rows, named, reads.terms)

    def _count(self, tally: TermStatistics) -> None:
        numbers = np.flatnonzero(tally.terms)
        self._background.add(numbers, tally.terms[numbers])

    def _learn(self, lesson: TrainingExample) -> None:
        self._profiles[lesson.topic].learn(lesson.numbers, lesson.values)
        self._term_table = None

    def _passed(self, seen: FilterFeatures, known: Collection[int]) -> None:  # noqa: ARG002
        self._background.add(seen.vectors.numbers, seen.vectors.values)

    def _returned(self, seen: FilterFeatures) -> list[Returned]:
        # A document without any of a topic's terms scores below the background.
        vectors = seen.vectors
        places, lengths = vectors.places(), vectors.sums(vectors.values)
        totals = self._background.totals(vectors, lengths)
        self._term_table = self._term_table or _TermTable(self._profiles, self._buckets)
        returned: list[Returned] = []
        for topic, inside, there in self._term_table.hits(vectors.numbers):
            profile = self._profiles[topic]
            counts = self._background.counts(profile.numbers)
            for cut in _cuts(places[there], max(1, _CELLS // profile.numbers.size)):
                those, row = np.unique(places[there[cut]], return_inverse=True)
                tf: Floats = np.zeros((those.size, profile.numbers.size))
                tf[row, inside[cut]] = vectors.values[there[cut]]
                so_far = counts + np.cumsum(tf, axis=0)
                background = (so_far - tf) / totals[those, None]
                length = lengths[those, None]
                score = self._ratio(profile, tf, background, length)
                best = self._ratio(profile, length * profile.weights, background, length)
                good = (best > 0) & (score > self._declared.least * best)
                sure = zip(those[good].tolist(), (score[good] / best[good]).tolist(), strict=True)
                returned += [Returned(place, topic, confidence(share)) for place, share in sure]
                counts = so_far[-1]
        return sorted(returned)

    def _ratio(self, profile: _Profile, tf: Floats, background: Floats, length: Floats) -> Floats:
        """Return the documents' log-likelihood ratios to the background under a topic's model."""
        mu = self._declared.mu
        document = (tf + mu * background) / (length + mu)
        return np.asarray((profile.weights * np.log(document / background)).sum(axis=1))

    def state(self) -> State:
        """Return counts, profiles and queued examples."""
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
        """Continue from a state."""
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
        self._term_table = None
        self._background.restore(state)
