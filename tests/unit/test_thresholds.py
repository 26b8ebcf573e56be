"""Each threshold that was set by hand has a case on either side: none moves unseen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from citebed.collection.building.merging import Title, titles_agree
from citebed.retrieval.learned.features import Signals
from citebed.retrieval.learned.ranker import shipped_ranker
from citebed.retrieval.recommending.silence import Languages

ENGLISH = "We show that our models can be learned from the texts which have been collected here."


def agree(left: str, right: str) -> bool:
    return titles_agree(Title(left, left), Title(right, right))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        # 12 of 24 trigrams in common, and 11 of 25
        ("abcdefghijklmnopqrst", "abcdefghijklmnuvwxyz", True),
        ("abcdefghijklmopqrstu", "abcdefghijklmnwyzAEO", False),
        # below fifteen letters: 8 of 10, and 7 of 9
        ("abcdefghijk", "abcdefghijz", True),
        ("abcdefghik", "abcdefghiz", False),
        # within another: fifteen letters, and fourteen
        ("abcdefghijklmno", "abcdefghijklmno" + "pqrstuvwyzABCDEFGHJK", True),
        ("abcdefghijklmn", "abcdefghijklmn" + "pqrstuvwyzABCDEFGHJK", False),
    ],
)
def test_titles_agree_from_half_of_their_trigrams_on(left: str, right: str, expected: bool) -> None:
    assert agree(left, right) is expected
    assert agree(right, left) is expected


@pytest.mark.parametrize(("documents", "foreign"), [(10, "English"), (11, "")])
def test_english_shows_in_more_than_a_tenth_of_the_documents(documents: int, foreign: str) -> None:
    titles = {"language": ["de"] * 100, "title": ["Über die Suche nach Texten"] * 100}
    collection: Any = SimpleNamespace(scan_documents=lambda: pl.LazyFrame(titles))
    index: Any = SimpleNamespace(
        ids=range(100),
        analyser=SimpleNamespace(words=lambda text: text.lower().split()),
        document_frequency=lambda word: documents if word == "we" else 0,
    )
    assert Languages(collection, index).foreign(ENGLISH) == foreign


@pytest.mark.parametrize(
    ("documents", "fitting"), [(99, 0), (100, 1), (4999, 49), (5000, 50), (10_000, 50)]
)
def test_authors_are_looked_for_in_fifty_documents_or_one_of_a_hundred(
    documents: int, fitting: int
) -> None:
    def authorship(_: object) -> Any:
        return SimpleNamespace(of_other_works=lambda among: np.full(documents, among.sum()))

    records = SimpleNamespace(authorship=authorship)
    index = SimpleNamespace(ids=range(documents), records=records)
    signals: Any = SimpleNamespace(index=index, constants=shipped_ranker().constants)
    found = Signals._peers(signals, np.arange(documents), np.arange(documents) / documents)
    assert found == pytest.approx(np.log1p(fitting))
