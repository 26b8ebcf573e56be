"""Words of a query are found by their terms, and only whole words."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.campaigns import write_collection

from citebed.collection import Collection
from citebed.retrieval.analysis import ANALYSERS, analyser_of
from citebed.retrieval.index.analyser_choice import QueryWords, query_words
from citebed.retrieval.index.builder import IndexOptions, write_index

ENGLISH = QueryWords(ANALYSERS["english"])


def shown(text: str, query: str, words: QueryWords = ENGLISH) -> str:
    """The text with brackets about what is marked."""
    pieces = words.mark(text, query)
    assert "".join(piece for piece, _ in pieces) == text
    return "".join(f"[{piece}]" if is_word else piece for piece, is_word in pieces)


@pytest.mark.parametrize(
    ("query", "text", "wanted"),
    [
        ("ranking of documents", "Documents were RANKED.", "[Documents] were [RANKED]."),
        ("the of a", "the end of a road", "the end of a road"),
        ("When Many terms", "many a term from when", "many a [term] from when"),
        ("cat", "concatenate a cat-like cat", "concatenate a [cat]-like [cat]"),
        ("naïve İstanbul", "<b>NAÏVE</b> İSTANBUL", "<b>[NAÏVE]</b> [İSTANBUL]"),
        ("ΟΔΟΣ", "η οδοσ", "η [οδοσ]"),
        ("x 9", "x = 9", "x = 9"),
        ("", "any", "any"),
        ("any", "", ""),
    ],
)
def test_words_are_marked(query: str, text: str, wanted: str) -> None:
    assert shown(text, query) == wanted


def test_as_the_index_takes_words(tmp_path: Path) -> None:
    folder = write_collection(tmp_path)
    found = query_words(Collection(folder))
    assert shown("rankings", "ranking", found) == "[rankings]"  # no index yet
    write_index(folder, IndexOptions(analyser="none"))
    found = query_words(Collection(folder))
    assert shown("rankings ranking", "ranking", found) == "rankings [ranking]"
    german = QueryWords(analyser_of("snowball(german)"))
    assert shown("in Häusern", "Haus", german) == "in [Häusern]"
