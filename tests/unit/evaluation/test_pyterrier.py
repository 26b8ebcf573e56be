"""citebed inside a PyTerrier experiment; runs where PyTerrier is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pt = pytest.importorskip("pyterrier")
pd = pytest.importorskip("pandas")
ir_measures = pytest.importorskip("ir_measures")

from citebed import evaluate  # noqa: E402
from citebed.evaluation import ir_measures_provider as plug  # noqa: E402

TOPICS = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["one", "two", "three"]})
QRELS = pd.DataFrame(
    {"qid": ["1", "1", "2", "3"], "docno": ["d1", "d2", "d3", "d9"], "label": [1, 2, 1, 1]}
)
GOOD = pd.DataFrame(
    {"qid": ["1", "1", "1", "2"], "docno": ["d1", "d2", "d5", "d3"],
     "score": [3.0, 2.0, 1.0, 1.0], "rank": [0, 1, 2, 0]}
)  # fmt: skip
POOR = pd.DataFrame(
    {"qid": ["1", "1", "2", "2"], "docno": ["d5", "d2", "d3", "d4"],
     "score": [3.0, 2.0, 1.0, 1.0], "rank": [0, 1, 0, 1]}
)  # fmt: skip
MEASURES = [ir_measures.AP, ir_measures.RR]


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    plug.register()
    yield
    plug.unregister()


def test_an_experiment_over_tables() -> None:
    """Query 3 is answered by none and counts 0; of the tied d3 and d4, d4 comes first.

    GOOD: AP 1 and 1. POOR: query 1 has d2 second of two relevant, AP 1/4; query 2 AP 1/2.
    """
    found = pt.Experiment([GOOD, POOR], TOPICS, QRELS, MEASURES, names=["good", "poor"])
    scores = found.set_index("name")
    assert scores.loc["good", "AP"] == pytest.approx(2 / 3)
    assert scores.loc["poor", "AP"] == pytest.approx((1 / 4 + 1 / 2) / 3)
    assert scores.loc["poor", "RR"] == pytest.approx((1 / 2 + 1 / 2) / 3)


def test_query_by_query() -> None:
    systems = [pt.Transformer.from_df(GOOD), pt.Transformer.from_df(POOR)]
    found = pt.Experiment(systems, TOPICS, QRELS, MEASURES, names=["good", "poor"], perquery=True)
    values = found[found["measure"] == "AP"].set_index(["name", "qid"])["value"].to_dict()
    assert values == {
        ("good", "1"): 1.0, ("good", "2"): 1.0, ("good", "3"): 0.0,
        ("poor", "1"): 0.25, ("poor", "2"): 0.5, ("poor", "3"): 0.0,
    }  # fmt: skip


def test_our_own_door_takes_pyterrier_s_tables() -> None:
    """Over the queries that are answered, as trec_eval does."""
    found = evaluate(QRELS, {"good": GOOD, "poor": POOR}, ["AP"]).summary()
    figures = found.select("run", "measure", "value").rows()
    assert figures == [("good", "AP", 1.0), ("poor", "AP", 0.375)]
