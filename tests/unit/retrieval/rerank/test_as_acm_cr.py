"""``bm25+scibert`` step by step as ACM-CR's author did it, with a tiny BERT in SciBERT's place.

BM25's first 20 documents; a document's title, a blank and its abstract, and the context as it is,
each alone through the network; the mean of the last hidden states over all tokens, the special ones
too; the cosine; then the mean of both scores, each divided by its query's best.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference import bert
from tests.tiny_models import VOCABULARY
from tests.unit.retrieval.index.making import build, write_collection

from citebed.collection import open_collection
from citebed.retrieval.execution.runner import RunOptions, run_queries

pytestmark = pytest.mark.usefixtures("neural")

WORDS = "citation paper papers retrieval test query document graph".split()  # noqa: SIM905
QUERY = "the test [3] of retrieval"
TEXTS = {
    f"d{n:02}": (f"{WORDS[n % 8]} retrieval", " ".join(WORDS[: n % 5 + 1]) + " test" * (n % 4))
    for n in range(26)
}


def tokens(text: str) -> list[int]:
    """Pieces of the tiny vocabulary; what it has not is ``[UNK]``."""
    words = text.replace("[", "[ ").replace("]", " ]").split()
    known = [VOCABULARY.index(w) if w in VOCABULARY else VOCABULARY.index("[UNK]") for w in words]
    return [VOCABULARY.index("[CLS]"), *known, VOCABULARY.index("[SEP]")]


def test_the_published_procedure(tmp_path: Path, make_model: Callable[..., Any]) -> None:
    tiny = make_model()
    documents = [
        {"doc_id": name, "title": title, "abstract": abstract, "keywords": ["graph", "query"]}
        for name, (title, abstract) in TEXTS.items()
    ]
    row = {"query_id": "q", "text": QUERY}
    folder = write_collection(tmp_path / "c", documents, queries={"q": [row]})
    build(folder)
    collection = open_collection(folder)

    def ranking(model: str) -> dict[str, float]:
        run = run_queries(collection, None, "q", model, RunOptions(depth=20, as_is=True))
        return dict(run.table.select("doc_id", "score").iter_rows())

    def mean(text: str) -> Any:
        return bert.last_hidden_state(tiny.config, tiny.weights, tokens(text)).mean(axis=0)

    first, context = ranking("bm25"), mean(QUERY)
    assert len(first) == 20
    cosines = {}
    for name in first:
        vector = mean(" ".join(TEXTS[name]))
        norms = np.linalg.norm(context) * np.linalg.norm(vector)
        cosines[name] = float(context @ vector / norms)
    best, nearest = max(first.values()), max(cosines.values())
    both = {name: 0.5 * first[name] / best + 0.5 * cosines[name] / nearest for name in first}
    assert ranking(f"bm25+rerank(with={tiny.folder})") == pytest.approx(cosines, abs=2e-5)
    assert ranking(f'bm25+sum(with="{tiny.folder}")') == pytest.approx(both, abs=2e-5)
