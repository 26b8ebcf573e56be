"""Tune the weights of word vectors and citation counts on drafts and judged queries.

Tuning tries the same weights as fitting. If the index has citing sentences, it also tries weights
of how often a document is cited. A weight changes only if another one is better by more than a
standard error. Tuning then takes the weight nearest to the old one whose score is within a standard
error of the best. Cross-validation over papers and drafts decides whether to store the new weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection, open_collection
from citebed.collection.progress import SILENT, Progress
from citebed.collection.storing.store import lock_collection
from citebed.drafts import find_own_documents, resolve_draft
from citebed.drafts.document_matching import DRAFT_COLUMNS, citing_sentences
from citebed.drafts.reader import DraftLike
from citebed.errors import CitebedError
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index import layout
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.ranking.collection_weights import (
    MIN_DOCUMENTS,
    NDCG_DEPTH,
    CollectionWeights,
    apply_weights,
    choose_weight,
    ndcg,
    read_weights,
)
from citebed.retrieval.ranking.features import SIGNALS
from citebed.retrieval.ranking.ranker import shipped_ranker
from citebed.retrieval.ranking.weight_fit import WEIGHTS
from citebed.retrieval.search.queries import read_queries
from citebed.runs.reader import read_qrels
from citebed.text.words import text_language
from citebed.wording import printable


@dataclass(frozen=True)
class Question:
    """A text and the grades of its relevant documents.

    ``asker`` is the paper or draft that contains the text. Documents in ``exclude`` and documents
    later than ``before`` cannot be recommended. The citing sentences of ``paper`` do not count as
    evidence.
    """

    text: str
    relevant: Mapping[str, int]
    asker: str
    exclude: tuple[str, ...] = ()
    before: str | None = None
    paper: str | None = None


# --- Drafts -------------------------------------------------------------------------------------


def of_drafts(collection: Collection, drafts: Iterable[DraftLike]) -> list[Question]:
    """Return the sentences of drafts that cite documents of the collection."""
    questions, documents = [], None
    for number, draft in enumerate((resolve_draft(each)[0] for each in drafts), 1):
        if documents is None:
            documents = collection.scan_documents().select(DRAFT_COLUMNS).collect()
        own = tuple(sorted(find_own_documents(draft.title, None, documents)))
        for text, cited in citing_sentences(draft, documents):
            if found := dict.fromkeys(sorted(cited.difference(own)), 1):
                questions.append(Question(text, found, f"draft {number}", own))
    return questions


# --- Queries ------------------------------------------------------------------------------------


def of_queries(
    collection: Collection, queries: str, qrels: Sequence[str | Path] = ()
) -> list[Question]:
    """Return the queries of a query set or file that have a relevant document in the collection.

    Grades come from the files in ``qrels``, or without any from the query set's own qrels.
    """
    if not qrels and queries not in collection.query_sets:
        raise CitebedError(f"'{queries}' is not a query set of the collection: name its judgements")
    table = read_queries(collection, queries)
    judged = [read_qrels(each) for each in qrels] or [collection.qrels(queries)]
    there = collection.scan_documents().select("doc_id").collect()
    relevant: dict[str, dict[str, int]] = {}
    for each in judged:
        found = each.table.filter(pl.col("relevance") > 0)
        found = found.join(there, on="doc_id", maintain_order="left")
        for query_id, doc_id, grade in found.select("query_id", "doc_id", "relevance").iter_rows():
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


Reals = NDArray[np.float64]
FAMES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The weights of citation counts to try, as shares of the ranker's own weight."""
_PARTS = 5
"""The number of parts in cross-validation."""
_SEED = 7


class Tuned(NamedTuple):
    """The result of tuning.

    ``bm25``, ``before`` and ``after`` are nDCG@10 over ``questions`` by ``askers`` papers and
    drafts: of BM25 alone, with the old weights, and with the new ones by cross-validation.
    ``words_share`` is the weight of words as a share of words and vectors together. ``fame`` is the
    weight of citation counts as a share of the weight that citebed ships. With fewer questions than
    ``needed``, tuning changes nothing.
    """

    questions: int
    askers: int
    needed: int
    changed: bool = False
    words_share_before: float = 0.0
    words_share: float = 0.0
    bm25: float = 0.0
    before: float = 0.0
    after: float = 0.0
    learned_from: tuple[str, ...] = ()
    fame_before: float = 1.0
    fame: float = 1.0


def tune(
    collection: str | Path | Collection,
    drafts: Iterable[DraftLike] = (),
    *,
    queries: Iterable[str] = (),
    qrels: Iterable[str | Path] = (),
    progress: Progress = SILENT,
) -> Tuned:
    """Tune how much word vectors and citation counts weigh in a collection.

    Tuning learns from sentences of drafts that cite, and from judged queries. ``queries`` are query
    sets of the collection, or files. ``qrels`` are files with judgements of these queries, such as
    a campaign's. Without queries and drafts, tuning uses the collection's own query sets.
    """
    opened = open_collection(collection)
    index = open_index(opened, verified=True)
    questions, sets = _questions(opened, list(drafts), list(queries), list(qrels))
    found = Tuned(len(questions), len({each.asker for each in questions}), MIN_DOCUMENTS)
    if len(questions) < MIN_DOCUMENTS:
        return found
    known = read_weights(index) or CollectionWeights(0, len(index.ids), 1.0, "")
    codes = (text_language(each.text) for each in questions)
    language = next((code for code, _ in Counter(filter(None, codes)).most_common(1)), None)
    fames = (known.fame,) if index.citing is None else FAMES
    prior = _nearest(WEIGHTS, known.share(language)), _nearest(fames, known.fame)
    gains, of_words = _gains(opened, index, fames, questions, progress)
    before, after = gains[prior].mean(), cross_validated(gains, questions, prior).mean()
    chosen = both_chosen(gains, prior)
    changed = chosen != prior and bool(after > before)
    now = known
    if changed:
        fitted = known.with_share(language, WEIGHTS[chosen[0]])
        now = replace(fitted, fame=fames[chosen[1]], tuned=len(questions), sets=",".join(sets))
        with lock_collection(opened.folder):
            layout.write_fit(index.folder, index.description.generation, fit=asdict(now))
    return found._replace(
        changed=changed,
        words_share_before=round(known.words_share(language), 2),
        words_share=round(now.words_share(language), 2),
        bm25=round(float(of_words.mean()), 4),
        before=round(float(before), 4),
        after=round(float(after if changed else before), 4),
        learned_from=sets if changed else (),
        fame_before=known.fame,
        fame=now.fame,
    )


def _questions(
    collection: Collection,
    drafts: Sequence[DraftLike],
    queries: Sequence[str],
    qrels: Sequence[str | Path],
) -> tuple[list[Question], tuple[str, ...]]:
    """Return the questions, and the names of the collection's own query sets among their
    sources.
    """
    sets = queries
    if not queries and not drafts:
        sets = [name for name in collection.query_sets if collection.qrels(name).table.height]
    if qrels and not queries:
        raise CitebedError("--qrels needs --queries: name the query set or a query file.")
    if not sets and not drafts:
        name = printable(collection.folder)
        what = f"there is nothing to tune with: '{name}' has no judged queries"
        raise CitebedError(f"{what}. Give drafts that cite: citebed tune {name} paper.tex")
    questions = of_drafts(collection, drafts)
    questions += [each for name in sets for each in of_queries(collection, name, qrels)]
    return questions, tuple(name for name in sets if name in collection.query_sets)


# --- Choosing -----------------------------------------------------------------------------------


def _nearest(tried: Sequence[float], weight: float) -> int:
    return int(np.abs(np.array(tried) - weight).argmin())


def both_chosen(gains: Reals, prior: tuple[int, int]) -> tuple[int, int]:
    """Return the positions of the best weight of vectors and of the best weight of citations."""
    static = choose_weight(gains[:, prior[1]], prior[0])
    return static, choose_weight(gains[static], prior[1])


def cross_validated(gains: Reals, questions: Sequence[Question], prior: tuple[int, int]) -> Reals:
    """Return the gain of each question, with weights chosen on the questions of other askers."""
    found = np.zeros(gains.shape[2])
    for part in _parts(questions):
        static, fame = both_chosen(gains[:, :, ~part], prior)
        found[part] = gains[static, fame, part]
    return found


def _parts(questions: Sequence[Question]) -> list[NDArray[np.bool_]]:
    """Return a mask of the questions in each part of the cross-validation.

    The questions of one asker stay in one part. If there is only one asker, neighbouring questions
    stay together.
    """
    askers = [each.asker for each in questions]
    if len(set(askers)) == 1:
        askers = [f"{askers[0]}, part {at * _PARTS // len(askers)}" for at in range(len(askers))]
    names = sorted(set(askers))
    order = np.random.default_rng(_SEED).permutation(len(names))
    part_of = {names[name]: place % _PARTS for place, name in enumerate(order.tolist())}
    parts = np.array([part_of[asker] for asker in askers])
    return [parts == number for number in np.unique(parts)]


# --- Asking -------------------------------------------------------------------------------------


def _gains(
    collection: Collection,
    index: Index,
    fames: Sequence[float],
    questions: Sequence[Question],
    progress: Progress,
) -> tuple[Reals, Reals]:
    """Return nDCG@10 by weight of vectors, weight of citations and question; and with BM25
    alone.
    """
    runner = Runner(
        collection, index, parse_pipeline("bm25+learned(fit=no)"), RunOptions(), progress
    )
    runner.prepare_for(len(questions))
    queries = [
        runner.query(each.text, exclude=each.exclude, before=each.before, paper=each.paper)
        for each in questions
    ]
    level = shipped_ranker().level("encoder" in runner.ranker.models)
    pairs = [(share, fame) for share in WEIGHTS for fame in fames]
    only_words = np.array([float(name == "bm25") for name in SIGNALS])
    tried = (CollectionWeights(1, 1, share, "", fame=fame) for share, fame in pairs)
    weights = np.stack([only_words, *(apply_weights(level, each).weights for each in tried)])
    gains = np.zeros((len(weights), len(questions)))
    progress.step("asking", len(questions))
    for place, features in enumerate(runner.compute_signals(queries, NDCG_DEPTH)):
        named = questions[place].relevant.items()
        relevant = {index.ids.find(name): grade for name, grade in named}
        gains[:, place] = ndcg(features, weights, relevant)
        progress.add(1)
    return gains[1:].reshape(len(WEIGHTS), len(fames), -1), gains[0]
