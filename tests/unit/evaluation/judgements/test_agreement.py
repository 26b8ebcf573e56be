"""Agreement: published and hand-computed cases, statsmodels, the slow twins, and the edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats import inter_rater
from tests.reference import agreement as slow

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.judgements.agreement import (
    METRICS,
    NO_PAIRS,
    ONE_VALUE,
    WEIGHTS,
    Agreement,
    Bootstrap,
    Metric,
    Weights,
    cohens_kappa,
    krippendorffs_alpha,
    raw_agreement,
)
from citebed.frames import rows_to_frame

FEW = Bootstrap(samples=50)
GRADES = st.integers(0, 3)
SAID = st.dictionaries(st.sampled_from("abcd"), GRADES, max_size=4)
JUDGED = st.lists(SAID, max_size=12).map(lambda said: {f"d{n}": s for n, s in enumerate(said)})
PAIRS = st.lists(st.tuples(GRADES, GRADES), min_size=1, max_size=30)
POWERS: dict[str, int] = {"none": 0, "linear": 1, "quadratic": 2}
Judged = Mapping[str, Mapping[str, int]]


def columns(judged: Judged) -> pl.DataFrame:
    rows = [(item, judge, value) for item, said in judged.items() for judge, value in said.items()]
    schema = {"item": pl.String, "judge": pl.String, "value": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def two(pairs: Sequence[tuple[Any, Any]]) -> dict[str, list[Any]]:
    """What two judges said of items, as columns."""
    items = [item for item in range(len(pairs)) for _ in range(2)]
    values = [value for pair in pairs for value in pair]
    return {"item": items, "judge": ["ann", "bob"] * len(pairs), "value": values}


def filled(table: Sequence[Sequence[int]]) -> dict[str, list[Any]]:
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
PUBLISHED: dict[str, Sequence[Any]] = {
    "item": [unit for _ in OBSERVERS for unit in range(1, 13)],
    "judge": [observer for observer in OBSERVERS for _ in range(12)],
    "value": [value for values in OBSERVERS.values() for value in values],
}


@pytest.mark.parametrize(
    ("metric", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_as_published(metric: Metric, value: float) -> None:
    found = krippendorffs_alpha(PUBLISHED, metric=metric)
    assert found.value == pytest.approx(value, abs=5e-4)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    # Unit 12 has one judgement only and counts for nothing.
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


def test_weighted_kappa_by_hand() -> None:
    # Totals 2, 1, 1 and 1, 2, 1 of 4. Observed: one pair is 1 apart. Expected, linear:
    # (2·2·1 + 2·1·2 + 1·1·1 + 1·1·1 + 1·1·2 + 1·2·1) / 4 = 14/4; quadratic, with 4 for 2: 20/4.
    table = filled([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    assert cohens_kappa(table, weights="linear").value == pytest.approx(1 - 4 / 14)
    assert cohens_kappa(table, weights="quadratic").value == pytest.approx(1 - 4 / 20)


def test_raw_agreement_counts_pairs_of_judgements() -> None:
    # Three judges make three pairs, of which one agrees; two make one, which agrees.
    table = columns({"d1": {"a": 1, "b": 1, "c": 0}, "d2": {"a": 0, "c": 0}, "d3": {"b": 1}})
    found = raw_agreement(table)
    assert found.value == pytest.approx((1 + 1) / (3 + 1))
    assert (found.items, found.judges) == (2, 3)


# --- against others -------------------------------------------------------------------------


@given(PAIRS, st.sampled_from(["none", "linear", "quadratic"]))
def test_kappa_is_that_of_statsmodels(pairs: list[tuple[int, int]], weights: Weights) -> None:
    table = np.zeros((4, 4))
    for a, b in pairs:
        table[a, b] += 1
    found = cohens_kappa(two(pairs), weights=weights, bootstrap=FEW).value
    if found is None:
        assert len({value for pair in pairs for value in pair}) == 1
        return
    wt = None if weights == "none" else weights
    assert found == pytest.approx(inter_rater.cohens_kappa(table, wt=wt, return_results=False))


@given(JUDGED, st.sampled_from(get_args(Metric)))
def test_alpha_is_that_of_the_twin(judged: Judged, metric: Metric) -> None:
    found = krippendorffs_alpha(columns(judged), metric=metric, bootstrap=FEW).value
    expected = slow.alpha(judged, metric)
    assert is_same(found, expected)


@given(JUDGED, st.sampled_from(get_args(Weights)))
def test_kappas_and_raw_agreement_are_those_of_the_twin(judged: Judged, weights: Weights) -> None:
    expected = slow.raw(judged)
    found = raw_agreement(columns(judged), bootstrap=FEW).value
    assert is_same(found, expected)
    judges = sorted({judge for said in judged.values() for judge in said})
    for a, b in combinations(judges, 2):
        if not any({a, b} <= {*said} for said in judged.values()):
            continue
        kappa = cohens_kappa(columns(judged), judges=(a, b), weights=weights, bootstrap=FEW)
        wanted = slow.kappa(judged, a, b, POWERS[weights])
        assert is_same(kappa.value, wanted)
        assert kappa.items == sum({a, b} <= {*said} for said in judged.values())


def test_the_twins_cover_everything() -> None:
    assert set(METRICS) == set(get_args(Metric))
    assert set(WEIGHTS) == set(get_args(Weights)) == set(POWERS)


# --- what must hold -------------------------------------------------------------------------


@given(JUDGED, st.permutations(range(4)), st.randoms(use_true_random=False))
def test_order_and_names_do_not_matter(judged: Judged, other: Sequence[int], chance: Any) -> None:
    names = dict(zip("abcd", (f"judge {n}" for n in other), strict=True))
    items = list(judged)
    chance.shuffle(items)
    same = {f"x{d}": {names[j]: other[v] for j, v in judged[d].items()} for d in items}
    one, two_ = (krippendorffs_alpha(columns(j), bootstrap=FEW).value for j in (judged, same))
    assert is_same(one, two_)


@given(JUDGED)
def test_ordinal_keeps_to_order_and_interval_to_distances(judged: Judged) -> None:
    changes: dict[Metric, Callable[[int], int]] = {
        "ordinal": lambda v: 10**v,
        "interval": lambda v: 7 - 3 * v,
    }
    for metric, change in changes.items():
        other = {d: {j: change(v) for j, v in said.items()} for d, said in judged.items()}
        values = [krippendorffs_alpha(columns(j), metric=metric, bootstrap=FEW).value
                  for j in (judged, other)]  # fmt: skip
        assert is_same(*values)


@given(JUDGED)
def test_values_and_limits_are_in_range(judged: Judged) -> None:
    table = columns(judged)
    found = [raw_agreement(table, bootstrap=FEW), cohens_kappa(table, bootstrap=FEW)]
    found += [
        krippendorffs_alpha(table, metric=metric, bootstrap=FEW) for metric in get_args(Metric)
    ]
    for row in found:
        assert row.note or None not in (row.value, row.low, row.high)
        numbers = [v for v in (row.value, row.low, row.high) if v is not None]
        assert all(math.isfinite(v) and v <= 1 for v in numbers)
        assert row.low is None or row.low <= row.high
    assert rows_to_frame(found).height == 5


@given(st.lists(GRADES, min_size=2, max_size=12).filter(lambda values: len(set(values)) > 1))
def test_judges_who_always_agree_have_one(values: list[int]) -> None:
    table = two([(value, value) for value in values])
    for weights in get_args(Weights):
        assert cohens_kappa(table, weights=weights, bootstrap=FEW).value == 1
    for metric in get_args(Metric):
        assert krippendorffs_alpha(table, metric=metric, bootstrap=FEW).value == 1


# --- intervals ------------------------------------------------------------------------------


def test_intervals_cover_what_they_should() -> None:
    # Both say what a fair coin says, each with an error of 0.1 of their own: they agree in
    # 0.82 of the items, chance is 0.5, and kappa and alpha are 0.64.
    rng = np.random.default_rng(8)
    covered = {"raw": 0, "kappa": 0, "alpha(metric=nominal)": 0}
    truth = {"raw": 0.82, "kappa": 0.64, "alpha(metric=nominal)": 0.64}
    for seed in range(300):
        coin = rng.random(100) < 0.5
        said = [coin ^ (rng.random(100) < 0.1) for _ in range(2)]
        table = two(list(zip(*(s.tolist() for s in said), strict=True)))
        drawn = Bootstrap(samples=500, seed=seed)
        for made in (raw_agreement, cohens_kappa, krippendorffs_alpha):
            found = made(table, bootstrap=drawn)
            covered[found.measure] += bool(found.low <= truth[found.measure] <= found.high)
    assert all(0.91 <= n / 300 <= 0.98 for n in covered.values()), covered


def test_intervals_of_many_items_are_those_of_drawing_one_by_one() -> None:
    rng = np.random.default_rng(3)
    table = {"item": np.repeat(np.arange(2000), 3), "judge": np.tile([1, 2, 3], 2000),
             "value": rng.integers(1, 5, 6000)}  # fmt: skip
    table["value"][1::3] = table["value"][0::3]
    found = krippendorffs_alpha(pl.DataFrame(table), metric="ordinal")
    values = table["value"].reshape(-1, 3)
    drawn: list[Any] = []
    for _ in range(120):
        some = values[rng.integers(0, 2000, 2000)]
        again = {**table, "value": some.ravel()}
        one = Bootstrap(samples=1)
        drawn.append(
            krippendorffs_alpha(pl.DataFrame(again), metric="ordinal", bootstrap=one).value
        )
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.25)


def test_the_same_seed_gives_the_same_interval() -> None:
    one, again, other = (
        krippendorffs_alpha(PUBLISHED, bootstrap=Bootstrap(samples=300, seed=seed))
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other
    wide = krippendorffs_alpha(PUBLISHED, bootstrap=Bootstrap(level=0.99))
    narrow = krippendorffs_alpha(PUBLISHED, bootstrap=Bootstrap(level=0.5))
    assert wide.low < narrow.low <= narrow.high <= wide.high


def test_values_without_end_are_resampled_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from citebed.evaluation.judgements import agreement

    rng = np.random.default_rng(1)
    truth = rng.normal(size=40)
    table = two([(float(t), float(t + rng.normal() / 3)) for t in truth])
    whole = krippendorffs_alpha(table, metric="interval")
    monkeypatch.setattr(agreement, "_BLOCK", 7000)
    parts = krippendorffs_alpha(table, metric="interval")
    assert parts.value == whole.value
    assert parts.low == pytest.approx(whole.low, abs=0.02)
    assert parts.high == pytest.approx(whole.high, abs=0.02)


# --- the edges ------------------------------------------------------------------------------


def all_of(table: Any) -> list[Agreement]:
    return [raw_agreement(table), cohens_kappa(table), krippendorffs_alpha(table)]


def test_where_no_item_was_judged_twice_there_is_no_value() -> None:
    alone = columns({"d1": {"a": 1}, "d2": {"b": 0}, "d3": {"c": 1}})
    gone: dict[str, list[Any]] = {
        "item": ["d1", "d1"],
        "judge": ["a", "b"],
        "value": [1.0, math.nan],
    }
    nothing: dict[str, list[Any]] = {"item": [], "judge": [], "value": []}
    for table in (alone, gone, nothing):
        for found in all_of(table):
            assert (found.value, found.low, found.high, found.items) == (None, None, None, 0)
            assert found.note == NO_PAIRS


def test_where_everybody_says_the_same_chance_cannot_be_told() -> None:
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


def test_samples_in_which_everybody_says_the_same_are_told() -> None:
    rare = krippendorffs_alpha(two([(0, 0)] * 7 + [(1, 1), (0, 1)]))
    assert rare.value is not None
    assert "samples all judgements are equal" in rare.note
    # With a single other item of three, 8 of 27 samples are without it: the interval stands.
    assert krippendorffs_alpha(two([(0, 0), (0, 0), (1, 0)])).low is not None


def test_most_samples_without_a_value_give_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    from citebed.evaluation.judgements import agreement

    monkeypatch.setattr(
        agreement, "resampled_sums", lambda c, n, _: np.repeat(c[:1], n, axis=0) * len(c)
    )
    found = krippendorffs_alpha(two([(0, 0), (1, 1)]), bootstrap=Bootstrap(samples=8))
    assert (found.value, found.low, found.high) == (1.0, None, None)
    assert found.note == "in 8 of 8 samples all judgements are equal: no interval"


def test_kappa_is_of_two_judges() -> None:
    found = cohens_kappa(PUBLISHED)
    assert found.value is None
    assert "found 4: name a pair, or use alpha" in found.note
    pair = cohens_kappa(PUBLISHED, judges=("A", "B"))
    assert (pair.value is None, pair.judges) == (False, 2)
    with pytest.raises(UnknownName, match="unknown judge 'E'"):
        cohens_kappa(PUBLISHED, judges=("A", "E"))


def test_judges_may_be_numbers() -> None:
    table = {"item": [1, 1, 2, 2, 3, 3], "judge": [7, 8, 7, 8, 7, 9], "value": [1, 1, 0, 1, 1, 0]}
    assert cohens_kappa(table, judges=(7, 8)).items == 2


def test_words_need_a_scale_where_their_order_matters() -> None:
    grades = ["none", "some", "all"]
    table = two([("none", "none"), ("some", "all"), ("all", "all"), ("none", "some")])
    numbers = two([(0, 0), (1, 2), (2, 2), (0, 1)])
    assert cohens_kappa(table).value == cohens_kappa(numbers).value
    assert krippendorffs_alpha(table).value == krippendorffs_alpha(numbers).value
    for call in (lambda **kw: cohens_kappa(**kw, weights="linear"),
                 lambda **kw: krippendorffs_alpha(**kw, metric="ordinal")):  # fmt: skip
        with pytest.raises(CitebedError, match="give all of them as the scale, lowest first"):
            call(judgements=table)
        with_scale = call(judgements=table, scale=grades)
        assert with_scale.value == pytest.approx(call(judgements=numbers).value)
    with pytest.raises(CitebedError, match="needs numbers, found 'none'"):
        krippendorffs_alpha(table, metric="interval", scale=grades)


def test_values_besides_the_scale_are_refused() -> None:
    with pytest.raises(CitebedError, match="the value '5' is not on the scale"):
        krippendorffs_alpha(PUBLISHED, scale=[1, 2, 3, 4])
    unused = krippendorffs_alpha(PUBLISHED, metric="ordinal", scale=range(10))
    assert unused.value == krippendorffs_alpha(PUBLISHED, metric="ordinal").value


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"item": [1], "value": [1]}, "no column 'judge': expected item, judge and value"),
        ({"item": [1, 1], "judge": ["a", "a"], "value": [1, 0]}, "'a' judged the item '1' more"),
        ({"item": [1, None], "judge": ["a", "b"], "value": [1, 0]}, "without an item or a judge"),
    ],
)
def test_tables_that_are_none_are_refused(table: Any, message: str) -> None:
    for measured in (raw_agreement, cohens_kappa, krippendorffs_alpha):
        with pytest.raises(CitebedError, match=message):
            measured(table)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(UnknownName, match="unknown metric 'ratio'"):
        krippendorffs_alpha(PUBLISHED, metric="ratio")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="unknown weights 'cubic'"):
        cohens_kappa(PUBLISHED, weights="cubic")  # type: ignore[arg-type]
    with pytest.raises(CitebedError, match="found level=1"):
        Bootstrap(level=1)
    with pytest.raises(CitebedError, match="found samples=0"):
        raw_agreement(PUBLISHED, bootstrap=Bootstrap(samples=0))
