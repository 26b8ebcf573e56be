"""Sampling, cutting, merging, describing and expanding sets of judgements."""

from __future__ import annotations

import statistics
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sampling import sized

from citebed.errors import CitebedError
from citebed.evaluation.judgements.cocitation import (
    ExpansionOptions,
    ExpansionResult,
    both_ways,
    cocitations,
    expand,
)
from citebed.evaluation.judgements.sets import (
    RULES,
    Difference,
    Merged,
    difference,
    merge,
    pooled,
    sample,
    subset,
)
from citebed.evaluation.judgements.statistics import describe
from citebed.runs.reader import as_qrels, as_run
from citebed.runs.tables import Qrels

Pairs = dict[tuple[str, str], int]
GRADES = st.dictionaries(
    st.sampled_from(["p", "q", "r"]),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(-2, 3), min_size=1),
    min_size=1,
)


def pairs_of(qrels: Qrels) -> Pairs:
    return {(query, document): grade for query, document, grade, *_ in qrels.table.rows()}


# --- sample ---


@given(GRADES, st.floats(0.01, 1), st.integers(0, 99))
def test_every_query_keeps_its_share(
    grades: dict[str, dict[str, int]], share: float, seed: int
) -> None:
    given_, kept = as_qrels(grades), sample(as_qrels(grades), share, seed)
    assert kept.table.rows() == [row for row in given_.table.rows() if row in kept.table.rows()]
    sizes = Counter(kept.table["query_id"].to_list())
    for query, documents in grades.items():
        assert abs(sizes[query] - share * len(documents)) < 1


@given(GRADES, st.integers(0, 99), st.sampled_from(["judgement", "query"]))
def test_a_sample_is_part_of_a_larger_one_and_heeds_no_order(
    grades: dict[str, dict[str, int]], seed: int, by: str
) -> None:
    qrels = as_qrels(grades)
    before: Pairs = {}
    for share in (0.2, 0.5, 0.7, 1.0):
        found = pairs_of(sample(qrels, share, seed, by))  # type: ignore[arg-type]
        assert before.items() <= found.items()
        before = found
    assert before == pairs_of(qrels)
    turned = Qrels(qrels.table.reverse())
    drawn = sample(turned, 0.5, seed, by)  # type: ignore[arg-type]
    assert pairs_of(drawn) == pairs_of(sample(qrels, 0.5, seed, by))  # type: ignore[arg-type]


def test_every_judgement_stays_with_the_same_probability() -> None:
    """Over many seeds each of three judgements stays in the share of them, give or take 4 sd."""
    qrels = as_qrels({"q": {"a": 1, "b": 0, "c": 1}})
    seeds = sized(200, 2000)
    stayed = Counter(pair for seed in range(seeds) for pair in pairs_of(sample(qrels, 0.4, seed)))
    most = 4 * (seeds * 0.4 * 0.6) ** 0.5
    assert all(abs(stayed["q", d] - 0.4 * seeds) < most for d in "abc")


def test_whole_queries_are_drawn() -> None:
    qrels = as_qrels({f"q{n}": {"a": 1, "b": 0} for n in range(10)})
    kept = sample(qrels, 0.25, 7, "query")
    assert set(Counter(kept.table["query_id"].to_list()).values()) == {2}
    assert kept.table["query_id"].n_unique() == 3  # the nearest to 2.5, upwards


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01, float("nan")])
def test_a_share_that_is_invalid(share: float) -> None:
    with pytest.raises(CitebedError, match="share"):
        sample(as_qrels({"q": {"a": 1}}), share)


def test_a_document_judged_twice_is_refused() -> None:
    table = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "a"], "relevance": [0, 1]})
    for tool in (
        lambda x: sample(x, 0.5),
        describe,
        lambda x: merge([x], "max"),
        lambda x: difference(x, SET),
    ):
        with pytest.raises(CitebedError, match="'a' is judged twice for query 'q'"):
            tool(Qrels(table))


# --- subset ---

SET = as_qrels({"p": {"a": 2, "b": 0}, "q": {"a": 1, "c": -1, "d": 0}})


def test_subsets() -> None:
    assert pairs_of(subset(SET, queries=["p", "none"])) == {("p", "a"): 2, ("p", "b"): 0}
    assert pairs_of(subset(SET, documents=["a"])) == {("p", "a"): 2, ("q", "a"): 1}
    assert pairs_of(subset(SET, min_relevance=1)) == {("p", "a"): 2, ("q", "a"): 1}
    assert pairs_of(subset(SET, queries=["q"], documents=["a", "b"])) == {("q", "a"): 1}
    assert pairs_of(subset(SET, queries=[])) == {}
    assert pairs_of(subset(SET)) == pairs_of(SET)


def test_a_pool_of_runs() -> None:
    """Equal scores are cut in the one order: of b and d at rank 1 it is d that comes first."""
    first = as_run({"p": {"a": 1.0, "x": 2.0}, "q": {"b": 1.0, "d": 1.0, "a": 0.5}})
    second = as_run({"p": {"b": 9.0}})
    assert pairs_of(pooled(SET, [first], 1)) == {("q", "d"): 0}
    assert pairs_of(pooled(SET, [first, second], 1)) == {("p", "b"): 0, ("q", "d"): 0}
    assert pairs_of(pooled(SET, [first], 3)) == {("p", "a"): 2, ("q", "a"): 1, ("q", "d"): 0}
    with pytest.raises(CitebedError, match="at least one run"):
        pooled(SET, [], 3)
    with pytest.raises(CitebedError, match="depth 0"):
        pooled(SET, [first], 0)


# --- labels go along ---

SOURCED = Qrels(SET.table.with_columns(label=pl.Series(["cited", "hand", "cited", "hand", "hand"])))


def test_samples_subsets_and_differences_keep_where_judgements_come_from() -> None:
    kept = subset(SOURCED, queries=["p"])
    assert kept.table["label"].to_list() == ["cited", "hand"]
    assert sample(SOURCED, 1.0).table.equals(SOURCED.table)
    less = difference(SOURCED, {"p": {"a": 2}})
    assert less.qrels.table.columns == SOURCED.table.columns


def test_a_subset_by_source() -> None:
    assert pairs_of(subset(SOURCED, sources=["cited"])) == {("p", "a"): 2, ("q", "a"): 1}
    with pytest.raises(CitebedError, match=r"unknown source 'sited'\. Did you mean 'cited'"):
        subset(SOURCED, sources=["sited"])
    with pytest.raises(CitebedError, match="does not name the sources"):
        subset(SET, sources=["cited"])


def test_merged_judgements_say_which_set_judged_first() -> None:
    other = as_qrels({"p": {"a": 0, "x": 1}, "q": {"c": 0}}, "phase two")
    found = merge([SOURCED, other], "max").qrels.table
    labels = {(query, doc): label for query, doc, _, label in found.iter_rows()}
    assert labels == {
        ("p", "a"): "cited", ("p", "b"): "hand", ("p", "x"): "phase-two",
        ("q", "a"): "cited", ("q", "c"): "phase-two", ("q", "d"): "hand",
    }  # fmt: skip


# --- difference ---


def test_a_difference_by_hand() -> None:
    """a is judged in both, with another grade; c is not judged in the other, which says so."""
    other = as_qrels({"p": {"a": 1, "b": -1}, "q": {"d": 0, "z": 1}})
    found = difference(SET, other)
    assert pairs_of(found.qrels) == {("p", "b"): 0, ("q", "a"): 1, ("q", "c"): -1}
    assert (found.shared, found.changed) == (2, 1)
    with pytest.raises(CitebedError, match="at least one other judgement set"):
        difference(SET)


@given(GRADES, st.lists(GRADES, min_size=1, max_size=3))
def test_a_difference_is_that_of_sets(
    grades: dict[str, dict[str, int]], others: list[dict[str, dict[str, int]]]
) -> None:
    judged = [{p: g for p, g in pairs_of(as_qrels(one)).items() if g >= 0} for one in others]
    mine = pairs_of(as_qrels(grades))
    known = {pair for one in judged for pair in one}
    found: Difference = difference(grades, *others)
    assert list(pairs_of(found.qrels).items()) == [x for x in mine.items() if x[0] not in known]
    assert found.shared == len(known & mine.keys())
    assert found.changed == len(
        {p for one in judged for p, grade in one.items() if mine.get(p, grade) != grade}
    )


def test_what_a_second_phase_judged_and_the_first_make_both() -> None:
    """J1+2 less J1 is J2; J1 and J2 merged are J1+2."""
    both = as_qrels({"p": {"a": 1, "b": 0, "c": 1}, "q": {"a": 1, "d": 0}}, "j12")
    first = as_qrels({"p": {"a": 1}, "q": {"a": 1}}, "j1")
    second = Qrels(difference(both, first).qrels.table, "j2")
    assert pairs_of(merge([first, second], "first").qrels) == pairs_of(both)


# --- merge ---

ONE = as_qrels({"q": {"same": 1, "half": 1, "far": 0, "one": 2, "pool": -1, "gone": -1}}, "one")
TWO = as_qrels({"q": {"same": 1, "half": 2, "far": 2, "two": 0, "pool": 1, "gone": -2}}, "two")
SIX = as_qrels({"q": {"same": 1, "half": 2, "far": 3}}, "six")

BY_RULE = {
    "first": {"half": 1, "far": 0},
    "max": {"half": 2, "far": 3},
    "min": {"half": 1, "far": 0},
    "mean": {"half": 2, "far": 2},  # 5/3 and 5/3
    "majority": {"half": 2},  # 0, 2 and 3 tie
    "undisputed": {},
}
UNDISPUTED = {"same": 1, "one": 2, "two": 0, "pool": 1, "gone": -1}


@pytest.mark.parametrize("rule", BY_RULE)
def test_rules_by_hand(rule: str) -> None:
    found = merge([ONE, TWO, SIX], rule)
    assert {d: g for (_, d), g in pairs_of(found.qrels).items()} == UNDISPUTED | BY_RULE[rule]
    assert (found.pairs, found.shared) == (7, 3)
    assert found.left_out == 2 - len(BY_RULE[rule])
    assert found.conflicts.select("doc_id", "one", "two", "six").rows() == [
        ("far", 0, 2, 3),
        ("half", 1, 2, 2),
    ]
    assert found.conflicts["merged"].to_list() == [BY_RULE[rule].get(d) for d in ("far", "half")]


def test_agreed_wants_every_set() -> None:
    found = merge([ONE, TWO, SIX], "agreed")
    assert pairs_of(found.qrels) == {("q", "same"): 1, ("q", "gone"): -1}


def test_a_mean_of_a_half_goes_up() -> None:
    sets = [as_qrels({"q": {"a": grade}}, f"s{grade}") for grade in (0, 1)]
    assert pairs_of(merge(sets, "mean").qrels) == {("q", "a"): 1}


def test_grades_are_mapped_first_and_all_at_once() -> None:
    """1 becomes 2 and 2 becomes 3: no grade is mapped twice."""
    found = merge([ONE, TWO], "max", {"two": {1: 2, 2: 3}})
    assert pairs_of(found.qrels)["q", "same"] == 2
    assert pairs_of(found.qrels)["q", "far"] == 3
    with pytest.raises(CitebedError, match="two has no grade 7 to map; its grades are -2, 0, 1, 2"):
        merge([ONE, TWO], "max", {"two": {7: 2}})
    with pytest.raises(CitebedError, match="unknown set of judgements 'tow'"):
        merge([ONE, TWO], "max", {"tow": {1: 2}})


def test_merging_what_cannot_be_merged() -> None:
    with pytest.raises(CitebedError, match="Did you mean 'majority'"):
        merge([ONE], "majorty")
    with pytest.raises(CitebedError, match="two sets of judgements are called 'one'"):
        merge([ONE, ONE], "max")
    with pytest.raises(CitebedError, match="at least one judgement set"):
        merge([], "max")
    with pytest.raises(CitebedError, match="cannot be called 'doc_id'"):
        merge([ONE, as_qrels({"q": {"a": 1}}, "doc_id")], "max")


def slow(sets: list[Pairs], rule: str) -> Pairs:
    """The rules, one pair at a time."""
    found = {}
    for pair in {pair for one in sets for pair in one}:
        given_ = [one[pair] for one in sets if pair in one]
        grades = [grade for grade in given_ if grade >= 0]
        if not grades:
            found[pair] = max(given_)
            continue
        counts = Counter(grades).most_common()
        answer: dict[str, int | None] = {
            "first": grades[0],
            "max": max(grades),
            "min": min(grades),
            "mean": int(statistics.fmean(grades) + 0.5),
            "majority": None if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0],
            "undisputed": grades[0] if len(counts) == 1 else None,
            "agreed": grades[0] if len(counts) == 1 and len(grades) == len(sets) else None,
        }
        grade = answer[rule]
        if grade is not None:
            found[pair] = grade
    return found


@given(st.lists(GRADES, min_size=1, max_size=4), st.sampled_from(sorted(RULES)))
def test_equal_to_one_pair_at_a_time(sets: list[dict[str, dict[str, int]]], rule: str) -> None:
    given_ = [as_qrels(one, f"set{n}") for n, one in enumerate(sets)]
    found: Merged = merge(given_, rule)
    assert pairs_of(found.qrels) == slow([pairs_of(one) for one in given_], rule)
    assert found.pairs == found.qrels.table.height + found.left_out
    assert found.qrels.table.select("query_id", "doc_id").rows() == sorted(pairs_of(found.qrels))


# --- expand ---

LISTS = pl.DataFrame(
    [
        ("one", "a"), ("one", "b"), ("one", "c"), ("one", "a"),
        ("two", "a"), ("two", "b"),
        ("six", "a"), ("six", "d"),
        ("ten", "z"),
    ],
    schema=["citer", "doc_id"],
    orient="row",
)  # fmt: skip


def test_co_citations_by_hand() -> None:
    """a and b are both in lists one and two; an entry given twice counts once."""
    found = cocitations(LISTS, pl.Series(["a", "z", "none"]))
    assert sorted(found.rows()) == [("a", "b", 2.0), ("a", "c", 1.0), ("a", "d", 1.0)]


def test_pairs_go_both_ways() -> None:
    pairs = pl.DataFrame(
        {"doc_id": ["a", "b", "c"], "other_id": ["b", "a", "c"], "count": [2, 3, 9]}
    )
    both = both_ways(pairs)
    assert sorted(both.rows()) == [("a", "b", 3.0), ("b", "a", 3.0)]


def expanded(
    grades: dict[str, dict[str, int]], how: ExpansionOptions, **further: pl.DataFrame
) -> ExpansionResult:
    qrels = as_qrels(grades)
    relevant = qrels.table["doc_id"]
    return expand(qrels, cocitations(LISTS, relevant), how, **further)


def test_expanding_by_hand() -> None:
    found = expanded({"q": {"a": 1, "c": 0}}, ExpansionOptions(min_cocitations=1, grade=3))
    assert found.qrels.table.rows() == [
        ("q", "b", 3, 2.0, "a", 1),
        ("q", "d", 3, 1.0, "a", 1),
    ]
    assert (found.seeds, found.below_minimum, found.already_judged) == (1, 0, 1)
    twice = expanded({"q": {"a": 1, "c": 0}}, ExpansionOptions(min_cocitations=2))
    assert pairs_of(twice.qrels) == {("q", "b"): 1}
    assert twice.below_minimum == 2


def test_the_list_of_the_query_s_own_paper_is_taken_off() -> None:
    """List one cites a, b and c: without it, a and b are co-cited once, a and c never."""
    own = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "b", "c"]})
    found = expanded({"q": {"a": 1}, "r": {"a": 1}}, ExpansionOptions(min_cocitations=1), own=own)
    counts = {row[:2]: row[3] for row in found.qrels.table.rows()}
    assert counts == {
        ("q", "b"): 1, ("q", "d"): 1, ("r", "b"): 2, ("r", "c"): 1, ("r", "d"): 1
    }  # fmt: skip


def test_what_a_query_may_not_have_is_left_out_and_counted() -> None:
    barred = pl.DataFrame({"query_id": ["q"], "doc_id": ["b"]})
    found = expanded({"q": {"a": 1}}, ExpansionOptions(min_cocitations=2), barred=barred)
    assert pairs_of(found.qrels) == {}
    assert found.excluded == 1


def test_the_loudest_witness_is_named() -> None:
    """b is co-cited with a twice and with c once; both are relevant."""
    found = expanded({"q": {"a": 1, "c": 2}}, ExpansionOptions(min_cocitations=1))
    rows = {row[1]: row[3:] for row in found.qrels.table.rows()}
    assert rows["b"] == (2.0, "a", 2)


@given(GRADES, st.integers(1, 3))
def test_nothing_that_is_judged_is_judged_again(
    grades: dict[str, dict[str, int]], at_least: int
) -> None:
    found = expanded(grades, ExpansionOptions(min_cocitations=at_least))
    assert not pairs_of(found.qrels).keys() & pairs_of(as_qrels(grades)).keys()


def test_expansions_that_make_no_sense() -> None:
    with pytest.raises(CitebedError, match="1 or more"):
        ExpansionOptions(min_cocitations=0)
    with pytest.raises(CitebedError, match="below 0"):
        ExpansionOptions(grade=-1)
