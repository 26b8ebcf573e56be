"""Sentences: single rules, and the hand-made sentences of ACM-CR."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sampling import sized

from citebed.text.sentences import sentence_spans, split_sentences


@pytest.mark.parametrize(
    "text",
    [
        "One. | Two! | Three? | Four",
        "Smith et al. [3] say so. | We do not.",
        "Shown by Smith et al. | However, others differ.",
        "Some, e.g. Smith, i.e. one, cf. Lee vs. Kim, agree. | Others do not.",
        "See Fig. 4 and Eq. 5. | Then see Sect. 4.2. | It ends.",
        "It is 3.5 times faster. | In 2019. | That was 2.",
        "Item no. 5 is lost. | The answer is no. | Then go.",
        "J. Smith and A. B. C. Jones met. | They left.",
        "It was vitamin C. | The end.",
        "Cats, dogs, etc. | People like them. | Cats, dogs, etc. [1] or more.",
        "And so on... | Then more. | And so on ... and on.",
        "“Is it?” | He asked. | “It is.” | (It was.) | So be it.",
        "Shown.[12] | We go on. | Shown. [12] | We go on. | Shown. | [13] propose it.",
        "Shown. [1], [2] | We go on. | Shown.[3]–[5] | Then more.",
        "Yahoo! is a site. | It is old.",
        "It works. | word2vec does too. | iPhones as well.",
        "The U.S. Congress met. | It was in the U.S. | The law passed.",
        "He has a Ph.D. from Rome. | She has none.",
        "Two aims: 1. First this. | 2. Then that.",
        "Dr. Who and Prof. Smith met Mr. Jones. | All is well.",
        "Version 2.0 is at example.org. | Get it.",
        "1. First things. | 2. Second things.",
        "A paper (see Sect. 3.) is here. | Another is not.",
    ],
)
def test_sentences_by_hand(text: str) -> None:
    assert split_sentences(text.replace(" | ", " ")) == text.split(" | ")


def test_lines_that_begin_with_bullets_and_empty_lines() -> None:
    text = (
        "We do:\n- one thing\n- another\n\nA heading\n\nText on\ntwo lines. End\n1) first\n2) next"
    )
    expected = "We do:|- one thing|- another|A heading|Text on\ntwo lines.|End|1) first|2) next"
    assert split_sentences(text) == expected.split("|")


def test_wide_stops_end_a_sentence_without_a_blank() -> None:
    sentences = ("本文研究湖泊。", "结果表明：污染增加！", "“是吗？”", "（是。）", " It is.", "完")
    found = split_sentences("".join(sentences[:5]) + " 完")
    assert found == [sentence.strip() for sentence in sentences]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \n"])
def test_nothing_has_no_sentences(text: str) -> None:
    assert split_sentences(text) == []


MUCH = st.text(st.sampled_from('.!?… \n[]()1aAéÉ"”-•')) | st.text()


@given(MUCH)
def test_sentences_joined_are_the_text_up_to_blanks(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


@given(MUCH)
def test_spans_are_in_order_and_not_blank(text: str) -> None:
    spans = sentence_spans(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)


@pytest.mark.parametrize("piece", [".", ". ", "A. ", "\n", "- \n", ". [1", "et al. ", '"', "\n1."])
def test_long_text_takes_linear_time(piece: str) -> None:
    text = piece * (sized(60_000, 1_000_000) // len(piece))
    assert len("".join(split_sentences(text)).split()) <= len(text)


def test_the_sentences_of_acm_cr_are_found(acm_cr: Path) -> None:
    """Boundaries between the sentences that were cut by hand: F1 was 0.995 when measured.

    Most of what differs are stops that the annotators left inside a sentence.
    """
    found = right = wanted = 0
    contexts = pl.read_parquet(acm_cr / "contexts.parquet")
    for _, rows in contexts.group_by("paper_id", "context_id", "paragraph", maintain_order=True):
        sentences = rows.sort("sentence")["text"].to_list()
        ends = {len(" ".join(sentences[:count])) for count in range(1, len(sentences))}
        ours = {end for _, end in sentence_spans(" ".join(sentences))[:-1]}
        found, right, wanted = found + len(ours), right + len(ours & ends), wanted + len(ends)
    assert wanted > 1400
    assert 2 * right / (found + wanted) > 0.99
