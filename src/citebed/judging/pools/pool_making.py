"""Pools in the store: which documents each question's author is sent in phase two.

A question is pooled once for each wording that asks for it: a correction by its author goes back
to pooling with the earlier manual results, and only documents that are new come out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Row, func, insert, select

from citebed.collection import Collection
from citebed.judging.answers.judgement_tables import qrels_of
from citebed.judging.asking.papers import Lookup, entry_of
from citebed.judging.asking.questions import live_questions, wording_of
from citebed.judging.pools.pooling import Budget, contributors, pool
from citebed.judging.pools.pooling_methods import Pooled
from citebed.judging.pools.searching import COUPLING, DEPTH, coupled, marked
from citebed.judging.store import schema
from citebed.judging.store.handle import Transaction
from citebed.judging.store.schema import CURRENT, items, judgements, now, pools

Lists = Mapping[str, Mapping[str, Sequence[str]]]
"""By query, the ranked document ids of each method."""


class PoolReport(NamedTuple):
    """What pooling did for a question."""

    query_id: str
    round: int
    manual: int
    documents: int


class PoolingOptions(NamedTuple):
    """How pools are made; ``depth`` is how far down a list counts as having found a document.

    ``coupling`` adds a list by bibliographic coupling, which Cranfield 2 had and Ritchie, Robertson
    and Teufel, whose three lists are the default, had not.
    """

    size: int = 15
    method: str = "rounds"
    depth: int = DEPTH
    seed: int = 0
    coupling: bool = False


def waiting(tx: Transaction) -> dict[str, str]:
    """The questions to pool, by id, with their wordings: never pooled, or worded anew since."""
    return {
        question.query_id: wording.text
        for question in live_questions(tx)
        if (wording := _unpooled_wording(tx, question.id)) is not None
    }


def _unpooled_wording(tx: Transaction, question: int) -> Row[Any] | None:
    wording = wording_of(tx, question)
    mine = (pools.c.question_id == question) & (pools.c.wording_id == wording.id)
    done = tx.scalar(select(func.count()).select_from(pools).where(mine))
    return None if done else wording


def make_pools(
    tx: Transaction, collection: Collection, lists: Lists, options: PoolingOptions
) -> list[PoolReport]:
    """Pool the questions that wait for it."""
    lookup = Lookup(collection)
    relevant = qrels_of(tx, "j1").table.filter(relevance=1)
    by_query = dict(relevant.group_by("query_id").agg("doc_id").iter_rows())
    reports = []
    for question in live_questions(tx):
        wording = _unpooled_wording(tx, question.id)
        if wording is None:
            continue
        ranked = dict(lists.get(question.query_id, {}))
        if options.coupling and COUPLING not in ranked:
            near = coupled(collection, by_query.get(question.query_id, ()), options.depth)
            ranked |= {COUPLING: near} if near else {}
        reports.append(_pool_question(tx, lookup, question, wording.id, ranked, options))
    return reports


def _pool_question(
    tx: Transaction,
    lookup: Lookup,
    question: Row[Any],
    wording: int,
    ranked: Mapping[str, Sequence[str]],
    options: PoolingOptions,
) -> PoolReport:
    """Choose documents, and store them with all that found them."""
    manual, listed = marked(tx, question.id), _listed(tx, question)
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
    shown = (_shown(lookup, document) for document in chosen.documents)
    if listing := [{**place, "position": at, **each} for at, each in enumerate(shown, 1)]:
        tx.execute(insert(items), listing)
    new_manual = sum(document.stratum == "manual" for document in chosen.documents)
    return PoolReport(question.query_id, turn, new_manual, len(chosen.documents))


def _listed(tx: Transaction, question: Row[Any]) -> dict[str, bool | None]:
    """Documents that are on a list of a question already, with what was said of them."""
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


def _shown(lookup: Lookup, pooled: Pooled) -> dict[str, Any]:
    """A document of a pool as its judge will see it, and how it came there."""
    drawn = pooled._asdict()
    doc_id = drawn.pop("doc_id")
    document = lookup.document(doc_id)
    entry = entry_of(0, document)._asdict() if document else {"title": doc_id}
    entry.pop("number", None)
    return {"doc_id": doc_id, "shown": entry, "drawn": drawn}
