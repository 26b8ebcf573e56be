"""The paper's tables, counted by hand on a case small enough to do so."""

from __future__ import annotations

import polars as pl
import pytest

from citebed.judging.tables import (
    CRANFIELD,
    JudgedQuery,
    PoolingRound,
    by_source,
    compare_with_cranfield,
    comparison,
    first_sources,
    round_robin_documents,
)

# Lists of four. Query 1: the paper cites a, b, c; by hand d and e were found, and b once more.
# Turns: x gives a (cited), then f; y gives e (by hand), then g: the list is d, e, f, g.
LISTS = {"x": ["a", "f", "h", "i"], "y": ["e", "g", "f", "j"]}
ONE = JudgedQuery(
    "1",
    first={"a": True, "b": True, "c": False},
    second={"d": True, "e": False, "f": True, "g": False},
    rounds=[PoolingRound(["d", "b", "e"], LISTS, ["a", "b", "c"], 4)],
)
# Query 2: nothing by hand; x gives p, y gives p as well and so q, x r, y s.
TWO = JudgedQuery(
    "2",
    first={"o": True},
    second={"p": False, "q": True, "r": False, "s": False},
    rounds=[PoolingRound([], {"x": ["p", "r"], "y": ["p", "q", "s"]}, ["o"], 4)],
)
# Query 3 has no answer in phase two.
THREE = JudgedQuery("3", first={"a": True, "z": False}, second={})
QUERIES = [ONE, TWO, THREE]


def test_lists_come_to_documents_in_turn_until_the_list_is_full() -> None:
    assert round_robin_documents(ONE.rounds[0]) == {"a", "f", "e", "g"}
    assert round_robin_documents(ONE.rounds[0]._replace(manual=())) == {"a", "f", "e", "h", "g"}
    assert round_robin_documents(PoolingRound(["m"] * 1 + ["n"], LISTS, [], 2)) == set()


def test_collections_are_compared_by_means_a_query() -> None:
    table = comparison(QUERIES, 2000)
    found = {row["collection"]: row for row in table.to_dicts()}
    assert found["All Phase One"]["queries"] == 3
    assert found["All Phase One"]["relevant"] == pytest.approx(4 / 3)
    assert found["All Phase One"]["irrelevant"] == pytest.approx(2 / 3)
    assert (found["T1"]["queries"], found["T1"]["relevant"]) == (2, 1.5)
    # Relevant: a, b, d, f; o, q. Irrelevant: c, e, g; p, r, s.
    assert (found["T1+2"]["relevant"], found["T1+2"]["irrelevant"]) == (3.0, 3.0)
    assert found["T1+2"]["per_thousand"] == 1.5
    # The paper's own figures: 0.18 and 0.13 a thousand.
    assert round(found["TREC 8"]["per_thousand"], 2) == 0.18
    assert round(found["TREC Robust"]["per_thousand"], 2) == 0.13


def test_documents_are_counted_by_their_first_source_and_where_they_have_one_only() -> None:
    table = by_source(QUERIES)
    found = {(part, source): (*numbers,) for part, source, *numbers in table.iter_rows()}
    # a, b, c and o; d and e by hand; f, g and p, q, r, s by machine. Two queries.
    assert found["judged", "phase one"] == (2.0, 1.5, 0.5)
    assert found["judged", "manual"] == (1.0, 0.5, 0.5)
    assert found["judged", "automatic"] == (3.0, 1.0, 2.0)
    assert found["judged", "phase two"] == (4.0, 1.5, 2.5)
    assert found["judged", "all"] == (6.0, 3.0, 3.0)
    # a was found by machine too, b by hand too, e by both: left are c, o; d; f, g, p, q, r, s.
    assert found["unique", "phase one"] == (1.0, 0.5, 0.5)
    assert found["unique", "manual"] == (0.5, 0.5, 0.0)
    assert found["unique", "automatic"] == (3.0, 1.0, 2.0)
    assert found["unique", "all"] == (4.5, 2.0, 2.5)
    # Without searches by hand: b, c, o; e, f, g and p, q, r, s. (h was never judged.)
    assert found["unique without manual", "phase one"] == (1.5, 1.0, 0.5)
    assert found["unique without manual", "manual"] == (0.0, 0.0, 0.0)
    assert found["unique without manual", "automatic"] == (3.5, 1.0, 2.5)


def test_every_judged_document_has_its_first_source() -> None:
    """The exported label: of 1 and 2 as Table 3 counts, and of 3, which has phase one only."""
    found = {(query, doc): label for query, doc, label in first_sources(QUERIES).iter_rows()}
    cited = dict.fromkeys([("1", "a"), ("1", "b"), ("1", "c"), ("2", "o"), ("3", "a"), ("3", "z")])
    assert {pair for pair, label in found.items() if label == "cited"} == cited.keys()
    assert {pair for pair, label in found.items() if label == "manual"} == {("1", "d"), ("1", "e")}
    assert len([label for label in found.values() if label == "automatic"]) == 6


def test_a_document_that_turns_would_not_have_come_to_was_found_by_machine() -> None:
    deep = ONE._replace(second={"d": True, "j": True})
    found = {
        (part, source): (*numbers,) for part, source, *numbers in by_source([deep]).iter_rows()
    }
    assert found["judged", "manual"] == (1, 1, 0)
    assert found["judged", "automatic"] == found["unique", "automatic"] == (1, 1, 0)
    assert found["judged", "phase two"] == (2, 2, 0)


def test_documents_by_source_are_beside_cranfield() -> None:
    row = compare_with_cranfield(QUERIES).filter(pl.col("source") == "manual").row(0, named=True)
    assert row["total"] == 1.0
    assert (row["cranfield_total"], row["cranfield_relevant"]) == CRANFIELD["manual"][:2]


def test_a_campaign_without_answers_has_tables_of_zeros() -> None:
    assert by_source([])["total"].sum() == 0
    assert comparison([], 10).row(0)[:2] == ("All Phase One", 0)
