"""Render the templates of this folder as self-contained pages with style, scripts and data.

Templates escape everything except `Markup`, which only `inline_svg` and `recommendation_page` (from
escaped text) make. The page's Content-Security-Policy forbids loading anything, and allows only the
page's own style and two scripts, by their hashes.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import Any

from jinja2 import Environment

from citebed._version import __version__
from citebed.pages import asset, inlined, ready_script, templates
from citebed.report.tables import Column
from citebed.wording import for_page

_HERE = "citebed.report.html"
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def render(
    template: str, sections: Mapping[str, str], scripts: Sequence[str], **values: Any
) -> str:
    """Render a template of this folder.

    ``sections`` has the headings by section id; the template has a block for each. ``scripts`` are
    files of this folder. ``values`` has ``libraries``, the title, the ``command`` and everything
    else that the template shows. ``more_style`` is added to the style. ``back`` is the address and
    text of a link back, for pages that are served.
    """
    values.setdefault("back", None)
    style = asset(_HERE, "page.css") + values.pop("more_style", "")
    script = "\n".join([*(asset(_HERE, name) for name in scripts), "citebedReady();\n"])
    versions = {name: metadata.version(name) for name in values.pop("libraries")}
    return environment().get_template(template).render(
        sections=sections, citebed=__version__,
        versions={"Python": platform.python_version(), **versions},
        **inlined(style=style, ready=ready_script(), script=script), **values,
    )  # fmt: skip


@cache
def environment() -> Environment:
    """Return the Jinja environment for the templates of this folder."""
    made = templates(_HERE, for_page)
    made.filters["signs"] = _signs
    made.policies.update({"json.dumps_function": _json, "json.dumps_kwargs": {}})
    return made


def _signs(text: str, column: Column) -> str:
    """Write numbers with a minus sign instead of a hyphen; leave names unchanged."""
    return text if column.left else text.replace("-", "−")


def _json(data: Any) -> str:
    """Serialise to compact JSON with escaped control characters; Jinja's filter escapes HTML."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
