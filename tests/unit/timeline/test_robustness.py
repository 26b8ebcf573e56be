"""The robustness study: perturbed rankings, their means, and how far measures move with size."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import robustness as reference
from tests.sampling import examples

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures import MEASURES as REGISTERED
from citebed.timeline import robustness as module
from citebed.timeline.robustness import (
    PERTURBATIONS,
    Setting,
    Simulation,
    StudyOptions,
    as_rankings,
    levels_of,
    robustness,
    settings_of,
    simulate,
    studied,
)

MEASURES = (
    "AP", "nDCG@R", "nDCG", "Rprec", "AUC", "AUC:rescaled", "P@5", "RR", "Bpref", "RBP(p=0.9)",
    "nDCG@3", "R@3", "Success@1", "infAP", "SetF",
)  # fmt: skip
LEVELS = (0.0, 0.3, 0.75, 1.0)


def study(**changes: object) -> StudyOptions:
    small: dict[str, object] = {"rankings": 20, "seed": 3, "levels": LEVELS}
    return StudyOptions(**{**small, **changes})  # type: ignore[arg-type]


def means(found: Simulation, measure: str) -> dict[tuple[int, int], list[float]]:
    at = [str(each) for each in found.measures].index(measure)
    sizes = [(setting.D, setting.R) for setting in found.options.settings]
    return dict(zip(sizes, found.mean[at].tolist(), strict=True))


# --- perturbations --------------------------------------------------------------------------


@st.composite
def perturbed(draw: st.DrawFn) -> tuple[Setting, float, np.ndarray]:
    length = draw(st.integers(2, 12))
    setting = Setting(length, draw(st.integers(1, length // 2)))
    # Numbers that differ, so that there is one order by them.
    numbers = st.lists(st.integers(0, 9999), min_size=2 * length, max_size=2 * length, unique=True)
    draws = np.array(draw(numbers)).reshape(2, 1, length) / 10_000
    return setting, draw(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])), draws


@pytest.mark.parametrize("name", PERTURBATIONS)
@given(case=perturbed())
def test_a_perturbation_does_what_the_obvious_one_does(
    name: str, case: tuple[Setting, float, np.ndarray]
) -> None:
    setting, theta, draws = case
    order = PERTURBATIONS[name].order(setting, np.array([0.0, theta]), draws)
    first, second = draws[:, 0].tolist()
    expected = reference.PERTURBED[name]((setting.D, setting.R), theta, first, second)
    assert order[1, 0].tolist() == expected
    assert order[0, 0].tolist() == list(range(setting.D))


def test_shuffle_by_hand() -> None:
    draws = np.array([[[0.1, 0.9, 0.2, 0.3]], [[0.7, 0.0, 0.8, 0.1]]])
    order = PERTURBATIONS["shuffle"].order(Setting(4, 2), np.array([0.25, 0.5]), draws)
    # 0 and 2 are taken out and come back in that order; then 0, 2 and 3 come back as 3, 0, 2.
    assert order[:, 0].tolist() == [[0, 1, 2, 3], [3, 1, 0, 2]]


def test_exchange_by_hand() -> None:
    draws = np.array([[[0.1, 0.4, 0.0, 0.0, 0.0]], [[0.0, 0.0, 0.9, 0.5, 0.7]]])
    order = PERTURBATIONS["exchange"].order(Setting(5, 2), np.array([0.2, 0.5]), draws)
    # The partners of 0 and 1 are 3 and 4.
    assert order[:, 0].tolist() == [[3, 1, 2, 0, 4], [3, 4, 2, 0, 1]]


def test_noise_by_hand() -> None:
    draws = np.array([[[0.0, 0.2, 0.9]], [[0.0, 0.0, 0.0]]])
    order = PERTURBATIONS["noise"].order(Setting(3, 1), np.array([0.5, 0.8]), draws)
    # Twice the scores at 0.5: 1, 0.7, 0.9; at 0.8 (five times): 1, 1.3, 3.6.
    assert order[:, 0].tolist() == [[0, 2, 1], [2, 1, 0]]


# --- the study ------------------------------------------------------------------------------


@pytest.mark.parametrize("perturbation", PERTURBATIONS)
def test_the_study_is_that_of_the_slow_twin(perturbation: str) -> None:
    sizes = settings_of("10,4,20", "D/2,1")
    options = study(settings=tuple(sizes), perturbation=perturbation)
    found = simulate(MEASURES, options)
    for (i, measure), (j, size), (k, theta) in product(
        enumerate(MEASURES), enumerate(sizes), enumerate(LEVELS)
    ):
        rng = np.random.default_rng([3, size.D, size.R, 0])
        drawn = rng.random((20, 2, size.D)).tolist()
        perturb = reference.PERTURBED[perturbation]
        values = [
            reference.score(perturb((size.D, size.R), theta, first, second), size.R, measure)
            for first, second in drawn
        ]
        expected = reference.mean_and_interval(values)
        fast = (found.mean[i, j, k], found.low[i, j, k], found.high[i, j, k])
        assert fast == pytest.approx(expected, abs=1e-12), (measure, size, theta)


def test_the_summary_is_that_of_the_slow_twin() -> None:
    found = simulate(MEASURES, study(settings=tuple(settings_of("10,20,40", "D/2,D/10"))))
    for of in robustness(found):
        by_size = means(found, of.measure)
        moves = reference.moves(by_size)
        assert of.largest_move == pytest.approx(max(moves), abs=1e-12)
        assert moves[LEVELS.index(of.theta)] == pytest.approx(max(moves), abs=1e-12)
        assert of.mean_move == pytest.approx(sum(moves) / len(LEVELS), abs=1e-12)
        share = reference.move_within(by_size, lambda size: Fraction(size[1], size[0]))
        assert of.move_with_D == pytest.approx(share, abs=1e-12)
        length = reference.move_within(by_size, lambda size: size[0])
        assert of.move_with_R == pytest.approx(length, abs=1e-12)
        assert of.distance == pytest.approx(reference.distance_from_order(by_size, LEVELS))
        assert of.fall == pytest.approx(reference.fall(by_size), abs=1e-12)
        if of.measure != "SetF":  # which does not fall
            expected = reference.correlation_with_level(by_size, LEVELS)
            assert of.correlation == pytest.approx(expected, abs=1e-12)
            assert of.share == pytest.approx(of.mean_move / of.fall, abs=1e-12)


@pytest.mark.parametrize("perturbation", PERTURBATIONS)
def test_without_disorder_the_ideal_scores_1(perturbation: str) -> None:
    ideal = ["AP", "nDCG@R", "nDCG", "Rprec", "AUC", "AUC:rescaled", "RescaledAUC", "RR", "GMAP"]
    found = simulate(ideal, study(levels=(0.0,), perturbation=perturbation))
    assert found.mean == pytest.approx(np.ones_like(found.mean), abs=1e-12)
    assert found.deviation == pytest.approx(np.zeros_like(found.mean), abs=1e-12)


def test_shuffled_to_the_end_scores_what_chance_scores() -> None:
    """At random R/D of the first R are relevant; AUC is a half; AP as in Bestgen (2015)."""
    found = simulate(("Rprec", "nDCG@R", "AUC", "AP"), study(levels=(1.0,), rankings=2000))
    for (length, relevant), (rprec,) in means(found, "Rprec").items():
        harmonic = sum(1 / rank for rank in range(1, length + 1)) / length
        ap = harmonic + (relevant - 1) / (length - 1) * (1 - harmonic)
        size = (length, relevant)
        assert rprec == pytest.approx(relevant / length, abs=0.03)
        assert means(found, "nDCG@R")[size][0] == pytest.approx(relevant / length, abs=0.03)
        assert means(found, "AUC")[size][0] == pytest.approx(0.5, abs=0.03)
        assert means(found, "AP")[size][0] == pytest.approx(ap, abs=0.03)


def test_when_relevant_documents_are_exchanged_rprec_is_what_is_left() -> None:
    """Each of the first R places keeps a relevant document with probability 1 − θ."""
    options = study(rankings=2000, perturbation="exchange", levels=(0.25, 0.5, 1.0))
    found = simulate(("Rprec", "nDCG@R"), options)
    for measure, size in product(("Rprec", "nDCG@R"), [(10, 1), (10, 5), (200, 20)]):
        assert means(found, measure)[size] == pytest.approx([0.75, 0.5, 0.0], abs=0.04)


def test_the_interval_holds_the_true_mean_about_as_often_as_it_says() -> None:
    """Over 200 seeds the mean of Rprec at θ=1 is R/D; 95% of the intervals should hold it."""
    size = (Setting(10, 5),)
    held = 0
    for seed in range(200):
        options = study(settings=size, levels=(1.0,), rankings=100, seed=seed)
        found = simulate(("Rprec",), options)
        held += int(found.low[0, 0, 0] <= 0.5 <= found.high[0, 0, 0])
    # Binomial(200, 0.95): outside of these with probability below 0.001.
    assert 178 <= held <= 199


def test_the_findings_of_the_paper() -> None:
    """As a scale of disorder AP and Rprec are fine, nDCG needs @R, and AUC to be rescaled."""
    found = {of.measure: of for of in robustness(simulate(options=StudyOptions(rankings=300)))}
    fine = [found[name].distance for name in ("AP", "Rprec", "nDCG@R", "AUC:rescaled")]
    assert max(fine) < found["AUC"].distance < found["nDCG"].distance
    assert found["nDCG@R"].correlation < found["nDCG"].correlation - 0.05
    assert found["AUC"].rescaled_distance == pytest.approx(found["AUC:rescaled"].distance)
    assert math.isnan(found["AUC:rescaled"].rescaled_distance)
    assert found["AUC:rescaled"].share == pytest.approx(found["AUC"].share)


# --- reproducible ---------------------------------------------------------------------------


def test_a_seed_gives_the_same_study_and_another_a_different_one() -> None:
    first, again, other = (simulate(("AP",), study(seed=seed)) for seed in (5, 5, 6))
    assert first.rows() == again.rows()
    assert (first.mean[..., 1:] != other.mean[..., 1:]).all()


def test_other_sizes_levels_and_measures_change_nothing() -> None:
    alone = simulate(("AP",), study(settings=(Setting(20, 2),), levels=(0.3,)))
    sizes = (Setting(10, 1), Setting(20, 2))
    among = simulate(("RR", "AP"), study(settings=sizes, levels=(0.1, 0.3, 0.9)))
    assert among.mean[1, 1, 1] == alone.mean[0, 0, 0]


def test_more_rankings_are_added_to_the_same_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    def values(rankings: int) -> np.ndarray:
        options = study(rankings=rankings)
        return module._scores(tuple(studied(["AP"])), Setting(10, 5), options)

    few, many = values(7), values(30)
    assert (many[..., :7] == few).all()
    monkeypatch.setattr(module, "_DRAWN", 40)  # blocks of four rankings, a level at a time
    few, many = values(7), values(30)
    assert (many[..., :7] == few).all()
    assert many.shape == (1, len(LEVELS), 30)
    assert many[0, 0] == pytest.approx(np.ones(30))
    assert len(set(many[0, 2].tolist())) > 4  # blocks do not repeat each other


# --- measures -------------------------------------------------------------------------------


def test_every_registered_measure_can_be_studied() -> None:
    cutoffs = {"rank": "@5", "rank or R": "@5", "recall": "@0.5", "multiple": "@0.5", "none": ""}
    names = [
        name + (cutoffs[kind.CUTOFF] if kind.NEEDS_CUTOFF else "")
        for name, kind in REGISTERED.items()
    ]
    found = simulate([*names, "nDCG(dcg='exp-log2')@5", "AP@R"], study())
    assert np.isfinite(found.mean).all()
    assert {of.measure for of in robustness(found) if of.verdict == "does not fall"} >= {
        "NumRet", "NumRel", "NumRelRet", "SetP", "SetR", "SetF", "SetAP",
    }  # fmt: skip


def test_gmap_has_a_geometric_mean() -> None:
    options = study(settings=(Setting(10, 1),), levels=(1.0,))
    found = simulate(("GMAP", "AP"), options)
    values = module._scores(tuple(studied(["AP"])), Setting(10, 1), options)[0, 0]
    logs = [math.log(value) for value in values]
    middle, low, high = map(math.exp, reference.mean_and_interval(logs))
    assert found.mean[0, 0, 0] == pytest.approx(middle)
    assert (found.low[0, 0, 0], found.high[0, 0, 0]) == pytest.approx((low, high))


def test_measures_are_split_named_once_and_print_as_written() -> None:
    found = studied(["AP,nDCG@R RBP(p=0.9)", "map", "AUC:rescaled,AUC"])
    assert [str(each) for each in found] == ["AP", "nDCG@R", "RBP(p=0.9)", "AUC:rescaled", "AUC"]


@settings(max_examples=examples(30))
@given(st.permutations(range(8)))
def test_auc_rescaled_is_twice_auc_less_1(order: list[int]) -> None:
    rankings = as_rankings(Setting(8, 3), np.array(order))
    plain, rescaled, of_slices = (
        each.values(rankings)[0] for each in studied(["AUC", "AUC:rescaled", "RescaledAUC"])
    )
    assert rescaled == of_slices == pytest.approx(2 * plain - 1)


def test_how_far_a_measure_moves_is_the_same_on_any_scale() -> None:
    sizes = tuple(settings_of("40", "D/2,D/10"))
    found = {
        of.measure: of.verdict
        for of in robustness(simulate(options=study(settings=sizes, rankings=500)))
    }
    assert found["AUC"] == found["AUC:rescaled"] == "moves little"
    assert found["nDCG"] == "moves much"


def test_where_there_is_one_length_nothing_moves_with_it() -> None:
    (of,) = robustness(
        simulate(("AP",), study(settings=(Setting(10, 1, "1"), Setting(10, 5, "5"))))
    )
    assert math.isnan(of.move_with_D)
    assert of.row()["move_with_D"] is None
    assert of.move_with_R == of.largest_move


# --- settings, levels and bad input ---------------------------------------------------------


def test_settings_as_in_the_paper() -> None:
    sizes = [(setting.D, setting.R) for setting in settings_of()]
    assert sizes == [(10, 5), (10, 1), (100, 50), (100, 10), (200, 100), (200, 20)]
    assert StudyOptions().rankings == 1000


def test_settings_may_be_numbers_and_count_once() -> None:
    sizes = [(setting.D, setting.R) for setting in settings_of(" 10, 20", "D/2, 5 ,d")]
    assert sizes == [(10, 5), (10, 10), (20, 10), (20, 5), (20, 20)]


def test_levels_are_sorted_and_count_once() -> None:
    assert levels_of("1, 0.5,0,.5,-0") == (0.0, 0.5, 1.0)


@pytest.mark.parametrize(
    ("documents", "relevant", "words"),
    [
        ("10", "11", "from 1 to 10 can be relevant"),
        ("10", "0", "from 1 to 10 can be relevant"),
        ("0", "D", "rankings of 1 to 1,000,000 documents"),
        ("10", "D/3", "not a whole number"),
        ("5", "D/10", "not a whole number"),
        ("10", "D/0", "expected D/10, or a number"),
        ("10", "half", "expected a whole number"),
        ("ten", "D/2", "expected a whole number"),
        ("-10", "D/2", "expected a whole number"),
        ("10,,20", "D/2", "expected a list"),
        ("", "D/2", "expected a list"),
    ],
)
def test_sizes_that_cannot_be(documents: str, relevant: str, words: str) -> None:
    with pytest.raises(CitebedError, match=words):
        settings_of(documents, relevant)


@pytest.mark.parametrize("text", ["1.5", "-0.1", "nan", "inf", "much", "0,,1", ""])
def test_levels_that_cannot_be(text: str) -> None:
    with pytest.raises(CitebedError, match=r"from 0|levels"):
        levels_of(text)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rankings": 0}, "found 0 rankings of each kind"),
        ({"rankings": 1}, "too few"),
        ({"seed": -1}, "the seed -1 is negative"),
        ({"levels": (0.0, 1.01)}, "θ=1.01 is not from 0"),
        ({"levels": ()}, "no level"),
        ({"settings": ()}, "no size"),
        ({"perturbation": "shufle"}, "Did you mean 'shuffle'"),
    ],
)
def test_studies_that_cannot_be(changes: dict[str, object], words: str) -> None:
    with pytest.raises(CitebedError, match=words):
        study(**changes)


def test_more_relevant_documents_than_others_cannot_be_exchanged() -> None:
    options = study(settings=(Setting(10, 6),), perturbation="exchange")
    with pytest.raises(CitebedError, match="no more than half may be relevant"):
        simulate(("AP",), options)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("nDGC", UnknownName, "Did you mean 'nDCG'"),
        ("AUC:scaled", UnknownName, "Did you mean 'rescaled'"),
        ("AP(rel=2)", CitebedError, "grades 0 and 1"),
        ("Utility:rescaled", CitebedError, "no bounds"),
        ("P", CitebedError, "needs a cut-off"),
        ("", CitebedError, "cannot read the measure"),
    ],
)
def test_measures_that_cannot_be(text: str, kind: type[CitebedError], words: str) -> None:
    with pytest.raises(kind, match=words):
        studied([text])


def test_no_measures_at_all() -> None:
    with pytest.raises(CitebedError, match="no measure was named"):
        studied([])
