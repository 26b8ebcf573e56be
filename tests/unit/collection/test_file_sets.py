"""Judgements that came as a file, and what is told of them."""

from __future__ import annotations

import polars as pl

from citebed.collection.building.citing import file_sets
from citebed.collection.rules import Rules


def test_codes_of_cranfield_lead_to_its_profile() -> None:
    """Without it the best are the worst, and judgements are of other queries."""
    rows = [("1", str(at), code) for at, code in enumerate((-1, 1, 2, 3, 4))]
    judged = pl.DataFrame(
        rows, schema={"query_id": str, "doc_id": str, "relevance": pl.Int32}, orient="row"
    ).with_columns(source=pl.lit("cranqrel"))
    topics = pl.DataFrame(schema=dict.fromkeys(("query_id", "text", "title", "source"), str))
    _, [(source, problem)] = file_sets(topics, judged, Rules())
    assert (source, "--profile cranfield, which turns them" in problem.what) == ("cranqrel", True)
    assert "counts queries as Cranfield's judgements do" in problem.what
    codes = {-1: 0, 1: 4, 2: 3, 3: 2, 4: 1}
    assert file_sets(topics, judged, Rules(relevance=codes))[1] == []
