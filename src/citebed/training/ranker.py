"""Train the ranker: learn the weight of each feature from citations.

The training queries are citing sentences of papers that the vector models did not learn from: the
development fold, without the collection's own citing papers. A query is a single sentence, or two
to four sentences of a paper together, like a paragraph. Only earlier papers count as evidence for a
document.

citebed learns the weights of text features from queries whose relevant documents no training paper
cites. The vector models have memorised the other documents, so vectors would look better than they
are in a new collection. It then learns the weights of citation features from all queries.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
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
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.query import Candidates, Query
from citebed.retrieval.ranking.collection_weights import WORD_SIGNALS
from citebed.retrieval.ranking.features import SIGNALS
from citebed.retrieval.ranking.ranker import LEVELS, Level, ranker_json, shipped_ranker
from citebed.training.settings import Report
from citebed.training.texts import assign_fold, part_of_fold, recall_and_ndcg

Reals = NDArray[np.float64]

CITATION_FEATURES = ("citing", "cited", "lately", "cocited", "authors")
"""Features that come from citing papers; the others come from the texts."""
_IS_CITATION = np.array([name in CITATION_FEATURES for name in SIGNALS])
_DEPTH = 100
_SENTENCES = (2, 4)
_KNOWN_SHARE = 0.5
"""How often a query comes with some of its paper's other citations."""
_PENALTY = 1e-3
_CHUNK = 64
_QUERIES_BETWEEN_REPORTS = 8 * _CHUNK


class Example(NamedTuple):
    """The candidates of a query: their features, which of them are cited, and the number of cited
    documents.

    ``is_new`` is True if no training paper cites the relevant documents.
    """

    paper: str
    features: Candidates
    is_cited: NDArray[np.bool_]
    cited: int
    is_new: bool


@dataclass(frozen=True)
class RankerSettings:
    """The number of queries, their seed, and the folds.

    With a ``shift`` of n, fold n is the test and the next one is for development, as for the vector
    models. Two learned weights are multiplied for use in other collections. The contexts were
    collected by what they cite, so being cited counts too much: ``citing`` was chosen by
    cross-validation over the 50 citing papers of ACM-CR. BM25 beside word vectors alone (``words``)
    is between the best value for ACM-CR (1) and that for contexts among a few thousand documents
    (0.4).
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

    The level with the encoder is trained if the index has the encoder's vectors; otherwise it
    equals the level without. Return the description in the file, with values for the test fold.
    """
    settings = settings or RankerSettings()
    opened = open_collection(collection)
    index = open_index(opened, verified=True)
    if index.citing is None:
        raise CitebedError(
            f"the index of {opened.folder} has no citing sentences to learn from. Index them with: "
            f"citebed index {opened.folder} --citing FILE"
        )
    levels: dict[str, Level] = {}
    values: dict[str, Any] = {}
    for name in LEVELS:
        if name == "encoder" and index.vectors("encoder") is None:
            levels[name] = levels["static"]
            continue
        encoder = "yes" if name == "encoder" else "no"
        queries = TrainingQueries(opened, index, encoder, settings, report)
        examples = queries.examples("development")
        levels[name] = fit_level(
            examples, settings.words if name == "static" else 1.0, settings.citing
        )
        values[name] = measure_level(queries.examples("test"), levels[name])
        shown = ", ".join(f"{m} {v:.3f}" for m, v in values[name]["learned"].items())
        report(f"level {name}, unseen papers: {shown}")
    about = {
        "name": "learned from citations", "citebed": __version__, "collection": opened.name,
        "documents": len(index.ids), "citing_sentences": len(index.citing),
        "settings": asdict(settings), "figures": values,
        "vectors": {kind: dict(of) for kind, of in index.description.vectors.items()},
    }  # fmt: skip
    write_file(Path(out), ranker_json(levels, about).encode())
    return about


# --- queries --------------------------------------------------------------------------------


class TrainingQueries:
    """Queries from an index's citing sentences, and their candidates."""

    def __init__(
        self,
        collection: Collection,
        index: Index,
        encoder: str,
        settings: RankerSettings,
        report: Report,
    ) -> None:
        assert index.citing is not None
        pipeline = parse_pipeline(f"bm25+learned(encoder={encoder})")
        self.runner = Runner(collection, index, pipeline, RunOptions())
        self.runner.prepare()
        self.index, self.citing, self._settings, self._report = (
            index, index.citing, settings, report,
        )  # fmt: skip
        # The collection's own citing papers are its test.
        own = frozenset(collection.papers["paper_id"])
        self.parts = [
            "own" if name in own else part_of_fold(assign_fold(name), settings.shift)
            for name in index.papers
        ]

    def examples(self, part: str) -> list[Example]:
        rng = random.Random(self._settings.seed)
        queries = [
            query
            for paper, own in enumerate(self.parts)
            if own == part
            for query in self._queries(paper, rng)
        ]
        rng.shuffle(queries)
        queries = queries[: self._settings.questions]
        if not queries:
            raise CitebedError(
                f"no citing paper is in the fold of {part}, so it has no queries. A ranker needs "
                "contexts of some hundred papers besides the collection's own; index them with: "
                "citebed index COLLECTION --citing FILE"
            )
        examples: list[Example] = []
        for start in range(0, len(queries), _CHUNK):
            examples += self._retrieve(queries[start : start + _CHUNK])
            if len(examples) % _QUERIES_BETWEEN_REPORTS == 0 or len(examples) == len(queries):
                self._report(f"{part}: {len(examples):,} of {len(queries):,} questions")
        return examples

    def _queries(self, paper: int, rng: random.Random) -> list[tuple[Query, frozenset[int]]]:
        """Return each sentence of a paper as a query with its citations, and groups of
        sentences."""
        cited_by: dict[str, set[int]] = {}
        rows = np.flatnonzero(self.citing.papers == paper).tolist()
        for row in rows:
            cited_by.setdefault(self.citing.texts[row], set()).add(int(self.citing.docs[row]))
        texts = sorted(cited_by)
        groups = [[text] for text in texts]
        if len(texts) > 1:
            groups.append(rng.sample(texts, min(rng.randint(*_SENTENCES), len(texts))))
        all_cited = set().union(*cited_by.values())
        year = int(self.citing.years[rows[0]]) or None
        queries = []
        for sentences in groups:
            relevant = frozenset().union(*(cited_by[text] for text in sentences))
            others = sorted(all_cited - relevant)
            known = rng.sample(others, len(others) // 2) if rng.random() < _KNOWN_SHARE else []
            query = self.runner.query(
                " ".join(sentences), paper=self.index.papers[paper], sentences=sentences
            )
            query = replace(query, year=year, cites=np.array(known, np.int64))
            queries.append((query, relevant))
        return queries

    def _retrieve(self, queries: Sequence[tuple[Query, frozenset[int]]]) -> list[Example]:
        signals = self.runner.ranker.signals
        vectors = signals.embed([query for query, _ in queries])
        terms = [query.terms for query, _ in queries]
        first = self.runner.searcher.search_all(terms, 10 * _DEPTH)
        examples = []
        for (query, relevant), hits, rows in zip(queries, first, vectors, strict=True):
            features = signals.compute(query, hits, rows, _DEPTH)
            features = replace(features, term_scores=None, vectors={})
            is_cited = np.isin(features.docs, list(relevant))
            papers = [self.citing.papers[list(self.citing.of(doc))] for doc in relevant]
            is_new = not any(self.parts[p] == "training" for own in papers for p in own.tolist())
            name = query.paper or ""
            examples.append(Example(name, features, is_cited, len(relevant), is_new))
        return examples


# --- learning -------------------------------------------------------------------------------


def fit_level(examples: Sequence[Example], words: float = 1.0, citing: float = 1.0) -> Level:
    """Fit a level, with the weights of BM25 and of citation features multiplied."""
    new = [example for example in examples if example.is_new]
    weights = _fit_listwise(new, np.flatnonzero(~_IS_CITATION), np.zeros(len(SIGNALS)))
    weights = _fit_listwise(examples, np.flatnonzero(_IS_CITATION), weights)
    weights[_IS_CITATION] *= citing
    weights[[name in WORD_SIGNALS for name in SIGNALS]] *= words
    # Citing sentences say nothing about this one: most name nobody.
    named = list(SIGNALS).index("named")
    weights[named] = shipped_ranker().levels["static"].weights[named]
    return Level(weights)


def _fit_listwise(examples: Sequence[Example], columns: NDArray[np.int64], fixed: Reals) -> Reals:
    """Fit the weights of some features, with the others fixed, by ListNet's loss (Cao et al.
    2007)."""
    from scipy.optimize import minimize

    rows = [
        (e.features.signals[:, columns], e.features.signals @ fixed, e.is_cited)
        for e in examples
        if e.is_cited.any()
    ]
    if not rows:
        return fixed
    start = np.zeros(len(columns))
    fitted = minimize(_listwise_loss, start, (rows,), jac=True, method="L-BFGS-B")
    weights = fixed.copy()
    weights[columns] = fitted.x
    return weights


def _listwise_loss(
    weights: Reals, rows: Sequence[tuple[Reals, Reals, NDArray[np.bool_]]]
) -> tuple[float, Reals]:
    """Return ListNet's loss with an L2 penalty, and its gradient.

    A row holds the features to weight, the sum of the other features, and which are relevant.
    """
    total, slope = 0.0, np.zeros(len(weights))
    for values, offset, is_cited in rows:
        scores = values @ weights + offset
        scores -= scores.max()
        chosen = np.exp(scores) / np.exp(scores).sum()
        truth = is_cited / is_cited.sum()
        total -= float(truth @ np.log(chosen + 1e-12))
        slope -= values.T @ (truth - chosen)
    size = len(rows)
    penalty = _PENALTY * float(weights @ weights)
    return total / size + penalty, slope / size + 2 * _PENALTY * weights


# --- evaluation -----------------------------------------------------------------------------


def measure_level(examples: Sequence[Example], level: Level) -> dict[str, Any]:
    """Return R@10 and nDCG@10 of BM25 and of the level."""
    bm25 = np.eye(len(SIGNALS))[list(SIGNALS).index("bm25")]
    rows: dict[str, Mapping[str, float]] = {}
    for name, weights in (("bm25", bm25), ("learned", level.weights)):
        values = [measure_example(e, e.features.signals @ weights) for e in examples]
        recall, gain = np.array(values).mean(axis=0).tolist()
        rows[name] = {"R@10": round(recall, 4), "nDCG@10": round(gain, 4)}
    return {"questions": len(examples), **rows}


def measure_example(example: Example, scores: Reals) -> tuple[float, float]:
    """Return R@10 and nDCG@10 of a query with some scores."""
    order = np.argsort(-scores, kind="stable")
    return recall_and_ndcg(example.is_cited[order], example.cited)
