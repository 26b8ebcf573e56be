"""The paper's tables 2 to 4 for a campaign: compared collections, and documents by source.

*All Phase One* are all questions that were not excluded. *T1+2* are those that their authors
judged in both phases, with all these judgements; *T1* are the same questions with the judgements
of phase one. The tables count judged documents of the collection. If several judges judged a
document, it counts once, with the highest judgement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl
from sqlalchemy import select

from citebed.errors import UnknownName
from citebed.judging.answers.judgement_tables import SETS, build_qrels, current_judgements
from citebed.judging.invitations.questions import live_questions
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import pools
from citebed.runs.tables import Qrels

Relevant = Mapping[str, bool]
"""Judged documents: whether they are relevant."""


class PublishedCollection(NamedTuple):
    """Published figures of a collection (Ritchie, Robertson & Teufel, Table 2)."""

    name: str
    queries: int
    relevant: float
    irrelevant: float
    documents: int


PUBLISHED_COLLECTIONS = (
    PublishedCollection("Cranfield 2", 221, 7.0, 4.1, 1400),
    PublishedCollection("TREC 8", 150, 94, 1642, 528_000),
    PublishedCollection("TREC Robust", 50, 131.2, 624.74, 1_033_000),
)
CRANFIELD = {
    "all": (11.1, 7.0, 4.1),
    "phase one": (7.1, 4.5, 2.6),
    "phase two": (4.0, 2.5, 1.5),
    "manual": (3.3, 2.1, 1.2),
    "automatic": (0.7, 0.4, 0.3),
}
"""Judged documents per query in Cranfield 2: total, relevant, irrelevant (Table 4)."""
SOURCES = tuple(CRANFIELD)
LABELS = {"phase one": "cited", "manual": "manual", "automatic": "automatic"}
"""Names of the first source of a document in the second field of exported judgements."""


class PoolingRound(NamedTuple):
    """One pooling of a question: manual results, ranked lists, and documents listed before."""

    manual: Sequence[str]
    lists: Mapping[str, Sequence[str]]
    listed: Sequence[str]
    size: int = 15


class JudgedQuery(NamedTuple):
    """A query with the judgements of both phases and its pooling rounds.

    ``by_author``: its author judged in phase two, not only a second judge.
    """

    query_id: str
    first: Relevant
    second: Relevant
    rounds: Sequence[PoolingRound] = ()
    by_author: bool = True


def judged_queries(tx: Transaction) -> list[JudgedQuery]:
    """Return all questions that are not excluded, with their judgements and pooling rounds."""
    judged: dict[str, dict[str, dict[str, bool]]] = {"j1": {}, "j2": {}}
    for name, by_query in judged.items():
        for query_id, doc_id, relevance in build_qrels(tx, name).table.iter_rows():
            by_query.setdefault(query_id, {})[doc_id] = relevance > 0
    own = current_judgements(tx).filter("own", pl.col("value").is_not_null())
    by_author = set(own.filter(pl.col("phase") == 2)["query_id"])
    made = select(pools.c.settings).order_by(pools.c.round)
    return [
        JudgedQuery(
            each.query_id,
            judged["j1"].get(each.query_id, {}),
            judged["j2"].get(each.query_id, {}),
            [
                PoolingRound(*(settings[name] for name in PoolingRound._fields))
                for settings in tx.scalars(made.where(pools.c.question_id == each.id))
            ],
            each.query_id in by_author,
        )
        for each in live_questions(tx)
    ]


def with_both_phases(queries: Iterable[JudgedQuery]) -> list[JudgedQuery]:
    """Return the queries of T1 and T1+2."""
    return [query for query in queries if query.first and query.second and query.by_author]


PAIRS = {"t1": "j1", "t12": "j12"}
"""T1 and T1+2: the same queries under J1 and under J1+2, which is what the paper compares."""


def judgement_set(tx: Transaction, name: str, *, graded: bool = False) -> Qrels:
    """Return J1, J2 or J1+2 over all queries, or T1 or T1+2 over those judged in both phases."""
    if name not in PAIRS:
        if name not in SETS:
            raise UnknownName("set of judgements", name, (*PAIRS, *SETS))
        return build_qrels(tx, name, graded=graded)
    both = [query.query_id for query in with_both_phases(judged_queries(tx))]
    table = build_qrels(tx, PAIRS[name], graded=graded).table
    return Qrels(table.filter(pl.col("query_id").is_in(both)), name)


# --- Table 2 ----------------------------------------------------------------------------------


def comparison(queries: Sequence[JudgedQuery], documents: int) -> pl.DataFrame:
    """Return Table 2: the campaign's sets and published collections, as means per query."""
    both = with_both_phases(queries)
    rows = [
        _means("All Phase One", [query.first for query in queries], documents),
        _means("T1", [query.first for query in both], documents),
        _means("T1+2", [{**query.second, **query.first} for query in both], documents),
        *PUBLISHED_COLLECTIONS,
    ]
    table = pl.DataFrame(rows, orient="row", schema=list(PublishedCollection._fields))
    thousand = pl.col("relevant") / pl.col("documents") * 1000
    return table.rename({"name": "collection"}).with_columns(per_thousand=thousand)


def _means(name: str, judged: Sequence[Relevant], documents: int) -> PublishedCollection:
    relevant = sum(sum(each.values()) for each in judged)
    total = sum(map(len, judged))
    number = len(judged) or 1
    return PublishedCollection(
        name, len(judged), relevant / number, (total - relevant) / number, documents
    )


# --- Tables 3 and 4 ---------------------------------------------------------------------------


class DocumentSources(NamedTuple):
    """The sources of a query's judged documents: references, manual searches, ranked lists.

    ``automatic`` are the documents that the ranked lists reached in a round-robin.
    """

    first: frozenset[str]
    manual: frozenset[str]
    automatic: frozenset[str]

    def of(self, doc_id: str) -> list[str]:
        """Return all sources of a document, the earliest first."""
        places = {"phase one": self.first, "manual": self.manual, "automatic": self.automatic}
        return [name for name, documents in places.items() if doc_id in documents]

    def of_judged(self, doc_id: str) -> list[str]:
        """Return all sources of a judged document, which has at least one."""
        # Other methods may go deeper in one list than a round-robin would.
        return self.of(doc_id) or ["automatic"]


def round_robin_documents(made: PoolingRound) -> set[str]:
    """Return the documents that ranked lists reach in a round-robin until the pool is full.

    This includes documents that were skipped because they were already in the pool.
    """
    passed = {*made.listed, *made.manual}
    left = made.size - len({*made.manual} - {*made.listed})
    readers = [iter(ranking) for ranking in made.lists.values()]
    reached: set[str] = set()
    while left > 0 and readers:
        for reader in list(readers):
            for doc_id in reader:
                reached.add(doc_id)
                if doc_id not in passed:
                    passed.add(doc_id)
                    left -= 1
                    break
            else:
                readers.remove(reader)
            if left <= 0:
                break
    return reached


def find_sources(query: JudgedQuery, *, by_hand: bool = True) -> DocumentSources:
    """Return the sources of a query's documents, with or without manual searches."""
    rounds = [each if by_hand else each._replace(manual=()) for each in query.rounds]
    manual = {doc_id for each in rounds for doc_id in each.manual}
    automatic = {doc_id for each in rounds for doc_id in round_robin_documents(each)}
    return DocumentSources(frozenset(query.first), frozenset(manual), frozenset(automatic))


def first_sources(queries: Iterable[JudgedQuery]) -> pl.DataFrame:
    """Return the first source of each judged document as ``query_id, doc_id, label``."""
    rows = [
        (query.query_id, doc_id, LABELS[origin.of_judged(doc_id)[0]])
        for query in queries
        for origin in [find_sources(query)]
        for doc_id in {**query.second, **query.first}
    ]
    columns = dict.fromkeys(("query_id", "doc_id", "label"), pl.String)
    return pl.DataFrame(rows, columns, orient="row")


def by_source(queries: Sequence[JudgedQuery]) -> pl.DataFrame:
    """Return Table 3: judged documents per query of T1+2, by source.

    ``part`` is ``judged`` (by first source), ``unique`` (with one source only) or ``unique without
    manual``.
    """
    both = with_both_phases(queries)
    counts: dict[tuple[str, str], list[int]] = {}
    for query in both:
        _count(query, counts)
    number = len(both) or 1
    rows = []
    for part in ("judged", "unique", "unique without manual"):
        for source in SOURCES:
            total, relevant = counts.get((part, source), [0, 0])
            means = (total / number, relevant / number, (total - relevant) / number)
            rows.append((part, source, *means))
    columns = ["part", "source", "total", "relevant", "irrelevant"]
    return pl.DataFrame(rows, orient="row", schema=columns)


def _count(query: JudgedQuery, counts: dict[tuple[str, str], list[int]]) -> None:
    origin = find_sources(query)
    without = find_sources(query, by_hand=False)
    for doc_id, relevant in {**query.second, **query.first}.items():
        sources = origin.of_judged(doc_id)
        _add(counts, "judged", sources[0], relevant)
        if len(sources) == 1:
            _add(counts, "unique", sources[0], relevant)
        alone = without.of(doc_id)
        if len(alone) == 1:
            _add(counts, "unique without manual", alone[0], relevant)


def _add(counts: dict[tuple[str, str], list[int]], part: str, source: str, relevant: bool) -> None:
    above = {"manual": ["phase two"], "automatic": ["phase two"]}.get(source, [])
    for name in ("all", *above, source):
        cell = counts.setdefault((part, name), [0, 0])
        cell[0] += 1
        cell[1] += relevant


def compare_with_cranfield(queries: Sequence[JudgedQuery]) -> pl.DataFrame:
    """Return Table 4: judged documents by source, compared with Cranfield 2."""
    mine = by_source(queries).filter(pl.col("part") == "judged").drop("part")
    theirs = pl.DataFrame(
        [(source, *means) for source, means in CRANFIELD.items()],
        orient="row",
        schema=["source", "cranfield_total", "cranfield_relevant", "cranfield_irrelevant"],
    )
    return mine.join(theirs, on="source", how="left", maintain_order="left")
