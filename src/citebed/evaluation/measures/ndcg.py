"""Gains of grades, nDCG, and trec_eval's experimental relatives of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.rankings import Rankings, running
from citebed.runs.tables import Floats, Ints

KINDS = ("log2", "exp-log2")
_PAIR = re.compile(r"\s*([0-9]{1,9})=([^,]+)")


def parse_gains(owner: str, text: str) -> dict[int, float]:
    """Parse gains such as ``1=3.5,2=9``; of a grade named twice, the last gain counts."""
    gains = {}
    for part in text.split(",") if text else ():
        pair = _PAIR.fullmatch(part)
        try:
            gain = float(pair[2]) if pair else math.nan
        except ValueError:
            gain = math.nan
        if pair is None or not math.isfinite(gain):
            raise CitebedError(
                f"{owner}: cannot read the gain '{part}'. Write grade=gain, as in gains='1=3,2=9'; "
                "a grade is a whole number from 0, a gain a number."
            )
        gains[int(pair[1])] = gain
    return gains


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains of the retrieved documents and of the ideal rankings.

    ``retrieved`` has one gain per row of the rankings. ``ideal`` has the gains of all judgements,
    each query's best first; negative gains are 0, since an ideal ranking omits these documents.
    """

    rankings: Rankings
    retrieved: Floats
    ideal: Floats

    @cached_property
    def positive(self) -> Floats:
        """The number of documents with a gain above 0, per query."""
        return self.by_query((self.ideal > 0).astype(np.float64))

    def by_query(self, amounts: Floats) -> Floats:
        """Sum amounts, one per row of the ideal rankings, within each query."""
        rankings = self.rankings
        return np.bincount(rankings.judged_query, amounts, rankings.queries).astype(np.float64)

    def ideal_at(self, amounts: Floats, query: Ints, rank: Ints) -> Floats:
        """Return the running sums of amounts along ideal rankings, at given queries and ranks."""
        rankings = self.rankings
        sums = running(rankings.judged_query, rankings.ideal_place, amounts, rankings.queries)
        starts = np.searchsorted(rankings.judged_query, np.arange(rankings.queries + 1))
        last = np.minimum(starts[query] + rank, starts[query + 1]) - 1
        return np.asarray(np.where(rank > 0, sums[last], 0.0))


def _gain(grades: Ints, rel: int, own: Mapping[int, float]) -> Floats:
    gains = np.where(grades >= max(rel, 1), grades, 0).astype(np.float64)
    for grade, gain in own.items():
        gains[grades == grade] = gain
    return gains


@dataclass(frozen=True, kw_only=True)
class GainMeasure(Measure):
    """Base class of measures of gains; ``gains`` overrides the gains of grades."""

    gains: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_gains(self.NAME, self.gains)

    def gained(self, rankings: Rankings) -> Gains:
        """Return the gains of rankings and of the ideal rankings."""
        own = parse_gains(self.NAME, self.gains)
        retrieved = _gain(rankings.relevance, self.rel, own)
        ideal = np.maximum(_gain(rankings.judged_relevance, self.rel, own), 0.0)
        if own:
            ideal = ideal[np.lexsort((-ideal, rankings.judged_query))]
        return Gains(rankings, retrieved, ideal)


@dataclass(frozen=True, kw_only=True)
class nDCG(GainMeasure):
    """Discounted cumulative gain, divided by the ideal ranking's.

    DCG = Σ gain(d) / log2(rank(d) + 1); the ideal ranks all judged documents of the query by
    grade. A document's gain is its grade, as in trec_eval (``ndcg``, ``ndcg_cut``), or
    2^grade − 1 with ``dcg='exp-log2'`` (Burges et al. 2005). Grades below ``rel`` gain nothing.
    ``gains='1=3,2=9'`` sets your own gain for each grade; the ideal ranking uses them too.
    ``@R`` cuts off at the number of relevant documents of each query. If the ideal is 0, nDCG
    is 0.
    """

    CITATION = "Järvelin & Kekäläinen, Cumulated gain-based evaluation, TOIS 20, 2002"
    CUTOFF = "rank or R"

    dcg: str = "log2"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dcg not in KINDS:
            raise UnknownName("nDCG's dcg", self.dcg, KINDS)
        if self.gains and self.dcg != "log2":
            raise CitebedError(
                f"nDCG: gains='{self.gains}' and dcg='{self.dcg}' exclude each other."
            )

    def score(self, rankings: Rankings) -> Floats:
        gained = self.gained(rankings)
        gains, ideal = gained.retrieved, gained.ideal
        place, query = rankings.ideal_place, rankings.judged_query
        if self.dcg == "exp-log2":
            # 2^grade - 1 over 2^(the query's highest): the ratio stays, and no grade is too high.
            highest = np.maximum(rankings.judged_relevance[place == 1], 0.0)
            gains, ideal = (
                np.exp2(grades - highest[of]) - np.exp2(-highest[of])
                for grades, of in ((gains, rankings.query), (ideal, query))
            )
        gains = self.above_cutoff(rankings) * gains / np.log2(rankings.rank + 1.0)
        ideal = ideal / np.log2(place + 1.0)
        if self.cutoff is not None:
            last = rankings.judged(self.rel)[query] if self.cutoff == "R" else self.cutoff
            ideal = ideal * (place <= last)
        best = np.bincount(query, ideal, rankings.queries).astype(np.float64)
        return ratio(rankings.total(gains), best)


def _discounted(gained: Gains) -> tuple[Floats, Floats]:
    """Return gains over log2(rank + 1), of the retrieved documents and of the ideal ranking."""
    rankings = gained.rankings
    return (
        gained.retrieved / np.log2(rankings.rank + 1.0),
        gained.ideal / np.log2(rankings.ideal_place + 1.0),
    )


@dataclass(frozen=True, kw_only=True)
class nDCGRel(GainMeasure):
    """The mean nDCG over the ranks of the documents with a gain.

    A document that was not retrieved counts with the nDCG at the end of the ranking. trec_eval:
    ``ndcg_rel``.
    """

    CITATION = "Buckley, trec_eval 9.0, 2008 (experimental)"

    def score(self, rankings: Rankings) -> Floats:
        gained = self.gained(rankings)
        gains, ideal = _discounted(gained)
        reached = running(rankings.query, rankings.places, gains, rankings.queries)
        best = gained.ideal_at(ideal, rankings.query, rankings.rank)
        counts = gained.retrieved > 0
        shown = rankings.total(counts * ratio(reached, best))
        missed = gained.positive - rankings.count(counts)
        end = ratio(rankings.total(gains), gained.by_query(ideal))
        return ratio(shown + missed * end, gained.positive)


@dataclass(frozen=True, kw_only=True)
class RnDCG(GainMeasure):
    """The mean nDCG over the ranks after which the gain of the ideal ranking drops.

    With 5 documents of grade 2 and 3 of grade 1 these are ranks 5 and 8. The end of
    the ranking is one more, if it is two or more ranks further down. trec_eval: ``Rndcg``.
    """

    CITATION = "Buckley, trec_eval 9.0, 2008 (experimental)"

    def score(self, rankings: Rankings) -> Floats:
        gained = self.gained(rankings)
        gains, ideal = _discounted(gained)
        total, steps = np.zeros(rankings.queries), np.zeros(rankings.queries)
        # The queries with the ranks after which their ideal gain drops.
        judged, best = rankings.judged_query, gained.ideal
        following = np.append(np.where(judged[1:] == judged[:-1], best[1:], 0.0), 0.0)
        drops = np.flatnonzero((best > 0) & (best != following[: len(best)]))
        query, step = judged[drops], rankings.ideal_place[drops]
        for at in np.unique(step):
            some = query[step == at]
            within = rankings.total(gains * (rankings.rank <= at))
            total[some] += ratio(within[some], gained.ideal_at(ideal, some, np.full(len(some), at)))
            steps[some] += 1
        further = (rankings.retrieved > gained.positive + 1) & (gained.positive > 0)
        total += further * ratio(rankings.total(gains), gained.by_query(ideal))
        return ratio(total, steps + further)


@dataclass(frozen=True, kw_only=True)
class G(GainMeasure):
    """Gain discounted by how far the ideal ranking is ahead, divided by all gains.

    G = Σ gain(d) / log2(2 + ideal − reached), where the ideal ranking and this one have
    accumulated these gains at the rank of d. After its last gain, the ideal grows by 1 per rank.
    trec_eval: ``G``.
    """

    CITATION = "Buckley, trec_eval 9.0, 2008 (experimental)"

    def score(self, rankings: Rankings) -> Floats:
        gained = self.gained(rankings)
        reached = running(rankings.query, rankings.places, gained.retrieved, rankings.queries)
        best = gained.ideal_at(gained.ideal, rankings.query, rankings.rank)
        best += np.maximum(rankings.rank - gained.positive[rankings.query], 0.0)
        behind = np.log2(2.0 + best - reached)
        return ratio(rankings.total(gained.retrieved / behind), gained.by_query(gained.ideal))


class BinG(Measure):
    """The mean of 1 / log2(2 + non-relevant documents above) over all relevant documents.

    trec_eval: ``binG``.
    """

    CITATION = "Buckley, trec_eval 9.0, 2008 (experimental)"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        above = rankings.rank - rankings.so_far(relevant)
        gains = relevant / np.log2(2.0 + np.where(relevant, above, 0))
        return ratio(rankings.total(gains), rankings.judged(self.rel))
