"""Scoring, the order of rankings, the ledger: cases worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import examples

import citebed
from citebed.errors import CitebedError
from citebed.evaluation import Resampling, Settings, as_qrels, as_run, evaluate, prepare, rank
from citebed.evaluation.measures import MEASURES
from citebed.evaluation.scoring.run_scores import summarise
from citebed.runs.ranking import check_repeated_documents, find_repeated, in_rank_order

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 0}, "q3": {"d": 1}}


def test_the_order_is_score_then_id_both_descending() -> None:
    ranked = rank(as_run({"q": {"a": 1.0, "B": 2.0, "b": 2.0, "é": 2.0, "z": 3.0}}))
    assert ranked.doc_ids.to_list() == ["z", "é", "b", "B", "a"]
    assert ranked.scores.tolist() == [3, 2, 2, 2, 1]


def test_scattered_queries_are_gathered() -> None:
    table = pl.DataFrame(
        {"query_id": ["x", "y", "x", "y"], "doc_id": list("abcd"), "score": [1.0, 5.0, 2.0, 6.0]}
    )
    ranked = rank(as_run(table))
    assert ranked.query_ids.to_list() == ["x", "y"]
    assert ranked.doc_ids.to_list() == ["c", "a", "d", "b"]


@pytest.mark.parametrize("score", [3.5e38, -1e300])
def test_scores_beyond_32_bits_are_reported(score: float) -> None:
    run = as_run({"q": {"a": 1.0, "b": score}}, "mine")
    assert rank(run).doc_ids.to_list() == (["b", "a"] if score > 0 else ["a", "b"])
    with pytest.raises(CitebedError, match=r"mine: the score .* of document 'b' for query 'q'"):
        rank(run, "float")


def test_no_grade_is_too_high() -> None:
    """b (2^1999) is ranked above a (2^2000): everything over 2^1999, by hand."""
    qrels = {"q": {"a": 2000, "b": 1999}, "r": {"c": 0, "d": 1}}
    run = {"q": {"b": 2.0, "a": 1.0}, "r": {"c": 2.0, "d": 1.0}}
    scores = evaluate(qrels, run, ["nDCG(dcg='exp-log2')", "ERR"]).runs[0]
    third = math.log2(3)
    ndcg = [(1 + 2 / third) / (2 + 1 / third), 1 / third]
    assert scores.of("nDCG(dcg='exp-log2')").tolist() == pytest.approx(ndcg, rel=1e-14)
    # b satisfies every second reader, a all others; against 2^2000 a grade of 1 is nothing.
    assert scores.of("ERR").tolist() == [0.5 + 0.5 / 2, 0.0]


def test_float_scores_tie() -> None:
    run = as_run({"q": {"a": 1.0 + 1e-12, "b": 1.0}})
    assert rank(run).doc_ids.to_list() == ["a", "b"]
    assert rank(run, "float").doc_ids.to_list() == ["b", "a"]


HALF = 1 << 32
HASHES = st.sampled_from([0, 1, HALF, HALF + 1, HALF * (HALF - 1), HALF * HALF - 1])
LISTS = st.lists(st.lists(HASHES, min_size=1, max_size=6), min_size=1, max_size=6)


@settings(max_examples=examples(200), deadline=None)
@given(lists=LISTS, cells=st.sampled_from([1, 4, 1 << 20]))
def test_repeated_finds_the_queries_with_a_value_twice(lists: list[list[int]], cells: int) -> None:
    hashes = np.array([value for values in lists for value in values], np.uint64)
    starts = np.cumsum([0, *map(len, lists)])
    found = find_repeated(hashes, starts, cells)
    expected = [at for at, values in enumerate(lists) if len(set(values)) < len(values)]
    assert [query for query, _ in found] == expected
    for query, row in found:
        own = lists[query]
        assert own.count(own[row - starts[query]]) > 1


def test_rows_of_more_queries_than_16_bits_count_come_together() -> None:
    queries = [f"q{number}" for number in range(70_000)]
    rows = [(query, doc, 1.0) for doc in ("a", "b") for query in queries]
    ranked = rank(as_run(rows))
    assert ranked.query_ids.to_list() == queries
    assert ranked.starts.tolist() == list(range(0, 140_001, 2))
    assert ranked.doc_ids.to_list() == ["b", "a"] * 70_000


def test_equal_hashes_of_different_documents_are_not_a_fault() -> None:
    ranked = rank(as_run({"q": {"a": 2.0, "b": 1.0}}))
    check_repeated_documents(replace(ranked, hashes=np.full(2, 7, np.uint64)))


ROWS = st.lists(
    st.tuples(st.sampled_from("pqr"), st.sampled_from("abcdefgh"), st.integers(-2, 2)),
    unique_by=lambda row: row[:2],
    min_size=1,
)


@settings(max_examples=examples(200), deadline=None)
@given(rows=ROWS, seed=st.integers(0, 9))
def test_the_order_of_lines_does_not_matter(rows: list[tuple[str, str, int]], seed: int) -> None:
    expected = sorted(rows, key=lambda row: row[1], reverse=True)
    expected.sort(key=lambda row: (row[0], -row[2]))
    shuffled = np.random.default_rng(seed).permutation(len(rows)).tolist()
    for lines in (rows, sorted(rows), [rows[at] for at in shuffled]):
        ranked = in_rank_order(as_run(lines))
        assert ranked.select("query_id", "doc_id", "score").rows() == expected


def test_the_ledger_by_hand() -> None:
    # q2 has nothing relevant, q3 is not in the run, x is not judged. In q1 the documents b (not
    # relevant), c (2) and u (unjudged) are tied at rank 2 behind a: id descending gives u, c, b.
    run = {"q1": {"a": 2.0, "b": 1.0, "c": 1.0, "u": 1.0}, "q2": {"a": 1.0}, "x": {"a": 1.0}}
    scores = evaluate(QRELS, run, ["RR(rel=2)", "P@2", "AP"]).runs[0]
    ledger = scores.ledger
    assert (ledger.judged, ledger.in_run, ledger.measured) == (3, 3, 2)
    assert (ledger.missing, ledger.missing_examples) == (1, ("q3",))
    assert (ledger.unjudged, ledger.unjudged_examples) == (1, ("x",))
    assert ledger.without_relevant == 1
    assert (ledger.ties, ledger.tied) == (1, 3)
    assert scores.values.tolist()[0] == pytest.approx([1 / 3, 0])
    reciprocal, precision, _ = ledger.measures
    assert (reciprocal.looked_at, reciprocal.unjudged) == (5, 1)
    assert (precision.looked_at, precision.unjudged) == (3, 1)
    assert (reciprocal.lowest, reciprocal.highest) == pytest.approx((1 / 8, 1 / 4))
    assert (precision.lowest, precision.highest) == pytest.approx((1 / 4, 1 / 2))
    notes = " ".join(ledger.notes())
    assert "1 of 3 judged queries is not in the run and is left out of the means: q3" in notes
    assert "other orders would give RR(rel=2) from 0.1250 to 0.2500" in notes
    assert ledger.rows()[0]["unjudged_queries"] == 1


def test_complete_counts_missing_queries_as_zero() -> None:
    run = {"q1": {"a": 1.0}}
    assert evaluate(QRELS, run, ["RR"]).summary()["value"].to_list() == [1.0]
    complete = evaluate(QRELS, run, ["RR", "GMAP"], Settings(complete=True)).runs[0]
    assert complete.of("RR").tolist() == [1.0, 0.0, 0.0]
    # AP of q1 is 1/2; the others are held at 0.00001: exp((ln 0.5 + 2 ln 0.00001) / 3)
    expected = math.exp((math.log(0.5) + 2 * math.log(1e-5)) / 3)
    assert list(complete.summaries.values())[1] == pytest.approx(expected)


def test_nothing_in_common_is_reported() -> None:
    with pytest.raises(CitebedError, match="no query in common: 'q1', 'q2', 'q3' … are judged"):
        evaluate(QRELS, {"x": {"a": 1.0}}, ["AP"])


def test_several_runs_and_their_names() -> None:
    runs = {"one": {"q1": {"a": 1.0}}, "two": {"q1": {"c": 1.0}}}
    found = citebed.evaluate(QRELS, runs, ["RR(rel=2)"])
    figures = [("one", "RR(rel=2)", 0.0, None, None), ("two", "RR(rel=2)", 1.0, None, None)]
    assert found.summary().rows() == figures
    assert found["two"].table().rows() == [("two", "RR(rel=2)", "q1", 1.0)]
    with pytest.raises(CitebedError, match="no run 'three'"):
        found["three"]
    with pytest.raises(CitebedError, match="not scored under AP"):
        found["two"].of("AP")


def test_every_measure_takes_a_run_without_judged_documents() -> None:
    cutoffs = {"recall": 0.5, "multiple": 0.5, "rank": 3, "rank or R": 3, "none": None}
    chosen = [kind(cutoff=cutoffs[kind.CUTOFF]) for kind in MEASURES.values()]
    scores = evaluate(QRELS, {"q1": {"u": 1.0}}, chosen).runs[0]
    assert np.isfinite(scores.values).all()
    summaries = summarise(scores, Resampling())
    assert all(math.isnan(s.low) for s in summaries)  # one query has no interval


def test_intervals_hold_the_mean_and_stay_in_range() -> None:
    draw = np.random.default_rng(3)
    qrels = {f"q{i}": {f"d{j}": int(draw.random() < 0.3) for j in range(9)} for i in range(40)}
    run = {q: {d: float(draw.random()) for d in found} for q, found in qrels.items()}
    scores = evaluate(qrels, run, ["AP", "GMAP", "P@5", "NumRel"]).runs[0]
    for summary in summarise(scores, Resampling(samples=500))[:3]:
        assert 0 <= summary.low < summary.value < summary.high <= 1
    counted = summarise(scores, Resampling(samples=500))[3]
    assert math.isnan(counted.low)
    assert counted.value == sum(sum(found.values()) for found in qrels.values())


def test_clusters_must_cover_all_queries() -> None:
    scores = evaluate(QRELS, {"q1": {"a": 1.0}, "q2": {"a": 1.0}}, ["AP"]).runs[0]
    with pytest.raises(CitebedError, match="1 of 2 queries has no cluster, 'q2'"):
        summarise(scores, Resampling(cluster={"q1": "p"}))


def test_judgements_are_ordered_by_query_and_grade() -> None:
    judged = prepare(as_qrels(QRELS))
    assert judged.query_ids.to_list() == ["q1", "q2", "q3"]
    assert judged.relevance.tolist() == [2, 1, 0, 0, 1]
    assert judged.doc_ids.to_list()[:3] == ["c", "a", "b"]
