"""Ways to choose the documents of a pool from ranked lists: the paper's, by depth, by learning.

A method is a value that prints as it is written (``mtf(random=0.2)``). Its *strategy* is a
generator that yields a document and is sent the judgement of it: ``True`` for relevant, ``False``
for not, ``None`` where nobody knows yet. Who answers, and when to stop, is for the driver in
``pooling`` to see to.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Literal, NamedTuple

from citebed.errors import UnknownName
from citebed.grammar import Spelled, integer, number, only_call

Lists = Mapping[str, Sequence[str]]
"""Ranked lists by method: document ids, the best first."""
Answer = bool | None
"""Whether a document is relevant; ``None``: not known."""


class PooledDocument(NamedTuple):
    """A document of a pool: why it is there and how probable that was.

    ``method`` is the list whose turn it was, ``manual``, or empty where the document was drawn at
    random; all methods that found the document are told by ``pooling.contributors``.
    ``probability`` is below 1 in the random stratum only: given the documents taken before, each
    other one of the lists had this chance.
    """

    doc_id: str
    stratum: Literal["manual", "ranked", "random"]
    method: str
    probability: float = 1.0


Strategy = Generator[PooledDocument, Answer, None]
"""Yields a document, is sent what its judgement was."""


@dataclass(frozen=True)
class Candidates:
    """What a strategy chooses from; ``skipped`` are documents that no list offers (any more)."""

    lists: Lists
    judged: Mapping[str, Answer]
    skipped: set[str]

    def skip_judged(self) -> None:
        """Never offer what is judged, not even to learn from it."""
        self.skipped.update(self.judged)

    def left(self, depth: int) -> list[str]:
        """The documents of the lists to a depth that are neither offered nor judged yet."""
        everyone = chain.from_iterable(ranking[:depth] for ranking in self.lists.values())
        return [
            doc_id
            for doc_id in dict.fromkeys(everyone)
            if doc_id not in self.skipped and doc_id not in self.judged
        ]


class _ListReader:
    """A ranked list read downward."""

    def __init__(self, name: str, ranking: Iterable[str], skipped: set[str]) -> None:
        self.name = name
        self._rest = iter(dict.fromkeys(ranking))
        self._skipped = skipped

    def next(self, known: Collection[str] = ()) -> PooledDocument | None:
        """The best document not offered yet, or of the ``known`` ones; ``None`` at the end."""
        for doc_id in self._rest:
            if doc_id not in self._skipped or doc_id in known:
                self._skipped.add(doc_id)
                return PooledDocument(doc_id, "ranked", self.name)
        return None


def _list_readers(candidates: Candidates) -> Iterator[_ListReader]:
    for name, ranking in candidates.lists.items():
        yield _ListReader(name, ranking, candidates.skipped)


# --- the methods ----------------------------------------------------------------------------


@dataclass(frozen=True)
class PoolingMethod(Spelled, ABC):
    """A way to choose documents beside the manual results."""

    kind = "pooling method"

    @property
    def sample_depth(self) -> int:
        """How deep in the lists the random stratum is drawn; 0 where there is none."""
        return 0

    def limit(self, size: int) -> float:
        """How many documents a pool for which ``size`` is asked may have."""
        return size

    @abstractmethod
    def strategy(self, candidates: Candidates, budget: float, random: Random) -> Strategy:
        """What to take, one after another; ``budget`` is how many documents can be judged."""


@dataclass(frozen=True)
class Rounds(PoolingMethod):
    """The rule of Ritchie, Robertson & Teufel's test collection.

    All manual results, then "one from each of the automatic retrieved lists (removing duplicates)
    to make a list of fifteen documents"; with fifteen or more manual results, these and no others.
    What the paper leaves open is decided so:

    - "One from each" is repeated, round after round, until the pool is full.
    - A document that is in the pool already does not cost a list its turn: the list adds its next
      one. So no list is punished for agreeing with another that stands before it.
    - Lists take turns in the order in which they are given, and the last round may be cut short:
      the first lists then have one document more.
    - Documents judged before (such as references judged in phase one) are removed before anything
      is counted, from the manual results too. The judge is sent as many documents as the size
      says, and it is the manual results still to be judged that can fill a pool.
    - A list that has run out is passed over. A pool stays smaller only if all have run out.
    """

    name = "rounds"
    summary = "all manual results, then one from each list in turn"
    formula = "manual ∪ list₁[1] ∪ list₂[1] ∪ … ∪ list₁[2] ∪ … until the size is reached"
    citation = (
        "Ritchie, Robertson & Teufel, Creating a test collection: "
        "relevance judgements of cited & non-cited papers, RIAO 2007"
    )
    edge_cases = (
        "With as many manual results as the size or more, all of these and no others. "
        "A document in the pool or judged before costs a list no turn."
    )
    example = "rounds"

    def strategy(self, candidates: Candidates, budget: float, random: Random) -> Strategy:  # noqa: ARG002
        """One from each list in turn."""
        candidates.skip_judged()
        waiting = deque(_list_readers(candidates))
        while waiting:
            reading = waiting.popleft()
            document = reading.next()
            if document is not None:
                yield document
                waiting.append(reading)


@dataclass(frozen=True)
class Depth(PoolingMethod):
    """The first k of every list, rank by rank, whatever the size of the pool."""

    name = "depth"
    summary = "the first k documents of every list, and all manual results"
    formula = "manual ∪ list₁[1…k] ∪ list₂[1…k] ∪ …"
    citation = "Spärck Jones & van Rijsbergen, Report on the need for and provision of an 'ideal' information retrieval test collection, 1975"  # noqa: E501
    edge_cases = (
        "The size does not apply. A document in the pool or judged before is not replaced by one "
        "below rank k."
    )
    example = "depth(k=10)"

    k: int = integer(10, 1, 1_000_000, "how many documents from the top of every list")

    def limit(self, size: int) -> float:  # noqa: ARG002
        """None: k says how many."""
        return math.inf

    def strategy(self, candidates: Candidates, budget: float, random: Random) -> Strategy:  # noqa: ARG002
        """Rank by rank, so that the first n documents are a shallower pool's."""
        candidates.skip_judged()
        for rank in range(min(self.k, max(map(len, candidates.lists.values()), default=0))):
            for name, ranking in candidates.lists.items():
                if rank < len(ranking) and ranking[rank] not in candidates.skipped:
                    candidates.skipped.add(ranking[rank])
                    yield PooledDocument(ranking[rank], "ranked", name)


@dataclass(frozen=True)
class Sampling(PoolingMethod):
    """A method that learns from judgements, and may leave a share of the budget to chance.

    The share is drawn when the rest of the budget is spent, uniformly and without replacement, from
    the documents of all lists to a depth that were not taken: each has the same known probability.
    """

    random: float = number(0.0, 0, 1, "the share of the budget drawn at random", quiet=True)
    depth: int = integer(
        100, 1, 1_000_000, "how deep in the lists it is drawn at random", quiet=True
    )

    @property
    def sample_depth(self) -> int:
        """How deep in the lists the random stratum is drawn."""
        return self.depth

    @abstractmethod
    def learning(self, candidates: Candidates, random: Random) -> Strategy:
        """The part that is not left to chance."""

    def strategy(self, candidates: Candidates, budget: float, random: Random) -> Strategy:
        """What is learned, then the random share.

        Where the lists have fewer documents to that depth, what is left goes to learning again.
        """
        share = math.floor(self.random * budget + 0.5)
        learning, judged = self.learning(candidates, random), candidates.judged
        answer = yield from _spend(learning, budget - share, judged)
        left = candidates.left(self.depth)
        drawn = random.sample(left, min(share, len(left)))
        for doc_id in drawn:
            candidates.skipped.add(doc_id)
            yield PooledDocument(doc_id, "random", "", len(drawn) / len(left))
        yield from _spend(learning, share - len(drawn), judged, answer)


def _spend(
    strategy: Strategy, budget: float, judged: Collection[str], answer: Answer = None
) -> Generator[PooledDocument, Answer, Answer]:
    """Go on with a strategy, of which ``answer`` was the last one, until a budget is spent."""
    while budget > 0:
        try:
            document = strategy.send(answer)
        except StopIteration:
            break
        answer = yield document
        budget -= document.doc_id not in judged
    return answer


@dataclass(frozen=True)
class MoveToFront(Sampling):
    """Move-to-front pooling: the list that gave a relevant document last is read on.

    As the paper has it, a list's priority is the highest after a relevant document and falls with
    every other one; a document that another list has brought counts too, at no cost. What the paper
    leaves open is decided so: all lists begin with the highest priority, each document takes one
    off, a list is left only where it has failed, and of lists with the same priority the one that
    waited longest comes first.
    """

    name = "mtf"
    summary = "move-to-front: the list that gave a relevant document last is read on"
    formula = "the list with the fewest documents since its last relevant one; of several, the one that waited longest"  # noqa: E501
    citation = (
        "Cormack, Palmer & Clarke, Efficient construction of large test collections, SIGIR 1998"
    )
    edge_cases = (
        "Where nobody knows yet, a document counts as not relevant, for the list that brought it: "
        "without any judgements lists take turns. Documents judged before cost nothing and count."
    )
    example = "mtf(random=0.2)"

    def learning(self, candidates: Candidates, random: Random) -> Strategy:  # noqa: ARG002
        """Lists in order of priority, each read until a document is not relevant."""
        answers: dict[str, bool] = {}
        waiting = dict.fromkeys(_list_readers(candidates), 0)
        while waiting:
            reading = max(waiting, key=waiting.__getitem__)
            priority = waiting.pop(reading)
            while (document := reading.next(answers)) is not None:
                answer = (
                    answers[document.doc_id] if document.doc_id in answers else (yield document)
                )
                if answer is not None:
                    answers[document.doc_id] = answer
                if not answer:
                    # Behind those of the same priority, as a dict keeps the order of coming in.
                    waiting[reading] = priority - 1
                    break
                priority = 0


@dataclass(frozen=True)
class Bandit(Sampling):
    """Lists as arms of a bandit, chosen by Thompson sampling.

    A document that several lists have teaches the one that brought it first, and only that one.
    """

    name = "bandit"
    summary = "Thompson sampling: lists are chosen by how probably they give relevant documents"
    formula = "the list with the greatest θ drawn from Beta(1 + relevant, 1 + not relevant)"
    citation = (
        "Losada, Parapar & Barreiro, Feeling lucky? Multi-armed bandits for ordering judgements "
        "in pooling-based evaluation, SAC 2016"
    )
    edge_cases = (
        "Where nobody knows yet, nothing is learned: without any judgements each list is as "
        "probable as any other. Documents judged before cost nothing and count."
    )
    example = "bandit(random=0.2)"

    def learning(self, candidates: Candidates, random: Random) -> Strategy:
        """A list by chance, the better ones more often; then its next document."""

        counts = {arm: {True: 1, False: 1} for arm in _list_readers(candidates)}

        def sampled(arm: _ListReader) -> float:
            return random.betavariate(counts[arm][True], counts[arm][False])

        while counts:
            arm = max(counts, key=sampled)
            document = arm.next()
            if document is None:
                del counts[arm]
                continue
            answer = yield document
            if answer is not None:
                counts[arm][answer] += 1


METHODS: dict[str, type[PoolingMethod]] = {
    method.name: method for method in (Rounds, Depth, MoveToFront, Bandit)
}
"""All pooling methods by name, the default first."""


def read_method(text: str) -> PoolingMethod:
    """The method that a text describes: ``rounds``, or ``mtf(random=0.2)``."""
    call = only_call(text, "pooling method")
    method = METHODS.get(call.name.lower())
    if method is None:
        raise UnknownName("pooling method", call.name, METHODS)
    return method.from_call(call)
