"""Measures of binary relevance in a ranking: precision, recall, bpref, average precision, AUC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.base import FLOOR, CutoffKind, Measure, ratio
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats


class P(Measure):
    """Precision: the share of the first k documents that are relevant.

    Divided by k even if fewer documents were retrieved, as in trec_eval (``P``).
    """

    CITATION = "van Rijsbergen, Information Retrieval, 1979"
    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        return self.hits(rankings) / self.depth


class RelativeP(Measure):
    """Precision divided by the best possible with k documents: found / min(k, R).

    trec_eval: ``relative_P``.
    """

    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        best = np.minimum(rankings.judged(self.rel), self.depth)
        return ratio(self.hits(rankings), best)


class R(Measure):
    """Recall: the share of the relevant documents that are among the first k.

    Without relevant documents it is 0.
    """

    CITATION = "van Rijsbergen, Information Retrieval, 1979"
    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        return ratio(self.hits(rankings), rankings.judged(self.rel))


class Rprec(Measure):
    """Precision at rank R, the number of relevant documents of the query (where recall is equal).

    Without relevant documents it is 0.
    """

    CITATION = "Buckley & Voorhees, Retrieval system evaluation, in TREC, MIT 2005"

    def score(self, rankings: Rankings) -> Floats:
        known = rankings.judged(self.rel)
        within = rankings.rank <= known[rankings.query]
        return ratio(rankings.count(self.relevant(rankings) & within), known)


class RprecMult(Measure):
    """Precision at a multiple of R: after ⌊x · R + 0.9⌋ documents, for ``RprecMult@x``.

    trec_eval: ``Rprec_mult``.
    """

    CUTOFF = "multiple"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        assert isinstance(self.cutoff, int | float)
        last = np.floor(self.cutoff * rankings.judged(self.rel) + 0.9)
        within = rankings.rank <= last[rankings.query]
        return ratio(rankings.count(self.relevant(rankings) & within), last)


class RR(Measure):
    """Reciprocal rank: one over the rank of the first relevant document.

    It is 0 without a relevant document within the cut-off.
    """

    CITATION = "Kantor & Voorhees, The TREC-5 confusion track, Inf. Retr. 2, 2000"
    CUTOFF = "rank"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        first = relevant & (rankings.so_far(relevant) == 1) & self.above_cutoff(rankings)
        return rankings.total(first / rankings.rank)


class Success(Measure):
    """1 if a relevant document is among the first k, else 0."""

    CITATION = "Tomlinson, Sampling precision to depth 9000, TREC 2006"
    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        return (self.hits(rankings) > 0).astype(float)


# --- judged and unjudged documents --------------------------------------------------------


class Judged(Measure):
    """The share of the first k retrieved documents that have a judgement, relevant or not.

    If fewer than k were retrieved, it is the share of all retrieved documents.
    """

    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        judged = rankings.count((rankings.relevance >= 0) & self.above_cutoff(rankings))
        return ratio(judged, np.minimum(rankings.retrieved, self.depth).astype(np.float64))


class Unjudged(Measure):
    """The share of the first k documents without a judgement.

    Divided by k even if fewer documents were retrieved, as in trec_eval 10 (``unj``).
    """

    CUTOFF = "rank"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        judged = rankings.count((rankings.relevance >= 0) & self.above_cutoff(rankings))
        return np.asarray((np.minimum(rankings.retrieved, self.depth) - judged) / self.depth)


class Bpref(Measure):
    """How rarely documents judged not relevant rank above relevant ones; unjudged ones are ignored.

    bpref = 1/R · Σ (1 − min(n above d, R) / min(N, R)) over the relevant documents d retrieved,
    where N documents are judged not relevant, and "n above d" of them rank above d.
    """

    CITATION = "Buckley & Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        known = rankings.judged(self.rel)
        refused = rankings.judged(0) - known
        bound = np.minimum(known, refused)[rankings.query]
        above = rankings.so_far((rankings.relevance >= 0) & ~relevant)
        blame = ratio(np.minimum(above, known[rankings.query]), bound)
        return ratio(rankings.total(relevant * (1.0 - blame)), known)


class GMBpref(Bpref):
    """The geometric mean of Bpref over queries, at least 0.00001 each. trec_eval: ``gm_bpref``."""

    SUMMARY = "geometric mean"

    def score(self, rankings: Rankings) -> Floats:
        return np.maximum(super().score(rankings), FLOOR)


# --- average precision --------------------------------------------------------------------


class AP(Measure):
    """Average precision: the mean precision at the ranks of the relevant documents.

    AP = 1/R · Σ P@rank(d) over the relevant documents d retrieved (within the cut-off); those
    not retrieved count 0. Without relevant documents AP is 0. trec_eval: ``map``, ``map_cut``.
    """

    CITATION = "Harman, Evaluation issues in information retrieval, IP&M 28(4), 1992"
    CUTOFF: ClassVar[CutoffKind] = "rank or R"

    def score(self, rankings: Rankings) -> Floats:
        return ratio(self.precisions(rankings), rankings.judged(self.rel))

    def precisions(self, rankings: Rankings) -> Floats:
        """The sum of the precisions at the ranks of the relevant documents."""
        relevant = self.relevant(rankings)
        place = rankings.so_far(relevant)
        counts = relevant & self.above_cutoff(rankings)
        return rankings.total(counts * place / rankings.rank)


class YAAP(AP):
    """Average precision on an unbounded scale, for statistics: log((1 + S) / (1 + R − S)).

    S is the sum of the precisions that AP averages. A query without relevant documents scores 0.
    trec_eval: ``yaap``.
    """

    CITATION = "Robertson, On smoothing average precision, ECIR 2012"
    CUTOFF = "none"
    RANGE = (float("-inf"), float("inf"))

    def score(self, rankings: Rankings) -> Floats:
        precisions, known = self.precisions(rankings), rankings.judged(self.rel)
        return np.log((1.0 + precisions) / (1.0 + known - precisions))


class GMAP(AP):
    """The geometric mean of average precision over queries, which emphasises hard queries.

    A query's value is its AP, or 0.00001 if that is higher, as in trec_eval (``gm_map``), so that
    one zero does not make the mean zero.
    """

    CITATION = "Robertson, On GMAP: and other transformations, CIKM 2006"
    CUTOFF = "none"
    SUMMARY = "geometric mean"

    def score(self, rankings: Rankings) -> Floats:
        return np.maximum(super().score(rankings), FLOOR)


EPSILON = 1e-5


class infAP(Measure):
    """Average precision estimated from a judged sample of the pool.

    A grade below 0 marks a document that was in the pool and not sampled; a document without a
    grade was not in the pool. At a relevant document of rank k, ``in`` documents above it were
    in the pool, of them ``r`` judged relevant and ``n`` not. The expected precision
    there is 1/k + (in/k) · (r + ε) / (r + n + 2ε), ε = 0.00001.
    """

    CITATION = "Yilmaz & Aslam, Estimating average precision, CIKM 2006"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        good = rankings.so_far(relevant) - relevant
        bad = rankings.so_far((rankings.relevance >= 0) & ~relevant)
        pooled = rankings.so_far(np.ones(len(relevant), bool)) - 1
        share = (good + EPSILON) / (good + bad + 2 * EPSILON)
        expected = (1.0 + pooled * share) / rankings.rank
        return ratio(rankings.total(relevant * expected), rankings.judged(self.rel))


# --- interpolated precision ---------------------------------------------------------------


LEVELS = tuple(level / 10 for level in range(11))
ROUNDING = {"up": 0.9, "nearest": 0.5}


@dataclass(frozen=True, kw_only=True)
class _Interpolated(Measure):
    """Precision at recall levels; ``round`` sets how a level becomes a number of documents."""

    round: str = "up"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.round not in ROUNDING:
            raise UnknownName(f"rounding of {self.NAME}", self.round, ROUNDING)

    def needed(self, rankings: Rankings, level: float) -> Floats:
        """Return the number of relevant documents that a recall level needs, per query."""
        return np.floor(level * rankings.judged(self.rel) + ROUNDING[self.round])

    def at_level(self, rankings: Rankings, level: float) -> Floats:
        """Return the highest precision at any rank with at least this recall."""
        relevant = self.relevant(rankings)
        place = rankings.so_far(relevant)
        wanted = self.needed(rankings, level)
        rows = np.flatnonzero(relevant & (place >= wanted[rankings.query]))
        best = np.zeros(rankings.queries)
        np.maximum.at(best, rankings.query[rows], place[rows] / rankings.rank[rows])
        return best


@dataclass(frozen=True, kw_only=True)
class IPrec(_Interpolated):
    """Interpolated precision: the highest precision at any rank with at least the given recall.

    The level in documents is ⌊level · R + 0.9⌋, as trec_eval 9 rounds it (``iprec_at_recall``);
    ``round='nearest'`` rounds to the nearest number, halves up, as in trec_eval 10.
    """

    CITATION = "Buckley & Voorhees, Retrieval system evaluation, in TREC, MIT 2005"
    CUTOFF = "recall"
    NEEDS_CUTOFF = True

    def score(self, rankings: Rankings) -> Floats:
        assert isinstance(self.cutoff, int | float)
        return self.at_level(rankings, float(self.cutoff))


@dataclass(frozen=True, kw_only=True)
class ElevenPoint(_Interpolated):
    """The mean of the interpolated precisions at recall 0, 0.1 … 1, or at ``levels``.

    trec_eval: ``11pt_avg``.
    """

    levels: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at()

    def at(self) -> tuple[float, ...]:
        """The recall levels."""
        try:
            levels = (
                tuple(float(level) for level in self.levels.split(",")) if self.levels else LEVELS
            )
        except ValueError:
            levels = (-1.0,)
        if not all(0 <= level <= 1 for level in levels):
            raise CitebedError(
                f"ElevenPoint: levels='{self.levels}' are not recall levels from 0 to 1. "
                "Write them as levels='0.2,0.5,0.8'."
            )
        return levels

    def score(self, rankings: Rankings) -> Floats:
        levels = [self.at_level(rankings, level) for level in sorted(self.at())]
        return np.asarray(np.cumsum(levels, axis=0)[-1] / len(levels))


# --- the ROC curve ------------------------------------------------------------------------


class AUC(Measure):
    """How often a relevant document ranks above a retrieved document that is not relevant.

    Ties count half. Unjudged documents are not relevant. Relevant documents that were not
    retrieved rank below all retrieved ones. If only relevant documents were retrieved, AUC is
    the share of relevant documents retrieved.
    """

    CITATION = "Hanley & McNeil, The meaning and use of the area under a ROC curve, 1982"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        hits = rankings.count(relevant)
        others = rankings.retrieved - hits
        right = rankings.total(relevant * self._below(rankings, others))
        known = rankings.judged(self.rel)
        return np.where(others > 0, ratio(right, known * others), ratio(hits, known))

    def _below(self, rankings: Rankings, others: Floats) -> Floats:
        """Count, per row, non-relevant documents with a lower score; equal scores count half."""
        relevant = self.relevant(rankings).astype(np.float64)
        group = np.cumsum(rankings.new_tie) - 1
        in_tie = np.bincount(group, relevant, len(relevant))[group]
        earlier = rankings.so_far(relevant > 0) - relevant
        above = (rankings.tie_first - 1) - earlier[rankings.new_tie][group]
        tied = rankings.tie_size - in_tie
        return np.asarray(others[rankings.query] - above - tied / 2)


@dataclass(frozen=True, kw_only=True)
class RescaledAUC(AUC):
    """AUC on the scale from −1 to 1: 2·AUC − 1, so that a random order scores 0.

    If nothing was retrieved, it is ``empty``: −1, because AUC is 0 there. With ``empty=0``,
    returning nothing is worth as much as a random order, and more than one wrong document.
    """

    CITATION = (
        "Dietz, Dalton & Balog, Time-aware Evaluation of Cumulative Citation Recommendation "
        "Systems, 2013, section 4.4; the paper does not say what an empty list scores"
    )
    RANGE: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    empty: float = -1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not -1 <= self.empty <= 1:
            raise CitebedError(f"{self.NAME}: empty={self.empty:g} is not from -1 to 1.")

    def score(self, rankings: Rankings) -> Floats:
        return np.where(rankings.retrieved > 0, 2 * super().score(rankings) - 1, self.empty)
