"""Pool bias: whose judgements they are, what their absence does, what rests on no judgement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import contrast as slow

from citebed.errors import CitebedError, FormatError
from citebed.evaluation.contrasts.pool_bias import (
    assign_teams,
    count_unpooled,
    pool_bias,
    pool_documents,
    top_documents,
    unique_judgements,
    worst_case_qrels,
)
from citebed.evaluation.options import Design, PoolBiasOptions
from citebed.report.contrast_tables import worst_case_sentence
from citebed.runs.ranking import Ranked, rank
from citebed.runs.reader import as_qrels, as_run
from citebed.runs.tables import Qrels, Run

Judgements = dict[str, dict[str, int]]
Rankings = dict[str, dict[str, list[str]]]


def scored(ranking: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    return {q: {d: -float(place) for place, d in enumerate(ds)} for q, ds in ranking.items()}


def runs_of(rankings: Rankings) -> dict[str, Any]:
    return {name: scored(ranking) for name, ranking in rankings.items()}


def ranked_of(rankings: Rankings) -> dict[str, Ranked]:
    return {
        name: rank(Run(as_run(scored(ranking)).table, name)) for name, ranking in rankings.items()
    }


def pairs(qrels: Qrels) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for query, document, grade in qrels.table.iter_rows():
        found.setdefault(query, {})[document] = grade
    return found


# ``d`` was found by hand; ``c`` by both runs; ``e`` by the second run, but too deep for depth 2.
QRELS: Judgements = {"q": {"a": 1, "b": 1, "c": 0, "d": 1, "e": 1}}
RUNS: Rankings = {"first": {"q": ["a", "c"]}, "second": {"q": ["b", "c", "e"]}}
AT_2 = PoolBiasOptions(depth=2, cutoffs=(2,))

# --- whose judgements -----------------------------------------------------------------------


def test_judgements_that_one_run_alone_contributed() -> None:
    teams = {"first": "first", "second": "second"}
    one, two = unique_judgements(as_qrels(QRELS), pool_documents(ranked_of(RUNS), teams, 2))
    assert one.judged["doc_id"].to_list() == ["a"]
    assert two.judged["doc_id"].to_list() == ["b"]
    assert pairs(two.rest) == {"q": {"a": 1, "c": 0, "d": 1, "e": 1}}
    _, deeper = unique_judgements(as_qrels(QRELS), pool_documents(ranked_of(RUNS), teams, 3))
    assert deeper.judged["doc_id"].to_list() == ["b", "e"]


def test_runs_of_one_team_are_left_out_together() -> None:
    rankings = {**RUNS, "third": {"q": ["a", "d"]}}
    teams = {"first": "us", "second": "them", "third": "us"}
    us, them = unique_judgements(as_qrels(QRELS), pool_documents(ranked_of(rankings), teams, 2))
    assert (us.team, us.judged["doc_id"].to_list()) == ("us", ["a", "d"])
    assert (them.team, them.judged["doc_id"].to_list()) == ("them", ["b"])


def test_the_top_is_by_score_whatever_the_order_of_the_file() -> None:
    run = as_run([("q", "low", 1.0), ("r", "only", 5.0), ("q", "high", 2.0)])
    assert sorted(top_documents(rank(run), 1).iter_rows()) == [("q", "high"), ("r", "only")]


DOCUMENTS = "abcde"
QUERIES = ("q1", "q2")
judgements = st.fixed_dictionaries(
    {
        q: st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 2), min_size=1)
        for q in QUERIES
    }
)
ranking = st.fixed_dictionaries(
    {q: st.lists(st.sampled_from(DOCUMENTS), min_size=1, unique=True) for q in QUERIES}
)
rankings = st.fixed_dictionaries(dict.fromkeys(("x", "y", "z"), ranking))
TEAMS = {"x": "one", "y": "two", "z": "one"}


@given(judgements, rankings, st.integers(1, 4))
def test_unique_judgements_are_those_of_plain_loops(
    known: Judgements, runs: Rankings, depth: int
) -> None:
    qrels, ranked = as_qrels(known), ranked_of(runs)
    pool = pool_documents(ranked, TEAMS, depth)
    found = unique_judgements(qrels, pool)
    assert [unique.team for unique in found] == list(dict.fromkeys(TEAMS[name] for name in runs))
    for unique in found:
        own = slow.only_of(known, runs, TEAMS, unique.team, depth)
        assert set(unique.judged.select("query_id", "doc_id").iter_rows()) == own
        rest = pairs(unique.rest)
        assert slow.judged(rest) == slow.judged(known) - own
        assert rest.keys() == known.keys()
    assert count_unpooled(qrels, pool) == len(slow.nobodys(known, runs, depth))


# --- what is lost ---------------------------------------------------------------------------


def test_a_run_falls_by_what_it_alone_contributed() -> None:
    found = pool_bias(QRELS, runs_of(RUNS), ["AP"], AT_2)
    first, second = found.rows("falls")
    # Four relevant documents. The first run has one of them, on top: AP 1/4, and 0 without it.
    assert (first["before"], first["after"], first["change"]) == pytest.approx((1 / 4, 0, -1 / 4))
    assert (first["unique"], first["unique_relevant"], first["share"]) == (1, 1, -1)
    # The second has two, at ranks 1 and 3: (1 + 2/3)/4; without its own (1/3)/3 of three.
    assert (second["before"], second["after"]) == pytest.approx((5 / 12, 1 / 9))
    # Without b the first run has (1)/3: it is better then.
    assert (first["before_rank"], first["after_rank"]) == (2, 2)
    assert (second["before_rank"], second["after_rank"]) == (1, 2)
    assert [order["kendall"] for order in found.rows("orders")] == pytest.approx([1, -1])
    assert [order["tau_ap"] for order in found.rows("orders")] == pytest.approx([1, -1])
    assert (found.judged, found.unclaimed) == (5, 2)


def test_unjudged_shares_with_and_without() -> None:
    found = pool_bias(QRELS, runs_of(RUNS), ["AP"], PoolBiasOptions(depth=2, cutoffs=(1, 3)))
    assert [tuple(s.values())[1:] for s in found.rows("unjudged")] == [
        ("first", 1, 1, 0, 1),
        ("first", 3, 2, 0, 1 / 2),
        ("second", 1, 1, 0, 1),
        ("second", 3, 3, 0, pytest.approx(1 / 3)),
    ]


def test_a_query_that_loses_all_its_judgements_still_counts() -> None:
    known: Judgements = {"q": {"a": 1}, "r": {"b": 1, "c": 1}}
    runs: Rankings = {"one": {"q": ["a"], "r": ["b"]}, "two": {"q": ["z"], "r": ["b", "c"]}}
    found = pool_bias(known, runs_of(runs), ["RR"], AT_2)
    assert found.rows("falls")[0]["before"] == 1
    assert found.rows("falls")[0]["after"] == pytest.approx(1 / 2)


def test_runs_of_a_team_are_each_scored_without_the_teams_judgements() -> None:
    options = PoolBiasOptions(depth=2, teams={"first": "us", "second": "us", "third": "them"})
    runs = {**runs_of(RUNS), "third": scored({"q": ["d"]})}
    falls = pool_bias(QRELS, runs, ["P@1"], options).rows("falls")
    assert [(fall["run"], fall["after"]) for fall in falls] == [
        ("first", 0),
        ("second", 0),
        ("third", 0),
    ]
    assert [fall["unique"] for fall in falls] == [3, 3, 1]


# --- what rests on unjudged documents -------------------------------------------------------

EIGHT = [f"q{i}" for i in range(8)]
SIGN = PoolBiasOptions(depth=5, design=Design(test="sign"))


def bound(judged: dict[str, int], one: list[str], two: list[str], measure: str) -> Any:
    """The bound of two runs that have the same ranking for each of eight queries."""
    known = dict.fromkeys(EIGHT, judged)
    runs = {
        "one": scored(dict.fromkeys(EIGHT, one)),
        "two": scored(dict.fromkeys(EIGHT, two)),
    }
    (found,) = pool_bias(known, runs, [measure], SIGN).rows("conclusions")
    return found


def test_a_lead_over_judged_documents_stays() -> None:
    found = bound({"a": 1, "b": 0}, ["a"], ["b"], "P@1")
    assert (found["winner"], found["loser"], found["difference"]) == ("one", "two", 1)
    assert (found["winner_unjudged"], found["loser_unjudged"], found["worst"]) == (0, 0, 1)
    assert found["verdict"] == "stands"
    assert (
        worst_case_sentence(found) == "one beats two in P@1; every document that counts was judged."
    )


def test_a_lead_that_an_unjudged_document_would_undo() -> None:
    found = bound({"a": 1}, ["u"], ["a"], "P@1")
    assert (found["winner"], found["loser_unjudged"], found["worst"], found["worst_p"]) == (
        "two",
        8,
        0,
        1,
    )
    assert found["verdict"] == "cannot be told"
    assert "would not be significant" in worst_case_sentence(found)


def test_a_lead_that_unjudged_documents_would_turn_round() -> None:
    # As judged 1/2 to 0; if v and w are relevant and u is not, 1/2 to 1.
    found = bound({"a": 1}, ["a", "u"], ["v", "w"], "P@2")
    assert (found["difference"], found["worst"]) == (0.5, -0.5)
    assert (found["winner_unjudged"], found["loser_unjudged"]) == (8, 16)
    assert found["worst_p"] == pytest.approx(2 / 2**8)
    assert found["verdict"] == "may turn round"
    assert "two would be significantly better" in worst_case_sentence(found)


def test_a_lead_that_outlives_the_worst_case() -> None:
    found = bound({"a": 1, "b": 1, "c": 0}, ["a", "b"], ["u", "c"], "P@2")
    assert (found["difference"], found["worst"], found["verdict"]) == (1, 0.5, "stands")
    assert "even if all unjudged documents of two were relevant" in worst_case_sentence(found)


def test_documents_that_both_runs_have_help_neither() -> None:
    found = bound({"a": 1, "n": 0}, ["a", "u"], ["u", "n"], "P@2")
    assert (found["winner_unjudged"], found["loser_unjudged"]) == (8, 8)
    assert (found["worst"], found["verdict"]) == (0.5, "stands")


def test_only_the_cutoff_counts_and_the_depth_where_there_is_none() -> None:
    assert bound({"a": 1, "n": 0}, ["a"], ["n", "u"], "P@1")["cutoff"] == 1
    deep = bound({"a": 1, "n": 0}, ["a"], ["n", "u", "v", "w", "x", "y"], "AP")
    assert (deep["cutoff"], deep["loser_unjudged"]) == (5, 4 * 8)


def test_the_correction_counts_in_the_worst_case_too() -> None:
    known = {query: {"a": 1, "b": 1, "c": 0} for query in EIGHT}
    tops = {"one": ["a", "b"], "two": ["u", "c"], "three": ["c", "z"]}
    runs = {name: scored(dict.fromkeys(EIGHT, ids)) for name, ids in tops.items()}
    options = PoolBiasOptions(depth=5, design=Design(test="sign", correction="bonferroni"))
    found = pool_bias(known, runs, ["P@2"], options)
    assert [b["worst_p"] for b in found.rows("conclusions")] == pytest.approx([6 / 2**8] * 2)
    assert found.undecided == 1


@given(judgements, rankings, st.integers(1, 4))
def test_the_worst_case_is_that_of_plain_loops(
    known: Judgements, runs: Rankings, depth: int
) -> None:
    from citebed.evaluation.contrasts.pool_bias import _unjudged

    qrels, ranked = as_qrels(known), ranked_of(runs)
    found = worst_case_qrels(qrels, *(_unjudged(qrels, ranked[name], depth) for name in ("x", "y")))
    assert pairs(found) == slow.worst_case(known, runs, "x", "y", depth)


# --- what a user can get wrong --------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ({"one": {"q": ["a"]}}, {"depth": 2}, "found one run"),
        (RUNS, {"depth": 0}, "the depth is 0"),
        (RUNS, {"teams": {"first": "x"}}, "'second' has no team"),
        (RUNS, {"design": Design(correction="tukey")}, "Correct with holm"),
        (RUNS, {"cutoffs": (0,)}, "a cut-off is a rank"),
    ],
)
def test_impossible_options_are_reported(runs: Any, options: Any, message: str) -> None:
    with pytest.raises(CitebedError, match=message):
        pool_bias(QRELS, runs_of(runs), ["P@1"], PoolBiasOptions(**options))


def test_counts_are_refused() -> None:
    with pytest.raises(CitebedError, match="NumRet"):
        pool_bias(QRELS, runs_of(RUNS), ["NumRet"], AT_2)


def test_teams_are_read_from_lines(tmp_path: Path) -> None:
    path = tmp_path / "teams.txt"
    path.write_text("# run team\nbm25 us\n\nkl\tthem\nbm25 us\n")
    assert assign_teams(["bm25", "kl"], path) == {"bm25": "us", "kl": "them"}


@pytest.mark.parametrize(
    ("text", "message"),
    [("bm25 us\nkl\n", ":2: found 1 fields"), ("a x\na y\n", ":2: the run 'a' has a second")],
)
def test_teams_that_cannot_be_read_are_located(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "teams.txt"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        assign_teams(["bm25"], path)
