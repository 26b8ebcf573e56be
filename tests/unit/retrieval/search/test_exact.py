"""Searching by bounds finds what scoring everything finds, to the last bit."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sampling import examples, sized
from tests.unit.retrieval.search.made import (
    EVERY_MODEL,
    ONE_FIELD,
    TWO_FIELDS,
    Both,
    assert_in_order,
    index_of,
    random_index,
)

from citebed.retrieval import kernels, numba_cache
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.index import Index
from citebed.retrieval.memory import free_memory
from citebed.retrieval.models import model_of
from citebed.retrieval.search import searcher, view
from citebed.retrieval.search.fields import Fields
from citebed.retrieval.search.impact_index import bytes_of
from citebed.retrieval.search.searcher import Hits, Searcher, query_of_counts

KS = (1, 10, 1000)
SHARES = (*[1e-9] * 6, *[1e-4] * 6, *[0.003] * 8, *[0.02] * 8, 0.04, 0.05, 0.1, 0.3, 0.6, 0.95, 1.0)
"""Terms of one document, of few, of many, of more than half, of all."""


@pytest.fixture(scope="module")
def middling(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Return an index of 3,000 documents: several chunks in one range."""
    return random_index(tmp_path_factory.mktemp("middling"), 3000, SHARES, seed=1)


def random_weights(rng: np.random.Generator, terms: int, *, whole: bool) -> dict[int, float]:
    chosen = rng.choice(terms, rng.integers(1, terms + 1), replace=False)
    if whole:
        return {int(term): float(rng.choice([1, 1, 1, 2, 7])) for term in chosen}
    return {int(term): float(10 ** rng.uniform(-4, 2)) for term in chosen}


@pytest.mark.parametrize("fields", [ONE_FIELD, TWO_FIELDS], ids=str)
@pytest.mark.parametrize("model", EVERY_MODEL)
def test_every_model_and_depth(middling: Index, model: str, fields: Fields) -> None:
    both = Both(middling, model, fields)
    assert both.is_bounded
    rng = np.random.default_rng(len(model))
    queries = [both.query(random_weights(rng, len(SHARES), whole=True)) for _ in range(12)]
    queries += [
        both.query(random_weights(rng, len(SHARES), whole=False), final=True) for _ in range(6)
    ]
    for k in KS:
        for hits in both.assert_same(queries, k):
            assert_in_order(hits)
            assert 0 < len(hits.docs) <= k


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("model", ["bm25", "kl", "ql(mu=1)", "cosine(tf=log)", "okapi(k3=0)"])
def test_random_queries(middling: Index, model: str, whole: bool) -> None:
    both = Both(middling, model)
    rng = np.random.default_rng(1)
    queries = [both.query(random_weights(rng, len(SHARES), whole=whole)) for _ in range(25)]
    for k in (1, 3, 10, 400, 3000, 10**6):
        both.assert_same(queries, k)


@pytest.mark.parametrize("bounds", [True, False])
@pytest.mark.parametrize("model", ["bm25", "kl(lambda=0.5)", "cosine(tf=raw,idf=plain)"])
def test_either_way_whichever_is_quicker(middling: Index, model: str, bounds: bool) -> None:
    """Bounds for queries that are short, adding up for queries that are long."""
    both = Both(middling, model)
    rng = np.random.default_rng(2)
    for number in range(30):
        weights = random_weights(rng, len(SHARES), whole=number % 2 == 0)
        for k in (1, 10, 200, 3000):
            query = both.query(weights)
            expected, found = both.slow.search(query, k), both.by_kernel(query, k, bounds=bounds)
            np.testing.assert_array_equal(found.docs, expected.docs)
            np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("documents", [1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 130])
def test_small_collections_fill_no_chunk(tmp_path: Path, documents: int) -> None:
    index = random_index(tmp_path / "index", documents, [0.01, 0.2, 0.5, 0.5, 1.0], seed=documents)
    queries = list(itertools.product([0.0, 2.5], repeat=5))
    for model in ("bm25", "kl"):
        both = Both(index, model)
        asked = [
            both.query({number: w for number, w in enumerate(weights) if w}) for weights in queries
        ]
        for k in (1, 3, 1000):
            both.assert_same(asked, k)


@pytest.mark.parametrize(
    ("documents", "models"),
    [
        (kernels.RANGE, ["bm25"]),
        (kernels.RANGE + 1, ["ql"]),
        (sized(140_000, 300_000), ["bm25", "kl"]),
    ],
)
def test_collections_larger_than_a_range(tmp_path: Path, documents: int, models: list[str]) -> None:
    index = random_index(tmp_path / "index", documents, SHARES, seed=documents)
    rng = np.random.default_rng(0)
    for model in models:
        both = Both(index, model, ONE_FIELD)
        queries = [both.query(random_weights(rng, len(SHARES), whole=True)) for _ in range(6)]
        queries += [both.query({term: 1.0}) for term in (0, 7, 25, 34)]
        for k in KS:
            both.assert_same(queries, k)


# --- what may break bounds ------------------------------------------------------------------


def test_equal_documents_come_by_descending_number(tmp_path: Path) -> None:
    docs = [{"title": ["a", "b", "b", "c"]}] * 40 + [{"title": []}] * 3
    index = index_of(tmp_path / "index", docs)
    for model, k in itertools.product(EVERY_MODEL, KS):
        both = Both(index, model)
        (hits,) = both.assert_same([both.query({0: 1.0, 1: 2.0})], k)
        assert hits.docs.tolist() == list(range(39, -1, -1))[:k]


@pytest.mark.parametrize("model", ["bm25", "kl", "cosine(tf=raw,idf=none)"])
@pytest.mark.parametrize("terms", [200, 256, 300, 700])
def test_queries_of_more_frequent_terms_than_bounds_can_hold(
    tmp_path: Path, model: str, terms: int
) -> None:
    """Each of these terms may add 255 units to a bound of 16 bits."""
    rng = np.random.default_rng(3)
    docs = [{"title": [f"w{w:03}" for w in rng.choice(700, 90)]} for _ in range(60)]
    both = Both(index_of(tmp_path / "index", docs), model)
    number = range(min(terms, len(both.slow.index.terms)))
    queries = [
        both.query(dict.fromkeys(number, 1.0)),
        both.query({t: 1.0 + t % 7 for t in number}),
        both.query({0: 1.0}),  # the query before must leave nothing behind
    ]
    for k in KS:
        both.assert_same(queries, k)
        both.assert_same(queries, k, excluded=[np.array([0, 5, 59])] * 3)


def test_queries_of_more_rare_terms_than_bounds_can_hold(tmp_path: Path) -> None:
    """Asked for every term there is, a document gets the sum of all it has."""
    index = random_index(tmp_path / "index", 50, [1e-9] * 66_000, seed=5)
    searcher = Both(index, "bm25").fast
    df, cf = searcher.view.frequencies(np.arange(66_000))
    everything = TermWeights(np.arange(66_000), np.ones(66_000), df, cf)
    sums = np.bincount(searcher._prepared.docs, weights=searcher._prepared.impacts)
    hits = searcher.search(everything, 10)
    assert hits.docs.tolist() == np.argsort(-sums)[:10].tolist()
    np.testing.assert_allclose(hits.scores, np.sort(sums)[::-1][:10])


@pytest.mark.parametrize("spread", [1e-300, 1e-30, 1e-12, 1e-3, 1e3, 1e12, 1e30, 1e300])
def test_weights_far_apart(middling: Index, spread: float) -> None:
    for model in ("bm25", "kl", "cosine(tf=log)"):
        both = Both(middling, model)
        for term in (0, 12, 30, 34):
            weights = {term: spread, 3: 1.0, 20: 1.0, 33: 1.0}
            for k in KS:
                both.assert_same([both.query(weights, final=True)], k)


def test_weights_that_are_almost_nothing(middling: Index) -> None:
    both = Both(middling, "bm25")
    for weights in ({34: 5e-324}, {0: 5e-324}, {34: 5e-324, 10: 1.0}, {3: 1e-310, 34: 1e-310}):
        both.assert_same([both.query(weights, final=True)], 10)


def test_negative_weights_and_terms_of_no_weight(middling: Index) -> None:
    both = Both(middling, "bm25")
    weights = [{34: -1.0}, {34: -1.0, 12: 2.0, 3: 1.0}, {34: 0.0}, {34: 0.0, 20: 1.0}, {}]
    queries = [both.query(each, final=True) for each in weights]
    for k in KS:
        found = both.assert_same(queries, k)
        assert (found[0].scores < 0).all()
        assert len(found[0].docs) == k
        assert [len(hits.docs) for hits in found[2::2]] == [0, 0]


def test_okapi_lets_common_words_count_against_documents(tmp_path: Path) -> None:
    """``a`` in 8 of 12 documents weighs less than nothing, ``b`` in half of them nothing."""
    words = (["a", "c"], ["a", "b"], ["a"], ["b"])
    docs = [{"title": each} for each in words for _ in range(3 if len(each) > 1 else 2)]
    docs += [{"title": ["b"]}, {"title": []}]
    both = Both(index_of(tmp_path / "index", docs), "okapi")
    assert both.slow.view.frequencies(np.arange(3))[0].tolist() == [8, 6, 3]
    a, b, c = (both.query({term: 1.0}) for term in range(3))
    for k in KS:
        found = both.assert_same([both.query({0: 1.0, 2: 1.0}), a, b, c], k)
        assert found[0].docs.tolist() == [2, 1, 0, 5, 4, 3, 7, 6][:k]
        assert found[1].docs.tolist() == [5, 4, 3, 2, 1, 0, 7, 6][:k]
        assert (found[1].scores < 0).all()
        assert len(found[2].docs) == 0
        assert found[3].docs.tolist() == [2, 1, 0][:k]


def test_huge_frequencies(tmp_path: Path) -> None:
    docs = [{"title": ["a"] * (4 ** (n % 9)) + ["b"] * (n % 3)} for n in range(50)]
    index = index_of(tmp_path / "index", docs)
    for model in EVERY_MODEL:
        both = Both(index, model)
        both.assert_same([both.query({0: 1.0}), both.query({0: 1.0, 1: 3.0})], 10)


def test_terms_that_add_nothing_are_found_anyway(tmp_path: Path) -> None:
    """With idf=plain a term that every document has counts 0."""
    docs = [{"title": ["all", f"w{n % 4}"]} for n in range(20)]
    both = Both(index_of(tmp_path / "index", docs), "cosine(tf=raw,idf=plain)")
    for k in KS:
        (hits,) = both.assert_same([both.query({0: 1.0}, final=True)], k)
        assert hits.docs.tolist() == list(range(19, -1, -1))[:k]
        assert not hits.scores.any()


# --- what may not be found ------------------------------------------------------------------


@pytest.mark.parametrize("model", ["bm25", "kl", "okapi"])
def test_excluded_and_allowed_documents(middling: Index, model: str) -> None:
    both = Both(middling, model)
    rng = np.random.default_rng(9)
    queries = [both.query(random_weights(rng, len(SHARES), whole=True)) for _ in range(10)]
    for k in KS:
        first = both.assert_same(queries, k)
        excluded = [hits.docs[::2] for hits in first]
        found = both.assert_same(queries, k, excluded=excluded)
        for hits, gone in zip(found, excluded, strict=True):
            assert not set(hits.docs.tolist()) & set(gone.tolist())
        for share in (0.0, 0.01, 0.5):
            allowed = rng.random(3000) < share
            for hits in both.assert_same(queries, k, excluded=excluded, allowed=allowed):
                assert allowed[hits.docs].all()
        assert both.assert_same(queries, k)[0].docs.tolist() == first[0].docs.tolist()


def test_no_documents_are_the_best_none(middling: Index) -> None:
    both = Both(middling, "bm25")
    for k in (0, -1):
        (hits,) = both.assert_same([both.query({3: 1.0})], k)
        assert len(hits.docs) == 0


def test_many_queries_over_threads_are_as_one_after_another(middling: Index) -> None:
    both = Both(middling, "bm25")
    rng = np.random.default_rng(2)
    queries = [both.query(random_weights(rng, len(SHARES), whole=True)) for _ in range(600)]
    queries[5] = both.query({34: -1.0}, final=True)
    alone = both.fast.search_all(queries, 10, threads=1)
    for _ in range(5):
        for one, many in zip(alone, both.fast.search_all(queries, 10, threads=8), strict=True):
            np.testing.assert_array_equal(one.docs, many.docs)
            np.testing.assert_array_equal(one.scores, many.scores)


# --- whatever hypothesis thinks of -----------------------------------------------------------

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
DOCS = st.lists(st.fixed_dictionaries({"title": WORDS, "abstract": WORDS}), min_size=1, max_size=30)
WEIGHTS = st.dictionaries(
    st.integers(0, 7),
    st.floats(1e-6, 1e6) | st.sampled_from([1.0, 2.0, 0.5, -1.0, 0.0]),
    min_size=1,
)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(
    docs=DOCS,
    weights=st.lists(WEIGHTS, min_size=1, max_size=5),
    model=st.sampled_from(EVERY_MODEL),
    fields=st.sampled_from([ONE_FIELD, TWO_FIELDS, Fields({"abstract": 0.1})]),
    k=st.sampled_from([1, 2, 10, 1000]),
)
def test_anything(
    docs: list[dict[str, list[str]]],
    weights: list[dict[int, float]],
    model: str,
    fields: Fields,
    k: int,
) -> None:
    with TemporaryDirectory() as folder:
        index = index_of(Path(folder) / "index", docs, ("title", "abstract"))
        both = Both(index, model, fields)
        terms = len(index.terms)
        known = [{t: w for t, w in each.items() if t < terms} for each in weights]
        counts = [{t: abs(w) for t, w in each.items() if w} for each in known]
        queries = [both.query(each, final=True) for each in known]
        queries += [both.query(each) for each in counts]
        for hits in both.assert_same(queries, k):
            assert_in_order(hits)


# --- what is larger than memory -------------------------------------------------------------


def test_reading_part_of_a_term_gives_the_same_contributions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = random_index(tmp_path / "index", 400, [0.5, 0.2, 0.01, 1e-9], seed=1)
    terms, docs = np.arange(4), np.unique(np.random.default_rng(2).choice(400, 60))
    for model, fields in itertools.product(EVERY_MODEL, (ONE_FIELD, TWO_FIELDS)):
        whole = Searcher(index, model_of(model), fields).contributions(terms, docs)
        with monkeypatch.context() as patch:
            patch.setattr(view, "_LONG", 0)
            in_part = Searcher(index, model_of(model), fields).contributions(terms, docs)
        np.testing.assert_array_equal(in_part, whole, err_msg=model)
        assert whole.any()


def test_an_index_that_memory_does_not_hold_is_searched_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    index = random_index(tmp_path / "index", 400, [0.5, 0.2, 0.01], seed=1)
    needed = bytes_of(index)
    for free, is_ready in ((needed, True), (needed - 1, False)):
        monkeypatch.setattr("citebed.retrieval.search.searcher.free_memory", lambda f=free: f)
        both = Both(index, "bm25")
        assert both.is_bounded is is_ready
        both.assert_same([both.query({0: 1.0, 1: 2.0, 2: 1.0})], 10)
    assert "citebed searches without preloading" in caplog.text
    assert free_memory() > 0


class _Compiler:
    """A compiler that is still at work, or ready."""

    def __init__(self) -> None:
        self.is_at_work = True

    def is_alive(self) -> bool:
        return self.is_at_work


def test_searches_do_not_wait_for_the_compiler_unless_they_must(
    middling: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, pruned = _Compiler(), list[int]()
    monkeypatch.setattr(numba_cache, "must_compile", lambda _: True)
    monkeypatch.setattr(searcher, "_start_compiler", lambda: compiler)
    patient, hasty = (Searcher(middling, model_of("bm25"), ONE_FIELD) for _ in range(2))
    search = Searcher._search_with_bounds

    def note(self: Searcher, *given: Any) -> list[Hits]:
        pruned.append(self is hasty)
        return search(self, *given)

    monkeypatch.setattr(Searcher, "_search_with_bounds", note)
    patient.prepare()
    hasty.prepare(wait=False)
    query = query_of_counts(hasty.view, {0: 1.0, len(SHARES) - 1: 2.0})
    assert hasty.search(query, 10).docs.tolist() == patient.search(query, 10).docs.tolist()
    assert pruned == [False]
    compiler.is_at_work = False
    assert hasty.search(query, 10).docs.tolist() == patient.search(query, 10).docs.tolist()
    assert pruned == [False, True, False]
