from __future__ import annotations

import polars as pl
import pytest

from citebed.text.words import MARKS, WORD, plain_words

CASES = [
    ("The BM25 model, re-ranked.", ["the", "bm25", "model", "re", "ranked"]),
    ("naïve Bayes — Gödel’s ﬁrst", ["naive", "bayes", "godel", "s", "first"]),
    ("İstanbul, x² and 引用", ["istanbul", "x2", "and"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_words_are_lower_case_letters_and_digits_without_accents(
    text: str, expected: list[str]
) -> None:
    assert plain_words(text) == expected


def test_the_patterns_do_the_same_in_a_table() -> None:
    texts = pl.Series([text for text, _ in CASES])
    bare = texts.str.normalize("NFKD").str.replace_all(MARKS, "").str.to_lowercase()
    assert bare.str.extract_all(WORD).to_list() == [words for _, words in CASES]
