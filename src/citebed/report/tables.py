"""One model of tables: a subject declares its columns, and all forms are written from them.

For a terminal, Markdown and LaTeX a cell is one line of text; a page sets what is smaller beside
it apart, sorts by its number and tells on demand what a column means. Rows for programs are the
data model's own, not these.
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
    """A cell: its text, a smaller text beside it, and the number to sort by (else the text).

    ``mark`` is set apart behind the text: a dagger, or a blank to leave room for one. ``line`` is
    the whole cell as one line of text, where that is not simply all of these in a row.
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
    """A column: its head, and what stands in it for each thing that has a row.

    ``value`` is the name of an attribute (or key), or a function that gives a number, a text or a
    cell; ``how`` is the format of numbers. ``title`` says what it means. Names are set to the
    ``left``, all else to the right. ``short`` is the head where a page's would be too long, and
    ``kind`` a class of its own in a page.
    """

    head: str
    value: str | Callable[[Any], Any] = ""
    how: str | Callable[[float], str] = ""
    title: str | None = None
    left: bool = False
    short: str | None = None
    kind: str = ""

    def cell(self, of: Any) -> Cell:
        """What stands in this column for one thing."""
        if callable(self.value):
            value = self.value(of)
        else:
            value = of[self.value] if isinstance(of, Mapping) else getattr(of, self.value)
        if isinstance(value, Cell):
            return value
        if isinstance(value, str):
            return Cell(value)
        text = self.how(value) if callable(self.how) else number(value, self.how)
        return Cell(text, value=None if math.isnan(value) else value)


@dataclass(frozen=True)
class Table:
    """A table: columns, rows of as many cells, what it is of, and a note under it."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    note: str = ""

    @property
    def head(self) -> list[str]:
        """The heads of the columns, as text has them."""
        return [column.head if column.short is None else column.short for column in self.columns]

    @cached_property
    def lines(self) -> list[list[str]]:
        """The rows, every cell as one line of text."""
        return [[str(cell) for cell in row] for row in self.rows]

    def plain(self) -> dict[str, Any]:
        """As JSON has it, for a page that sets it itself."""
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
        """In a style by its name: ``table``, ``markdown`` or ``latex``."""
        styles = {"table": self.text, "markdown": self.markdown, "latex": self.latex}
        return styles[style]()

    def text(self, width: int | None = None, *, rule: bool = False) -> str:
        """Aligned columns that fit ``width`` characters, by default those of the screen.

        No cell is ever cut. Heads and names are folded at blanks where the table is too wide; if
        that is not enough, every row becomes a record of lines ``head  cell``. Without a screen
        (a pipe, a file) lines are as long as they are. ``rule`` draws a line below the head.
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
        """The width of each column, ``None`` where they do not fit. Numbers keep theirs."""
        widths = [max(map(text_width, cells)) for cells in zip(*lines, strict=True)]
        over = 0 if most is None else sum(widths) + _GAP * (len(widths) - 1) - most
        if over <= 0:
            return widths
        least = []
        for column, (head, *cells) in zip(self.columns, zip(*lines, strict=True), strict=True):
            whole = [word for text in cells for word in text.split()] if column.left else cells
            least.append(max(map(text_width, (*head.split(), *whole)), default=0))
            if column.left:  # the blanks that set a name in are part of its first word
                least[-1] += max(len(text) - len(text.lstrip()) for text in (head, *cells))
        while over > 0:
            at = max(range(len(widths)), key=lambda k: (widths[k] > least[k]) * widths[k])
            if widths[at] <= least[at]:
                return None
            widths[at], over = widths[at] - 1, over - 1
        return widths

    def _folded(self, row: Sequence[str], widths: Sequence[int]) -> list[str]:
        """A row as lines, each cell folded into its column."""
        cells = [fold(cell, width) for cell, width in zip(row, widths, strict=True)]
        height = max(map(len, cells), default=1)
        lines = zip(*([*cell, *[""] * (height - len(cell))] for cell in cells), strict=True)
        return [self._line(line, widths) for line in lines]

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        cells = []
        for column, cell, width in zip(self.columns, row, widths, strict=True):
            gap = " " * (width - text_width(cell))
            cells.append(cell + gap if column.left else gap + cell)
        return (" " * _GAP).join(cells).rstrip()

    def _records(self, lines: Sequence[Sequence[str]], width: int) -> str:
        """A block of lines a row, each a head and its cell; empty cells are skipped."""
        head, *rows = lines
        margin = max(map(text_width, head)) + _GAP
        above = margin > width // 2  # then heads are on lines of their own
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
        """A table that GitHub and pandoc understand."""
        marks = [":--" if column.left else "--:" for column in self.columns]
        lines = [[cell.translate(_MARKDOWN) for cell in row] for row in (self.head, *self.lines)]
        lines.insert(1, marks)
        return "".join(f"| {' | '.join(row)} |\n" for row in lines)

    def latex(self) -> str:
        """A ``tabular`` with booktabs' lines."""
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
    """A row for each thing, by what the columns say of it."""
    return Table(columns, [[column.cell(of) for column in columns] for of in things], caption)


def text_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: Iterable[int] = (0,),
    caption: str = "",
) -> Table:
    """A table of texts; columns whose number is in ``left`` are set to the left."""
    names = frozenset(left)
    columns = [Column(text, left=at in names) for at, text in enumerate(head)]
    return Table(columns, [[Cell(text) for text in row] for row in rows], caption)


def across(corner: str, cells: Iterable[tuple[str, str, str]], caption: str = "") -> Table:
    """Cells of (row, column, text), rows and columns in the order in which they come."""
    rows: dict[str, list[str]] = {}
    heads: dict[str, None] = {}
    for row, column, text in cells:
        rows.setdefault(row, [row]).append(text)
        heads[column] = None
    return text_table([corner, *heads], rows.values(), caption=caption)


def frame_table(
    frame: pl.DataFrame,
    text: Callable[[Any], str] = str,
    none: str = "",
    left: Iterable[int] | None = None,
) -> Table:
    """A data frame as it is; ``text`` writes what is known. Numbers are set to the right."""
    if left is None:
        left = [at for at, kind in enumerate(frame.dtypes) if not kind.is_numeric()]
    rows = ([none if cell is None else text(cell) for cell in row] for row in frame.iter_rows())
    return text_table(frame.columns, rows, left)


def legend(columns: Sequence[Column], *heads: str) -> str:
    """``d: standardised difference; w/t/l: queries won, tied, lost``: what columns mean."""
    return "; ".join(f"{each.head}: {each.title}" for each in columns if each.head in heads)


# --- cells ----------------------------------------------------------------------------------


def number(value: float, how: str) -> str:
    """A number as ``how`` formats it; a dash where there is none."""
    return "–" if math.isnan(value) else format(value, how)


def interval(value: float, low: float, high: float, how: str = ".4f", mark: str = "") -> Cell:
    """A number, and beside it the limits of its interval where it has one."""
    known = not (math.isnan(low) or math.isnan(high))
    limits = f"[{number(low, how)}, {number(high, how)}]" if known else ""
    return Cell(number(value, how), limits, None if math.isnan(value) else value, mark)


def p_text(p: float) -> str:
    """``0.031``, ``<0.0001``; a dash where there is none."""
    if math.isnan(p):
        return "–"
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def screen_width() -> int | None:
    """How many characters a line may have: the terminal's columns, ``COLUMNS`` before them."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (AttributeError, ValueError, OSError):
        return None  # a pipe, a file, or no standard output at all


def fold(text: str, width: int) -> list[str]:
    """The text in lines of at most ``width`` characters, divided at blanks and nowhere else."""
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
    """How many places a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
