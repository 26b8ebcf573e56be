"""The compiled reading of words gives just the words of the obvious one."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.analysis.words import words
from citebed.retrieval.index.compiled_words import has_long_word, words_of_all
from citebed.retrieval.index.counting import TermNumbers, _compiled_tokens, _tokens

ASCII = st.text(st.characters(max_codepoint=127), max_size=80)
WORDY = st.text("aB9_.,;:' -\n", max_size=60)


def compiled(texts: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in texts]
    distinct, ids, rows = words_of_all([text.encode() for text in texts])
    assert len(set(distinct)) == len(distinct)
    for number, row in zip(ids, rows, strict=True):
        found[row].append(distinct[number])
    return found


@given(st.lists(ASCII | WORDY, max_size=12))
@example(["a.b", "3.14", "x_1", "__", "", "can't", "a:b", "1:2", "1,5;a", "'a'", "a'", "U.S.A."])
@example(["the end", "begins here"])
def test_words_of_all(texts: list[str]) -> None:
    assert compiled(texts) == [words(text) for text in texts]


def test_a_small_table_grows() -> None:
    many = " ".join(f"w{number}" for number in range(100_000))
    assert compiled([many, "w7"]) == [many.split(), ["w7"]]


def test_long_words_are_told() -> None:
    assert has_long_word(b"a " + b"b" * 256)
    assert not has_long_word(b"b" * 255)
    assert not has_long_word(b"short words " * 100)


@given(st.lists(ASCII | st.text(max_size=40) | st.just("z" * 700), max_size=10))
def test_tokens_are_the_same_in_any_order(texts: list[str]) -> None:
    results = []
    for tokens in (_tokens, _compiled_tokens):
        numbers = TermNumbers(analyser_of("english"))
        ids, rows = tokens(texts, numbers)
        names = np.array([*numbers.names(), ""], object)
        results.append(sorted(zip(rows.tolist(), names[ids].tolist(), strict=True)))
    assert results[0] == results[1]
