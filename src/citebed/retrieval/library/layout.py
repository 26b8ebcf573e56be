"""Laying documents out in two dimensions, so that what is alike lies together.

Classical scaling (Torgerson 1952) gives the first places, stress majorisation (De Leeuw 1977,
SMACOF) improves them, and places that are too close for a reader's eye are pushed apart. Nothing is
drawn by lot: the same distances always give the same picture.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
_TIMES, _ENOUGH = 100, 1e-5
"""Majorisation ends after so many times, or when stress falls by less than this share."""
_POWERS, _SAME = 200, 1e-9
_PUSHES, _CLOSE_ENOUGH = 60, 1e-4
_MARGIN = 0.04


def laid_out(distances: Reals, apart: float = 0.045) -> Reals:
    """Places in the unit square for things at these distances (a symmetric matrix), no two closer
    than ``apart`` as far as there is room."""
    if len(distances) < 2:
        return np.full((len(distances), 2), 0.5)
    places = majorised(distances, scaled(distances))
    return pushed_apart(_in_square(_turned(places)), apart)


def scaled(distances: Reals) -> Reals:
    """Classical scaling: the plane that keeps most of the distances."""
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    products = -centred / 2
    places = np.zeros((len(distances), 2))
    for axis in range(2):
        value, vector = _greatest(products)
        places[:, axis] = vector * np.sqrt(max(value, 0.0))
        products = products - value * np.outer(vector, vector)
    return places


def _greatest(matrix: Reals) -> tuple[float, Reals]:
    """The greatest eigenvalue of a symmetric matrix and its vector, by powers: for so small ones
    it is quicker than a library whose threads wait for each other."""
    # Moved, so that the greatest is also the one farthest from 0.
    moved = matrix + np.eye(len(matrix)) * np.abs(matrix).sum(axis=1).max()
    vector = moved[np.abs(matrix).sum(axis=1).argmax()].copy()
    for _ in range(_POWERS):
        following = moved @ vector
        length = np.sqrt((following * following).sum())
        if length == 0:
            return 0.0, np.zeros(len(matrix))
        following /= length
        near = np.abs(following - vector).max() < _SAME
        vector = following
        if near:
            break
    vector = vector * (np.sign(vector[np.abs(vector).argmax()]) or 1.0)
    return float(vector @ matrix @ vector), vector


def stress(distances: Reals, places: Reals) -> float:
    """How far places are from keeping distances: squared differences over all pairs."""
    return float(((_apart(places) - distances) ** 2).sum() / 2)


def majorised(distances: Reals, places: Reals) -> Reals:
    """Places of less and less stress, by the Guttman transform."""
    found = _apart(places)
    before = float(((found - distances) ** 2).sum())
    for _ in range(_TIMES):
        ratios = distances / np.where(found > 0, found, np.inf)
        turned = -ratios
        np.fill_diagonal(turned, ratios.sum(axis=1))
        better = turned @ places / len(distances)
        found = _apart(better)
        now = float(((found - distances) ** 2).sum())
        if now >= before:
            return places
        places = better
        if before - now < _ENOUGH * before:
            return places
        before = now
    return places


def pushed_apart(places: Reals, apart: float) -> Reals:
    """Places in the unit square of which no two are closer than ``apart``, as far as there is room:
    pairs that are go half of the way each."""
    x, y = places.T.copy()
    # Places that are the same go in directions that are spread evenly.
    angles = 2.399963 * np.arange(len(places))
    for _ in range(_PUSHES):
        across, down = x[:, None] - x, y[:, None] - y
        far = np.sqrt(across * across + down * down)
        np.fill_diagonal(far, np.inf)
        if (same := far < _SAME).any():
            across = np.where(same, np.cos(angles)[:, None] - np.cos(angles), across)
            down = np.where(same, np.sin(angles)[:, None] - np.sin(angles), down)
        short = np.clip(apart - far, 0, None)
        if not (short > _CLOSE_ENOUGH).any():
            break
        push = short / 2 / np.maximum(np.sqrt(across * across + down * down), _SAME)
        x = np.clip(x + (push * across).sum(axis=1), _MARGIN, 1 - _MARGIN)
        y = np.clip(y + (push * down).sum(axis=1), _MARGIN, 1 - _MARGIN)
    return np.stack([x, y], axis=1)


def _apart(places: Reals) -> Reals:
    x, y = places.T
    across, down = x[:, None] - x, y[:, None] - y
    return np.asarray(np.sqrt(across * across + down * down), np.float64)


def _turned(places: Reals) -> Reals:
    """Places around their middle, the longest way from left to right."""
    x, y = (places - places.mean(axis=0)).T
    angle = 0.5 * np.arctan2(2 * (x * y).sum(), (x * x).sum() - (y * y).sum())
    across = x * np.cos(angle) + y * np.sin(angle)
    down = y * np.cos(angle) - x * np.sin(angle)
    return np.stack([across, down], axis=1)


def _in_square(places: Reals) -> Reals:
    """Places within the unit square, both ways as wide as they are: a picture may be stretched."""
    low, high = places.min(axis=0), places.max(axis=0)
    flat = high - low < 1e-9
    even = np.where(flat, 0.5, (places - low) / np.where(flat, 1, high - low))
    inside: Reals = _MARGIN + even * (1 - 2 * _MARGIN)
    return inside
