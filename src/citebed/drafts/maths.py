"""Mathematics in running text: short formulas are words (``k-NN``, ``F_1``), long ones go."""

from __future__ import annotations

import re

from citebed.patterns import compiled
from citebed.text.latex import latex_to_text

LONGEST = 20
"""Formulas that read as more characters than this say nothing to a search for papers."""

INLINE = compiled(r"\$((?:[^$\\\n]++|\\.|\n(?![ \t]*+\n))++)\$", re.DOTALL)
"""``$…$`` within one paragraph, at a dollar."""

DISPLAY = {
    "$": compiled(r"\$\$[^$]*+\$\$"),
    "(": compiled(r"\\\(((?:[^\\\n]++|\\[^()]|\n(?![ \t]*+\n))*+)\\\)"),
    "[": compiled(r"\\\[((?:[^\\]++|\\[^][])*+)\\\]"),
}
"""Formulas in other delimiters, by what they begin with; one ends before another begins."""


def maths_as_text(tex: str) -> str:
    """A formula as it would be read out, or a blank where it is too long for that."""
    if len(tex) > 8 * LONGEST:
        return " "
    text = latex_to_text(tex)
    return text if len(text) <= LONGEST else " "
