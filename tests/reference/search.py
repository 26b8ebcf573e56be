"""Indexing and searching the slow and obvious way: dicts, one document at a time.

A document is a dict from field to words. ``arrays`` lays the index out as plain loops do;
``ranking`` scores every document with a formula of ``models`` and sorts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.reference import models

Doc = Mapping[str, list[str]]
Words = list[str]
Scorer = Callable[[Words, Words, list[Words]], float]
"""The score of a document for a query in a collection."""

FIELDS = ("title", "abstract", "keywords", "fulltext", "citing")


def arrays(ids: Sequence[str], docs: Sequence[Doc], fields: Sequence[str]) -> dict[str, Any]:
    """``terms``, ``ids``, and by term the documents with their frequencies in each field."""
    order = sorted(range(len(ids)), key=lambda n: ids[n].encode())
    terms = sorted({w for doc in docs for f in fields for w in doc.get(f, ())}, key=str.encode)
    postings = []
    for term in terms:
        for number, place in enumerate(order):
            tf = {field: docs[place].get(field, []).count(term) for field in fields}
            if any(tf.values()):
                postings.append((terms.index(term), number, tf))
    return {
        "terms": terms,
        "ids": [ids[n] for n in order],
        "postings": postings,
        "lengths": {f: [len(docs[n].get(f, ())) for n in order] for f in fields},
    }


def strings(values: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Strings one after another, and where each begins and the last one ends."""
    data = [value.encode() for value in values]
    ends = [sum(map(len, data[:n])) for n in range(len(data) + 1)]
    return np.array(list(b"".join(data)), np.uint8), np.array(ends, np.int64)


def on_disk(ids: Sequence[str], docs: Sequence[Doc], fields: Sequence[str]) -> dict[str, Any]:
    """The same as the arrays that an index's files hold, every column in full."""
    made = arrays(ids, docs, fields)
    counts = Counter(term for term, _, _ in made["postings"])
    ends = [sum(counts[t] for t in range(n)) for n in range(len(made["terms"]) + 1)]
    found = {
        "offsets": np.array(ends, np.int64),
        "docs": np.array([number for _, number, _ in made["postings"]], np.uint32),
        "hashes": np.zeros(len(ids), np.uint64),
    }
    found["terms"], found["terms.offsets"] = strings(made["terms"])
    found["ids"], found["ids.offsets"] = strings(made["ids"])
    for field in fields:
        found[f"tf.{field}"] = np.array([tf[field] for _, _, tf in made["postings"]], np.uint32)
        found[f"length.{field}"] = np.array(made["lengths"][field], np.uint32)
    return found


# --- scores -----------------------------------------------------------------------------------

SCORERS: dict[str, Scorer] = {
    "bm25(k1=0.9,b=0.4)": lambda q, d, c: models.bm25(q, d, c, 0.9, 0.4),
    "bm25(k1=2,b=1)": lambda q, d, c: models.bm25(q, d, c, 2, 1),
    "okapi(k1=1.2,b=0.75,k3=7)": lambda q, d, c: models.okapi(q, d, c, 1.2, 0.75, 7),
    "okapi(k1=1,b=0,k3=0)": lambda q, d, c: models.okapi(q, d, c, 1, 0, 0),
    **{
        f"cosine(tf={tf},idf={idf})": partial(models.cosine, tf=tf, idf=idf)
        for tf in models.TF
        for idf in models.IDF
    },
    "kl(mu=10)": lambda q, d, c: models.negative_divergence(q, d, c, models.dirichlet(10)),
    "kl(lambda=0.4)": lambda q, d, c: models.negative_divergence(
        q, d, c, models.jelinek_mercer(0.4)
    ),
    "kl(delta=0.7)": lambda q, d, c: models.negative_divergence(q, d, c, models.absolute(0.7)),
    "kl(mu=5,lambda=0.2)": lambda q, d, c: models.negative_divergence(
        q, d, c, models.two_stage(5, 0.2)
    ),
    "ql(mu=25)": lambda q, d, c: models.query_likelihood(q, d, c, 25),
}
"""Formulas by the name of the model that computes them."""


def bm25f(
    query: Words, doc: Doc, docs: Sequence[Doc], weights: Mapping[str, float], k1: float, b: float
) -> float:
    """BM25F with one b for all fields, as Zaragoza et al. write it."""
    score = 0.0
    for word in query:
        n = sum(any(word in d.get(field, ()) for field in weights) for d in docs)
        if not n:
            continue
        s = 0.0
        for field, weight in weights.items():
            average = sum(len(d.get(field, ())) for d in docs) / len(docs) or 1.0
            words = doc.get(field, [])
            if word in words:
                s += weight * words.count(word) / (1 - b + b * len(words) / average)
        score += math.log(1 + (len(docs) - n + 0.5) / (n + 0.5)) * s / (s + k1) if s else 0.0
    return score


def ranking(
    score: Callable[[int], float], query: Words, docs: list[Words]
) -> list[tuple[int, float]]:
    """All documents with a term of the query, by score, then number, both descending."""
    asked = set(query)
    found = [(number, score(number)) for number, doc in enumerate(docs) if asked & set(doc)]
    return sorted(found, key=lambda pair: (-pair[1], -pair[0]))
