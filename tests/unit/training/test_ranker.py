"""Training the ranker: what is known to be true is learned, and nothing from the test."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from tests.unit.retrieval.index.making import build, write_collection

import citebed
from citebed.cli.app import main
from citebed.errors import CitebedError
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.query import Candidates, Query
from citebed.retrieval.ranking.features import RAW, SIGNALS
from citebed.retrieval.ranking.ranker import read_ranker
from citebed.training.ranker import (
    Example,
    RankerSettings,
    _fit_listwise,
    _listwise_loss,
    measure_example,
    train_ranker,
)
from citebed.training.texts import assign_fold, part_of_fold

NAMES = list(SIGNALS)
ONES = np.ones(len(NAMES))


def examples(weights: np.ndarray, count: int = 400) -> list[Example]:
    """Return questions whose cited documents were drawn by the given weights."""
    rng = np.random.default_rng(3)
    query = Query("", TermWeights(np.zeros(0, np.int64), *np.zeros((3, 0))))
    found = []
    for _ in range(count):
        values = np.zeros((12, len(NAMES)))
        values[:, :3] = rng.random((12, 3))
        chances = np.exp(values @ weights)
        right = np.arange(12) == rng.choice(12, p=chances / chances.sum())
        raw = np.zeros((12, len(RAW)))
        raw[:, 1] = values[:, 2]
        candidates = Candidates(query, np.arange(12), np.zeros(12), values, raw)
        found.append(Example("p", candidates, right, 1, True))
    return found


def test_weights_that_made_the_data_are_found() -> None:
    truth = np.zeros(len(NAMES))
    truth[:3] = 4.0, 0.0, 2.0
    found = _fit_listwise(examples(truth, 3000), np.arange(3), np.zeros(len(NAMES)))
    assert found[:3] == pytest.approx(truth[:3], abs=0.4)
    assert not found[3:].any()
    fixed = truth.copy()
    fixed[2] = 0
    again = _fit_listwise(examples(truth, 3000), np.array([2]), fixed)
    assert again[2] == pytest.approx(2.0, abs=0.4)
    assert again[0] == 4.0  # as it was given


def test_the_slope_of_the_loss_is_its_slope() -> None:
    rows = [
        (e.features.signals[:, :3], e.features.signals[:, 2], e.is_cited)
        for e in examples(ONES, 20)
    ]
    weights = np.array([0.5, -1.0, 2.0])
    by_steps = approx_fprime(weights, lambda w: _listwise_loss(w, rows)[0])
    assert _listwise_loss(weights, rows)[1] == pytest.approx(by_steps, abs=1e-5)


def test_figures_by_hand() -> None:
    right = np.array([False, True, False, True])
    (example,) = examples(ONES, 1)
    weighed = example.features.take(range(4))
    recall, gain = measure_example(Example("p", weighed, right, 3, False), np.array([4.0, 3, 2, 1]))
    assert recall == pytest.approx(2 / 3)
    ideal = 1 + 1 / np.log2(3) + 1 / 2
    assert gain == pytest.approx((1 / np.log2(3) + 1 / np.log2(5)) / ideal)


# --- a collection ---------------------------------------------------------------------------------

TOPICS = ("smoothing of language models", "parallel compilers", "sensor networks", "touch screens")
PAPERS = [f"P{number}" for number in range(400)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return contexts_of_topics(tmp_path_factory.mktemp("ranker") / "c")


def contexts_of_topics(folder: Path) -> Path:
    """An indexed collection of a few topics, and four hundred papers that cite its documents."""
    rows = [
        {
            "doc_id": f"d{number}",
            "title": f"{topic} {part}",
            "abstract": f"On {topic}.",
            "year": 2000,
        }
        for number, (topic, part) in enumerate((t, p) for t in TOPICS for p in "abcdef")
    ]
    write_collection(folder, rows)
    file = folder.parent / "contexts.jsonl"
    lines = [
        {"citing": name, "context": f"Much is known of {TOPICS[at % 4]} [CIT].",
         "cited": f"d{6 * (at % 4) + at % 3}", "year": 2005 + at % 10}
        for at, name in enumerate(PAPERS)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    build(folder, citing=(file,))
    return folder


def test_a_ranker_is_trained_and_used(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ranker.json"
    assert main(["train", "ranker", str(folder), "-o", str(path), "-q"]) == 0
    ranker = read_ranker(path)
    tested = [name for name in PAPERS if part_of_fold(assign_fold(name)) == "test"]
    assert ranker.about["figures"]["static"]["questions"] == len(tested)
    level = ranker.level(False)
    assert level.weights[NAMES.index("citing")] > 0  # three of six documents are never cited
    model = f"bm25+learned(with={path})"
    text = "Much is known of smoothing of language models."
    assert (
        main(["recommend", str(folder), text, "-m", model, "--json", "--min-probability", "0"]) == 0
    )
    rows = json.loads(capsys.readouterr().out)
    assert {row["doc_id"] for row in rows[:3]} == {"d0", "d1", "d2"}
    assert all(0 < row["probability"] < 1 for row in rows)
    assert rows[0]["citing_sentences"] == [text]


def test_same_seed_same_ranker(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        citebed.train_ranker(folder, tmp_path / name, RankerSettings(questions=15))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "c", [{"doc_id": "a", "title": "Oak trees"}])
    build(folder)
    with pytest.raises(CitebedError, match=r"no citing sentences .* --citing FILE"):
        train_ranker(folder, tmp_path / "ranker.json")
    assert not (tmp_path / "ranker.json").exists()


def test_too_few_papers_to_learn_from(tmp_path: Path) -> None:
    mine = citebed.demo(tmp_path / "demo")
    mine.index()
    with pytest.raises(CitebedError, match=r"some hundred papers .* --citing FILE"):
        train_ranker(mine, tmp_path / "ranker.json")
