"""Which part of a paper a heading names."""

from __future__ import annotations

import pytest

from citebed.text.headings import is_under

PAPER = ("introduction", "related work")


@pytest.mark.parametrize(
    "heading",
    [
        "introduction", "1 Introduction", "1. INTRODUCTION", "1Introduction", "I. Introduction",
        "Introduction and Motivation", "Intro", "Motivation & introduction", "related-work",
        "2 Related Works", "Background and Related Work", "Related work on citing",
        "Background: prior work", "State-of-the-art", "2 Literature Review",
        "Related Work / 2.1 Test collections",
    ],
)  # fmt: skip
def test_introductions_and_related_work(heading: str) -> None:
    assert is_under(heading, PAPER)


@pytest.mark.parametrize(
    "heading",
    [
        "3 Method", "Results", "Discussion of related work", "Background", "", "Introductory",
        "A / B",
    ],
)  # fmt: skip
def test_other_parts(heading: str) -> None:
    assert not is_under(heading, PAPER)


def test_any_words_may_name_a_part() -> None:
    assert is_under("3.1 Test Collections", ("test-collections",))
    assert is_under("Evaluation / Data", ("data",))
    assert is_under("", ("none",))
    assert not is_under("Method", ("none",))
