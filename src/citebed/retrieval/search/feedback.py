"""Feedback in a search: the documents that it uses, and the query that results from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.errors import CitebedError
from citebed.files.input_files import hash_file
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights
from citebed.retrieval.feedback.methods import Rocchio
from citebed.retrieval.search.searcher import Hits
from citebed.retrieval.search.view import View
from citebed.retrieval.vectors.vectors import Docs, DocumentVectors, Vectors, unit_rows
from citebed.wording import count, printable


def feedback_documents(view: View, hits: Hits) -> FeedbackDocuments:
    """Return documents in the form that feedback takes: their terms, concatenated."""
    vectors = view.documents(hits.docs)
    ids = np.concatenate([np.zeros(0, np.int64), *(terms for terms, _ in vectors)])
    tf = np.concatenate([np.zeros(0), *(times for _, times in vectors)])
    unique, place = np.unique(ids, return_inverse=True)
    df, cf = view.frequencies(unique)
    return FeedbackDocuments(
        starts=np.cumsum([0, *(len(terms) for terms, _ in vectors)]),
        ids=ids,
        tf=tf,
        df=df[place],
        cf=cf[place],
        lengths=view.stats.lengths[hits.docs],
        scores=hits.scores,
        x=view.per_document[hits.docs],
    )


def better_query(
    view: View, feedback: Feedback, query: TermWeights, relevant: Hits, nonrelevant: Hits
) -> TermWeights:
    documents = feedback_documents(view, relevant)
    if len(nonrelevant.docs):
        others = feedback_documents(view, nonrelevant)
        documents = replace(documents, nonrelevant=others)
    return feedback.expand(view.model, query, documents, view.stats)


@dataclass(frozen=True)
class JudgedFeedback:
    """The ids of relevant and of other judged documents by query, and facts about their file."""

    by_query: Mapping[str, tuple[list[str], list[str]]]
    pairs: frozenset[tuple[str, str]]
    facts: Mapping[str, Any]

    def documents(self, query_id: str) -> tuple[list[str], list[str]]:
        """Return the relevant and the other judged documents of a query, sorted by id."""
        return self.by_query.get(query_id, ([], []))


def told_of_judged(
    judged: JudgedFeedback, collection: Collection, names: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return facts and notes about judged feedback on queries, given by name."""
    asked, shared = set(names), list[str]()
    mine = {pair for pair in judged.pairs if pair[0] in asked}
    for name in sorted(collection.query_sets):
        relevant = collection.qrels(name).table.filter(pl.col("relevance") > 0)
        if not mine.isdisjoint(relevant.select("query_id", "doc_id").iter_rows()):
            shared.append(name)
    facts = {"feedback_from": judged.facts, "feedback_from_evaluation_judgements": shared}
    notes = []
    if shared:
        sets = ", ".join(shared)
        notes.append(
            f"the feedback uses judgements of {sets}: scores on {sets} show how much feedback "
            "can help, not how good a system is"
        )
    without = sum(not judged.documents(name)[0] for name in names)
    if without:
        one = without == 1
        have, stay = ("has", "stays as it is") if one else ("have", "stay as they are")
        notes.append(f"{count(without, 'query')} {have} no judged document and {stay}")
    return facts, notes


def read_judged(
    collection: Collection, source: str, choose_known: Callable[[list[str]], Iterable[str]]
) -> JudgedFeedback:
    """Read the judgements of a qrels file, or of a set of the collection, on indexed documents.

    ``choose_known`` returns those of some document ids that are indexed.
    """
    from citebed.runs.trec_files import QRELS, trec_lines

    path = Path(source)
    if not path.is_file() and source in collection.query_sets:
        path = collection.folder / "qrels" / f"{source}.qrels"
    if not path.is_file():
        sets = ", ".join(collection.query_sets) or "none"
        raise CitebedError(
            f"no judgements '{source}' for feedback. Expected a qrels file or a query set of the "
            f"collection ({sets})"
        )
    lines = list(trec_lines(path, QRELS))
    known = set(choose_known([doc_id for _, _, doc_id, _ in lines]))
    pairs = frozenset((query, doc_id) for _, query, doc_id, relevance in lines if relevance > 0)
    by_query: dict[str, tuple[set[str], set[str]]] = {}
    for _, query_id, doc_id, relevance in lines:
        if doc_id in known:
            by_query.setdefault(query_id, (set(), set()))[relevance <= 0].add(doc_id)
    missing = sum(doc_id not in known for _, _, doc_id, _ in lines)
    facts = {"file": printable(path.name), "sha256": hash_file(path), "not_in_index": missing}
    both = {name: (sorted(one), sorted(other)) for name, (one, other) in by_query.items()}
    return JudgedFeedback(both, pairs, facts)


def equal_hits(numbers: Docs) -> Hits:
    """Return documents as hits with equal scores."""
    return Hits(numbers, np.ones(len(numbers)))


_NONE: Docs = np.zeros(0, np.int64)


class Moving(NamedTuple):
    """How far judged documents move a query.

    Feedback adds at most ``terms`` terms with Rocchio's β. To the text's vector, of length 1, it
    adds ``towards`` times the mean vector of relevant documents, and subtracts ``away`` times the
    mean vector of others. ``bench/feedback.py --tune`` found these numbers on citing sentences.
    Without a relevant document nothing moves, because that made results worse. A text of several
    sentences asks for several things, and a document is relevant to one of them: the movement is
    divided by the square of their number.
    """

    terms: int = 20
    beta: float = 0.75
    towards: float = 0.75
    away: float = 0.1

    def less(self, sentences: int) -> Moving:
        """Return the movement for a text of this many sentences."""
        share = 1 / max(sentences, 1) ** 2
        return self._replace(
            beta=self.beta * share, towards=self.towards * share, away=self.away * share
        )


MOVING = Moving()


class Judged(NamedTuple):
    """The relevant and the other judged documents of a text by number, and how far they move it."""

    relevant: Docs = _NONE
    nonrelevant: Docs = _NONE
    moving: Moving = MOVING

    def __bool__(self) -> bool:
        return bool(len(self.relevant) or len(self.nonrelevant))

    @property
    def moves(self) -> bool:
        """Return True if there is a relevant document."""
        return len(self.relevant) > 0


NOT_JUDGED = Judged()


def moved_terms(
    view: View, terms: TermWeights, judged: Judged, feedback: Feedback | None
) -> TermWeights:
    """Return the terms of a query after feedback, by default Rocchio's."""
    how = feedback or Rocchio(terms=judged.moving.terms, beta=judged.moving.beta)
    wrong = _NONE if feedback is None else judged.nonrelevant  # Rocchio's γ is 0
    return better_query(view, how, terms, equal_hits(judged.relevant), equal_hits(wrong))


def moved_vectors(rows: Vectors, documents: DocumentVectors, judged: Judged) -> Vectors:
    """Return the vectors of a text and its sentences, after moving the vector of the text."""
    towards = judged.moving.towards * _mean(documents, judged.relevant)
    away = judged.moving.away * _mean(documents, judged.nonrelevant)
    return np.concatenate([unit_rows(rows[:1] + towards - away), rows[1:]])


def _mean(documents: DocumentVectors, numbers: Docs) -> NDArray[np.float32]:
    """Return the mean vector of the documents that have one."""
    known = numbers[documents.scales[numbers] > 0]
    if not len(known):
        return np.zeros(documents.width, np.float32)
    return np.asarray(documents.decode(known).mean(axis=0), np.float32)
