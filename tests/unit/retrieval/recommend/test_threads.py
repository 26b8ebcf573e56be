"""One recommender, many threads: each gets the answers that it would get alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from citebed.collection.filters import Filter
from citebed.retrieval.memory import LruCache
from citebed.retrieval.recommend.recommender import Recommender

THREADS, ROUNDS = 8, 3
TEXTS = (
    "Pseudo-relevance feedback adds terms from the documents that were found first.",
    "Language models smooth with a Dirichlet prior. Others divide by the length of a document.",
    "Test collections are built from pools (Voorhees, 1998), and judged by \\cite{x} people.",
    "Links between pages say which are important, as \\cite{ponte1998language} shows not.",
    "See doi:10.1145/361219.361220 for the vector space model and its weights.",
    "We thank the anonymous reviewers for their comments.",
)
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"k": 20},
    {"before": "1999"},
    {"among": Filter(years="1990-2005")},
    {"among": Filter(types=("article",)), "before": "2001"},
    {"among": Filter(authors=("Croft, W. Bruce",)), "k": 3},
    {"relevant": ["rocchio1971relevance"], "k": 8},
    {"relevant": ["xu1996query"], "nonrelevant": ["lavrenko2001relevance"], "min_probability": 0},
    {"each": "sentence"},
)


@pytest.fixture
def _hasty() -> Iterator[None]:
    """Threads that take turns a thousand times as often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("model", ["bm25+learned", "bm25", "bm25+rm3"])
def test_all_at_once_are_answered_as_one_by_one(demo_indexed: Path, model: str) -> None:
    asked = [(text, options) for text in TEXTS for options in ASKED]
    alone = Recommender(demo_indexed, None, model, warm=True)
    expected = [alone.recommend_for(text, **options).rows for text, options in asked]

    one = Recommender(demo_indexed, None, model, warm=True)  # that has remembered nothing yet
    many = [(number, *each) for _ in range(ROUNDS) for number, each in enumerate(asked)]

    def answer(number: int, text: str, options: dict[str, Any]) -> bool:
        return one.recommend_for(text, **options).rows == expected[number]

    with ThreadPoolExecutor(THREADS) as pool:
        same = list(pool.map(lambda each: answer(*each), many))
    assert [many[at][1:] for at, holds in enumerate(same) if not holds] == []


def test_whoever_comes_first_prepares(demo_indexed: Path) -> None:
    one = Recommender(demo_indexed)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda _: one.prepare(), range(THREADS)))
    assert one.recommend_for(TEXTS[0]) == Recommender(demo_indexed, warm=True).recommend_for(
        TEXTS[0]
    )


def test_a_few_are_remembered() -> None:
    few: LruCache[int, object] = LruCache(2)
    first = few.get(1, object)
    assert few.get(1, object) is first
    second = few.get(2, object)
    assert few.get(1, object) is first  # which is the last now
    few.get(3, object)
    assert few.get(1, object) is first
    assert few.get(2, object) is not second
