"""The figure of a robustness study, and its words."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from matplotlib.figure import Figure

from citebed.errors import CitebedError, UnknownName
from citebed.report import robustness as module
from citebed.report.robustness import (
    MEASURES,
    draw_robustness,
    means_table,
    move_sentence,
    robustness_figure,
    study_sentence,
    verdict_lines,
)
from citebed.report.tables import build_table
from citebed.timeline.robustness import (
    Robustness,
    Simulation,
    StudyOptions,
    settings_of,
    simulate,
)

PNG = b"\x89PNG\r\n\x1a\n"
NDCG = Robustness(
    measure="nDCG", correlation=-0.7664, distance=0.324, rescaled_distance=0.3,
    largest_move=0.2149, theta=0.9, mean_move=0.1, move_with_D=0.05,
    move_with_R=float("nan"), fall=0.2, share=0.5,
)  # fmt: skip
AUC = dataclasses.replace(NDCG, measure="AUC", distance=0.05, share=0.1, rescaled_distance=0.02)
RPREC = dataclasses.replace(NDCG, measure="Rprec", distance=0.1, share=0.3)
AP = dataclasses.replace(NDCG, measure="AP", distance=0.17, share=0.51)
SETP = dataclasses.replace(NDCG, measure="SetP", distance=0.6, share=float("nan"))


@pytest.fixture(scope="module")
def found() -> Simulation:
    options = StudyOptions(
        settings=tuple(settings_of("10,20", "D/2,D/10")), levels=(0.0, 0.5, 1.0), rankings=5
    )
    return simulate(("AP", "nDCG@R", "Rprec", "Utility"), options)


def test_a_panel_a_measure_and_a_line_a_size(found: Simulation) -> None:
    figure = robustness_figure(found)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") or axes.get_title() for axes in shown] == [
        "AP", "nDCG@R", "Rprec", "Utility",
    ]  # fmt: skip
    for axes, means in zip(shown, found.mean, strict=True):
        diagonal, *lines = axes.lines
        assert diagonal.get_xydata().tolist() == [[0, 1], [1, 0]]
        assert [np.asarray(line.get_ydata()).tolist() for line in lines] == means.tolist()
        assert all(np.asarray(line.get_xdata()).tolist() == [0.0, 0.5, 1.0] for line in lines)
        low, high = axes.get_ylim()
        assert low <= means.min()
        assert high >= means.max()


def test_lines_are_distinguished_without_colour(found: Simulation) -> None:
    (axes, *_) = robustness_figure(found).axes
    looks = {
        (line.get_linestyle(), line.get_marker(), line.get_markerfacecolor())
        for line in axes.lines[1:]
    }
    assert len(looks) == 4
    assert {line.get_color() for line in axes.lines[1:]} == {"#222222"}


def test_the_legend_names_every_size(found: Simulation) -> None:
    (legend,) = robustness_figure(found).legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "D=10, R=5", "D=10, R=1", "D=20, R=10", "D=20, R=2", "1 − θ",
    ]  # fmt: skip


def test_the_file_is_what_its_ending_says(found: Simulation, tmp_path: Path) -> None:
    draw_robustness(found, tmp_path / "a.PNG")
    assert (tmp_path / "a.PNG").read_bytes().startswith(PNG)
    draw_robustness(found, tmp_path / "a.svg")
    texts = set(etree.parse(tmp_path / "a.svg").getroot().itertext())
    assert {"AP", "nDCG@R", "Utility", "D=20, R=2", "disorder θ"} <= texts


def test_the_same_study_gives_the_same_file(found: Simulation, tmp_path: Path) -> None:
    for name in ("1.svg", "2.svg"):
        draw_robustness(found, tmp_path / name)
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()


def test_a_figure_that_fails_leaves_the_old_file(
    found: Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> Figure:
        raise RuntimeError

    path = tmp_path / "a.svg"
    path.write_text("old")
    monkeypatch.setattr(module, "robustness_figure", broken)
    with pytest.raises(RuntimeError):
        draw_robustness(found, path)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.svg", "old")]


@pytest.mark.parametrize("name", ["a.gif", "a", "svg"])
def test_an_ending_that_is_not_known(found: Simulation, tmp_path: Path, name: str) -> None:
    with pytest.raises(UnknownName, match="png, svg"):
        draw_robustness(found, tmp_path / name)


def test_a_folder_that_is_not_there(found: Simulation, tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="there is no folder"):
        draw_robustness(found, tmp_path / "none" / "a.svg")


# --- words ----------------------------------------------------------------------------------


def test_how_far_a_measure_moves_in_words() -> None:
    assert move_sentence(NDCG) == (
        "nDCG moves by up to 0.21 with the size of the slice at the same disorder (at θ=0.9), "
        "0.10 on average: 50% of its fall from order to disorder."
    )
    assert move_sentence(SETP).endswith("0.10 on average, and does not fall with disorder.")


def test_two_questions_have_two_answers() -> None:
    """The paper's, beside what it found; and ours, which is another."""
    paper, *lines = verdict_lines([NDCG, SETP, RPREC, AUC, AP])
    assert paper.startswith("The paper (Dietz, Dalton & Balog 2013, section 4.4) asks whether")
    assert lines == [
        "Measured here as the mean distance from 1 − θ: AUC 0.05, Rprec 0.10, AP 0.17 (within "
        "0.25); nDCG 0.32, SetP 0.60 (farther).",
        "Rescaled to [-1, 1], as AUC:rescaled, AUC has the distance 0.02 from 1 − θ "
        "instead of 0.05.",
        "Our question is another one: how much does the size of a slice move a measure at the same "
        "disorder? The mean move as a share of the fall from order to disorder: at most 10%: AUC "
        "10%; at most 33%: Rprec 30%; more: nDCG 50%, AP 51%; no fall at all: SetP.",
        "AP follows the disorder (the first question), and yet gives slices of different size "
        "different scores (the second question).",
    ]


def test_of_measures_that_the_paper_did_not_study_it_says_nothing() -> None:
    (distances, *_) = verdict_lines([SETP])
    assert distances.startswith("Measured here as the mean distance")


def test_one_level_says_nothing_of_size() -> None:
    alone = dataclasses.replace(AP, fall=float("nan"), share=float("nan"))
    assert verdict_lines([alone])[-1].startswith("Use two levels or more")


def test_a_row_a_measure() -> None:
    (row,) = build_table(MEASURES, [NDCG]).lines
    assert row == [
        "nDCG", "-0.766", "0.324", "0.215", "0.9", "0.100", "0.050", "–", "0.200", "50%",
    ]  # fmt: skip


def test_the_means_have_a_row_a_measure_and_size(found: Simulation) -> None:
    table = means_table(found)
    assert table.head == ["measure", "D", "R", "θ=0", "θ=0.5", "θ=1"]
    assert [row[:4] for row in table.lines[:5]] == [
        ["AP", "10", "5", "1.000"], ["AP", "10", "1", "1.000"], ["AP", "20", "10", "1.000"],
        ["AP", "20", "2", "1.000"], ["nDCG@R", "10", "5", "1.000"],
    ]  # fmt: skip


def test_what_was_simulated_in_words(found: Simulation) -> None:
    words = study_sentence(found)
    assert "5 rankings of each size (D=10, R=5; D=10, R=1; D=20, R=10; D=20, R=2)" in words
    assert "3 levels, seed 0. Perturbation shuffle: each document is taken out" in words
