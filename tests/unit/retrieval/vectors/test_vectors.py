"""Similarities: exact, and the same whatever computes them."""

from __future__ import annotations

import numpy as np
import pytest

from citebed.retrieval.vectors import kernels, static_model
from citebed.retrieval.vectors.static_model import Tokens, shipped_model
from citebed.retrieval.vectors.vectors import DocumentVectors, quantise, unit_rows


def some(count: int, width: int, seed: int = 0) -> np.ndarray:
    return unit_rows(np.random.default_rng(seed).standard_normal((count, width), np.float32))


def documents(count: int, width: int) -> DocumentVectors:
    return DocumentVectors(*quantise(some(count, width)), fingerprint="f", name="n")


def exact(found: DocumentVectors, queries: np.ndarray) -> np.ndarray:
    """One number after another, in double precision."""
    rows = found.rows.astype(np.float64) * found.scales.astype(np.float64)[:, None]
    return np.array([[sum(q * d) for d in rows] for q in queries.astype(np.float64)])


@pytest.mark.parametrize("width", [1, 7, 256, 384])
@pytest.mark.parametrize("count", [0, 1, 3, 1030])
def test_scores_are_exact_with_and_without_the_compiler(count: int, width: int) -> None:
    found, queries = documents(count, width), some(3, width, seed=1)
    expected = exact(found, queries).reshape(3, count)
    np.testing.assert_allclose(found.score(queries), expected, atol=1e-6)
    found.prepare()
    np.testing.assert_allclose(found.score(queries), expected, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1, 8, 9, 33, 70])
def test_any_number_of_queries_is_scored_alike(count: int) -> None:
    found, queries = documents(9000, 16), some(count, 16, seed=1)
    expected = queries.astype(np.float64) @ (found.rows * found.scales[:, None]).T
    for _ in range(2):
        scores = found.score(queries)
        assert (scores.dtype, scores.shape) == (np.float32, (count, 9000))
        np.testing.assert_allclose(scores, expected, atol=1e-6)
        found.prepare()


@pytest.mark.parametrize("sentences", [0, 1, 5, 12])
@pytest.mark.parametrize("count", [1, 10, 300, 5000])
def test_similarity_of_documents_is_never_rough(sentences: int, count: int) -> None:
    """Vectors of eight bits only choose candidates; scores are computed exactly."""
    found, queries = documents(4000, 64), some(sentences + 1, 64, seed=1)
    scores = queries.astype(np.float64) @ (found.rows * found.scales[:, None]).T
    rows = [scores[0], *([scores[1:].max(axis=0)] if sentences else [])]
    allowed = np.random.default_rng(2).random(4000) < 0.5
    for _ in range(2):
        similar = found.compare(queries)
        for row, expected in enumerate(rows):
            best = set(np.argsort(-expected)[:count].tolist())
            assert set(similar.top(row, count).tolist()) == best
            ranked = [n for n in np.argsort(-expected).tolist() if allowed[n]]
            assert set(similar.top(row, count, allowed).tolist()) == set(ranked[:count])
            assert similar.bounds(row) == pytest.approx((expected.min(), expected.max()), abs=1e-6)
            numbers, values = similar.above(row, 0.2)
            assert numbers.tolist() == np.flatnonzero(expected > 0.2).tolist()
            np.testing.assert_allclose(values, expected[numbers], atol=1e-6)
            np.testing.assert_allclose(similar.exact(numbers)[row], expected[numbers], atol=1e-6)
        found.prepare()


def test_a_text_that_grows_is_answered_as_if_it_were_new() -> None:
    queries, kept = some(12, 16, seed=2), documents(300, 16)
    kept.prepare()
    for end in (1, 3, 2, 7, 12, 3):
        fresh = documents(300, 16)
        fresh.prepare()
        asked = queries[[end - 1, *range(end)]]
        np.testing.assert_array_equal(kept.compare(asked).rough, fresh.compare(asked).rough)


def test_of_equal_documents_the_later_are_taken_and_no_more_than_asked_for() -> None:
    rows = quantise(np.repeat(some(3, 8), 400, axis=0))
    found = DocumentVectors(*rows, fingerprint="f", name="n")
    one, nothing = some(3, 8)[1:2], np.zeros((1, 8), np.float32)
    for _ in range(2):
        assert found.compare(one).top(0, 5).tolist() == [795, 796, 797, 798, 799]
        assert found.compare(nothing).top(0, 3).tolist() == [1197, 1198, 1199]
        allowed = np.arange(1200) < 600
        assert found.compare(nothing).top(0, 2, allowed).tolist() == [598, 599]
        assert found.compare(nothing).bounds(0) == (0, 0)
        found.prepare()


def test_of_nothing_nothing_is_similar() -> None:
    similar = documents(0, 4).compare(some(2, 4))
    assert similar.bounds(0) == (0.0, 0.0)
    assert similar.top(1, 5).tolist() == []


def test_questions_of_another_width_are_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"\(2, 5\); expected rows of 4 numbers"):
        documents(3, 4).score(some(2, 5))


def test_queries_need_not_lie_in_order() -> None:
    found, queries = documents(50, 8), some(8, 8, seed=1)
    found.prepare()
    np.testing.assert_array_equal(found.score(queries.T), found.score(queries.T.copy()))


def test_eight_bits_are_enough_and_zeros_stay() -> None:
    given = np.concatenate([some(200, 256), np.zeros((1, 256), np.float32)])
    small = quantise(given)
    assert (small.rows.dtype, small.scales.dtype) == (np.int8, np.float32)
    assert np.abs(small.rows[:-1]).max(axis=1).tolist() == [127] * 200
    back = small.rows * small.scales[:, None]
    assert np.abs((back * given).sum(axis=1)[:-1] - 1).max() < 0.002
    assert not back[-1].any()
    assert not unit_rows(np.zeros((2, 3), np.float32)).any()


def test_vectors_of_some_documents() -> None:
    found = documents(20, 6)
    some_of_them = found.decode(np.array([7, 0, 7]))
    np.testing.assert_allclose(some_of_them, some(20, 6)[[7, 0, 7]], atol=0.01)
    told = found.score(some_of_them)[:, 7]
    np.testing.assert_allclose(told, some_of_them @ some_of_them[0], atol=1e-6)  # of 32 bits


def test_what_is_compiled_ahead_is_what_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels.compile_all()
    names = ("scores", "sums", "bags_of_tokens", "rough_scores", "longest")
    compiled = [getattr(kernels, name) for name in names]
    before = [len(kernel.signatures) for kernel in compiled]
    found = documents(5, 4)
    found.prepare()
    for given in (some(2, 4), some(2, 4)[:1], np.asfortranarray(some(2, 4))):
        found.score(given)
        found.compare(given).top(0, 2)
    monkeypatch.setattr(static_model, "MANY", 1)
    shipped_model().documents(["a tree"])
    ids, starts = np.zeros(1, np.int32), np.array([0, 1])
    shipped_model().documents_of_tokens(Tokens(ids, starts[1:], starts, ids))
    assert [len(kernel.signatures) for kernel in compiled] == before
