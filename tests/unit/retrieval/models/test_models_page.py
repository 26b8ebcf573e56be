"""The page of models says what the code says."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from citebed.grammar import Parameter, Specified, value_text
from citebed.retrieval.feedback import FEEDBACK, retrieval_of
from citebed.retrieval.models import MODELS

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "models.md").read_text("utf-8")


def section(kind: type[Specified]) -> str:
    """The part of the docs about a model or a feedback, in Markdown."""
    rows = "\n".join(map(_row, kind.parameters()))
    return (
        f"### {kind.name}\n\n{_filled(kind.summary)}\n\n```text\n{kind.formula}\n```\n\n"
        f"| parameter | default | values | meaning |\n|---|---|---|---|\n{rows}\n\n"
        f"{_filled(kind.edge_cases)}\n\nExample: `{kind.example}`\n\n{_filled(kind.citation)}.\n"
    )


def _row(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f"`{value_text(parameter.default)}`"
    return f"| `{parameter.name}` | {default} | {parameter.range} | {parameter.about} |"


def _filled(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def test_every_model_and_feedback_has_its_heading_in_the_order_of_the_tables() -> None:
    assert re.findall(r"^### (.+)$", PAGE, re.MULTILINE) == [*MODELS, *FEEDBACK]


@pytest.mark.parametrize("kind", [*MODELS.values(), *FEEDBACK.values()], ids=lambda k: k.name)
def test_the_page_has_what_the_code_says(kind: type[Specified]) -> None:
    text = section(kind)
    assert text in PAGE
    assert [row[0] for row in re.findall(r"^\| `(\w+)` \|( [^|]*\|){3}$", text, re.MULTILINE)] == [
        parameter.name for parameter in kind.parameters()
    ]


def test_every_retrieval_named_on_the_page_can_be_read() -> None:
    specs = re.findall(r"`((?:bm25f?|okapi|cosine|kl|ql)\b[^`\n]*[)\w])`", PAGE)
    assert len(specs) >= len(MODELS) + len(FEEDBACK)
    for spec in specs:
        retrieval_of(spec)


def test_the_place_of_the_results_is_marked() -> None:
    assert "<!-- table: small collections -->" in PAGE
