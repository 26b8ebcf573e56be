"""trec_eval's names stand for trec_eval's numbers, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.cli.app import main
from citebed.errors import CitebedError
from citebed.evaluation.measures import MEASURES
from citebed.evaluation.measures.names import measure, measures
from citebed.evaluation.measures.trec_names import from_trec_name, trec_lines, trec_name

QRELS = "q1 0 a 2\nq1 0 b 1\nq1 0 c 0\nq2 0 d 1\nq2 0 e 3\n"
RUN = "q1 Q0 c 1 3 t\nq1 Q0 b 2 2 t\nq1 Q0 u 3 1 t\nq2 Q0 e 1 2 t\nq2 Q0 d 2 1 t\n"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "x.qrels").write_text(QRELS)
    (tmp_path / "x.run").write_text(RUN)
    return [str(tmp_path / "x.qrels"), str(tmp_path / "x.run")]


def printed(files: list[str], capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, str]:
    assert main(["evaluate", *files, "--format", "trec_eval", *words]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    return {label.strip(): value for label, _, value in lines if label.strip() != "runid"}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("AP", "map"),
        ("AP(rel=2)", "AP(rel=2)"),
        ("AP(judged_only=True)", "AP(judged_only=True)"),
        ("nDCG(dcg='exp-log2')", "nDCG(dcg='exp-log2')"),
        ("nDCG(dcg='exp-log2')@10", "nDCG(dcg='exp-log2')@10"),
        ("nDCG(gains='1=3')", "nDCG(gains='1=3')"),
        ("nDCG(rel=2)@10", "nDCG(rel=2)@10"),
        ("IPrec(round='nearest')@0.1", "IPrec(round='nearest')@0.1"),
        ("Utility(other_retrieved=-2.0)", "Utility(other_retrieved=-2.0)"),
        ("RBP(p=0.9)", "RBP(p=0.9)"),
        ("nDCG@R", "nDCG@R"),
        ("RR@10", "RR@10"),
        ("SetF", "set_F"),
        ("SetF(beta=0.5)", "set_F_0.5"),
        ("RprecMult@0.2", "Rprec_mult_0.20"),
        ("IPrec@0.1", "iprec_at_recall_0.10"),
    ],
)
def test_a_bare_name_only_for_the_programs_own_value(
    text: str, label: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(printed(files, capsys, "-m", text)) == [label]


def test_a_switch_of_the_whole_program_leaves_the_names(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = printed(files, capsys, "-l", "2", "-m", "map", "-m", "AP(rel=1)")
    assert found == {"map": "0.5000", "AP": "0.6250"}


def test_the_level_of_relevance_does_not_touch_their_gains(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """trec_eval 9.0.8 and 10.0 print 0.6199 for ``-l 2 -m ndcg``; our own nDCG heeds the level."""
    found = printed(files, capsys, "-l", "2", "-m", "ndcg", "-m", "nDCG")
    assert found["ndcg"] == "0.6199"
    assert set(found) == {"ndcg", "nDCG(rel=2)"}


def test_their_nine_cut_offs(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(files, capsys, "-m", "ndcg_cut")
    assert list(found) == [f"ndcg_cut_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]
    assert list(printed(files, capsys, "-m", "P.10,5")) == ["P_5", "P_10"]
    assert [str(each) for each in measures("map_cut.1,2")] == ["AP@1", "AP@2"]


def test_lines_in_their_order(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(files, capsys, "-m", "ndcg", "-m", "ERR", "-m", "P_5", "-m", "map")
    assert list(found) == ["map", "P_5", "ndcg", "ERR"]


def test_rbp_is_not_ours() -> None:
    """trec_eval 10's counts gains and goes on with 0.9; ours counts relevant ones, with 0.8."""
    assert str(measure("rbp")) == "GradedRBP"
    assert str(measure("RBP")) == "RBP"
    assert from_trec_name("RBP") is None


def test_names_of_several_read_back() -> None:
    for each in trec_lines("all_trec") or []:
        assert from_trec_name(trec_name(each)) == each
    for each in trec_lines("all_trec", {"rel": 3}) or []:
        assert from_trec_name(trec_name(each, {"rel": 3}), {"rel": 3}) == each


@pytest.mark.parametrize("text", ["P.5,5", "P.x", "P.0", "utility.1,2", "ndcg.1", "set_F.x"])
def test_parameters_that_are_invalid(text: str) -> None:
    with pytest.raises(CitebedError):
        trec_lines(text)


def test_every_new_measure_is_in_the_table() -> None:
    new = {"BinG", "G", "GMBpref", "GradedRBP", "NumNonRelRet", "RelativeP", "RnDCG", "RprecMult",
           "SetRelativeP", "Unjudged", "YAAP", "nDCGRel"}  # fmt: skip
    assert new <= set(MEASURES)
