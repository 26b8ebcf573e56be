"""Retrieval models the slow and obvious way, each from the formula of its paper.

A collection is a list of documents, a document a list of words. Nothing here knows of impacts,
document scores or constants: a score is computed whole, for one document at a time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

Document = list[str]
Docs = list[Document]


def df(term: str, docs: Docs) -> int:
    return sum(term in doc for doc in docs)


def cf(term: str, docs: Docs) -> int:
    return sum(doc.count(term) for doc in docs)


def tokens(docs: Docs) -> int:
    return sum(map(len, docs))


def p_collection(term: str, docs: Docs) -> float:
    return cf(term, docs) / tokens(docs)


def known(query: Document, docs: Docs) -> Document:
    """The query's words that occur in the collection, as often as they are there."""
    return [word for word in query if df(word, docs)]


# --- BM25 -----------------------------------------------------------------------------------


def bm25(query: Document, doc: Document, docs: Docs, k1: float, b: float) -> float:
    average = tokens(docs) / len(docs)
    score = 0.0
    for word in known(query, docs):
        n = df(word, docs)
        idf = math.log(1 + (len(docs) - n + 0.5) / (n + 0.5))
        tf = doc.count(word)
        if tf:
            score += idf * tf / (tf + k1 * (1 - b + b * len(doc) / average))
    return score


def okapi(query: Document, doc: Document, docs: Docs, k1: float, b: float, k3: float) -> float:
    average = tokens(docs) / len(docs)
    score = 0.0
    for word, qtf in Counter(known(query, docs)).items():
        n, tf = df(word, docs), doc.count(word)
        if tf:
            weight = math.log((len(docs) - n + 0.5) / (n + 0.5))
            length = k1 * ((1 - b) + b * len(doc) / average)
            score += weight * (k1 + 1) * tf / (length + tf) * (k3 + 1) * qtf / (k3 + qtf)
    return score


# --- vectors --------------------------------------------------------------------------------

TF: dict[str, Callable[[int], float]] = {
    "raw": lambda tf: tf,
    "log": lambda tf: math.log(1 + tf),
    "bm25": lambda tf: 1.0 * tf / (tf + 1.0),
}
IDF: dict[str, Callable[[int, int], float]] = {
    "lemur": lambda n, size: math.log((size + 1) / (n + 0.5)),
    "plain": lambda n, size: math.log(size / n),
    "none": lambda _, __: 1.0,
}


def vector(doc: Document, docs: Docs, tf: str, idf: str) -> dict[str, float]:
    """The tf-idf vector of a text, made to have length 1."""
    raw = {
        word: TF[tf](count) * IDF[idf](df(word, docs), len(docs))
        for word, count in Counter(doc).items()
    }
    norm = math.sqrt(sum(value * value for value in raw.values()))
    return {word: value / norm if norm else 0.0 for word, value in raw.items()}


def cosine(query: Document, doc: Document, docs: Docs, tf: str, idf: str) -> float:
    left, right = vector(known(query, docs), docs, tf, idf), vector(doc, docs, tf, idf)
    return sum(value * right.get(word, 0.0) for word, value in left.items())


# --- language models ------------------------------------------------------------------------

Smoothed = Callable[[str, Document, Docs], float]
"""P(t|d) of a term in a document of a collection."""


def dirichlet(mu: float) -> Smoothed:
    return lambda t, doc, docs: (doc.count(t) + mu * p_collection(t, docs)) / (len(doc) + mu)


def jelinek_mercer(lam: float) -> Smoothed:
    return lambda t, doc, docs: (1 - lam) * doc.count(t) / len(doc) + lam * p_collection(t, docs)


def absolute(delta: float) -> Smoothed:
    def probability(t: str, doc: Document, docs: Docs) -> float:
        share = delta * len(set(doc)) / len(doc)
        return max(doc.count(t) - delta, 0) / len(doc) + share * p_collection(t, docs)

    return probability


def two_stage(mu: float, lam: float) -> Smoothed:
    first = dirichlet(mu)
    return lambda t, doc, docs: (1 - lam) * first(t, doc, docs) + lam * p_collection(t, docs)


def negative_divergence(query: Document, doc: Document, docs: Docs, smoothed: Smoothed) -> float:
    words = known(query, docs)
    model = {word: count / len(words) for word, count in Counter(words).items()}
    return -sum(p * math.log(p / smoothed(word, doc, docs)) for word, p in model.items())


def query_likelihood(query: Document, doc: Document, docs: Docs, mu: float) -> float:
    words = known(query, docs)
    return sum(math.log(dirichlet(mu)(word, doc, docs)) for word in words) / len(words)


# --- feedback -------------------------------------------------------------------------------


def exact_topic(counts: list[float], noise: list[float], lam: float) -> list[float]:
    """The θ that maximises Σ c·ln((1 − λ)θ + λp), in closed form.

    Where θ is positive, the gradients c(1 − λ)/((1 − λ)θ + λp) are all one multiplier ν, so that
    θ = c/ν − λp/(1 − λ); the terms that are positive are the first ones by c/p, and how many
    they are is tried out (Zhang & Xu 2008, Fast Exact Maximum Likelihood Estimation for Mixture
    of Language Models).
    """
    ratio = lam / (1 - lam)
    order = sorted(range(len(counts)), key=lambda i: -counts[i] / noise[i])
    for size in range(len(counts), 0, -1):
        kept = order[:size]
        nu = sum(counts[i] for i in kept) / (1 + ratio * sum(noise[i] for i in kept))
        theta = {i: counts[i] / nu - ratio * noise[i] for i in kept}
        if min(theta.values()) >= 0:
            return [theta.get(i, 0.0) for i in range(len(counts))]
    raise AssertionError("one term alone is always positive")


def relevance_weight(r: int, relevant: int, n: int, size: int) -> float:
    """Robertson & Spärck Jones' w(4), with a half in every cell of the table."""
    odds_relevant = (r + 0.5) / (relevant - r + 0.5)
    odds_other = (n - r + 0.5) / (size - n - relevant + r + 0.5)
    return math.log(odds_relevant / odds_other)
