"""Figures of a contrast: what they show, and that they are written whole or not at all."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.contrast import Contrast, contrast
from citebed.report import contrast_page as contrast_figures
from citebed.report.contrast_page import draw_contrast, scatter, spread
from citebed.report.figure_style import STYLE
from citebed.runs.reader import as_qrels

MEASURES = ["AP", "P@5", "GMAP"]


@pytest.fixture(scope="module")
def found() -> Contrast:
    before = {"q1": {"a": 1}, "q2": {"x": 1}}
    after = {"q1": {"a": 1, "b": 1}, "q2": {"x": 1, "y": 1}}
    run = {"q1": {"a": 3.0, "c": 2.0, "b": 1.0}, "q2": {"y": 1.0}}
    runs = {"one": run, "runs/two $x$ & <b>": run}
    return contrast(as_qrels(before, "J1"), as_qrels(after, "J1+2"), runs, MEASURES)


def drawn(x: list[float], y: list[float], limits: tuple[float, float] = (0.0, 1.0)) -> Any:
    axes = Figure().subplots()
    scatter(axes, np.array(x), np.array(y), limits)
    return axes


def rings(axes: Any) -> dict[tuple[float, float], float]:
    return {
        (float(x), float(y)): float(points.get_sizes()[0])
        for points in axes.collections
        if isinstance(points, PathCollection)
        for x, y in np.asarray(points.get_offsets()).tolist()
    }


def test_points_lie_in_a_square_with_its_diagonal() -> None:
    axes = drawn([0.0, 0.25], [0.5, 1.0])
    assert set(rings(axes)) == {(0.0, 0.5), (0.25, 1.0)}
    assert axes.get_xlim() == axes.get_ylim()
    assert axes.get_aspect() == 1
    (diagonal,) = axes.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]


def test_queries_in_one_place_make_a_larger_ring_with_their_number() -> None:
    axes = drawn([0.2] * 9 + [0.4] * 3 + [1.0], [0.2] * 9 + [0.4] * 3 + [1.0])
    sizes = rings(axes)
    assert sizes[0.2, 0.2] == pytest.approx(3 * sizes[0.4, 0.4])
    assert sizes[0.4, 0.4] == pytest.approx(3 * sizes[1.0, 1.0])
    assert [text.get_text() for text in axes.texts] == ["9"]


def test_a_measure_without_limits_gets_those_of_its_scores() -> None:
    axes = drawn([-2.0, 0.0], [0.0, 3.0], (float("-inf"), float("inf")))
    assert axes.lines[0].get_xydata().tolist() == [[-2, -2], [3, 3]]


@pytest.fixture(scope="module")
def files(found: Contrast, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The figures, in a folder that was not there before."""
    return draw_contrast(found, tmp_path_factory.mktemp("figures") / "made" / "here", full=True)


def test_every_figure_is_there_as_svg_and_png(files: list[Path]) -> None:
    stems = ["one", "one_AP", "one_P@5", "systems"]
    other = "runs-two-x-b"
    stems += [other, f"{other}_AP", f"{other}_P@5"]
    names = sorted(path.name for path in files)
    assert names == sorted(f"{stem}.{end}" for stem in stems for end in ("svg", "png"))
    assert sorted(path.name for path in files[0].parent.iterdir()) == names
    for path in files:
        if path.suffix == ".svg":
            etree.parse(path)
        else:
            assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_text_stays_text_and_names_both_sets(files: list[Path]) -> None:
    folder = files[0].parent
    text = "".join(map(str, etree.parse(folder / "one_AP.svg").getroot().itertext()))
    for words in (
        "under J1",
        "under J1+2",
        "AP",
        "one, 2 queries",
        "below the diagonal: higher under J1+2",
    ):
        assert words in text
    systems = "".join(map(str, etree.parse(folder / "systems.svg").getroot().itertext()))
    for words in ("AP", "P@5", "GMAP", "one", "runs/two $x$ & <b>"):
        assert words in systems


def test_the_same_contrast_gives_the_same_files(
    found: Contrast, files: list[Path], tmp_path: Path
) -> None:
    drawn_before = {path.name: path.read_bytes() for path in files}
    again = draw_contrast(found, tmp_path)
    assert len(again) > 3
    assert all(path.read_bytes() == drawn_before[path.name] for path in again)


def test_what_rose_lies_below_the_diagonal_as_in_the_paper(found: Contrast) -> None:
    """AP falls from 1 to 5/6 for q1 and rises from 0 to 1/2 for q2: J1+2 is horizontal."""
    with mpl.rc_context(STYLE | contrast_figures._OPTIONS["style"]):
        figure = contrast_figures._run_figure(found, "one", found.by_query[:1])
    (axes,) = figure.axes
    assert sorted(rings(axes)) == [(0.5, 0.0), pytest.approx((5 / 6, 1.0))]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("under J1+2", "under J1")


def test_few_figures_are_drawn_unless_all_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best run, the one that moves most, and the means; of one run alone its own."""
    monkeypatch.setattr(Figure, "savefig", lambda _, file, **__: file.write(b"<svg/>"))
    before: dict[str, dict[str, int]] = {"q": {"a": 1}}
    after = {"q": {"a": 1, "b": 1, "c": 1}}
    orders = {"steady": "abc", "falls": "axyz", "other": "xabc", "last": "xxya"}
    runs = {
        name: {"q": {d: -float(n) for n, d in enumerate(order)}} for name, order in orders.items()
    }
    made = draw_contrast(contrast(before, after, runs, ["AP", "P@5"]), tmp_path / "some")
    assert {path.stem for path in made} == {"steady", "falls", "systems"}
    made = draw_contrast(contrast(before, after, {"a": runs["falls"]}, ["AP"]), tmp_path / "one")
    assert {path.stem for path in made} == {"a", "systems"}


def test_the_second_of_a_pair_is_laid_against_the_first(found: Contrast) -> None:
    with mpl.rc_context(STYLE | contrast_figures._OPTIONS["style"]):
        figure = contrast_figures._pair_figure(found, "one", "runs/two $x$ & <b>")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["AP under J1", "P@5 under J1", "AP under J1+2", "P@5 under J1+2"]
    assert [figure.axes[0].get_ylabel(), figure.axes[0].get_xlabel()] == [
        "one",
        "runs/two $x$ & <b>",
    ]
    # The runs are the same: all points lie on the diagonal.
    assert all(x == y for axes in figure.axes for x, y in rings(axes))


def test_nothing_is_left_where_drawing_fails(
    found: Contrast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one_AP.svg").write_text("old")

    def fail(*_: Any) -> Figure:
        raise OSError("disk full")

    monkeypatch.setattr(contrast_figures, "_systems_figure", fail)
    with pytest.raises(CitebedError, match="disk full"):
        draw_contrast(found, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["one_AP.svg"]
    assert (tmp_path / "one_AP.svg").read_text() == "old"


def test_an_unknown_run_of_a_pair_is_reported(found: Contrast, tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="there is no run 'x'"):
        draw_contrast(found, tmp_path / "f", ("one", "x"))
    assert not (tmp_path / "f").exists()


HEIGHTS = st.lists(st.integers(0, 50).map(float), min_size=1, max_size=12)


@given(HEIGHTS)
def test_labels_are_spread_apart_in_their_order(heights: list[float]) -> None:
    moved = spread(heights, 2.0, 0.0)
    placed = sorted(moved)
    assert all(b - a >= 2.0 - 1e-9 for a, b in pairwise(placed))
    assert placed[0] >= -1e-9
    for x, at in zip(heights, moved, strict=True):
        assert all(at < other for y, other in zip(heights, moved, strict=True) if x < y)


@given(HEIGHTS)
def test_labels_stay_within_the_panel_where_there_is_room(heights: list[float]) -> None:
    moved = spread(heights, 2.0, 0.0, 50.0)
    assert all(b - a >= 2.0 - 1e-9 for a, b in pairwise(sorted(moved)))
    assert -1e-9 <= min(moved) <= max(moved) <= 50 + 1e-9


def test_long_names_of_runs_are_whole(tmp_path: Path) -> None:
    long = {"one": "a" * 25 + "b" * 25, "two": "a" * 25 + "c" * 25}
    sets = as_qrels({"q1": {"a": 1}}, "d" * 50), as_qrels({"q1": {"a": 1, "b": 1}}, "e" * 50)
    runs = {name: {"q1": {"a": 3.0, "b": 1.0}} for name in long.values()}
    for path in draw_contrast(contrast(*sets, runs, ["AP"]), tmp_path, list(runs)):
        if path.suffix == ".svg":
            texts: Any = etree.parse(path).xpath("//*[local-name()='text']//text()")
            drawn = "".join(texts)
            letters = "".join(drawn.split())
            wanted = {"systems": [*runs, "d" * 50, "e" * 50]}.get(path.stem, ["d" * 50, "e" * 50])
            assert all(name in letters for name in wanted), path.stem


def test_labels_that_are_far_apart_stay_where_they_are() -> None:
    assert spread([0.0, 10.0, 5.0], 2.0, -1.0) == [0.0, 10.0, 5.0]
    assert spread([4.0, 4.0], 2.0, 0.0) == [5.0, 3.0]
