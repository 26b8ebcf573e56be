"""Pools: the documents that judges see for a query, from manual results and ranked lists.

The first part is pure and about one query. Ranked lists map a method's name to document ids, best
first. Manual results are document ids in the order of marking. ``judged`` are documents that need
no judgement any more. ``pool`` runs a pooling method: manual results come first and count towards
the size, and judged documents are free. An oracle judges the others in a simulation; in a campaign,
which sends out whole lists, there is none.

The second part stores pools. A question is pooled once per wording: if its author corrects it, it
is pooled again with the earlier manual results, and only new documents are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from sqlalchemy import Row, func, insert, select

from citebed.collection import Collection
from citebed.errors import CitebedError
from citebed.judging.judgements import build_qrels
from citebed.judging.papers import DocumentLookup, make_entry
from citebed.judging.pooling_methods import (
    Answer,
    Candidates,
    Lists,
    PooledDocument,
    PoolingMethod,
    Strategy,
    read_method,
)
from citebed.judging.questions import current_wording, live_questions
from citebed.judging.searches import COUPLING, DEPTH, coupled_documents, marked_documents
from citebed.judging.store import schema
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import CURRENT, items, judgements, now, pools
from citebed.wording import count

JudgedDocuments = Mapping[str, Answer] | Iterable[str]
"""Documents judged before, with their judgements if known."""
Oracle = Callable[[str], Answer]
"""Judges a document immediately, as a simulated judge does."""

MANUAL = "manual"
"""The method of manual results."""


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


@dataclass(frozen=True)
class Budget:
    """The size of a pool and its random seed.

    Give every query its own seed (``f"{seed}/{query_id}"``), so that their draws are independent.
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
    """Pool a query: all new manual results, then the documents that the method takes.

    No document occurs twice or was judged before. Manual results count towards the size; if they
    reach it, no others are added.
    """
    chosen = read_method(method) if isinstance(method, str) else method
    limits = budget or Budget()
    _check_names(lists)
    known = judged if isinstance(judged, Mapping) else dict.fromkeys(judged)
    manual_documents = [
        PooledDocument(d, "manual", MANUAL) for d in dict.fromkeys(manual) if d not in known
    ]
    # Documents judged as "can't judge" are neither offered nor learned from.
    skipped = {document.doc_id for document in manual_documents}
    skipped.update(doc_id for doc_id, relevant in known.items() if relevant is None)
    candidates = Candidates(lists, known, skipped)
    left = max(0, chosen.limit(limits.size) - len(manual_documents))
    strategy = chosen.strategy(candidates, left, Random(str(limits.seed)))
    taken = _take_documents(strategy, left, known, oracle)
    sampled = any(document.stratum == "random" for document in taken)
    return Pool(
        (*manual_documents, *taken), tuple(candidates.left(chosen.sample_depth)) if sampled else ()
    )


def _take_documents(
    strategy: Strategy, budget: float, judged: Mapping[str, Answer], oracle: Oracle | None
) -> list[PooledDocument]:
    """Take documents until the budget is spent, and send the strategy each judgement."""
    taken: list[PooledDocument] = []
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
            f"a ranked list is called '{MANUAL}', which is reserved for manual results. Rename it."
        )


# --- sources of documents -----------------------------------------------------------------------


class Contributor(NamedTuple):
    """A method that found a document, and its rank from 1."""

    method: str
    rank: int


def contributors(
    manual: Sequence[str], lists: Lists, depth: int | None = None
) -> dict[str, tuple[Contributor, ...]]:
    """Return all methods that found each document, with ranks; manual results come first.

    The rank of a manual result is its position in the order of marking. Ranked lists count down to
    ``depth``, by default completely: a pool may reach deeper than its size, past documents that
    were judged before. The first occurrence in a list counts.
    """
    _check_names(lists)
    methods: dict[str, dict[str, int]] = {}
    for name, ranking, end in ((MANUAL, manual, None), *((n, r, depth) for n, r in lists.items())):
        for rank, doc_id in enumerate(islice(ranking, end), 1):
            methods.setdefault(doc_id, {}).setdefault(name, rank)
    return {doc_id: tuple(map(Contributor._make, at.items())) for doc_id, at in methods.items()}


# --- stored pools -------------------------------------------------------------------------------


ListsByQuery = Mapping[str, Lists]
"""By query, the ranked document ids of each method."""


class PoolReport(NamedTuple):
    """The result of pooling a question; ``without`` are the runs without a list for it."""

    query_id: str
    round: int
    manual: int
    documents: int
    without: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return ``p1-a1q1: 15 documents, 3 manual, no list from cosine``."""
        parts = [f"{self.query_id}: {count(self.documents, 'document')}", f"{self.manual} manual"]
        parts += [f"list {self.round}"] if self.round > 1 else []
        parts += [f"no list from {', '.join(self.without)}"] if self.without else []
        return ", ".join(parts)


class PoolingOptions(NamedTuple):
    """Options of pooling; a list has found a document if it ranks it down to ``depth``.

    ``coupling`` adds a list by bibliographic coupling, as in Cranfield 2. Ritchie, Robertson and
    Teufel, whose three lists are the default, did not use it.
    """

    size: int = 15
    method: str = "rounds"
    depth: int = DEPTH
    seed: int = 0
    coupling: bool = False


def unpooled_questions(tx: Transaction) -> dict[str, str]:
    """Return the wordings of questions whose current wording is not pooled, by query id."""
    return {
        question.query_id: wording.text
        for question in live_questions(tx)
        if (wording := _unpooled_wording(tx, question.id)) is not None
    }


def _unpooled_wording(tx: Transaction, question: int) -> Row[Any] | None:
    wording = current_wording(tx, question)
    mine = (pools.c.question_id == question) & (pools.c.wording_id == wording.id)
    done = tx.scalar(select(func.count()).select_from(pools).where(mine))
    return None if done else wording


def make_pools(
    tx: Transaction,
    collection: Collection,
    lists: ListsByQuery,
    options: PoolingOptions,
    runs: Sequence[str] = (),
) -> list[PoolReport]:
    """Pool all questions that are due, and report for each the ``runs`` without a list.

    A run has no list for a query that it lacks or whose words occur in no document.
    """
    expected = [*runs, *([COUPLING] if options.coupling and COUPLING not in runs else [])]
    lookup = DocumentLookup(collection)
    relevant = build_qrels(tx, "j1").table.filter(relevance=1)
    by_query = dict(relevant.group_by("query_id").agg("doc_id").iter_rows())
    reports = []
    for question in live_questions(tx):
        wording = _unpooled_wording(tx, question.id)
        if wording is None:
            continue
        ranked = dict(lists.get(question.query_id, {}))
        if options.coupling and COUPLING not in ranked:
            near = coupled_documents(collection, by_query.get(question.query_id, ()), options.depth)
            ranked |= {COUPLING: near} if near else {}
        report = _pool_question(tx, lookup, question, wording.id, ranked, options)
        without = tuple(name for name in expected if not ranked.get(name))
        reports.append(report._replace(without=without))
    return reports


def _pool_question(
    tx: Transaction,
    lookup: DocumentLookup,
    question: Row[Any],
    wording: int,
    ranked: Mapping[str, Sequence[str]],
    options: PoolingOptions,
) -> PoolReport:
    """Choose documents for a question and store them with the methods that found them."""
    manual, listed = marked_documents(tx, question.id), _documents_listed_before(tx, question)
    if (own := lookup.document(question.paper)) is not None:
        listed[own.doc_id] = None
    budget = Budget(options.size, f"{options.seed}/{question.query_id}")
    chosen = pool(ranked, manual, listed, method=options.method, budget=budget)
    mine = pools.c.question_id == question.id
    turn = int(tx.scalar(select(func.max(pools.c.round)).where(mine)) or 0) + 1
    settings = options._asdict() | {
        "manual": manual,
        "lists": {name: list(docs[: options.depth]) for name, docs in ranked.items()},
        "listed": list(listed),
        "unsampled": list(chosen.unsampled),
    }
    row = {"question_id": question.id, "round": turn, "wording_id": wording, "made_at": now()}
    number = tx.add(pools, **row, method=options.method, settings=settings)
    wanted = {*chosen.doc_ids, *listed}
    rows = [
        {"pool_id": number, "doc_id": doc_id, **each._asdict()}
        for doc_id, methods in contributors(manual, ranked, options.depth).items()
        if doc_id in wanted
        for each in methods
    ]
    if rows:
        tx.execute(insert(schema.contributors), rows)
    place = {"question_id": question.id, "pool_id": number}
    shown = (_item_of_document(lookup, document) for document in chosen.documents)
    if listing := [{**place, "position": at, **each} for at, each in enumerate(shown, 1)]:
        tx.execute(insert(items), listing)
    new_manual = sum(document.stratum == "manual" for document in chosen.documents)
    return PoolReport(question.query_id, turn, new_manual, len(chosen.documents))


def _documents_listed_before(tx: Transaction, question: Row[Any]) -> dict[str, bool | None]:
    """Return the documents on earlier lists of a question, with their judgements."""
    rows = tx.execute(
        select(items.c.doc_id, items.c.pool_id, judgements.c.value)
        .select_from(items)
        .outerjoin(judgements, (judgements.c.item_id == items.c.id) & CURRENT)
        .where(items.c.question_id == question.id, items.c.doc_id.is_not(None))
    )
    known: dict[str, bool | None] = {}
    for doc_id, pooled, value in rows:
        phase = 1 if pooled is None else 2
        relevant = None if value is None else tx.settings.is_relevant(phase, value)
        known[doc_id] = known.get(doc_id) or relevant
    return known


def _item_of_document(lookup: DocumentLookup, pooled: PooledDocument) -> dict[str, Any]:
    """Return a pooled document as its judge will see it, and how it was drawn."""
    drawn = pooled._asdict()
    doc_id = drawn.pop("doc_id")
    document = lookup.document(doc_id)
    entry = make_entry(0, document)._asdict() if document else {"title": doc_id}
    entry.pop("number", None)
    return {"doc_id": doc_id, "shown": entry, "drawn": drawn}
