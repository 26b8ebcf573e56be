"""The compiled reading of words gives just the words of the obvious one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.analysis.words import words
from citebed.retrieval.index import compiled as compiled_code
from citebed.retrieval.index.compiled import WordTable
from citebed.retrieval.index.layout import FIELDS
from citebed.retrieval.index.postings import unpack_many_postings, unpack_postings
from citebed.retrieval.index.term_counts import (
    FIELD_SHIFT,
    MOST_TIMES,
    ROW_SHIFT,
    TERM_SHIFT,
    TextBatch,
    TokenBatch,
    Vocabulary,
    WordReader,
    count_terms,
    key_times,
    split_words,
)
from citebed.retrieval.vectors.static_model import StaticModel, shipped_model

ASCII = st.text(st.characters(max_codepoint=127), max_size=80)
WORDY = st.text("aB9_.,;:' -\n", max_size=60)


def compiled(texts: list[str], words: WordTable | None = None) -> list[list[str]]:
    words = WordTable() if words is None else words
    lengths = [len(text.encode()) + 1 for text in texts]
    data = np.frombuffer("".join(f"{text}\n" for text in texts).encode(), np.uint8)
    ids, ends = words.read(data, np.cumsum(lengths, dtype=np.int64))
    spelled = words.spelled(0)
    assert len(set(spelled)) == len(spelled) == len(words)
    parts = np.split(ids, ends[:-1]) if texts else []
    return [[spelled[number] for number in part] for part in parts]


@given(st.lists(ASCII | WORDY, max_size=12))
@example(["a.b", "3.14", "x_1", "__", "", "can't", "a:b", "1:2", "1,5;a", "'a'", "a'", "U.S.A."])
@example(["the end", "begins here"])
def test_words_of_many_texts(texts: list[str]) -> None:
    assert compiled(texts) == [words(text) for text in texts]


def test_a_table_of_words_grows_and_keeps_their_numbers() -> None:
    table = WordTable()
    many = [f"w{number}" for number in range(100_000)]
    assert compiled([" ".join(many[:9]), "w7"], table) == [many[:9], ["w7"]]
    assert compiled(["w8 New", " ".join(many)], table) == [["w8", "new"], many]
    assert table.spelled(0)[:10] == [*many[:9], "new"]
    assert table.spelled(100_000) == ["w99999"]


def test_long_words_are_distinguished_from_each_other_and_from_short_ones() -> None:
    texts = ["abcdefgh abcdefghi abcdefghj", "ABCDEFGH abcdefghi", f"{'x' * 200} {'x' * 199}y"]
    assert compiled(texts) == [text.lower().split() for text in texts]


def test_stretches_that_are_odd_are_left_to_the_obvious_one() -> None:
    long = "b" * 256
    texts = [f"a {long} c", "b" * 255, "na naïve – x", "short words " * 100, long]
    assert compiled(texts) == [
        ["a", f" {long}", "c"],
        ["b" * 255],
        ["na", " naïve", " –", "x"],
        ["short", "words"] * 100,
        [f" {long}"],
    ]


def rows_of(texts: list[tuple[str, str]]) -> TextBatch:
    numbers = np.arange(len(texts))
    table = pl.DataFrame(texts, schema=["title", "abstract"], orient="row")
    return TextBatch(Path("t"), numbers, numbers, table)


def read_all(
    texts: list[tuple[str, str]], model: StaticModel | None = None, times: int = 1
) -> tuple[list[TokenBatch], Vocabulary]:
    """The texts as they are read again and again, and the numbers of their terms."""
    numbers, jobs = Vocabulary(analyser_of("english")), [rows_of(texts)] * times
    return [*map(WordReader(numbers, model).read, split_words(jobs))], numbers


def test_words_are_numbered_again_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [("oak ash elm", "fir"), ("", "oak")]
    for most, expected in ((4, [0, 4, 4]), (3, [0, 0, 0])):
        monkeypatch.setattr(compiled_code, "_MOST_WORDS", most)
        assert [cut.first for cut in split_words([rows_of(texts)] * 3)] == expected
        found = [read.counts().keys.tolist() for read in read_all(texts, times=3)[0]]
        assert found[0] == found[1] == found[2]


@given(st.lists(st.tuples(ASCII | st.text(max_size=40), WORDY), min_size=1, max_size=10))
@example([("tree trees the", "a tree–house tree"), ("tree", "")])
def test_postings_are_the_same_in_any_order(texts: list[tuple[str, str]]) -> None:
    found, numbers = read_all(texts, times=2)
    slow = count_terms(rows_of(texts), numbers)
    for quick in (read.counts() for read in found):
        assert sorted(quick.keys.tolist()) == slow.keys.tolist()
        for name, lengths in slow.lengths.items():
            np.testing.assert_array_equal(quick.lengths[name], lengths)


@given(st.lists(st.tuples(ASCII | st.text(max_size=40), WORDY), min_size=1, max_size=10))
@example(
    [("Relevance's weighting_of", "naïve–Bayes e.g. re-ranking"), ("", ""), ("z" * 300, "1.5")]
)
def test_vectors_of_words_that_were_read_are_those_of_the_texts(
    texts: list[tuple[str, str]],
) -> None:
    read = read_all(texts, shipped_model())[0][0]
    np.testing.assert_array_equal(
        shipped_model().documents_of_tokens(read.tokens),
        shipped_model().documents([f"{title}. {abstract}" for title, abstract in texts]),
    )


def test_a_term_is_counted_up_to_the_most_anywhere() -> None:
    texts = [("tree " * (MOST_TIMES - 1) + "tree– " * 5, ""), ("tree " * 3 + "tree–", "")]
    quick = read_all(texts)[0][0].counts()
    assert key_times(quick.keys).tolist() == [MOST_TIMES, 4]
    assert quick.lengths["title"].tolist() == [MOST_TIMES + 4, 4]


POSTINGS = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4), st.integers(1, 9))


@given(st.lists(POSTINGS, min_size=1, max_size=60))
def test_many_postings_are_parted_as_few_are(rows: list[tuple[int, int, int, int]]) -> None:
    terms, docs, fields, times = np.array(rows, np.uint64).T
    places = docs << np.uint64(ROW_SHIFT) | fields << np.uint64(FIELD_SHIFT)
    keys = np.sort(terms << np.uint64(TERM_SHIFT) | places | times)
    few, many = unpack_postings(keys, FIELDS), unpack_many_postings(keys, FIELDS)
    np.testing.assert_array_equal(few.pairs, many.pairs)
    for name in FIELDS:
        for one, other in zip(few.fields[name], many.fields[name], strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_is_compiled_ahead_is_what_is_used() -> None:
    kernels = (
        *(compiled_code._read, compiled_code._fill),
        *(compiled_code.count_tokens, compiled_code.split_postings),
    )
    compiled_code.compile_all()
    before = [len(kernel.signatures) for kernel in kernels]
    keys = read_all([("a tree", "naïve")])[0][0].counts().keys
    unpack_many_postings(np.sort(keys), FIELDS)
    assert [len(kernel.signatures) for kernel in kernels] == before
