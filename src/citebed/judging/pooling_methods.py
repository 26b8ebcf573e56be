"""Pooling methods: the paper's round-robin, depth pooling, move-to-front and bandits.

A method is a value that prints as it is written (``mtf(random=0.2)``). Its *strategy* is a
generator that yields a document and receives its judgement: ``True`` for relevant, ``False`` for
not relevant, ``None`` for unknown. `pool` runs it for one query, supplies the judgements and stops
it. An oracle can judge new documents at once; a campaign, which sends out whole lists, has none.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from itertools import chain, islice
from random import Random
from typing import Literal, NamedTuple

from citebed.errors import CitebedError, UnknownName
from citebed.grammar import Specified, integer, number, only_call

Lists = Mapping[str, Sequence[str]]
"""Ranked lists by method: document ids, the best first."""
Answer = bool | None
"""Whether a document is relevant; ``None`` if unknown."""


class PooledDocument(NamedTuple):
    """A document of a pool, with the reason and the probability of its selection.

    ``method`` is the list that contributed it, ``manual``, or empty for a random draw; for all
    methods that found the document see `contributors`. ``probability`` is below 1 only in
    the random stratum, where each remaining document of the lists had this chance.
    """

    doc_id: str
    stratum: Literal["manual", "ranked", "random"]
    method: str
    probability: float = 1.0


Strategy = Generator[PooledDocument, Answer, None]
"""A generator that yields documents and receives their judgements."""


@dataclass(frozen=True)
class Candidates:
    """The documents that a strategy chooses from; lists no longer offer ``skipped`` ones."""

    lists: Lists
    judged: Mapping[str, Answer]
    skipped: set[str]

    def skip_judged(self) -> None:
        """Skip judged documents, even for learning."""
        self.skipped.update(self.judged)

    def left(self, depth: int) -> list[str]:
        """Return the documents of the lists down to a depth that are not offered or judged yet."""
        everyone = chain.from_iterable(ranking[:depth] for ranking in self.lists.values())
        return [
            doc_id
            for doc_id in dict.fromkeys(everyone)
            if doc_id not in self.skipped and doc_id not in self.judged
        ]


class _ListReader:
    """Reads a ranked list from the top."""

    def __init__(self, name: str, ranking: Iterable[str], skipped: set[str]) -> None:
        self.name = name
        self._rest = iter(dict.fromkeys(ranking))
        self._skipped = skipped

    def next(self, known: Collection[str] = ()) -> PooledDocument | None:
        """Return the next document that is not skipped or is ``known``; ``None`` at the end."""
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
class PoolingMethod(Specified, ABC):
    """A method that chooses documents in addition to the manual results."""

    kind = "pooling method"

    def limit(self, size: int) -> float:
        """Return how many documents a pool of this nominal size may have."""
        return size

    @abstractmethod
    def strategy(self, candidates: Candidates, budget: float, random: Random) -> Strategy:
        """Yield documents to take; ``budget`` is how many documents can be judged."""


@dataclass(frozen=True)
class Rounds(PoolingMethod):
    """The rule of Ritchie, Robertson & Teufel's test collection.

    All manual results, then "one from each of the automatic retrieved lists (removing duplicates)
    to make a list of fifteen documents"; with fifteen or more manual results, only these. The
    paper leaves some details open. citebed decides them as follows:

    - "One from each" is repeated in rounds until the pool is full.
    - If a list's next document is already in the pool, the list adds the one after it. So a list
      does not lose its turn for agreeing with an earlier list.
    - Lists take turns in the given order. The last round may be incomplete; then the first lists
      contribute one document more.
    - Documents judged before (such as references judged in phase one) are removed first, from the
      manual results too. So the judge gets as many new documents as the size says.
    - Exhausted lists are skipped. A pool is smaller only if all lists are exhausted.
    """

    name = "rounds"
    summary = "all manual results, then one from each list in turn"
    formula = "manual ∪ list₁[1] ∪ list₂[1] ∪ … ∪ list₁[2] ∪ … until the size is reached"
    citation = (
        "Ritchie, Robertson & Teufel, Creating a test collection: "
        "relevance judgements of cited & non-cited papers, RIAO 2007"
    )
    edge_cases = (
        "If the manual results reach the size, all of these and no others. "
        "A list does not lose its turn for a document that is in the pool or judged before."
    )
    example = "rounds"

    def strategy(self, candidates: Candidates, budget: float, random: Random) -> Strategy:  # noqa: ARG002
        """Take one document from each list in turn."""
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
    """The first k documents of every list, independent of the pool size."""

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
        """Return infinity: ``k`` limits the pool."""
        return math.inf

    def strategy(self, candidates: Candidates, budget: float, random: Random) -> Strategy:  # noqa: ARG002
        """Go rank by rank, so that a shallower pool is a prefix of this one."""
        candidates.skip_judged()
        for rank in range(min(self.k, max(map(len, candidates.lists.values()), default=0))):
            for name, ranking in candidates.lists.items():
                if rank < len(ranking) and ranking[rank] not in candidates.skipped:
                    candidates.skipped.add(ranking[rank])
                    yield PooledDocument(ranking[rank], "ranked", name)


@dataclass(frozen=True)
class Sampling(PoolingMethod):
    """A method that learns from judgements and can draw a share of the budget at random.

    The random share is drawn at the end, uniformly and without replacement, from the documents of
    all lists down to a depth that were not taken: all have the same known probability.
    """

    random: float = number(0.0, 0, 1, "the share of the budget drawn at random", quiet=True)
    depth: int = integer(
        100, 1, 1_000_000, "how deep in the lists it is drawn at random", quiet=True
    )

    @abstractmethod
    def learning(self, candidates: Candidates, random: Random) -> Strategy:
        """Yield documents by learning from judgements."""

    def strategy(self, candidates: Candidates, budget: float, random: Random) -> Strategy:
        """Yield learned documents, then the random share.

        If the lists have too few documents for the share, the rest is learned, too.
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
    """Continue a strategy, after its last ``answer``, until a budget is spent."""
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
    """Move-to-front pooling: continue with the list that gave the last relevant document.

    As in the paper, a list's priority is highest after a relevant document and falls with every
    other one; documents that another list contributed count too, at no cost. The paper leaves some
    details open. Here all lists start with the highest priority, each non-relevant document lowers
    it by one, a list is left only after such a document, and among equal lists the one that waited
    longest comes first.
    """

    name = "mtf"
    summary = "move-to-front: continue with the list that gave the last relevant document"
    formula = "the list with the fewest documents since its last relevant one; of several, the one that waited longest"  # noqa: E501
    citation = (
        "Cormack, Palmer & Clarke, Efficient construction of large test collections, SIGIR 1998"
    )
    edge_cases = (
        "An unjudged document counts as not relevant for its list: without judgements, lists take "
        "turns. Documents judged before are free and count."
    )
    example = "mtf(random=0.2)"

    def learning(self, candidates: Candidates, random: Random) -> Strategy:  # noqa: ARG002
        """Read the list with the highest priority until a document is not relevant."""
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
                    # Re-inserted, so it comes after the others of the same priority.
                    waiting[reading] = priority - 1
                    break
                priority = 0


@dataclass(frozen=True)
class Bandit(Sampling):
    """Lists as arms of a bandit, chosen by Thompson sampling.

    A document of several lists counts only for the list that contributed it.
    """

    name = "bandit"
    summary = "Thompson sampling: lists are chosen by their probability of relevant documents"
    formula = "the list with the greatest θ drawn from Beta(1 + relevant, 1 + not relevant)"
    citation = (
        "Losada, Parapar & Barreiro, Feeling lucky? Multi-armed bandits for ordering judgements "
        "in pooling-based evaluation, SAC 2016"
    )
    edge_cases = (
        "Unjudged documents teach nothing: without judgements all lists are equally probable. "
        "Documents judged before are free and count."
    )
    example = "bandit(random=0.2)"

    def learning(self, candidates: Candidates, random: Random) -> Strategy:
        """Sample a list, better ones more often, and take its next document."""

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
    """Parse a pooling method such as ``rounds`` or ``mtf(random=0.2)``."""
    call = only_call(text, "pooling method")
    method = METHODS.get(call.name.lower())
    if method is None:
        raise UnknownName("pooling method", call.name, METHODS)
    return method.from_call(call)


# --- a pool of one query ----------------------------------------------------------------------

Oracle = Callable[[str], Answer]
"""Judges a document immediately, as a simulated judge does."""

MANUAL = "manual"
"""The method of manual results."""
DEPTH = 100


class PoolingOptions(NamedTuple):
    """Options of pooling; a list has found a document if it ranks it down to ``depth``.

    Give every query its own ``seed`` (``f"{seed}/{query_id}"``), so that their draws are
    independent. ``coupling`` adds a list by bibliographic coupling, as in Cranfield 2. Ritchie,
    Robertson and Teufel, whose three lists are the default, did not use it.
    """

    size: int = 15
    method: str = "rounds"
    depth: int = DEPTH
    seed: int | str = 0
    coupling: bool = False


class Pool(NamedTuple):
    """The documents to judge, in the order in which they were taken.

    ``unsampled`` are the documents that the random stratum could have drawn but did not. For
    estimates such as infAP they are pooled and unjudged (-1 in qrels).
    """

    documents: tuple[PooledDocument, ...]
    unsampled: tuple[str, ...] = ()

    @property
    def doc_ids(self) -> list[str]:
        """The ids of the documents."""
        return [document.doc_id for document in self.documents]


def pool(
    lists: Lists,
    manual: Sequence[str],
    judged: Mapping[str, Answer],
    options: PoolingOptions,
    oracle: Oracle | None = None,
) -> Pool:
    """Pool a query: all new manual results, then the documents that the method takes.

    ``judged`` are documents judged before; no document occurs twice or was judged before. Manual
    results count towards the size; if they reach it, no others are added.
    """
    chosen = read_method(options.method)
    if options.size < 1:
        raise CitebedError(f"found a pool size of {options.size}, expected 1 or more (15 is usual)")
    _check_names(lists)
    by_hand = [
        PooledDocument(doc_id, "manual", MANUAL)
        for doc_id in dict.fromkeys(manual)
        if doc_id not in judged
    ]
    # Documents judged as "can't judge" are neither offered nor learned from.
    skipped = {document.doc_id for document in by_hand}
    skipped.update(doc_id for doc_id, relevant in judged.items() if relevant is None)
    candidates = Candidates(lists, judged, skipped)
    left = max(0, chosen.limit(options.size) - len(by_hand))
    strategy = chosen.strategy(candidates, left, Random(str(options.seed)))
    taken: list[PooledDocument] = []
    answer: Answer = None
    while len(taken) < left:
        try:
            document = strategy.send(answer)
        except StopIteration:
            break
        if document.doc_id in judged:
            answer = judged[document.doc_id]
        else:
            taken.append(document)
            answer = oracle(document.doc_id) if oracle else None
    unsampled: list[str] = []
    if isinstance(chosen, Sampling) and any(each.stratum == "random" for each in taken):
        unsampled = candidates.left(chosen.depth)
    return Pool((*by_hand, *taken), tuple(unsampled))


def _check_names(lists: Lists) -> None:
    if MANUAL in lists:
        raise CitebedError(
            f"a ranked list is called '{MANUAL}', which is reserved for manual results. Rename it."
        )


def contributors(
    manual: Sequence[str], lists: Lists, depth: int | None = None
) -> dict[str, dict[str, int]]:
    """Return all methods that found each document, with ranks from 1; manual results come first.

    The rank of a manual result is its position in the order of marking. Ranked lists count down to
    ``depth``, by default completely: a pool may reach deeper than its size, past documents that
    were judged before. The first occurrence in a list counts.
    """
    _check_names(lists)
    methods: dict[str, dict[str, int]] = {}
    for name, ranking, end in ((MANUAL, manual, None), *((n, r, depth) for n, r in lists.items())):
        for rank, doc_id in enumerate(islice(ranking, end), 1):
            methods.setdefault(doc_id, {}).setdefault(name, rank)
    return methods
