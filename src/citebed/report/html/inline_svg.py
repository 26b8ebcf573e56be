"""Adapt SVG figures from matplotlib for inclusion in a page.

The page's policy forbids style attributes, ids must be unique in the page, and colours follow its
light or dark theme. Files for papers are not changed.
"""

from __future__ import annotations

import base64
import re
from typing import NamedTuple

from lxml import etree
from markupsafe import Markup

from citebed.report.figure_style import INK, LIGHT, MARK, RULE
from citebed.wording import for_page

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_DROPPED = (f"{_SVG}metadata", f"{_SVG}style")
_COLOURS = {
    INK: "currentColor",
    MARK: "var(--mark)",
    LIGHT: "var(--light)",
    RULE: "var(--rule)",
    "#ffffff": "var(--paper)",
}


class Figure(NamedTuple):
    """A figure in a page: its markup, its label, and the file name for saving it.

    ``link`` is a data URL of the original figure.
    """

    svg: Markup
    label: str
    file: str
    link: str


def figure_of(svg: bytes, name: str, says: str, label: str, file: str) -> Figure:
    """Prepare a rendered figure for a page; ``name`` and ``says`` as for `inline_svg`."""
    link = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    return Figure(inline_svg(svg, name, says), label, f"{file}.svg", link)


def inline_svg(svg: bytes, name: str, says: str) -> Markup:
    """Return a figure as markup; ``name`` prefixes its ids, and ``says`` is its ARIA label."""
    root = etree.fromstring(svg, etree.XMLParser(resolve_entities=False, no_network=True))
    for part in list(root.iter(*_DROPPED)):
        part.getparent().remove(part)
    for part in root.iter(etree.Element):
        _plain_style(part)
        _own_ids(part, name)
    root.set("role", "img")
    root.set("aria-label", for_page(says))
    etree.cleanup_namespaces(root)
    text = etree.tostring(root, encoding="unicode")
    return Markup(re.sub(r"\s*\n\s*", " ", text))


def _plain_style(part: etree._Element) -> None:
    """Replace style attributes by presentation attributes, and colours by the page's."""
    for declaration in part.get("style", "").split(";"):
        name, _, value = declaration.partition(":")
        if value:
            part.set(name.strip(), _COLOURS.get(value.strip(), value.strip()))
    part.attrib.pop("style", "")
    if part.tag == f"{_SVG}text":
        part.set("fill", "currentColor")
        part.attrib.pop("font-family", "")


def _own_ids(part: etree._Element, name: str) -> None:
    if "id" in part.attrib:
        part.set("id", f"{name}-{part.get('id')}")
    if target := part.get(_LINK):
        part.set("href", target.replace("#", f"#{name}-"))
        part.attrib.pop(_LINK, "")
    if clip := part.get("clip-path"):
        part.set("clip-path", clip.replace("(#", f"(#{name}-"))
