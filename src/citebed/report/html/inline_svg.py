"""Figures of matplotlib made fit to stand in a page.

The page's policy forbids style attributes, two figures must not share ids, and colours follow
the page from light to dark; a file for a paper needs none of that, so it stays as it was drawn.
"""

from __future__ import annotations

import base64
import re

from lxml import etree

from citebed.report.drawing import INK, LIGHT, MARK, RULE
from citebed.report.html.escaping import Html, element, escaped

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


def inline_svg(svg: bytes, name: str, says: str) -> Html:
    """A figure as part of a page; ``name`` keeps its ids apart, ``says`` is read to the blind."""
    root = etree.fromstring(svg, etree.XMLParser(resolve_entities=False, no_network=True))
    for part in list(root.iter(*_DROPPED)):
        part.getparent().remove(part)
    for part in root.iter(etree.Element):
        _plain_style(part)
        _own_ids(part, name)
    root.set("role", "img")
    root.set("aria-label", says)
    etree.cleanup_namespaces(root)
    text = etree.tostring(root, encoding="unicode")
    return Html(re.sub(r"\s*\n\s*", " ", text))


def _plain_style(part: etree._Element) -> None:
    """Style attributes as presentation attributes, and our colours as the page's."""
    for declaration in part.get("style", "").split(";"):
        name, _, value = declaration.partition(":")
        if value:
            part.set(name.strip(), _COLOURS.get(value.strip(), value.strip()))
    _drop(part, "style")
    if part.tag == f"{_SVG}text":
        part.set("fill", "currentColor")
        _drop(part, "font-family")


def _drop(part: etree._Element, name: str) -> None:
    if name in part.attrib:
        del part.attrib[name]


def _own_ids(part: etree._Element, name: str) -> None:
    if "id" in part.attrib:
        part.set("id", f"{name}-{part.get('id')}")
    if target := part.get(_LINK):
        part.set("href", target.replace("#", f"#{name}-"))
        _drop(part, _LINK)
    if clip := part.get("clip-path"):
        part.set("clip-path", clip.replace("(#", f"(#{name}-"))


def svg_link(svg: bytes, file_name: str) -> Html:
    """A link that saves the figure as it was drawn, as a file."""
    content = base64.b64encode(svg).decode()
    return element(
        "a",
        escaped("Save as SVG"),
        href=f"data:image/svg+xml;base64,{content}",
        download=file_name,
        aria_label=f"Save {file_name}",
    )
