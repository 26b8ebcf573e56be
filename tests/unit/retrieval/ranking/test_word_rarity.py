"""Whether a text is on a subject of a collection: as slow counting has it, names aside."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.unit.retrieval.index.making import build, write_collection

from citebed.retrieval.index.index import open_index
from citebed.retrieval.ranking.confidence import WordRarity

TITLES = [
    *(f"query expansion by feedback in retrieval of documents {word}" for word in "ab"),
    *(f"ranking documents by language models for retrieval {word}" for word in "cd"),
    *(f"feedback for ranking by models of queries {word}" for word in "ef"),
    "which smoothing of language models",
]
"""Words of one letter are there, but not in texts."""


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> WordRarity:
    folder = tmp_path_factory.mktemp("subject")
    rows = [{"doc_id": str(number), "title": title} for number, title in enumerate(TITLES)]
    build(write_collection(folder, rows))
    return WordRarity(open_index(folder))


def idf(often: int) -> float:
    return math.log(1 + (len(TITLES) - often + 0.5) / (often + 0.5))


def test_the_usual_rarity_is_that_of_slow_counting(subject: WordRarity) -> None:
    analyser = subject._index.analyser
    passed = {"by", "in", "of", "for", "which"}
    documents = [
        {analyser.term(word) for word in title.split() if word not in passed} - {None}
        for title in TITLES
    ]
    # Each word of each document, by how many others have it.
    found = [
        idf(sum(term in other for other in documents if other is not document))
        for document in documents
        for term in document
    ]
    mean = sum(found) / len(found)
    assert subject.usual[0] == pytest.approx(mean)
    spread = math.sqrt(sum((each - mean) ** 2 for each in found) / len(found))
    assert subject.usual[1] == pytest.approx(spread)


def terms(subject: WordRarity, text: str) -> np.ndarray:
    return subject.terms(set(text.split()))


def test_strange_is_what_has_words_that_are_rare(subject: WordRarity) -> None:
    assert subject.strangeness(terms(subject, "queries expanded models language documents")) < 1
    assert subject.strangeness(terms(subject, "eggs mixed flour baked slowly butter")) > 2
    mean, spread = subject.usual
    for words in (1, 4, 7, 9):  # all of them unknown: their mean is that of 0 documents
        text = " ".join(f"wor{letter}" for letter in "qrstuvwxy"[:words])
        above = (idf(0) - mean) / (spread / math.sqrt(min(words, 7)))
        assert subject.strangeness(terms(subject, text)) == pytest.approx(min(above, 8))


def test_no_words_and_an_empty_collection_are_not_strange(
    subject: WordRarity, tmp_path: Path
) -> None:
    assert subject.strangeness(terms(subject, "")) == 0
    build(write_collection(tmp_path, [{"doc_id": "bare"}]))
    bare = WordRarity(open_index(tmp_path))
    assert bare.strangeness(terms(bare, "eggs flour")) == 0
