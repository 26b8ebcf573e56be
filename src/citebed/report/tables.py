"""A table model: declared columns, written as text, Markdown, LaTeX and HTML.

In a terminal, Markdown and LaTeX a cell is one line of text. An HTML page also shows the cell's
small text, sorts by its number, and explains columns in tooltips. Rows for programs (``--json``)
come from the data model, not from here.
"""

from __future__ import annotations

import math
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from citebed.wording import for_terminal

if TYPE_CHECKING:
    import polars as pl

DAGGER = "†"
_GAP = 2
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    DAGGER: r"$\dagger$", "−": r"$-$", "τ": r"$\tau$", "→": r"$\rightarrow$", "±": r"$\pm$",
    "×": r"$\times$", "<": "$<$", ">": "$>$", "|": "$|$",
})  # fmt: skip
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "|*_`<\\"})


class Cell(NamedTuple):
    """A cell: its text, a smaller text after it, and the number to sort by, if any.

    ``mark`` follows the text: a dagger, or a blank in its place. ``line`` is the cell as one line
    of text, if that is not just text, mark and small text in a row.
    """

    text: str
    small: str = ""
    value: float | None = None
    mark: str = ""
    line: str = ""

    def __str__(self) -> str:
        return self.line or f"{self.text}{self.mark}{' ' if self.small else ''}{self.small}"


@dataclass(frozen=True)
class Column:
    """A column: its head, and how to make its cell from the object of a row.

    ``value`` is the name of an attribute (or key), or a function that returns a number, a text or a
    `Cell`; ``None`` is an unknown number. A value with braces is a format string of several keys.
    ``how`` is the number format. ``title`` explains the column. Names are aligned to the
    ``left``, everything else to the right. ``short`` is a shorter head for text, and ``kind`` a CSS
    class.
    """

    head: str
    value: str | Callable[[Any], Any] = ""
    how: str | Callable[[float], str] = ""
    title: str | None = None
    left: bool = False
    short: str | None = None
    kind: str = ""

    def cell(self, of: Any) -> Cell:
        """Return this column's cell for one object."""
        if callable(self.value):
            value = self.value(of)
        elif "{" in self.value:
            value = self.value.format_map(of)
        else:
            value = of[self.value] if isinstance(of, Mapping) else getattr(of, self.value)
        if isinstance(value, Cell):
            return value
        if isinstance(value, str):
            return Cell(value)
        value = math.nan if value is None else value
        text = self.how(value) if callable(self.how) else number(value, self.how)
        return Cell(text, value=None if math.isnan(value) else value)


@dataclass(frozen=True)
class Table:
    """A table: columns, rows of cells, a caption, and a note below."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    note: str = ""

    @property
    def head(self) -> list[str]:
        """The heads of the columns for text."""
        return [column.head if column.short is None else column.short for column in self.columns]

    @cached_property
    def lines(self) -> list[list[str]]:
        """The rows, with every cell as one line of text."""
        return [[str(cell) for cell in row] for row in self.rows]

    def plain(self) -> dict[str, Any]:
        """Return the table for JSON, for pages that render it in the browser."""
        return {
            "caption": self.caption,
            "note": self.note,
            "columns": [
                {"head": each.head, "title": each.title or "", "left": each.left}
                for each in self.columns
            ],
            "rows": [[cell._asdict() for cell in row] for row in self.rows],
        }

    def written(self, style: str) -> str:
        """Write the table in a style: ``table``, ``markdown`` or ``latex``."""
        styles = {"table": self.text, "markdown": self.markdown, "latex": self.latex}
        return styles[style]()

    def text(self, width: int | None = None, *, rule: bool = False) -> str:
        """Write aligned columns within ``width`` characters, by default the terminal's width.

        No cell is ever cut. If the table is too wide, heads and names are folded at blanks; if that
        is not enough, every row becomes a block of lines ``head  cell``. Without a terminal (in a
        pipe or file) lines have any length. ``rule`` draws a line below the head.
        """
        width = screen_width() if width is None else width
        lines = [[for_terminal(cell) for cell in row] for row in (self.head, *self.lines)]
        widths = self._widths(lines, width)
        if widths is None:
            return self._records(lines, width or 0)
        head, *rows = ("".join(f"{line}\n" for line in self._folded(row, widths)) for row in lines)
        under = "─" * (sum(widths) + _GAP * (len(widths) - 1)) + "\n" if rule else ""
        return f"{head}{under}{''.join(rows)}"

    def _widths(self, lines: Sequence[Sequence[str]], most: int | None) -> list[int] | None:
        """Return the column widths, or ``None`` if they do not fit; only names can be folded."""
        widths = [max(map(text_width, cells)) for cells in zip(*lines, strict=True)]
        over = 0 if most is None else sum(widths) + _GAP * (len(widths) - 1) - most
        if over <= 0:
            return widths
        least = []
        for column, (head, *cells) in zip(self.columns, zip(*lines, strict=True), strict=True):
            whole = [word for text in cells for word in text.split()] if column.left else cells
            least.append(max(map(text_width, (*head.split(), *whole)), default=0))
            if column.left:  # the indentation of a name belongs to its first word
                least[-1] += max(len(text) - len(text.lstrip()) for text in (head, *cells))
        while over > 0:
            at = max(range(len(widths)), key=lambda k: (widths[k] > least[k]) * widths[k])
            if widths[at] <= least[at]:
                return None
            widths[at], over = widths[at] - 1, over - 1
        return widths

    def _folded(self, row: Sequence[str], widths: Sequence[int]) -> list[str]:
        """Fold the cells of a row into their columns, and return its lines."""
        cells = [fold(cell, width) for cell, width in zip(row, widths, strict=True)]
        height = max(map(len, cells), default=1)
        lines = []
        for line in zip(*([*cell, *[""] * (height - len(cell))] for cell in cells), strict=True):
            padded = []
            for column, cell, width in zip(self.columns, line, widths, strict=True):
                gap = " " * (width - text_width(cell))
                padded.append(cell + gap if column.left else gap + cell)
            lines.append((" " * _GAP).join(padded).rstrip())
        return lines

    def _records(self, lines: Sequence[Sequence[str]], width: int) -> str:
        """Write a block of lines ``head  cell`` per row, without empty cells."""
        head, *rows = lines
        margin = max(map(text_width, head)) + _GAP
        above = margin > width // 2  # put long heads on lines of their own
        margin = _GAP if above else margin
        blocks = []
        for row in rows:
            block = []
            for name, cell in zip(head, row, strict=True):
                if not cell.strip():
                    continue
                if not name:
                    block += fold(cell, width)
                    continue
                first, *others = fold(cell.strip(), width - margin)
                label = [name] if above else []
                start = "" if above else name
                block += [*label, start + " " * (margin - text_width(start)) + first]
                block += [" " * margin + line for line in others]
            blocks.append("".join(f"{line.rstrip()}\n" for line in block))
        return "\n".join(blocks)

    def markdown(self) -> str:
        """Write a Markdown table for GitHub and pandoc."""
        marks = [":--" if column.left else "--:" for column in self.columns]
        lines = [[cell.translate(_MARKDOWN) for cell in row] for row in (self.head, *self.lines)]
        lines.insert(1, marks)
        return "".join(f"| {' | '.join(row)} |\n" for row in lines)

    def latex(self) -> str:
        """Write a LaTeX ``tabular`` with booktabs."""
        columns = "".join("l" if column.left else "r" for column in self.columns)
        rows = ([cell.translate(_LATEX) for cell in row] for row in (self.head, *self.lines))
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


def build_table(columns: Sequence[Column], things: Iterable[Any], caption: str = "") -> Table:
    """Build a table with one row per object."""
    return Table(columns, [[column.cell(of) for column in columns] for of in things], caption)


def text_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: Iterable[int] = (0,),
    caption: str = "",
) -> Table:
    """Build a table of texts; columns whose number is in ``left`` are aligned to the left."""
    names = frozenset(left)
    columns = [Column(text, left=at in names) for at, text in enumerate(head)]
    return Table(columns, [[Cell(text) for text in row] for row in rows], caption)


def across(
    corner: str, rows: Iterable[Mapping[str, Any]], forms: tuple[str, str, str], caption: str = ""
) -> Table:
    """Build a table with one cell per row of data, in order of first occurrence.

    ``forms`` are format strings of the fields: for the cell's row, its column and its text.
    """
    lines: dict[str, list[str]] = {}
    heads: dict[str, None] = {}
    for fields in rows:
        row, column, text = (form.format_map(fields) for form in forms)
        lines.setdefault(row, [row]).append(text)
        heads[column] = None
    return text_table([corner, *heads], lines.values(), caption=caption)


def frame_table(
    frame: pl.DataFrame,
    text: Callable[[Any], str] = str,
    none: str = "",
    left: Iterable[int] | None = None,
) -> Table:
    """Build a table from a data frame; ``text`` formats values, and ``none`` replaces null."""
    if left is None:
        left = [at for at, kind in enumerate(frame.dtypes) if not kind.is_numeric()]
    rows = ([none if cell is None else text(cell) for cell in row] for row in frame.iter_rows())
    return text_table(frame.columns, rows, left)


def legend(columns: Sequence[Column], *heads: str) -> str:
    """Explain columns: ``d: standardised difference; w/t/l: queries won, tied, lost``."""
    return "; ".join(f"{each.head}: {each.title}" for each in columns if each.head in heads)


# --- cells ----------------------------------------------------------------------------------


def number(value: float, how: str) -> str:
    """Format a number; nan becomes a dash."""
    return "–" if math.isnan(value) else format(value, how)


def interval(value: float, low: float, high: float, how: str = ".4f", mark: str = "") -> Cell:
    """Make a cell of a number and the limits of its interval, if it has one."""
    known = not (math.isnan(low) or math.isnan(high))
    limits = f"[{number(low, how)}, {number(high, how)}]" if known else ""
    return Cell(number(value, how), limits, None if math.isnan(value) else value, mark)


def p_text(p: float) -> str:
    """Format a p-value: ``0.0310``, ``<0.0001``, or a dash for nan."""
    if math.isnan(p):
        return "–"
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def screen_width() -> int | None:
    """Return the terminal's width in characters (``COLUMNS`` overrides it), or ``None``."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (AttributeError, ValueError, OSError):
        return None  # a pipe, a file, or no standard output


def fold(text: str, width: int) -> list[str]:
    """Split a text at blanks into lines of at most ``width`` characters; never split a word."""
    if text_width(text) <= width:
        return [text]
    inset = text[: len(text) - len(text.lstrip())]
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else inset + word
        if lines[-1] and text_width(longer) > width:
            lines.append(inset + word)
        else:
            lines[-1] = longer
    return lines


def text_width(text: str) -> int:
    """Return the width of a text in a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
