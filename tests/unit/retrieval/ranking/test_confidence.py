"""Confidence against slow counting, and what it decides about real and written texts."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import confidence as slow
from tests.unit.retrieval.index.making import build, write_collection

import citebed
from citebed.retrieval.ranking.confidence import (
    Confidence,
    Logistic,
    _monotone,
    match_strength,
    shipped_confidence,
)
from citebed.retrieval.recommend.recommender import Recommender
from citebed.retrieval.search.searcher import finish_query
from citebed.retrieval.vectors.static_model import shipped_model

HELD_OUT = Path(__file__).parents[3] / "held_out_texts.tsv"
AUTHORS = Path(__file__).parents[4] / "bench" / "authors"
EVERY = 5
TITLES = (
    "query expansion by feedback", "ranking documents by language models",
    "feedback for ranking by models of queries", "smoothing of language models",
)  # fmt: skip
TEXT = "Feedback expands queries. Smoothing helps language models."


def rows(name: str) -> list[list[str]]:
    with (AUTHORS / name).open(encoding="utf-8") as lines:
        return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def humanities(tmp_path_factory: pytest.TempPathFactory) -> Recommender:
    """84 works in six languages, without abstracts."""
    folder = tmp_path_factory.mktemp("humanities")
    documents = [
        {"doc_id": key, "year": int(year), "authors": names.split(" and "), "title": title}
        for key, year, names, title, _, _ in rows("works.tsv")
    ]
    citebed.open(write_collection(folder, documents)).index(quiet=True)
    return Recommender(folder)


def test_columns_are_those_of_slow_counting(tmp_path: Path) -> None:
    build(
        write_collection(tmp_path, [{"doc_id": str(n), "title": t} for n, t in enumerate(TITLES)])
    )
    recommender = Recommender(tmp_path)
    runner, analyser = recommender.runner, recommender.index.analyser
    (found,) = runner.run([runner.query(TEXT)], 4)
    ids = finish_query(found.query.terms, runner.searcher.view).ids
    judge = Confidence(recommender.index, has_vectors=True)
    text, documents = judge.columns(found, found, ids, with_vectors=True)
    sets = [set(analyser.terms(title)) for title in TITLES]
    wanted = [
        {str(analyser.term(word)) for word in words}
        for words in (("expands", "queries"), ("helps", "language", "models"))
    ]
    for row, number in enumerate(found.docs.tolist()):
        assert documents["share"][row] == pytest.approx(slow.share(wanted, sets[number], sets))
        matched = len(sets[number] & (wanted[0] | wanted[1]))
        assert documents["matched"][row] == pytest.approx(math.log1p(matched))
        scores = documents["score"].tolist()
        assert documents["lead"][row] == pytest.approx(slow.lead(scores, row))
    assert text["documents"][0] == pytest.approx(math.log(4))
    assert text["titles"][0] == 1
    assert text["sentences"][0] == pytest.approx(math.log(2))
    assessed = judge.assess(found, ids)
    model = shipped_confidence().vectors
    by_hand = slow.probability(model.asks.weights, {name: v[0] for name, v in text.items()})
    assert 1 / (1 + math.exp(-assessed.asks)) == pytest.approx(by_hand)
    right = [
        slow.probability(model.right.weights, {name: v[row] for name, v in documents.items()})
        for row in range(len(found))
    ]
    assert assessed.probabilities is not None
    assert assessed.probabilities.tolist() == pytest.approx(
        [max(right[row:]) for row in range(len(right))]
    )


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=30), st.integers(0, 5))
def test_drafts_are_adapted_as_in_the_slow_version(odds: list[float], infinite: int) -> None:
    judge = object.__new__(Confidence)
    judge.models, judge._has_vectors = shipped_confidence(), True

    class Text:
        language = "en"

    every = [*odds, *[math.inf] * infinite]
    found = judge.adapt_to_draft([Text()] * len(every), every)  # type: ignore[list-item]
    assert found.tolist() == pytest.approx(slow.adapted(every, judge.models.vectors.prior))
    assert np.all(found <= every)


def test_a_draft_from_another_field_loses_its_doubtful_passages() -> None:
    judge = object.__new__(Confidence)
    judge.models, judge._has_vectors = shipped_confidence(), True

    class Text:
        language = "en"

    prior = math.log(judge.models.vectors.prior / (1 - judge.models.vectors.prior))
    foreign = judge.adapt_to_draft([Text()] * 20, [-4.0] * 19 + [prior])  # type: ignore[list-item]
    own = judge.adapt_to_draft([Text()] * 20, [4.0] * 19 + [prior])  # type: ignore[list-item]
    assert foreign[-1] < prior - 2
    assert own[-1] == prior


def test_products_of_columns_by_hand() -> None:
    model = Logistic({"constant": 1.0, "a": 2.0, "a*b": 3.0})
    columns = {"a": np.array([1.0, 2.0]), "b": np.array([0.5, -1.0])}
    assert model.log_odds(columns).tolist() == [1 + 2 + 1.5, 1 + 4 - 6]


def test_later_documents_change_nothing_for_the_first() -> None:
    values = np.array([0.2, 0.5, 0.1, 0.9])
    assert _monotone(values, 3).tolist() == [0.5, 0.5, 0.1, 0.1]
    assert _monotone(values[:3], 3).tolist() == [0.5, 0.5, 0.1]
    assert not len(_monotone(values[:0], 0))


def test_words_are_ranges_of_the_probability() -> None:
    assert [match_strength(p) for p in (0.0, 0.39, 0.4, 0.74, 0.75, 1.0)] == [
        "weak", "weak", "fair", "fair", "strong", "strong",
    ]  # fmt: skip


def test_the_models_know_the_bundled_vectors() -> None:
    assert shipped_confidence().fingerprint == shipped_model().fingerprint


def test_sentences_in_six_languages_find_their_works(humanities: Recommender) -> None:
    found: dict[str, list[bool]] = {}
    for code, key, text in rows("sentences.tsv"):
        items = humanities.recommend(text)
        first = bool(items) and items[0].doc_id == key
        found.setdefault(code, []).append(first)
        assert all(each.reason for each in items)
    for code in ("en", "de", "fr", "es", "it", "pt"):
        assert sum(found[code]) / len(found[code]) >= 0.75, code


def test_sentences_that_ask_for_nothing_get_nothing(humanities: Recommender) -> None:
    texts = [text for _, _, text in rows("nothing.tsv")]
    answered = [text for text in texts if humanities.recommend(text)]
    assert len(answered) <= 0.05 * len(texts), answered


def test_reasons_are_never_function_words(humanities: Recommender) -> None:
    (first, *_) = humanities.recommend("Sein und Zeit sind bei Heidegger miteinander verbunden.")
    assert first.doc_id == "heidegger1927"
    assert {"und", "bei", "sind"}.isdisjoint(first.terms)
    assert first.reason.startswith("Heidegger")
    assert not humanities.recommend("Er hat seine Bücher und die Zeitung vergessen.")


def test_texts_without_citations_are_skipped(acm_cr_indexed: Path) -> None:
    recommender = Recommender(acm_cr_indexed, warm=True)  # not fitted, with an eighth of the papers

    def skipped(texts: list[str]) -> float:
        return sum(not recommender.recommend(text) for text in texts) / len(texts)

    with HELD_OUT.open(encoding="utf-8") as lines:
        written = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[::EVERY]
    assert skipped([text for kind, _, text in written if kind == "everyday"]) >= 0.9
    assert skipped([text for kind, _, text in written if kind == "boilerplate"]) >= 0.8
    sentences = citebed.open(acm_cr_indexed).queries("sentences")["text"].to_list()[::EVERY]
    assert skipped(sentences) <= 0.1
