"""The examples of the page on text analysis are true."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[4] / "docs" / "analysis.md"


def test_the_examples_are_true() -> None:
    text = PAGE.read_text("utf-8").replace("```", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    wrong: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(examples, out=wrong.append)
    assert result.attempted >= 12
    assert not wrong, "".join(wrong)
