"""Measures as they are written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import CitebedError
from citebed.evaluation.measures import MEASURES, Measure
from citebed.evaluation.measures.names import measure, measures
from citebed.evaluation.measures.trec_names import OFFICIAL, from_trec_name, trec_name


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("nDCG@10", "nDCG@10"),
        ("ndcg@10", "nDCG@10"),
        ("AP(rel=2)", "AP(rel=2)"),
        (" AP( rel = 1 )@100 ", "AP@100"),
        ("nDCG(dcg='exp-log2')@R", "nDCG(dcg='exp-log2')@R"),
        ('nDCG(dcg="exp-log2",judged_only=true)', "nDCG(dcg='exp-log2',judged_only=True)"),
        ("RBP(p=0.5)", "RBP(p=0.5)"),
        ("ERR(max_rel=4)@20", "ERR(max_rel=4)@20"),
        ("IPrec@0.1", "IPrec@0.1"),
        ("map", "AP"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("iprec_at_recall_0.30", "IPrec@0.3"),
        ("set_F.0.5", "SetF(beta=0.5)"),
    ],
)
def test_written_and_printed(written: str, printed: str) -> None:
    found = measure(written)
    assert str(found) == printed
    assert measure(printed) == found


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("nDGC@10", "Did you mean 'nDCG'?"),
        ("P", "P needs a cut-off. Write P@10"),
        ("P@0", "a whole number from 1"),
        ("P@1.5", "a whole number from 1"),
        ("P@R", "takes a number as its cut-off, not R"),
        ("P@x", "'@x' is not a number"),
        ("Bpref@3", "takes no cut-off"),
        ("IPrec@1.2", "a recall level from 0 to 1"),
        ("AP(rel=x)", "'x' is not a whole number"),
        ("AP(rel=-1)", "below 0"),
        ("AP(level=2)", "unknown parameter of AP 'level'"),
        ("AP(two)", "expected name=value"),
        ("RBP(p=1)", "not between 0 and 1"),
        ("RBP(p=a)", "'a' is not a number"),
        ("AP(judged_only=maybe)", "not True or False"),
        ("nDCG(dcg='log')", "unknown nDCG's dcg 'log'"),
        ("SetF(beta=-1)", "below 0"),
        ("ERR(max_rel=0)", "not a grade"),
        ("IPrec(round='down')@0.1", "unknown rounding"),
        ("AP@", "cannot read the measure"),
        ("", "cannot read the measure"),
    ],
)
def test_refused(written: str, told: str) -> None:
    with pytest.raises(CitebedError) as caught:
        measure(written)
    assert told in str(caught.value)


def test_a_list_is_split_and_each_is_kept_once() -> None:
    found = measures(["P@5,P@10 nDCG(dcg='exp-log2',rel=2)@5", "P@5"])
    assert list(map(str, found)) == ["P@5", "P@10", "nDCG(dcg='exp-log2',rel=2)@5"]
    with pytest.raises(CitebedError, match="no measure was named"):
        measures([])


@given(kind=st.sampled_from(list(MEASURES.values())), data=st.data())
def test_every_measure_reads_back(kind: type[Measure], data: st.DataObject) -> None:
    cutoffs: dict[str, st.SearchStrategy[Any]] = {
        "none": st.none(),
        "rank": st.integers(1, 5000),
        "rank or R": st.one_of(st.none(), st.just("R"), st.integers(1, 5000)),
        "recall": st.floats(0, 1).map(lambda x: round(x, 3)),
        "multiple": st.floats(0, 9).map(lambda x: round(x, 3)),
    }
    made = kind(
        cutoff=data.draw(cutoffs[kind.CUTOFF]),
        rel=data.draw(st.integers(0, 5)),
        judged_only=data.draw(st.booleans()),
    )
    assert measure(str(made)) == made


def test_trec_names_read_back() -> None:
    for each in OFFICIAL:
        assert from_trec_name(trec_name(each)) == each
    assert from_trec_name("P_x") is None
    assert trec_name(measure("RBP")) == "RBP"


def test_every_measure_explains_itself() -> None:
    for kind in MEASURES.values():
        assert kind.__doc__
        assert not kind.__doc__.startswith(f"{kind.__name__}("), kind


def test_switches_give_way_to_what_a_measure_says_itself() -> None:
    given = ["AP", "AP(rel=1)", "map", "P(judged_only=False)@5", "AP(rel=3)"]
    found = measures(given, {"rel": 2, "judged_only": True})
    assert list(map(str, found)) == [
        "AP(rel=2,judged_only=True)",
        "AP(judged_only=True)",
        "P(rel=2)@5",
        "AP(rel=3,judged_only=True)",
    ]


@pytest.mark.parametrize("text", ["P_" + "9" * 5000, "set_F." + "9" * 5000, "ndcg_cut_" + "1" * 99])
def test_numbers_without_end_in_trec_eval_s_names_are_refused(text: str) -> None:
    with pytest.raises(CitebedError):
        measure(text)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("MAP", "AP"), ("MAP@100", "AP@100"), ("mean-average-precision", "AP"), ("R-prec", "Rprec"),
        ("R-Precision", "Rprec"), ("ROC-AUC", "AUC"), ("auroc", "AUC"), ("F1", "SetF"),
        ("f1", "SetF"), ("F1(rel=2)", "SetF(rel=2)"), ("F2", "SetF(beta=4.0)"),
        ("F0.5", "SetF(beta=0.25)"), ("MRR", "RR"), ("MRR@10", "RR@10"), ("NDCG", "nDCG"),
        ("NDCG@10", "nDCG@10"), ("ndcg10", "nDCG@10"), ("P10", "P@10"), ("p@10", "P@10"),
        ("Prec@5", "P@5"), ("precision@10", "P@10"), ("Recall@10", "R@10"), ("recall10", "R@10"),
        ("hit@10", "Success@10"), ("Hits@1", "Success@1"), ("HR@10", "Success@10"),
        ("b-pref", "Bpref"), ("11pt", "ElevenPoint"), ("gm-map", "GMAP"), ("P(5)", "P@5"),
        ("R-P", "Rprec"), ("T11SU", "SU"), ("NDCG(10)", "nDCG@10"), ("NDCG_cut_10", "nDCG@10"),
        ("p_5", "P@5"),
    ],
)  # fmt: skip
def test_names_that_people_type(written: str, meant: str) -> None:
    assert str(measure(written)) == meant
    assert measure(written, {"rel": 1}) == measure(meant)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("precision", "P needs a cut-off. Write P@10"),
        ("recall", "R needs a cut-off. Write R@10"),
        ("hit", "Success needs a cut-off"),
        ("F1@10", "takes no cut-off"),
        ("NDGC@10", "Did you mean 'nDCG'?"),
        ("gmpa", "Did you mean 'GMAP'?"),
        ("MAPP", "Did you mean 'AP'?"),
        ("Mpa", "Did you mean 'AP'?"),
        ("RCO-AUC", "Did you mean 'AUC'?"),
        ("R-percision", "Did you mean 'Rprec'?"),
        ("f-mesure", "Did you mean 'SetF'?"),
        ("P(5", "cannot read the measure"),
        ("F10", "unknown measure 'F10'"),
        ("P0", "a whole number from 1"),
    ],
)
def test_names_that_lead_to_the_right_one(written: str, told: str) -> None:
    with pytest.raises(CitebedError) as caught:
        measure(written)
    assert told in str(caught.value)


def test_rescaled_auc_is_a_measure_like_others() -> None:
    assert str(measure("RescaledAUC(empty=0)")) == "RescaledAUC(empty=0.0)"
    assert str(measure("rescaledauc")) == "RescaledAUC"
    with pytest.raises(CitebedError, match="empty=2 is not from -1 to 1"):
        measure("RescaledAUC(empty=2)")
