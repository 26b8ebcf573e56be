"""Normalised discounted cumulated gain, and trec_eval's experimental relatives of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.base import Measure, ratio
from citebed.evaluation.measures.gains import Gainful, Gains
from citebed.evaluation.measures.rankings import Rankings, running
from citebed.runs.tables import Floats, Ints

KINDS = ("log2", "exp-log2")


@dataclass(frozen=True, kw_only=True)
class nDCG(Gainful):
    """Gains discounted by rank, over the same of the ideal ranking.

    DCG = Σ gain(d) / log2(rank(d) + 1); the ideal ranks all judged documents of the query by
    grade. A document's gain is its grade, as in trec_eval (``ndcg``, ``ndcg_cut``), or
    2^grade − 1 with ``dcg='exp-log2'`` (Burges et al. 2005). Grades below ``rel`` gain nothing;
    ``gains='1=3,2=9'`` gives grades gains of your own, and the ideal ranks by them.
    With ``@R`` the cut-off is the number of relevant documents of each query. Where the ideal
    is 0 so is the measure.
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
        gains, ideal = self._gains(rankings)
        gains = self.above_cutoff(rankings) * gains / np.log2(rankings.rank + 1.0)
        return ratio(rankings.total(gains), self._total_of_ideal(rankings, ideal))

    def _total_of_ideal(self, rankings: Rankings, ideal: Floats) -> Floats:
        place, query = rankings.ideal_place, rankings.judged_query
        ideal = ideal / np.log2(place + 1.0)
        if self.cutoff is not None:
            last = rankings.judged(self.rel)[query] if self.cutoff == "R" else self.cutoff
            ideal = ideal * (place <= last)
        return np.bincount(query, ideal, rankings.queries).astype(np.float64)

    def _gains(self, rankings: Rankings) -> tuple[Floats, Floats]:
        """Of the retrieved documents, and of the ideal ranking."""
        gained = self.gained(rankings)
        if self.dcg == "log2":
            return gained.retrieved, gained.ideal
        # 2^grade - 1 over 2^(the query's highest): the ratio stays, and no grade is too high.
        highest = np.maximum(rankings.judged_relevance[rankings.ideal_place == 1], 0.0)
        return (
            _raised(gained.retrieved, highest[rankings.query]),
            _raised(gained.ideal, highest[rankings.judged_query]),
        )


def _raised(grades: Floats, highest: Floats) -> Floats:
    return np.asarray(np.exp2(grades - highest) - np.exp2(-highest))


def _discounted(gained: Gains) -> tuple[Floats, Floats]:
    """Gains over log2(rank + 1), of the retrieved documents and of the ideal ranking."""
    rankings = gained.rankings
    return (
        gained.retrieved / np.log2(rankings.rank + 1.0),
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
        gains, ideal = _discounted(gained)
        reached = running(rankings.query, rankings.places, gains, rankings.queries)
        best = gained.ideal_at(ideal, rankings.query, rankings.rank)
        counts = gained.retrieved > 0
        shown = rankings.total(counts * ratio(reached, best))
        missed = gained.positive - rankings.count(counts)
        end = ratio(rankings.total(gains), gained.by_query(ideal))
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
        gains, ideal = _discounted(gained)
        total, steps = np.zeros(rankings.queries), np.zeros(rankings.queries)
        query, step = self._steps(gained)
        for at in np.unique(step):
            some = query[step == at]
            within = rankings.total(gains * (rankings.rank <= at))
            total[some] += ratio(within[some], gained.ideal_at(ideal, some, np.full(len(some), at)))
            steps[some] += 1
        further = (rankings.retrieved > gained.positive + 1) & (gained.positive > 0)
        total += further * ratio(rankings.total(gains), gained.by_query(ideal))
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
        reached = running(rankings.query, rankings.places, gained.retrieved, rankings.queries)
        best = gained.ideal_at(gained.ideal, rankings.query, rankings.rank)
        best += np.maximum(rankings.rank - gained.positive[rankings.query], 0.0)
        behind = np.log2(2.0 + best - reached)
        return ratio(rankings.total(gained.retrieved / behind), gained.by_query(gained.ideal))


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
