"""Questions with known answers: sentences of drafts that cite, and queries that were judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from citebed.collection import Collection
from citebed.drafts import find_cited_documents, find_own_documents, resolve_draft
from citebed.drafts.reader import DraftLike
from citebed.drafts.records import Cited, Draft, pieces
from citebed.drafts.references import match_author_year
from citebed.errors import CitebedError
from citebed.retrieval.search.queries import read_queries
from citebed.runs.reader import read_qrels
from citebed.text.identifiers import normalise_doi

_ARXIV = "arXiv:"
_COLUMNS = ("doc_id", "title", "doi", "url", "aliases", "keys", "cite_key", "arxiv", "authors",
            "year")  # fmt: skip


@dataclass(frozen=True)
class Question:
    """A text, and how relevant documents are for it; ``asker`` is the paper or draft it is of.

    ``exclude`` are documents that are no answer, nothing later than ``before`` is one, and what
    ``paper`` says when it cites is no evidence.
    """

    text: str
    relevant: Mapping[str, int]
    asker: str
    exclude: tuple[str, ...] = ()
    before: str | None = None
    paper: str | None = None


# --- Drafts -------------------------------------------------------------------------------------


def of_drafts(collection: Collection, drafts: Iterable[DraftLike]) -> list[Question]:
    """The sentences of drafts that cite documents of the collection."""
    given = [resolve_draft(each)[0] for each in drafts]
    if not given:
        return []
    documents = collection.scan_documents().select(_COLUMNS).collect()
    return [
        question
        for number, draft in enumerate(given, 1)
        for question in _of_draft(draft, f"draft {number}", documents)
    ]


def _of_draft(draft: Draft, asker: str, documents: pl.DataFrame) -> Iterator[Question]:
    sentences = [each for each in pieces(draft, "sentence") if each.cites and not each.silent]
    own = tuple(sorted(find_own_documents(draft.title, None, documents)))
    names = dict.fromkeys(name for each in sentences for name in each.cites)
    meant = {name: _meant(name, draft.cited, documents) for name in names}
    for each in sentences:
        found = frozenset[str]().union(*(meant[name] for name in each.cites)).difference(own)
        if found:
            yield Question(each.text, dict.fromkeys(sorted(found), 1), asker, own)


def _meant(name: str, cited: Cited, documents: pl.DataFrame) -> set[str]:
    """The documents that a draft means by a name: a key, a number, an identifier, or authors and
    year where one document fits."""
    entries = tuple(entry for entry in cited.entries if entry.key == name)
    doi = normalise_doi(name)
    is_arxiv = name.startswith(_ARXIV)
    one = Cited(
        keys=() if doi or is_arxiv else (name,),
        dois=tuple(filter(None, (doi, *(entry.doi for entry in entries)))),
        arxiv=(name.removeprefix(_ARXIV),) if is_arxiv else (),
        entries=entries,
    )
    found = find_cited_documents(one, documents)
    authored = match_author_year([name], documents).get(name, frozenset())
    return found or (set(authored) if len(authored) == 1 else set())


# --- Queries ------------------------------------------------------------------------------------


def of_queries(
    collection: Collection, queries: str, qrels: Sequence[str | Path] = ()
) -> list[Question]:
    """The queries of a set, or of a file, that have a relevant document in the collection; by the
    judgements of files, or else by the set's own."""
    if not qrels and queries not in collection.query_sets:
        raise CitebedError(f"'{queries}' is no query set of the collection: name its judgements")
    table = read_queries(collection, queries)
    judged = [read_qrels(each) for each in qrels] or [collection.qrels(queries)]
    relevant: dict[str, dict[str, int]] = {}
    for each in judged:
        for query_id, doc_id, grade in _relevant(each.table, collection):
            known = relevant.setdefault(query_id, {})
            known[doc_id] = max(grade, known.get(doc_id, 0))
    return [
        Question(
            row["text"], relevant[row["query_id"]], row["paper_id"] or row["query_id"],
            tuple(row["exclude"] or ()), row["before"], row["paper_id"],
        )
        for row in table.iter_rows(named=True)
        if row["query_id"] in relevant
    ]  # fmt: skip


def _relevant(qrels: pl.DataFrame, collection: Collection) -> Iterator[tuple[str, str, int]]:
    """The judgements of relevant documents that the collection has."""
    there = collection.scan_documents().select("doc_id").collect()
    found = qrels.filter(pl.col("relevance") > 0).join(there, on="doc_id", maintain_order="left")
    return found.select("query_id", "doc_id", "relevance").iter_rows()


def own_sets(collection: Collection) -> list[str]:
    """The query sets of a collection that have judgements."""
    return [name for name in collection.query_sets if collection.qrels(name).table.height]


def as_one_asker(questions: Sequence[Question], parts: int) -> list[Question]:
    """The questions of one asker as if neighbouring ones were of as many askers."""
    return [
        replace(each, asker=f"{each.asker}, part {place * parts // len(questions)}")
        for place, each in enumerate(questions)
    ]
