"""Lay documents out in two dimensions, so that similar ones are close.

Classical scaling (Torgerson 1952) gives the first places, stress majorisation (De Leeuw 1977,
SMACOF) improves them, and places that are too close for the eye are pushed apart. Without any
randomness, the same distances always give the same picture.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
_MAX_ROUNDS, _MIN_GAIN = 100, 1e-5
"""Majorisation ends after this many rounds, or when stress falls by less than this share."""
_POWER_ROUNDS, _EPSILON = 200, 1e-9
_PUSH_ROUNDS, _CLOSE_ENOUGH = 60, 1e-4
_MARGIN = 0.04


def lay_out(distances: Reals, apart: float = 0.045) -> Reals:
    """Return places in the unit square for items at these distances (a symmetric matrix), at least
    ``apart`` from each other if there is room."""
    if len(distances) < 2:
        return np.full((len(distances), 2), 0.5)
    places = majorise(distances, scale_classically(distances))
    # The longest way is horizontal, and both axes fill the square: a picture can be stretched.
    x, y = (places - places.mean(axis=0)).T
    angle = 0.5 * np.arctan2(2 * (x * y).sum(), (x * x).sum() - (y * y).sum())
    across = x * np.cos(angle) + y * np.sin(angle)
    down = y * np.cos(angle) - x * np.sin(angle)
    places = np.stack([across, down], axis=1)
    low, high = places.min(axis=0), places.max(axis=0)
    flat = high - low < 1e-9
    even = np.where(flat, 0.5, (places - low) / np.where(flat, 1, high - low))
    return push_apart(_MARGIN + even * (1 - 2 * _MARGIN), apart)


def scale_classically(distances: Reals) -> Reals:
    """Return the plane that keeps most of the distances."""
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    products = -centred / 2
    places = np.zeros((len(distances), 2))
    for axis in range(2):
        value, vector = _greatest_eigenvalue(products)
        places[:, axis] = vector * np.sqrt(max(value, 0.0))
        products = products - value * np.outer(vector, vector)
    return places


def _greatest_eigenvalue(matrix: Reals) -> tuple[float, Reals]:
    """Return the greatest eigenvalue of a symmetric matrix and its vector, by power iteration: for
    small matrices that is faster than a library whose threads wait for each other."""
    # Shifted, so that the greatest eigenvalue is also the farthest from 0.
    shifted = matrix + np.eye(len(matrix)) * np.abs(matrix).sum(axis=1).max()
    vector = shifted[np.abs(matrix).sum(axis=1).argmax()].copy()
    for _ in range(_POWER_ROUNDS):
        following = shifted @ vector
        length = np.sqrt((following * following).sum())
        if length == 0:
            return 0.0, np.zeros(len(matrix))
        following /= length
        is_stable = np.abs(following - vector).max() < _EPSILON
        vector = following
        if is_stable:
            break
    vector = vector * (np.sign(vector[np.abs(vector).argmax()]) or 1.0)
    return float(vector @ matrix @ vector), vector


def stress(distances: Reals, places: Reals) -> float:
    """Return the sum of squared differences between distances and places, over all pairs."""
    return float(((_pair_distances(places) - distances) ** 2).sum() / 2)


def majorise(distances: Reals, places: Reals) -> Reals:
    """Return places with less and less stress, by the Guttman transform."""
    found = _pair_distances(places)
    before = float(((found - distances) ** 2).sum())
    for _ in range(_MAX_ROUNDS):
        ratios = distances / np.where(found > 0, found, np.inf)
        turned = -ratios
        np.fill_diagonal(turned, ratios.sum(axis=1))
        better = turned @ places / len(distances)
        found = _pair_distances(better)
        now = float(((found - distances) ** 2).sum())
        if now >= before:
            return places
        places = better
        if before - now < _MIN_GAIN * before:
            return places
        before = now
    return places


def push_apart(places: Reals, apart: float) -> Reals:
    """Return places in the unit square that are at least ``apart`` from each other if there is
    room: each of two close places goes half of the way."""
    x, y = places.T.copy()
    # Equal places go in evenly spread directions.
    angles = 2.399963 * np.arange(len(places))
    for _ in range(_PUSH_ROUNDS):
        across, down = x[:, None] - x, y[:, None] - y
        far = np.sqrt(across * across + down * down)
        np.fill_diagonal(far, np.inf)
        if (same := far < _EPSILON).any():
            across = np.where(same, np.cos(angles)[:, None] - np.cos(angles), across)
            down = np.where(same, np.sin(angles)[:, None] - np.sin(angles), down)
        short = np.clip(apart - far, 0, None)
        if not (short > _CLOSE_ENOUGH).any():
            break
        push = short / 2 / np.maximum(np.sqrt(across * across + down * down), _EPSILON)
        x = np.clip(x + (push * across).sum(axis=1), _MARGIN, 1 - _MARGIN)
        y = np.clip(y + (push * down).sum(axis=1), _MARGIN, 1 - _MARGIN)
    return np.stack([x, y], axis=1)


def _pair_distances(places: Reals) -> Reals:
    x, y = places.T
    across, down = x[:, None] - x, y[:, None] - y
    return np.asarray(np.sqrt(across * across + down * down), np.float64)
