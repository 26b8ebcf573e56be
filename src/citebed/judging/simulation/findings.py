"""What a simulated campaign found, which only a simulation can know: of all that is relevant.

Found is a document that is relevant, and that its judge called so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean, stdev

import numpy as np
import polars as pl

from citebed.evaluation.statistics import mean_intervals
from citebed.judging.asking.papers import SourcePaper
from citebed.judging.results.source_tables import JudgedQuery, with_both_phases
from citebed.judging.simulation.judges import SimulatedJudge, SimulationOptions

DRAWS = 1000
_DRAWN = (
    "forms returned in phase one",
    "queries left (All Phase One)",
    "queries with both phases (T1+2)",
)

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


def per_query(queries: Sequence[JudgedQuery], judges: Judges) -> pl.DataFrame:
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
    limits = mean_intervals(matrix, clusters=topics)
    return [(max(0.0, each.low), each.high) for each in limits]


# --- how many answer ----------------------------------------------------------------------------


def returns_drawn(
    papers: Sequence[SourcePaper], judges: Judges, options: SimulationOptions
) -> pl.DataFrame:
    """How many forms and queries there are, over a thousand draws of who answers.

    Mean, standard deviation, and the limits within which 95% of the draws lie. A co-author's
    query counts where the first author did not answer, a query where a reference is relevant.
    """
    authors_of = [
        [
            (at == 0, any(map(judges[author.name].says, filter(None, cited))))
            for at, author in enumerate(paper.authors)
        ]
        for paper in papers
        for cited in [[each.doc_id for each in paper.references]]
    ]
    draws = [_draw(authors_of, options, options.chance("draw", number)) for number in range(DRAWS)]
    rows = [
        (what, *_mean(values), *np.quantile(values, (0.025, 0.975)).tolist())
        for what, values in zip(_DRAWN, zip(*draws, strict=True), strict=True)
    ]
    schema = {"what": pl.String, **dict.fromkeys(("mean", "deviation", "low", "high"), pl.Float64)}
    return pl.DataFrame(rows, schema, orient="row")


def _draw(
    authors_of: Sequence[Sequence[tuple[bool, bool]]], options: SimulationOptions, chance: Random
) -> tuple[int, int, int]:
    """Forms of phase one, queries kept, and queries with both phases, of one draw."""
    forms = left = both = 0
    for authors in authors_of:
        answered = [each for each in authors if chance.random() < options.response]
        forms += len(answered)
        first = any(is_first for is_first, _ in answered)
        live = sum(relevant for is_first, relevant in answered if is_first or not first)
        left += live
        both += sum(chance.random() < options.response_two for _ in range(live))
    return forms, left, both
