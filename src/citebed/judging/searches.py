"""The searches of phase two: manual, by retrieval models, and by bibliographic coupling.

Each manual search is stored with its results and the documents that were marked in it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import Row, func, select

from citebed.collection import Collection
from citebed.errors import CitebedError
from citebed.judging.forms.sheet import Entry
from citebed.judging.pooling_methods import DEPTH
from citebed.judging.questions import load_question
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.schema import (
    CURRENT,
    items,
    judgements,
    marks,
    now,
    references,
    searches,
)
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.recommend.recommender import Recommender
from citebed.runs.ranking import in_rank_order
from citebed.runs.tables import Qrels, Run
from citebed.runs.writer import write_qrels

MODELS = {
    "okapi": "okapi+feedback(terms=20,from={judged})",
    "kl": "kl(mu=1000)+feedback(terms=20,from={judged})",
    "cosine": "cosine",
}
"""The three models of the paper; feedback comes from the relevant references of phase one."""
COUPLING = "coupling"


class Hit(NamedTuple):
    """A result of a manual search.

    ``cited``: the question's paper cites it; ``judged``: its author graded it in phase one.
    """

    rank: int
    doc_id: str
    title: str
    authors: tuple[str, ...]
    year: int | None
    marked: bool = False
    cited: bool = False
    judged: bool = False


class JudgedReference(NamedTuple):
    """A reference of a question's paper, with its author's judgement of phase one."""

    entry: Entry
    doc_id: str | None
    judged: bool
    value: int | None
    comment: str


def search_by_hand(
    store: CampaignStore,
    recommender: Recommender,
    query_id: str,
    text: str,
    who: str = "organiser",
    k: int = 30,
) -> tuple[int, list[Hit]]:
    """Search manually for a question; return the id of the search and its results.

    The results contain ``k`` documents that the question's paper does not cite. Cited documents
    between them are included but do not count.
    """
    if not text.strip():
        raise CitebedError("the search is empty. Enter some words.")
    with store.reading() as tx:
        question = load_question(tx, query_id)
        cited = excluded_documents(tx, question)
        judged = {each.doc_id for each in judged_references(tx, question) if each.judged}
    most = k + len(cited)
    # Return results for any input: a manual search is deliberate.
    results = recommender.recommend(text, most, min_probability=0).table
    rows: list[Any] = []
    for hit in results.select("doc_id", "title", "authors", "year").iter_rows():
        if k <= 0:
            break
        rows.append(hit)
        k -= hit[0] not in cited
    with store.writing() as tx:
        question = load_question(tx, query_id)
        row = {"question_id": question.id, "text": text, "model": str(recommender.pipeline)}
        row |= {"results": [doc_id for doc_id, *_ in rows], "who": who, "at": now()}
        search = tx.add(searches, **row)
        chosen = set(marked_documents(tx, question.id))
    hits = [
        Hit(rank, doc_id, title, tuple(authors or ()), year,
            marked=doc_id in chosen, cited=doc_id in cited, judged=doc_id in judged)
        for rank, (doc_id, title, authors, year) in enumerate(rows, 1)
    ]  # fmt: skip
    return search, hits


def excluded_documents(tx: Transaction, question: Row[Any]) -> set[str]:
    """Return the question's paper and the documents that it cites."""
    mine = (references.c.paper_id == question.paper_id) & references.c.doc_id.is_not(None)
    return {question.paper, *tx.scalars(select(references.c.doc_id).where(mine))}


def judged_references(tx: Transaction, question: Row[Any]) -> list[JudgedReference]:
    """Return the references of a question with the author's judgements, the best first."""
    theirs = (judgements.c.item_id == items.c.id) & CURRENT
    theirs &= judgements.c.person_id == question.person_id
    columns = [references.c[name] for name in Entry._fields]
    judged = [judgements.c.id, judgements.c.value, judgements.c.comment]
    rows = tx.execute(
        select(*columns, references.c.doc_id, *judged)
        .join(items, items.c.reference_id == references.c.id)
        .outerjoin(judgements, theirs)
        .where(items.c.question_id == question.id)
        .order_by(references.c.number)
    )
    cited = [
        JudgedReference(Entry(*entry), doc_id, judgement is not None, value, comment or "")
        for *entry, doc_id, judgement, value, comment in rows
    ]
    return sorted(cited, key=lambda each: (not each.judged, -(each.value or 0)))


def mark(
    store: CampaignStore,
    query_id: str,
    doc_id: str,
    *,
    search: int | None = None,
    who: str = "organiser",
    on: bool = True,
) -> None:
    """Mark a document as a candidate for judging, or remove the mark."""
    with store.writing() as tx:
        question = load_question(tx, query_id)
        rank = 0
        if search is not None:
            results = tx.scalar(
                select(searches.c.results).where(
                    searches.c.id == search, searches.c.question_id == question.id
                )
            )
            if results is None or doc_id not in results:
                raise CitebedError(f"search {search} of this query did not find '{doc_id}'. "
                                   "Mark one of its results.")  # fmt: skip
            rank = results.index(doc_id) + 1
        if (doc_id in marked_documents(tx, question.id)) is on:
            return
        row = {"question_id": question.id, "search_id": search, "doc_id": doc_id, "rank": rank}
        tx.add(marks, **row, marked=on, who=who, at=now())


def marked_documents(tx: Transaction, question: int) -> list[str]:
    """Return the marked documents of a question, in the order of marking."""
    chosen: dict[str, None] = {}
    rows = select(marks.c.doc_id, marks.c.marked).where(marks.c.question_id == question)
    for doc_id, on in tx.execute(rows.order_by(marks.c.id)):
        chosen.pop(doc_id, None)
        if on:
            chosen[doc_id] = None
    return list(chosen)


class PastSearch(NamedTuple):
    """A stored manual search with its results and the number of marks."""

    search: int
    text: str
    who: str
    at: datetime
    doc_ids: tuple[str, ...]
    marks: int


def past_searches(tx: Transaction, question: int) -> list[PastSearch]:
    """Return the manual searches for a question, the oldest first."""
    mine = select(searches).where(searches.c.question_id == question).order_by(searches.c.id)
    count = select(marks.c.search_id, func.count()).where(marks.c.question_id == question)
    counts = count.where(marks.c.marked).group_by(marks.c.search_id)
    marked_in = {row[0]: row[1] for row in tx.execute(counts)}
    return [
        PastSearch(row.id, row.text, row.who, row.at, tuple(row.results), marked_in.get(row.id, 0))
        for row in tx.execute(mine)
    ]


def automatic_runs(
    collection: Collection,
    queries: Mapping[str, str],
    judged: Qrels,
    models: Mapping[str, str] = MODELS,
) -> list[Run]:
    """Run the models for the current wordings of queries."""
    table = pl.DataFrame({"query_id": list(queries), "text": list(queries.values())})
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judged.qrels"
        write_qrels(path, judged)
        for name, model in models.items():
            options = RunOptions(depth=DEPTH)
            run = run_queries(collection, None, table, model.format(judged=path), options)
            runs.append(Run(run.table, name))
    return runs


def coupled_documents(
    collection: Collection, relevant: Iterable[str], depth: int = DEPTH
) -> list[str]:
    """Return documents that share references with relevant ones, the most shared first.

    This is bibliographic coupling, as in Cranfield 2. Shared references are summed over all
    relevant documents; if the collection has precomputed couplings, these are used instead.
    """
    citing = set(relevant)
    links = collection.links
    ready = links.filter(pl.col("kind") == "coupled", pl.col("doc_id").is_in(citing))
    if ready.height:
        pairs = ready.select(doc_id="target_id", common=pl.col("weight").cast(pl.Float64))
    else:
        cites = links.filter(pl.col("kind") == "cites").select(
            "doc_id", cited=pl.coalesce("target_id", "target")
        )
        of_relevant = cites.filter(pl.col("doc_id").is_in(citing)).group_by("cited").len("common")
        pairs = cites.unique().join(of_relevant, on="cited").select("doc_id", "common")
    ranked = (
        pairs.filter(pl.col("doc_id").is_not_null(), ~pl.col("doc_id").is_in(citing))
        .group_by("doc_id")
        .agg(pl.col("common").sum())
        .sort(["common", "doc_id"], descending=True)
    )
    return ranked["doc_id"].head(depth).to_list()


def ranked_lists(runs: Sequence[Run], depth: int = DEPTH) -> dict[str, dict[str, list[str]]]:
    """Return the ranked document ids of each run, by query."""
    lists: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        grouped = in_rank_order(run).group_by("query_id", maintain_order=True).agg("doc_id")
        for query_id, doc_ids in grouped.iter_rows():
            lists.setdefault(query_id, {})[run.name] = doc_ids[:depth]
    return lists
