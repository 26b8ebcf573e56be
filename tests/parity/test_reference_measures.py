"""The slow, obvious measures of ``tests/reference`` against trec_eval itself, stored and live."""

from __future__ import annotations

import gzip
import importlib
import inspect
import json
import math
import platform
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import trec_measures as reference
from tests.sampling import examples

GOLDEN = Path(__file__).parent / "golden"
TOLERANCE = 1e-12

# trec_eval's names and ours; those with a number at the end have it after an @ here.
NAMES = {
    "11pt_avg": "11pt", "P": "P", "G": "G", "Rndcg": "RnDCG", "binG": "BinG", "ndcg_rel": "nDCGRel",
    "Rprec": "Rprec", "Rprec_mult": "RprecMult", "bpref": "Bpref", "gm_bpref": "Bpref",
    "gm_map": "AP", "infAP": "infAP", "iprec_at_recall": "IPrec", "map": "AP", "map_cut": "AP",
    "ndcg": "nDCG", "ndcg_cut": "nDCG", "num_nonrel_judged_ret": "NumNonRelRet",
    "num_rel": "NumRel", "num_rel_ret": "NumRelRet", "num_ret": "NumRet", "recall": "R",
    "recip_rank": "RR", "relative_P": "RelativeP", "set_F": "SetF", "set_F.0.5": "SetF(beta=0.5)",
    "set_P": "SetP", "set_map": "SetAP", "set_recall": "SetR", "set_relative_P": "SetRelativeP",
    "success": "Success", "utility": "Utility",
}  # fmt: skip
# Measures without a value per query.
LEFT_OUT = {"num_q", "relstring", "runid"}


def our_name(name: str) -> str:
    if name in NAMES:
        return NAMES[name]
    stem, _, cut = name.rpartition("_")
    return f"{NAMES[stem]}@{cut}"


def read_cases() -> list[dict[str, Any]]:
    text = gzip.decompress((GOLDEN / "pytrec_eval.json.gz").read_bytes())
    cases: list[dict[str, Any]] = json.loads(text)["cases"]
    return cases


CASES = read_cases()


def as_printed_for_a_query(name: str, value: float) -> float:
    """pytrec_eval gives the logarithms that a geometric mean is made of."""
    return math.log(max(value, 1e-5)) if name.startswith("gm_") else value


def assert_same(name: str, ours: dict[str, float], theirs: dict[str, float | None]) -> None:
    """The same queries with the same values; theirs is ``None`` where they divided 0 by 0."""
    assert sorted(ours) == sorted(theirs), name
    for query, expected in theirs.items():
        value = as_printed_for_a_query(name, ours[query])
        wanted = 0.0 if expected is None else expected
        assert value == pytest.approx(wanted, rel=TOLERANCE, abs=TOLERANCE), (name, query)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_every_stored_value(number: int) -> None:
    case = CASES[number]
    qrels, run = case["qrels"], case["run"]
    queries = sorted(set(qrels) & set(run))
    for answer in case["answers"]:
        for name in sorted(set(answer["values"]) - LEFT_OUT):
            ours = reference.evaluate(
                qrels,
                run,
                our_name(case["set_F"] if name == "set_F" else name),
                rel=answer["relevance_level"],
                judged_only=answer["judged_only"],
                score_type="float",
            )
            assert_same(name, ours, dict(zip(queries, answer["values"][name], strict=True)))


def test_the_stored_cases_have_what_they_are_for() -> None:
    """Else agreement on them would say little."""
    nan_for, features = set(), set()
    for case in CASES:
        for answer in case["answers"]:
            nan_for |= {name for name, values in answer["values"].items() if None in values}
        features |= {"missing in run"} if set(case["qrels"]) - set(case["run"]) else set()
        features |= {"missing in qrels"} if set(case["run"]) - set(case["qrels"]) else set()
        for query in set(case["qrels"]) & set(case["run"]):
            grades = set(case["qrels"][query].values())
            scores = list(case["run"][query].values())
            floats = {reference.as_float32(score) for score in scores}
            features |= grades
            features |= {"no relevant"} if max(grades) < 1 else set()
            features |= {"ties"} if len(set(scores)) < len(scores) else set()
            features |= {"ties of floats only"} if len(floats) < len(set(scores)) else set()
            features |= {f"{min(len(scores), 2)} retrieved"}
    # 0 / 0 is interpolated precision where it asks for 0 of the relevant documents and nothing
    # that was retrieved is judged.
    assert {"iprec_at_recall_0.00", "11pt_avg"} <= nan_for
    assert all(name == "11pt_avg" or name.startswith("iprec_at_recall_") for name in nan_for)
    assert features == {
        *range(-2, 5),
        *("missing in run", "missing in qrels", "no relevant"),
        *("ties", "ties of floats only", "1 retrieved", "2 retrieved"),
    }


# The C program's output for a run in a file.


def read_stored() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for line in (GOLDEN / "stored.qrels").read_text().splitlines():
        query, _, doc, grade = line.split()
        qrels.setdefault(query, {})[doc] = int(grade)
    for line in (GOLDEN / "stored.run").read_text().splitlines():
        query, _, doc, _, score, _ = line.split()
        run.setdefault(query, {})[doc] = float(score)
    return qrels, run


def summarise(name: str, values: dict[str, float], queries: int) -> float:
    """Counts are added up, the rest is averaged, as trec_eval does for its line ``all``."""
    if name.startswith("num_"):
        return sum(values.values())
    if name.startswith("gm_"):
        return reference.geometric_mean(values, queries)
    return reference.mean(values, queries)


@pytest.mark.parametrize(
    ("file", "options", "complete"),
    [
        ("stored.trec_eval.txt", {}, False),
        ("stored.q.trec_eval.txt", {}, False),
        ("stored.complete.trec_eval.txt", {}, True),
        ("stored.all_trec.txt", {}, False),
        ("stored.l2.txt", {"rel": 2}, False),
        ("stored.judged.txt", {"judged_only": True}, False),
    ],
)
def test_what_trec_eval_prints(file: str, options: dict[str, Any], complete: bool) -> None:
    qrels, run = read_stored()
    compared = 0
    for line in (GOLDEN / file).read_text().splitlines():
        name, query, printed = (part.strip() for part in line.split("\t"))
        # With -c, the relevant documents of queries that the run lacks are counted too.
        measured = qrels if complete and name == "num_rel" else run
        queries = len(qrels) if complete else len(set(qrels) & set(run))
        if name == "num_q":
            assert printed == str(queries)
        if name in LEFT_OUT:
            continue
        values = reference.evaluate(qrels, measured, our_name(name), score_type="float", **options)
        value = summarise(name, values, queries) if query == "all" else values[query]
        assert printed == (f"{value:.0f}" if name.startswith("num_") else f"{value:6.4f}"), line
        compared += 1
    assert compared >= 28


# With pytrec_eval installed: any run and qrels.
HAS_WHEEL = sys.platform == "darwin" or (sys.platform, platform.machine()) == ("linux", "x86_64")


def the_pytrec_eval() -> Any:
    """Return pytrec_eval, which `make test` installs where there is a wheel; else skip the test."""
    if HAS_WHEEL:
        return importlib.import_module("pytrec_eval")
    why = f"pytrec_eval is not installed: the registry has no wheel for {platform.machine()}"
    return pytest.importorskip("pytrec_eval", reason=why)


DOCS = st.sampled_from(["a", "A", "b", "B1", "b1", "é", "文", "\uffee", "😀", "z"])
SCORES = st.sampled_from([0.0, 1.0, 1.0 + 1e-9, 1.0 + 1e-6, 2.5, -3.0])
QUERIES = st.sampled_from(["1", "10", "2", "q"])
# A query with negative grades only may keep trec_eval from coming to an end.
GRADES = st.dictionaries(DOCS, st.integers(-2, 4), min_size=1).filter(
    lambda q: max(q.values()) >= 0
)


@settings(max_examples=examples(300))
@given(
    qrels=st.dictionaries(QUERIES, GRADES, min_size=1),
    run=st.dictionaries(QUERIES, st.dictionaries(DOCS, SCORES, min_size=1), min_size=1),
    rel=st.integers(1, 3),
    judged_only=st.booleans(),
)
def test_any_run_live(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], rel: int, judged_only: bool
) -> None:
    pytrec_eval = the_pytrec_eval()
    names = {name for name in pytrec_eval.supported_measures if name not in LEFT_OUT}
    # Only the registry's has that flag, not what was built beside the checkout.
    options = {"judged_docs_only_flag": True} if judged_only else {}
    known = inspect.signature(pytrec_eval.RelevanceEvaluator.__init__).parameters
    assume(options.keys() <= known.keys())
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=rel, **options)
    theirs = evaluator.evaluate(run)
    for name in {name for values in theirs.values() for name in values}:
        ours = reference.evaluate(
            qrels, run, our_name(name), rel=rel, judged_only=judged_only, score_type="float"
        )
        wanted = {query: values[name] for query, values in theirs.items()}
        no_nan = {q: None if math.isnan(value) else value for q, value in wanted.items()}
        assert_same(name, ours, no_nan)


# By hand: what trec_eval has not.


def one(name: str, grades: dict[str, int], order: str, **options: Any) -> float:
    """The value for one query; ``order`` is the ranking, a letter for a document."""
    scores = {doc: float(len(order) - place) for place, doc in enumerate(order)}
    return reference.evaluate({"q": grades}, {"q": scores}, name, **options)["q"]


@pytest.mark.parametrize(
    ("name", "order", "expected"),
    [
        # Judged a=1 b=0 c=1, x unjudged. Ranking a x c, p = 0.5: 0.5 (1 + 0.25) = 0.625.
        ("RBP(p=0.5)", "axc", 0.625),
        # Unjudged at rank 2: 0.5 * 0.5 = 0.25; beyond rank 3: 0.5^3 = 0.125.
        ("RBPResidual(p=0.5)", "axc", 0.375),
        # Cut after rank 1: 0.5 is sure, everything from rank 2 on could be: 0.5.
        ("RBP(p=0.5)@1", "axc", 0.5),
        ("RBPResidual(p=0.5)@1", "axc", 0.5),
        # All judged, p = 0.8: 0.2 (0.8 + 0.64) = 0.288; beyond rank 3: 0.512.
        ("RBP(p=0.8)", "bac", 0.288),
        ("RBPResidual(p=0.8)", "bac", 0.512),
    ],
)
def test_rank_biased_precision(name: str, order: str, expected: float) -> None:
    assert one(name, {"a": 1, "b": 0, "c": 1}, order) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "order", "expected"),
    [
        # Grades a=3 b=2 c=0 stop a reader with (8-1)/8 = 7/8, (4-1)/8 = 3/8 and 0.
        # b c a: 3/8 + 0 + (5/8)(1)(7/8)/3 = 3/8 + 35/192 = 107/192.
        ("ERR", "bca", 107 / 192),
        ("ERR@2", "bca", 3 / 8),
        # a b: 7/8 + (1/8)(3/8)/2 = 7/8 + 3/128 = 115/128.
        ("ERR@10", "ab", 115 / 128),
        # On a scale to 4 they stop with 7/16 and 3/16: 7/16 + (9/16)(3/16)/2 = 251/512.
        ("ERR(max=4)", "ab", 251 / 512),
        # Gains 7 and 3: (3/1 + 7/log2(4)) / (7/1 + 3/log2(3)) = 6.5 / 8.892789...
        ("nDCG(dcg='exp-log2')", "bca", 6.5 / (7 + 3 / math.log2(3))),
        ("nDCG(dcg='exp-log2')@1", "bca", 3 / 7),
        # Two relevant documents, so after rank 2: 2 / (3 + 2/log2(3)).
        ("nDCG@R", "bca", 2 / (3 + 2 / math.log2(3))),
        ("Judged@2", "bxa", 0.5),
        ("Judged@10", "bxya", 0.5),
    ],
)
def test_graded(name: str, order: str, expected: float) -> None:
    assert one(name, {"a": 3, "b": 2, "c": 0}, order) == pytest.approx(expected)


def test_err_takes_the_highest_grade_of_all_queries() -> None:
    # 2 is the best of this query, 4 the best of all: (4-1)/16.
    qrels = {"q": {"a": 2}, "r": {"b": 4}}
    assert reference.evaluate(qrels, {"q": {"a": 1.0}}, "ERR") == {"q": 3 / 16}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # Relevant a b c. Others x y. Pairs: a above x and y 2, b ties x and is above y 1.5,
        # c not retrieved 0, of 3 * 2.
        ({"a": 3.0, "b": 2.0, "x": 2.0, "y": 1.0}, 3.5 / 6),
        # Everything in order, but c is missing: 4 of 6.
        ({"a": 4.0, "b": 3.0, "x": 2.0, "y": 1.0}, 4 / 6),
        # Nothing to be above of: two of three were retrieved.
        ({"a": 4.0, "b": 3.0}, 2 / 3),
        ({"x": 1.0}, 0.0),
    ],
)
def test_area_under_the_roc_curve(scores: dict[str, float], expected: float) -> None:
    qrels = {"q": {"a": 1, "b": 2, "c": 1, "x": 0}}
    assert reference.evaluate(qrels, {"q": scores}, "AUC")["q"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        # Two relevant, a and b. Both and nothing else: NU = 4/4, SU = 1.5/1.5.
        ("ab", 1.0),
        # One right, one wrong: NU = (2-1)/4 = 0.25, SU = 0.75/1.5.
        ("ax", 0.5),
        # Two wrong: NU = -2/4 = -0.5, SU = 0, and no lower with a third.
        ("xy", 0.0),
        ("xyz", 0.0),
        # One wrong: NU = -0.25, SU = 0.25/1.5.
        ("x", 1 / 6),
        # Nothing retrieved: NU = 0, SU = 0.5/1.5.
        ("", 1 / 3),
    ],
)
def test_scaled_utility(order: str, expected: float) -> None:
    assert one("SU", {"a": 1, "b": 1}, order) == pytest.approx(expected)


def test_recall_levels_of_trec_eval_9_and_10() -> None:
    # Four relevant at ranks 1, 3, 5, 7 have precision 1, 2/3, 3/5, 4/7. Recall 0.3 asks for 1.2
    # of them: version 9 takes int(2.1) = 2, version 10 the nearest, 1. For 0.625 it is 2.5:
    # int(3.4) = 3 and, halves up, 3. For 0.1 it is 0.4: int(1.3) = 1 and 0, both at rank 1.
    grades = {"a": 1, "b": 1, "c": 1, "d": 1}
    order = "awbxcyd"
    assert one("IPrec@0.3", grades, order) == pytest.approx(2 / 3)
    assert one("IPrec(round='nearest')@0.3", grades, order) == 1.0
    assert one("IPrec@0.625", grades, order) == pytest.approx(3 / 5)
    assert one("IPrec(round='nearest')@0.625", grades, order) == pytest.approx(3 / 5)
    assert one("IPrec@0.1", grades, order) == one("IPrec(round='nearest')@0.1", grades, order)


def test_float_scores_tie_where_double_scores_do_not() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0 + 1e-9, "b": 1.0}}
    assert reference.evaluate(qrels, run, "RR", score_type="double") == {"q": 1.0}
    assert reference.evaluate(qrels, run, "RR", score_type="float") == {"q": 0.5}


@pytest.mark.parametrize("name", sorted({*reference.SIMPLE, "nDCG", "IPrec@0", "AUC", "ERR"}))
def test_nothing_judged_is_worth_nothing(name: str) -> None:
    """Here trec_eval has no answer: its counts come from memory it never wrote."""
    value = one(
        re.sub(r"^(P|R|RelativeP|Success|Unjudged)$", r"\1@5", name), {"a": -1, "b": -2}, "ab"
    )
    assert value == {"NumRet": 2, "Utility": -2, "Unjudged": 0.4}.get(name, 0)
