"""Pages from the templates of this folder: one file with its style, script and data.

Templates escape whatever they are given but `Markup`, which only `inline_svg` makes, and
`recommendation_page` of what `answers_html` escaped. The page's
Content-Security-Policy lets the browser load nothing at all, and run only the one style and the
two scripts of this file (the first of them all pages have), which it knows by their hashes.
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
    """A template of this folder as a page.

    ``sections`` are the headings of its parts by their ids, which the template has a block each
    for; ``scripts`` are the files of this folder that the page needs. ``libraries``, a title, the
    ``command`` and all else that the template shows are ``values``; ``more_style`` is its own,
    and ``back`` an address with words, where the page is served and leads back.
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
    """The templates of this folder."""
    made = templates(_HERE, for_page)
    made.filters["signs"] = _signs
    made.policies.update({"json.dumps_function": _json, "json.dumps_kwargs": {}})
    return made


def _signs(text: str, column: Column) -> str:
    """Numbers with a real minus sign; names as they are."""
    return text if column.left else text.replace("-", "−")


def _json(data: Any) -> str:
    """Compact; what a page may not hold is written by its number (the rest the filter does)."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
