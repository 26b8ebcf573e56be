"""Exactness on ACM-CR: all its queries, and as many random ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.sampling import sized
from tests.unit.retrieval.search.made import Both

from citebed.collection import open_collection
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.index import open_index
from citebed.retrieval.search.fields import DEFAULT_FIELDS
from citebed.retrieval.search.queries import query_text

KS = (1, 10, 1000)
MODELS = (
    *("bm25(k1=0.9,b=0.4,lengths=lucene)", "bm25f(b_title=0.1)", "okapi", "cosine(tf=raw)"),
    *("cosine(tf=log,idf=none)", "kl(mu=1000)", "kl(lambda=0.5)", "kl(delta=0.7)"),
    *("kl(mu=500,lambda=0.3)", "ql"),
)


def texts_of(folder: Path) -> list[str]:
    """Every paragraph and every sentence."""
    collection = open_collection(folder)
    return [
        query_text(text)
        for name in ("paragraphs", "sentences")
        for text in collection.queries(name)["text"]
    ]


def random_queries(both: Both, number: int) -> Iterator[TermWeights]:
    """Queries of any terms, common ones more often, half of them with fractional weights."""
    rng = np.random.default_rng(42)
    index = both.slow.index
    df = np.diff(index.offsets)
    common = rng.choice(len(df), (number, 4), p=df / df.sum())
    rare = rng.integers(0, len(df), (number, 6))
    for place in range(number):
        terms = [*common[place, : place % 5], *rare[place, : place % 7]] or [common[place, 0]]
        counts = rng.integers(1, 4, len(terms))
        weights = counts if place % 2 else rng.exponential(1, len(terms))
        yield both.query(dict(zip(map(int, terms), weights.tolist(), strict=True)))


def assert_exact(both: Both, queries: list[TermWeights]) -> None:
    """All depths; the best 10 of 1,000 are the best 10, so everything is scored only once."""
    expected = both.slow.search_all(queries, KS[-1])
    for k in KS:
        for slow, fast in zip(expected, both.fast.search_all(queries, k), strict=True):
            np.testing.assert_array_equal(fast.docs, slow.docs[:k])
            np.testing.assert_array_equal(fast.scores, slow.scores[:k])


def test_all_queries_and_many_random_ones(acm_cr_indexed: Path) -> None:
    both = Both(open_index(acm_cr_indexed), "bm25", DEFAULT_FIELDS)
    queries = [both.slow.query(text) for text in texts_of(acm_cr_indexed)]
    assert len(queries) == 820
    assert_exact(both, queries[:: sized(2, 1)])
    assert_exact(both, list(random_queries(both, sized(500, 2000))))


@pytest.mark.parametrize("model", MODELS)
def test_some_queries_for_every_model(acm_cr_indexed: Path, model: str) -> None:
    both = Both(open_index(acm_cr_indexed), model, DEFAULT_FIELDS)
    texts = texts_of(acm_cr_indexed)
    assert_exact(both, [both.slow.query(text) for text in texts[:: len(texts) // sized(12, 25)]])
    assert_exact(both, list(random_queries(both, sized(20, 40))))
