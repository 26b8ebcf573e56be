"""Pools: which documents a judge is shown for a query, from manual results and ranked lists.

Everything here is about one query and pure. Ranked lists are a mapping from a method's name to
document ids, the best first; manual results are document ids in the order of marking; ``judged``
are the documents that need no judge any more, with what is known of them.

``pool`` drives a pooling method: manual results come first and count, documents judged before cost
nothing, and the rest is answered by an oracle, if there is one (in a simulation), or by ``None``
(in a campaign, where a whole list is sent out at once).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import NamedTuple

from citebed.errors import CitebedError
from citebed.judging.pools.pooling_methods import (
    Answer,
    Candidates,
    Lists,
    Pooled,
    PoolingMethod,
    Strategy,
    read_method,
)

JudgedDocuments = Mapping[str, Answer] | Collection[str]
"""Documents judged before, with their judgements where these are known."""
Oracle = Callable[[str], Answer]
"""Who judges at once: a simulated judge."""

MANUAL = "manual"
"""The method of manual results."""


class Pool(NamedTuple):
    """The documents to judge, in the order in which they were taken.

    ``unsampled`` are the documents from which the random stratum was drawn and that were not
    drawn: for estimates such as infAP they are in the pool and not judged (-1 in qrels).
    """

    documents: tuple[Pooled, ...]
    unsampled: tuple[str, ...] = ()

    @property
    def doc_ids(self) -> list[str]:
        """The ids alone."""
        return [document.doc_id for document in self.documents]


@dataclass(frozen=True)
class Budget:
    """How many documents a judge is sent, and what chance is seeded with.

    Give every query a seed of its own (``f"{seed}/{query_id}"``), so that one query's chance is
    not another's.
    """

    size: int = 15
    seed: int | str = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise CitebedError(
                f"found a pool size of {self.size}, expected 1 or more (15 is usual)"
            )


def pool(
    lists: Lists,
    manual: Sequence[str] = (),
    judged: JudgedDocuments = (),
    *,
    method: PoolingMethod | str = "rounds",
    budget: Budget | None = None,
    oracle: Oracle | None = None,
) -> Pool:
    """The pool of a query: all manual results not judged before, then what the method takes.

    No document is there twice, none was judged before. Manual results count towards the size, and
    where they reach it there are no others.
    """
    chosen = read_method(method) if isinstance(method, str) else method
    limits = budget or Budget()
    _check_names(lists)
    known = judged if isinstance(judged, Mapping) else dict.fromkeys(judged)
    marked = [Pooled(d, "manual", MANUAL) for d in dict.fromkeys(manual) if d not in known]
    # What was judged without a result ("can't judge") teaches nothing and is not offered.
    passed = {document.doc_id for document in marked}
    passed.update(doc_id for doc_id, relevant in known.items() if relevant is None)
    candidates = Candidates(lists, known, passed)
    left = max(0, chosen.limit(limits.size) - len(marked))
    strategy = chosen.strategy(candidates, left, Random(str(limits.seed)))
    taken = _draw(strategy, left, known, oracle)
    sampled = any(document.stratum == "random" for document in taken)
    return Pool((*marked, *taken), tuple(candidates.left(chosen.sample_depth)) if sampled else ())


def _draw(
    strategy: Strategy, budget: float, judged: Mapping[str, Answer], oracle: Oracle | None
) -> list[Pooled]:
    """Take documents until the budget is spent, telling the strategy what is known of each."""
    taken: list[Pooled] = []
    answer: Answer = None
    while len(taken) < budget:
        try:
            document = strategy.send(answer)
        except StopIteration:
            break
        if document.doc_id in judged:
            answer = judged[document.doc_id]
        else:
            taken.append(document)
            answer = oracle(document.doc_id) if oracle else None
    return taken


def _check_names(lists: Lists) -> None:
    if MANUAL in lists:
        raise CitebedError(
            f"a ranked list is called '{MANUAL}', which stands for manual results: "
            "give it another name."
        )


# --- where documents come from, and how they are shown --------------------------------------


class Contributor(NamedTuple):
    """A method that found a document, and at which rank, from 1."""

    method: str
    rank: int


def contributors(
    manual: Sequence[str], lists: Lists, depth: int | None = None
) -> dict[str, tuple[Contributor, ...]]:
    """All methods that found each document, and at which rank; manual results first.

    The rank of a manual result is its place in the order of marking; all of them count. Lists
    count to ``depth``, or whole: a pool may reach deeper than its size where documents were judged
    before. A document twice in a list has the better rank.
    """
    _check_names(lists)
    methods: dict[str, dict[str, int]] = {}
    for name, ranking, end in ((MANUAL, manual, None), *((n, r, depth) for n, r in lists.items())):
        for rank, doc_id in enumerate(islice(ranking, end), 1):
            methods.setdefault(doc_id, {}).setdefault(name, rank)
    return {doc_id: tuple(map(Contributor._make, at.items())) for doc_id, at in methods.items()}
