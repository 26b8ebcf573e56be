"""Fusion of runs: by hand, by ranx's numbers, and equal to the slow version."""

from __future__ import annotations

import itertools

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import fusing as reference
from tests.sampling import examples

from citebed.errors import CitebedError
from citebed.runs.fusion import METHODS, NORMALISATIONS, Fusion, fuse
from citebed.runs.reader import as_run
from citebed.runs.tables import Run

A = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "only": {"x": 5.0}}
B = {"q": {"c": 9.0, "d": 5.0}}


def fused(how: Fusion, *runs: object) -> dict[tuple[str, str], float]:
    table = fuse([as_run(run, f"run{n}") for n, run in enumerate(runs)], how).table
    return {(query, document): score for query, document, score in table.rows()}


def of_q(method: str, normalise: str | None = None) -> dict[str, float]:
    found = fused(Fusion(method=method, normalise=normalise), A, B)
    return {document: score for (query, document), score in found.items() if query == "q"}


# By minmax A gives a 1, b 1/2, c 0 and B gives c 1, d 0.
BY_HAND = {
    "rrf": {"a": 1 / 61, "b": 1 / 62, "c": 1 / 63 + 1 / 61, "d": 1 / 62},
    "combsum": {"a": 1, "b": 0.5, "c": 1, "d": 0},
    "combmnz": {"a": 1, "b": 0.5, "c": 2, "d": 0},
    "combmed": {"a": 1, "b": 0.5, "c": 0.5, "d": 0},
    "combmin": {"a": 1, "b": 0.5, "c": 0, "d": 0},
    "combmax": {"a": 1, "b": 0.5, "c": 1, "d": 0},
    "isr": {"a": 1, "b": 1 / 4, "c": 2 * (1 / 9 + 1), "d": 1 / 4},
    # Four candidates: A gives 4, 3, 2 and d what is left, 1; B gives c 4, d 3, the others 1.5.
    "borda": {"a": 5.5, "b": 4.5, "c": 6, "d": 4},
    "interpolate": {"a": 0.5, "b": 0.25, "c": 0.5, "d": 0},
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_by_hand(method: str) -> None:
    assert of_q(method) == pytest.approx(BY_HAND[method], abs=1e-15)


@pytest.mark.parametrize(
    ("normalise", "expected"),
    [
        ("none", {"a": 3, "b": 2, "c": 10, "d": 5}),
        ("max", {"a": 1, "b": 2 / 3, "c": 1 / 3 + 1, "d": 5 / 9}),
        ("sum", {"a": 2 / 3, "b": 1 / 3, "c": 1, "d": 0}),
        ("rank", {"a": 1, "b": 2 / 3, "c": 1 / 3 + 1, "d": 1 / 2}),
        # A: (1.5, 0, -1.5)^½, B: 1, -1; who is missing counts as the lowest of the run.
        ("zscore", {"a": 1.5**0.5 - 1, "b": -1, "c": 1 - 1.5**0.5, "d": -(1.5**0.5) - 1}),
    ],
)
def test_every_normalisation_by_hand(normalise: str, expected: dict[str, float]) -> None:
    assert of_q("combsum", normalise) == pytest.approx(expected, abs=1e-12)


# Made with ranx 0.3.21 (fuse, scores without ties) of two runs of one query.
RANX_RUNS = (
    {"q": {"d01": 7.25, "d02": 3.5, "d03": 1.75, "d04": 9.0}},
    {"q": {"d02": 0.5, "d05": 2.5, "d04": 1.25}},
)
RANX: dict[tuple[str, str | None], tuple[float, ...]] = {
    ("combsum", "minmax"): (0.7586206896551724, 0.2413793103448276, 0.0, 1.375, 1.0),
    ("combsum", "sum"): (
        0.3793103448275862, 0.1206896551724138, 0.0, 0.7727272727272727, 0.7272727272727273,
    ),
    ("combsum", "rank"): (0.75, 0.8333333333333334, 0.25, 1.6666666666666667, 1.0),
    ("combsum", "none"): (7.25, 4.0, 1.75, 10.25, 2.5),
    ("combmnz", "minmax"): (0.7586206896551724, 0.4827586206896552, 0.0, 2.75, 1.0),
    ("combmnz", "sum"): (
        0.3793103448275862, 0.2413793103448276, 0.0, 1.5454545454545454, 0.7272727272727273,
    ),
    ("combmnz", "rank"): (0.75, 1.6666666666666667, 0.25, 3.3333333333333335, 1.0),
    ("combmnz", "none"): (7.25, 8.0, 1.75, 20.5, 2.5),
    ("combmed", "minmax"): (0.7586206896551724, 0.1206896551724138, 0.0, 0.6875, 1.0),
    ("combmed", "sum"): (
        0.3793103448275862, 0.0603448275862069, 0.0, 0.38636363636363635, 0.7272727272727273,
    ),
    ("combmed", "rank"): (0.75, 0.4166666666666667, 0.25, 0.8333333333333334, 1.0),
    ("combmed", "none"): (7.25, 2.0, 1.75, 5.125, 2.5),
    ("combmin", "minmax"): (0.7586206896551724, 0.0, 0.0, 0.375, 1.0),
    ("combmin", "sum"): (0.3793103448275862, 0.0, 0.0, 0.2727272727272727, 0.7272727272727273),
    ("combmin", "rank"): (0.75, 0.33333333333333337, 0.25, 0.6666666666666667, 1.0),
    ("combmin", "none"): (7.25, 0.5, 1.75, 1.25, 2.5),
    ("combmax", "minmax"): (0.7586206896551724, 0.2413793103448276, 0.0, 1.0, 1.0),
    ("combmax", "sum"): (0.3793103448275862, 0.1206896551724138, 0.0, 0.5, 0.7272727272727273),
    ("combmax", "rank"): (0.75, 0.5, 0.25, 1.0, 1.0),
    ("combmax", "none"): (7.25, 3.5, 1.75, 9.0, 2.5),
    ("combmed", "zscore"): (
        0.6497221227363149, -0.8804449608718734, -1.256129437290209, 0.5270494641898834,
        1.3131983079178737,
    ),
    ("combmin", "zscore"): (
        0.6497221227363149, -1.1111677990074318, -1.256129437290209, -0.20203050891044222,
        1.3131983079178737,
    ),
    ("combmax", "zscore"): (
        0.6497221227363149, -0.6497221227363149, -1.256129437290209, 1.256129437290209,
        1.3131983079178737,
    ),
    ("rrf", None): (
        0.016129032258064516, 0.031746031746031744, 0.015625, 0.03252247488101534,
        0.01639344262295082,
    ),
    ("isr", None): (0.25, 0.4444444444444444, 0.0625, 2.5, 1.0),
    ("borda", None): (5.5, 6.0, 3.5, 9.0, 6.0),
}  # fmt: skip
"""The scores of d01 to d05."""


@pytest.mark.parametrize("key", RANX)
def test_ranx_gives_the_same(key: tuple[str, str | None]) -> None:
    found = fused(Fusion(method=key[0], normalise=key[1]), *RANX_RUNS)
    expected = {f"d0{number}": score for number, score in enumerate(RANX[key], 1)}
    assert {doc: score for (_, doc), score in found.items()} == pytest.approx(expected, abs=1e-12)


def test_a_query_that_a_run_lacks_counts_there_as_nothing() -> None:
    """Neither as a worst score, nor as Borda's shared points."""
    for method in METHODS:
        alone = fused(Fusion(method=method, weights=None), {"only": A["only"]})
        both = fused(Fusion(method=method), A, B)
        scale = 2 if method == "interpolate" else 1  # whose weights are 1/n
        assert both["only", "x"] * scale == pytest.approx(alone["only", "x"])


def test_ties_go_by_document_id_descending_and_depth_cuts_after_them() -> None:
    runs = [as_run({"q": {"a": 1.0, "é": 1.0, "b": 1.0}, "p": {"z": 1.0}})]
    table = fuse(runs, Fusion(method="combsum", depth=2)).table
    assert table.select("query_id", "doc_id").rows() == [("p", "z"), ("q", "é"), ("q", "b")]
    # Equal scores are ranked by id: é is first.
    ranks = fuse(runs, Fusion(method="rrf", k0=0)).table
    assert dict(ranks.filter(pl.col("query_id") == "q").select("doc_id", "score").rows()) == {
        "é": 1.0,
        "b": 1 / 2,
        "a": 1 / 3,
    }


@pytest.mark.parametrize("method", ["rrf", "combsum", "borda", "interpolate"])
def test_a_run_of_weight_two_is_that_run_twice(method: str) -> None:
    heavy = fused(Fusion(method=method, weights=(2.0, 1.0)), A, B)
    twice = fused(Fusion(method=method, weights=(1.0, 1.0, 1.0)), A, A, B)
    assert heavy == pytest.approx(twice)


@pytest.mark.parametrize(
    ("given_settings", "message"),
    [
        ({"method": "combsun"}, "Did you mean 'combsum'"),
        ({"method": "combsum", "normalise": "minmx"}, "Did you mean 'minmax'"),
        ({"method": "rrf", "normalise": "minmax"}, "reads ranks"),
        ({"method": "combmax", "weights": (1.0, 1.0)}, "leave out the weights"),
        ({"weights": (1.0, -1.0)}, "not below 0"),
        ({"weights": (1.0, float("nan"))}, "not below 0"),
        ({"weights": (0.0, 0.0)}, "all weights are 0"),
        ({"depth": 0}, "depth 0"),
        ({"k0": -1.0}, "k0"),
    ],
)
def test_what_makes_no_sense_is_refused(given_settings: dict[str, object], message: str) -> None:
    with pytest.raises(CitebedError, match=message):
        Fusion(**given_settings)  # type: ignore[arg-type]


def test_scores_that_hardly_differ_stay_finite() -> None:
    """Their spread squared is 0 in double precision."""
    found = fused(Fusion(method="combsum", normalise="zscore"), {"q": {"a": 0.0, "b": 1e-181}})
    assert set(found.values()) == {0.0}


def test_runs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(CitebedError, match="no run to fuse"):
        fuse([], Fusion())
    with pytest.raises(CitebedError, match="found 1 weight for 2 runs; give one per run"):
        fused(Fusion(weights=(1.0,)), A, B)
    table = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "a"], "score": [1.0, 2.0]})
    with pytest.raises(CitebedError, match="'a' is retrieved twice for query 'q'"):
        fuse([Run(table)], Fusion())


RUNS = st.lists(
    st.dictionaries(
        st.sampled_from(["p", "q"]),
        st.dictionaries(
            st.sampled_from(["a", "b", "c", "é", "ab"]),
            st.integers(-4, 4).map(float) | st.floats(-1e3, 1e3).map(lambda score: round(score, 6)),
            min_size=1,
        ),
        min_size=1,
    ),
    min_size=1,
    max_size=4,
)
WAYS = [
    (method, scale)
    for method, how in METHODS.items()
    for scale in (NORMALISATIONS if how.by_score else ("none",))
]


@given(RUNS, st.sampled_from(WAYS), st.data())
def test_equal_to_the_slow_version(
    runs: list[reference.Run], way: tuple[str, str], data: st.DataObject
) -> None:
    method, scale = way
    weights = None
    if METHODS[method].weighs:
        weights = data.draw(st.tuples(*[st.floats(0, 4, allow_subnormal=False)] * len(runs)))
        assume(any(weights))
    how = Fusion(
        method=method, normalise=scale if METHODS[method].by_score else None, weights=weights
    )
    found = fused(how, *runs)
    expected = reference.fused(runs, reference.Way(method, scale), weights or [1.0] * len(runs))
    flat = {(q, d): s for q, scores in expected.items() for d, s in scores.items()}
    assert found == pytest.approx(flat, rel=1e-7, abs=1e-7)


@settings(max_examples=examples(50))
@given(RUNS, st.sampled_from(WAYS))
def test_the_order_of_the_runs_does_not_matter(
    runs: list[reference.Run], way: tuple[str, str]
) -> None:
    method, scale = way
    how = Fusion(method=method, normalise=scale if METHODS[method].by_score else None)
    first = fused(how, *runs)
    for order in itertools.islice(itertools.permutations(runs), 6):
        assert list(fused(how, *order).items()) == list(first.items())


def test_scores_beyond_numbers_are_reported() -> None:
    runs = [as_run({"q": {"a": 1e308, "b": -1e308}}), as_run({"q": {"a": 1e308, "b": 1.0}})]
    with pytest.raises(CitebedError, match="their sums overflow"):
        fuse(runs, Fusion(method="combsum", normalise="minmax"))
