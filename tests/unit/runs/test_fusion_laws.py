"""Fusion of runs, by hand and by its laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import CitebedError
from citebed.runs.fusion import NORMALISATIONS, Fusion, fuse

Rows = list[tuple[str, str, float]]
SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}


def run(*rows: tuple[str, str, float]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), SCHEMA, orient="row")


def in_rank_order(table: pl.DataFrame) -> pl.DataFrame:
    return table.sort("query_id", "score", "doc_id", descending=[False, True, True])


def sum_scores(runs: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return fuse(runs, Fusion(method="interpolate", normalise="max")).table


def interpolate(
    runs: Sequence[pl.DataFrame], weights: Sequence[float], normalise: str = "minmax"
) -> pl.DataFrame:
    how = Fusion(method="interpolate", normalise=normalise, weights=tuple(weights))
    return fuse(runs, how).table


def reciprocal_rank(runs: Sequence[pl.DataFrame], k: float = 60) -> pl.DataFrame:
    return fuse(runs, Fusion(method="rrf", k0=k)).table


def close(found: pl.DataFrame, expected: Rows) -> None:
    assert found.columns == list(SCHEMA)
    assert [row[:2] for row in found.rows()] == [row[:2] for row in expected]
    for row, (*_, score) in zip(found.rows(), expected, strict=True):
        assert row[2] == pytest.approx(score, abs=1e-12)


BM25 = run(("q1", "a", 20.0), ("q1", "b", 15.0), ("q1", "c", 10.0), ("q2", "a", 4.0))
COSINE = run(("q1", "a", 0.4), ("q1", "b", 0.8), ("q1", "c", 0.6), ("q2", "a", 0.5))


def test_sum_as_acm_cr_has_it() -> None:
    """Each score by the best of its query, half of each: a 1/2 + 0.4/0.8/2, and so on."""
    expected = [("q1", "b", 0.875), ("q1", "a", 0.75), ("q1", "c", 0.625), ("q2", "a", 1.0)]
    close(sum_scores([BM25, COSINE]), expected)


def test_sum_of_scores_below_zero_keeps_their_order() -> None:
    """Log probabilities -2 and -3 become -1 and -1.5; the missing one is as low as the lowest."""
    negative = run(("q1", "a", -2.0), ("q1", "b", -3.0))
    positive = run(("q1", "a", 1.0), ("q1", "b", 1.0), ("q1", "c", 1.0))
    expected = [("q1", "a", 0.0), ("q1", "c", -0.25), ("q1", "b", -0.25)]
    close(sum_scores([negative, positive]), expected)
    from_zero = run(("q", "a", 0.0), ("q", "b", -1.0), ("q", "c", -4.0))
    close(sum_scores([from_zero]), [("q", "a", 0.0), ("q", "b", -0.25), ("q", "c", -1.0)])
    close(sum_scores([run(("q", "a", 0.0))]), [("q", "a", 0.0)])


def test_interpolated_in_standard_deviations() -> None:
    """Of 20, 15, 10 the mean is 15 and the deviation √(50/3): z is ±√1.5 at the ends.

    Document d, which BM25 does not have, gets the low score of c.
    """
    other = run(("q1", "d", 5.0), ("q1", "a", 3.0))
    z = math.sqrt(1.5)
    expected = [
        ("q1", "a", 2 * z - 1), ("q1", "b", 0.0 - 1), ("q1", "d", -2 * z + 1),
        ("q1", "c", -2 * z - 1), ("q2", "a", 0.0),
    ]  # fmt: skip
    close(interpolate([BM25, other], [2, 1], normalise="zscore"), expected)


def test_the_same_ranks_in_another_order_are_a_tie() -> None:
    """1/61 + 1/62 + 1/63 must be one number, in whichever order it is added."""
    ranks = ("abc", "bca", "cab")
    runs = [run(*(("q", doc, -place) for place, doc in enumerate(r))) for r in ranks]
    fused = reciprocal_rank(runs)
    assert fused["score"].n_unique() == 1
    assert fused["doc_id"].to_list() == ["c", "b", "a"]


# --- laws -----------------------------------------------------------------------------------

scores = st.integers(-50, 50).map(float)
pairs = st.tuples(st.sampled_from("pq"), st.sampled_from("abcdef"))
runs_ = st.dictionaries(pairs, scores, min_size=1, max_size=12).map(
    lambda found: run(*((query, doc, score) for (query, doc), score in found.items()))
)
FUSIONS: dict[str, Callable[[list[pl.DataFrame]], pl.DataFrame]] = {
    "sum": sum_scores,
    "rrf": reciprocal_rank,
    **{
        kind: lambda runs, kind=kind: interpolate(runs, [0.5] * len(runs), kind)  # type: ignore[misc]
        for kind in NORMALISATIONS
    },
}


@pytest.mark.parametrize("name", FUSIONS)
@given(one=runs_)
def test_one_run_keeps_its_order(name: str, one: pl.DataFrame) -> None:
    fused = FUSIONS[name]([one])
    assert fused.rows() == in_rank_order(fused).rows()
    keep = ["query_id", "doc_id"]
    assert fused.select(keep).rows() == in_rank_order(one).select(keep).rows()


@pytest.mark.parametrize("name", ["sum", "rrf", "minmax", "zscore", "max"])
@given(some=st.lists(runs_, min_size=1, max_size=3), power=st.integers(-4, 4))
def test_a_run_in_other_units_gives_the_same(
    name: str, some: list[pl.DataFrame], power: int
) -> None:
    scaled = [some[0].with_columns(pl.col("score") * 2.0**power), *some[1:]]
    assert FUSIONS[name](some).rows() == FUSIONS[name](scaled).rows()


@given(some=st.lists(runs_, min_size=1, max_size=3))
def test_reciprocal_ranks_see_only_the_order(some: list[pl.DataFrame]) -> None:
    bent = [part.with_columns(pl.col("score") ** 3 - 7) for part in some]
    assert reciprocal_rank(some).rows() == reciprocal_rank(bent).rows()


@given(one=runs_, other=runs_)
def test_a_missing_document_never_gains(one: pl.DataFrame, other: pl.DataFrame) -> None:
    """With all weight on one run, what it has not is not above what it has."""
    for kind in NORMALISATIONS:
        fused = interpolate([one, other], [1, 0], kind)
        for query in "pq":
            mine = set(one.filter(query_id=query)["doc_id"])
            rows = fused.filter(query_id=query).select("doc_id", "score").rows()
            inside = [score for doc, score in rows if doc in mine]
            outside = [score for doc, score in rows if doc not in mine]
            if inside and outside:
                assert max(outside) <= min(inside)


# --- bad input ------------------------------------------------------------------------------

BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: sum_scores([BM25, BM25.drop("score")]), "no column 'score'. Found: query_id, doc_id"),
    (lambda: sum_scores([run(("q", "a", math.nan))]), "score of row 1, nan, is not a finite num"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(CitebedError, match=message):
        call()


def test_empty_runs_and_other_types_of_column() -> None:
    empty = run()
    assert sum_scores([empty, empty]).rows() == []
    close(reciprocal_rank([empty, run(("q", "a", 1.0))]), [("q", "a", 1 / 61)])
    numbers = pl.DataFrame({"rank": [1], "score": [3], "doc_id": [7], "query_id": [5]})
    close(sum_scores([numbers]), [("5", "7", 1.0)])
