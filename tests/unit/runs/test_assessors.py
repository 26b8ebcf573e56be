"""Several assessors on one pair."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.timeline import Judgement, merged
from tests.unit.timeline.made_streams import judgement_table

from citebed.errors import UnknownName
from citebed.runs.assessors import RULES, disagreements, merge_assessors


def one(rule: str, grades: list[int], rel: int = 1) -> int:
    table = pl.DataFrame({"query_id": "q", "doc_id": "d", "time": 7, "relevance": grades})
    (row,) = merge_assessors(table, rule, rel).rows()
    assert row[:3] == ("q", "d", 7)
    return int(row[3])


@pytest.mark.parametrize(
    ("grades", "dissent", "any_", "majority", "highest"),
    [
        ([2], 2, 2, 2, 2), ([2, 2], 2, 2, 2, 2), ([2, 1], 1, 1, 1, 2), ([2, 0], 0, 2, 0, 2),
        ([2, 1, 0], 0, 1, 1, 2), ([2, 2, -1], -1, 2, 2, 2), ([1, 0, -1], -1, 1, 0, 1),
        ([2, 1, 0, 0], 0, 1, 0, 2), ([0, -1], -1, 0, -1, 0),
    ],
)  # fmt: skip
def test_rules(grades: list[int], dissent: int, any_: int, majority: int, highest: int) -> None:
    expected = {
        "any-dissent-negative": dissent, "any": any_, "majority": majority, "max": highest,
    }  # fmt: skip
    assert {rule: one(rule, grades) for rule in RULES} == expected


def test_any_asks_who_calls_it_central() -> None:
    assert one("any", [1, 2], rel=2) == 2
    assert one("any", [1, 1], rel=2) == 1


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(-1, 2))),
    st.sampled_from(list(RULES)),
    st.sampled_from([1, 2]),
)
def test_rules_agree_with_plain_loops(
    votes: list[tuple[str, str, int]], rule: str, rel: int
) -> None:
    judgements = [Judgement(query, doc, 5, grade) for query, doc, grade in votes]
    found = merge_assessors(judgement_table(judgements), rule, rel)
    assert found.rows() == [tuple(judgement) for judgement in merged(judgements, rule, rel)]


def test_disagreement_on_relevance_and_on_the_grade_alone() -> None:
    rows = [("q", "a", 1), ("q", "a", 2), ("q", "b", 0), ("q", "b", 1), ("q", "b", 2),
            ("q", "c", 1), ("q", "d", 2), ("q", "d", 2)]  # fmt: skip
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "relevance"], orient="row")
    assert disagreements(table) == (3, 1, 1)  # b; a, which is central to one of two
    assert disagreements(table, rel=2) == (3, 2, 0)


def test_an_unknown_rule() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'majority'"):
        merge_assessors(pl.DataFrame(), "majorty")
