"""The layout: true to distances, the same every time, nothing on top of anything else."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import pdist, squareform

from citebed.retrieval.library import layout
from citebed.retrieval.library.layout import cluster


def _made(seed: int, number: int, width: int = 10) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(number, width))
    return np.asarray(squareform(pdist(points)))


def _stress(distances: np.ndarray, places: np.ndarray) -> float:
    return float(((pdist(places) - squareform(distances, checks=False)) ** 2).sum())


def test_points_of_a_plane_keep_their_distances() -> None:
    distances = _made(1, 12, width=2)
    places = layout.scale_classically(distances)
    assert squareform(pdist(places)) == pytest.approx(distances, abs=1e-4)
    assert _stress(distances, places) == pytest.approx(0, abs=1e-6)


def test_classical_scaling_is_that_of_the_eigenvectors() -> None:
    distances = _made(4, 15)
    middle = np.eye(15) - 1 / 15
    values, vectors = np.linalg.eigh(-middle @ distances**2 @ middle / 2)
    best = vectors[:, -2:] * np.sqrt(values[-2:])
    assert pdist(layout.scale_classically(distances)) == pytest.approx(pdist(best), rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_majorised_places_have_about_the_least_stress(seed: int) -> None:
    distances = _made(seed, 20)
    start = layout.scale_classically(distances)
    found = _stress(distances, layout.majorise(distances, start))
    assert found < _stress(distances, start)

    def of(flat: np.ndarray) -> float:
        return _stress(distances, flat.reshape(-1, 2))

    least = minimize(of, start.ravel(), method="L-BFGS-B").fun
    assert found <= least * 1.02


def test_the_same_every_time_and_within_the_square() -> None:
    distances = _made(6, 60)
    places = layout.lay_out(distances)
    assert np.array_equal(places, layout.lay_out(distances.copy()))
    assert ((places >= 0) & (places <= 1)).all()
    assert pdist(places).min() > 0.03


def test_things_at_one_place_are_pushed_apart() -> None:
    places = layout.lay_out(np.zeros((10, 10)))
    assert pdist(places).min() > 0.03


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_few(number: int) -> None:
    places = layout.lay_out(_made(1, number) if number > 1 else np.zeros((number, number)))
    assert places.shape == (number, 2)
    assert np.isfinite(places).all()


def test_it_is_quick() -> None:
    distances = _made(8, 80)
    layout.lay_out(distances)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        layout.lay_out(distances)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.3  # a tenth on an idle machine


def test_groups_are_those_that_lie_apart() -> None:
    rng = np.random.default_rng(9)
    points = np.concatenate([rng.normal(size=(5, 2)) * 0.1 + 5 * at for at in range(3)])
    groups = cluster(np.asarray(squareform(pdist(points))))
    assert groups == [0] * 5 + [1] * 5 + [2] * 5
    assert cluster(np.zeros((1, 1))) == [0]
