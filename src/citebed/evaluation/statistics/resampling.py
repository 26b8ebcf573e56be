"""Resampling for tests and intervals: resampled sums, flipped signs, shuffled rows.

All functions work in blocks, so that memory is bounded for any number of samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.evaluation.statistics.units import Floats, Units

# Numbers in memory at a time, for drawing, weighting and shuffling or flipping. Blocks of this size
# fit into the cache and into memory that the process already has; larger ones are slower.
_DRAWING, _WEIGHTING, _SHUFFLING = 1 << 14, 1 << 17, 1 << 16
_MOST_SAMPLES = 10_000_000
_Real = TypeVar("_Real", np.float32, np.float64)
_DRAWN = 500  # up to this many units are drawn one by one; more get independent weights
# Weights 0 to 5 of 256 equally likely bytes: Poisson(1) to two decimals, with its mean of 1 and
# variance of 1 exactly.
_POISSON = np.repeat(np.arange(6, dtype=np.float32), [95, 92, 49, 15, 4, 1])


def check_samples(samples: int) -> None:
    """Raise an error unless the number of samples is in the allowed range."""
    if not 1 <= samples <= _MOST_SAMPLES:
        raise CitebedError(
            f"found samples={samples}, expected 1 to {_MOST_SAMPLES:,} (10,000 is usual)"
        )


def resampled_sums(columns: Floats, samples: int, seed: int) -> Floats:
    """Sum each column over units drawn with replacement; return one row per sample.

    All columns of a sample use the same units. More than 500 units are not drawn one by one, but
    each gets an independent weight with mean and variance 1. For that many units this is
    equivalent (Chamandy et al. 2012, Estimating Uncertainty for Massive Data Streams) and several
    times as fast. The caller divides by the resampled size in both cases.
    """
    check_samples(samples)
    rng = np.random.default_rng(seed)
    sums = np.empty((samples, columns.shape[1]))
    n = len(columns)
    if n <= _DRAWN:
        for start, stop in blocks(samples, n, _DRAWING):
            sums[start:stop] = thin_product(draw_counts(rng, stop - start, n), columns)
        return sums
    narrow = columns.astype(np.float32)
    for start, stop in blocks(samples, n, _WEIGHTING):
        chosen = rng.integers(0, 256, size=(stop - start, n), dtype=np.uint8)
        sums[start:stop] = thin_product(np.take(_POISSON, chosen), narrow)
    return sums


def draw_counts(rng: np.random.Generator, rows: int, units: int) -> Floats:
    """Draw samples with replacement, and return how often each one has each unit."""
    chosen = rng.integers(0, units, size=(rows, units))
    chosen += np.arange(0, rows * units, units)[:, None]
    counts = np.bincount(chosen.ravel(), minlength=rows * units)
    return counts.reshape(rows, units).astype(np.float64)


def thin_product(weights: NDArray[_Real], columns: NDArray[_Real]) -> Floats:
    """Compute a matrix product in pieces too small for multithreading.

    Threads do not help with products this thin, and on a busy machine they wait for each other,
    which can take fifty times as long.
    """
    product = np.empty((len(weights), columns.shape[1]))
    for left in range(0, columns.shape[1], 16):
        piece = np.ascontiguousarray(columns[:, left : left + 16])
        step = max(14, (1 << 18) // piece.size)
        for top in range(0, len(weights), step):
            rows = slice(top, top + step)
            product[rows, left : left + 16] = weights[rows] @ piece
    return product


def blocks(samples: int, width: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of samples of ``width`` numbers each, with about ``size`` numbers per range."""
    step = max(8, size // max(1, width))
    for start in range(0, samples, step):
        yield start, min(samples, start + step)


class Resampled(NamedTuple):
    """Resampled means, one row per sample and one column per measure.

    ``shifts`` are the resampled means minus the mean. ``ratios`` are the shifts divided by their
    own standard errors: 0 without a shift, infinite for a shift in a sample without spread.
    """

    shifts: Floats
    ratios: Floats


def resample(units: Units, samples: int, seed: int) -> Resampled:
    """Resample whole units; means are over the queries in the sample, whatever their number.

    With residuals e_g = S_g - n_g·m a resampled shift is d = Σe/Σn, and its variance by the
    formula of ``variance_of_means`` needs only the sums of e², e·n and n².
    """
    e, n = units.residuals, units.sizes[:, None]
    width = e.shape[1]
    columns = [e, e * e, n] if units.single else [e, e * e, n, e * n, n * n]
    sums = resampled_sums(np.hstack(columns), samples, seed)
    first, squares, size = np.split(sums[:, : 2 * width + 1], [width, 2 * width], axis=1)
    cross, sizes2 = (first, size) if units.single else (sums[:, 2 * width + 1 : -1], sums[:, -1:])
    shifts = first / size
    spread = squares - 2 * shifts * cross + shifts**2 * sizes2
    flat = spread <= 1e-5 * (squares + shifts**2 * sizes2)
    correction = units.n_units / (units.n_units - 1)
    errors = np.sqrt(correction * np.where(flat, 1.0, spread)) / size
    endless = np.where(shifts > 0, np.inf, np.where(shifts < 0, -np.inf, 0.0))
    return Resampled(shifts, np.where(flat, endless, shifts / errors))


# --- Signs ----------------------------------------------------------------------------------

_ENUMERATED = 16  # up to this many signs all 2^n are tried


def flip_signs(sums: Floats, samples: int, seed: int) -> tuple[float, str]:
    """Return the p-value of a sign-flip test, and a note.

    It is the share of flips whose total is at least as far from 0 as the observed one. Units of 0
    are left out. Up to 16 units, all 2^n flips are counted; above, ``samples`` random ones and the
    observed one, so that the p-value is never 0 (Phipson & Smyth 2010, Permutation P-values Should
    Never Be Zero).
    """
    check_samples(samples)
    moving = sums[sums != 0]
    # Mathematically equal sums may differ by rounding errors.
    bound = abs(float(moving.sum())) - 1e-10 * float(np.abs(moving).sum())
    if len(moving) <= _ENUMERATED:
        codes = np.arange(1 << len(moving))[:, None]
        signs = 1.0 - 2.0 * ((codes >> np.arange(len(moving))) & 1)
        return float(np.mean(np.abs(signs @ moving) >= bound)), "all flips counted"
    extreme = sum(int(np.sum(np.abs(t) >= bound)) for t in _flipped(moving, samples, seed))
    return (1 + extreme) / (1 + samples), f"{samples} random flips"


def _flipped(sums: Floats, samples: int, seed: int) -> Iterator[Floats]:
    """Yield totals with random signs, in blocks.

    A random byte decides eight signs at once: the 256 possible totals of every eight units are
    computed first, and a sample needs one look-up for eight units.
    """
    eights = np.zeros(-(-len(sums) // 8) * 8)
    eights[: len(sums)] = sums
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    totals = (eights.reshape(-1, 8) @ (1.0 - 2.0 * bits.T)).ravel()
    rng = np.random.default_rng(seed)
    places = np.arange(0, len(totals), 256)
    for start, stop in blocks(samples, len(places), _SHUFFLING):
        drawn = rng.integers(0, 256, size=(stop - start, len(places)), dtype=np.uint8)
        yield np.take(totals, drawn + places).sum(axis=1)


def shuffled_ranges(sums: Floats, samples: int, seed: int) -> Floats:
    """Return, per sample, the range of the column totals after shuffling every row."""
    check_samples(samples)
    rng = np.random.default_rng(seed)
    ranges = np.empty(samples)
    for start, stop in blocks(samples, sums.size, _SHUFFLING):
        shuffled = np.broadcast_to(sums, (stop - start, *sums.shape)).copy()
        rng.permuted(shuffled, axis=2, out=shuffled)
        ranges[start:stop] = np.ptp(shuffled.sum(axis=1), axis=1)
    return ranges
