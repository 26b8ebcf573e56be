"""Stored pools: the documents that judges see for a query, from manual results and ranked lists.

A question is pooled once per wording: if its author corrects it, it is pooled again with the
earlier manual results, and only new documents are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Row, func, insert, select

from citebed.collection import Collection
from citebed.judging.judgements import build_qrels
from citebed.judging.papers import DocumentLookup, make_entry
from citebed.judging.pooling_methods import Lists, PoolingOptions, contributors, pool
from citebed.judging.questions import current_wording, live_questions
from citebed.judging.searches import (
    COUPLING,
    coupled_documents,
    marked_documents,
    ranked_lists,
)
from citebed.judging.store import schema
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import CURRENT, items, judgements, now, pools
from citebed.runs.tables import Run
from citebed.wording import count


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


def unpooled_questions(tx: Transaction) -> dict[str, str]:
    """Return the wordings of questions whose current wording is not pooled, by query id."""
    return {question.query_id: wording.text for question, wording in _unpooled(tx)}


def _unpooled(tx: Transaction) -> list[tuple[Row[Any], Row[Any]]]:
    """Return the questions whose current wording is not pooled, with this wording."""
    unpooled = []
    for question in live_questions(tx):
        wording = current_wording(tx, question.id)
        mine = (pools.c.question_id == question.id) & (pools.c.wording_id == wording.id)
        if not tx.scalar(select(func.count()).select_from(pools).where(mine)):
            unpooled.append((question, wording))
    return unpooled


def make_pools(
    tx: Transaction,
    collection: Collection,
    lists: Mapping[str, Lists],
    options: PoolingOptions,
    runs: Sequence[str] = (),
) -> list[PoolReport]:
    """Pool all questions that are due, and report for each the ``runs`` without a list.

    ``lists`` are the ranked documents of each run, by query. A run has no list for a query that it
    lacks or whose words occur in no document.
    """
    expected = [*runs, *([COUPLING] if options.coupling and COUPLING not in runs else [])]
    lookup = DocumentLookup(collection)
    relevant = build_qrels(tx, "j1").table.filter(relevance=1)
    by_query = dict(relevant.group_by("query_id").agg("doc_id").iter_rows())
    reports = []
    for question, _ in _unpooled(tx):
        ranked = dict(lists.get(question.query_id, {}))
        if options.coupling and COUPLING not in ranked:
            near = coupled_documents(collection, by_query.get(question.query_id, ()), options.depth)
            ranked |= {COUPLING: near} if near else {}
        report = _pool_question(tx, lookup, question, ranked, options)
        without = tuple(name for name in expected if not ranked.get(name))
        reports.append(report._replace(without=without))
    return reports


def pool_plan(tx: Transaction, collection: Collection, plan: Run) -> list[PoolReport]:
    """Add the documents of a plan to the lists of its questions, unless listed or judged before.

    A reference that its author did not judge is listed again.
    """
    lookup, reports = DocumentLookup(collection), []
    ranked = ranked_lists([plan], plan.table.height)
    for question in live_questions(tx):
        mine = (items.c.question_id == question.id) & items.c.pool_id.is_not(None)
        listed = set(tx.scalars(select(items.c.doc_id).where(mine)))
        judged = _documents_listed_before(tx, question)
        planned = ranked.get(question.query_id, {}).get(plan.name, ())
        new = [doc for doc in planned if doc not in listed and judged.get(doc) is None]
        if new:
            options = PoolingOptions(method=f"depth(k={len(new)})", depth=len(new))
            lists = {plan.name: new}
            reports.append(_pool_question(tx, lookup, question, lists, options, new))
    return reports


def _pool_question(
    tx: Transaction,
    lookup: DocumentLookup,
    question: Row[Any],
    ranked: Mapping[str, Sequence[str]],
    options: PoolingOptions,
    again: Sequence[str] = (),
) -> PoolReport:
    """Choose documents for a question and store them with the methods that found them.

    Documents that were listed before are left out, except those to judge ``again``.
    """
    manual, listed = marked_documents(tx, question.id), _documents_listed_before(tx, question)
    listed = {doc_id: judged for doc_id, judged in listed.items() if doc_id not in again}
    if (own := lookup.document(question.paper)) is not None:
        listed[own.doc_id] = None
    own_seed = options._replace(seed=f"{options.seed}/{question.query_id}")
    chosen = pool(ranked, manual, listed, own_seed)
    mine = pools.c.question_id == question.id
    turn = int(tx.scalar(select(func.max(pools.c.round)).where(mine)) or 0) + 1
    settings = options._asdict() | {
        "manual": manual,
        "lists": {name: list(docs[: options.depth]) for name, docs in ranked.items()},
        "listed": list(listed),
        "unsampled": list(chosen.unsampled),
    }
    wording = current_wording(tx, question.id).id
    row = {"question_id": question.id, "round": turn, "wording_id": wording, "made_at": now()}
    number = tx.add(pools, **row, method=options.method, settings=settings)
    wanted = {*chosen.doc_ids, *listed}
    found = [
        {"pool_id": number, "doc_id": doc_id, "method": method, "rank": rank}
        for doc_id, ranks in contributors(manual, ranked, options.depth).items()
        if doc_id in wanted
        for method, rank in ranks.items()
    ]
    if found:
        tx.execute(insert(schema.contributors), found)
    listing = []
    for at, pooled in enumerate(chosen.documents, 1):  # as the judge will see them
        document = lookup.document(pooled.doc_id)
        shown = make_entry(0, document)._asdict() if document else {"title": pooled.doc_id}
        shown.pop("number", None)
        drawn = pooled._asdict()
        place = {"question_id": question.id, "pool_id": number, "position": at}
        listing.append({**place, "doc_id": drawn.pop("doc_id"), "shown": shown, "drawn": drawn})
    if listing:
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
