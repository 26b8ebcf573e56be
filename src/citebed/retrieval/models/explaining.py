"""What the docs say of models and of feedback, made from the code."""

from __future__ import annotations

import textwrap

from citebed.grammar import Parameter, Spelled, value_text


def section(kind: type[Spelled]) -> str:
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
