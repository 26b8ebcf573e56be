"""Corrected scores: exact expectations, whole queries, plans, and bad input."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citebed.errors import CitebedError
from citebed.evaluation import evaluate
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import TREC_EVAL, Resampling
from citebed.evaluation.scoring.judgement_plan import (
    PlanOptions,
    join_plans,
    rank_judgements_to_make,
)
from citebed.evaluation.scoring.machine import MachineOptions, evaluate_with_machine, make_pool
from citebed.runs.reader import as_run

DOCS = ["a", "b", "c", "d"]
RUN = {"q": {"a": 4.0, "x": 3.5, "b": 3.0, "c": 2.0}}
MEASURES = ["AP", "nDCG@2", "R@3", "P@3", "RR", "Bpref", "RBP(p=0.5)", "ERR(max_rel=2)@3", "Rprec"]
GRADES = st.lists(st.integers(0, 2), min_size=4, max_size=4)


@settings(max_examples=30)
@given(GRADES, GRADES, st.permutations([1.0, 0.8, 0.8, 0.3]))
def test_estimates_by_a_plan_have_the_expectation_of_complete_judgements(
    human: list[int], machine: list[int], probabilities: list[float]
) -> None:
    measures, truth = parse_measures(MEASURES), dict(zip(DOCS, human, strict=True))
    complete = evaluate({"q": truth}, {"r": RUN}, MEASURES).runs[0].values[:, 0]
    judged_by_machine = {"q": dict(zip(DOCS, machine, strict=True))}
    expected = {-1: np.zeros(len(measures)), 0: np.zeros(len(measures))}
    # A number u from 0 to 1: all documents with a probability of u or more are judged.
    for low, high in ((0.0, 0.3), (0.3, 0.8), (0.8, 1.0)):
        plan = {d: p for d, p in zip(DOCS, probabilities, strict=True) if p >= high}
        pool = make_pool({"q": {d: truth[d] for d in plan}}, judged_by_machine, {"q": plan})
        rankings = pool.match(as_run(RUN), TREC_EVAL)
        for start, base in ((-1, np.full(4, -1)), (0, pool.machine)):
            found = pool.estimates(rankings, measures, np.array([0]), base)[:, 0]
            expected[start] += (high - low) * found
    assert expected[0] == pytest.approx(complete)
    assert expected[-1] == pytest.approx(complete)


def judgements(rng: np.random.Generator, queries: int, errors: float = 0.0) -> pl.DataFrame:
    grades = np.random.default_rng(5).integers(0, 2, queries * 6)
    grades = np.where(rng.random(len(grades)) < errors, 1 - grades, grades)
    rows = [(f"q{i // 6:02}", f"d{i % 6}", int(g)) for i, g in enumerate(grades)]
    return pl.DataFrame(rows, ["query_id", "doc_id", "relevance"], orient="row")


def system(seed: int, queries: int) -> dict[str, dict[str, float]]:
    scores = np.random.default_rng(seed).random((queries, 6))
    return {f"q{q:02}": {f"d{d}": float(scores[q, d]) for d in range(6)} for q in range(queries)}


HUMAN = judgements(np.random.default_rng(0), 20)
MACHINE = judgements(np.random.default_rng(1), 20, 0.2)
RUNS = {"one": system(1, 20), "two": system(2, 20)}


def test_whole_queries_give_the_mean_of_their_scores() -> None:
    some = HUMAN.filter(pl.col("query_id") < "q05")
    corrected = evaluate_with_machine(some, MACHINE, RUNS, ["AP"], MachineOptions(weight=1.0))
    row, alone = corrected.rows[0], evaluate(some, RUNS, ["AP"])["one"].values[0]
    machine = evaluate(MACHINE, RUNS, ["AP"])["one"].values[0]
    assert row.human == pytest.approx(alone.mean())
    assert row.machine == pytest.approx(machine.mean())
    assert row.value == pytest.approx(machine.mean() + (alone - machine[:5]).mean())
    assert (row.queries, row.drawn, row.clusters, row.judgements) == (20, 5, 5, 30)


def test_a_machine_that_agrees_gives_the_score_of_all_judgements() -> None:
    plan = rank_judgements_to_make(HUMAN, RUNS, ["AP"], PlanOptions(budget=30, per_query=3))
    judged = HUMAN.join(plan.table, on=["query_id", "doc_id"], how="semi")
    options = MachineOptions(plan=plan, weight=1.0)
    rows = evaluate_with_machine(judged, HUMAN, RUNS, ["AP", "nDCG@3"], options).rows
    for row, score in zip(rows, evaluate(HUMAN, RUNS, ["AP", "nDCG@3"]).rows(), strict=True):
        assert row.value == pytest.approx(score["value"])
        assert row.low < row.value < row.high


def test_a_difference_is_the_difference_of_the_scores() -> None:
    options = MachineOptions(baseline="one", weight=0.5)
    rows = evaluate_with_machine(HUMAN[:60], MACHINE, RUNS, ["AP"], options).rows
    assert [(row.run, row.base) for row in rows] == [("one", None), ("two", None), ("two", "one")]
    assert rows[2].value == pytest.approx(rows[1].value - rows[0].value)


def test_clusters_are_the_units() -> None:
    papers = {f"q{number:02}": f"p{number // 4}" for number in range(20)}
    options = MachineOptions(resampling=Resampling(cluster=papers))
    row = evaluate_with_machine(HUMAN[:72], MACHINE, RUNS, ["AP"], options).rows[0]
    assert (row.drawn, row.clusters) == (12, 3)


def test_missing_planned_judgements_are_an_error() -> None:
    plan = rank_judgements_to_make(MACHINE, RUNS, ["AP"], PlanOptions(budget=30, per_query=3))
    with pytest.raises(CitebedError, match="planned judgements are missing, 'd"):
        evaluate_with_machine(HUMAN[:30], MACHINE, RUNS, ["AP"], MachineOptions(plan=plan))


def test_a_plan_of_other_judgements_is_an_error() -> None:
    plan = {"q00": {"other": 1.0}}
    with pytest.raises(CitebedError, match="'other' for the query 'q00', which the machine did"):
        evaluate_with_machine(HUMAN, MACHINE, RUNS, ["AP"], MachineOptions(plan=plan))


def test_a_plan_has_probabilities() -> None:
    plan = {"q00": {"d0": 1.5}}
    with pytest.raises(CitebedError, match="scores of a plan are probabilities"):
        evaluate_with_machine(HUMAN, MACHINE, RUNS, ["AP"], MachineOptions(plan=plan))


@pytest.mark.parametrize(
    ("human", "measure", "what"),
    [
        (HUMAN[:7], "AP", "judged 1 query of 20 wholly"),
        (HUMAN, "GMAP", "only means can be corrected"),
        (HUMAN, "NumRel", "only means can be corrected"),
    ],
)
def test_what_cannot_be_corrected_is_an_error(human: pl.DataFrame, measure: str, what: str) -> None:
    with pytest.raises(CitebedError, match=what):
        evaluate_with_machine(human, MACHINE, RUNS, [measure])


def test_a_run_of_other_queries_is_an_error() -> None:
    with pytest.raises(CitebedError, match="no query that the machine judged"):
        evaluate_with_machine(HUMAN, MACHINE, {"r": {"z": {"d": 1.0}}}, ["AP"])


def test_an_unknown_baseline_is_an_error() -> None:
    with pytest.raises(CitebedError, match="no run 'three'; there are: one, two"):
        evaluate_with_machine(HUMAN, MACHINE, RUNS, ["AP"], MachineOptions(baseline="three"))


def test_queries_that_were_partly_judged_are_noted() -> None:
    notes = evaluate_with_machine(HUMAN[:15], MACHINE, RUNS, ["AP"]).notes
    assert "people judged 2 queries of 20 wholly; the estimate takes them for a random sample" in (
        notes
    )
    assert "3 human judgements of queries that were partly judged: not used" in notes


def test_a_plan_of_all_documents_leaves_no_doubt() -> None:
    plan = rank_judgements_to_make(MACHINE, RUNS, ["AP"], PlanOptions(budget=120))
    rows = evaluate_with_machine(HUMAN, MACHINE, RUNS, ["AP"], MachineOptions(plan=plan)).rows
    for row, score in zip(rows, evaluate(HUMAN, RUNS, ["AP"]).rows(), strict=True):
        assert (row.low, row.value, row.high) == pytest.approx((score["value"],) * 3)


# --- plans --------------------------------------------------------------------------------------


def test_a_plan_stays_within_its_budget_and_begins_with_certainty() -> None:
    for seed in range(30):
        options = PlanOptions(budget=40, per_query=3, seed=seed)
        plan = rank_judgements_to_make(MACHINE, RUNS, ["nDCG@3"], options)
        assert plan.table.height <= 40
        most = plan.table.group_by("query_id").agg(pl.col("score").max())
        assert (most["score"] == 1.0).all()
        assert (plan.table["score"] > 0.05).all()


def test_a_budget_below_two_queries_is_an_error() -> None:
    with pytest.raises(CitebedError, match="judgements are too few: a query takes"):
        rank_judgements_to_make(MACHINE, RUNS, ["AP"], PlanOptions(budget=2, per_query=6))


def test_documents_are_drawn_with_their_probabilities() -> None:
    # In each draw of a query, every document has an expected 1/p of 1, judged or not.
    inverse, draws = dict[tuple[str, str], list[float]](), dict[str, int]()
    for seed in range(200):
        options = PlanOptions(budget=40, per_query=3, seed=seed)
        plan = rank_judgements_to_make(MACHINE, {"one": RUNS["one"]}, ["AP"], options).table
        for query, doc, probability in plan.select("query_id", "doc_id", "score").rows():
            inverse.setdefault((query, doc), []).append(1 / probability)
        for query in plan["query_id"].unique():
            draws[query] = draws.get(query, 0) + 1
    for (query, _), values in inverse.items():
        n = draws[query]
        deviation = math.sqrt(sum(v * v - v for v in values)) / n  # Horvitz and Thompson's
        assert abs(sum(values) / n - 1) <= 4 * deviation + 0.02
    assert len(inverse) == 120


def test_the_doubt_of_a_grade_is_its_share_of_equally_many_errors() -> None:
    # It accepts 2 of 8: with as many errors of both kinds, an accepted document is 7/3 times as
    # likely wrong as another one: shares (2 + 1)/(8 + 2) and 7/10.
    pool = make_pool({}, {"q": {f"d{n}": int(n < 2) for n in range(8)}})
    assert pool.doubt == pytest.approx([1, 1] + [3 / 7] * 6)
    # If it accepts most, all are equally doubtful.
    assert make_pool({}, {"q": {"a": 2, "b": 1, "c": 0}}).doubt.tolist() == [1, 1, 1]


def test_a_machine_without_a_wrong_grade_keeps_an_interval() -> None:
    # Whole queries, P@6 of all six documents: an error changes it by 1/6 whichever document it is.
    some = HUMAN.filter(pl.col("query_id") < "q05")
    (row, _) = evaluate_with_machine(some, HUMAN, RUNS, ["P@6"], MachineOptions(weight=1.0)).rows
    assert row.value == pytest.approx(row.machine)
    assert row.high - row.value == pytest.approx(2.5119431 / 6 / 5 * math.sqrt(15 / 20), rel=1e-6)


def test_a_plan_continues_with_other_queries() -> None:
    options = PlanOptions(budget=30, per_query=3)
    first = rank_judgements_to_make(MACHINE, RUNS, ["AP"], options)
    judged = HUMAN.join(first.table, on=["query_id", "doc_id"], how="semi")
    second = rank_judgements_to_make(MACHINE, RUNS, ["AP"], options, human=judged, done=first)
    assert not set(first.table["query_id"]) & set(second.table["query_id"])
    both = join_plans(first, second)
    complete = HUMAN.join(both.table, on=["query_id", "doc_id"], how="semi")
    row = evaluate_with_machine(complete, MACHINE, RUNS, ["AP"], MachineOptions(plan=both)).rows[0]
    assert row.drawn == both.table["query_id"].n_unique()
    with pytest.raises(CitebedError, match="a query is in two of the plans"):
        join_plans(first, first)


def test_a_plan_continues_with_the_only_query_left() -> None:
    rest = MACHINE.filter(pl.col("query_id") < "q19")
    first = rank_judgements_to_make(rest, RUNS, ["AP"], PlanOptions(budget=200))
    judged = HUMAN.join(first.table, on=["query_id", "doc_id"], how="semi")
    second = rank_judgements_to_make(MACHINE, RUNS, ["AP"], human=judged, done=first)
    assert second.table["query_id"].unique().to_list() == ["q19"]


def test_a_plan_of_one_query_is_an_error() -> None:
    with pytest.raises(CitebedError, match="the machine judged one query"):
        rank_judgements_to_make({"q": {"a": 1}}, {"r": {"q": {"a": 1.0}}})


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"budget": 1}, "expected 2 or more"),
        ({"per_query": 0.5}, "expected 1 or more"),
        ({"least": 0.0}, "expected 0 to 1"),
    ],
)
def test_impossible_plans_are_errors(options: dict[str, float], what: str) -> None:
    with pytest.raises(CitebedError, match=what):
        PlanOptions(**options)  # type: ignore[arg-type]


def test_continuing_needs_the_plan_and_its_judgements() -> None:
    with pytest.raises(CitebedError, match="give both the plan and its human judgements"):
        rank_judgements_to_make(MACHINE, RUNS, ["AP"], human=HUMAN)
