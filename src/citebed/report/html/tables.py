"""Tables of a page: heads with scope, a box of their own to scroll in, ready to be sorted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from citebed.report.html.escaping import Html, element, escaped, join


@dataclass(frozen=True)
class Column:
    """A column: its head, what it means (shown on demand), and whether it holds numbers."""

    head: str
    title: str | None = None
    number: bool = True


@dataclass(frozen=True)
class Cell:
    """A cell: its text, a smaller text beside it, and the number to sort by (else the text).

    ``mark`` is set apart behind the text, a dagger for example.
    """

    text: str
    small: str = ""
    value: float | None = None
    mark: str = ""
    names: tuple[str, ...] = field(default=())


def table(
    caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], sortable: bool = True
) -> Html:
    """A table with its caption; the first cell of a row names it.

    The box around it scrolls when the page is too narrow, and can be reached by keyboard.
    """
    heads = join(_head(column) for column in columns)
    lines = join(
        element("tr", *(_cell(cell, column, at == 0)
                        for at, (cell, column) in enumerate(zip(row, columns, strict=True))))
        for row in rows
    )  # fmt: skip
    whole = element(
        "table",
        element("caption", escaped(caption)),
        element("thead", element("tr", heads)),
        element("tbody", lines),
        data_sortable=sortable,
    )
    return element("div", whole, class_="box", tabindex="0", role="region", aria_label=caption)


def _head(column: Column) -> Html:
    return element(
        "th",
        escaped(column.head),
        scope="col",
        class_="number" if column.number else None,
        title=column.title,
    )


def _cell(cell: Cell, column: Column, first: bool) -> Html:
    inside = [element("bdi", escaped(cell.text))]
    if cell.mark:
        inside.append(element("span", escaped(cell.mark), class_="mark"))
    if cell.small:
        inside += [escaped(" "), element("small", escaped(cell.small))]
    return element(
        "th" if first else "td",
        *inside,
        scope="row" if first else None,
        class_=" ".join((*(["number"] if column.number else []), *cell.names)) or None,
        data_value=None if cell.value is None else f"{cell.value:.10g}",
    )
