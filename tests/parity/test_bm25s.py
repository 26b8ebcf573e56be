"""The same ranking as bm25s, from documents through citebed's index and search.

The numbers come from bm25s 0.3.16 with ``method="lucene"``, k1 0.9, b 0.4 and doubles, over
the same words.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.retrieval.index.making import build, write_collection

from citebed.retrieval.index.index import open_index
from citebed.retrieval.models import model_of
from citebed.retrieval.search.searcher import Searcher

DOCUMENTS = (
    {"doc_id": "0", "title": "Tree Oak", "abstract": "tree", "keywords": ["forest"]},
    {"doc_id": "1", "title": "", "abstract": "oak sea"},
    {"doc_id": "2", "title": "sea sea sea", "keywords": ["salt water"]},
    {"doc_id": "3", "title": "forest, elm", "abstract": "(oak) elm: elm!"},
    {"doc_id": "4"},
    {"doc_id": "5", "title": "salt forest tree tree tree oak sea", "keywords": ["elm", "water"]},
)
SCORES = {
    "tree oak": [0.9479453, 0.2579593, 0.0, 0.2240531, 0.0, 0.9060533],
    "sea salt water sea": [0.0, 0.8093732, 2.0912889, 0.0, 0.0, 1.4866816],
    "elm": [0.0, 0.0, 0.0, 0.7776582, 0.0, 0.4442611],
    "forest forest forest oak tree salt": [
        *(2.0507463, 0.2579593, 0.5221194, 1.2785367, 0.0, 2.2475535),
    ],
}


@pytest.mark.parametrize("query", SCORES)
def test_rankings_and_scores(tmp_path: Path, query: str) -> None:
    folder = write_collection(tmp_path / "c", DOCUMENTS)
    build(folder, analyser="none")
    searcher = Searcher(open_index(folder), model_of("bm25(k1=0.9,b=0.4)"))
    expected = np.array(SCORES[query])
    order = [doc for doc in np.argsort(-expected) if expected[doc] > 0]
    for _ in range(2):
        hits = searcher.search(searcher.query(query), 10)
        assert hits.docs.tolist() == order
        np.testing.assert_allclose(hits.scores, expected[order], rtol=1e-6)
        searcher.prepare()
