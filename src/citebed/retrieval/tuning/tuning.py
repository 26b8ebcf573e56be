"""Tuning: how much word vectors count is learned from real citing, beside what abstracts taught.

The weights that are tried are those of the fit, all other signals as they are. What the fit chose
stays unless another weight finds more, by more than a standard error; then the nearest that is no
more than that behind the best is taken. Whether this helps is told by cross-validation: a weight is
chosen without the papers, or drafts, that it is then measured on, and where it does not help
nothing is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.collection import Collection, open_collection
from citebed.collection.progress import SILENT, Progress
from citebed.collection.storing.store import locked
from citebed.drafts.reading import DraftLike
from citebed.errors import CitebedError
from citebed.retrieval.index import layout
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.learned.features import SIGNALS
from citebed.retrieval.learned.fit import Fit, fit_of, fitted_level
from citebed.retrieval.learned.fitting import FEWEST, WEIGHTS
from citebed.retrieval.learned.ranker import Level, shipped_ranker
from citebed.retrieval.pipeline import pipeline_of
from citebed.retrieval.query import Features
from citebed.retrieval.running.runner import Runner, RunOptions
from citebed.retrieval.tuning.questions import (
    Question,
    as_one_asker,
    of_drafts,
    of_queries,
    own_sets,
)
from citebed.text.languages import language_of
from citebed.text.words import ENOUGH
from citebed.wording import printable

Reals = NDArray[np.float64]
_PARTS = 5
"""In so many parts the askers are cut for cross-validation."""
_DEPTH = 10
_SEED = 7


class Tuned(NamedTuple):
    """What tuning found: nDCG@10 of ``questions`` by so many ``askers`` (papers, drafts), by BM25,
    as ``before``, and ``after``, by cross-validation. ``words_share`` is the share of words, of
    words and vectors together. Fewer questions than ``needed`` change nothing."""

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


def tune(
    collection: str | Path | Collection,
    drafts: Iterable[DraftLike] = (),
    *,
    queries: Iterable[str] = (),
    qrels: Iterable[str | Path] = (),
    progress: Progress = SILENT,
) -> Tuned:
    """Let sentences of drafts that cite, and queries that were judged, tell how much word vectors
    count in a collection.

    ``queries`` are sets of the collection, or files; ``qrels`` files of judgements of these, such
    as a campaign's. Without any of them, nor drafts, the collection's own sets are taken.
    """
    opened = open_collection(collection)
    index = open_index(opened, verified=True)
    questions, sets = _questions(opened, list(drafts), list(queries), list(qrels))
    found = Tuned(len(questions), len({each.asker for each in questions}), FEWEST)
    if len(questions) < FEWEST:
        return found
    known = fit_of(index) or Fit(0, len(index.ids), 1.0, "")
    language = _language(questions)
    prior = int(np.abs(np.array(WEIGHTS) - known.share(language)).argmin())
    gains, of_words = _gains(opened, index, questions, progress)
    before, after = gains[prior].mean(), cross_validated(gains, questions, prior).mean()
    chosen = nearest_good(gains, prior)
    changed = chosen != prior and bool(after > before)
    now = known
    if changed:
        fitted = known.with_share(language, WEIGHTS[chosen])
        now = replace(fitted, tuned=len(questions), sets=",".join(sets))
        with locked(opened.folder):
            layout.write_fit(index.folder, index.description.generation, fit=asdict(now))
    return found._replace(
        changed=changed,
        words_share_before=round(known.words_share(language), 2),
        words_share=round(now.words_share(language), 2),
        bm25=round(float(of_words.mean()), 4),
        before=round(float(before), 4),
        after=round(float(after if changed else before), 4),
        learned_from=sets if changed else (),
    )


def _questions(
    collection: Collection,
    drafts: Sequence[DraftLike],
    queries: Sequence[str],
    qrels: Sequence[str | Path],
) -> tuple[list[Question], tuple[str, ...]]:
    """What is asked, and the collection's own query sets among it."""
    sets = queries if queries or drafts else own_sets(collection)
    if qrels and not queries:
        raise CitebedError("judgements need their queries: add --queries SET, or a file of them")
    if not sets and not drafts:
        name = printable(collection.folder)
        what = f"there is nothing to tune with: '{name}' has no judged queries"
        raise CitebedError(f"{what}. Give drafts that cite: citebed tune {name} paper.tex")
    questions = of_drafts(collection, drafts)
    questions += [each for name in sets for each in of_queries(collection, name, qrels)]
    return questions, tuple(name for name in sets if name in collection.query_sets)


def _language(questions: Sequence[Question]) -> str | None:
    """The language that most of the questions are in, of those that can be told."""
    told = (language_of(None, None, each.text[:ENOUGH]) for each in questions)
    return next((code for code, _ in Counter(filter(None, told)).most_common(1)), None)


# --- Choosing -----------------------------------------------------------------------------------


def nearest_good(gains: Reals, prior: int) -> int:
    """The place of the weight that is chosen: the prior's if it is no more than a standard error
    behind the best, else of the nearest to it that is."""
    behind = gains[gains.mean(axis=1).argmax()] - gains
    errors = behind.std(axis=1) / np.sqrt(gains.shape[1])
    good = np.flatnonzero(behind.mean(axis=1) <= errors)
    return int(good[np.abs(good - prior).argmin()])


def cross_validated(gains: Reals, questions: Sequence[Question], prior: int) -> Reals:
    """The gain of each question with the weight that the questions of other askers choose."""
    found = np.zeros(gains.shape[1])
    for part in _parts(questions):
        chosen = nearest_good(gains[:, ~part], prior)
        found[part] = gains[chosen, part]
    return found


def _parts(questions: Sequence[Question]) -> list[NDArray[np.bool_]]:
    """The questions in some parts, those of an asker in one; of a single asker, neighbours."""
    if len({each.asker for each in questions}) == 1:
        questions = as_one_asker(questions, _PARTS)
    askers = [each.asker for each in questions]
    names = sorted(set(askers))
    order = np.random.default_rng(_SEED).permutation(len(names))
    part_of = {names[name]: place % _PARTS for place, name in enumerate(order.tolist())}
    parts = np.array([part_of[asker] for asker in askers])
    return [parts == number for number in np.unique(parts)]


# --- Asking -------------------------------------------------------------------------------------


def _gains(
    collection: Collection, index: Index, questions: Sequence[Question], progress: Progress
) -> tuple[Reals, Reals]:
    """nDCG@10 of each question (columns) with each of the weights (rows); and by BM25 alone."""
    runner = Runner(collection, index, pipeline_of("bm25+learned(fit=no)"), RunOptions(), progress)
    runner.prepare_for(len(questions))
    queries = [
        runner.query(each.text, exclude=each.exclude, before=each.before, paper=each.paper)
        for each in questions
    ]
    level = shipped_ranker().level("encoder" in runner.ranks.models)
    weights = np.stack([_only_words(), *(_weights(level, share) for share in WEIGHTS)])
    gains = np.zeros((len(weights), len(questions)))
    progress.step("asking", len(questions))
    for place, features in enumerate(runner.features(queries, _DEPTH)):
        grades = _grades(index, questions[place].relevant, features)
        gains[:, place] = _ndcg(features, weights, grades, questions[place].relevant)
        progress.add(1)
    return gains[1:], gains[0]


def _weights(level: Level, share: float) -> Reals:
    return fitted_level(level, Fit(1, 1, share, "")).weights


def _only_words() -> Reals:
    return np.array([float(name == "bm25") for name in SIGNALS])


def _grades(index: Index, relevant: Mapping[str, int], features: Features) -> Reals:
    grades = {index.ids.find(name): grade for name, grade in relevant.items()}
    return np.array([float(grades.get(each, 0)) for each in features.docs.tolist()])


def _ndcg(features: Features, weights: Reals, grades: Reals, relevant: Mapping[str, int]) -> Reals:
    """nDCG@10 with each row of weights; of equal documents the later id first."""
    discounts = 1 / np.log2(np.arange(2, _DEPTH + 2))
    best = np.sort(np.array(list(relevant.values()), np.float64))[::-1][:_DEPTH]
    found = np.zeros(len(weights))
    for row, scores in enumerate(weights @ features.values.T):
        first = grades[np.lexsort((-features.docs, -scores))[:_DEPTH]]
        found[row] = first @ discounts[: len(first)]
    return found / (best @ discounts[: len(best)])
