"""Scores in snapshots: the case of docs/timeline.md, and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.unit.timeline.made_snapshots import CASE, snapshots

import citebed
from citebed.errors import CitebedError, UnknownName
from citebed.timeline import compare_snapshots


def test_the_case_by_hand() -> None:
    scores = compare_snapshots(snapshots(CASE), pivot="bm25", measures="RR")
    rows = {(row["run"], row["snapshot"]): row for row in scores.rows}
    assert rows["mine", "a"]["value"] == 0.75
    assert rows["mine", "a"]["change"] is None
    row = rows["mine", "b"]
    assert (row["value"], row["change"]) == (0.625, -0.125)
    assert row["drop"] == pytest.approx(1 / 6)
    assert row["effect_ratio"] == pytest.approx(0.125 / 0.25)
    assert row["delta_ri"] == pytest.approx(0.25 / 0.5 - 0.125 / 0.5)
    assert (row["queries"], row["shared_queries"]) == (4, 2)
    # s²/n is 1/48 in a and 1/64 in b; the covariance over q3 and q4 is 1/192. t of 3 degrees.
    reach = 3.182446 * math.sqrt(1 / 48 + 1 / 64 - 2 / 192)
    assert row["change_low"] == pytest.approx(-0.125 - reach)
    assert row["change_high"] == pytest.approx(-0.125 + reach)
    assert rows["bm25", "b"]["effect_ratio"] is None
    assert rows["bm25", "b"]["change_low"] is None  # all equal: no spread
    overlap = scores.overlap.rows(named=True)[1]
    assert (overlap["queries"], overlap["shared_queries"]) == (4, 2)
    assert scores.table.height == 4
    assert "mine" in repr(scores)


def drawn(shared: int, size: int = 30) -> dict[str, dict[str, dict[str, int]]]:
    """Random ranks for two snapshots with this many shared queries."""
    rng = np.random.default_rng(shared)
    case = {}
    for name, first, best in (("a", 0, 4), ("b", size - shared, 8)):
        queries = [f"q{at}" for at in range(first, first + size)]
        case[name] = {
            run: dict(zip(queries, rng.integers(1, most, size).tolist(), strict=True))
            for run, most in (("bm25", 12), ("mine", best))
        }
    return case


def reciprocal(case: dict[str, dict[str, dict[str, int]]], name: str, run: str) -> np.ndarray:
    return 1 / np.array(list(case[name][run].values()))


def test_shared_queries_are_paired_and_others_are_not() -> None:
    """As scipy's paired t-test, and as Welch's variance with the smaller degrees of freedom."""
    case = drawn(30)
    row = compare_snapshots(snapshots(case), measures="RR").rows[-1]
    before, after = (reciprocal(case, name, "mine") for name in "ab")
    low, high = stats.ttest_rel(after, before).confidence_interval()
    assert (row["change_low"], row["change_high"]) == pytest.approx((low, high))
    case = drawn(0)
    row = compare_snapshots(snapshots(case), measures="RR").rows[-1]
    before, after = (reciprocal(case, name, "mine") for name in "ab")
    error = math.sqrt(before.var(ddof=1) / 30 + after.var(ddof=1) / 30)
    reach = float(stats.t.ppf(0.975, 29)) * error
    assert row["change_low"] == pytest.approx(after.mean() - before.mean() - reach)


@pytest.mark.parametrize("shared", [0, 12, 30])
def test_a_limit_of_a_ratio_is_one_that_a_t_test_just_accepts(shared: int) -> None:
    """Fieller: at the limit r, the mean of (later - r * earlier) is just t errors from 0."""
    case = drawn(shared)
    row = compare_snapshots(snapshots(case), pivot="bm25", measures="RR").rows[-1]
    queries = sorted({query for of in case.values() for query in of["mine"]})
    gains, scores = (np.zeros((2, len(queries))) for _ in range(2))
    for at, name in enumerate("ab"):
        places = [queries.index(query) for query in case[name]["mine"]]
        mine, pivot = (reciprocal(case, name, run) for run in ("mine", "bm25"))
        for table, values in ((gains, mine - pivot), (scores, mine)):
            table[at, places] = (values - values.mean()) / 30 * math.sqrt(30 / 29)
    means = {(name, run): reciprocal(case, name, run).mean() for name in case for run in case[name]}
    advantage = [means[name, "mine"] - means[name, "bm25"] for name in "ab"]
    quantile = float(stats.t.ppf(0.975, 29))
    for end in ("low", "high"):
        limit = row[f"effect_ratio_{end}"]
        error = math.sqrt(float(np.square(gains[1] - limit * gains[0]).sum()))
        assert abs(advantage[1] - limit * advantage[0]) == pytest.approx(quantile * error)
        limit = 1 - row[f"drop_{end}"]
        error = math.sqrt(float(np.square(scores[1] - limit * scores[0]).sum()))
        off = means["b", "mine"] - limit * means["a", "mine"]
        assert abs(off) == pytest.approx(quantile * error)
    assert row["drop_low"] < row["drop"] < row["drop_high"]


def test_the_error_of_delta_ri_is_that_of_small_changes_of_each_query() -> None:
    """The infinitesimal jackknife: how much the result moves with the weight of each query."""
    case, step = drawn(12), 1e-6

    def delta_ri(heavy: str = "") -> float:
        ratios = []
        for runs in case.values():
            weights = np.array([1 + step * (query == heavy) for query in runs["mine"]])
            mine, pivot = (
                np.average(1 / np.array(list(runs[run].values())), weights=weights)
                for run in ("mine", "bm25")
            )
            ratios.append(mine / pivot)
        return float(ratios[0] - ratios[1])

    row = compare_snapshots(snapshots(case), pivot="bm25", measures="RR").rows[-1]
    value = delta_ri()
    assert row["delta_ri"] == pytest.approx(value)
    queries = {query for of in case.values() for query in of["mine"]}
    moves = [(delta_ri(query) - value) / step for query in queries]
    reach = float(stats.t.ppf(0.975, 29)) * math.sqrt(30 / 29 * sum(move**2 for move in moves))
    assert row["delta_ri_high"] - value == pytest.approx(reach, rel=1e-4)


def test_queries_of_a_cluster_count_together() -> None:
    case = drawn(30)
    clusters = {f"q{at}": f"paper{at // 2}" for at in range(30)}
    resampling = citebed.evaluation.Resampling(cluster=clusters)
    row = compare_snapshots(snapshots(case), measures="RR", resampling=resampling).rows[-1]
    before, after = (reciprocal(case, name, "mine").reshape(15, 2).mean(axis=1) for name in "ab")
    low, _ = stats.ttest_rel(after, before).confidence_interval()
    assert row["change_low"] == pytest.approx(low)


def test_a_ratio_without_limits_has_none() -> None:
    """If the first advantage may be 0, the ratio may be anything."""
    case = drawn(30)
    case["a"]["mine"] = {query: rank + 1 for query, rank in case["a"]["bm25"].items()}
    case["a"]["mine"]["q0"] = 1
    case["a"]["bm25"]["q0"] = 60
    row = compare_snapshots(snapshots(case), pivot="bm25", measures="RR").rows[-1]
    assert row["effect_ratio"] is not None
    assert row["effect_ratio_low"] is None


def test_only_shared_queries() -> None:
    scores = compare_snapshots(snapshots(CASE), measures="RR", shared=True)
    assert [row["queries"] for row in scores.rows] == [2, 2, 2, 2]
    assert [row["value"] for row in scores.rows] == [0.5] * 4
    apart = {"a": CASE["a"], "b": {run: {"z": 1} for run in ("bm25", "mine")}}
    with pytest.raises(CitebedError, match="no judged query in common"):
        compare_snapshots(snapshots(apart), shared=True)


def test_a_run_that_is_missing_in_a_snapshot_is_noted() -> None:
    case = {"a": {"mine": CASE["a"]["mine"]}, "b": CASE["b"]}
    scores = compare_snapshots(snapshots(case), measures="RR", pivot="bm25")
    assert "a: no run of bm25" in scores.notes()
    last = scores.rows[1]
    assert (last["run"], last["snapshot"], last["effect_ratio"]) == ("mine", "b", None)
    assert scores.rows[2]["run"] == "bm25"
    assert scores.rows[2]["change"] is None  # it was not in the first snapshot
    with pytest.raises(UnknownName, match="pivot 'bm26'"):
        compare_snapshots(snapshots(CASE), pivot="bm26")
    with pytest.raises(CitebedError, match="found 1 snapshot"):
        compare_snapshots({"a": snapshots(CASE)["a"]})
    with pytest.raises(CitebedError, match="GMAP has no mean"):
        compare_snapshots(snapshots(CASE), measures=["GMAP"])
