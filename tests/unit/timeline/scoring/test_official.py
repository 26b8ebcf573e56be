"""TREC KBA's official scoring: by hand, and against plain loops."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.reference import timeline as reference
from tests.reference.timeline import Judgement, Line
from tests.unit.timeline.made_streams import START, judgement_table, run_table

from citebed.errors import CitebedError
from citebed.runs.reader import as_run
from citebed.timeline.scoring.official import (
    Confusion,
    OfficialScores,
    f1,
    precision,
    recall,
    scaled_utility,
    score_official,
)
from citebed.timeline.streams.timed_qrels import timed_qrels


def counts(tp: int, fp: int, fn: int) -> Confusion:
    return Confusion(*(np.array([[count]]) for count in (tp, fp, fn)))


@pytest.mark.parametrize(
    ("confusion", "expected"),  # TP, FP, FN; P, R, F1, SU
    [
        ((3, 1, 2), (3 / 4, 3 / 5, 2 / 3, (5 / 10 + 0.5) / 1.5)),
        ((0, 0, 4), (0, 0, 0, 1 / 3)),
        ((4, 0, 0), (1, 1, 1, 1)),
        ((1, 9, 0), (1 / 10, 1, 2 / 11, 0)),
        ((0, 1, 1), (0, 0, 0, 0)),
        ((1, 3, 1), (1 / 4, 1 / 2, 1 / 3, (-1 / 4 + 0.5) / 1.5)),
        ((0, 0, 0), (0, 0, 0, 1 / 3)),
        ((0, 2, 0), (0, 0, 0, 0)),
    ],
)
def test_hand_made_confusions(
    confusion: tuple[int, int, int], expected: tuple[float, float, float, float]
) -> None:
    p, r, f, su = expected
    made = counts(*confusion)
    assert precision(made)[0, 0] == pytest.approx(p)
    assert recall(made)[0, 0] == pytest.approx(r)
    assert f1(precision(made), recall(made))[0, 0] == pytest.approx(f)
    assert scaled_utility(made)[0, 0] == pytest.approx(su)


# --- a whole run by hand --------------------------------------------------------------------

TRUTH = [
    Judgement("e", "a", START, 2), Judgement("e", "b", START, 2), Judgement("e", "c", START, 1),
    Judgement("e", "d", START, 0), Judgement("f", "a", START, 2), Judgement("f", "b", START, 0),
    Judgement("g", "a", START, 0),
]  # fmt: skip
RUN = [
    Line("e", "a", START, 1000), Line("e", "d", START, 500), Line("e", "b", START, 200),
    Line("e", "x", START, 900), Line("f", "b", START, 1000), Line("f", "a", START, 200),
    Line("g", "a", START, 100),
]  # fmt: skip


def official(
    run: list[Line] = RUN, truth: list[Judgement] = TRUTH, rule: str = "max", **options: object
) -> OfficialScores:
    made = timed_qrels(judgement_table(truth), rule=rule)
    return score_official(as_run(run_table(run)), made, **options)  # type: ignore[arg-type]


def row(scores: OfficialScores, cutoff: int, average: str, entities: str = "all") -> dict:
    (found,) = scores.table.filter(
        (pl.col("cutoff") == cutoff) & (pl.col("average") == average)
        & (pl.col("entities") == entities) & (pl.col("positives") == "central")
    ).to_dicts()  # fmt: skip
    return found


def test_a_run_by_hand_at_cutoff_199() -> None:
    # Accepted and judged: e has a, d, b (TP 2, FP 1, FN 0), f has b, a (TP 1, FP 1), g nothing.
    scores = official()
    micro = row(scores, 199, "micro")
    assert (micro["precision"], micro["recall"]) == (pytest.approx(3 / 5), 1)
    assert micro["f1_of_means"] == micro["mean_f1"] == pytest.approx(3 / 4)
    assert micro["su"] == pytest.approx(((2 * 3 - 2) / 6 + 0.5) / 1.5)
    macro = row(scores, 199, "macro")
    assert macro["precision"] == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    assert macro["recall"] == pytest.approx(2 / 3)
    p, r = 7 / 18, 2 / 3
    assert macro["f1_of_means"] == pytest.approx(2 * p * r / (p + r))
    assert macro["mean_f1"] == pytest.approx((4 / 5 + 2 / 3 + 0) / 3)
    # NU: e (4 - 1)/4, f (2 - 1)/2, g 0.
    assert macro["su"] == pytest.approx((1.25 / 1.5 + 1 / 1.5 + 0.5 / 1.5) / 3)
    needed = row(scores, 199, "macro", "with positives")
    assert needed["precision"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    weighted = row(scores, 199, "weighted")
    assert weighted["precision"] == pytest.approx((2 * 2 / 3 + 1 / 2) / 3)


def test_accepted_is_greater_than_the_cutoff() -> None:
    scores = official()
    assert row(scores, 199, "micro")["recall"] == 1
    assert row(scores, 200, "micro")["recall"] == pytest.approx(1 / 3)
    assert row(scores, 999, "micro")["recall"] == pytest.approx(1 / 3)


def test_central_and_relevant() -> None:
    both = official().table.filter(
        (pl.col("positives") == "central+relevant") & (pl.col("cutoff") == 199)
        & (pl.col("average") == "micro") & (pl.col("entities") == "all")
    )  # fmt: skip
    assert both["recall"].item() == pytest.approx(3 / 4)


def test_unjudged_pairs_as_negatives() -> None:
    micro = row(official(unjudged_negative=True), 199, "micro")
    assert micro["precision"] == pytest.approx(3 / 6)


def test_one_choice_of_entities() -> None:
    assert official().table["entities"].unique().sort().to_list() == ["all", "with positives"]
    for wanted, name in ((True, "with positives"), (False, "all")):
        assert official(require_positives=wanted).table["entities"].unique().to_list() == [name]


def test_the_run_that_returns_nothing() -> None:
    scores = official(run=[])
    assert scores.table["su"].to_list() == pytest.approx([1 / 3] * scores.table.height)
    assert scores.table["su_of_nothing"].to_list() == pytest.approx([1 / 3] * scores.table.height)
    for column in ("precision", "recall", "f1_of_means", "mean_f1"):
        assert scores.table[column].max() == 0


def test_the_best_cutoff_is_the_lowest_of_the_best() -> None:
    best = official().best().filter(
        (pl.col("average") == "micro") & (pl.col("entities") == "all")
        & (pl.col("positives") == "central")
    )  # fmt: skip
    # From 100 to 199 (g's document has 100 and is out): P = 3/5, R = 1.
    assert best["cutoff"].item() == 100
    assert best["f1_of_means"].item() == pytest.approx(3 / 4)


@pytest.mark.parametrize("step", [1, 7, 50, 999])
def test_larger_steps_give_some_of_the_same_rows(step: int) -> None:
    every, some = official().table, official(step=step).table
    assert some["cutoff"].unique().to_list() == list(range(0, 1000, step))
    # numpy adds up in an order that depends on how many there are.
    assert_frame_equal(some, every.filter(pl.col("cutoff") % step == 0), rel_tol=0, abs_tol=1e-15)


@pytest.mark.parametrize("step", [0, 1000])
def test_bad_steps(step: int) -> None:
    with pytest.raises(CitebedError, match="expected from 1 to 999"):
        official(step=step)


@pytest.mark.parametrize("score", [0, -1, 1001])
def test_confidences_out_of_range(score: float) -> None:
    with pytest.raises(CitebedError, match="above 0 and up to 1000"):
        official(run=[Line("e", "a", START, score)])


def test_with_one_entity_all_averages_are_the_same() -> None:
    truth = [judgement for judgement in TRUTH if judgement.query == "e"]
    table = official(truth=truth).table
    parts = [table.filter(pl.col("average") == name).drop("average") for name in ("micro", "macro")]
    assert parts[0].height
    for column in ("precision", "recall", "f1_of_means", "mean_f1", "su"):
        assert parts[0][column].to_list() == pytest.approx(parts[1][column].to_list())


PAIRS = st.tuples(st.sampled_from("efg"), st.sampled_from("abcdxy"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(PAIRS, st.integers(-1, 2)), min_size=1, max_size=20),
    st.dictionaries(PAIRS, st.sampled_from([0.5, 1, 10, 100.5, 500, 999, 1000]), max_size=15),
    st.booleans(),
    st.sampled_from(["any-dissent-negative", "majority", "max"]),
)
def test_agrees_with_plain_loops(
    votes: list[tuple[tuple[str, str], int]],
    confidences: dict[tuple[str, str], float],
    unjudged_negative: bool,
    rule: str,
) -> None:
    judgements = [Judgement(*pair, START, grade) for pair, grade in votes]
    run = [Line(*pair, START, score) for pair, score in confidences.items()]
    table = official(run, judgements, rule, step=10, unjudged_negative=unjudged_negative).table
    merged = reference.merged(judgements, rule)
    for found in table.filter(pl.col("cutoff").is_in([0, 10, 100, 490, 500, 990])).to_dicts():
        level = {"central": 2, "central+relevant": 1}[found["positives"]]
        made = reference.confusion(merged, run, found["cutoff"], level, unjudged_negative)
        chosen = list(made.values())
        if found["entities"] == "with positives":
            chosen = [entity for entity in chosen if entity.tp + entity.fn]
        expected = reference.averages(chosen, found["average"])._asdict()
        assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)
