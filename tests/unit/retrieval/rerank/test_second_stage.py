"""Re-ranking with an encoder and a cross-encoder."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.hot_journals import forge_journal
from tests.reference import bert
from tests.unit.retrieval.index.making import build, write_collection

from citebed.collection.progress import Progress
from citebed.errors import CitebedError
from citebed.retrieval.execution.runner import run_queries
from citebed.retrieval.rerank import (
    CrossEncoder,
    Encoder,
    VectorCache,
    cosines,
    load_cross_encoder,
    load_encoder,
    rerank,
    rerank_run,
)

pytestmark = pytest.mark.usefixtures("neural")

CLS, SEP = 2, 3
# Texts of the tiny vocabulary and their tokens.
TEXTS = {
    "d1": ("a citation", [CLS, 4, 5, SEP]),
    "d2": ("the papers of retrieval", [CLS, 10, 8, 11, 12, SEP]),
    "d3": ("test document .", [CLS, 13, 15, 20, SEP]),
    "d4": ("a citation", [CLS, 4, 5, SEP]),
}
QUERIES = {"q1": ("the test", [CLS, 10, 13, SEP]), "q2": ("graph", [CLS, 19, SEP])}
CANDIDATES = [(doc_id, text, 1.0) for doc_id, (text, _) in TEXTS.items()]
RUN = pl.DataFrame(
    [(q, d, float(s)) for q in QUERIES for d, s in zip(TEXTS, (4, 3, 2, 1), strict=True)],
    {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64},
    orient="row",
)
QUERY_TEXTS = {name: text for name, (text, _) in QUERIES.items()}
DOC_TEXTS = {name: text for name, (text, _) in TEXTS.items()}


@pytest.fixture(scope="module")
def tiny(make_model: Callable[..., Any]) -> Any:
    return make_model()


@pytest.fixture(scope="module")
def encoder(tiny: Any) -> Encoder:
    return load_encoder(tiny.folder)


def by_hand(tiny: Any, query: str) -> dict[str, float]:
    """Cosines of means of hidden states, from the equations."""

    def mean(ids: list[int]) -> Any:
        return bert.last_hidden_state(tiny.config, tiny.weights, ids).mean(axis=0)

    q = mean(QUERIES[query][1])
    vectors = {name: mean(ids) for name, (_, ids) in TEXTS.items()}
    return {n: q @ v / np.linalg.norm(q) / np.linalg.norm(v) for n, v in vectors.items()}


def ranked(scores: dict[str, float]) -> list[str]:
    """Best first; d1 and d4 have the same text, so d4, the higher name, comes first."""
    return sorted(scores, key=lambda name: (round(scores[name], 9), name), reverse=True)


def test_one_query(encoder: Encoder, tiny: Any) -> None:
    expected = by_hand(tiny, "q1")
    found = rerank("the test", CANDIDATES, encoder)
    assert [doc_id for doc_id, _ in found] == ranked(expected)
    for doc_id, score in found:
        assert score == pytest.approx(expected[doc_id], abs=2e-5)


def test_a_run_with_a_cache(encoder: Encoder, tiny: Any, tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    plain = rerank_run(RUN, QUERY_TEXTS, DOC_TEXTS, encoder)
    for _ in range(2):
        found = rerank_run(RUN, QUERY_TEXTS, DOC_TEXTS, encoder, cache=cache)
        assert found.select("query_id", "doc_id").rows() == [
            (query, doc_id) for query in QUERIES for doc_id in ranked(by_hand(tiny, query))
        ]
        np.testing.assert_allclose(found["score"], plain["score"], atol=1e-5)
    (database,) = tmp_path.iterdir()
    with contextlib.closing(sqlite3.connect(database)) as connection:
        ((count,),) = connection.execute("SELECT count(*) FROM vectors")
    assert count == 3, "three distinct texts, no query"


def test_only_the_first_documents(encoder: Encoder) -> None:
    found = rerank_run(RUN.reverse(), QUERY_TEXTS, DOC_TEXTS, encoder, depth=2)
    assert sorted(found.select("query_id", "doc_id").rows()) == [
        (query, doc_id) for query in QUERIES for doc_id in ("d1", "d2")
    ]


def test_a_cross_encoder(make_cross_model: Callable[..., Any]) -> None:
    tiny = make_cross_model()
    expected = {}
    for name, (_, ids) in TEXTS.items():
        query = QUERIES["q1"][1]
        types = [0] * len(query) + [1] * (len(ids) - 1)
        expected[name] = bert.logits(tiny.config, tiny.weights, [*query, *ids[1:]], types)[0]
    model = load_cross_encoder(tiny.folder)
    assert isinstance(model, CrossEncoder)
    found = rerank("the test", CANDIDATES, model)
    assert [doc_id for doc_id, _ in found] == ranked(expected)
    for doc_id, score in found:
        assert score == pytest.approx(expected[doc_id], abs=5e-5)


def test_nothing_to_do(encoder: Encoder) -> None:
    assert rerank("the test", [], encoder) == []
    assert rerank_run(RUN.clear(), {}, {}, encoder).is_empty()
    assert cosines([], [], encoder).shape == (0,)


def test_a_text_is_like_itself(encoder: Encoder) -> None:
    texts = ["", "a citation", "the papers " * 50]
    np.testing.assert_allclose(cosines(texts, texts, encoder), 1.0, atol=1e-6)


def test_a_run_of_another_collection(encoder: Encoder) -> None:
    with pytest.raises(CitebedError, match="names document 'd1', but its text is missing"):
        rerank_run(RUN, QUERY_TEXTS, {}, encoder)
    with pytest.raises(CitebedError, match="names query 'q1', but its text is missing"):
        rerank_run(RUN, {}, DOC_TEXTS, encoder)


def test_vectors_that_a_collection_brings_along_are_not_opened(tmp_path: Path, tiny: Any) -> None:
    documents = [{"doc_id": f"d{n}", "title": f"test {n}"} for n in range(5)]
    queries = {"q": [{"query_id": "a", "text": "test a"}]}
    forged, victim = tmp_path / "forged", tmp_path / "thesis.tex"
    forged.mkdir()
    victim.write_text("precious")
    build(write_collection(forged, documents, queries=queries))
    model = load_encoder(tiny.folder)
    VectorCache(forged / "vectors").vectors(model, ["test 0"])
    (database,) = (forged / "vectors").iterdir()
    forge_journal(database, victim)
    before = sorted(path.name for path in forged.rglob("*"))
    run_queries(forged, None, "q", f"bm25+rerank(with={tiny.folder})")
    assert victim.read_text() == "precious"
    assert sorted(path.name for path in forged.rglob("*")) == before


def test_progress_tells_of_queries_and_of_documents(tmp_path: Path, tiny: Any) -> None:
    documents = [{"doc_id": f"d{n}", "title": f"test {n}"} for n in range(5)]
    queries = {"q": [{"query_id": name, "text": f"test {name}"} for name in "ab"]}
    build(write_collection(tmp_path, documents, queries=queries))
    seen: list[tuple[str, int]] = []
    counted: list[int] = []
    model = f"bm25+rerank(with={tiny.folder})"
    for _ in range(2):
        progress = Progress(lambda name, total: seen.append((name, total)), counted.append)
        run_queries(tmp_path, None, "q", model, progress=progress)
    names = [step for step in seen if step[0] != f"loading {tiny.folder}"]
    once = [("searching", 2), ("encoding: texts", 2)]
    assert names == [*once, ("encoding: texts", 5), *once], "vectors that are kept are not encoded"
    assert sum(counted) == 2 + 2 + 5 + 2 + 2
    assert seen[0][0].startswith("loading"), "what is missing is told before the search"
