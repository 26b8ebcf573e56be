"""Pictures of a timeline: the numbers behind them, what they show, that they are the same twice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from tests.unit.report.test_evaluation_figures import texts

from citebed.errors import CitebedError, UnknownName
from citebed.report.figure_style import lines_of
from citebed.report.timeline_figures import Pair, best_pairs, timeline_pictures
from citebed.report.timeline_series import (
    areas,
    burstiest,
    day_name,
    moving_average,
    slice_bounds,
    steps,
    volume,
)
from citebed.runs.reader import as_run
from citebed.runs.times import DAY
from citebed.timeline.scoring.slice_measures import slice_measures
from citebed.timeline.scoring.stream_scores import StreamScores, score_stream
from citebed.timeline.scoring.topic_slices import topic_slices
from citebed.timeline.slices import parse_slicing
from citebed.timeline.streams.timed_qrels import timed_qrels

START = 1_704_067_200  # 2024-01-01T00:00:00Z
AP = slice_measures(["AP"])[0]
Documents = Sequence[tuple[str, int]]


def rows(documents: Mapping[str, Documents]) -> list[tuple[str, str, int, float]]:
    """Documents as ``(name, day)`` by query, as rows; the first scores highest."""
    return [
        (query, name, START + day * DAY, float(len(found) - at))
        for query, found in documents.items()
        for at, (name, day) in enumerate(found)
    ]


def made(
    relevant: Mapping[str, Documents],
    runs: Mapping[str, Mapping[str, Documents]],
    slicing: str = "1d",
) -> list[StreamScores]:
    judged = [(query, doc, time, 1) for query, doc, time, _ in rows(relevant)]
    names = ["query_id", "doc_id", "time"]
    truth = timed_qrels(pl.DataFrame(judged, schema=[*names, "relevance"], orient="row"), "made")
    cells = topic_slices(truth, parse_slicing(slicing, truth.range()))
    return [
        score_stream(
            as_run(pl.DataFrame(rows(found), schema=[*names, "score"], orient="row"), name),
            cells,
            [AP],
        )
        for name, found in runs.items()
    ]


# Query q: day 0 has a; day 1 has b, c, d; none on day 2; day 3 has e. Query r: day 1 has b.
RELEVANT = {"q": [("a", 0), ("b", 1), ("c", 1), ("d", 1), ("e", 3)], "r": [("b", 1)]}
QUIET = {"q": [("a", 0), ("e", 3)], "r": []}  # all right on days 0 and 3, silent on day 1
BURSTS = {"q": [("b", 1), ("c", 1), ("d", 1)], "r": [("b", 1)]}  # the other way round
RUNS = {"quiet": QUIET, "bursts": BURSTS}


# --- numbers --------------------------------------------------------------------------------


def test_documents_are_counted_by_day() -> None:
    cells = made(RELEVANT, RUNS)[0].pairs
    assert volume(cells).counts.tolist() == [1, 4, 0, 1]
    assert volume(cells, "r").counts.tolist() == [0, 1, 0, 0]
    assert volume(cells).bounds.tolist() == [START + day * DAY for day in range(5)]


@pytest.mark.parametrize(
    ("days", "unit", "second", "units"),
    [
        (799, "day", "2024-01-02", 800),
        (800, "week", "2024-01-08", 115),
        (5600, "month", "2024-02-01", 185),  # until 2039-05-02
        (24_000, "year", "2025-01-01", 66),  # until 2089-09-16
    ],
)
def test_long_streams_are_counted_in_longer_units(
    days: int, unit: str, second: str, units: int
) -> None:
    cells = made({"q": [("a", 0), ("b", days)]}, RUNS, "all")[0].pairs
    found = volume(cells)
    assert (found.unit, day_name(found.bounds[1]), len(found.counts)) == (unit, second, units)
    assert found.counts[[0, -1]].tolist() == [1, 1]
    assert found.counts.sum() == 2


def test_days_after_the_last_judged_document_are_not_counted() -> None:
    assert len(volume(made(RELEVANT, RUNS, "4d")[0].pairs).counts) == 4


def test_a_moving_average_is_over_three_days_on_either_side() -> None:
    counts = np.array([7, 0, 0, 0, 14, 0, 0, 0, 0])
    # day 0: days 0 to 3; day 3: days 0 to 6; day 8: days 5 to 8
    found = moving_average(counts)
    assert found[[0, 3, 4, 8]].tolist() == [7 / 4, 21 / 7, 14 / 7, 0]


def test_the_query_to_look_at_has_the_most_in_one_slice() -> None:
    assert burstiest(made(RELEVANT, RUNS)[0].pairs) == "q"


def test_a_slice_without_relevant_documents_is_a_gap() -> None:
    found = steps(made(RELEVANT, RUNS)[0], AP)
    # day 1: q and r both score 0
    assert found.values[[0, 1, 3]].tolist() == [1, 0, 1]
    assert math.isnan(found.values[2])


def test_over_time_contributions_are_spread_over_the_length_of_slices() -> None:
    """Four days are a quarter of the time each; day 2 has no relevant document, and no height."""
    quiet = made(RELEVANT, RUNS)[0]
    uniform, burst = (areas(quiet, AP, weight, "q") for weight in ("uniform", "burst"))
    assert uniform.widths.tolist() == burst.widths.tolist() == [1 / 4] * 4
    assert uniform.edges.tolist() == [START / DAY + day for day in range(5)]
    # P(i|q)·m is 1/3, 0, nothing, 1/3; and 1/5, 0, nothing, 1/5
    assert uniform.heights == pytest.approx([4 / 3, 0, 0, 4 / 3])
    assert burst.heights == pytest.approx([4 / 5, 0, 0, 4 / 5])
    assert uniform.empty.tolist() == [False, False, True, False]
    assert np.isnan(uniform.seen).tolist() == [False, False, True, False]
    assert (uniform.score, burst.score) == pytest.approx((2 / 3, 2 / 5))


def test_over_time_slices_that_last_longer_are_lower() -> None:
    quiet = made({"q": RELEVANT["q"]}, RUNS, "2d")[0]
    found = areas(quiet, AP, "uniform", "q")
    # Days 0 and 1 have a of a, b, c, d: AP 1/4. Days 2 and 3 have e: AP 1. Half of the time each.
    assert found.heights == pytest.approx([1 / 4, 1])
    assert found.score == pytest.approx(5 / 8)


def test_areas_of_a_query_are_as_wide_as_its_weights() -> None:
    quiet = made(RELEVANT, RUNS)[0]
    uniform, burst = (areas(quiet, AP, weight, "q", "weight") for weight in ("uniform", "burst"))
    assert uniform.widths == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    assert burst.widths == pytest.approx([1 / 5, 3 / 5, 1 / 5])
    assert uniform.heights.tolist() == burst.heights.tolist() == [1, 0, 1]
    assert (uniform.score, burst.score) == pytest.approx((2 / 3, 2 / 5))


def test_areas_of_all_queries_by_hand() -> None:
    # Day 1 weighs 1/3 to q and 1 to r: it is (1/3 + 1)/2 wide.
    bursts = areas(made(RELEVANT, RUNS)[1], AP, "uniform", over="weight")
    assert bursts.widths == pytest.approx([1 / 6, 2 / 3, 1 / 6])
    assert bursts.heights == pytest.approx([0, 1, 0])
    # Over time it has 2/3 to spread over a quarter.
    timed = areas(made(RELEVANT, RUNS)[1], AP, "uniform")
    assert timed.heights == pytest.approx([0, 8 / 3, 0, 0])


def test_ahead_and_behind_make_the_difference() -> None:
    quiet, bursts = (areas(run, AP, "burst", "q") for run in made(RELEVANT, RUNS))
    pair = Pair("burst", quiet, bursts)
    assert pair.sentence() == "0.400 − 0.600 = −0.200 (ahead by 0.400, behind by 0.600)"


documents = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 800), min_size=1)


@given(st.dictionaries(st.sampled_from("qrs"), documents, min_size=1), st.data())
def test_an_area_is_the_score(relevant: dict[str, dict[str, int]], data: st.DataObject) -> None:
    """Also where there are so many slices that neighbours are joined."""
    judged = {query: list(found.items()) for query, found in relevant.items()}
    run = {query: found[: data.draw(st.integers(0, 8))] for query, found in judged.items()}
    (scores,) = made(judged, {"run": run})
    ways: tuple[Literal["time", "weight"], ...] = ("time", "weight")
    for weight, over in product(("uniform", "burst", "recency:30d"), ways):
        whole = areas(scores, AP, weight, over=over)
        assert whole.widths.sum() == pytest.approx(1)
        assert whole.score == pytest.approx(scores.mean(AP, weight))
        for query, score in zip(scores.pairs.query_ids, scores.by_query(AP, weight), strict=True):
            assert areas(scores, AP, weight, query, over).score == pytest.approx(score)


def test_very_many_slices_are_joined() -> None:
    days = [(f"d{day}", day) for day in range(1200)]
    (scores,) = made({"q": days}, {"half": {"q": days[::2]}})
    found = steps(scores, AP)
    assert (found.joined, len(found.values)) == (3, 400)
    assert found.values[:2] == pytest.approx([2 / 3, 1 / 3])  # days 0 and 2, then day 4
    assert len(areas(scores, AP, "uniform").widths) == 400
    assert len(areas(scores, AP, "uniform", over="weight").widths) == 400


def test_the_slices_and_their_relevant_documents() -> None:
    cells = made(RELEVANT, RUNS)[0].pairs
    assert slice_bounds(cells).relevant.tolist() == [1, 4, 0, 1]
    assert slice_bounds(cells, "r").relevant.tolist() == [0, 1, 0, 0]
    assert slice_bounds(cells).bounds.tolist() == [START + day * DAY for day in range(5)]


def test_a_query_without_relevant_documents_is_an_error() -> None:
    with pytest.raises(UnknownName, match="nobody"):
        volume(made(RELEVANT, RUNS)[0].pairs, "nobody")


# --- pictures -------------------------------------------------------------------------------


def test_pictures_of_a_study() -> None:
    found = timeline_pictures(made(RELEVANT, RUNS))
    assert [picture.name for picture in found] == [
        "relevant", "relevant_q", "scores_AP", "areas_AP_bursts-quiet", "areas_AP_bursts-quiet_q",
    ]  # fmt: skip
    assert [picture.kind for picture in found] == ["volume"] * 2 + ["scores"] + ["areas"] * 2


def test_the_query_can_be_chosen() -> None:
    names = [picture.name for picture in timeline_pictures(made(RELEVANT, RUNS), focus="r")]
    assert "relevant_r" in names
    assert "areas_AP_bursts-quiet_r" in names


def test_the_best_comes_first_in_pairs() -> None:
    # uniform: quiet (2/3 + 0)/2, bursts (1/3 + 1)/2
    ((first, second),) = best_pairs(made(RELEVANT, RUNS), "uniform")
    assert (first.run, second.run) == ("bursts", "quiet")


def test_pictures_are_the_same_bytes_twice() -> None:
    first, second = (timeline_pictures(made(RELEVANT, RUNS)) for _ in range(2))
    for at in (1, 3):  # the counts of a query, and the areas
        assert first[at].svg == second[at].svg
        assert b"dc:date" not in first[at].svg
    assert first[0].png == second[0].png
    assert first[0].png.startswith(b"\x89PNG")


def test_pictures_say_what_they_show_as_text() -> None:
    by_name = {p.name: p for p in timeline_pictures(made(RELEVANT, RUNS))}
    assert {"Relevant documents per day: q", "mean over 7 days"} <= set(
        texts(by_name["relevant_q"].svg)
    )
    assert {"AP over time", "quiet", "bursts"} <= set(texts(by_name["scores_AP"].svg))
    drawn = texts(by_name["areas_AP_bursts-quiet_q"].svg)
    assert "uniform: 0.333 − 0.667 = −0.333 (ahead by 0.333, behind by 0.667)" in drawn
    assert "burst: 0.600 − 0.400 = +0.200 (ahead by 0.600, behind by 0.400)" in drawn


def test_hatching_needs_no_pattern() -> None:
    """A fill that refers to an id would break when ids change in a page."""
    for picture in timeline_pictures(made(RELEVANT, RUNS)):
        assert b"<pattern" not in picture.svg
        assert b"fill: url" not in picture.svg


def test_slices_are_above_the_documents() -> None:
    (whole, of_q, *_) = timeline_pictures(made(RELEVANT, RUNS))
    assert {"slice with relevant documents", "slice without"} <= set(texts(of_q.svg))
    assert [text for text in texts(whole.svg) if text in "140"][-4:] == ["1", "4", "0", "1"]
    assert whole.alt_text.endswith("Divided into 4 slices, 1 of them without relevant documents.")


def test_any_pair_and_the_axis_of_documents() -> None:
    """Over time, the panels of a pair have the dates of the documents above them."""
    runs = made(RELEVANT, {**RUNS, "third": QUIET})
    found = [p for p in timeline_pictures(runs, pairs=[("third", "quiet")]) if p.kind == "areas"]
    assert [p.name for p in found] == ["areas_AP_third-quiet", "areas_AP_third-quiet_q"]
    volume_axes, *panels = found[1].make().axes
    assert len(panels) == 2
    assert {axes.get_xlim() for axes in (volume_axes, *panels)} == {(START / DAY, START / DAY + 4)}
    with pytest.raises(CitebedError, match="no run 'nobody'"):
        timeline_pictures(runs, pairs=[("third", "nobody")])


def test_the_area_that_is_drawn_is_the_score() -> None:
    """Read off the lines themselves: height times width, all time being 1."""
    quiet, bursts = made(RELEVANT, RUNS)
    (picture,) = (p for p in timeline_pictures([quiet, bursts]) if p.name.endswith("quiet_q"))
    _, *panels = picture.make().axes
    for axes, weight in zip(panels, ("uniform", "burst"), strict=True):
        for line, scores in zip([axes.lines[1], axes.lines[2]], (bursts, quiet), strict=True):
            x, y = map(np.asarray, line.get_data())
            area = np.nansum(np.diff(x)[::2] * y[::2]) / (x[-1] - x[0])
            assert area == pytest.approx(scores.by_query(AP, weight)[0])


def test_long_names_are_whole() -> None:
    names = ["bm25+rm3(docs=10,terms=20)-" * 4 + end for end in ("first", "second")]
    runs = dict(zip(names, (QUIET, BURSTS), strict=True))
    for picture in timeline_pictures(made(RELEVANT, runs)):
        if picture.kind != "volume":
            shown = "".join(texts(picture.svg))
            assert [name in shown for name in names] == [True, True]


def test_a_name_past_all_measure_loses_its_middle() -> None:
    lines = lines_of("a" * 40 + "x" * 900 + "z" * 40, 40).split("\n")
    assert (lines[0], lines[-1], len(lines)) == ("a" * 40, "z" * 20, 4)
    assert lines[2].startswith("…")
    assert lines_of("a\x07b", 9) == "a\ufffdb"
    assert [len(line) for line in lines_of("名" * 30, 40).split("\n")] == [20, 10]


def test_many_systems_have_a_panel_each() -> None:
    """The best first, with its mean; dates under every column, the measure beside every row."""
    runs = {f"run{number}": QUIET for number in range(6)} | {"run6": BURSTS}
    drawn = next(p for p in timeline_pictures(made(RELEVANT, runs)) if p.kind == "scores")
    found = texts(drawn.svg)
    named = ["run6 (0.667)", *(f"run{number} (0.333)" for number in range(6))]
    assert [text for text in found if text.startswith("run")] == named
    assert "lowest to highest of all systems" in found
    shown = [axes for axes in drawn.make().axes if axes.get_visible()]
    dated = [axes.xaxis.get_tick_params()["labelbottom"] for axes in shown]
    assert dated == [False, False, False, False, False, True, True]
    assert [axes.get_ylabel() for axes in shown] == ["AP", "", "AP", "", "AP", "", "AP"]


def test_many_systems_are_laid_over_each_other_too() -> None:
    """Each with a line and a mark of its own; of more than have one, the best."""
    runs = {f"run{number:02d}": QUIET for number in range(13)} | {"best": BURSTS}
    drawn = [p for p in timeline_pictures(made(RELEVANT, runs)) if p.kind == "scores"]
    assert [picture.name for picture in drawn] == ["scores_AP", "overlay_AP"]
    found = texts(drawn[1].svg)
    named = [text for text in found if text.endswith(")")]
    assert named == ["best (0.667)", *(f"run{number:02d} (0.333)" for number in range(11))]
    assert "AP over time: the best 12 of 14 systems" in found
    keys = drawn[1].make().legends[0].get_lines()
    assert len({(key.get_color(), key.get_linestyle(), key.get_marker()) for key in keys}) == 12
    assert len({key.get_marker() for key in keys}) == 12


def test_a_daily_picture_is_not_hidden_under_lines() -> None:
    def lines(last: int) -> int:
        cells = {"q": [("a", 0), ("b", last)]}
        picture = timeline_pictures(made(cells, RUNS))[0]
        (axes,) = picture.make().axes
        assert axes.get_ylabel() == "documents"
        sets = [of.get_segments() for of in axes.collections if isinstance(of, LineCollection)]
        return sum(one[0][0] == one[1][0] for segments in sets for one in segments)

    assert lines(10) == 12
    assert lines(85) == 0


def test_names_that_look_like_markup_or_formulas_are_drawn() -> None:
    runs = {"<b>&$x$": QUIET, "名前": BURSTS}
    *_, scores, _, areas_of_q = timeline_pictures(made(RELEVANT, runs))
    for picture in (scores, areas_of_q):
        assert {"<b>&$x$", "名前"} <= set(texts(picture.svg))
    assert scores.png


@pytest.mark.parametrize("slicing", ["all", "1h", "equal:2"])
def test_any_slicing_is_drawn(slicing: str) -> None:
    for picture in timeline_pictures(made(RELEVANT, RUNS, slicing)):
        assert picture.svg
