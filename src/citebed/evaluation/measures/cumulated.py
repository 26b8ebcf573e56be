"""trec_eval's experimental relatives of nDCG."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.gains import Gainful, Gains
from citebed.evaluation.measures.rankings import Rankings, running
from citebed.runs.tables import Floats, Ints


def _discounted(gained: Gains) -> tuple[Floats, Floats]:
    """Gains over log2(rank + 1), of the retrieved documents and of the ideal ranking."""
    rankings = gained.rankings
    return (
        gained.found / np.log2(rankings.rank + 1.0),
        gained.ideal / np.log2(rankings.ideal_place + 1.0),
    )


@dataclass(frozen=True, kw_only=True)
class nDCGRel(Gainful):
    """nDCG at the rank of each document that has a gain, averaged over them.

    For one that was not retrieved it is the nDCG at the end of the ranking. trec_eval:
    ``ndcg_rel``.
    """

    CITATION = "Buckley, trec_eval 9.0, 2008 (experimental)"

    def score(self, rankings: Rankings) -> Floats:
        gained = self.gained(rankings)
        found, ideal = _discounted(gained)
        reached = running(rankings.query, rankings.places, found, rankings.queries)
        best = gained.ideal_at(ideal, rankings.query, rankings.rank)
        counts = gained.found > 0
        shown = rankings.total(counts * ratio(reached, best))
        missed = gained.positive - rankings.count(counts)
        end = ratio(rankings.total(found), gained.by_query(ideal))
        return ratio(shown + missed * end, gained.positive)


@dataclass(frozen=True, kw_only=True)
class RnDCG(Gainful):
    """nDCG averaged over the ranks at which the ideal ranking comes to a lower gain.

    With 5 documents of grade 2 and 3 of grade 1 these are the ranks 5 and 8; one more is the end
    of the ranking, where that is two or more ranks further on. trec_eval: ``Rndcg``.
    """

    CITATION = "Buckley, trec_eval 9.0, 2008 (experimental)"

    def score(self, rankings: Rankings) -> Floats:
        gained = self.gained(rankings)
        found, ideal = _discounted(gained)
        total, steps = np.zeros(rankings.queries), np.zeros(rankings.queries)
        query, step = self._steps(gained)
        for at in np.unique(step):
            some = query[step == at]
            within = rankings.total(found * (rankings.rank <= at))
            total[some] += ratio(within[some], gained.ideal_at(ideal, some, np.full(len(some), at)))
            steps[some] += 1
        further = (rankings.retrieved > gained.positive + 1) & (gained.positive > 0)
        total += further * ratio(rankings.total(found), gained.by_query(ideal))
        return ratio(total, steps + further)

    def _steps(self, gained: Gains) -> tuple[Ints, Ints]:
        """Queries, and how many documents stand before the gain goes down."""
        query, ideal = gained.rankings.judged_query, gained.ideal
        following = np.append(np.where(query[1:] == query[:-1], ideal[1:], 0.0), 0.0)
        last = np.flatnonzero((ideal > 0) & (ideal != following[: len(ideal)]))
        return query[last], gained.rankings.ideal_place[last]


@dataclass(frozen=True, kw_only=True)
class G(Gainful):
    """Gains discounted by how much better the ideal ranking has done so far, over all gains.

    G = Σ gain(d) / log2(2 + ideal − reached), with the gains that the ideal ranking and this one
    have cumulated at the rank of d; beyond its last gain the ideal goes on by 1 a rank.
    trec_eval: ``G``.
    """

    CITATION = "Buckley, trec_eval 9.0, 2008 (experimental)"

    def score(self, rankings: Rankings) -> Floats:
        gained = self.gained(rankings)
        reached = running(rankings.query, rankings.places, gained.found, rankings.queries)
        best = gained.ideal_at(gained.ideal, rankings.query, rankings.rank)
        best += np.maximum(rankings.rank - gained.positive[rankings.query], 0.0)
        behind = np.log2(2.0 + best - reached)
        return ratio(rankings.total(gained.found / behind), gained.by_query(gained.ideal))


class BinG(Measure):
    """1 / log2(2 + documents above it that are not relevant), over all relevant documents.

    trec_eval: ``binG``.
    """

    CITATION = "Buckley, trec_eval 9.0, 2008 (experimental)"

    def score(self, rankings: Rankings) -> Floats:
        relevant = self.relevant(rankings)
        above = rankings.rank - rankings.so_far(relevant)
        gains = relevant / np.log2(2.0 + np.where(relevant, above, 0))
        return ratio(rankings.total(gains), rankings.judged(self.rel))
