"""Fitting recovers the models that generated the examples."""

from __future__ import annotations

import numpy as np
import pytest
from bench.confidence_fit import Example, fit_models, logistic, written_texts
from scipy.special import expit

from citebed.retrieval.ranking.confidence import Logistic, shipped_confidence

NAMES = ("bm25", "share", "matched", "lead", "bm25_part", "sentence_part", "strange", "content",
         "documents", "named", "sentences", "titles")  # fmt: skip
KINDS = ("cites", "other field", "everyday", "boilerplate", "thirty fields")


def examples(count: int) -> list[Example]:
    """Texts that ask if BM25 is high, with documents that are right if they lead."""
    draw = np.random.default_rng(5)
    found = []
    for number in range(count):
        text = {name: draw.normal(size=1) for name in NAMES}
        asks = draw.random() < expit(3 * text["bm25"][0])
        documents = {name: draw.normal(size=10) for name in NAMES}
        right = draw.random(10) < expit(2 * documents["lead"] - 1)
        right[0] |= asks
        kind = "cites" if asks else KINDS[1 + number % 4]
        found.append(Example(kind, number % 3, text, documents, right & asks))
    return found


def test_what_was_planted_is_found() -> None:
    fitted = fit_models("words", examples(4000))
    assert fitted["asks"]["bm25"] == max(fitted["asks"].values())
    assert fitted["asks"]["bm25"] == pytest.approx(3, abs=0.5)
    assert fitted["right"]["lead"] == max(fitted["right"].values())
    assert 0 < fitted["min_probability"] < fitted["prior"] < 1


def test_the_threshold_loses_a_fortieth_of_the_texts_that_ask() -> None:
    some = examples(4000)
    fitted = fit_models("words", some)
    model = Logistic(fitted["asks"])
    asking = [each for each in some if each.kind == "cites" and each.is_right.any()]
    lost = [expit(model.log_odds(e.text)[0]) < fitted["min_probability"] for e in asking]
    assert np.mean(lost) == pytest.approx(0.025, abs=0.002)


def test_the_bundled_models_use_the_columns_that_are_learned() -> None:
    bundled = shipped_confidence()
    fitted = fit_models("words", examples(300))
    assert set(bundled.words.asks.weights) == set(fitted["asks"])
    assert set(bundled.words.right.weights) == set(fitted["right"])


def test_weights_of_rows_count_like_repeated_rows() -> None:
    draw = np.random.default_rng(1)
    x = np.column_stack([draw.normal(size=50), np.ones(50)])
    y = draw.random(50) < 0.4
    counts = draw.integers(1, 4, 50)
    repeated = logistic(np.repeat(x, counts, 0), np.repeat(y, counts), np.ones(counts.sum()), 1e-3)
    assert logistic(x, y, counts.astype(float), 1e-3) == pytest.approx(repeated, abs=1e-4)


def test_written_texts_have_kinds_and_subjects() -> None:
    texts = written_texts()
    assert {each.kind for each in texts} == {"asks", "everyday", "boilerplate"}
    assert all(each.subject and each.text for each in texts)
