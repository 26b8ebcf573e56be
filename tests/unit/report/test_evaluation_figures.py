"""Figures of an evaluation: what they show, and that they are the same twice."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

from citebed.errors import CitebedError
from citebed.evaluation.measures.names import measures
from citebed.evaluation.options import Resampling
from citebed.evaluation.scoring.evaluation import evaluate
from citebed.evaluation.scoring.run_scores import summarise
from citebed.report.evaluation_figures import (
    Mean,
    differences_svg,
    evaluation_figures,
    interval_svg,
    numbers,
)
from citebed.report.figure_style import FileNames, label, write_files

MEANS = [Mean("bm25", 0.31, 0.25, 0.37), Mean("a<b>&$x$", 0.28, 0.2, 0.35)]


def texts(svg: bytes) -> list[str]:
    return [text.text or "" for text in etree.fromstring(svg).iter("{*}text")]


def test_an_interval_plot_names_runs_and_numbers_as_text() -> None:
    found = texts(interval_svg("nDCG@10", MEANS, "bm25"))
    assert {"nDCG@10", "bm25", "a<b>&$x$"} <= set(found)
    assert {"0.310 [0.250, 0.370]", "0.280 [0.200, 0.350]"} <= set(found)


def test_a_mean_without_interval_is_a_number() -> None:
    assert numbers(Mean("x", 0.5, math.nan, math.nan)) == "0.500"
    assert "0.500" in texts(interval_svg("P@1", [Mean("x", 0.5, math.nan, math.nan)]))


def test_the_baseline_is_hollow() -> None:
    assert b"fill: #ffffff" in interval_svg("AP", MEANS, "bm25")
    assert b"fill: #ffffff" not in interval_svg("AP", MEANS)


def test_the_same_figure_is_the_same_bytes_without_a_date() -> None:
    first = interval_svg("AP", MEANS, "bm25")
    assert first == interval_svg("AP", MEANS, "bm25")
    assert b"date" not in first
    bars = np.array([0.5, -0.25, 0.0])
    assert differences_svg("AP", "a", "b", "xyz", bars) == differences_svg(
        "AP", "a", "b", "xyz", bars
    )


def test_names_in_scripts_without_a_font_and_controls_are_drawn() -> None:
    found = texts(interval_svg("AP", [Mean("名前\x07", 0.5, 0.4, 0.6)]))
    assert "名前\ufffd" in found


def test_bars_are_sorted_and_named_by_their_queries() -> None:
    found = texts(differences_svg("AP", "a", "b", ["q1", "q2", "q3"], np.array([0.0, -0.25, 0.5])))
    assert [text for text in found if text.startswith("q")] == ["q3", "q1", "q2"]
    assert "3 queries: 1 better, 1 equal, 1 worse; mean +0.0833 (dashed)" in found
    assert "b less a" in found


def test_many_bars_are_one_outline_without_names() -> None:
    differences = np.linspace(-1, 1, 551)
    drawn = differences_svg("AP", "a", "b", [f"q{i}" for i in range(551)], differences)
    assert not any(text.startswith("q") for text in texts(drawn))
    assert len(drawn) < 60_000


def test_all_figures_of_an_evaluation() -> None:
    runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "x": 1.0}}}
    chosen = measures(["RR", "GMAP", "NumRel"])
    scored = evaluate({"q": {"x": 1}}, runs, chosen).runs
    summaries = [summarise(scores, Resampling(samples=100)) for scores in scored]
    files = evaluation_figures(scored, summaries, "b")
    assert sorted(files) == ["differences_RR_a-b.svg", "intervals_GMAP.svg", "intervals_RR.svg"]
    assert "a less b" in texts(files["differences_RR_a-b.svg"])


def test_one_run_has_no_differences() -> None:
    scored = evaluate({"q": {"x": 1}}, {"a": {"q": {"x": 2.0}}}, ["RR"]).runs
    files = evaluation_figures(scored, [summarise(scored[0], None)])
    assert list(files) == ["intervals_RR.svg"]


def test_file_names_are_plain_and_each_there_once() -> None:
    names = FileNames()
    assert names("P@5", "a/b c") == "P@5_a-b-c"
    assert names("p@5", "A/B c") == "p@5_A-B-c-2"
    assert names("../..") == "figure"
    assert names("") == "figure-2"


def test_long_names_are_cut() -> None:
    assert label("x" * 40, 10) == "xxxxxxxxx…"


def test_files_are_placed_together(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "figures"
    assert write_files(folder, [("a.svg", b"1"), ("b.svg", b"2")]) == [
        folder / "a.svg",
        folder / "b.svg",
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["a.svg", "b.svg"]
    with pytest.raises(CitebedError, match="is a file"):
        write_files(folder / "a.svg", [])


def test_long_names_of_runs_are_whole() -> None:
    first, second = names = [
        f"{'bm25+rm3(docs=10,terms=20)-' * 3}{end}" for end in ("first", "second")
    ]
    means = [Mean(name, 0.5, 0.4, 0.6) for name in names]
    shown = "".join(texts(interval_svg("AP", means)))
    assert [name in shown for name in names] == [True, True]
    title = "".join(texts(differences_svg("AP", first, second, ["q"], np.array([0.1]))))
    assert f"{second} less {first}" in title
