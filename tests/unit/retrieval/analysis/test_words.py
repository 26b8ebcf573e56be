"""Word breaks: the fast ways against the slow one, and single rules."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.reference import words as slow

from citebed.retrieval.analysis.words import word_break, words

TABLES = list(word_break())
HARD = "aAbsSzİΣσßıK'’.,:;_\"-#* \n19\u200d\ufe0f\ufe0e\u20e3\u00ad\u0301"
HARD += "אב日ひアกิ한©ℹⓂ👍👩🏽🇩🇪🅰‿𝑥\ud800"
MEMBERS = {name: sorted(slow.members(word_break()[name])) for name in TABLES}
ANY_CLASS = st.sampled_from(TABLES).flatmap(lambda name: st.sampled_from(MEMBERS[name]))
HARD_TEXT = st.text(st.sampled_from(HARD) | ANY_CLASS, max_size=20)
ASCII_TEXT = st.text(st.characters(max_codepoint=127), max_size=40)


@given(HARD_TEXT | ASCII_TEXT | st.text(max_size=40))
@example("a " * 30 + "é ℹ\u200d👩 b")
@example("#\u20e3\ufe0f\u20e3 *\u0301\u20e3")
@example('אב\'ג"ד א.ב"ג')
def test_fast_words_are_the_slow_ones(text: str) -> None:
    assert words(text) == slow.words(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a" * 255, ["a" * 255]),
        ("a" * 600, ["a" * 255, "a" * 255, "a" * 90]),
        ("A" * 254 + ".b", ["a" * 254, "b"]),
        ("1" * 255 + ",5", ["1" * 255, "5"]),
        ("_" * 300 + "a b", ["_" * 254 + "a", "b"]),
        ("_" * 300, []),
        ("é" * 256, ["é" * 255, "é"]),
        ("𝑥" * 128, ["𝑥" * 127, "𝑥"]),
        ("a" + "\u0301" * 300 + "b", ["a" + "\u0301" * 254, "b"]),
        ("\u200d" * 300 + "👍", ["\u200d" * 253 + "👍"]),
    ],
)
def test_words_that_are_too_long_are_cut(text: str, found: list[str]) -> None:
    assert words(text) == found
    assert words(f"x {text} y") == ["x", *found, "y"]


@given(ASCII_TEXT, HARD_TEXT)
def test_a_blank_parts_texts(left: str, right: str) -> None:
    assert words(f"{left} {right}") == words(left) + words(right)


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_in_order_and_do_not_touch(name: str) -> None:
    ends = [-2]
    for part in word_break()[name].split():
        low, _, high = part.partition("-")
        first, last = int(low, 16), int(high or low, 16)
        assert ends[-1] + 1 < first <= last
        ends.append(last)


def test_the_classes_of_letters_and_digits_have_no_character_in_common() -> None:
    names = ("LETTER", "HEBREW", "DIGIT", "KATAKANA", "JOINER", "COMPLEX", "SINGLE")
    sets = [slow.members(word_break()[name]) for name in names]
    assert len(frozenset().union(*sets)) == sum(map(len, sets))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Don't stop", ["don't", "stop"]),
        ("3.14 a.b a.3", ["3.14", "a.b", "a", "3"]),
        ("snake_case ___", ["snake_case"]),
        ("state-of-the-art", ["state", "of", "the", "art"]),
        ("情報", ["情", "報"]),
        ("İΣ", ["iσ"]),
    ],
)
def test_words_by_hand(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    "piece", ["_", "a", "a.", "1,", "'", "é", "_\u0301", "\u200d", "日", "👍\u200d"]
)
def test_a_megabyte_of_one_thing_is_read(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert max(map(len, words(text)), default=0) <= 255
