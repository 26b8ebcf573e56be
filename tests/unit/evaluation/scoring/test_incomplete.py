"""Limits against all labellings, xinfAP against infAP and a case by hand, and stability."""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citebed.errors import CitebedError
from citebed.evaluation import evaluate
from citebed.evaluation.scoring.incomplete import estimate_ap, removal_stability, score_limits

RUN = {"q": {f"d{number}": 9.0 - number for number in range(7)}}
LIMITED = ["AP", "P@3", "R@3", "nDCG@4", "RR", "RBP(p=0.7)", "Rprec", "Success@2"]


@settings(max_examples=20)
@given(st.lists(st.sampled_from([None, 0, 1]), min_size=8, max_size=8))
def test_limits_are_those_of_all_labellings(grades: list[int | None]) -> None:
    docs = [f"d{number}" for number in range(7)] + ["never retrieved"]
    known = {doc: grade for doc, grade in zip(docs, grades, strict=True) if grade is not None}
    known["judged"] = 1
    free = [doc for doc in docs[:7] if doc not in known]
    found = score_limits({"q": known}, {"r": RUN}, LIMITED)
    every = [
        evaluate({"q": {**known, **dict(zip(free, labels, strict=True))}}, {"r": RUN}, LIMITED)
        .runs[0]
        .values[:, 0]
        for labels in product((0, 1), repeat=len(free))
    ]
    assert found["worst"].to_list() == pytest.approx([min(x) for x in zip(*every, strict=True)])
    assert found["best"].to_list() == pytest.approx([max(x) for x in zip(*every, strict=True)])


def test_complete_judgements_leave_no_doubt() -> None:
    limits = score_limits({"q": {f"d{n}": n % 2 for n in range(7)}}, {"r": RUN}, ["AP"])
    assert limits["worst"].to_list() == limits["value"].to_list() == limits["best"].to_list()


def sampled(strata: str, grades: list[int]) -> pl.DataFrame:
    rows = [("q", f"d{n}", s, g) for n, (s, g) in enumerate(zip(strata, grades, strict=True))]
    return pl.DataFrame(rows, ["query_id", "doc_id", "stratum", "relevance"], orient="row")


@given(st.lists(st.integers(-1, 1), min_size=7, max_size=7))
def test_with_one_stratum_it_is_inf_ap(grades: list[int]) -> None:
    table = sampled("aaaaaaa", grades)
    (value,) = estimate_ap(table, RUN)["value"]
    known = evaluate(table.drop("stratum"), {"r": RUN}, ["infAP"]).runs[0].values[0, 0]
    assert value == pytest.approx(known)


def test_two_strata_by_hand() -> None:
    # Ranks 1 to 6 are d0 to d5. Stratum a: d0 relevant, d1 not (both sampled). Stratum b: d2 and
    # d5 sampled, d2 relevant, d3 and d4 not sampled: each relevant one stands for 4/2 = 2.
    # R = 1 + 2 = 3. At rank 1: 1. At rank 3: (1 + 2·1/2)/3 = 2/3, counted twice.
    (value,) = estimate_ap(sampled("aabbbb", [1, 0, 1, -1, -1, 0]), RUN)["value"]
    assert value == pytest.approx((1 + 2 * 2 / 3) / 3, abs=1e-4)


def test_a_sample_without_strata_is_an_error() -> None:
    with pytest.raises(CitebedError, match="no column 'stratum'"):
        estimate_ap(sampled("a", [1]).drop("stratum"), RUN)


def test_removing_few_judgements_changes_the_ranking_less_than_removing_many() -> None:
    qrels = {f"q{q}": {f"d{d}": int((q + d) % 3 == 0) for d in range(6)} for q in range(12)}
    runs = {
        f"r{r}": {q: {d: float((i * (r + 1)) % 7) for i, d in enumerate(of)}
                  for q, of in qrels.items()}
        for r in range(4)
    }  # fmt: skip
    table = removal_stability(qrels, runs, ["AP"], (0.1, 0.8), repeats=30)
    assert table["tau"][0] > table["tau"][1]
    assert (table["tau_low"] <= table["tau"]).all()
    assert (table["tau"] <= table["tau_high"]).all()


def test_stability_needs_two_runs() -> None:
    with pytest.raises(CitebedError, match="needs two runs"):
        removal_stability({"q": {"d0": 1}}, {"r": RUN}, ["AP"])
