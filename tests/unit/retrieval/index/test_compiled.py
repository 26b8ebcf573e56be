"""The compiled reading of words gives just the words of the obvious one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.analysis.words import words
from citebed.retrieval.dense.static_model import shipped_model
from citebed.retrieval.index.compiled import words_of_all
from citebed.retrieval.index.counting import (
    MOST_TIMES,
    Rows,
    TermNumbers,
    _compiled_tokens,
    _tokens,
    count,
    times_of,
)

ASCII = st.text(st.characters(max_codepoint=127), max_size=80)
WORDY = st.text("aB9_.,;:' -\n", max_size=60)


def compiled(texts: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in texts]
    if texts:
        read = words_of_all(pl.Series(texts, dtype=pl.String))
        assert not read.odd
        assert len(set(read.distinct)) == len(read.distinct)
        for number, row in zip(read.ids, read.rows, strict=True):
            found[row].append(read.distinct[number])
    return found


@given(st.lists(ASCII | WORDY, max_size=12))
@example(["a.b", "3.14", "x_1", "__", "", "can't", "a:b", "1:2", "1,5;a", "'a'", "a'", "U.S.A."])
@example(["the end", "begins here"])
def test_words_of_all(texts: list[str]) -> None:
    assert compiled(texts) == [words(text) for text in texts]


def test_a_small_table_grows() -> None:
    many = " ".join(f"w{number}" for number in range(100_000))
    assert compiled([many, "w7"]) == [many.split(), ["w7"]]


def test_long_words_and_other_characters_are_left_to_the_obvious_one() -> None:
    long = "b" * 256
    read = words_of_all(pl.Series([f"a {long} c", "b" * 255, "naïve – x", "short words " * 100]))
    assert read.odd == [long, "naïve", "–"]
    assert read.odd_rows.tolist() == [0, 2, 2]
    assert np.bincount(read.rows).tolist() == [2, 1, 1, 200]


@given(st.lists(ASCII | st.text(max_size=40) | st.just("z" * 700), min_size=1, max_size=10))
def test_tokens_are_the_same_in_any_order(texts: list[str]) -> None:
    results = []
    series = pl.Series(texts, dtype=pl.String)
    for tokens in (
        lambda numbers: _tokens(series, numbers),
        lambda numbers: _compiled_tokens(words_of_all(series), numbers),
    ):
        numbers = TermNumbers(analyser_of("english"))
        ids, rows = tokens(numbers)
        names = np.array([*numbers.names(), ""], object)
        results.append(sorted(zip(rows.tolist(), names[ids].tolist(), strict=True)))
    assert results[0] == results[1]


@given(st.lists(st.tuples(ASCII | st.text(max_size=40), WORDY), min_size=1, max_size=10))
@example([("tree trees the", "a tree–house tree"), ("tree", "")])
def test_postings_are_the_same_in_any_order(texts: list[tuple[str, str]]) -> None:
    job = Rows(Path("t"), 0, pl.DataFrame(texts, schema=["title", "abstract"], orient="row"))
    numbers = TermNumbers(analyser_of("english"))
    slow, quick = (count(job, numbers, compiled=compiled) for compiled in (False, True))
    assert sorted(quick.keys.tolist()) == slow.keys.tolist()
    for name, lengths in slow.lengths.items():
        np.testing.assert_array_equal(quick.lengths[name], lengths)


@given(st.lists(st.tuples(ASCII | st.text(max_size=40), WORDY), min_size=1, max_size=10))
@example(
    [("Relevance's weighting_of", "naïve–Bayes e.g. re-ranking"), ("", ""), ("z" * 300, "1.5")]
)
def test_vectors_of_counted_words_are_those_of_the_texts(texts: list[tuple[str, str]]) -> None:
    job = Rows(Path("t"), 0, pl.DataFrame(texts, schema=["title", "abstract"], orient="row"))
    tokens = count(job, TermNumbers(analyser_of("english")), compiled=True).tokens
    assert tokens is not None
    np.testing.assert_array_equal(
        shipped_model().documents_of_tokens(tokens, len(texts)),
        shipped_model().documents([f"{title}. {abstract}" for title, abstract in texts]),
    )


def test_a_term_is_counted_up_to_the_most_wherever_it_stands() -> None:
    texts = ["tree " * (MOST_TIMES - 1) + "tree– " * 5, "tree " * 3 + "tree–"]
    job = Rows(Path("t"), 0, pl.DataFrame({"title": texts}))
    quick = count(job, TermNumbers(analyser_of("english")), compiled=True)
    assert times_of(quick.keys).tolist() == [MOST_TIMES, 4]
    assert quick.lengths["title"].tolist() == [MOST_TIMES + 4, 4]
