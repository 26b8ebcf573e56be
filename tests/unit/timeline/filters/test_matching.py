"""Names in texts: whole words, any case, longest first; and nothing lost by looking quickly."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.reference import filters as slow

from citebed.errors import CitebedError
from citebed.timeline.filters.name_table import NameTable, words
from citebed.timeline.filters.topics import Name, Topic
from citebed.timeline.streams.stream_files import TEXTS


def table(*names: str) -> NameTable:
    return NameTable([Topic(f"t{n}", (Name(name),)) for n, name in enumerate(names)])


def topics_named(names: NameTable, frame: pl.DataFrame) -> dict[int, set[int]]:
    mentions = names.read(frame)
    topics = names.topics(mentions, np.ones(mentions.numbers.size))
    return {
        row: set(own[0].tolist()) for row in range(frame.height) if (own := topics.at(row))[0].size
    }


@pytest.mark.parametrize(
    ("name", "text", "times"),
    [
        ("Ann Oak", "Ann Oak met ANN OAK and ann\noak.", 3),
        ("Ann Oak", "Ann_Oak, Ann-Oak and Ann, Oak", 3),
        ("Ann Oak", "Joann Oak, Ann Oaks, Annoak, Ann of Oak", 0),
        ("Barak", "Barak's", 1),
        ("O'Neil", "O’Neil and O Neil", 2),
        ("Straße", "STRASSE, strasse and Straße", 3),
        ("José", "JOSE\u0301 and José, not Jose", 2),
        ("Łódź", "in ŁÓDŹ", 1),
        ("Толстой", "ТОЛСТОЙ и толстой, не Толстойа", 2),
        ("東京", "これは東京です", 1),
        ("C3PO", "c3po C-3PO", 1),
    ],
)
def test_a_name_is_found_as_whole_words(name: str, text: str, times: int) -> None:
    assert len(table(name).mentions(text)) == times
    frame = pl.DataFrame({"title": [""], "abstract": [text], "text": ["other"]})
    assert table(name).candidates(frame).height == 1 or times == 0


def test_the_longest_name_counts_and_mentions_do_not_overlap() -> None:
    names = table("Ann", "Ann Oak", "Oak", "Oak Sea")
    found = [names.names[number] for number in names.mentions("Ann Oak Sea, Ann met Oak Sea")]
    assert found == [("ann", "oak"), ("ann",), ("oak", "sea")]


def test_a_name_of_several_topics_is_shared() -> None:
    topics = [
        Topic("a", (Name("X"), Name("Y", 0.25), Name("Z", 0.8))),
        Topic("b", (Name("x"), Name("Z", 0.8))),
    ]
    names = NameTable(topics)
    uses = [tuple(zip(*names.uses.at(n), strict=True)) for n in range(len(names.names))]
    assert dict(zip(names.names, uses, strict=True)) == {
        ("x",): ((0, 0.5), (1, 0.5)),
        ("y",): ((0, 0.25),),
        ("z",): ((0, 0.5), (1, 0.5)),
    }


def test_names_and_marks_without_end_take_no_time_without_end() -> None:
    """With the square of their lengths in steps these would take hours."""
    long = NameTable([Topic("q", (Name("x" * 200_000),))])
    rows = [("x" * 200_000, None, None), ("x" * 199_999, None, None)]
    table = pl.DataFrame(rows, schema=dict.fromkeys(TEXTS, pl.String), orient="row")
    assert topics_named(long, table) == {0: {0}}
    assert words("e\u0301" + "\u0315\u0300" * 200_000 + " b") == ["é", "b"]


def test_a_name_without_a_word_is_refused() -> None:
    with pytest.raises(CitebedError, match="the name '!' of 't0' has no letter or digit"):
        table("!")


LETTERS = st.text(st.sampled_from("aAbBsSkKſßKİıéÉe\u0301ﬁﬓմնŉǰἌώΏ\u0345ᾳ가각ᆨ東 -_."), max_size=8)
NAMES = st.lists(LETTERS.filter(lambda name: bool(words(name))), min_size=1, max_size=4)


@given(NAMES, st.lists(LETTERS, max_size=4), st.integers(0, 3))
@example(["ßa"], ["SSA"], 0)
@example(["մն"], ["ﬓ"], 0)
@example(["각"], ["각"], 0)
def test_mentions_are_those_of_the_obvious_way_and_all_are_candidates(
    names: list[str], parts: list[str], place: int
) -> None:
    text = " ".join([*parts[:place], names[0].upper(), *parts[place:]])
    fast = table(*names)
    found = [fast.names[number] for number in fast.mentions(text)]
    assert found == slow.mentions(names, text)
    if found:
        frame = pl.DataFrame({"title": [text], "abstract": [""], "text": [""]})
        assert fast.candidates(frame)["title"].to_list() == [text]


def test_marks_between_letters_are_not_words() -> None:
    assert words("アン・オーク a゛b") == ["ア", "ン", "オ", "ー", "ク", "a", "b"]


@pytest.mark.parametrize("block", [range(0x3000, 0x3200), range(0xF8F0, 0xFB10)])
def test_words_of_every_character_of_the_blocks(block: range) -> None:
    for number in block:
        text = f"x{chr(number)}y"
        assert words(text) == slow.words(text), hex(number)


@given(st.text())
def test_words_are_those_of_the_obvious_way(text: str) -> None:
    assert words(text) == slow.words(text)


def test_rows_keep_their_numbers_and_topics() -> None:
    frame = pl.DataFrame(
        {"title": ["a", "Ann", None], "abstract": [None] * 3, "text": ["b", "oak", "oak"]},
        schema=dict.fromkeys(("title", "abstract", "text"), pl.String),
    )
    names = table("Ann", "Oak")
    assert topics_named(names, frame) == {1: {0, 1}, 2: {1}}
