"""The base of all pages: templates, the first script, and hashes for content security policies.

The root of a page has ``aria-busy``, which screen readers understand, until the page's own script
calls ``citebedReady()``; then it has ``data-ready``. A page with a script declares ``data-waits``
on its root; a page without one is ready as soon as it is parsed. Earlier keys and clicks are
delayed until then.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from citebed.pages.keys import key_rows


def templates(package: str, plain: Callable[[str], str]) -> Environment:
    """Return the templates in a package; values pass through ``plain`` and are then escaped.

    An undefined name raises an error.
    """

    def shown(value: Any) -> Any:
        is_text = isinstance(value, str) and not isinstance(value, Markup)
        return plain(value) if is_text else value

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=shown, trim_blocks=True,
        lstrip_blocks=True, loader=FunctionLoader(lambda name: asset(package, name)),
    )  # fmt: skip
    environment.globals["key_rows"] = key_rows
    return environment


def asset(package: str, name: str) -> str:
    """Return a template, style or script of a package, as text."""
    return (resources.files(package) / name).read_text("utf-8")


def inlined(**parts: str) -> dict[str, str]:
    """Return styles and scripts to put into a page, and their policy hashes as ``NAME_hash``."""
    hashes = {f"{name}_hash": policy_hash(text) for name, text in parts.items()}
    return {name: Markup(text) for name, text in parts.items()} | hashes


@cache
def ready_script() -> str:
    """Return the first script in the head of every page."""
    return asset("citebed.pages", "ready.js")


def policy_hash(text: str) -> str:
    """Return the hash of an inline style or script for a Content-Security-Policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
