"""What a simulated campaign found, which only a simulation can know: of all that is relevant.

Found is a document that is relevant, and that its judge called so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean, stdev
from typing import NamedTuple

import polars as pl

from citebed.evaluation.statistics import mean_intervals
from citebed.judging.pooling import Budget, Oracle, pool
from citebed.judging.pooling_methods import (
    Bandit,
    Candidates,
    Depth,
    MoveToFront,
    Rounds,
    Sampling,
    Strategy,
)
from citebed.judging.simulated_judges import SimulatedJudge, Simulation
from citebed.judging.source_tables import Judged, Pooling, with_both_phases

RANDOM = 0.2
"""The share of a pool that is drawn at random, where some is."""
DRAWS = 5
"""How often a method that knows chance is played; its mean counts."""

Judges = Mapping[str, SimulatedJudge]
"""Who judges a query, by the query's id in the campaign."""

_COUNTS = {
    "judged_one": "judgements in phase one",
    "judged_two": "judgements in phase two",
    "judged": "judgements in both",
    "found_one": "relevant documents found in phase one",
    "found_two": "relevant documents found in phase two",
    "never": "relevant documents never found",
    "wrong": "documents called relevant that are not",
}


# --- what to expect of a query ----------------------------------------------------------------


def per_query(queries: Sequence[Judged], judges: Judges) -> pl.DataFrame:
    """A row per query of T1+2: judgements, and the relevant documents found in each phase."""
    rows = []
    for query in with_both_phases(queries):
        topic = judges[query.query_id].topic
        one, two = ({d for d, yes in said.items() if yes} for said in (query.first, query.second))
        found_one, found_two = len(one & topic.relevant.keys()), len(two & topic.relevant.keys())
        judged = (len(query.first), len(query.second), len(query.first) + len(query.second))
        never = len(topic.relevant) - found_one - found_two
        wrong = len(one | two) - found_one - found_two
        rows.append((query.query_id, topic.query_id, *judged, found_one, found_two, never, wrong))
    schema = {"query_id": pl.String, "topic": pl.String, **dict.fromkeys(_COUNTS, pl.Int64)}
    return pl.DataFrame(rows, schema, orient="row")


def expected(table: pl.DataFrame) -> pl.DataFrame:
    """Means a query with their standard deviation over queries, and a 95% bootstrap interval.

    Queries that several judges had are resampled together.
    """
    columns = [table[name].to_list() for name in _COUNTS]
    intervals = _intervals(columns, table["topic"].to_list())
    rows = [
        (what, table.height, *_mean(values), *interval)
        for what, values, interval in zip(_COUNTS.values(), columns, intervals, strict=True)
    ]
    numbers = ("mean", "deviation", "low", "high")
    schema = {"what": pl.String, "queries": pl.Int64, **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame(rows, schema, orient="row")


def _mean(values: Sequence[float]) -> tuple[float | None, float | None]:
    mean = fmean(values) if values else None
    return mean, stdev(values) if len(values) > 1 else None


def _intervals(
    columns: Sequence[Sequence[float]], topics: Sequence[str]
) -> list[tuple[float | None, float | None]]:
    """The limits of means; none where there are fewer than two topics."""
    if len(set(topics)) < 2:
        return [(None, None)] * len(columns)
    matrix = list(zip(*columns, strict=True))
    found = mean_intervals(matrix, clusters=topics)
    return [(max(0.0, each.low), each.high) for each in found]


# --- pooling methods at the same effort -------------------------------------------------------


@dataclass(frozen=True)
class _Turns(Sampling):
    """The paper's rule, of which a share may be drawn at random."""

    name = "rounds"

    def learning(self, candidates: Candidates, random: Random) -> Strategy:
        """One from each list in turn."""
        return Rounds().strategy(candidates, math.inf, random)


@dataclass(frozen=True)
class _Ranks(Sampling):
    """Rank by rank until the pool is full: as deep as the same effort allows."""

    name = "depth"

    def learning(self, candidates: Candidates, random: Random) -> Strategy:
        """All lists' first documents, then all lists' second."""
        return Depth(k=1_000_000).strategy(candidates, math.inf, random)


class _Way(NamedTuple):
    """A method; ``learns`` where every document is judged before the next is chosen."""

    method: Sampling
    learns: bool = False

    @property
    def draws(self) -> int:
        """How often it is played."""
        return DRAWS if self.method.random or isinstance(self.method, Bandit) else 1


def _ways() -> Iterator[_Way]:
    kinds = (_Turns, _Ranks, MoveToFront, Bandit)
    for learns, some in ((False, kinds), (True, kinds[2:])):
        for kind in some:
            for random in (0.0, RANDOM):
                yield _Way(kind(random=random), learns)


class _Found(NamedTuple):
    """What a pool holds of a query."""

    judged: float
    relevant: float


def methods(queries: Sequence[Judged], judges: Judges, options: Simulation) -> pl.DataFrame:
    """What each pooling method finds a query, for as many judged documents.

    They choose from the campaign's own lists, with its manual results first, and once more without
    these (``no_manual``). ``share`` is of all relevant documents that are not in the references.
    ``judging`` tells whether a whole list is judged ``at once``, as in a campaign, where a method
    learns from phase one only, or document by document, ``one by one``.
    """
    pooled = [query for query in queries if query.rounds]
    wanted = [_outside(query, judges) for query in pooled]
    topics = [judges[query.query_id].topic.query_id for query in pooled]
    rows = []
    for way in _ways():
        found = [_played(way, query, judges, options, by_hand=True) for query in pooled]
        alone = [_played(way, query, judges, options, by_hand=False) for query in pooled]
        relevant = [each.relevant for each in found]
        (interval,) = _intervals([relevant], topics)
        rows.append(
            (
                str(way.method),
                "one by one" if way.learns else "at once",
                len(pooled),
                _mean([each.judged for each in found])[0],
                _mean(relevant)[0],
                *interval,
                _share(relevant, wanted),
                _mean([each.relevant for each in alone])[0],
                _share([each.relevant for each in alone], wanted),
            )
        )
    names = {"method": pl.String, "judging": pl.String, "queries": pl.Int64}
    means = ("judged", "relevant", "low", "high", "share", "no_manual_relevant", "no_manual_share")
    return pl.DataFrame(rows, {**names, **dict.fromkeys(means, pl.Float64)}, orient="row")


def _outside(query: Judged, judges: Judges) -> int:
    """How many relevant documents are not among the references."""
    return len(judges[query.query_id].topic.relevant.keys() - {*query.rounds[0].listed})


def _share(relevant: Sequence[float], wanted: Sequence[int]) -> float | None:
    return sum(relevant) / sum(wanted) if sum(wanted) else None


def _played(
    way: _Way, query: Judged, judges: Judges, options: Simulation, *, by_hand: bool
) -> _Found:
    """A method on a query's lists, the mean over its draws."""
    made: Pooling = query.rounds[0]
    judge = judges[query.query_id]
    known = {doc_id: query.first.get(doc_id) for doc_id in made.listed}
    oracle: Oracle | None = judge.says if way.learns else None
    judged = relevant = 0
    for draw in range(way.draws):
        seed = f"{options.seed}/{draw}/{query.query_id}"
        chosen = pool(
            made.lists,
            made.manual if by_hand else (),
            known,
            method=way.method,
            budget=Budget(options.pool, seed),
            oracle=oracle,
        ).doc_ids
        judged += len(chosen)
        relevant += sum(doc in judge.topic.relevant and judge.says(doc) for doc in chosen)
    return _Found(judged / way.draws, relevant / way.draws)
