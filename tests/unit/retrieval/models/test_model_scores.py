"""Each model's score of a document: by hand, against the slow twins, and without bad numbers.

The collection of the cases by hand is ``DOCS``: aba, bc, accd, e.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.reference import models as slow
from tests.unit.retrieval.models.tiny import (
    COLLECTIONS,
    DOCS,
    QUERIES,
    TEXTS,
    Tiny,
    any_model,
)

from citebed.retrieval.models import Corpus, Model, model_of
from citebed.retrieval.models.base import Occurrences
from citebed.retrieval.models.bm25 import lucene_lengths

TINY = Tiny(DOCS)


def score(model: str, query: str, doc: int, index: Tiny = TINY) -> float:
    return float(index.scores(model_of(model), index.query(list(query)))[doc])


# --- by hand --------------------------------------------------------------------------------

SQRT = math.sqrt
BY_HAND = [
    # 'a' has df 2 of 4, idf ln(1 + 2.5/2.5) = ln 2; |d| 3 of 2.5; 0.9·(0.6 + 0.4·1.2) = 0.972
    ("bm25", "a", 0, log(2) * 2 / 2.972),
    # a query that says it twice counts it twice
    ("bm25", "aa", 0, 2 * log(2) * 2 / 2.972),
    # d: df 1, ln(1 + 3.5/1.5) = ln(10/3); |d| 4: 0.9·(0.6 + 0.4·1.6) = 1.116; z is unknown
    ("bm25", "adz", 2, log(2) / 2.116 + log(10 / 3) / 2.116),
    ("bm25(k1=0)", "a", 0, log(2)),
    ("bm25(b=0)", "a", 0, log(2) * 2 / 2.9),
    ("bm25", "e", 0, 0.0),
    # no field has a length of its own here: 2/(2 + 0.9)
    ("bm25f", "a", 0, log(2) * 2 / 2.9),
    # ln(3.5/1.5); 1.2·(0.25 + 0.75·1.6) = 1.74; 2.2·1/2.74; k3: 8·1/8 = 1
    ("okapi", "d", 2, log(7 / 3) * 2.2 / 2.74),
    # twice in the query: 8·2/9
    ("okapi", "dd", 2, log(7 / 3) * 2.2 / 2.74 * 16 / 9),
    ("okapi(k3=0)", "ddd", 2, log(7 / 3) * 2.2 / 2.74),
    # in exactly half of the documents: ln(2.5/2.5) = 0
    ("okapi", "a", 0, 0.0),
    # raw tf without idf: (2,1) and (1,1): 3/(√5·√2)
    ("cosine(idf=none)", "ab", 0, 3 / SQRT(10)),
    # ln 3, ln 2 in the document
    ("cosine(tf=log,idf=none)", "a", 0, log(3) / SQRT(log(3) ** 2 + log(2) ** 2)),
    # 2/3, 1/2 in the document
    ("cosine(tf=bm25,idf=none)", "a", 0, (2 / 3) / SQRT(4 / 9 + 1 / 4)),
    # all idf alike: ln(5/2.5) for a and b, so that it cancels
    ("cosine", "a", 0, 2 / SQRT(5)),
    # a, c: ln 2, d: ln 4 = 2 ln 2, so the document is (1, 2, 2) of length 3
    ("cosine(idf=plain)", "d", 2, 2 / 3),
    # p(d|C) = 1/10: (1 + 100)/(4 + 1000); a query of one term has no entropy
    ("kl(mu=1000)", "d", 2, log(101 / 1004)),
    # p(Q) = 2/3, 1/3; p(C) = 3/10 each
    ("kl(mu=10)", "aac", 2, 2 / 3 * log(4 / 14 * 3 / 2) + 1 / 3 * log(5 / 14 * 3)),
    # a term that the document has not: 1/2·(0 + 2)/(4 + 10)
    ("kl(mu=10)", "ab", 2, 1 / 2 * log(4 / 14 * 2) + 1 / 2 * log(2 / 14 * 2)),
    ("kl(lambda=0.2)", "d", 2, log(0.8 / 4 + 0.2 / 10)),
    ("kl(delta=0.5)", "d", 2, log(0.5 / 4 + 0.5 * 3 / 4 / 10)),
    ("kl(mu=10,lambda=0.2)", "d", 2, log(0.8 * 2 / 14 + 0.2 / 10)),
    # the mean over three words
    ("ql(mu=10)", "aac", 2, (2 * log(4 / 14) + log(5 / 14)) / 3),
    ("ql", "d", 2, log((1 + 250) / 2504)),
]


@pytest.mark.parametrize(("model", "query", "doc", "expected"), BY_HAND)
def test_scores_worked_out_by_hand(model: str, query: str, doc: int, expected: float) -> None:
    assert score(model, query, doc) == pytest.approx(expected, abs=1e-12)


def test_numbers_from_a_calculator() -> None:
    assert score("bm25", "a", 0) == pytest.approx(0.466452, abs=1e-6)
    assert score("okapi", "d", 2) == pytest.approx(0.680313, abs=1e-6)
    assert score("kl(mu=1000)", "d", 2) == pytest.approx(-2.296627, abs=1e-6)
    assert score("cosine", "a", 0) == pytest.approx(0.894427, abs=1e-6)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ac", [0.4664516746997833, 0.3791833519935608, 0.7724697589874268, 0.0]),
        ("b", [0.35149452090263367, 0.3791833519935608, 0.0, 0.0]),
        ("abd", [0.817946195602417, 0.3791833519935608, 0.8965595960617065, 0.0]),
    ],
)
def test_bm25_as_bm25s_has_it(query: str, expected: list[float]) -> None:
    """The numbers that bm25s gives with method="lucene", k1=0.9, b=0.4, in single precision."""
    found = TINY.scores(model_of("bm25"), TINY.query(list(query)))
    assert found == pytest.approx(expected, rel=1e-6)


# --- against the slow twins -----------------------------------------------------------------

Twin = Callable[[list[str], list[str], list[list[str]]], float]
TWINS: dict[str, Twin] = {
    "bm25(k1=0.9,b=0.4)": lambda q, d, c: slow.bm25(q, d, c, 0.9, 0.4),
    "bm25(k1=2,b=1)": lambda q, d, c: slow.bm25(q, d, c, 2, 1),
    "okapi": lambda q, d, c: slow.okapi(q, d, c, 1.2, 0.75, 7),
    "cosine": lambda q, d, c: slow.cosine(q, d, c, "raw", "lemur"),
    "cosine(tf=log,idf=plain)": lambda q, d, c: slow.cosine(q, d, c, "log", "plain"),
    "cosine(tf=bm25,idf=none)": lambda q, d, c: slow.cosine(q, d, c, "bm25", "none"),
    "kl(mu=20)": lambda q, d, c: slow.negative_divergence(q, d, c, slow.dirichlet(20)),
    "kl(lambda=0.3)": lambda q, d, c: slow.negative_divergence(q, d, c, slow.jelinek_mercer(0.3)),
    "kl(delta=0.7)": lambda q, d, c: slow.negative_divergence(q, d, c, slow.absolute(0.7)),
    "kl(mu=20,lambda=0.3)": lambda q, d, c: slow.negative_divergence(
        q, d, c, slow.two_stage(20, 0.3)
    ),
    "ql(mu=20)": lambda q, d, c: slow.query_likelihood(q, d, c, 20),
}


@pytest.mark.parametrize("model", TWINS)
@given(index=COLLECTIONS, query=QUERIES)
def test_scores_equal_the_slow_twin(model: str, index: Tiny, query: list[str]) -> None:
    assume(slow.known(query, index.docs))
    found = index.scores(model_of(model), index.query(query))
    for row, doc in enumerate(index.docs):
        if set(query) & set(doc):  # others are not ranked
            expected = TWINS[model](query, doc, index.docs)
            assert found[row] == pytest.approx(expected, rel=1e-9, abs=1e-9)


# --- laws -----------------------------------------------------------------------------------


@given(COLLECTIONS, QUERIES, st.floats(1, 5000))
def test_kl_with_dirichlet_ranks_as_query_likelihood(
    index: Tiny, query: list[str], mu: float
) -> None:
    """The difference is the entropy of the query, whatever the document."""
    terms = index.query(query)
    assume(len(terms.ids))
    p = terms.weights / terms.weights.sum()
    difference = index.scores(model_of(f"kl(mu={mu})"), terms) - index.scores(
        model_of(f"ql(mu={mu})"), terms
    )
    assert difference == pytest.approx(np.full(len(index.docs), -(p @ np.log(p))))


@pytest.mark.parametrize(
    "model", ["kl(mu=7)", "kl(lambda=0.4)", "kl(delta=0.6)", "kl(mu=7,lambda=0.4)", "ql(mu=7)"]
)
@given(index=COLLECTIONS)
def test_probabilities_of_all_terms_sum_to_one(model: str, index: Tiny) -> None:
    found = model_of(model)
    x, shares = found.per_document(index.stats, index), found.document_scores(index.stats)
    assert shares is not None
    background = index.cf / index.stats.tokens
    for row, doc in enumerate(index.docs):
        gains = found.impacts(
            Occurrences(index.counts[row], index.df, index.cf, np.full(len(index.words), x[row])),
            index.stats,
        )
        if doc:
            assert (np.exp(shares[row] + gains) * background).sum() == pytest.approx(1)


@given(COLLECTIONS, QUERIES)
def test_kl_is_never_positive_and_a_perfect_document_has_zero(
    index: Tiny, query: list[str]
) -> None:
    assume(slow.known(query, index.docs))
    assert (index.scores(model_of("kl(mu=3)"), index.query(query)) <= 1e-12).all()
    # The collection's only document, used as the query, diverges from itself by 0.
    alone = Tiny([slow.known(query, index.docs)])
    assert alone.scores(model_of("kl(mu=3)"), alone.query(query)) == pytest.approx([0.0])


@given(COLLECTIONS, QUERIES)
def test_cosine_lies_between_zero_and_one(index: Tiny, query: list[str]) -> None:
    found = index.scores(model_of("cosine(tf=log)"), index.query(query))
    assert (found >= 0).all()
    assert (found <= 1 + 1e-12).all()


@given(TEXTS.filter(bool))
def test_a_document_is_its_own_best_answer_by_cosine(text: list[str]) -> None:
    index = Tiny([text, ["x"]])
    assert index.scores(model_of("cosine"), index.query(text))[0] == pytest.approx(1)


@given(any_model(), COLLECTIONS, QUERIES, st.floats(0.01, 10))
def test_no_bad_numbers_and_no_negative_ones_where_none_are_promised(
    model: Model, index: Tiny, query: list[str], weight: float
) -> None:
    """Any parameters, empty documents, unknown terms, tf that weighted fields made fractional."""
    counts = index.counts * weight
    lengths = counts.sum(axis=1).astype(np.float32)
    stats = Corpus(len(index.docs), lengths, index.stats.unique, float(counts.sum()))
    x = model.per_document(stats, index)
    terms = index.query(query)
    weights = model.query_weights(terms.weights, terms.df, terms.cf * weight, stats)
    given = model.document_scores(stats)
    parts = [x, weights, np.array(model.constant(weights, terms.df, terms.cf * weight, stats))]
    impacts = [
        model.impacts(
            Occurrences(counts[:, term], index.df[term], index.cf[term] * weight, x), stats
        )
        for term in range(len(index.words))
    ]
    for part in (*parts, *impacts, *([] if given is None else [given])):
        assert np.isfinite(part).all()
    if model.non_negative:
        assert all((part >= 0).all() for part in (weights, *impacts))


@given(any_model())
def test_a_collection_without_any_text(model: Model) -> None:
    index = Tiny([[], []])
    assert np.isfinite(index.scores(model, index.query(["a"]))).all()
    assert np.isfinite(model.per_document(index.stats, index)).all()


@given(any_model())
def test_a_field_of_weight_zero_leaves_nothing(model: Model) -> None:
    """Postings remain whose tf, cf and length are 0."""
    stats = Corpus(2, np.zeros(2, np.float32), np.ones(2, np.int32), 0.0)
    x = model.per_document(stats, Tiny([[], []]))
    assert model.impacts(Occurrences(np.zeros(2), 1, 0.0, x), stats) == pytest.approx([0, 0])
    weights = model.query_weights(np.ones(1), np.ones(1), np.zeros(1), stats)
    assert np.isfinite(model.constant(weights, np.ones(1), np.zeros(1), stats))


# --- one model's own ------------------------------------------------------------------------


def test_okapi_counts_common_terms_against_a_document() -> None:
    index = Tiny([["a"], ["a"], ["b"]])
    # ln((3 − 2 + 0.5)/(2 + 0.5)) · 2.2/(1 + 1.2)
    assert score("okapi", "a", 0, index) == pytest.approx(log(0.6))
    assert not model_of("okapi").non_negative


def test_bm25f_normalises_each_field_by_its_own_b() -> None:
    model = model_of("bm25f(b=0.4,b_title=1,b_citing=0)")
    tf, length = np.array([2.0, 3.0]), np.array([5.0, 20.0])
    assert model.field_tf("title", tf, length, 10.0) == pytest.approx([2 / 0.5, 3 / 2])
    assert model.field_tf("citing", tf, length, 10.0) == pytest.approx([2, 3])
    assert model.field_tf("abstract", tf, length, 10.0) == pytest.approx([2 / 0.8, 3 / 1.4])


@given(COLLECTIONS, QUERIES)
def test_bm25f_with_one_field_scores_as_bm25(index: Tiny, query: list[str]) -> None:
    """tf/B over tf/B + k1 is tf over tf + k1·B."""
    plain, fielded = model_of("bm25(k1=1.5,b=0.7)"), model_of("bm25f(k1=1.5,b=0.7)")
    lengths, average = index.stats.lengths, index.stats.average_length
    x = fielded.per_document(index.stats, index)
    expected = index.scores(plain, index.query(query))
    found = np.zeros(len(index.docs))
    terms = index.query(query)
    for term, weight in zip(terms.ids, terms.weights, strict=True):
        tf = fielded.field_tf("title", index.counts[:, term], lengths, average)
        here = Occurrences(tf, index.df[term], index.cf[term], x)
        found += weight * fielded.impacts(here, index.stats)
    assert found == pytest.approx(expected)


def test_other_models_leave_fields_as_they_are() -> None:
    tf = np.array([1.0, 2.0])
    assert model_of("kl").field_tf("title", tf, np.array([3, 4]), 3.5) is tf


# --- Lucene's lengths -----------------------------------------------------------------------

# From the table of 256 lengths that Lucene's SmallFloat.byte4ToInt gives (tantivy prints it as
# FIELD_NORMS_TABLE): exact up to 40, then by 2, 4, 8, 16, … eight times each.
STEPS = [40, 42, 44, 46, 48, 50, 52, 54, 56, 60, 64, 68, 72, 76, 80, 84, 88, 96, 104, 112, 120,
         128, 136, 144, 152, 168, 184, 200, 216, 232, 248, 264, 280, 312, 344, 376, 408, 440, 472,
         504, 536, 600, 664, 728, 792, 856, 920, 984, 1_048]  # fmt: skip


def test_short_lengths_are_exact_in_lucene() -> None:
    assert lucene_lengths(np.arange(41)).tolist() == list(range(41))


def test_long_lengths_fall_to_the_step_below() -> None:
    assert lucene_lengths(np.array(STEPS)).tolist() == STEPS
    assert lucene_lengths(np.array(STEPS[1:]) - 1).tolist() == STEPS[:-1]


def test_the_longest_length_of_lucene() -> None:
    assert lucene_lengths(np.array([2**31 - 1])).tolist() == [2_013_265_944]


@given(st.integers(0, 2**31 - 1))
def test_lucene_keeps_four_bits_of_what_is_above_24(length: int) -> None:
    above = length - 24
    shift = max(above.bit_length() - 4, 0)
    expected = length if above < 0 else (above >> shift << shift) + 24
    assert lucene_lengths(np.array([length])).tolist() == [expected]


def test_bm25_with_lucenes_lengths_and_without_empty_documents() -> None:
    """Lucene stores length 41 as 40, and skips empty documents: N 2, average 22."""
    index = Tiny([["a"] * 41, ["b"] * 3, []])
    x = 0.9 * (0.6 + 0.4 * 40 / 22)
    expected = log(1 + 1.5 / 1.5) * 41 / (41 + x)
    assert score("bm25(lengths=lucene)", "a", 0, index) == pytest.approx(expected)
    exact = 0.9 * (0.6 + 0.4 * 41 / (44 / 3))
    assert score("bm25", "a", 0, index) == pytest.approx(log(1 + 2.5 / 1.5) * 41 / (41 + exact))


def test_bm25_with_lucenes_lengths_as_tantivy_has_it() -> None:
    """The numbers that tantivy gives, which keeps lengths in the same byte, times k1 + 1."""
    texts = ["a" * 41 + "bb", "aaa" + "c" * 90, "b" * 5 + "c" * 700, "aa" + "d" * 55, "e"]
    index = Tiny([list(text) for text in texts])
    model = model_of("bm25(k1=1.2,b=0.75,lengths=lucene)")
    for query, expected in [
        ("a", [1.1712168455123901, 0.9510458707809448, 0, 0.9191079139709473, 0]),
        ("b", [1.534543514251709, 0, 1.1167091131210327, 0, 0]),
        ("acd", [1.1712168455123901, 2.8613600730895996, 1.9161121845245361, 3.937112331390381, 0]),
    ]:
        found = 2.2 * index.scores(model, index.query(list(query)))
        assert found == pytest.approx(expected, rel=1e-6)
