"""Calibration: citation need, probabilities that people see, and the end of a list."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.retrieval.index.making import build, write_collection
from tests.unit.retrieval.ranking.test_word_rarity import OFF_IT, ON_IT, TITLES

from citebed.collection import open_collection
from citebed.errors import CitebedError
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.query import Candidates, Query
from citebed.retrieval.ranking.citation_need import Background
from citebed.retrieval.ranking.features import RAW, SIGNALS
from citebed.retrieval.ranking.ranker import CitationNeedModel, shipped_ranker
from citebed.retrieval.ranking.signal_ranker import _monotone
from citebed.retrieval.recommend.calibration import Calibration, CitationNeed

SHORT = "query expansion"
CONSTANTS = shipped_ranker().constants
TERMS = 3
# Each feature counts once; a text needs a citation if they sum to 0 or more.
NEED = CitationNeedModel(np.array([1.0, 0, 0, 0, 0, 1.0]), 0.0, np.array([1.0, 0.0]), 0.0, 0.5)
BACKGROUND = Background(np.array([0.3, 0, 0, 0]), np.array([0.1, 1, 1, 1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibration")
    titles = ["eggs, flour, butter", *TITLES, *TITLES]
    rows = [{"doc_id": str(number), "title": title} for number, title in enumerate(titles)]
    build(write_collection(folder, rows))
    return folder


def calibration(
    folder: Path, model: str = "bm25+learned", *, is_known: bool = True, among: int = 10
) -> Calibration:
    pipeline = parse_pipeline(model)
    runner = Runner(open_collection(folder), open_index(folder), pipeline, RunOptions())
    ranker: Any = SimpleNamespace(
        has_probabilities=is_known, training_documents=among, constants=CONSTANTS,
        citation_need=NEED,
    )  # fmt: skip
    runner.ranker = ranker
    made = Calibration(runner)
    made.background = BACKGROUND
    return made


def candidates(
    text: str,
    *probabilities: float,
    known: bool = True,
    static: float = 0.5,
    kind: float = 1.0,
    matched: int = TERMS,
) -> Candidates:
    """Candidates with this similarity, which have so many of the text's terms."""
    docs = np.arange(len(probabilities))
    raw = np.zeros((len(docs), len(RAW)))
    raw[:, RAW.index("static")] = static
    shares = np.tile(np.arange(TERMS) < matched, (len(docs), 1)).astype(float)
    query = Query(text, TermWeights(np.zeros(0, np.int64), *np.zeros((3, 0))))
    signals = np.zeros((len(docs), len(SIGNALS)))
    likely = np.array(probabilities) if known else None
    vectors = {"static": np.array([[kind, 0.0]], np.float32)}
    scores = docs[::-1].astype(float)
    best = Candidates(query, docs, scores, signals, raw, shares)
    return Candidates(query, docs, scores, signals, raw, shares, likely, vectors, 0.03, best)


def odds(probability: float) -> float:
    return probability / (1 - probability)


def likely(found: Candidates) -> list[float]:
    assert found.probabilities is not None
    return [float(each) for each in found.probabilities]


@pytest.mark.parametrize(
    ("static", "kind", "sum_of_features"),
    [(0.3, 0.0, 0.0), (0.4, 0.0, 1.0), (0.4, -2.0, -1.0), (0.1, 1.0, -1.0), (0.9, 0.0, 6.0)],
)
def test_citation_need_is_measured_against_the_background(
    folder: Path, static: float, kind: float, sum_of_features: float
) -> None:
    need = calibration(folder).citation_need(candidates(ON_IT, 0.5, static=static, kind=kind))
    assert need.probability == pytest.approx(1 / (1 + np.exp(-sum_of_features)))
    assert need.kind == kind
    assert need.is_too_low == (sum_of_features < 0)


def test_without_calibration_every_text_needs_citations(folder: Path) -> None:
    for model, found in (
        ("bm25+learned", candidates(SHORT, 0.5, static=0.1)),  # a search
        ("bm25+learned", candidates(ON_IT, static=0.1)),  # nothing found
        ("bm25+learned", candidates(ON_IT, 0.5, static=0.1, known=False)),
        ("bm25+dense", candidates(ON_IT, 0.5, static=0.1)),
    ):
        assert calibration(folder, model).citation_need(found) == CitationNeed(1.0)
    made = calibration(folder)
    made.background = None
    assert made.citation_need(candidates(OFF_IT, 0.5, static=0.1)) == CitationNeed(1.0)


def test_a_short_sentence_can_need_no_citation_but_a_search_cannot(folder: Path) -> None:
    made = calibration(folder)
    assert made.citation_need(candidates("Thank you all.", 0.5, static=0.1)).is_too_low
    for words in ("Thank you all", "Neural ranking.", ""):
        assert made.citation_need(candidates(words, 0.5, static=0.1)) == CitationNeed(1.0)


def test_probabilities_depend_on_need_size_and_shared_terms(folder: Path) -> None:
    found, power = candidates(ON_IT, 0.5, 0.2), CONSTANTS.size_exponent
    same, sure = calibration(folder), CitationNeed(1.0)
    assert likely(same.calibrate(found, CitationNeed(0.8))) == pytest.approx([0.4, 0.16])
    smaller = likely(calibration(folder, among=15 * 10).calibrate(found, sure))
    assert list(map(odds, smaller)) == pytest.approx([odds(p) * 10**power for p in (0.5, 0.2)])
    larger = calibration(folder, among=2).calibrate(found, sure)
    assert likely(larger) == pytest.approx([0.5, 0.2]), "never lower in a larger collection"
    assert calibration(folder, among=10_000).calibrate(found, sure) is found, "far too small"
    for matched, limited in ((0, 0.1), (1, 0.1), (2, 0.5)):
        few = candidates(ON_IT, 0.5, 0.05, matched=matched)
        assert likely(same.calibrate(few, sure)) == pytest.approx([limited, 0.05])


def test_a_longer_list_does_not_change_the_first_ten_probabilities() -> None:
    learned = np.array([0.2, 0.1, 0.3, *[0.05] * 7, 0.01, 0.6, 0.02])
    falling = [0.3, 0.3, 0.3, *[0.05] * 7, 0.05, 0.05, 0.02]
    for count in range(3, len(learned) + 1):
        assert _monotone(learned[:count]).tolist()[:10] == falling[:count][:10]
    assert _monotone(learned).tolist() == falling
    assert _monotone(learned[:0]).tolist() == []


def test_a_list_ends_at_unlikely_documents(folder: Path) -> None:
    whole = candidates(ON_IT, 0.5, 0.1, 0.015, 0.0149, 0.001, 0.0)
    assert calibration(folder).drop_unlikely(whole).docs.tolist() == [0, 1, 2]
    small = calibration(folder, among=CONSTANTS.max_size_ratio * 15 + 1).drop_unlikely(whole)
    assert len(small) == 5, "probabilities are too low there"
    for made, text in ((calibration(folder), SHORT), (calibration(folder, "bm25"), ON_IT)):
        everything = candidates(text, 0.5, 0.0)
        assert made.drop_unlikely(everything) is everything
    unknown = candidates(ON_IT, 0.5, 0.0, known=False)
    assert calibration(folder, is_known=False).drop_unlikely(unknown) is unknown


def test_the_reason_for_missing_probabilities(folder: Path) -> None:
    german = "Die Suche nach Dokumenten ist nicht einfach, und die Modelle sind es auch nicht."
    trained = CONSTANTS.max_size_ratio * 15
    assert calibration(folder).missing_probabilities(ON_IT) == ""
    assert calibration(folder, among=trained).missing_probabilities(ON_IT) == ""
    assert "fewer than 4 content" in calibration(folder).missing_probabilities(SHORT)
    needed = {10_000: "100", 108_857: "1,100", 5_449: "54", 54_400: "540"}
    for among, papers in needed.items():
        message = calibration(folder, among=among).missing_probabilities(ON_IT)
        assert f"it needs about {papers} papers" in message
    assert "English texts only" in calibration(folder).missing_probabilities(german)
    unknown = calibration(folder, is_known=False).missing_probabilities(ON_IT)
    assert "citebed train ranker" in unknown
    assert calibration(folder, "bm25").missing_probabilities(SHORT) == ""


def test_a_minimum_probability(folder: Path) -> None:
    made, whole = calibration(folder), candidates(ON_IT, 0.5, 0.1, 0.02)
    assert made.require(whole, 0.1).docs.tolist() == [0, 1]
    assert made.require(whole, 0).min_probability == 0
    unknown = candidates(ON_IT, 0.5, 0.1, known=False)
    assert len(made.require(unknown, 0)) == 2
    with pytest.raises(CitebedError, match="needs a calibrated model"):
        made.require(unknown, 0.1)
