"""Pages from the templates of this folder: one file with its style, script and data.

Templates escape whatever they are given but `Markup`, which only `inline_svg` makes, and
`recommendation_page` of what `answers_html` escaped. The page's
Content-Security-Policy lets the browser load nothing at all, and run only the one style and the
two scripts of this file (the first of them all pages have), which it knows by their hashes.
"""

from __future__ import annotations

import json
import math
import platform
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata, resources
from typing import Any, NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from citebed._version import __version__
from citebed.pages import policy_hash, ready_script
from citebed.report.grid import number
from citebed.wording import for_page

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class Column(NamedTuple):
    """A column: its head, what it means (shown on demand), and whether it holds numbers."""

    head: str
    title: str | None = None
    number: bool = True


class Cell(NamedTuple):
    """A cell: its text, a smaller text beside it, and the number to sort by (else the text).

    ``mark`` is set apart behind the text, a dagger for example; ``kind`` is a class of its own.
    """

    text: str
    small: str = ""
    value: float | None = None
    mark: str = ""
    kind: str = ""


class Table(NamedTuple):
    """A table with its caption; the first cell of a row names it."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


def number_cell(value: float, how: str, small: str = "", mark: str = "") -> Cell:
    """A number in a format, with a real minus sign; a dash where there is none."""
    return Cell(number_text(value, how), small, known(value), mark)


def known(value: float) -> float | None:
    """The number to sort by; none for nan."""
    return None if math.isnan(value) else value


def number_text(value: float, how: str) -> str:
    """As in a cell: ``−0.0123``, or a dash for nan."""
    return number(value, how).replace("-", "−")


def limits_text(low: float, high: float, how: str = "+.4f") -> str:
    """The limits of an interval, ``[−0.0123, +0.0045]``; nothing where it has none."""
    known = not (math.isnan(low) or math.isnan(high))
    return f"[{number_text(low, how)}, {number_text(high, how)}]" if known else ""


def count_cells(numbers: Sequence[int]) -> list[Cell]:
    """Whole numbers, a cell each."""
    return [Cell(f"{number:,}", value=number) for number in numbers]


def counts_table(caption: str, counts: Mapping[str, Sequence[Any]], runs: Sequence[Any]) -> Table:
    """What was counted of each run: ``counts`` are heads and meanings of columns, by attribute."""
    columns = [Column("run", number=False), *(Column(*about) for about in counts.values())]
    rows = [[Cell(of.run), *count_cells([getattr(of, name) for name in counts])] for of in runs]
    return Table(caption, columns, rows)


def render(
    template: str, sections: Mapping[str, str], scripts: Sequence[str], **values: Any
) -> str:
    """A template of this folder as a page.

    ``sections`` are the headings of its parts by their ids, which the template has a block each
    for; ``scripts`` are the files of this folder that the page needs. ``libraries``, a title, the
    ``command`` and all else that the template shows are ``values``; ``more_style`` is its own.
    """
    style, ready = _file("page.css") + values.pop("more_style", ""), ready_script()
    script = "\n".join([*map(_file, scripts), "citebedReady();\n"])
    versions = {name: metadata.version(name) for name in values.pop("libraries")}
    return environment().get_template(template).render(
        sections=sections, citebed=__version__,
        versions={"Python": platform.python_version(), **versions},
        style=Markup(style), style_hash=policy_hash(style),
        ready=Markup(ready), ready_hash=policy_hash(ready),
        script=Markup(script), script_hash=policy_hash(script), **values,
    )  # fmt: skip


@cache
def environment() -> Environment:
    """Where templates are read: escaping always, and a name that nobody gave is an error."""
    made = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_file),
        finalize=plain, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.policies.update({"json.dumps_function": _json, "json.dumps_kwargs": {}})
    return made


def plain(value: Any) -> Any:
    """Control characters, which no page may hold, become U+FFFD."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return for_page(value) if is_text else value


def _json(data: Any) -> str:
    """Compact; what a page may not hold is written by its number (the rest the filter does)."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _file(name: str) -> str:
    return (resources.files("citebed.report.html") / name).read_text("utf-8")
