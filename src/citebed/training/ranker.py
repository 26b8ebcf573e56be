"""Training the ranker: how much each signal counts is learned from who cites what.

Questions are the citing sentences of papers that the models of vectors did not learn from (the
development fold, never the collection's own citing papers): single ones, and two to four of a paper
together as a paragraph would have them. What speaks for a document comes from earlier papers only.

Weights of texts' signals are learned from questions that ask for documents which no paper of the
training folds cites: vectors know the others by heart, and would seem better than they are for a
collection they have never seen. Those of citing's signals are then learned from all questions.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed._version import __version__
from citebed.collection import Collection, open_collection
from citebed.errors import CitebedError
from citebed.files.output_files import write_file
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.pipeline import CALIBRATION_DEPTH, parse_pipeline
from citebed.retrieval.query import Features, Query
from citebed.retrieval.ranking.features import SIGNALS
from citebed.retrieval.ranking.fitted_weights import OF_WORDS
from citebed.retrieval.ranking.fitting import static_of
from citebed.retrieval.ranking.ranker import (
    LEVELS,
    Asking,
    Level,
    inputs,
    ranker_json,
    shipped_ranker,
)
from citebed.training.asking import Source, learn_asking, logistic
from citebed.training.measuring import recall_and_gain
from citebed.training.prepared import fold_of, part_of
from citebed.training.settings import Report

Reals = NDArray[np.float64]

OF_CITING = ("citing", "cited", "lately", "cocited", "authors")
"""Signals that come from citing papers; the others come from the texts."""
_DEEP = 100
_GROUP = (2, 4)
_KNOWN = 0.5
"""How often a question comes with some of what its paper cites elsewhere."""
_STRENGTH = 1e-3
_AT_ONCE = 64
_TOLD_EVERY = 8 * _AT_ONCE

_Row = tuple[Reals, Reals, NDArray[np.bool_]]
"""Of one question's candidates: the signals to weigh, what other signals add, which are right."""


class Example(NamedTuple):
    """A question's candidates: their signals, whether each is cited, and how many are in all;
    ``is_new`` where no paper of the training folds cites what is asked for."""

    paper: str
    features: Features
    right: NDArray[np.bool_]
    wanted: int
    is_new: bool
    text: str = ""


@dataclass(frozen=True)
class RankerSettings:
    """How many questions, from which seed, and which folds: with a ``shift`` of n fold n is the
    test and the next one development, as for the models of vectors.

    What was learned is multiplied for use elsewhere. Contexts were collected by what they cite, so
    that being cited counts too much: ``citing`` was chosen by cross-validation over the 50 citing
    papers of ACM-CR. BM25 beside word vectors alone (``words``) is between what is best for ACM-CR
    (1) and for contexts that look among a few thousand documents (0.4).
    """

    questions: int = 3000
    seed: int = 7
    shift: int = 0
    words: float = 0.58
    citing: float = 0.6


def train_ranker(
    collection: str | Path | Collection,
    out: str | Path,
    settings: RankerSettings | None = None,
    report: Report = lambda _: None,
) -> dict[str, Any]:
    """Train a ranker on a collection whose index has citing sentences, and write it to ``out``.

    The level with the encoder is trained where the index has its vectors; else it is left as that
    without. Returns what the file says of itself, with figures on the fold of the test.
    """
    settings = settings or RankerSettings()
    opened = open_collection(collection)
    index = open_index(opened, verified=True)
    if index.citing is None:
        raise CitebedError(
            f"the index of {opened.folder} has no citing sentences to learn from. Index them with: "
            f"citebed index {opened.folder} --citing FILE"
        )
    levels, measures, examples = _levels(opened, index, settings, report)
    about = {
        "name": "learned from citations", "citebed": __version__, "collection": opened.name,
        "documents": len(index.ids), "citing_sentences": len(index.citing),
        "settings": asdict(settings), "figures": measures,
        "vectors": {kind: dict(of) for kind, of in index.description.vectors.items()},
    }  # fmt: skip
    asking = _asking(index, levels["static"], examples)
    write_file(Path(out), ranker_json(levels, asking, about).encode())
    return about


def _asking(index: Index, level: Level, examples: Sequence[Example]) -> Asking:
    """How likely texts ask: as it comes with citebed where the word vectors do, for it was learned
    in two fields; else as the questions teach whose answer is among the first."""
    shipped, model = shipped_ranker(), static_of(index)
    if shipped.knows({"static": model}):
        return shipped.asking
    found = [each.text for each in examples if _seen(level, each)[1].any()]
    return learn_asking([Source(index, level, found)], shipped, model)


def _levels(
    collection: Collection, index: Index, settings: RankerSettings, report: Report
) -> tuple[dict[str, Level], dict[str, Any], list[Example]]:
    """The levels that the index can teach, what each is worth, and the questions that taught the
    first."""
    levels: dict[str, Level] = {}
    examples: list[Example] = []
    measures: dict[str, Any] = {}
    for name in LEVELS:
        if name == "encoder" and index.vectors("encoder") is None:
            levels[name] = levels["static"]
            continue
        with_encoder = "yes" if name == "encoder" else "no"
        learned = Examples(collection, index, with_encoder, settings, report)
        words = settings.words if name == "static" else 1.0
        taught = learned.of("development")
        examples = examples or taught
        levels[name] = fitted(taught, words, settings.citing)
        measures[name] = measured(learned.of("test"), levels[name])
        found = ", ".join(f"{m} {v:.3f}" for m, v in measures[name]["learned"].items())
        report(f"level {name}, unseen papers: {found}")
    return levels, measures, examples


# --- questions --------------------------------------------------------------------------------


class Examples:
    """Questions of an index's citing sentences, and what may answer them."""

    def __init__(
        self,
        collection: Collection,
        index: Index,
        encoder: str,
        settings: RankerSettings,
        report: Report,
    ) -> None:
        pipeline = parse_pipeline(f"bm25+learned(encoder={encoder})")
        self.runner = Runner(collection, index, pipeline, RunOptions())
        self.runner.prepare()
        assert index.citing is not None
        self.index, self.citing, self.settings, self.report = index, index.citing, settings, report
        # The collection's own citing papers are what it is tested with.
        own = frozenset(collection.papers["paper_id"])
        self.parts = [
            "own" if name in own else part_of(fold_of(name), settings.shift)
            for name in index.papers
        ]

    def of(self, part: str) -> list[Example]:
        """Examples of the papers of a part."""
        rng = random.Random(self.settings.seed)
        asked = [one for paper in self._papers(part) for one in self._asked(paper, rng)]
        rng.shuffle(asked)
        asked = asked[: self.settings.questions]
        if not asked:
            raise CitebedError(
                f"no citing paper is in the fold of {part}: there is nothing to ask. A ranker "
                "needs contexts of some hundred papers that are not the collection's own; index "
                "them with: citebed index COLLECTION --citing FILE"
            )
        found: list[Example] = []
        for start in range(0, len(asked), _AT_ONCE):
            found += self._examples(asked[start : start + _AT_ONCE])
            if len(found) % _TOLD_EVERY == 0 or len(found) == len(asked):
                self.report(f"{part}: {len(found):,} of {len(asked):,} questions")
        return found

    def _papers(self, part: str) -> list[int]:
        return [number for number, of in enumerate(self.parts) if of == part]

    def _asked(self, paper: int, rng: random.Random) -> list[tuple[Query, frozenset[int]]]:
        """The paper's sentences, each with what it cites; and some of them together."""
        said: dict[str, set[int]] = {}
        rows = np.flatnonzero(self.citing.papers == paper).tolist()
        for row in rows:
            said.setdefault(self.citing.texts[row], set()).add(int(self.citing.docs[row]))
        texts = sorted(said)
        groups = [[text] for text in texts]
        if len(texts) > 1:
            some = rng.sample(texts, min(rng.randint(*_GROUP), len(texts)))
            groups.append(some)
        cited = set().union(*said.values())
        year = int(self.citing.years[rows[0]]) or None
        return [self._question(group, said, cited, (paper, year), rng) for group in groups]

    def _question(
        self,
        sentences: list[str],
        said: Mapping[str, set[int]],
        cited: set[int],
        who: tuple[int, int | None],
        rng: random.Random,
    ) -> tuple[Query, frozenset[int]]:
        wanted = frozenset().union(*(said[text] for text in sentences))
        others = sorted(cited - wanted)
        known = rng.sample(others, len(others) // 2) if rng.random() < _KNOWN else []
        paper = self.index.papers[who[0]]
        query = self.runner.query(" ".join(sentences), paper=paper, sentences=sentences)
        return replace(query, year=who[1], cites=np.array(known, np.int64)), wanted

    def _examples(self, asked: Sequence[tuple[Query, frozenset[int]]]) -> list[Example]:
        signals = self.runner.ranks.signals
        vectors = signals.embedded([query for query, _ in asked])
        terms = [query.terms for query, _ in asked]
        first = self.runner.searcher.search_all(terms, 10 * _DEEP)
        found = []
        for (query, wanted), hits, rows in zip(asked, first, vectors, strict=True):
            features = signals.features(query, hits, rows, _DEEP)._replace(shares=None)
            right = np.isin(features.docs, list(wanted))
            new = not any(self._is_learned(document) for document in wanted)
            found.append(Example(query.paper or "", features, right, len(wanted), new, query.text))
        return found

    def _is_learned(self, document: int) -> bool:
        """Whether a paper of the training folds cites a document."""
        papers = self.citing.papers[list(self.citing.of(document))]
        return any(self.parts[paper] == "training" for paper in papers.tolist())


# --- learning ---------------------------------------------------------------------------------


def fitted(examples: Sequence[Example], words: float = 1.0, citing: float = 1.0) -> Level:
    """The level that examples teach, its BM25 and signals of citing multiplied."""
    names = list(SIGNALS)
    of_citing = np.array([name in OF_CITING for name in names])
    new = [each for each in examples if each.is_new]
    weights = _listwise(new, np.flatnonzero(~of_citing), np.zeros(len(names)))
    weights = _listwise(examples, np.flatnonzero(of_citing), weights)
    weights[of_citing] *= citing
    weights[[name in OF_WORDS for name in names]] *= words
    return calibrated(Level(weights, np.zeros(0), 0.0), examples)


def _listwise(examples: Sequence[Example], columns: NDArray[np.int64], fixed: Reals) -> Reals:
    """Weights of some signals, beside fixed ones, under which what is cited is likeliest to be
    picked from its candidates (ListNet's loss; Cao et al. 2007)."""
    from scipy.optimize import minimize

    rows = [(e.features.values[:, columns], e.features.values @ fixed, e.right) for e in examples]
    rows = [row for row in rows if row[2].any()]
    if not rows:
        return fixed
    start = np.zeros(len(columns))
    found = minimize(_listwise_loss, start, (rows,), jac=True, method="L-BFGS-B")
    learned = fixed.copy()
    learned[columns] = found.x
    return learned


def _listwise_loss(weights: Reals, rows: Sequence[_Row]) -> tuple[float, Reals]:
    """How unlikely what is right is picked, with a little for great weights; and its slope."""
    total, slope = 0.0, np.zeros(len(weights))
    for values, offset, right in rows:
        scores = values @ weights + offset
        scores -= scores.max()
        chosen = np.exp(scores) / np.exp(scores).sum()
        truth = right / right.sum()
        total -= float(truth @ np.log(chosen + 1e-12))
        slope -= values.T @ (truth - chosen)
    size = len(rows)
    penalty = _STRENGTH * float(weights @ weights)
    return total / size + penalty, slope / size + 2 * _STRENGTH * weights


def calibrated(level: Level, examples: Iterable[Example]) -> Level:
    """The level with probabilities: those of what a person sees, by logistic regression; the least
    of a good match is what only one in twenty questions stays below. Each question is asked again
    as of a collection without citing sentences."""
    examples = list(examples)
    seen = [_seen(level, each) for each in (*examples, *map(_uncited, examples))]
    learned = _logistic(np.concatenate([x for x, _ in seen]), np.concatenate([y for _, y in seen]))
    level = replace(level, probability=learned)
    best = [float(level.probabilities_of(x).max(initial=0.0)) for x, _ in seen]
    return replace(level, min_probability=float(np.quantile(best, 0.05)))


def _uncited(example: Example) -> Example:
    values = example.features.values.copy()
    values[:, [list(SIGNALS).index(name) for name in OF_CITING]] = 0
    return example._replace(features=example.features._replace(values=values))


def _seen(level: Level, example: Example) -> tuple[Reals, NDArray[np.bool_]]:
    scores = level.scores(example.features)
    order = np.argsort(-scores, kind="stable")[:CALIBRATION_DEPTH]
    return inputs(example.features.only(order), scores[order]), example.right[order]


def _logistic(x: Reals, y: NDArray[np.bool_]) -> Reals:
    """The weights of ``INPUTS``; the constant is the first of them."""
    spread = x.std(axis=0)
    spread[spread == 0] = 1
    turned = logistic((x / spread)[:, ::-1], y, np.ones(len(y)), 1e-6)
    return np.asarray(turned[::-1] / spread, np.float64)


# --- measuring --------------------------------------------------------------------------------


def measured(examples: Sequence[Example], level: Level) -> dict[str, Any]:
    """R@10, nDCG@10 of BM25 and of the level, and how often probabilities came true."""
    bm25 = np.eye(len(SIGNALS))[list(SIGNALS).index("bm25")]
    plain, ours = (
        np.array([figures(e, e.features.values @ w) for e in examples]).mean(axis=0)
        for w in (bm25, level.weights)
    )
    seen = [_seen(level, each) for each in examples]
    told = np.concatenate([level.probabilities_of(x) for x, _ in seen])
    right = np.concatenate([y for _, y in seen])
    return {
        "questions": len(examples),
        "bm25": _rounded(plain),
        "learned": _rounded(ours),
        "probabilities": _reliability(told, right),
    }


def figures(example: Example, scores: Reals) -> tuple[float, float]:
    """R@10 and nDCG@10 of a question under some scores."""
    return recall_and_gain(example.right[np.argsort(-scores, kind="stable")], example.wanted)


def _rounded(pair: Reals) -> dict[str, float]:
    return {"R@10": round(float(pair[0]), 4), "nDCG@10": round(float(pair[1]), 4)}


def _reliability(told: Reals, right: NDArray[np.bool_]) -> list[dict[str, float]]:
    """How often recommendations of like probabilities were right."""
    bounds = [0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 1.01]
    rows = []
    for low, high in itertools.pairwise(bounds):
        those = (told >= low) & (told < high)
        if those.any():
            said, came = float(told[those].mean()), float(right[those].mean())
            rows.append({"said": round(said, 3), "came": round(came, 3), "of": int(those.sum())})
    return rows
