"""Feedback: by hand, by laws, and the same every time.

The collection of the cases by hand is ``DOCS``: aba, bc, accd, e.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import models as slow
from tests.sampling import examples
from tests.unit.retrieval.models.tiny import (
    COLLECTIONS,
    DOCS,
    QUERIES,
    Tiny,
    any_feedback,
    any_model,
)

from citebed.grammar import SpecError
from citebed.retrieval.feedback import (
    FEEDBACK,
    Feedback,
    FeedbackDocuments,
    TermWeights,
    retrieval_of,
)
from citebed.retrieval.feedback.base import best
from citebed.retrieval.feedback.methods import NATURAL, Natural, Rocchio, em_steps
from citebed.retrieval.models import MODELS, Model, model_of

TINY = Tiny(DOCS)
LN2 = log(2)


def expand(
    text: str, query: str, rows: list[int], others: list[int] | None = None, index: Tiny = TINY
) -> dict[str, float]:
    """The final weights of a query after feedback, by word."""
    model, feedback = retrieval_of(text)
    assert feedback is not None
    terms = index.query(list(query))
    documents = index.feedback_documents(model, rows, terms, others)
    found = feedback.expand(model, terms, documents, index.stats)
    assert found.final
    return index.by_word(found)


# --- Rocchio --------------------------------------------------------------------------------

FLAT = "cosine(idf=none)"  # document 0 is (a 2, b 1)/√5, document 1 is (b 1, c 1)/√2


def test_rocchio_moves_towards_a_document() -> None:
    expected = {"a": 0.75 * 2 / sqrt(5), "b": 1 + 0.75 / sqrt(5)}
    assert expand(f"{FLAT}+rocchio", "b", [0]) == pytest.approx(expected)


def test_rocchio_takes_the_mean_of_documents() -> None:
    half = 0.6 / 2
    expected = {
        "a": half * 2 / sqrt(5),
        "b": 2 + half / sqrt(5) + half / sqrt(2),
        "c": half / sqrt(2),
    }
    assert expand(f"{FLAT}+rocchio(alpha=2,beta=0.6)", "b", [0, 1]) == pytest.approx(expected)


def test_rocchio_adds_only_the_best_terms() -> None:
    expected = {"a": 0.75 * 2 / sqrt(5), "b": 1.0}
    assert expand(f"{FLAT}+rocchio(terms=1)", "b", [0]) == pytest.approx(expected)


def test_rocchio_moves_away_from_documents_judged_not_relevant() -> None:
    """b loses more (0.5/√2) than it gains (0.75/√5), c only loses: neither is added."""
    expected = {"a": 0.75 * 2 / sqrt(5), "b": 1.0}
    assert expand(f"{FLAT}+rocchio(gamma=0.5)", "b", [0], [1]) == pytest.approx(expected)


def test_rocchio_in_the_space_of_bm25_keeps_the_size_of_the_query() -> None:
    """The query bb has length 2; ln 2 is the idf of both, and 0.972 the length part."""
    a, b = LN2 * 2 / 2.972, LN2 * 1 / 1.972
    size = sqrt(a * a + b * b)
    expected = {"a": 2 * 0.75 * a / size, "b": 2 + 2 * 0.75 * b / size}
    assert expand("bm25+rocchio", "bb", [0]) == pytest.approx(expected)


@given(any_model(), COLLECTIONS, QUERIES)
def test_rocchio_without_beta_is_the_query(model: Model, index: Tiny, query: list[str]) -> None:
    terms = index.query(query)
    documents = index.feedback_documents(model, [0], terms)
    found = Rocchio(beta=0).expand(model, terms, documents, index.stats)
    expected = terms.finished(model, index.stats)
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.weights.tolist() == expected.weights.tolist()


# --- RM3 ------------------------------------------------------------------------------------


def test_rm3_weighs_documents_by_their_score() -> None:
    """Scores of b: ln 2/1.972 and, with 0.9·(0.6 + 0.4·0.8) = 0.828, ln 2/1.828."""
    first, second = LN2 / 1.972, LN2 / 1.828
    p, q = first / (first + second), second / (first + second)
    a, b = p * 2 / 3, p / 3 + q / 2  # c has q/2, less than both
    expected = {"a": 0.6 * a / (a + b), "b": 0.4 + 0.6 * b / (a + b)}
    found = expand("bm25+rm3(terms=2,weight=0.4,max_df=1)", "bb", [0, 1])
    assert found == pytest.approx(expected)


def test_rm3_makes_probabilities_of_logarithms() -> None:
    """P(b|d) is (1 + 2)/13 and (1 + 2)/12, so the documents count 12/25 and 13/25."""
    a, b, c = 12 / 25 * 2 / 3, 12 / 25 / 3 + 13 / 25 / 2, 13 / 25 / 2
    expected = {"a": a / 2, "b": 0.5 + b / 2, "c": c / 2}
    for model in ("kl(mu=10)", "ql(mu=10)"):
        assert expand(f"{model}+rm3(max_df=1)", "b", [0, 1]) == pytest.approx(expected)


def test_rm3_counts_judged_documents_alike() -> None:
    expected = {"a": 1 / 3 / 2, "b": 0.5 + (1 / 6 + 1 / 4) / 2, "c": 1 / 4 / 2}
    found = expand("bm25+rm3(from=j.qrels,max_df=1)", "b", [0, 1])
    assert found == pytest.approx(expected)


def test_rm3_counts_documents_alike_if_none_scores_above_zero() -> None:
    """Okapi gives b, which half of the documents have, the weight 0; c and d are 1/2, 1/4 of d2."""
    found = expand("okapi+rm3(max_df=0.25)", "b", [0, 2])
    assert found == pytest.approx({"b": 0.0, "d": log(7 / 3) * 8 * 0.5 / 7.5})


def test_rm3_leaves_common_terms_out() -> None:
    """Only d is in at most a quarter of the documents."""
    found = expand("bm25+rm3(max_df=0.25)", "a", [0, 2])
    assert found == pytest.approx({"a": 0.5, "d": 0.5})


def test_rm3_leaves_the_query_as_it_is_where_no_term_is_rare_enough() -> None:
    assert expand("bm25+rm3(max_df=0.1)", "aab", [0, 2]) == {"a": 2.0, "b": 1.0}


@given(COLLECTIONS, QUERIES, st.floats(0, 1), st.integers(1, 5))
def test_rm3_weights_sum_to_one(index: Tiny, query: list[str], weight: float, count: int) -> None:
    terms = index.query(query)
    found = expand(
        f"kl+rm3(weight={weight},terms={count},max_df=1)",
        "".join(query),
        list(range(len(index.docs))),
        index=index,
    )
    if len(terms.ids):
        assert sum(found.values()) == pytest.approx(1)
        assert len(found) <= len(terms.ids) + count


# --- the mixture model ----------------------------------------------------------------------


def test_mixture_takes_the_noise_out() -> None:
    """c = (a 2, b 1), p(C) = (0.3, 0.2), λ ½: θ = c/2 − p = (0.7, 0.3), which sums to 1."""
    found = expand("kl+mixture(iterations=5000)", "b", [0])
    assert found == pytest.approx({"a": 0.35, "b": 0.5 + 0.15}, abs=1e-6)


def test_mixture_without_noise_is_what_the_documents_say() -> None:
    found = expand("kl+mixture(lambda=0,alpha=1)", "b", [0])
    assert found == pytest.approx({"a": 2 / 3, "b": 1 / 3})


def test_mixture_keeps_the_best_terms_and_their_sum() -> None:
    found = expand("kl+mixture(terms=1,alpha=0.4)", "b", [0])
    assert found == pytest.approx({"a": 0.4, "b": 0.6})


COUNTS = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 200)), min_size=1, max_size=8)


def steps(pairs: list[tuple[int, int]], lam: float) -> Iterator[tuple[np.ndarray, float]]:
    counts, others = np.array(pairs, dtype=float).T
    return em_steps(counts, others / others.sum(), lam)


@given(COUNTS, st.floats(0, 0.95))
def test_every_step_of_em_raises_the_likelihood(pairs: list[tuple[int, int]], lam: float) -> None:
    topics, likelihoods = zip(*islice(steps(pairs, lam), 40), strict=True)
    assert np.diff(likelihoods).min() >= -1e-9 * abs(likelihoods[0])
    assert all(topic.sum() == pytest.approx(1) for topic in topics)


@settings(max_examples=examples(25))
@given(COUNTS, st.floats(0.05, 0.9))
def test_em_reaches_the_maximum_of_the_closed_form(
    pairs: list[tuple[int, int]], lam: float
) -> None:
    counts, others = np.array(pairs, dtype=float).T
    noise = others / others.sum()
    exact = np.array(slow.exact_topic(list(counts), list(noise), lam))
    highest = counts @ np.log((1 - lam) * exact + lam * noise)
    assert exact.sum() == pytest.approx(1)
    _, reached = next(islice(steps(pairs, lam), 1500, None))
    assert highest - 1e-4 * abs(highest) - 1e-6 <= reached <= highest + 1e-9 * abs(highest) + 1e-12


# --- relevance weights ----------------------------------------------------------------------

# Documents 0 and 2 of 4 are relevant: R 2; r: a 2, b 1, c 1, d 1; n: a 2, b 2, c 2, d 1, e 1.
# W(a) = ln(2.5·2.5/(0.5·0.5)) = ln 25, W(b) = W(c) = ln(1.5·1.5/(1.5·1.5)) = 0,
# W(d) = ln(1.5·2.5/(1.5·0.5)) = ln 5, W(e) = ln(0.5·1.5/(2.5·1.5)) = ln 0.2.


def test_robertson_adds_by_offer_weight_and_weighs_by_relevance() -> None:
    """Offers are 2·ln 25, 0, 0, ln 5; an added term counts 8·0.5/7.5 in the query."""
    expected = {"a": log(25) * 8 / 15, "b": 0.0, "d": log(5) * 8 / 15}
    assert expand("okapi+robertson", "b", [0, 2]) == pytest.approx(expected)


def test_robertson_weighs_the_querys_terms_too() -> None:
    """d is not chosen but occurs in a relevant document; e occurs in none."""
    expected = {"a": log(25) * 8 / 15, "d": log(5), "e": log(0.2)}
    assert expand("okapi+robertson(terms=1)", "de", [0, 2]) == pytest.approx(expected)


def test_a_term_of_the_query_that_is_chosen_counts_more() -> None:
    """qtf 1.5: 8·1.5/8.5."""
    expected = {"a": log(25) * 12 / 8.5}
    assert expand("okapi+robertson(terms=1)", "a", [0, 2]) == pytest.approx(expected)


def test_robertson_prefers_terms_of_many_relevant_documents() -> None:
    """p is in all 3 relevant of 20 documents (n 8), q in one and nowhere else: W(q) > W(p)."""
    index = Tiny([["p", "q"], ["p"], ["p"], *[["p"]] * 5, *[["x"]] * 12])
    p, q = slow.relevance_weight(3, 3, 8, 20), slow.relevance_weight(1, 3, 1, 20)
    assert (p, q) == pytest.approx((log(3.5 * 12.5 / (0.5 * 5.5)), log(21)))
    assert q > p
    expected = {"p": p * 8 / 15, "x": slow.relevance_weight(0, 3, 12, 20)}
    found = expand("okapi+robertson(terms=1)", "x", [0, 1, 2], index=index)
    assert found == pytest.approx(expected)


def test_robertson_is_for_okapi_alone() -> None:
    terms = TINY.query(["a"])
    feedback = FEEDBACK["robertson"]()
    for name in MODELS.keys() - {"okapi"}:
        model = model_of(name)
        documents = TINY.feedback_documents(model, [0], terms)
        with pytest.raises(SpecError, match="Use okapi"):
            feedback.expand(model, terms, documents, TINY.stats)


# --- the model's own ------------------------------------------------------------------------


def test_every_model_has_feedback_of_its_own() -> None:
    assert list(NATURAL) == list(MODELS.values())
    for text, own in [
        ("bm25", "rocchio"), ("bm25f", "rocchio"), ("okapi", "robertson"),
        ("cosine", "rocchio"), ("kl", "mixture"), ("ql", "mixture"),
    ]:  # fmt: skip
        assert expand(f"{text}+feedback(terms=2)", "b", [0, 2]) == expand(
            f"{text}+{own}(terms=2)", "b", [0, 2]
        )


def test_the_models_own_feedback_takes_documents_from_the_same_place() -> None:
    assert str(Natural(source="j.qrels", terms=7).of(model_of("kl"))) == (
        "mixture(terms=7,from=j.qrels,alpha=0.5,lambda=0.5)"
    )
    assert str(Natural(docs=3).of(model_of("okapi"))) == "robertson(docs=3,terms=20,qtf=0.5)"


# --- laws for all ---------------------------------------------------------------------------


@given(any_model(), any_feedback(), COLLECTIONS, QUERIES, st.data())
def test_feedback_gives_good_weights_and_the_same_every_time(
    model: Model, feedback: Feedback, index: Tiny, query: list[str], data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(0, len(index.docs) - 1), unique=True))
    if feedback.name == "robertson":
        model = model_of("okapi")
    terms = index.query(query)
    documents = index.feedback_documents(model, rows, terms)
    found = feedback.expand(model, terms, documents, index.stats)
    assert found.final
    assert np.isfinite(found.weights).all()
    assert (np.diff(found.ids) > 0).all()
    assert set(terms.ids) <= set(found.ids) <= set(terms.ids) | set(documents.ids)
    assert len(found.ids) <= len(terms.ids) + feedback.terms
    assert found.df.tolist() == index.df[found.ids].tolist()
    assert found.cf.tolist() == index.cf[found.ids].tolist()
    again = feedback.expand(model, terms, documents, index.stats)
    assert again.weights.tolist() == found.weights.tolist()
    assert np.isfinite(index.scores(model, found)).all()


@pytest.mark.parametrize("name", FEEDBACK)
def test_a_query_without_feedback_documents_stays_as_it_is(name: str) -> None:
    model, query = model_of("okapi"), TINY.query(["a", "d", "d"])
    found = FEEDBACK[name](source="j1.qrels").expand(
        model, query, TINY.feedback_documents(model, [], query), TINY.stats
    )
    assert TINY.scores(model, found).tolist() == TINY.scores(model, query).tolist()


def test_a_document_without_text_changes_nothing() -> None:
    index = Tiny([["a"], []])
    assert expand("bm25+rm3(max_df=1)", "a", [1], index=index) == {"a": 1.0}


def test_equal_weights_are_decided_by_the_smaller_id() -> None:
    ids = np.array([9, 4, 7, 2], dtype=np.int64)
    ones = np.ones(4, dtype=np.int64)
    found = best(TermWeights(ids, np.array([1.0, 1.0, 2.0, 1.0]), ids, ones), 3)
    assert found.ids.tolist() == [2, 4, 7]
    assert found.weights.tolist() == [1.0, 1.0, 2.0]
    assert found.df.tolist() == [2, 4, 7]


def test_ragged_documents_are_added_up_by_term() -> None:
    numbers = np.arange(4)
    documents = FeedbackDocuments(
        starts=np.array([0, 1, 1, 4]),
        ids=np.array([5, 3, 5, 8]),
        tf=np.array([1.0, 2.0, 4.0, 8.0]),
        df=numbers,
        cf=numbers,
        lengths=np.ones(3),
        scores=np.ones(3),
        x=np.ones(3),
    )
    assert len(documents) == 3
    assert documents.owners.tolist() == [0, 2, 2, 2]
    assert documents.vocabulary.ids.tolist() == [3, 5, 8]
    assert documents.vocabulary.df.tolist() == [1, 0, 3]
    assert documents.totals(documents.tf).tolist() == [2.0, 5.0, 8.0]
