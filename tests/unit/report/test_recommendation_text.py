"""Recommendations for people fit every terminal, whatever is in the collection."""

from __future__ import annotations

import pytest

from citebed.drafts import Passage
from citebed.report.recommendation_text import passage_lines
from citebed.retrieval.recommendation import Recommendation
from citebed.retrieval.saying import chance_in_words

LONG = "a" * 1_000_000


@pytest.mark.parametrize("columns", ["0", "1", "-7", "x", "99999999999"])
@pytest.mark.parametrize("alone", [True, False])
def test_what_is_very_long_is_shown_in_part(
    columns: str, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    found = Recommendation(1, "d", 1.0, LONG, (LONG,), 2010, LONG, "10.1/a", ("cats",), LONG)
    passage = Passage(LONG, sentences=(LONG, LONG))
    lines = list(passage_lines(passage, [found], alone=alone))
    assert sum(map(len, lines)) < 5_000
    assert any("because of: cats" in line for line in lines)


def test_a_greater_chance_never_sounds_smaller() -> None:
    told = [chance_in_words(thousandth / 1000) for thousandth in range(1001)]
    assert told[0] == "hardly any are right"
    assert told[1000] == "about 9 in 10 are right"
    assert (told[20], told[60], told[90]) == (
        "about 1 in 50 are right", "about 1 in 20 are right", "about 1 in 10 are right",
    )  # fmt: skip
    shares = [int(words[1]) / int(words[3]) for words in map(str.split, told[15:])]
    assert shares == sorted(shares)
