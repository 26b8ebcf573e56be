"""citebed behind ir_measures: names both ways, numbers, missing queries, what is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

ir_measures = pytest.importorskip("ir_measures")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from ir_measures import (  # noqa: E402
    AP,
    ERR,
    RBP,
    RR,
    Bpref,
    Compat,
    IPrec,
    Judged,
    NumQ,
    NumRel,
    NumRelRet,
    NumRet,
    P,
    R,
    Rprec,
    SetAP,
    SetF,
    SetP,
    SetR,
    SetRelP,
    Success,
    alpha_nDCG,
    infAP,
    nDCG,
)  # fmt: skip

from citebed.errors import CitebedError  # noqa: E402
from citebed.evaluation import Settings, evaluate  # noqa: E402
from citebed.evaluation import ir_measures_provider as plug  # noqa: E402
from citebed.evaluation.measures import MEASURES  # noqa: E402

SHARED = [
    (AP, "AP"), (AP @ 5, "AP@5"), (AP(rel=2, judged_only=True), "AP(rel=2,judged_only=True)"),
    (P @ 5, "P@5"), (P(rel=2) @ 5, "P(rel=2)@5"), (R @ 10, "R@10"), (Rprec, "Rprec"),
    (RR, "RR"), (RR @ 10, "RR@10"), (nDCG, "nDCG"), (nDCG @ 10, "nDCG@10"),
    (nDCG(dcg="exp-log2") @ 10, "nDCG(dcg='exp-log2')@10"), (Bpref, "Bpref"),
    (Bpref(rel=2), "Bpref(rel=2)"), (ERR @ 20, "ERR(max_rel=4)@20"), (infAP, "infAP"),
    (IPrec @ 0.1, "IPrec@0.1"), (Judged @ 10, "Judged@10"), (NumQ, "NumQ"),
    (NumRel, "NumRel"), (NumRel(rel=2), "NumRel(rel=2)"), (NumRet, "NumRet"),
    (NumRelRet, "NumRelRet"), (NumRet(rel=2), "NumRelRet(rel=2)"), (RBP(rel=1), "RBP"),
    (RBP(p=0.5, rel=2) @ 7, "RBP(p=0.5,rel=2)@7"), (SetP, "SetP"), (SetR, "SetR"),
    (SetF, "SetF"), (SetF(beta=4.0), "SetF(beta=4.0)"), (SetAP, "SetAP"),
    (Success @ 1, "Success@1"),
]  # fmt: skip
REFUSED = [RBP, nDCG(gains={1: 5}), SetRelP, AP(rel=-1), alpha_nDCG @ 10, Compat]

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}, "q3": {"z": 1}}
RUN = {"q1": {"a": 1.0, "b": 3.0, "x": 2.0}, "q2": {"a": 1.0, "b": 1.0}, "q9": {"a": 1.0}}


@pytest.fixture
def registered() -> Iterator[Any]:
    yield plug.register()
    plug.unregister()


@pytest.mark.parametrize(("theirs", "ours"), SHARED, ids=[name for _, name in SHARED])
def test_names_both_ways(theirs: Any, ours: str) -> None:
    found = plug.from_ir_measures(theirs)
    assert str(found) == ours
    assert repr(plug.to_ir_measures(ours)) == repr(theirs)


def test_judged_without_a_cut_off_looks_at_every_rank() -> None:
    """Of q1's three documents two are judged, of q2's two one, q3 has none: 2/3, 1/2, 0."""
    found = plug.CitebedProvider().calc_aggregate([Judged], QRELS, RUN)
    assert found[Judged] == pytest.approx((2 / 3 + 1 / 2) / 3)
    ours = plug.from_ir_measures(Judged)
    assert ours is not None
    assert plug.to_ir_measures(ours) == Judged


@pytest.mark.parametrize("theirs", REFUSED, ids=repr)
def test_what_we_have_not_is_refused(theirs: Any) -> None:
    provider = plug.CitebedProvider()
    assert not provider.supports(theirs)
    with pytest.raises(ValueError, match="unsupported measure"):
        provider.evaluator([theirs], QRELS)


def test_registering_puts_us_first_once_and_can_be_undone() -> None:
    plug.unregister()  # in case that a page of the documentation was run before
    before = list(ir_measures.DefaultPipeline.providers)
    provider = plug.register()
    assert plug.register() is provider
    assert ir_measures.DefaultPipeline.providers == [provider, *before]
    assert ir_measures.providers.registry["citebed"] is provider
    plug.unregister()
    plug.unregister()
    assert ir_measures.DefaultPipeline.providers == before
    assert "citebed" not in ir_measures.providers.registry


def test_importing_registers_nothing() -> None:
    code = (
        "import ir_measures, citebed.evaluation.ir_measures_provider; "
        "assert 'citebed' not in ir_measures.providers.registry; "
        "assert all(p.NAME != 'citebed' for p in ir_measures.DefaultPipeline.providers)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.usefixtures("registered")
def test_by_hand_through_the_front_door_of_ir_measures() -> None:
    """q1: b x a, so AP = (1/3)/2; q2: b before a by id, AP = 1/2; q3 is missing and counts 0."""
    found = ir_measures.calc([AP, RR], QRELS, RUN)
    assert {(m.query_id, str(m.measure)): m.value for m in found.per_query} == {
        ("q1", "AP"): pytest.approx(1 / 6), ("q1", "RR"): pytest.approx(1 / 3),
        ("q2", "AP"): 0.5, ("q2", "RR"): 0.5,
        ("q3", "AP"): 0.0, ("q3", "RR"): 0.0,
    }  # fmt: skip
    assert found.aggregated[AP] == pytest.approx((1 / 6 + 1 / 2) / 3)
    assert AP.calc_aggregate(QRELS, RUN) == found.aggregated[AP]


@pytest.mark.usefixtures("registered")
def test_what_we_refuse_goes_to_the_next_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compat is computed by ir_measures itself, AP by us, in one call; what others are there is a
    matter of the machine."""
    pipeline = ir_measures.DefaultPipeline
    ours = [each for each in pipeline.providers if each.NAME in ("citebed", "compat")]
    monkeypatch.setattr(pipeline, "providers", ours)
    found = ir_measures.calc_aggregate([AP, Compat(p=0.8)], QRELS, RUN)
    assert found[AP] == pytest.approx((1 / 6 + 1 / 2) / 3)
    assert 0 <= found[Compat(p=0.8)] <= 1
    with pytest.raises(ValueError, match="Unsupported measures"):
        ir_measures.calc_aggregate([AP, nDCG(gains={1: 5})], QRELS, RUN)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("empty", [{}, []])
def test_an_empty_run_scores_the_default_everywhere(empty: Any) -> None:
    found = ir_measures.calc([AP, P @ 5], QRELS, empty)
    assert [metric.value for metric in found.per_query] == [0.0] * 6
    assert found.aggregated == {AP: 0.0, P @ 5: 0.0}


@pytest.mark.usefixtures("registered")
def test_every_form_that_ir_measures_takes() -> None:
    pandas = pytest.importorskip("pandas")
    qrels = [ir_measures.Qrel(q, d, g) for q, found in QRELS.items() for d, g in found.items()]
    run = [ir_measures.ScoredDoc(q, d, s) for q, found in RUN.items() for d, s in found.items()]
    expected = ir_measures.calc_aggregate([AP, nDCG @ 10], QRELS, RUN)
    for given_qrels, given_run in (
        (qrels, run),
        (iter(qrels), iter(run)),
        (pandas.DataFrame(qrels), pandas.DataFrame(run)),
    ):
        assert ir_measures.calc_aggregate([AP, nDCG @ 10], given_qrels, given_run) == expected


def test_a_document_that_occurs_twice_is_an_error() -> None:
    twice = [ir_measures.ScoredDoc("q1", "a", 1.0), ir_measures.ScoredDoc("q1", "a", 2.0)]
    with pytest.raises(CitebedError, match="'a' is retrieved twice for query 'q1'"):
        plug.CitebedProvider().calc_aggregate([AP], QRELS, twice)


@pytest.mark.usefixtures("registered")
def test_measures_that_only_we_have() -> None:
    """GMAP of 1/6, 1/2 and the floor 0.00001; SU of a query that was not answered is 1/3."""
    gmap, utility = plug.to_ir_measures("GMAP"), plug.to_ir_measures("SU")
    found = ir_measures.calc([gmap, utility, AP], QRELS, RUN)
    assert found.aggregated[gmap] == pytest.approx((1 / 6 * 1 / 2 * 1e-5) ** (1 / 3))
    missing = {str(m.measure): m.value for m in found.per_query if m.query_id == "q3"}
    assert missing == {"GMAP": 1e-5, "SU": pytest.approx(1 / 3), "AP": 0.0}
    assert plug.from_ir_measures(gmap) == MEASURES["GMAP"]()
    with pytest.raises(TypeError, match="to_ir_measures"):
        gmap(rel=2)


@pytest.mark.parametrize("ours", ["nDCG@R", "nDCG(rel=2)@10", "ERR@20", "AUC", "RBPResidual"])
def test_ours_stay_ours_where_theirs_is_another(ours: str) -> None:
    theirs = plug.to_ir_measures(ours)
    assert isinstance(theirs, plug.CitebedMeasure)
    assert str(plug.from_ir_measures(theirs)) == ours


GRADES = st.dictionaries(
    st.sampled_from(["p", "q", "r"]),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 3), min_size=1),
    min_size=1,
)
RUNS = st.dictionaries(
    st.sampled_from(["p", "q", "x"]),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4).map(float), min_size=1),
)


@given(GRADES, RUNS)
def test_the_same_numbers_as_our_own_door(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> None:
    """Means over all judged queries; counts are not taken of queries that the run lacks."""
    measures = [theirs for theirs, _ in SHARED]
    found = plug.CitebedProvider().calc_aggregate(measures, qrels, run)
    if not qrels.keys() & run.keys():
        assert set(found.values()) == {0}
        return
    names: dict[Any, Any] = {theirs: plug.from_ir_measures(theirs) for theirs in measures}
    scores = evaluate(qrels, run, names.values(), Settings(complete=True)).runs[0].summaries
    for theirs, ours in names.items():
        if not theirs.NAME.startswith("Num"):
            assert found[theirs] == scores[ours]
    lacking = [grades for query, grades in qrels.items() if query not in run]
    assert found[NumQ] == len(qrels) - len(lacking)
