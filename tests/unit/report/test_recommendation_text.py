"""Recommendations for people fit every terminal, whatever is in the collection."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citebed.drafts import Passage
from citebed.report.recommendations import passage_lines
from citebed.retrieval.recommend.display import format_confidence, format_probability
from citebed.retrieval.recommend.recommendations import Recommendation

LONG = "a" * 1_000_000


@pytest.mark.parametrize("columns", ["0", "1", "-7", "x", "99999999999"])
@pytest.mark.parametrize("alone", [True, False])
def test_what_is_very_long_is_shown_in_part(
    columns: str, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    found = Recommendation(
        1, "d", 1.0, LONG, (LONG,), 2010, LONG, "10.1/a", ("cats",), LONG, reason="cats"
    )
    passage = Passage(LONG, sentences=(LONG, LONG))
    lines = list(passage_lines(passage, [found], alone=alone))
    assert sum(map(len, lines)) < 5_000
    assert "because of: cats" in " ".join(" ".join(lines).split())


def test_a_greater_chance_never_sounds_smaller() -> None:
    told = [format_probability(thousandth / 1000) for thousandth in range(1001)]
    assert told[0] == told[14] == "unlikely"
    assert told[15] == told[74] == "less than 10 % likely"
    assert (told[75], told[149], told[420]) == (
        "10 % likely", "10 % likely", "40 % likely",
    )  # fmt: skip
    assert told[1000] == "90 % likely"
    shares = [int(words[0]) for words in map(str.split, told[75:])]
    assert shares == sorted(shares)


def test_how_sure_is_said_by_chance_strength_or_score() -> None:
    one = Recommendation(1, "d", 13.38, "T", (), 2010, "", "", (), "")
    told = format_confidence(replace(one, probability=0.42, strength="fair"))
    assert told == "fair, 40 % likely"
    assert format_confidence(one) == "13.38"


@pytest.mark.parametrize(("columns", "lines"), [("80", 3), ("120", 2), ("200", 1), ("300", 1)])
def test_reasons_are_wrapped_and_use_a_wide_terminal(
    columns: str, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    terms = tuple(f"wordnumber{number}" for number in range(12))
    one = Recommendation(1, "d", 1.0, "T", (), 2010, "", "", terms, "", reason=", ".join(terms))
    shown = list(passage_lines(Passage("T"), [one], alone=True))
    assert max(map(len, shown)) <= min(int(columns), 200)
    start = next(at for at, line in enumerate(shown) if "because of" in line)
    because = [line for line in shown[start:] if "wordnumber" in line]
    assert len(because) == lines
    assert " ".join(" ".join(because).split()).endswith(", ".join(terms))


@pytest.mark.parametrize("columns", range(26, 90, 3))
def test_a_number_is_never_cut(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    one = Recommendation(
        1, "d", 1.0, "T", (), 2010, "", "", (), "",
        citing_sentences=("Pools of 1,273 documents were found by 1,273 of 1,273 assessors.",),
        cited_by=("Creating a Test Collection by Judging What Was Not Cited (2023)",),
    )  # fmt: skip
    shown = list(passage_lines(Passage("T"), [one], alone=True))
    assert max(map(len, shown)) <= columns
    assert any("(2023)" in line for line in shown)
    words = " ".join(shown).replace("…", " ").split()
    assert {word for word in words if word.startswith(("1,", "(2"))} <= {"1,273", "(2023)"}
