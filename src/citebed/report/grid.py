"""Tables of text cells: for a terminal, Markdown or LaTeX."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from citebed.wording import for_terminal

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "†": r"$\dagger$", "−": r"$-$", "τ": r"$\tau$", "→": r"$\rightarrow$", "±": r"$\pm$",
    "×": r"$\times$", "<": "$<$", ">": "$>$", "|": "$|$",
})  # fmt: skip
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "|*_`<\\"})


@dataclass(frozen=True)
class Grid:
    """A table: the heads of its columns, and rows of as many cells.

    Columns whose number is in ``left`` are set to the left, all others to the right.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: frozenset[int] = frozenset({0})

    def written(self, style: str) -> str:
        """In a style by its name: ``table``, ``markdown`` or ``latex``."""
        styles = {"table": self.text, "markdown": self.markdown, "latex": self.latex}
        return styles[style]()

    def text(self) -> str:
        """Aligned columns, for a terminal."""
        lines = [[for_terminal(cell) for cell in row] for row in (self.head, *self.rows)]
        widths = [max(text_width(row[at]) for row in lines) for at in range(len(self.head))]
        return "".join(f"{self._line(row, widths)}\n" for row in lines)

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        cells = []
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (width - text_width(cell))
            cells.append(cell + gap if at in self.left else gap + cell)
        return "  ".join(cells).rstrip()

    def markdown(self) -> str:
        """A table that GitHub and pandoc understand."""
        marks = [":--" if at in self.left else "--:" for at in range(len(self.head))]
        lines = [[cell.translate(_MARKDOWN) for cell in row] for row in (self.head, *self.rows)]
        lines.insert(1, marks)
        return "".join(f"| {' | '.join(row)} |\n" for row in lines)

    def latex(self) -> str:
        """A ``tabular`` with booktabs' lines."""
        columns = "".join("l" if at in self.left else "r" for at in range(len(self.head)))
        rows = ([cell.translate(_LATEX) for cell in row] for row in (self.head, *self.rows))
        lines = [" & ".join(row) + r" \\" for row in rows]
        body = [lines[0], r"\midrule", *lines[1:]]
        return "\n".join(
            [
                "% needs \\usepackage{booktabs}",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                "",
            ]
        )


def number(value: float, how: str) -> str:
    """A number as ``how`` formats it; a dash where there is none."""
    return "–" if math.isnan(value) else format(value, how)


def p_text(p: float) -> str:
    """``0.031``, ``<0.0001``; a dash where there is none."""
    if math.isnan(p):
        return "–"
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def text_width(text: str) -> int:
    """How many places a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
