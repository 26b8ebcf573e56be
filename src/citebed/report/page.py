"""Render self-contained pages from the templates in ``html/``, and put figures into them.

Templates escape everything except `Markup`, which only `make_page_figure` and `recommendation_page`
(from escaped text) make. The page's Content-Security-Policy forbids loading anything, and allows
only the page's own style and two scripts, by their hashes.
"""

from __future__ import annotations

import base64
import json
import platform
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import Any, NamedTuple

from jinja2 import Environment
from lxml import etree
from markupsafe import Markup

from citebed._version import __version__
from citebed.pages import asset, inlined, ready_script, templates
from citebed.wording import for_page

_ASSETS = "citebed.report.html"
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"


def render(
    template: str, sections: Mapping[str, str], scripts: Sequence[str], **values: Any
) -> str:
    """Render a template of ``html/``.

    ``sections`` has the headings by section id; the template has a block for each. ``scripts`` are
    files of that folder. ``values`` has ``libraries``, the title, the ``command`` and everything
    else that the template shows. ``more_style`` is added to the style. ``back`` is the address and
    text of a link back, for pages that are served.
    """
    values.setdefault("back", None)
    style = asset(_ASSETS, "page.css") + values.pop("more_style", "")
    script = "\n".join([*(asset(_ASSETS, name) for name in scripts), "citebedReady();\n"])
    versions = {name: metadata.version(name) for name in values.pop("libraries")}
    return environment().get_template(template).render(
        sections=sections, citebed=__version__,
        versions={"Python": platform.python_version(), **versions},
        **inlined(style=style, ready=ready_script(), script=script), **values,
    )  # fmt: skip


@cache
def environment() -> Environment:
    """Return the Jinja environment for the templates."""
    made = templates(_ASSETS, for_page)
    # Numbers have a minus sign instead of a hyphen; names do not change.
    made.filters["signs"] = lambda text, of: text if of.left else text.replace("-", "−")
    made.policies.update({"json.dumps_function": _dump_json, "json.dumps_kwargs": {}})
    return made


def _dump_json(data: Any) -> str:
    """Serialise to compact JSON with escaped control characters; Jinja's filter escapes HTML."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class PageFigure(NamedTuple):
    """A figure in a page: its markup, its label, and the file name for saving it.

    ``link`` is a data URL of the original figure.
    """

    svg: Markup
    label: str
    file: str
    link: str


def make_page_figure(svg: bytes, name: str, alt_text: str, label: str, file: str) -> PageFigure:
    """Prepare a rendered figure for a page; ``name`` and ``alt_text`` as for `inline_svg`."""
    link = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    return PageFigure(inline_svg(svg, name, alt_text), label, f"{file}.svg", link)


def inline_svg(svg: bytes, name: str, alt_text: str) -> Markup:
    """Return a figure of matplotlib as markup; ``name`` prefixes its ids.

    The page's policy forbids style attributes, ids must be unique in the page, and colours follow
    its light or dark theme.
    """
    from citebed.report.figure_style import INK, LIGHT, MARK, RULE  # imports matplotlib

    colours = {
        INK: "currentColor", MARK: "var(--mark)", LIGHT: "var(--light)", RULE: "var(--rule)",
        "#ffffff": "var(--paper)",
    }  # fmt: skip
    root = etree.fromstring(svg, etree.XMLParser(resolve_entities=False, no_network=True))
    for part in list(root.iter(f"{_SVG}metadata", f"{_SVG}style")):
        part.getparent().remove(part)
    for part in root.iter(etree.Element):
        for declaration in part.get("style", "").split(";"):
            attribute, _, value = declaration.partition(":")
            if value:
                part.set(attribute.strip(), colours.get(value.strip(), value.strip()))
        part.attrib.pop("style", "")
        if part.tag == f"{_SVG}text":
            part.set("fill", "currentColor")
            part.attrib.pop("font-family", "")
        if "id" in part.attrib:
            part.set("id", f"{name}-{part.get('id')}")
        if target := part.get(_LINK):
            part.set("href", target.replace("#", f"#{name}-"))
            part.attrib.pop(_LINK, "")
        if clip := part.get("clip-path"):
            part.set("clip-path", clip.replace("(#", f"(#{name}-"))
    root.set("role", "img")
    root.set("aria-label", for_page(alt_text))
    etree.cleanup_namespaces(root)
    text = etree.tostring(root, encoding="unicode")
    return Markup(re.sub(r"\s*\n\s*", " ", text))
