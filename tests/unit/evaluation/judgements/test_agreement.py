"""Agreement: published and hand-computed cases, statsmodels, the slow twins, and the edges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from statsmodels.stats import inter_rater
from tests.reference import agreement as slow

from citebed.evaluation.judgements import agreement
from citebed.evaluation.judgements.agreement import (
    ONE_VALUE,
    Agreement,
    Metric,
    cohens_kappa,
    krippendorffs_alpha,
    raw_agreement,
)
from citebed.frames import rows_to_frame

GRADES = st.integers(0, 3)
SAID = st.dictionaries(st.sampled_from("abcd"), GRADES, min_size=2, max_size=4)
JUDGED = st.lists(SAID, min_size=1, max_size=12).map(
    lambda said: {f"d{n}": s for n, s in enumerate(said)}
)
PAIRS = st.lists(st.tuples(GRADES, GRADES), min_size=1, max_size=30)
Judged = Mapping[str, Mapping[str, int]]


@pytest.fixture
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "_SAMPLES", 50)


def columns(judged: Judged) -> pl.DataFrame:
    rows = [(item, judge, value) for item, said in judged.items() for judge, value in said.items()]
    return pl.DataFrame(rows, schema=["item", "judge", "value"], orient="row")


def two(pairs: Sequence[tuple[Any, Any]]) -> pl.DataFrame:
    """Return two judges' values of items as columns."""
    items = [item for item in range(len(pairs)) for _ in range(2)]
    values = [value for pair in pairs for value in pair]
    return pl.DataFrame({"item": items, "judge": ["ann", "bob"] * len(pairs), "value": values})


def filled(table: Sequence[Sequence[int]]) -> pl.DataFrame:
    """Judgements that make a table of two judges: rows the first's values."""
    pairs = [(a, b) for a, row in enumerate(table) for b, n in enumerate(row) for _ in range(n)]
    return two(pairs)


def is_same(one: float | None, other: Fraction | float | None) -> bool:
    """Whether both are undefined, or about equal."""
    if one is None or other is None:
        return one is other
    return one == pytest.approx(float(other), abs=1e-9)


# --- as published, and by hand --------------------------------------------------------------

# Krippendorff (2011), section C: four observers, twelve units, gaps.
OBSERVERS = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
}
# Unit 12 has one judgement only and counts for nothing.
PUBLISHED = columns(
    {
        f"{unit:02}": {
            name: value for name, said in OBSERVERS.items() if (value := said[unit]) is not None
        }
        for unit in range(11)
    }
)


@pytest.mark.parametrize(("metric", "value"), [("nominal", 0.743), ("ordinal", 0.815)])
def test_alpha_as_published(metric: Metric, value: float) -> None:
    found = krippendorffs_alpha(PUBLISHED, metric=metric)
    assert found.value == pytest.approx(value, abs=5e-4)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert (found.items, found.judges, found.note) == (11, 4, "")


def test_alpha_of_two_observers_as_published() -> None:
    # The same paper, sections A and B: ten units, binary; twelve units, five values.
    binary = two(list(zip("0100000010", "1110010000", strict=True)))
    assert krippendorffs_alpha(binary).value == pytest.approx(0.095, abs=5e-4)
    letters = two(list(zip("aabbdcccedda", "babbbccceddd", strict=True)))
    assert krippendorffs_alpha(letters).value == pytest.approx(0.692, abs=5e-4)


def test_kappa_by_hand() -> None:
    # 20 and 15 of 50 agree: 0.7. The first says 0 to 25, the second to 30: 0.5·0.6 + 0.5·0.4 = 0.5.
    table = filled([[20, 5], [10, 15]])
    assert cohens_kappa(table).value == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert raw_agreement(table).value == pytest.approx(0.7)


def test_raw_agreement_counts_pairs_of_judgements() -> None:
    # Three judges make three pairs, and one pair agrees; two judges make one, which agrees.
    table = columns({"d1": {"a": 1, "b": 1, "c": 0}, "d2": {"a": 0, "c": 0}})
    found = raw_agreement(table)
    assert found.value == pytest.approx((1 + 1) / (3 + 1))
    assert (found.items, found.judges) == (2, 3)


# --- against others -------------------------------------------------------------------------


@given(PAIRS)
@pytest.mark.usefixtures("few_samples")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_kappa_is_that_of_statsmodels_and_of_the_twin(pairs: list[tuple[int, int]]) -> None:
    table = np.zeros((4, 4))
    for a, b in pairs:
        table[a, b] += 1
    found = cohens_kappa(two(pairs)).value
    judged = {str(at): {"ann": a, "bob": b} for at, (a, b) in enumerate(pairs)}
    assert is_same(found, slow.kappa(judged, "ann", "bob"))
    if found is None:
        assert len({value for pair in pairs for value in pair}) == 1
        return
    assert found == pytest.approx(inter_rater.cohens_kappa(table, return_results=False))


@given(JUDGED)
@pytest.mark.usefixtures("few_samples")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_alpha_and_raw_agreement_are_those_of_the_twin(judged: Judged) -> None:
    table = columns(judged)
    for metric in get_args(Metric):
        assert is_same(krippendorffs_alpha(table, metric).value, slow.alpha(judged, metric))
    assert is_same(raw_agreement(table).value, slow.raw(judged))


# --- what must hold -------------------------------------------------------------------------


@given(JUDGED)
@pytest.mark.usefixtures("few_samples")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_values_and_limits_are_in_range(judged: Judged) -> None:
    table = columns(judged)
    found = [raw_agreement(table)]
    found += [krippendorffs_alpha(table, metric) for metric in get_args(Metric)]
    for row in found:
        assert row.note or None not in (row.value, row.low, row.high)
        numbers = [v for v in (row.value, row.low, row.high) if v is not None]
        assert all(math.isfinite(v) and v <= 1 for v in numbers)
        assert row.low is None or row.low <= row.high
    assert rows_to_frame(found).height == 3


@given(JUDGED)
@pytest.mark.usefixtures("few_samples")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ordinal_keeps_to_order(judged: Judged) -> None:
    other = {d: {j: 10**v for j, v in said.items()} for d, said in judged.items()}
    one, same = (krippendorffs_alpha(columns(each), "ordinal").value for each in (judged, other))
    assert is_same(one, same)


@given(st.lists(GRADES, min_size=2, max_size=12).filter(lambda values: len(set(values)) > 1))
@pytest.mark.usefixtures("few_samples")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_judges_who_always_agree_have_one(values: list[int]) -> None:
    table = two([(value, value) for value in values])
    assert cohens_kappa(table).value == 1
    for metric in get_args(Metric):
        assert krippendorffs_alpha(table, metric).value == 1


def all_of(table: pl.DataFrame) -> list[Agreement]:
    return [raw_agreement(table), cohens_kappa(table), krippendorffs_alpha(table)]


# --- intervals ------------------------------------------------------------------------------


def test_intervals_cover_what_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    # Both say what a fair coin says, each with an error of 0.1 of their own: they agree in
    # 0.82 of the items, chance is 0.5, and kappa and alpha are 0.64.
    rng = np.random.default_rng(8)
    covered = {"raw": 0, "kappa": 0, "alpha(metric=nominal)": 0}
    truth = {"raw": 0.82, "kappa": 0.64, "alpha(metric=nominal)": 0.64}
    for seed in range(300):
        coin = rng.random(100) < 0.5
        said = [coin ^ (rng.random(100) < 0.1) for _ in range(2)]
        table = two(list(zip(*(s.tolist() for s in said), strict=True)))
        monkeypatch.setattr(agreement, "_SAMPLES", 500)
        monkeypatch.setattr(agreement, "_SEED", seed)
        for found in all_of(table):
            covered[found.measure] += bool(found.low <= truth[found.measure] <= found.high)
    assert all(0.91 <= n / 300 <= 0.98 for n in covered.values()), covered


def test_intervals_of_many_items_are_those_of_drawing_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    table = {"item": np.repeat(np.arange(2000), 3), "judge": np.tile([1, 2, 3], 2000),
             "value": rng.integers(1, 5, 6000)}  # fmt: skip
    table["value"][1::3] = table["value"][0::3]
    found = krippendorffs_alpha(pl.DataFrame(table), metric="ordinal")
    values = table["value"].reshape(-1, 3)
    drawn: list[Any] = []
    monkeypatch.setattr(agreement, "_SAMPLES", 1)
    for _ in range(120):
        some = values[rng.integers(0, 2000, 2000)]
        again = {**table, "value": some.ravel()}
        drawn.append(krippendorffs_alpha(pl.DataFrame(again), metric="ordinal").value)
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.25)


# --- the edges ------------------------------------------------------------------------------


def test_where_everybody_says_the_same_chance_cannot_be_known() -> None:
    raw, kappa, alpha = all_of(two([(1, 1)] * 9))
    assert (raw.value, raw.low, raw.high) == (1.0, 1.0, 1.0)
    assert "the interval is not informative" in raw.note
    for found in (kappa, alpha):
        assert (found.value, found.low, found.high, found.items) == (None, None, None, 9)
        assert found.note == ONE_VALUE


def test_judges_who_never_agree_are_at_chance_or_below() -> None:
    # Each keeps to one value, but not the same: chance alone explains it.
    assert cohens_kappa(two([(0, 1)] * 5)).value == 0
    assert cohens_kappa(two([(0, 1), (1, 0)] * 5)).value == -1


def test_one_item_has_no_interval() -> None:
    found = raw_agreement(two([(0, 1)]))
    assert (found.value, found.low, found.high) == (0.0, None, None)
    assert "no interval" in found.note


def test_samples_in_which_everybody_says_the_same_are_reported() -> None:
    rare = krippendorffs_alpha(two([(0, 0)] * 7 + [(1, 1), (0, 1)]))
    assert rare.value is not None
    assert "samples all judgements are equal" in rare.note
    # With a single other item of three, 8 of 27 samples are without it: the interval stands.
    assert krippendorffs_alpha(two([(0, 0), (0, 0), (1, 0)])).low is not None


def test_most_samples_without_a_value_give_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "_SAMPLES", 8)
    monkeypatch.setattr(
        agreement, "resampled_sums", lambda c, n, _: np.repeat(c[:1], n, axis=0) * len(c)
    )
    found = krippendorffs_alpha(two([(0, 0), (1, 1)]))
    assert (found.value, found.low, found.high) == (1.0, None, None)
    assert found.note == "in 8 of 8 samples all judgements are equal: no interval"
