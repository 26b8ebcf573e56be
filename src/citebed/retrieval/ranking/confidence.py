"""Confidence: whether citebed answers a text, and how likely each suggestion is to be right.

Two logistic models decide. The first gives the probability that a text asks for a citation and that
the collection covers its subject. The second gives the probability that a document is right for
such a text. citebed prints the product of both. Each model is a weighted sum of columns and of
products of columns. There are two pairs of models: one uses the bundled word vectors, and the other
uses words alone, for other languages and other vectors. ``bench/confidence.py`` learns both pairs
from collections of 10 to 12,600 documents, with and without abstracts. The number of documents is
one of the columns.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.index import Index
from citebed.retrieval.models.bm25 import lucene_idf
from citebed.retrieval.query import Candidates, Query
from citebed.retrieval.ranking.features import RAW, SIGNALS
from citebed.retrieval.vectors.vectors import Docs, Vectors
from citebed.text.words import FUNCTION_WORDS, function_words

STRONG, FAIR = 0.75, 0.4
"""The lowest probabilities of a strong and of a fair match, in every collection."""
UNLIKELY = 0.015
"""The probability below which a list ends."""

Reals = NDArray[np.float64]
Columns = Mapping[str, Reals]
_WORDS = 7
"""Words of a text depend on each other: more than these count as this many independent words."""
_STRANGE = (-5.0, 8.0)
_STRANGEST_ELSEWHERE, _LEAST_ELSEWHERE = 1.0, 0.03
"""Limits for texts in other languages than English, set by hand. Inflection and compounds make
their words rare, and the models learned from English only."""
_SHARPNESS = 3.0
"""How strongly the scores of other documents count against one."""
_TEXT_WEIGHTS = {
    "bm25": 1.7, "bm25_sentence": 1.0, "static": 5.8, "static_sentence": 4.9, "named": 2.5,
}  # fmt: skip
"""Weights of the score that compares documents: the weights of the bundled ranker, rounded."""
_VECTORS = ("static", "static_sentence")
_ROUNDS, _SHARES = 100, (0.01, 0.99)
_MISSING_WORDS = 5
_SEARCH_WORDS = 4
"""Fewer words than this that are not a sentence are a search, which always gets suggestions."""


@dataclass(frozen=True)
class Logistic:
    """A logistic model: a weight for each column, or product of columns (``a*b``)."""

    weights: Mapping[str, float]

    def log_odds(self, columns: Columns) -> Reals:
        rows = len(next(iter(columns.values())))
        total = np.full(rows, self.weights["constant"])
        for name, weight in self.weights.items():
            if name != "constant":
                total += weight * np.prod([columns[each] for each in name.split("*")], axis=0)
        return total


@dataclass(frozen=True)
class Kind:
    """A linear model of a text's vector: below 0 for sentences about the paper itself."""

    vector: Reals
    constant: float

    def score(self, vectors: Vectors) -> Reals:
        return np.asarray(vectors @ self.vector + self.constant, np.float64)


@dataclass(frozen=True)
class ConfidenceModel:
    """The model of texts (``asks``) and the model of documents (``right``).

    Texts below ``min_probability`` get no suggestion. ``prior`` is the share of training texts that
    ask for a citation.
    """

    asks: Logistic
    right: Logistic
    min_probability: float
    prior: float


@dataclass(frozen=True)
class ConfidenceModels:
    """The models with word vectors, which have this ``fingerprint``, and by ``words`` alone."""

    vectors: ConfidenceModel
    words: ConfidenceModel
    kind: Kind
    fingerprint: str


@cache
def shipped_confidence() -> ConfidenceModels:
    values = json.loads(files(__package__).joinpath("confidence.json").read_text("utf-8"))
    vectors, words = (
        ConfidenceModel(
            Logistic(own["asks"]), Logistic(own["right"]), own["min_probability"], own["prior"]
        )
        for own in (values["models"]["vectors"], values["models"]["words"])
    )
    kind = Kind(np.array(values["kind"]["vector"]), values["kind"]["constant"])
    return ConfidenceModels(vectors, words, kind, values["fingerprint"])


def match_strength(probability: float) -> str:
    """Return ``strong``, ``fair`` or ``weak`` for a probability."""
    return "strong" if probability >= STRONG else "fair" if probability >= FAIR else "weak"


class WordRarity:
    """How rare words are in an index, by their inverse document frequency.

    In a text on another subject, words are rarer than in a document: a recipe has few words of
    computing.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        # The document frequency of each term, and 0 for number -1, an unknown term. Citing
        # sentences do not count, because they also mention other subjects.
        self._df = np.append(np.diff(index.offsets), 0)
        if "citing" in index.fields:
            at, _ = index.tf["citing"].nonzero()
            own = (index.tf[name][at] > 0 for name in index.fields if name != "citing")
            elsewhere = at[~np.any(list(own), axis=0)]
            terms = np.searchsorted(index.offsets, elsewhere, "right") - 1
            self._df -= np.bincount(terms, minlength=len(self._df))

    @cached_property
    def usual(self) -> tuple[float, float]:
        """Mean and standard deviation of the rarity of a document's words, itself excluded."""
        weights = self._df.astype(np.float64)
        weights[self.terms(FUNCTION_WORDS)] = 0
        if not weights.any():
            return 0.0, np.inf
        rarities = lucene_idf(np.maximum(self._df - 1, 0), len(self._index.ids))
        mean = float(np.average(rarities, weights=weights))
        return mean, float(np.sqrt(np.average((rarities - mean) ** 2, weights=weights)))

    def rarity(self, terms: Docs) -> Reals:
        """Return the inverse document frequency of terms, also of unknown ones (-1)."""
        return np.asarray(lucene_idf(self._df[terms], len(self._index.ids)), np.float64)

    def strangeness(self, terms: Docs) -> float:
        """Return how much rarer a text's terms are than usual, in standard errors."""
        mean, spread = self.usual
        if not len(terms) or not 0 < spread < np.inf:
            return 0.0
        error = spread / np.sqrt(min(len(terms), _WORDS))
        return float(np.clip((self.rarity(terms).mean() - mean) / error, *_STRANGE))

    def terms(self, words: set[str] | frozenset[str]) -> Docs:
        """Return the numbers of the words' terms, each once; -1 for unknown ones."""
        terms = {term for word in words if (term := self._index.analyser.term(word))}
        return np.array([self._index.term_number(term) for term in sorted(terms)], np.int64)


class Confidence:
    """Judges the candidates of one index. ``has_vectors``: its word vectors are the bundled ones.

    ``Confidence.assess`` is the one place that decides about silence and probabilities.
    """

    def __init__(self, index: Index, *, has_vectors: bool) -> None:
        self._index, self._has_vectors = index, has_vectors
        self.models = shipped_confidence()

    @cached_property
    def _titles(self) -> float:
        """The share of documents without abstract."""
        lengths = self._index.lengths.get("abstract")
        return 1.0 if lengths is None or not len(lengths) else float(np.mean(lengths == 0))

    @cached_property
    def _rarity(self) -> WordRarity:
        return WordRarity(self._index)

    def assess(self, candidates: Candidates, terms: Docs) -> Candidates:
        """Return candidates with the log odds that the text asks for one of them (``asks``), and
        their probabilities of being right if it does; ``terms`` are those of ``term_scores``."""
        query = candidates.query
        model = self._model(query)
        best = candidates if candidates.best is None else candidates.best
        with_vectors = model is self.models.vectors
        text, documents = self.columns(candidates, best, terms, with_vectors=with_vectors)
        asks = float(model.asks.log_odds(text)[0]) if len(best) else -np.inf
        if query.judged.moves or self.is_search(query):
            asks = np.inf
        right = sigmoid(model.right.log_odds(documents)) if len(candidates) else np.zeros(0)
        return replace(candidates, asks=asks, probabilities=_monotone(right, len(best)))

    def _model(self, query: Query) -> ConfidenceModel:
        """Return the models for a text; word vectors serve English texts only."""
        knows = self._has_vectors and query.language in (None, "en")
        return self.models.vectors if knows else self.models.words

    def is_silent(self, query: Query, asks: float) -> bool:
        """Return True if a text with these log odds gets no suggestions."""
        least = self._model(query).min_probability
        is_english = query.language in (None, "en")
        return bool(sigmoid(asks) < (least if is_english else min(least, _LEAST_ELSEWHERE)))

    def adapt_to_draft(self, queries: Sequence[Query], asks: Sequence[float]) -> Reals:
        """Return the log odds of a draft's passages, given how many of them seem to be covered.

        A single passage says little about whether the collection covers it; all passages of a draft
        together say more. Expectation maximisation estimates the share of covered passages
        (Saerens, Latinne and Decaestecker 2002). This share only ever lowers the odds.
        """
        odds = np.asarray(asks, np.float64)
        known = np.flatnonzero(np.isfinite(odds))
        priors = np.array([self._model(query).prior for query in queries])
        priors = np.log(priors / (1 - priors))
        share, shift = 0.5, np.zeros(len(odds))
        for _ in range(_ROUNDS if len(known) else 0):
            shift = np.log(share / (1 - share)) - priors
            share = float(np.clip(sigmoid(odds[known] + shift[known]).mean(), *_SHARES))
        return odds + np.minimum(shift, 0.0)

    def is_search(self, query: Query) -> bool:
        """Return True for a few words that are not a sentence."""
        ignored, text = function_words(query.text), query.text
        words = self._content_words(text, ignored)
        is_word = len(words) == 1 and ignored.isdisjoint(self._index.analyser.words(text))
        ends = text.rstrip().endswith((".", "!", "?", "。"))
        return is_word or (not ends and len(words) < _SEARCH_WORDS)

    def missing_words(self, texts: Sequence[str]) -> list[str]:
        """Return the most frequent words of the texts that are rare or missing in the index."""
        counts = Counter(
            w for text in texts for w in self._content_words(text, function_words(text))
        )
        known = {
            word: self._index.document_frequency(word) / max(len(self._index.ids), 1)
            for word, number in counts.items()
            if number > 1
        }
        worth = {word: counts[word] * (1 - share) ** 50 for word, share in known.items()}
        return sorted(worth, key=lambda word: (-worth[word], word))[:_MISSING_WORDS]

    def columns(
        self, candidates: Candidates, best: Candidates, terms: Docs, *, with_vectors: bool
    ) -> tuple[Columns, Columns]:
        """Return the columns of the models: a row for the text, and one for each candidate.

        ``best`` are the first documents without filters; other documents are compared with them.
        """
        query, size = candidates.query, np.log(max(len(self._index.ids), 1))
        ignored = function_words(query.text)
        own, *parts = (
            self._rarity.terms(self._content_words(text, ignored))
            for text in (query.text, *(query.sentences or (query.text,)))
        )
        strange = self._rarity.strangeness(own)
        if query.language not in (None, "en"):
            strange = min(strange, _STRANGEST_ELSEWHERE)
        shared = {
            "documents": size, "titles": self._titles, "strange": strange,
            "content": np.log1p(len(own)), "sentences": np.log(len(parts)),
        }  # fmt: skip
        if with_vectors:
            vectors = best.vectors or candidates.vectors
            shared["kind"] = float(self.models.kind.score(vectors["static"][:1])[0])
        tables = []
        for some in (best, candidates):
            values = some.term_scores
            found = np.zeros((len(some), len(terms)), bool) if values is None else values > 0
            share, matched = self._shares(found, terms, parts)
            table = {
                "bm25": np.log1p(np.maximum(some.raw[:, RAW.index("bm25")], 0)),
                "share": share, "matched": np.log1p(matched),
                "bm25_part": _signal(some, "bm25"), "sentence_part": _signal(some, "bm25_sentence"),
                "named": _signal(some, "named"),
            }  # fmt: skip
            names = [name for name in _TEXT_WEIGHTS if with_vectors or name not in _VECTORS]
            table["score"] = np.sum([_TEXT_WEIGHTS[n] * _signal(some, n) for n in names], axis=0)
            if with_vectors:
                table["static"] = some.raw[:, RAW.index("static_sentence")]
                table["whole"] = some.raw[:, RAW.index("static")]
            tables.append(table)
        first, rows = tables
        text = {name: np.array([value]) for name, value in shared.items()}
        for name in ("bm25", "share", "matched", "named", *(("static",) if with_vectors else ())):
            text[name] = np.array([first[name].max(initial=0.0)])
        count = len(candidates)
        documents = {name: np.full(count, value) for name, value in shared.items()} | rows
        is_itself = candidates.docs[:, None] == best.docs[None, :]
        rivals = np.where(is_itself, -np.inf, first["score"][None, :])
        ahead = _SHARPNESS * (rivals - rows["score"][:, None])
        lead = -np.logaddexp.reduce(np.c_[ahead, np.full(count, -6.0)], axis=1)
        documents["lead"] = np.clip(lead, -6.0, 6.0)
        return text, documents

    def _shares(
        self, found: NDArray[np.bool_], terms: Docs, parts: Sequence[Docs]
    ) -> tuple[Reals, Reals]:
        """Return for each document the share of a sentence's words that it has (weighted by rarity,
        for the best sentence), and the number of the text's words that it has."""
        place = {term: column for column, term in enumerate(terms.tolist())}
        share, used = np.zeros(len(found)), set[int]()
        for own in parts:
            known = [(place[t], at) for at, t in enumerate(own.tolist()) if t in place]
            if known:
                columns, rows = np.array(known).T
                weights = self._rarity.rarity(own)
                share = np.maximum(share, found[:, columns] @ weights[rows] / weights.sum())
                used.update(columns.tolist())
        return share, found[:, sorted(used)].sum(axis=1).astype(np.float64)

    def _content_words(self, text: str, ignored: frozenset[str]) -> set[str]:
        """Return the words of a text that are neither function words nor, in English, names."""
        if ignored >= FUNCTION_WORDS:
            text = " ".join(word for word in text.split() if word.islower()) or text
        words = self._index.analyser.words(text)
        return {w for w in words if w not in ignored and len(w) > 1 and not w.isdigit()}


def sigmoid(log_odds: float | Reals) -> Reals:
    """Convert log odds to probabilities."""
    return np.asarray(np.exp(-np.logaddexp(0, -np.asarray(log_odds, np.float64))), np.float64)


def _signal(candidates: Candidates, name: str) -> Reals:
    return candidates.signals[:, list(SIGNALS).index(name)]


def _monotone(probabilities: Reals, count: int) -> Reals:
    """Adjust the probabilities of a ranking so that none is higher than the one before it.

    Within the first ``count``, each rises to the highest one after it. Later ones fall to the last
    of the first ``count``, so a longer list leaves the first ones unchanged.
    """
    first, later = (
        np.maximum.accumulate(part[::-1])[::-1] for part in np.split(probabilities, [count])
    )
    return np.concatenate([first, np.minimum(later, first[-1:])])
