"""Runs laid beside judgements without being put in order: the places that the one order gives."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citebed.evaluation.measures import rankings
from citebed.evaluation.measures.rankings import Rankings, match, match_unordered
from citebed.runs.ranking import encode_queries, prepare, rank
from citebed.runs.tables import Qrels, Run

ids = st.one_of(
    st.text("abé\U0001f4c4", min_size=1, max_size=4),
    st.text("ab", min_size=1, max_size=3).map(lambda end: f"1323450574-47f28b{end}"),
    st.text("ab", min_size=1, max_size=3).map(lambda end: f"{end}-47f28b762b240bd8"),
)
pairs = st.tuples(st.sampled_from(["q1", "q2", "q3"]), ids)
scores = st.sampled_from([1.0, 2.0, 2.0 + 2**-51, 0.0, -0.0, -3.5, 0.1, 0.1 + 1e-15])
COLUMNS = ("query", "rank", "relevance", "tie_first", "tie_size", "retrieved")


def table(rows: dict[tuple[str, str], float], number: str) -> pl.DataFrame:
    schema = {"query_id": pl.String, "doc_id": pl.String, number: pl.Float64}
    made = pl.DataFrame([(*pair, value) for pair, value in rows.items()], schema, orient="row")
    return made.cast({number: pl.Int64}) if number == "relevance" else made


@pytest.mark.parametrize("compared", [0, 1 << 30])
@given(st.dictionaries(pairs, scores, min_size=1, max_size=80), st.dictionaries(pairs, st.just(1)))
@settings(deadline=None)
def test_places_are_those_of_the_one_order(
    compared: int, run: dict[tuple[str, str], float], others: dict[tuple[str, str], float]
) -> None:
    judged = prepare(Qrels(table(others | dict.fromkeys(list(run)[::3], 2.0), "relevance")))
    made = Run(table(run, "score"))
    with patch.object(rankings, "_COMPARED", compared):
        found = match_unordered(judged, made, encode_queries(made, judged.query_ids))
    assert values(found) == values(match(judged, rank(made)))


def values(found: Rankings) -> list[list[int]]:
    return [np.asarray(getattr(found, name)).tolist() for name in COLUMNS]
