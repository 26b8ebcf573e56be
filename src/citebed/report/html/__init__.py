"""Self-contained HTML: one file, no request to anywhere, everything that is shown escaped."""

from __future__ import annotations

from citebed.report.html.escaping import Html, attributes, element, escaped, join, json_block
from citebed.report.html.inline_svg import inline_svg, svg_link
from citebed.report.html.page import Page, render
from citebed.report.html.tables import Cell, Column, table

__all__ = [
    "Cell",
    "Column",
    "Html",
    "Page",
    "attributes",
    "element",
    "escaped",
    "inline_svg",
    "join",
    "json_block",
    "render",
    "svg_link",
    "table",
]
