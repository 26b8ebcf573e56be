"""Documents without a vector: what is expected of them is what others like them have."""

from __future__ import annotations

import numpy as np
import pytest

from citebed.retrieval.ranking.features import impute


def made(count: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Two rows of similarities, and two other signals that tell something of them."""
    draw = np.random.default_rng(seed)
    others = draw.uniform(0, 1, (count, 2))
    noise = draw.normal(0, 0.03, (2, count))
    return 0.4 + others @ np.array([[0.2, 0.05], [0.1, 0.3]]) + noise.T, others


def test_what_is_known_stays() -> None:
    values, others = made(200)
    known = np.arange(200) % 3 > 0
    found = impute(values.T, known, np.ones(200, bool), others)
    np.testing.assert_array_equal(found[:, known], values.T[:, known])
    np.testing.assert_array_equal(impute(values.T, np.ones(200, bool), known, others), values.T)


def test_they_are_neither_favoured_nor_punished() -> None:
    """Whatever its other signals, a document is as often too high as too low."""
    values, others = made(4000)
    known = np.random.default_rng(5).random(4000) < 0.5
    found = impute(np.where(known, values.T, 0), known, np.ones(4000, bool), others)
    errors = (found - values.T)[:, ~known]
    assert np.abs(errors.mean(axis=1)).max() < 0.003
    for part in (others[~known, 0] < 0.2, others[~known, 0] > 0.8, others[~known, 1] > 0.8):
        assert np.abs(errors[:, part].mean(axis=1)).max() < 0.01
    assert errors.std() < 0.035


def test_the_nearest_by_the_vectors_themselves_teach_nothing() -> None:
    """They were chosen for being near: of others that would promise too much."""
    values, others = made(2000)
    chosen = np.argsort(-values[:, 0])[:300]
    fair, known = np.ones(2000, bool), np.arange(2000) % 2 > 0
    fair[chosen] = False
    shown = impute(np.where(known, values.T, 0), known, fair, others)
    by_all = impute(np.where(known, values.T, 0), known, ~fair, others)
    right = values.T[0, ~known].mean()
    assert abs(shown[0, ~known].mean() - right) < abs(by_all[0, ~known].mean() - right)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_teach_little(count: int) -> None:
    values, others = made(20)
    known = np.arange(20) < count
    found = impute(np.where(known, values.T, 0), known, np.ones(20, bool), others)
    assert np.isfinite(found).all()
    if count:
        least, most = values.T[:, known].min(axis=1), values.T[:, known].max(axis=1)
        assert (found >= least[:, None]).all()
        assert (found <= most[:, None]).all()


def test_signals_that_are_the_same_for_all() -> None:
    values, others = made(50)
    known = np.arange(50) % 2 > 0
    flat = np.ones_like(others)
    found = impute(np.where(known, values.T, 0), known, np.ones(50, bool), flat)
    np.testing.assert_allclose(
        found[:, ~known], np.repeat(values.T[:, known].mean(axis=1)[:, None], 25, axis=1)
    )
