"""Words broken at the ends of lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sampling import sized

from citebed.text.normalise import join_hyphens


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("recommen-\ndation", "recommendation"),
        ("recommen-\r\n  dation", "recommendation"),
        ("recommen\u2010\ndation", "recommendation"),
        ("a state-\nof-the-art system", "a state-of-the-art system"),
        ("a state-of-the-\nart system", "a state-of-the-art system"),
        ("low-\nlevel work; a low-level view", "low-level work; a low-level view"),
        ("low-\nlevel work; a Low-Level view", "low-level work; a Low-Level view"),
        ("cross-lan-\nguage; the language", "cross-language; the language"),
        ("Jensen-\nShannon", "Jensen-Shannon"),
        ("GPT-\n3 and 1990-\n2000", "GPT-3 and 1990-2000"),
        ("pre-\nand post-processing", "pre- and post-processing"),
        ("re\u00adcom\u00admend", "recommend"),
        ("recom\u00ad\nmend", "recommend"),
        ("a dash -\nand more - \nlines", "a dash -\nand more - \nlines"),
        ("- item\n- item", "- item\n- item"),
        ("well-known fact", "well-known fact"),
        ("no hyphens\nhere", "no hyphens\nhere"),
        ("", ""),
    ],
)
def test_join_hyphens(text: str, joined: str) -> None:
    assert join_hyphens(text) == joined


def test_the_hyphen_stays_where_the_text_has_both_ways() -> None:
    text = "re-\nuse; they reuse it, they re-use it"
    assert join_hyphens(text) == "re-use; they reuse it, they re-use it"


WORD = st.text("abcdefgh", min_size=4, max_size=12)


@given(WORD, st.integers(1, 3), st.lists(WORD))
def test_a_word_broken_anywhere_is_repaired(word: str, at: int, others: list[str]) -> None:
    rest = " ".join(others)
    assert join_hyphens(f"{word[:at]}-\n{word[at:]} {rest}") == f"{word} {rest}"


@given(st.text(st.sampled_from("ab-\n \u00ad\u2010C1")) | st.text())
def test_nothing_but_hyphens_and_blanks_goes(text: str) -> None:
    left = [char for char in join_hyphens(text) if char.isalnum()]
    assert left == [char for char in text if char.isalnum()]


@given(st.text(st.sampled_from("ab-\n C1")))
def test_no_word_is_left_broken(text: str) -> None:
    once = join_hyphens(text)
    assert join_hyphens(once) == once


@pytest.mark.parametrize("piece", ["-\n", "a-\n", "a-", "\u00ad", "a", "a-\n\n"])
def test_long_text_takes_linear_time(piece: str) -> None:
    size = sized(100_000, 1_000_000)
    assert len(join_hyphens(piece * (size // len(piece)))) <= size
