"""Pools: the paper's cases by hand, against the slow twin, learning, and what is left to chance."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import pooling as slow

from citebed.cli.campaign.options import METHOD
from citebed.errors import CitebedError, UnknownName
from citebed.grammar import SpecError
from citebed.judging.assignments import shuffle_for_judge
from citebed.judging.pooling_methods import (
    METHODS,
    Pool,
    PooledDocument,
    PoolingOptions,
    contributors,
    pool,
    read_method,
)

JUDGING = Path(__file__).resolve().parents[3] / "docs" / "judging.md"
DOCS = st.sampled_from([f"d{n}" for n in range(30)])
RANKING = st.lists(DOCS, max_size=20)
LISTS = st.lists(RANKING, max_size=5).map(lambda rs: {f"m{n}": r for n, r in enumerate(rs)})
ANSWERS = st.sampled_from([True, False, None])
JUDGED = st.dictionaries(DOCS, ANSWERS, max_size=10)
TRUTH = st.frozensets(DOCS)
EXAMPLES = [method.example for method in METHODS.values()]
NAMES = st.sampled_from([*EXAMPLES, "depth(k=3)", "mtf", "bandit", "mtf(random=0.4)",
                         "bandit(random=0.4,depth=3)", "mtf(random=1)"])  # fmt: skip


def docs(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{n}" for n in range(1, count + 1)]


# --- the paper's rule -----------------------------------------------------------------------


def test_fifteen_or_more_manual_results_are_all_there_and_nothing_else() -> None:
    lists = {"okapi": docs("o", 20), "kl": docs("k", 20), "cosine": docs("c", 20)}
    for count in (15, 16, 22):
        made = pool(lists, docs("m", count), {}, PoolingOptions())
        assert made.doc_ids == docs("m", count)
        assert {document.stratum for document in made.documents} == {"manual"}


def test_fewer_manual_results_are_filled_up_one_from_each_list_in_turn() -> None:
    lists = {"okapi": docs("o", 20), "kl": docs("k", 20), "cosine": docs("c", 20)}
    made = pool(lists, docs("m", 10), {}, PoolingOptions())
    assert made.doc_ids == [*docs("m", 10), "o1", "k1", "c1", "o2", "k2"]
    assert made.documents[-1] == PooledDocument("k2", "ranked", "kl", 1.0)


def test_a_document_in_two_lists_costs_no_turn() -> None:
    lists = {"okapi": ["a", "b", "c"], "kl": ["a", "b", "d"], "cosine": ["b", "a", "m1", "e"]}
    made = pool(lists, ["m1", "m2", "m1"], {}, PoolingOptions(7))
    assert made.doc_ids == ["m1", "m2", "a", "b", "e", "c", "d"]


def test_judged_documents_are_neither_shown_nor_counted() -> None:
    lists = {"okapi": ["a", "b", "c"], "kl": ["d", "e"]}
    # Sixteen were marked, two of these are judged: there is room for one more.
    made = pool(lists, docs("m", 16), dict.fromkeys(("m1", "m9", "a")), PoolingOptions())
    assert made.doc_ids == [*[m for m in docs("m", 16) if m not in ("m1", "m9")], "b"]


def test_lists_that_run_out_are_passed_over() -> None:
    lists = {"short": ["a"], "long": docs("l", 5), "empty": []}
    assert pool(lists, (), {}, PoolingOptions(5)).doc_ids == ["a", "l1", "l2", "l3", "l4"]
    assert len(pool(lists, ["m"], {}, PoolingOptions()).documents) == 1 + 1 + 5


def test_nothing_to_pool_is_an_empty_pool() -> None:
    for name in METHODS:
        assert pool({}, (), {}, PoolingOptions(method=name)) == Pool(())
        assert pool({"a": ["d"]}, ["d"], {"d": True}, PoolingOptions(method=name)) == Pool(())


@given(LISTS, RANKING, JUDGED, st.integers(1, 20))
def test_the_seeds_rule_is_that_of_the_twin(
    lists: Mapping[str, Sequence[str]],
    manual: Sequence[str],
    judged: Mapping[str, bool | None],
    size: int,
) -> None:
    expected = slow.rounds(lists, manual, judged, size)
    for known in (judged, dict.fromkeys(judged)):
        made = pool(lists, manual, known, PoolingOptions(size))
        assert [(document.doc_id, document.method) for document in made.documents] == expected


@given(LISTS, RANKING, JUDGED, st.integers(1, 20))
def test_every_prefix_is_fair_between_lists(
    lists: Mapping[str, Sequence[str]],
    manual: Sequence[str],
    judged: Mapping[str, bool | None],
    size: int,
) -> None:
    ranked = [d for d in pool(lists, manual, judged, PoolingOptions(size)).documents
              if d.stratum == "ranked"]  # fmt: skip
    out = {*manual, *judged}
    for end in range(len(ranked) + 1):
        taken = {document.doc_id for document in ranked[:end]}
        counts = Counter(document.method for document in ranked[:end])
        most = max(counts.values(), default=0)
        for name, ranking in lists.items():
            assert counts[name] >= most - 1 or not set(ranking) - out - taken


@given(LISTS, RANKING, JUDGED, st.integers(1, 20), NAMES, TRUTH)
def test_whatever_the_method_a_pool_is_sound(
    lists: Mapping[str, Sequence[str]],
    manual: Sequence[str],
    judged: Mapping[str, bool | None],
    size: int,
    name: str,
    relevant: frozenset[str],
) -> None:
    made = pool(lists, manual, judged, PoolingOptions(size, name), relevant.__contains__)
    ids = made.doc_ids
    marked = [d for d in dict.fromkeys(manual) if d not in judged]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & set(judged)
    assert ids[: len(marked)] == marked
    rest = {d for ranking in lists.values() for d in ranking} - set(marked) - set(judged)
    assert set(ids[len(marked) :]) <= rest
    assert not set(made.unsampled) & {*ids, *judged}
    if not name.startswith("depth"):
        assert len(ids) == max(len(marked), min(size, len(marked) + len(rest)))


# --- depth ----------------------------------------------------------------------------------


def test_depth_is_the_first_k_of_every_list_rank_by_rank() -> None:
    lists = {"a": ["x", "y", "z"], "b": ["y", "j", "w", "v"], "c": ["u"]}
    made = pool(lists, ["m"], {"j": None}, PoolingOptions(1, "depth(k=2)"))
    assert made.doc_ids == ["m", "x", "y", "u"]


# --- move-to-front --------------------------------------------------------------------------


def test_move_to_front_by_hand() -> None:
    lists = {"a": docs("a", 5), "b": docs("b", 5), "c": ["b1", *docs("c", 4)]}
    relevant = {"a1", "a2", "c1", "c2", "b2"}
    made = pool(lists, (), {}, PoolingOptions(14, "mtf"), relevant.__contains__)
    assert made.doc_ids == [
        # a goes on until it fails, b fails, and c fails at no cost: b1 is known to be wrong.
        "a1", "a2", "a3", "b1",
        # All have failed once. a fails again, b is right and then fails: once since then.
        "a4", "b2", "b3",
        # c has waited longest of those that failed once; it is right twice.
        "c1", "c2", "c3",
        # b and c have failed once, a twice: a has to wait.
        "b4", "c4", "a5", "b5",
    ]  # fmt: skip


def test_a_relevant_document_of_another_list_counts_at_no_cost() -> None:
    lists = {"a": ["x", "a1", "a2"], "b": ["b1", "x", "b2", "b3"], "c": docs("c", 3)}
    made = pool(lists, (), {}, PoolingOptions(7, "mtf"), {"x"}.__contains__)
    # In the second round b comes by x, which a has brought: its b2 is judged in the same turn,
    # and as b failed once since x, it is ahead of the others.
    assert made.doc_ids == ["x", "a1", "b1", "c1", "a2", "b2", "c2"]
    longer = pool(lists, (), {}, PoolingOptions(9, "mtf"), {"x"}.__contains__)
    assert longer.doc_ids[7:] == ["b3", "c3"]


@given(LISTS, st.dictionaries(DOCS, st.booleans(), max_size=10), st.none() | TRUTH,
       st.integers(1, 20))  # fmt: skip
def test_move_to_front_is_that_of_the_twin(
    lists: Mapping[str, Sequence[str]],
    judged: Mapping[str, bool],
    relevant: frozenset[str] | None,
    size: int,
) -> None:
    oracle = None if relevant is None else relevant.__contains__
    made = pool(lists, (), judged, PoolingOptions(size, "mtf"), oracle)
    expected = slow.move_to_front(lists, judged, relevant, size)
    assert [(document.doc_id, document.method) for document in made.documents] == expected


@given(LISTS, RANKING, st.frozensets(DOCS, max_size=10))
def test_move_to_front_without_judgements_is_the_seeds_rule(
    lists: Mapping[str, Sequence[str]], manual: Sequence[str], judged: frozenset[str]
) -> None:
    known = dict.fromkeys(judged)
    assert pool(lists, manual, known, PoolingOptions(method="mtf")) == pool(
        lists, manual, known, PoolingOptions()
    )


def test_documents_judged_before_cost_nothing_and_teach_move_to_front() -> None:
    lists = {"a": ["no1", "no2", "a1"], "b": ["yes1", "yes2", "b1", "b2", "b3"]}
    judged = {"no1": False, "no2": False, "yes1": True, "yes2": True}
    made = pool(lists, (), judged, PoolingOptions(3, "mtf"))
    # a fails at once (no1); b continues with b1, which is unjudged; a fails (no2); b2; a1.
    assert made.doc_ids == ["b1", "b2", "a1"]


# --- bandit ---------------------------------------------------------------------------------


def test_a_bandit_gives_most_of_the_budget_to_the_list_that_is_right() -> None:
    lists = {"useless": docs("u", 200), "perfect": docs("p", 200)}
    shares = []
    for seed in range(20):
        made = pool(
            lists,
            (),
            {},
            PoolingOptions(100, "bandit", seed=seed),
            lambda doc_id: doc_id.startswith("p"),
        )
        shares.append(sum(document.method == "perfect" for document in made.documents))
    assert min(shares) >= 85
    assert sum(shares) / 20 >= 93


def test_a_bandit_without_judgements_keeps_to_its_prior() -> None:
    lists = {"a": docs("a", 2000), "b": docs("b", 2000)}
    made = pool(lists, (), {}, PoolingOptions(2000, "bandit"))
    # Half of 2000, within five standard deviations.
    assert abs(sum(document.method == "a" for document in made.documents) - 1000) < 112


def test_what_nobody_knows_teaches_a_bandit_nothing() -> None:
    lists = {"a": ["no", *docs("a", 2000)], "b": docs("b", 2000)}
    made = pool(lists, (), {"no": False}, PoolingOptions(1800, "bandit"))
    # Beta(1, 2) is above Beta(1, 1) in one of three draws, to the end; within five deviations.
    assert abs(sum(document.method == "a" for document in made.documents) - 600) < 100


def test_documents_judged_before_teach_a_bandit() -> None:
    bad, good = docs("no", 50), docs("yes", 50)
    lists = {"bad": [*bad, *docs("b", 50)], "good": [*good, *docs("g", 50)]}
    judged = dict.fromkeys(bad, False) | dict.fromkeys(good, True)
    made = pool(lists, (), judged, PoolingOptions(15, "bandit"))
    # While the 50 known ones of the good list last they are free; the bad list soon is left.
    assert made.doc_ids == docs("g", 15)


@given(LISTS, JUDGED, TRUTH, st.integers(0, 5), NAMES)
def test_the_same_seed_gives_the_same_pool(
    lists: Mapping[str, Sequence[str]],
    judged: Mapping[str, bool | None],
    relevant: frozenset[str],
    seed: int,
    name: str,
) -> None:
    def made() -> Pool:
        return pool(lists, (), judged, PoolingOptions(10, name, seed=seed), relevant.__contains__)

    assert made() == made()


def test_another_seed_gives_another_pool() -> None:
    lists = {"a": docs("a", 50), "b": docs("b", 50)}
    for name in ("bandit", "mtf(random=0.5)"):
        made = {
            tuple(pool(lists, (), {}, PoolingOptions(10, name, seed=s)).doc_ids) for s in range(8)
        }
        assert len(made) == 8
    first, second = (
        pool(lists, (), {}, PoolingOptions(10, "bandit", seed=s)) for s in ("7/q1", "7/q2")
    )
    assert first != second


# --- the random stratum ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mtf(random=0.2,depth=20)", "bandit(random=0.2,depth=20)"])
def test_a_share_of_the_budget_is_drawn_at_random(name: str) -> None:
    lists = {"a": docs("a", 40), "b": docs("b", 40)}
    made = pool(lists, docs("m", 5), {"a1": True}, PoolingOptions(20, name))
    strata = Counter(document.stratum for document in made.documents)
    assert strata == {"manual": 5, "ranked": 12, "random": 3}
    drawn = [document for document in made.documents if document.stratum == "random"]
    ranked = {document.doc_id for document in made.documents if document.stratum == "ranked"}
    left = set(docs("a", 20) + docs("b", 20)) - {"a1"} - ranked
    assert {document.probability for document in drawn} == {3 / len(left)}
    assert {document.method for document in drawn} == {""}
    assert {*made.unsampled, *(document.doc_id for document in drawn)} == left
    assert len(made.unsampled) == len(left) - 3


@pytest.mark.parametrize(("size", "drawn"), [(2, 0), (3, 1), (7, 1), (8, 2), (15, 3)])
def test_the_random_share_is_rounded(size: int, drawn: int) -> None:
    made = pool({"a": docs("a", 40)}, (), {}, PoolingOptions(size, "mtf(random=0.2)"))
    assert sum(document.stratum == "random" for document in made.documents) == drawn
    assert len(made.unsampled) == (40 - size if drawn else 0)


def test_a_small_frame_is_taken_whole_and_the_rest_goes_to_learning() -> None:
    lists = {"a": docs("a", 9)}
    made = pool(lists, (), {}, PoolingOptions(8, "mtf(random=0.5,depth=5)"))
    assert [document.stratum for document in made.documents] == [
        *["ranked"] * 4, "random", *["ranked"] * 3,
    ]  # fmt: skip
    assert made.doc_ids == docs("a", 8)
    assert {document.probability for document in made.documents} == {1.0}
    assert made.unsampled == ()


def test_inclusion_probabilities_are_what_simulation_finds() -> None:
    lists = {"a": docs("a", 12), "b": [*docs("b", 6), *docs("a", 12)]}
    truth = {"a1", "b1", "b2", "a7", "b5", "a12"}
    rounds, seen, estimates = 4000, Counter[str](), []
    for seed in range(rounds):
        made = pool(
            lists, (), {}, PoolingOptions(8, "mtf(random=0.5)", seed=seed), truth.__contains__
        )
        seen.update(made.doc_ids)
        estimates.append(sum(1 / d.probability for d in made.documents if d.doc_id in truth))
    probability = {d.doc_id: d.probability for d in made.documents}
    certain = {d.doc_id for d in made.documents if d.stratum == "ranked"}
    assert all(seen[doc_id] == rounds for doc_id in certain)
    (chance,) = {probability[d.doc_id] for d in made.documents if d.stratum == "random"}
    assert chance == 4 / 14
    others = {d for ranking in lists.values() for d in ranking} - certain
    # Five standard deviations of a binomial share.
    assert all(abs(seen[d] / rounds - chance) < 5 * (chance / rounds) ** 0.5 for d in others)
    # Judgements weighed by 1/probability estimate the number of relevant documents (Horvitz and
    # Thompson 1952) without bias.
    assert sum(estimates) / rounds == pytest.approx(len(truth), abs=0.2)


def test_pooling_draws_nothing_from_the_random_numbers_of_others() -> None:
    random.seed(5)
    before = random.getstate()
    pool({"a": docs("a", 9)}, (), {}, PoolingOptions(method="bandit(random=0.5)"))
    assert random.getstate() == before


# --- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("rounds", "rounds"), ("depth", "depth(k=10)"), ("depth(k=3)", "depth(k=3)"),
        ("mtf", "mtf"), ("mtf(random=0.2)", "mtf(random=0.2)"), ("MTF( random = 0 )", "mtf"),
        ("bandit(depth=50,random=.25)", "bandit(random=0.25,depth=50)"),
    ],
)  # fmt: skip
def test_names_parse_and_print_back(text: str, printed: str) -> None:
    assert str(read_method(text)) == printed
    assert read_method(printed) == read_method(text)


@pytest.mark.parametrize("method", METHODS.values())
def test_every_method_explains_itself(method: type[Any]) -> None:
    assert read_method(method.example).describe().startswith(f"{method.name}: ")


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_method_is_in_the_help_and_on_the_page(example: str) -> None:
    assert example in METHOD
    assert f"| `{example}` |" in JUDGING.read_text("utf-8")


def test_an_invalid_method_is_reported() -> None:
    with pytest.raises(
        UnknownName, match=r"unknown pooling method 'round'\. Did you mean 'rounds'"
    ):
        read_method("round")
    with pytest.raises(UnknownName, match="unknown parameter of mtf 'share'"):
        pool({}, (), {}, PoolingOptions(method="mtf(share=0.2)"))
    with pytest.raises(SpecError, match="random=2 is not a number from 0 to 1"):
        read_method("mtf(random=2)")
    with pytest.raises(SpecError, match="not a single pooling method"):
        read_method("mtf+bandit")


def test_bad_sizes_and_names_are_refused() -> None:
    with pytest.raises(CitebedError, match="found a pool size of 0, expected 1 or more"):
        pool({}, (), {}, PoolingOptions(0))
    for make in (
        lambda: pool({"manual": ["a"]}, (), {}, PoolingOptions()),
        lambda: contributors([], {"manual": ["a"]}),
    ):
        with pytest.raises(CitebedError, match="a ranked list is called 'manual'"):
            make()


# --- provenance and order -------------------------------------------------------------------


def test_every_document_knows_all_methods_that_found_it() -> None:
    lists = {"okapi": ["a", "b", "c"], "kl": ["b", "a", "b"], "cosine": ["c"]}
    assert contributors(["c", "x", "c"], lists, depth=2) == {
        "c": {"manual": 1, "cosine": 1},
        "x": {"manual": 2},
        "a": {"okapi": 1, "kl": 2},
        "b": {"okapi": 2, "kl": 1},
    }
    assert contributors([], lists)["c"] == {"okapi": 3, "cosine": 1}


@given(LISTS, RANKING, JUDGED, NAMES)
def test_every_pooled_document_was_found(
    lists: Mapping[str, Sequence[str]],
    manual: Sequence[str],
    judged: Mapping[str, bool | None],
    name: str,
) -> None:
    methods = contributors(manual, lists)
    for document in pool(lists, manual, judged, PoolingOptions(method=name)).documents:
        ranks = methods[document.doc_id]
        assert not document.method or document.method in ranks
        for method, rank in ranks.items():
            assert ([*manual] if method == "manual" else lists[method])[rank - 1] == document.doc_id


@given(st.lists(DOCS, unique=True), st.randoms(use_true_random=False))
def test_the_shown_order_hangs_on_nothing_but_judge_and_secret(
    doc_ids: list[str], chance: random.Random
) -> None:
    shown = shuffle_for_judge(doc_ids, b"secret", "ann")
    assert sorted(shown) == sorted(doc_ids)
    chance.shuffle(doc_ids)
    assert shuffle_for_judge(doc_ids, b"secret", "ann") == shown
    some = set(doc_ids[::2])
    assert shuffle_for_judge(some, b"secret", "ann") == [d for d in shown if d in some]


def test_the_shown_order_differs_by_judge_and_secret() -> None:
    # As openssl computes it. A campaign that runs must not be reordered by a newer version.
    assert shuffle_for_judge("abcdef", b"secret", "ann") == list("cbdfea")
    orders = {
        tuple(shuffle_for_judge(docs("d", 9), s, j)) for s in (b"1", b"2") for j in ("ann", "bob")
    }
    assert len(orders) == 4


def test_in_the_shown_order_every_document_comes_first_as_often() -> None:
    first = Counter(
        shuffle_for_judge(docs("d", 4), b"secret", f"judge {n}")[0] for n in range(2000)
    )
    assert all(abs(count - 500) < 5 * (2000 * 0.25 * 0.75) ** 0.5 for count in first.values())
