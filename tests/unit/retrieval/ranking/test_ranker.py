"""The ranker's file: read as it is written, and refused when it is none."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from citebed.errors import FormatError
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.query import Candidates, Query
from citebed.retrieval.ranking.features import SIGNALS, Constants
from citebed.retrieval.ranking.ranker import (
    _OLD_CONSTANTS,
    INPUTS,
    SHIPPED,
    CitationNeedModel,
    Level,
    calibration_inputs,
    ranker_json,
    read_ranker,
    shipped_ranker,
)
from citebed.retrieval.vectors.static_model import shipped_model

WEIGHTS = np.arange(1.0, len(SIGNALS) + 1)
CHANCE = np.linspace(-1, 1, len(INPUTS)).round(4)
LEVEL = Level(WEIGHTS, CHANCE, 0.25)
ASKING = CitationNeedModel(np.arange(6.0), -1.5, np.array([0.5, -0.25]), 0.75, 0.2)


def candidates(signals: np.ndarray, raw: np.ndarray) -> Candidates:
    docs = np.arange(len(signals))
    query = Query("", TermWeights(np.zeros(0, np.int64), *np.zeros((3, 0))))
    return Candidates(query, docs, np.zeros(len(docs)), signals, raw)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ranker.json"
    path.write_text(ranker_json({"static": LEVEL, "encoder": LEVEL}, ASKING, {"name": "mine"}))
    found = read_ranker(path)
    assert found.about["name"] == "mine"
    for level in found.levels.values():
        np.testing.assert_allclose(level.weights, WEIGHTS)
        np.testing.assert_allclose(level.probability, CHANCE)
        assert level.min_probability == 0.25
    for name in ("weights", "constant", "kind", "kind_constant", "min_probability"):
        np.testing.assert_allclose(getattr(found.citation_need, name), getattr(ASKING, name))


def test_how_likely_texts_ask_by_hand() -> None:
    assert ASKING.score_kind(np.array([[1, 2]], np.float32)).tolist() == [0.5 - 0.5 + 0.75]
    clues = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]], float)
    np.testing.assert_allclose(ASKING.predict(clues), 1 / (1 + np.exp([0.5, -1.5])))


def test_scores_and_chances_by_hand() -> None:
    values = np.zeros((2, len(SIGNALS)))
    values[0, :2], values[1, 2] = (1.0, 0.5), 2.0
    raw = np.zeros((2, 5))
    raw[0, 0] = np.e - 1
    weighed = candidates(values, raw)
    scores = LEVEL.score(weighed)
    assert scores.tolist() == [1 * 1 + 2 * 0.5, 3 * 2.0]
    assert calibration_inputs(weighed, scores)[0].tolist() == [1, 2, 0, 1, 0, 0, 0, 0]
    z = CHANCE[0] + 2 * CHANCE[1] + CHANCE[3]
    assert LEVEL.calibrate(calibration_inputs(weighed, scores))[0] == pytest.approx(
        1 / (1 + np.exp(-z))
    )


def test_the_shipped_one_can_be_read() -> None:
    ranker = shipped_ranker()
    for has_encoder in (False, True):
        level = ranker.level(float(has_encoder))
        assert level.weights[list(SIGNALS).index("bm25")] > 0
        assert 0 <= level.min_probability < 0.5
    assert not ranker.level(0).weights[list(SIGNALS).index("encoder")]
    assert ranker.documents > 100_000


def test_the_shipped_one_was_trained_with_the_shipped_vectors() -> None:
    """Else nobody is told a chance."""
    assert shipped_ranker().is_calibrated_for({"static": shipped_model()})


def test_whose_chances_they_are(tmp_path: Path) -> None:
    """Word vectors are those of the file; an encoder has the name, whatever its bits are here."""
    about = {
        "static": {"name": "mine", "fingerprint": "1"},
        "encoder": {"name": "b", "fingerprint": "2"},
    }
    path = tmp_path / "ranker.json"
    levels = {"static": LEVEL, "encoder": LEVEL}
    path.write_text(ranker_json(levels, ASKING, {"vectors": about, "documents": 7}))
    ranker = read_ranker(path)
    assert ranker.documents == 7

    def model(name: str, fingerprint: str) -> Any:
        return SimpleNamespace(name=name, fingerprint=fingerprint)

    mine = model("mine", "1")
    assert ranker.is_calibrated_for({"static": mine, "encoder": model("b", "3")})
    assert not ranker.is_calibrated_for({"static": model("mine", "2")})
    assert not ranker.is_calibrated_for({"static": mine, "encoder": model("c", "2")})
    path.write_text(ranker_json(levels, ASKING, {}))
    assert read_ranker(path).is_calibrated_for({"static": mine}), "it does not say"
    assert read_ranker(path).documents == 0


def test_a_ranker_of_before_is_read(tmp_path: Path) -> None:
    """It had other names, no constants and nothing of asking: what comes with citebed counts."""
    values = json.loads(ranker_json({"static": LEVEL, "encoder": LEVEL}, ASKING, {}))
    del values["constants"], values["citation_need"]
    for level in values["levels"].values():
        level["chance"], level["least"] = level.pop("probability"), level.pop("min_probability")
    path = tmp_path / "ranker.json"
    path.write_text(json.dumps({**values, "format": 1}))
    found = read_ranker(path)
    np.testing.assert_allclose(found.level(0).probability, CHANCE)
    assert found.level(0).min_probability == 0.25
    assert found.constants == shipped_ranker().constants
    assert found.citation_need is shipped_ranker().citation_need


def test_the_names_of_format_3_are_read(tmp_path: Path) -> None:
    values = json.loads(SHIPPED.read_text())
    old = {new: name for name, new in _OLD_CONSTANTS.items()}
    values["constants"] = {old.get(n, n): each for n, each in values["constants"].items()}
    values["asking"] = values.pop("citation_need")
    path = tmp_path / "ranker.json"
    path.write_text(json.dumps({**values, "format": 3}))
    assert read_ranker(path).constants == shipped_ranker().constants


def test_each_constant_says_what_it_is_and_how_it_was_found() -> None:
    values = json.loads(SHIPPED.read_text())["constants"]
    assert list(values) == list(Constants._fields)
    for each in values.values():
        assert set(each) == {"value", "what", "how"}
        assert len(each["what"]) > 5
        assert len(each["how"]) > 10


def broken(change: Any) -> str:
    values = json.loads(ranker_json({"static": LEVEL, "encoder": LEVEL}, ASKING, {}))
    change(values)
    return json.dumps(values)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "not JSON", "[" * 5000,
        broken(lambda v: v.update(format=5)),
        broken(lambda v: v.pop("citation_need")),
        broken(lambda v: v["citation_need"].update(min_probability=2)),
        broken(lambda v: v["citation_need"]["kind"].update(vector=[1e9])),
        broken(lambda v: v["citation_need"]["weights"].update(mood=1)),
        broken(lambda v: v.pop("levels")),
        broken(lambda v: v["levels"].pop("encoder")),
        broken(lambda v: v["levels"]["static"]["weights"].update(moon=1)),
        broken(lambda v: v["levels"]["static"]["weights"].update(bm25="much")),
        broken(lambda v: v["levels"]["static"]["weights"].update(bm25=float("nan"))),
        broken(lambda v: v["levels"]["static"]["weights"].update(bm25=1e300)),
        broken(lambda v: v["levels"]["static"].update(probability=[1, 2])),
        broken(lambda v: v["levels"]["static"].update(min_probability="nan")),
        broken(lambda v: v["levels"]["static"].update(min_probability=3)),
        broken(lambda v: v.pop("constants")),
        broken(lambda v: v["constants"].pop("min_citing_similarity")),
        broken(lambda v: v["constants"].update(moon={"value": 1})),
        broken(lambda v: v["constants"].update(min_citing_similarity=0.35)),
        broken(lambda v: v["constants"]["min_citing_similarity"].update(value="much")),
        broken(lambda v: v["constants"]["min_citing_similarity"].update(value=float("nan"))),
        broken(lambda v: v["constants"]["min_citing_similarity"].update(value=-1)),
        broken(lambda v: v["constants"]["bm25_depth"].update(value=10.5)),
        broken(lambda v: v["about"].update(documents="many")),
        broken(lambda v: v["about"].update(vectors=[1])),
        broken(lambda v: v["about"].update(vectors={"static": {"name": "x"}})),
    ],
)  # fmt: skip
def test_no_ranker(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ranker.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"ranker\.json.*citebed train ranker"):
        read_ranker(path)


def test_what_is_missing_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "ranker.json"
    for text, told in (
        ("[]", "not a JSON object"),
        (broken(lambda v: v["levels"].pop("encoder")), "'encoder' is missing"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=told):
            read_ranker(path)


def test_the_greatest_weights_give_chances_without_a_warning() -> None:
    level = Level(WEIGHTS, np.full(len(INPUTS), -1e6), 0.25)
    weighed = candidates(np.ones((1, len(SIGNALS))), np.ones((1, 5)))
    inputs = calibration_inputs(weighed, level.score(weighed))
    assert level.calibrate(inputs).tolist() == [0.0]
