"""The ranker file: written, read back, and refused if invalid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citebed.errors import FormatError
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.query import Candidates, Query
from citebed.retrieval.ranking.features import SIGNALS, Constants
from citebed.retrieval.ranking.ranker import (
    _OLD_CONSTANTS,
    SHIPPED,
    Level,
    ranker_json,
    read_ranker,
    shipped_ranker,
)

WEIGHTS = np.arange(1.0, len(SIGNALS) + 1)
LEVEL = Level(WEIGHTS)


def candidates(signals: np.ndarray, raw: np.ndarray) -> Candidates:
    docs = np.arange(len(signals))
    query = Query("", TermWeights(np.zeros(0, np.int64), *np.zeros((3, 0))))
    return Candidates(query, docs, np.zeros(len(docs)), signals, raw)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ranker.json"
    path.write_text(ranker_json({"static": LEVEL, "encoder": LEVEL}, {"name": "mine"}))
    found = read_ranker(path)
    assert found.about["name"] == "mine"
    for level in found.levels.values():
        np.testing.assert_allclose(level.weights, WEIGHTS)


def test_scores_by_hand() -> None:
    values = np.zeros((2, len(SIGNALS)))
    values[0, :2], values[1, 2] = (1.0, 0.5), 2.0
    scores = LEVEL.score(candidates(values, np.zeros((2, 5))))
    assert scores.tolist() == [1 * 1 + 2 * 0.5, 3 * 2.0]


def test_the_shipped_one_can_be_read() -> None:
    ranker = shipped_ranker()
    for has_encoder in (False, True):
        level = ranker.level(float(has_encoder))
        assert level.weights[list(SIGNALS).index("bm25")] > 0
    assert not ranker.level(0).weights[list(SIGNALS).index("encoder")]


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_rankers_of_earlier_versions_are_read(tmp_path: Path, version: int) -> None:
    """They had probabilities and a citation need, and the first ones no constants."""
    values = json.loads(SHIPPED.read_text())
    old = {new: name for name, new in _OLD_CONSTANTS.items()} if version == 3 else {}
    values["constants"] = {old.get(n, n): each for n, each in values["constants"].items()}
    values["constants"]["unlikely"] = {"value": 0.015}
    values["asking" if version == 3 else "citation_need"] = {"weights": {}}
    if version < 3:
        del values["constants"]
    for level in values["levels"].values():
        level.update(probability={"score": 1.0}, min_probability=0.1)
    path = tmp_path / "ranker.json"
    path.write_text(json.dumps({**values, "format": version}))
    found = read_ranker(path)
    assert found.constants == shipped_ranker().constants
    np.testing.assert_array_equal(found.level(0).weights, shipped_ranker().level(0).weights)


def test_each_constant_says_what_it_is_and_how_it_was_found() -> None:
    values = json.loads(SHIPPED.read_text())["constants"]
    assert list(values) == list(Constants._fields)
    for each in values.values():
        assert set(each) == {"value", "what", "how"}
        assert len(each["what"]) > 5
        assert len(each["how"]) > 10


def broken(change: Any) -> str:
    values = json.loads(ranker_json({"static": LEVEL, "encoder": LEVEL}, {}))
    change(values)
    return json.dumps(values)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "not JSON", "[" * 5000,
        broken(lambda v: v.update(format=6)),
        broken(lambda v: v.pop("levels")),
        broken(lambda v: v["levels"].pop("encoder")),
        broken(lambda v: v["levels"]["static"]["weights"].update(moon=1)),
        broken(lambda v: v["levels"]["static"]["weights"].update(bm25="much")),
        broken(lambda v: v["levels"]["static"]["weights"].update(bm25=float("nan"))),
        broken(lambda v: v["levels"]["static"]["weights"].update(bm25=1e300)),
        broken(lambda v: v.pop("constants")),
        broken(lambda v: v["constants"].pop("min_citing_similarity")),
        broken(lambda v: v["constants"].update(moon={"value": 1})),
        broken(lambda v: v["constants"].update(min_citing_similarity=0.35)),
        broken(lambda v: v["constants"]["min_citing_similarity"].update(value="much")),
        broken(lambda v: v["constants"]["min_citing_similarity"].update(value=float("nan"))),
        broken(lambda v: v["constants"]["min_citing_similarity"].update(value=-1)),
        broken(lambda v: v["constants"]["bm25_depth"].update(value=10.5)),
    ],
)  # fmt: skip
def test_no_ranker(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ranker.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"ranker\.json.*citebed train ranker"):
        read_ranker(path)


def test_what_is_missing_is_reported_in_words(tmp_path: Path) -> None:
    path = tmp_path / "ranker.json"
    for text, told in (
        ("[]", "not a JSON object"),
        (broken(lambda v: v["levels"].pop("encoder")), "'encoder' is missing"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=told):
            read_ranker(path)
