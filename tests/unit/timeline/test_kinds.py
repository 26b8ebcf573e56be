"""Kinds of queries in time: no episode, one, several, and too few documents to tell."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import citebed
from citebed.runs.times import DAY

START = 1_704_067_200  # 2024-01-01T00:00:00Z
EVEN = [float(day) for day in range(90)]
SPIKE = [40 + hour / 24 for hour in range(40)]
TWO = [20 + hour / 24 for hour in range(20)] + [70 + hour / 24 for hour in range(20)]
STREAMS = {"even": EVEN, "spike": [5.0, *SPIKE, 80.0], "two": TWO, "few": [3.0, 3.1, 3.2, 3.3]}


def judged() -> pl.DataFrame:
    rows = [
        (query, f"{START + int(day * DAY)}-{query}{at}", 1)
        for query, days in STREAMS.items()
        for at, day in enumerate(days)
    ]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "relevance"], orient="row")


def timeline() -> citebed.Timeline:
    """A system that finds nothing but what the streams of one kind have."""
    found = judged().filter(pl.col("query_id").is_in(["even", "two"]))
    run = found.select("query_id", "doc_id", score=pl.lit(1.0))
    return citebed.timeline(judged(), {"half": run}, slices="7d", measures="AP")


def test_queries_have_a_kind_by_their_episodes() -> None:
    kinds = timeline().kinds
    assert dict(kinds.select("query_id", "kind").iter_rows()) == {
        "even": "atemporal", "spike": "unambiguous", "two": "ambiguous", "few": "few",
    }  # fmt: skip
    assert dict(kinds.select("query_id", "episodes").iter_rows()) == {
        "even": 0, "spike": 1, "two": 2, "few": 0,
    }  # fmt: skip
    counts = {query: len(days) for query, days in STREAMS.items()}
    assert dict(kinds.select("query_id", "relevant").iter_rows()) == counts


def test_scores_are_reported_by_kind() -> None:
    found = timeline().by_kind.with_columns(pl.col("value").round(9))
    rows = found.select("kind", "queries", "value").rows()
    assert rows == [
        ("atemporal", 1, 1.0), ("unambiguous", 1, 0.0), ("ambiguous", 1, 1.0), ("few", 1, 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        # Figure 1 of Dietz, Dalton & Balog (2013) shows this one's several bursts.
        ("Mario_Garnero", "ambiguous"),
        ("Masaru_Emoto", "atemporal"),
    ],
)
def test_entities_of_kba(kba_2012: Path, query: str, kind: str) -> None:
    found = citebed.timeline(
        kba_2012,
        {"none": pl.DataFrame({"query_id": [query], "doc_id": ["1317945600-x"], "score": [1.0]})},
        slices="7d", measures="AP",
    )  # fmt: skip
    assert found.kinds.filter(query_id=query)["kind"].to_list() == [kind]
