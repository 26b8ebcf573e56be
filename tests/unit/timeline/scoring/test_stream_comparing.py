"""Intervals and paired tests of time-aware scores: against evaluate, scipy and plain loops."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.reference import timeline as reference
from tests.simulated_streams import START, WEEK, WEEKS, Stream, scored, stream, week_effects

import citebed
from citebed.cli.app import main
from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.statistics.crossed import crossed_cells, crossed_interval, crossed_test
from citebed.timeline.timelines import Timeline, timeline

SLICES = [(START + week * WEEK, START + (week + 1) * WEEK) for week in range(WEEKS)]


@pytest.fixture(scope="module")
def drawn() -> Stream:
    rng = np.random.default_rng(4)
    return stream(rng, week_effects(rng), queries=12)


@pytest.fixture(scope="module")
def found(drawn: Stream) -> Timeline:
    return scored(drawn)


def limits(table: pl.DataFrame) -> list[tuple[float, float]]:
    return table.select("low", "high").rows()


def test_as_one_batch_intervals_are_those_of_evaluate(drawn: Stream) -> None:
    whole = timeline(drawn.qrels, drawn.runs, slices="all", measures=["AP", "nDCG@R"])
    plain = {
        name: {query: dict(zip(of["doc_id"], of["score"], strict=True))
               for (query,), of in run.group_by("query_id")}
        for name, run in drawn.runs.items()
    }  # fmt: skip
    qrels = {
        query: dict(zip(of["doc_id"], of["relevance"], strict=True))
        for (query,), of in drawn.qrels.group_by("query_id")
    }
    other = citebed.evaluate(qrels, plain, ["AP", "nDCG@R"]).summary()
    assert limits(whole.table) == [pytest.approx(row) for row in limits(other)]
    assert whole.table["value"].to_list() == pytest.approx(other["value"].to_list())


def test_an_interval_holds_its_mean(found: Timeline) -> None:
    assert found.table.columns[-3:] == ["value", "low", "high"]
    for row in found.table.iter_rows(named=True):
        assert 0 <= row["low"] < row["value"] < row["high"] <= 1


def test_a_notebook_shows_them(found: Timeline) -> None:
    first = found.table.row(0, named=True)
    assert f"{first['value']:.4f} [{first['low']:.4f}, {first['high']:.4f}]" in repr(found)


def test_over_both_it_is_that_of_the_cells_by_plain_loops(drawn: Stream, found: Timeline) -> None:
    judged = [reference.Judgement(*row) for row in drawn.qrels.iter_rows()]
    lines = [reference.Line(*row) for row in drawn.runs["one"].iter_rows()]
    cells = reference.cell_scores(judged, lines, SLICES, "AP")
    both = found.intervals("both").filter(run="one")
    for row in both.iter_rows(named=True):
        shares = reference.weights(judged, list(cells), row["weight"], SLICES[-1][1])
        queries, slices = zip(*cells, strict=True)
        made = crossed_cells(
            list(cells.values()),
            [shares[cell] for cell in cells],
            queries,
            [at for at, _ in slices],
        )
        assert made.mean == pytest.approx(row["value"], abs=1e-9)
        expected = crossed_interval(made, samples=999)
        assert (row["low"], row["high"]) == pytest.approx(expected[:2], abs=1e-9)


def test_tests_over_queries_are_scipys(found: Timeline) -> None:
    for of in found.compare(baseline="one"):
        one, other = (scores.by_query(of.measure, of.weight) for scores in found.runs)
        wanted = stats.ttest_rel(other, one)
        assert (of.base, of.run) == ("one", "other")
        assert (of.statistic, of.p) == pytest.approx((wanted.statistic, wanted.pvalue))
        assert of.difference == pytest.approx(of.value - of.base_value)
        assert (of.units, of.queries) == ("queries", 12)


def test_tests_over_both_take_cells(found: Timeline) -> None:
    compared = found.compare(baseline="other", units="both", test="bootstrap")
    for of in compared:
        one, other = (scores.of("AP") for scores in found.runs)
        cells = found.pairs
        weights = np.ones(len(cells)) if of.weight == "uniform" else cells.relevant
        totals = np.bincount(cells.query, weights)[cells.query]
        made = crossed_cells(one - other, weights / totals, cells.query, cells.slice)
        test = crossed_test("bootstrap", made, samples=999)
        assert (of.statistic, of.p) == pytest.approx((test.statistic, test.p_value))
        assert (of.low, of.high) == pytest.approx(crossed_interval(made, samples=999)[:2])
    assert compared.table["weight"].to_list() == ["uniform", "burst"]
    assert "burst" in repr(compared)


def test_corrections_are_over_one_measure_and_weighting(drawn: Stream) -> None:
    runs = {
        **drawn.runs,
        "third": drawn.runs["one"].with_columns(pl.col("score").sqrt().fill_nan(0)),
    }
    found = timeline(drawn.qrels, runs, slices="7d", measures=["AP"], weight=["uniform", "burst"])
    for units in ("queries", "both"):
        for of in found.compare(baseline="one", correction="bonferroni", units=units):
            assert of.p_adjusted == pytest.approx(min(1.0, 2 * of.p))


def test_what_two_kinds_of_units_cannot_do(found: Timeline) -> None:
    with pytest.raises(CitebedError, match="Use t or bootstrap"):
        found.compare(units="both", test="wilcoxon")
    with pytest.raises(CitebedError, match="Correct with holm"):
        found.compare(units="both", correction="tukey")
    with pytest.raises(UnknownName, match="slices"):
        found.intervals("slices")
    assert len(found.compare(correction="tukey")) == 2


def test_one_query_or_one_slice_has_no_interval(drawn: Stream) -> None:
    one = timeline(drawn.qrels.filter(query_id="3"), drawn.runs, slices="7d", measures="AP")
    assert limits(one.table)[0] == (None, None)
    whole = timeline(drawn.qrels, drawn.runs, slices="all", measures="AP", units="both")
    assert limits(whole.table)[0] == (None, None)
    assert math.isnan(whole.compare()[0].p)


# --- the command ----------------------------------------------------------------------------


@pytest.fixture
def files(drawn: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    named = pl.format("{}-{}", "time", "doc_id")
    lines = drawn.qrels.select(line=pl.format("{} 0 {} {}", "query_id", named, "relevance"))
    Path("t.qrels").write_text("\n".join(lines["line"]) + "\n")
    for name, run in drawn.runs.items():
        rows = run.select(line=pl.format("{} Q0 {} 1 {} me", "query_id", named, "score"))
        Path(f"{name}.run").write_text("\n".join(rows["line"]) + "\n")
    return ["timeline", "t.qrels", "one.run", "other.run", "--slice", "7d", "-m", "AP",
            "--from", "2024-01-01", "--to", "2024-04-01", "--samples", "999"]  # fmt: skip


def rows_of(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main([*words, "--json"]) == 0
    return list(json.loads(capsys.readouterr().out))


def test_rows_have_the_limits(
    files: list[str], found: Timeline, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = ("-w", "uniform", "-w", "burst")
    assert rows_of(capsys, *files, *weights) == found.table.to_dicts()
    both = found.intervals("both").to_dicts()
    assert rows_of(capsys, *files, *weights, "--units", "both") == both
    plain = rows_of(capsys, *files, *weights, "--no-intervals")
    assert {(row["low"], row["high"]) for row in plain} == {(None, None)}
    assert [row["value"] for row in plain] == found.table["value"].to_list()


def test_a_baseline_asks_for_tests(
    files: list[str], found: Timeline, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = rows_of(capsys, *files, "--baseline", "other.run", "--correct", "holm")
    wanted = found.compare(baseline="other", correction="holm")[0]
    assert row == wanted.row()
    assert (row["measure"], row["weight"], row["base"], row["run"]) == (
        "AP",
        "uniform",
        "other",
        "one",
    )
    assert main([*files, "--baseline", "one"]) == 0
    out = capsys.readouterr().out
    assert "AP, uniform  one   other" in out
    assert "† p < 0.05; t test, paired by query" in out
    assert f"[{found.table['low'][0]:.4f}, " in out


def test_a_test_without_a_baseline_is_of_all_pairs(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = rows_of(capsys, *files, "--test", "permutation")
    assert (row["base"], row["run"], row["test"]) == ("one", "other", "permutation")
    assert main([*files, "--test", "t", "--per-slice", "--json"]) == 1
    assert "separate rows" in capsys.readouterr().err
    assert main([*files, "--baseline", "nobody"]) == 1
    assert "nobody" in capsys.readouterr().err
