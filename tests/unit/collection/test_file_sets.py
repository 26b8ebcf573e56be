"""Judgements given as a file, and the report about them."""

from __future__ import annotations

import polars as pl

from citebed.collection.building.citing import file_sets
from citebed.collection.rules import Rules


def test_codes_of_cranfield_lead_to_its_profile() -> None:
    """Without the profile, the best grades are the worst, and queries have other numbers."""
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
