"""``citebed help`` is what people type first."""

from __future__ import annotations

import pytest

from citebed.cli.app import main


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        (["help"], ["--help"]),
        (["help", "recommend"], ["recommend", "--help"]),
        (["help", "qrels", "stats"], ["qrels", "stats", "--help"]),
    ],
)
def test_help_is_a_word_too(
    asked: list[str], meant: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(meant) == 0
    expected = capsys.readouterr().out
    assert main(asked) == 0
    assert capsys.readouterr().out == expected != ""


def test_help_for_a_verb_that_is_none_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "recomend"]) == 1
    assert "recomend" in capsys.readouterr().err
