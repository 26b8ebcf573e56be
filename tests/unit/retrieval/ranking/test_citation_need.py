"""How likely a text asks: its clues as slow counting has them, its background, and learning it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.retrieval.index.making import write_collection

from citebed.retrieval.index.index import open_index
from citebed.retrieval.ranking.citation_need import (
    Background,
    compute_background,
    compute_features,
    everyday_texts,
    measure_background,
    parse_background,
)
from citebed.retrieval.ranking.collection_weights import read_weights
from citebed.retrieval.ranking.ranker import BACKGROUND_FEATURES, NEED_FEATURES, shipped_ranker
from citebed.retrieval.ranking.weight_fit import build_index
from citebed.retrieval.vectors.static_model import shipped_model
from citebed.training.citation_need import Source, logistic, train_citation_need, written_texts

SUBJECTS = ("query expansion", "document ranking", "language models", "relevance feedback")
METHODS = ("neural networks", "graphs", "users", "translation", "smoothing", "clustering")
TITLES = [f"{subject} with {method}" for subject in SUBJECTS for method in METHODS]
VALUES = {name: [0.5, 0.25] for name in BACKGROUND_FEATURES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asking")
    rows = [{"doc_id": f"d{number:02}", "title": title} for number, title in enumerate(TITLES)]
    build_index(write_collection(folder, rows))
    return folder


def found(folder: Path, *texts: str) -> np.ndarray:
    ranker = shipped_ranker()
    return compute_features(
        open_index(folder), ranker, shipped_model(), ranker.levels["static"], texts
    )


def test_clues_by_hand(folder: Path) -> None:
    text = "Query expansion with graphs helps cooks."
    (clues,) = found(folder, text)
    values = dict(zip(NEED_FEATURES, clues.tolist(), strict=True))
    model, ranker = shipped_model(), shipped_ranker()
    vector = model.queries([text])[0]
    best = max(float(row @ vector) for row in model.documents(TITLES))
    assert values["static"] == pytest.approx(best, abs=0.01)  # documents are kept in 8 bits
    assert values["matched"] == pytest.approx(np.log1p(3))
    assert values["telling"] == pytest.approx(np.log1p(5))
    kind = float(vector @ ranker.citation_need.kind) + ranker.citation_need.kind_constant
    assert values["kind"] == pytest.approx(kind, abs=1e-5)


def test_an_index_has_its_background(folder: Path) -> None:
    """As everyday texts find it, and kept when nothing has changed."""
    index, ranker = open_index(folder), shipped_ranker()
    kept = parse_background(index.description.background)
    assert kept is not None
    rows = found(folder, *everyday_texts())[:, : len(BACKGROUND_FEATURES)]
    fitted = measure_background(index, ranker, shipped_model(), ranker.levels["static"])
    np.testing.assert_allclose(fitted.means, rows.mean(axis=0))
    assert kept.values.keys() == BACKGROUND_FEATURES.keys()
    before = (folder / "index" / "index.json").read_text()
    build_index(folder)
    assert json.loads(before)["background"] == dict(open_index(folder).description.background)


@pytest.mark.parametrize("fit", [None, False])
def test_it_is_found_anew_when_documents_come(tmp_path: Path, fit: bool | None) -> None:
    """Also where nothing is fitted: what is found depends on how many there are."""
    rows = [{"doc_id": f"d{number:02}", "title": title} for number, title in enumerate(TITLES)]
    write_collection(tmp_path, rows)
    build_index(tmp_path, fit=fit)
    before = dict(open_index(tmp_path).description.background)
    write_collection(tmp_path, [*rows, {"doc_id": "x", "title": "A train in the garden at home"}])
    build_index(tmp_path, fit=fit)
    index, fitted = open_index(tmp_path), read_weights(open_index(tmp_path))
    again = compute_background(index, fitted)
    assert again is not None
    assert dict(index.description.background) == again.values != before


def test_too_few_documents_have_none(tmp_path: Path) -> None:
    build_index(write_collection(tmp_path, [{"doc_id": "a", "title": "one"}]))
    assert parse_background(open_index(tmp_path).description.background) is None


def test_clues_are_measured_in_spreads_from_the_mean() -> None:
    behind = Background(np.array([1.0, 2, 3, 4]), np.array([0.5, 1, 2, 1e-9]))
    clues = np.array([[2.0, 2, 2, 5, 7, -1]])
    assert behind.standardise(clues).tolist() == [[2, 0, -0.5, 10, 7, -1]]
    again = parse_background(behind._replace(spreads=np.ones(4)).values)
    assert again is not None
    assert again.means.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "values",
    [
        {}, {**VALUES, "bm25": 3}, {**VALUES, "bm25": [1]}, {**VALUES, "bm25": ["a", 1]},
        {**VALUES, "bm25": [1, 0]}, {**VALUES, "bm25": [1, -1]}, {**VALUES, "bm25": [np.nan, 1]},
        {**VALUES, "bm25": [1, np.inf]}, {**VALUES, "bm25": None},
    ],
)  # fmt: skip
def test_a_background_that_is_none_is_not_believed(values: dict[str, Any]) -> None:
    assert parse_background(values) is None


def test_no_text_of_the_background_is_learned_from() -> None:
    assert len(everyday_texts()) == 60
    assert not set(everyday_texts()) & {each.text for each in written_texts()}


def test_logistic_regression_is_that_of_statsmodels() -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    draw = np.random.default_rng(3)
    x = np.column_stack([draw.normal(size=(400, 2)), np.ones(400)])
    y = draw.random(400) < 1 / (1 + np.exp(-x @ [1.0, -2.0, 0.5]))
    theirs = statsmodels.Logit(y, x).fit(disp=False).params
    np.testing.assert_allclose(logistic(x, y, np.ones(400), 0.0), theirs, atol=1e-4)


def test_what_is_learned_tells_what_asks_from_what_does_not(folder: Path) -> None:
    index, ranker, model = open_index(folder), shipped_ranker(), shipped_model()
    level = ranker.levels["static"]
    texts = [f"Earlier work improved {title} for search." for title in TITLES]
    learned = train_citation_need([Source(index, level, texts[::2])], ranker, model)
    behind = measure_background(index, ranker, model, level)

    def asks(*texts: str) -> np.ndarray:
        clues = compute_features(index, ranker, model, level, texts)
        vectors = model.queries(list(texts))
        clues[:, -1] = learned.score_kind(vectors)
        return learned.predict(behind.standardise(clues))

    assert np.median(asks(*texts[1::2])) > learned.min_probability
    assert asks("We thank the reviewers.", "She baked bread.").max() < np.median(asks(*texts[1::2]))
