"""citebed's measures against trec_eval's: stored answers, its printed output, and a slow twin."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import trec_measures as reference
from tests.sampling import examples

from citebed.cli.app import main
from citebed.evaluation import Settings, evaluate
from citebed.evaluation.measures import Measure
from citebed.evaluation.measures.names import measures
from citebed.evaluation.measures.trec_names import from_trec_name

GOLDEN = Path(__file__).parent / "golden"
FLOAT = Settings(score_type="float")

# Measures without a value per query.
NOT_OURS = ("relstring", "runid")


def read_cases() -> list[dict[str, Any]]:
    with gzip.open(GOLDEN / "pytrec_eval.json.gz", "rt", encoding="utf-8") as handle:
        found: list[dict[str, Any]] = json.load(handle)["cases"]
        return found


CASES = read_cases()


def is_ours(name: str) -> bool:
    return not any(name == other or name.startswith(f"{other}_") for other in NOT_OURS)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_stored_answers_of_pytrec_eval(number: int) -> None:
    case = CASES[number]
    shared = sorted(set(case["qrels"]) & set(case["run"]))
    assert shared or not any(any(a["values"].values()) for a in case["answers"])
    for answer in case["answers"] if shared else []:
        names = [name for name in answer["values"] if is_ours(name) and name != "num_q"]
        if answer["relevance_level"] > 1:  # 0 there, where no grade is so high
            names.remove("Rndcg")
        chosen = [ours(name, case, answer) for name in names]
        scores = evaluate(case["qrels"], case["run"], chosen, FLOAT).runs[0]
        assert scores.query_ids.to_list() == shared
        for name, measure in zip(names, chosen, strict=True):
            expected = [their_value(name, value) for value in answer["values"][name]]
            assert scores.of(measure).tolist() == pytest.approx(expected, abs=1e-12), name


def ours(name: str, case: dict[str, Any], answer: dict[str, Any]) -> Measure:
    """The measure behind trec_eval's name; its level of relevance does not touch its gains."""
    switches = {"rel": answer["relevance_level"], "judged_only": answer["judged_only"]}
    found = from_trec_name(case["set_F"] if name == "set_F" else name, switches)
    assert found is not None, name
    return found


def their_value(name: str, value: float | None) -> float:
    """pytrec_eval gives logarithms for the geometric mean, and NaN for 0 divided by 0."""
    if value is None:
        return 0.0
    return math.exp(value) if name in ("gm_map", "gm_bpref") else value


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("stored.trec_eval.txt", []),
        ("stored.q.trec_eval.txt", ["-q"]),
        ("stored.complete.trec_eval.txt", ["-c"]),
        ("stored.l2.txt", ["-l", "2"]),
        ("stored.judged.txt", ["-J"]),
    ],
)
def test_printed_as_trec_eval_prints(
    file: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(GOLDEN / "stored.qrels"), str(GOLDEN / "stored.run")]
    given = ["evaluate", *files, "--format", "trec_eval", "--scores", "float", *options]
    assert main(given) == 0
    assert capsys.readouterr().out == (GOLDEN / file).read_text()


def test_all_measures_printed_as_trec_eval_prints(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.split("\t") for line in (GOLDEN / "stored.all_trec.txt").read_text().splitlines()]
    wanted = [line for line in lines if is_ours(line[0].strip())]
    names = list(dict.fromkeys(line[0].strip() for line in wanted))
    files = [str(GOLDEN / "stored.qrels"), str(GOLDEN / "stored.run")]
    chosen = [part for name in names for part in ("-m", name)]
    given = ["evaluate", *files, "--format", "trec_eval", "--scores", "float", "-q", *chosen]
    assert main(given) == 0
    printed = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    ours = {(line[0].strip(), line[1]): line[2] for line in printed if line[0].strip() != "runid"}
    theirs = {(line[0].strip(), line[1]): line[2] for line in wanted}
    assert len(theirs) > 400
    assert ours == theirs


MEASURES = (
    "AP", "AP@3", "P@1", "P@5", "R@5", "Rprec", "RR", "RR@2", "nDCG", "nDCG@4", "nDCG@R",
    "nDCG(dcg='exp-log2')@5", "Bpref", "infAP", "Success@3", "SetP", "SetR", "SetF",
    "SetF(beta=2.0)", "SetAP", "SU", "Utility", "IPrec@0.0", "IPrec@0.3", "IPrec@1.0",
    "IPrec(round='nearest')@0.5",
    "RBP(p=0.5)", "RBP(p=0.8)@3", "RBPResidual(p=0.8)", "ERR", "ERR@3", "Judged@4", "AUC",
    "NumRet", "NumRel", "NumRelRet", "NumNonRelRet", "G", "BinG", "nDCGRel", "RnDCG", "YAAP",
    "Unjudged@3", "RelativeP@4", "SetRelativeP", "RprecMult@0.5", "RprecMult@1.4",
)  # fmt: skip

IDS = st.sampled_from(["a", "b", "B", "c", "10", "9", "é", "😀", "z", "aa", "doc-1", "doc_1"])
CLOSE = st.sampled_from(
    [1.0, 1.0 + 1e-12, 1.0 + 1e-9, 2.0, 16777216.0, 16777217.0, -1.0, 0.0, -0.0]
)
QRELS = st.dictionaries(
    st.sampled_from(["q1", "q10", "q2", "Q"]), st.dictionaries(IDS, st.integers(-2, 4), min_size=1),
    min_size=1,
)  # fmt: skip
RUNS = st.dictionaries(
    st.sampled_from(["q1", "q10", "q2", "x"]), st.dictionaries(IDS, CLOSE, min_size=1), min_size=1
)


@settings(max_examples=examples(300), deadline=None)
@given(
    qrels=QRELS,
    run=RUNS,
    rel=st.sampled_from([1, 2]),
    judged_only=st.booleans(),
    score_type=st.sampled_from(["double", "float"]),
)
def test_equal_to_the_slow_twin(
    qrels: Any, run: Any, rel: int, judged_only: bool, score_type: Any
) -> None:
    if not set(qrels) & set(run):
        return
    options = {"rel": rel, "judged_only": judged_only, "score_type": score_type}
    chosen = []
    for measure in measures(MEASURES):
        level = 1 if measure.NAME in ("ERR", "nDCG", "G", "nDCGRel", "RnDCG") else rel
        chosen.append(replace(measure, rel=level, judged_only=judged_only))
    scores = evaluate(qrels, run, chosen, Settings(score_type=score_type)).runs[0]
    for at, (name, measure) in enumerate(zip(MEASURES, chosen, strict=True)):
        level = measure.rel
        expected = reference.evaluate(qrels, run, name, **{**options, "rel": level})
        assert scores.query_ids.to_list() == sorted(expected)
        for value, query in zip(scores.values[at], sorted(expected), strict=True):
            assert value == pytest.approx(expected[query], abs=1e-12), (name, query)
