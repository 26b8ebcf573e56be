"""Streams for the tests: made up by hypothesis, or by systems that fail in known ways."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from hypothesis import strategies as st
from tests.reference.timeline import DAY, Judgement, Line

START = 1_317_945_600  # 2011-10-07T00:00:00Z


def judgement_table(judgements: Sequence[Judgement]) -> pl.DataFrame:
    return pl.DataFrame(
        [tuple(judgement) for judgement in judgements],
        schema={
            "query_id": pl.String,
            "doc_id": pl.String,
            "time": pl.Int64,
            "relevance": pl.Int64,
        },
        orient="row",
    )


def run_table(lines: Sequence[Line]) -> pl.DataFrame:
    return pl.DataFrame(
        [tuple(line) for line in lines],
        schema={"query_id": pl.String, "doc_id": pl.String, "time": pl.Int64, "score": pl.Float64},
        orient="row",
    )


# Few scores, so that there are ties; some that differ in the last bits, and only look tied.
SCORES = st.sampled_from([1.0, 2.0, 2.0 + 2**-51, 500.0, 1000.0, 0.0, -0.0, -3.5, 0.1, 0.1 + 1e-15])


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Judgement], list[Line]]:
    """Judgements by several assessors and a run of the same stream, at least one relevant."""
    docs = draw(st.lists(st.integers(0, 12 * DAY), min_size=1, max_size=14))
    times = {f"d{number}": START + offset for number, offset in enumerate(docs)}
    queries = ["a", "b", "c"]
    pairs = st.tuples(st.sampled_from(queries), st.sampled_from(list(times)))
    judged = draw(st.lists(st.tuples(pairs, st.integers(0, 2)), min_size=1, max_size=25))
    judgements = [Judgement(q, d, times[d], grade) for (q, d), grade in judged]
    retrieved = draw(st.lists(pairs, unique=True, max_size=25))
    run = [Line(q, d, times[d], draw(SCORES)) for q, d in retrieved]
    return judgements, run
