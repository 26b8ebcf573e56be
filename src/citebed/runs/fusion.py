"""Fuse several runs into one, by scores or by ranks.

Scores are first normalised per query; then each document's scores, or ranks, are combined. The
result has every document of every run, in rank order. A query that a run lacks adds nothing.

If a run did not retrieve a document, sums (``combsum``, ``combmnz``, ``interpolate``) count 0, or
the run's lowest normalised score if that is below 0, so that the document never gains on one that
was retrieved. ``combmin``, ``combmax`` and ``combmed`` use only the runs that retrieved it.

``Fusion(method="interpolate", normalise="max")`` is ACM-CR's ``BM25 + SciBERT`` (Boudin 2021): each
BM25 score of a query's 20 documents is divided by the highest one, and so is each cosine; then the
halves of both are added. The code that the paper links to does this; the paper does not mention it.
A best score below 0 (log probabilities) would reverse the order, so its absolute value is used; if
it is 0, the absolute value of the lowest score is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.runs.ranking import Pairs, distinct, in_rank_order, number_pairs
from citebed.runs.reader import as_run
from citebed.runs.tables import Floats, Ints, Run
from citebed.wording import count

# --- one scale --------------------------------------------------------------------------------


class _Ranking(NamedTuple):
    """A run in rank order: scores, ranks from 1, and the first row of each query.

    Sums follow the ranking, so that they do not depend on the order of the run's rows.
    """

    scores: Floats
    ranks: Floats
    starts: Ints

    @property
    def sizes(self) -> Ints:
        """The number of documents of each query."""
        return np.diff(np.append(self.starts, len(self.scores)))

    def expand(self, per_query: Floats) -> Floats:
        """Repeat each query's value for all of its rows."""
        return np.repeat(per_query, self.sizes)

    def total(self, values: Floats) -> Floats:
        """Return the sum over each query's rows, for every row."""
        return self.expand(np.add.reduceat(values, self.starts))

    def lowest(self) -> Floats:
        """Return the lowest score of each query, for every row."""
        return self.expand(np.minimum.reduceat(self.scores, self.starts))

    def best(self) -> Floats:
        """Return the best score of each query, for every row."""
        return self.expand(np.maximum.reduceat(self.scores, self.starts))


def _share(above: Floats, below: Floats, otherwise: float | Floats) -> Floats:
    """Divide; use ``otherwise`` if the divisor is not above 0."""
    safe = np.where(below > 0, below, 1.0)
    return np.where(below > 0, above / safe, otherwise)


def _of_best(run: _Ranking) -> Floats:
    best, lowest = run.best(), run.lowest()
    return _share(run.scores, np.where(best != 0, np.abs(best), np.abs(lowest)), 0.0)


def _min_max(run: _Ranking) -> Floats:
    lowest = run.lowest()
    return _share(run.scores - lowest, run.best() - lowest, 1.0)


def _z_score(run: _Ranking) -> Floats:
    size = run.expand(run.sizes.astype(np.float64))
    centred = run.scores - run.total(run.scores) / size
    spread = np.sqrt(run.total(centred**2) / size)
    return np.where(run.best() > run.lowest(), _share(centred, spread, 0.0), 0.0)


def _sum_to_one(run: _Ranking) -> Floats:
    above = run.scores - run.lowest()
    return _share(above, run.total(above), 1.0 / run.expand(run.sizes.astype(np.float64)))


NORMALISATIONS: dict[str, tuple[str, Callable[[_Ranking], Floats]]] = {
    "minmax": ("from 0, the lowest score, to 1, the best; 1 if all are equal", _min_max),
    "zscore": ("mean 0, population standard deviation 1; 0 if all are equal", _z_score),
    "sum": ("the lowest score to 0, then divided so that they add up to 1", _sum_to_one),
    "rank": (
        "1 − (rank − 1) / number of documents",
        lambda run: 1.0 - (run.ranks - 1) / run.expand(run.sizes.astype(np.float64)),
    ),
    "max": ("divided by the size of the best score", _of_best),
    "none": ("as they are", lambda run: run.scores),
}


# --- combining --------------------------------------------------------------------------------


class _Columns(NamedTuple):
    """Arrays with one row per query and document and one column per run; NaN for missing ones.

    ``worst`` is the score of a missing document; ``ranks`` start at 1. ``depth`` is the number of
    documents that the run has for the query; ``candidates`` counts them over all runs. ``k0`` is
    the constant of reciprocal rank fusion.
    """

    scores: Floats
    ranks: Floats
    worst: Floats
    depth: Floats
    candidates: Floats
    weights: Floats
    k0: float

    @property
    def runs_with_it(self) -> Floats:
        """The number of runs that have the document."""
        return np.asarray((~np.isnan(self.ranks)).sum(axis=1), np.float64)


def _sum(parts: Floats) -> Floats:
    # Add from small to large, so that the sum does not depend on the order of the runs. Otherwise
    # rounding errors would decide the order of documents with equal scores.
    return np.asarray(np.sort(parts, axis=1).sum(axis=1))


def _comb_sum(columns: _Columns) -> Floats:
    filled = np.where(np.isnan(columns.scores), columns.worst, columns.scores)
    return _sum(filled * columns.weights)


def _borda(columns: _Columns) -> Floats:
    points = columns.candidates[:, None] - columns.ranks + 1
    shared = (columns.candidates[:, None] - columns.depth + 1) / 2
    shares = np.where(np.isnan(points), np.where(columns.depth > 0, shared, 0.0), points)
    return _sum(shares * columns.weights)


class Method(NamedTuple):
    """A fusion method: its description, whether it uses scores (or ranks), and weights."""

    what: str
    combine: Callable[[_Columns], Any]
    by_score: bool = True
    weighs: bool = True


METHODS: dict[str, Method] = {
    "rrf": Method(
        "Σ 1/(k0 + rank) (Cormack, Clarke & Büttcher 2009)",
        lambda c: _sum(np.nan_to_num(c.weights / (c.k0 + c.ranks))),
        by_score=False,
    ),
    "combsum": Method("the sum of scores (Fox & Shaw 1994)", _comb_sum),
    "combmnz": Method(
        "the sum times the number of runs that have it (Fox & Shaw 1994)",
        lambda c: _comb_sum(c) * c.runs_with_it,
    ),
    "combmed": Method(
        "the median score (Fox & Shaw 1994)", lambda c: np.nanmedian(c.scores, axis=1), weighs=False
    ),
    "combmin": Method(
        "the lowest score (Fox & Shaw 1994)", lambda c: np.nanmin(c.scores, axis=1), weighs=False
    ),
    "combmax": Method(
        "the best score (Fox & Shaw 1994)", lambda c: np.nanmax(c.scores, axis=1), weighs=False
    ),
    "isr": Method(
        "Σ 1/rank² times the number of runs that have it (Mourão, Martins & Magalhães 2015)",
        lambda c: _sum(np.nan_to_num(c.weights / c.ranks**2)) * c.runs_with_it,
        by_score=False,
    ),
    "borda": Method(
        "of c candidates the first gets c points, the next c − 1 …; those a run lacks share "
        "what is left (Aslam & Montague 2001)",
        _borda,
        by_score=False,
    ),
    "interpolate": Method("the sum of scores by weights, 1/n each unless given", _comb_sum),
}


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """Options of a fusion.

    ``normalise`` applies to methods that use scores (default ``minmax``); ``weights``, one per run,
    to methods that add up. ``depth`` limits the documents per query. ``k0`` is the constant of
    reciprocal rank fusion.
    """

    method: str = "rrf"
    normalise: str | None = None
    weights: tuple[float, ...] | None = None
    depth: int | None = None
    k0: float = 60.0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownName("method of fusion", self.method, METHODS)
        if self.normalise is not None:
            if self.normalise not in NORMALISATIONS:
                raise UnknownName("normalisation", self.normalise, NORMALISATIONS)
            if not METHODS[self.method].by_score:
                raise CitebedError(f"{self.method} reads ranks; leave out the normalisation.")
        if self.weights is not None:
            if not METHODS[self.method].weighs:
                raise CitebedError(f"{self.method} does not add scores; leave out the weights.")
            if not all(math.isfinite(weight) and weight >= 0 for weight in self.weights):
                raise CitebedError(
                    f"weights are finite and not below 0; found {list(self.weights)}."
                )
            if not any(self.weights):
                raise CitebedError(
                    "all weights are 0, so no run would count. Give one more than 0."
                )
        if self.depth is not None and self.depth < 1:
            raise CitebedError(f"the depth {self.depth} is not a rank from 1.")
        if not (math.isfinite(self.k0) and self.k0 >= 0):
            raise CitebedError(f"k0 is a number not below 0 (60 in the paper), not {self.k0}.")

    @property
    def scale(self) -> str | None:
        """The normalisation in use, or ``None`` if the method uses ranks."""
        return (self.normalise or "minmax") if METHODS[self.method].by_score else None

    def weights_of(self, runs: int) -> Floats:
        """Return one weight per run."""
        if self.weights is None:
            return np.full(runs, 1.0 / runs if self.method == "interpolate" else 1.0)
        if len(self.weights) != runs:
            raise CitebedError(
                f"found {count(len(self.weights), 'weight')} for {count(runs, 'run')}; "
                "give one per run."
            )
        return np.array(self.weights, np.float64)

    def __str__(self) -> str:
        weights = None if self.weights is None else ",".join(f"{x:g}" for x in self.weights)
        constant = f"k0={self.k0:g}" if self.method == "rrf" else None
        return f"{self.method}({'; '.join(filter(None, (self.scale, weights, constant)))})"


def fuse(runs: Sequence[Any], how: Fusion | str = "rrf", name: str = "fused") -> Run:
    """Fuse runs (or tables, or files) into one in rank order, queries ascending.

    ``how`` may be the name of a method.
    """
    if not runs:
        raise CitebedError("found no run to fuse.")
    how = Fusion(method=how) if isinstance(how, str) else how
    how.weights_of(len(runs))  # raises an error before the runs are read
    tables = [in_rank_order(as_run(run, f"run{at}")) for at, run in enumerate(runs, 1)]
    pairs = number_pairs(*tables)
    every = distinct(np.concatenate(pairs.keys))
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        columns = _side_by_side(tables, pairs, every, how)
        score = np.asarray(METHODS[how.method].combine(columns))
    if not np.isfinite(score).all():
        raise CitebedError(
            "the scores are too large: their sums overflow. Fuse ranks instead, for example with "
            "the method rrf."
        )
    # The greater the number of a pair, the greater its document's id.
    order = np.lexsort((-every, -score, pairs.queries(every)))
    fused = pairs.table(every[order]).with_columns(pl.Series("score", score[order]))
    if how.depth is not None:
        query = pairs.queries(every)  # ascending, so the order within stays this side of it
        place = np.arange(len(every)) - np.searchsorted(query, query)
        fused = fused.filter(pl.Series(place < how.depth))
    return Run(fused, name)


def _side_by_side(
    tables: Sequence[pl.DataFrame], pairs: Pairs, every: Ints, how: Fusion
) -> _Columns:
    """Collect each run's scores and ranks for every pair of query and document."""
    shape, query = (len(every), len(tables)), pairs.queries(every)
    scores, ranks = np.full(shape, np.nan), np.full(shape, np.nan)
    worst, depth = (np.zeros((len(pairs.query_ids), len(tables))) for _ in range(2))
    for at, (table, keys) in enumerate(zip(tables, pairs.keys, strict=True)):
        if not len(keys):
            continue
        place = table["rank"].to_numpy()
        run = _Ranking(
            table["score"].to_numpy(), place.astype(np.float64), np.flatnonzero(place == 1)
        )
        scaled = NORMALISATIONS[how.scale or "none"][1](run)
        row, there = np.searchsorted(every, keys), pairs.queries(keys[run.starts])
        scores[row, at], ranks[row, at] = scaled, run.ranks
        worst[there, at] = np.minimum(np.minimum.reduceat(scaled, run.starts), 0.0)
        depth[there, at] = run.sizes
    candidates = np.bincount(query, minlength=len(pairs.query_ids)).astype(np.float64)
    weights = how.weights_of(len(tables))
    missing = (worst[query], depth[query], candidates[query])
    return _Columns(scores, ranks, *missing, weights, how.k0)
