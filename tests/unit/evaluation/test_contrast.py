"""Two judgement sets: which queries count, what changes, what survives, who moves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.reference import contrast as slow

from citebed.collection import ImportOptions, import_sources, load_profile, open_collection
from citebed.errors import CitebedError
from citebed.evaluation.contrasts.changes import count_outcomes
from citebed.evaluation.contrasts.contrast import Contrast, align, contrast
from citebed.evaluation.options import ContrastOptions, Design, Resampling
from citebed.runs.reader import as_qrels
from citebed.runs.tables import Qrels

Judgements = dict[str, dict[str, int]]

# One relevant document, found first, and another one found third; one that is not found, and
# another one that is found first.
J1: Judgements = {"q1": {"a": 1}, "q2": {"x": 1}}
J12: Judgements = {"q1": {"a": 1, "b": 1}, "q2": {"x": 1, "y": 1}}


def ranking(*documents: str) -> dict[str, float]:
    return {document: -float(place) for place, document in enumerate(documents)}


RUN = {"q1": ranking("a", "c", "b"), "q2": ranking("y")}


def sets(before: Judgements, after: Judgements, **options: Any) -> Any:
    return align(as_qrels(before, "j1"), as_qrels(after, "j12"), **options)


# --- which queries --------------------------------------------------------------------------


def test_queries_of_one_set_alone_are_left_out_and_named() -> None:
    found = sets({"q": {"a": 1}, "only1": {"a": 1}}, {"q": {"a": 2}, "only2": {"a": 1}})
    assert found.query_ids == ("q",)
    assert list(found.notes) == [
        "1 query is judged in j1 alone and left out: only1",
        "1 query is judged in j12 alone and left out: only2",
    ]


@pytest.mark.parametrize("keep", [False, True])
def test_a_query_without_relevant_documents_in_one_set_is_left_out_unless_kept(keep: bool) -> None:
    before = {"q": {"a": 1}, "bare": {"a": 0}, "lost": {"b": 1}}
    after = {"q": {"a": 1}, "bare": {"a": 0, "b": 1}, "lost": {"b": 0}}
    found = sets(before, after, keep_empty=keep)
    assert found.query_ids == (("bare", "lost", "q") if keep else ("q",))
    note = found.notes[0]
    assert note.startswith("2 queries are without a relevant document in j1 or in j12")
    assert note.endswith(f"{'kept, scoring 0 there' if keep else 'left out'}: bare, lost")
    assert [facts["empty"] for facts in found.facts] == ([1, 1] if keep else [0, 0])


def test_relevant_means_the_lowest_grade_that_a_measure_asks_for() -> None:
    before, after = {"q": {"a": 1}, "r": {"a": 2}}, {"q": {"a": 2}, "r": {"a": 2}}
    assert sets(before, after, rel=2).query_ids == ("r",)
    run = {"q": ranking("a"), "r": ranking("a")}
    assert contrast(before, after, run, ["AP(rel=2)"]).rows("changes")[0]["queries"] == 1
    assert contrast(before, after, run, ["AP(rel=2)", "AP"]).rows("changes")[0]["queries"] == 2


def test_the_facts_count_judgements_by_relevance() -> None:
    found = sets({"q": {"a": 1, "b": 0}, "r": {"a": 3, "c": -1}}, {"q": {"a": 1}, "r": {"a": 1}})
    assert found.facts[0] == {
        "judgements": "j1", "queries": 2, "judged": 3, "relevant": 2, "not_relevant": 1,
        "empty": 0, "single": 2,
    }  # fmt: skip


def test_queries_that_a_second_phase_did_not_reach_are_reported() -> None:
    before = {"once": {"a": 1, "b": 0}, "twice": {"a": 1}}
    after = {"once": {"b": 0, "a": 1}, "twice": {"a": 1, "b": 0}}
    found = sets(before, after)
    assert found.notes == (
        "1 query is judged alike in j1 and j12, so their scores do not change: once",
    )


def test_a_second_set_that_does_not_extend_the_first_is_pointed_out() -> None:
    found = sets(
        {"q": {"same": 1, "turned": 1, "gone": 0, "graded": 1}},
        {"q": {"same": 1, "turned": 0, "graded": 3, "new": 1}},
    )
    assert "lacks 1 of its judgements and differs on the relevance of 1" in found.notes[-1]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ({"q": {"a": 1}}, {"r": {"a": 1}}, "have no query in common: q and r"),
        ({"q": {"a": 1}}, {"q": {"a": 0}}, "no query has a relevant document in both"),
    ],
)
def test_nothing_to_contrast_is_an_error(
    before: Judgements, after: Judgements, message: str
) -> None:
    with pytest.raises(CitebedError, match=message):
        sets(before, after)


def test_a_document_judged_twice_is_an_error() -> None:
    table = pl.DataFrame({"query_id": ["q"] * 2, "doc_id": ["a"] * 2, "relevance": [1, 0]})
    with pytest.raises(CitebedError, match="judged twice"):
        contrast(Qrels(table, "j1"), J12, RUN)


# --- what changes ---------------------------------------------------------------------------


def test_changes_by_hand() -> None:
    found = contrast(J1, J12, RUN, ["AP", "P@5", "Rprec", "Bpref"])
    # AP: 1 and 0; then (1 + 2/3)/2 and 1/2. R-precision: 1 and 0; then 1/2 and 1/2. Without
    # documents judged not relevant bpref is the share of the relevant ones found.
    expected = {
        "AP": (0.5, (5 / 6 + 1 / 2) / 2, 1, 0, 1),
        "P@5": (0.1, (2 / 5 + 1 / 5) / 2, 2, 0, 0),
        "Rprec": (0.5, 0.5, 1, 0, 1),
        "Bpref": (0.5, (1 + 1 / 2) / 2, 1, 1, 0),
    }
    for change in found.rows("changes"):
        before, after, *moved = expected[change["measure"]]
        assert (change["before"], change["after"]) == pytest.approx((before, after))
        assert change["change"] == pytest.approx(after - before)
        assert [change["rose"], change["same"], change["fell"]] == moved
        assert change["queries"] == 2


def test_gmap_is_contrasted_as_a_mean_and_has_nothing_by_query() -> None:
    found = contrast(J1, J12, RUN, ["GMAP"])
    assert found.rows("changes")[0]["before"] == pytest.approx(math.sqrt(1 * 1e-5))
    assert found.rows("changes")[0]["after"] == pytest.approx(math.sqrt(5 / 6 * 1 / 2))
    assert (found.by_query, found.rows("movers"), found.rows("queries")) == ((), [], [])
    assert [row["of"] for row in found.rows("correlations")] == ["systems"]
    assert any("GMAP has no scores of its own" in note for note in found.notes())


def test_differences_in_gmap_are_of_gmap_and_not_of_logarithms() -> None:
    """The first run has AP 1 and 1, the second 1/2 and 1 under J1; 1/2 and 1, then 1/4 and 1."""
    before = {"q1": {"a": 1}, "q2": {"x": 1}}
    after = {"q1": {"a": 1, "never": 1}, "q2": {"x": 1}}
    runs = {
        "first": {"q1": ranking("a"), "q2": ranking("x")},
        "second": {"q1": ranking("n", "a"), "q2": ranking("x")},
    }
    (found,) = contrast(before, after, runs, ["GMAP"]).rows("conclusions")
    assert found["before_difference"] == pytest.approx(math.sqrt(1 / 2) - 1)
    assert found["after_difference"] == pytest.approx(math.sqrt(1 / 4) - math.sqrt(1 / 2))
    assert found["shift"] == pytest.approx(found["after_difference"] - found["before_difference"])


def test_a_shift_of_gmap_that_turns_round_on_logarithms_is_reported() -> None:
    """AP 1/2 against 0.1, then 1 against 0.35: farther apart, but 5 times, then 2.9 times."""
    before, after = {"q": {"a": 1}}, {"q": {"a": 1, "b": 1}}
    runs = {"low": {"q": ranking("n", "b", *"opqrstu", "a")}, "high": {"q": ranking("b", "a")}}
    found = contrast(before, after, runs, ["GMAP"])
    (one,) = found.rows("conclusions")
    assert (one["before_difference"], one["after_difference"]) == pytest.approx((0.4, 0.65))
    assert one["shift"] == pytest.approx(0.25)
    assert any("as ratios, in which 1 shift goes the other way" in note for note in found.notes())


def test_every_query_under_both_sets() -> None:
    rows = contrast(J1, J12, RUN, ["AP"]).rows("queries")
    assert rows == [
        {"run": "run", "measure": "AP", "query_id": "q1", "before": 1.0, "after": (1 + 2 / 3) / 2},
        {"run": "run", "measure": "AP", "query_id": "q2", "before": 0.0, "after": 0.5},
    ]


def test_queries_that_a_run_lacks_are_reported() -> None:
    found = contrast(J1, J12, {"q1": ranking("a")}, ["AP"])
    assert found.rows("changes")[0]["queries"] == 1
    assert "run: 1 of 2 queries is not in the run" in found.notes()


def test_counts_and_namesakes_are_refused() -> None:
    with pytest.raises(CitebedError, match="NumRet"):
        contrast(J1, J12, RUN, ["AP", "NumRet"])
    twice = [*as_named("bm25", RUN), *as_named("bm25", RUN)]
    with pytest.raises(CitebedError, match="two runs are called 'bm25'"):
        contrast(J1, J12, twice, ["AP"])


def as_named(name: str, *runs: Any) -> list[Any]:
    from citebed.runs.reader import as_run
    from citebed.runs.tables import Run

    return [Run(as_run(run).table, name) for run in runs]


# --- movers ---------------------------------------------------------------------------------


def test_movers_from_the_best_value_and_from_nothing() -> None:
    first, second = contrast(J1, J12, RUN, ["AP"]).rows("movers")
    assert first == {
        "measure": "AP", "run": "run", "query_id": "q2", "before": 0.0, "after": 0.5,
        "change": 0.5, "move": "from 0", "before_relevant": 1, "after_relevant": 2,
    }  # fmt: skip
    assert (second["query_id"], second["move"]) == ("q1", "from best")
    assert (second["before_relevant"], second["after_relevant"]) == (1, 2)


def test_only_the_largest_of_other_moves_are_kept_each_way() -> None:
    # The relevant document of query i has rank 2, and i more have ranks 3 and later.
    run = {f"q{i}": ranking("n", "a", *(f"r{j}" for j in range(i))) for i in range(4)}
    before: Judgements = {f"q{i}": {"a": 1} for i in range(4)}
    after = {f"q{i}": {"a": 1, **{f"r{j}": 1 for j in range(i)}} for i in range(4)}
    options = ContrastOptions(largest=1)
    (mover,) = contrast(before, after, run, ["AP"], options).rows("movers")
    # AP of q3 is (1/2 + 2/3 + 3/4 + 4/5)/4, more than q1's and q2's; q0 has not moved.
    assert (mover["query_id"], mover["move"]) == ("q3", "rose")
    assert mover["change"] == pytest.approx((1 / 2 + 2 / 3 + 3 / 4 + 4 / 5) / 4 - 1 / 2)
    assert not contrast(before, after, run, ["AP"], ContrastOptions(largest=0)).rows("movers")


# --- what survives --------------------------------------------------------------------------

QUERIES = [f"q{i}" for i in range(8)]
SIGN = ContrastOptions(design=Design(test="sign"))


def two_runs() -> dict[str, dict[str, dict[str, float]]]:
    """For every query "first" has ``a`` on top, and "second" has ``b``."""
    return {
        "first": {query: ranking("a") for query in QUERIES},
        "second": {query: ranking("b") for query in QUERIES},
    }


def tops(winners: str) -> Judgements:
    """Judgements in which the one or the other is right; both have a relevant document."""
    return {
        query: {"z": 1, **({winner: 1} if winner in "ab" else {})}
        for query, winner in zip(QUERIES, winners, strict=True)
    }


@pytest.mark.parametrize(
    ("before", "after", "fate"),
    [
        # Eight wins of eight have p = 2/2⁸ under the sign test, seven of seven 2/2⁷; six of eight
        # have 2·(1 + 8 + 28)/2⁸.
        ("a" * 8, "a" * 7 + "-", "survives"), ("b" * 8, "b" * 8, "survives"),
        ("a" * 8, "a" * 6 + "bb", "vanishes"), ("a" * 8, "b" * 8, "turns round"),
        ("aaaabbbb", "b" * 8, "appears"), ("aaaabbbb", "-" * 8, "none"),
    ],
)  # fmt: skip
def test_the_fate_of_a_difference(before: str, after: str, fate: str) -> None:
    found = contrast(tops(before), tops(after), two_runs(), ["P@1"], SIGN)
    (conclusion,) = found.rows("conclusions")
    assert (conclusion["base"], conclusion["run"], conclusion["fate"]) == ("first", "second", fate)
    assert conclusion["before_difference"] == (before.count("b") - before.count("a")) / 8
    assert count_outcomes(found.parts["conclusions"]) == {"P@1": {fate: 1}}


def test_p_values_are_those_of_the_test_and_the_correction() -> None:
    runs = {**two_runs(), "third": {query: ranking("c") for query in QUERIES}}
    options = ContrastOptions(design=Design(test="sign", correction="bonferroni"))
    found = contrast(tops("a" * 8), tops("a" * 8), runs, ["P@1"], options)
    assert [c["before_p"] for c in found.rows("conclusions")] == pytest.approx(
        [6 / 2**8, 6 / 2**8, 1]
    )
    assert [c["fate"] for c in found.rows("conclusions")] == ["survives", "survives", "none"]


def test_a_shift_is_how_much_a_lead_grows_from_one_set_to_the_other() -> None:
    """Under the first set all eight queries are for "second", under the other all for "first"."""
    (found,) = contrast(tops("b" * 8), tops("a" * 8), two_runs(), ["P@1"], SIGN).rows("conclusions")
    assert (found["before_difference"], found["after_difference"], found["shift"]) == (1, -1, -2)
    assert found["shift_p"] == pytest.approx(2 / 2**8)
    (same,) = contrast(tops("a" * 8), tops("a" * 8), two_runs(), ["P@1"], SIGN).rows("conclusions")
    assert (same["shift"], same["fate"]) == (0, "survives")
    assert same["shift_p"] == 1


def test_queries_of_one_cluster_count_together() -> None:
    clusters = {query: str(at // 4) for at, query in enumerate(QUERIES)}
    options = ContrastOptions(design=Design(test="sign"), resampling=Resampling(cluster=clusters))
    found = contrast(tops("a" * 8), tops("a" * 8), two_runs(), ["P@1"], options)
    # Of two clusters' four sign flips, two are as extreme as what was seen.
    assert found.rows("conclusions")[0]["before_p"] == pytest.approx(0.5)
    assert found.rows("conclusions")[0]["fate"] == "none"


def test_a_single_run_has_no_conclusions_and_no_correlation_of_systems() -> None:
    found = contrast(J1, J12, RUN, ["AP"])
    assert found.rows("conclusions") == []
    assert found.rows("correlations")[0] == {
        "measure": "AP", "of": "systems", "run": "all", "n": 1,
        "kendall": None, "tau_ap": None, "spearman": None, "pearson": None,
    }  # fmt: skip
    # Under J1 the first query is better, and under J1+2 too.
    assert found.rows("correlations")[1]["kendall"] == pytest.approx(1)


# --- random judgements against the slow twin ------------------------------------------------

DOCUMENTS = "abcdef"
judgements = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 2), min_size=1),
    min_size=1,
)
rankings = st.fixed_dictionaries(
    {query: st.permutations(DOCUMENTS) for query in ("q1", "q2", "q3")}
)


@given(judgements, judgements, rankings)
def test_values_by_query_are_those_of_plain_loops(
    before: Judgements, after: Judgements, run: dict[str, list[str]]
) -> None:
    shared = sorted(before.keys() & after.keys())
    options = ContrastOptions(keep_empty=True)
    scored = {query: ranking(*documents) for query, documents in run.items()}
    if not shared:
        with pytest.raises(CitebedError, match="no query in common"):
            contrast(before, after, scored, ["P@2"], options)
        return
    found = contrast(before, after, scored, ["P@2"], options)
    for side, rows in (("before", before), ("after", after)):
        expected = slow.precision({query: rows[query] for query in shared}, run, 2)
        assert [row[side] for row in found.rows("queries")] == expected


# --- real runs ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cranfield(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Contrast:
    """Three models on Cranfield under half of the judgements, and under all."""
    from citebed.retrieval.execution.runner import RunOptions, run_queries
    from citebed.retrieval.index.builder import write_index
    from citebed.retrieval.index.index import open_index
    from citebed.retrieval.pipeline import parse_pipeline

    folder = tmp_path_factory.mktemp("contrast") / "c"
    rules = ImportOptions(rules=load_profile("cranfield"))
    import_sources(folder, [shared_data / "cranfield"], rules)
    write_index(folder)
    collection, index = open_collection(folder), open_index(folder)
    (name,) = collection.query_sets
    runs = {
        model: run_queries(
            collection, index, collection.queries(name), parse_pipeline(model), RunOptions(depth=50)
        ).table
        for model in ("bm25", "cosine", "kl", "okapi")
    }
    table = collection.qrels(name).table
    half = Qrels(table.gather_every(2), "half")
    return contrast(half, Qrels(table, "all"), runs)


def test_correlations_are_scipys_on_real_runs(cranfield: Contrast) -> None:
    rows = cranfield.parts["queries"]
    means = cranfield.parts["changes"]
    assert len(cranfield.rows("correlations")) == 5 + 4 * 4
    for found in cranfield.rows("correlations"):
        measured = (means if found["of"] == "systems" else rows).filter(measure=found["measure"])
        if found["of"] == "queries":
            measured = measured.filter(run=found["run"])
        x, y = measured["before"].to_numpy(), measured["after"].to_numpy()
        assert found["n"] == len(x)
        assert found["kendall"] == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
        assert found["spearman"] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert found["pearson"] == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)


def test_conclusions_are_scipys_on_real_runs(cranfield: Contrast) -> None:
    rows = cranfield.parts["queries"]
    for found in cranfield.rows("conclusions"):
        if found["measure"] == "GMAP":
            continue
        base, run = (
            rows.filter(measure=found["measure"], run=name)
            for name in (found["base"], found["run"])
        )
        for side, p in (("before", found["before_p"]), ("after", found["after_p"])):
            expected = stats.ttest_rel(run[side].to_numpy(), base[side].to_numpy()).pvalue
            assert p == pytest.approx(expected, rel=1e-9)
        gained = [(x["after"] - x["before"]).to_numpy() for x in (run, base)]
        expected = stats.ttest_rel(*gained).pvalue
        assert found["shift_p"] == pytest.approx(expected, rel=1e-9)
        assert found["shift"] == pytest.approx((gained[0] - gained[1]).mean(), abs=1e-12)


def test_more_relevant_documents_never_lower_precision_at_five(cranfield: Contrast) -> None:
    assert cranfield.parts["changes"].filter(measure="P@5")["fell"].sum() == 0
