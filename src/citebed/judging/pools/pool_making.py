"""Pools in the store: which documents each question's author is sent in phase two.

A question is pooled once for each wording that asks for it: a correction by its author goes back
to pooling with the earlier manual results, and only documents that are new come out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, insert, select

from citebed.collection import Collection
from citebed.judging.answers.judgement_tables import qrels_of
from citebed.judging.asking.papers import Lookup, entry_of
from citebed.judging.asking.questions import live_questions, wording_of
from citebed.judging.pools.pooling import Budget, contributors, pool
from citebed.judging.pools.pooling_methods import Pooled
from citebed.judging.pools.searching import COUPLING, DEPTH, coupled, marked
from citebed.judging.store import schema
from citebed.judging.store.handle import CampaignStore
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


def waiting(store: CampaignStore, connection: Connection) -> dict[str, str]:
    """The questions to pool, by id, with their wordings: never pooled, or worded anew since."""
    return {
        question.query_id: wording.text
        for question in live_questions(store, connection)
        if (wording := _unpooled_wording(connection, question.id)) is not None
    }


def _unpooled_wording(connection: Connection, question: int) -> Row[Any] | None:
    wording = wording_of(connection, question)
    mine = (pools.c.question_id == question) & (pools.c.wording_id == wording.id)
    done = connection.scalar(select(func.count()).select_from(pools).where(mine))
    return None if done else wording


def make_pools(
    store: CampaignStore,
    connection: Connection,
    collection: Collection,
    lists: Lists,
    options: PoolingOptions,
) -> list[PoolReport]:
    """Pool the questions that wait for it."""
    lookup = Lookup(collection)
    relevant = qrels_of(store, connection, "j1").table.filter(relevance=1)
    by_query = dict(relevant.group_by("query_id").agg("doc_id").iter_rows())
    reports = []
    for question in list(live_questions(store, connection)):
        wording = _unpooled_wording(connection, question.id)
        if wording is None:
            continue
        ranked = dict(lists.get(question.query_id, {}))
        if options.coupling and COUPLING not in ranked:
            near = coupled(collection, by_query.get(question.query_id, ()), options.depth)
            ranked |= {COUPLING: near} if near else {}
        made = _Pooling(store, connection, lookup, question, options)
        reports.append(made.keep(wording.id, ranked))
    return reports


class _Pooling:
    """A question at the moment of its pooling."""

    def __init__(
        self,
        store: CampaignStore,
        connection: Connection,
        lookup: Lookup,
        question: Row[Any],
        options: PoolingOptions,
    ) -> None:
        self.store, self.connection, self.lookup = store, connection, lookup
        self.question, self.options = question, options

    def keep(self, wording: int, ranked: Mapping[str, Sequence[str]]) -> PoolReport:
        """Choose documents, and store them with all that found them."""
        options, query_id = self.options, self.question.query_id
        manual = marked(self.connection, self.question.id)
        listed = self._listed()
        budget = Budget(options.size, f"{options.seed}/{query_id}")
        chosen = pool(ranked, manual, listed, method=options.method, budget=budget)
        lists = {name: list(docs[: options.depth]) for name, docs in ranked.items()}
        made = {"manual": manual, "lists": lists, "listed": list(listed)}
        made |= {"unsampled": list(chosen.unsampled)}
        turn, pool_id = self._add_pool(wording, made)
        wanted = {*chosen.doc_ids, *listed}
        rows = [
            {"pool_id": pool_id, "doc_id": doc_id, **each._asdict()}
            for doc_id, methods in contributors(manual, ranked, options.depth).items()
            if doc_id in wanted
            for each in methods
        ]
        if rows:
            self.connection.execute(insert(schema.contributors), rows)
        if chosen.documents:
            self.connection.execute(insert(items), self._items(pool_id, chosen.documents))
        new_manual = sum(document.stratum == "manual" for document in chosen.documents)
        return PoolReport(query_id, turn, new_manual, len(chosen.documents))

    def _listed(self) -> dict[str, bool | None]:
        """Documents that are on a list of this question already, with what was said of them."""
        rows = self.connection.execute(
            select(items.c.doc_id, items.c.pool_id, judgements.c.value)
            .select_from(items)
            .outerjoin(judgements, (judgements.c.item_id == items.c.id) & CURRENT)
            .where(items.c.question_id == self.question.id, items.c.doc_id.is_not(None))
        )
        known: dict[str, bool | None] = {}
        for doc_id, pooled, value in rows:
            phase = 1 if pooled is None else 2
            relevant = None if value is None else self.store.settings.is_relevant(phase, value)
            known[doc_id] = known.get(doc_id) or relevant
        own = self.lookup.document(self.question.paper)
        return known | ({own.doc_id: None} if own is not None else {})

    def _add_pool(self, wording: int, made: dict[str, Any]) -> tuple[int, int]:
        mine = pools.c.question_id == self.question.id
        turn = int(self.connection.scalar(select(func.max(pools.c.round)).where(mine)) or 0) + 1
        settings = self.options._asdict() | made
        row = {"question_id": self.question.id, "round": turn, "wording_id": wording}
        row |= {"method": self.options.method, "settings": settings, "made_at": now()}
        added = insert(pools).returning(pools.c.id).values(row)
        return turn, int(self.connection.execute(added).scalar_one())

    def _items(self, pool_id: int, chosen: Sequence[Pooled]) -> list[dict[str, Any]]:
        rows = []
        for position, pooled in enumerate(chosen, 1):
            drawn = pooled._asdict()
            doc_id = drawn.pop("doc_id")
            document = self.lookup.document(doc_id)
            entry = entry_of(position, document)._asdict() if document else {"title": doc_id}
            entry.pop("number", None)
            row = {"question_id": self.question.id, "pool_id": pool_id, "position": position}
            rows.append(row | {"doc_id": doc_id, "shown": entry, "drawn": drawn})
        return rows
