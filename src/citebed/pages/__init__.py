"""What all pages have in common: how templates are read, the first script, hashes for policies.

A page is busy (``aria-busy`` on its root, which screen readers know) until its own script calls
``citebedReady()``; then the root has ``data-ready``. A page with no script of its own is ready
when it is read; one that has a script says ``data-waits`` on its root. Keys and clicks that come
before are kept and done then.
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
    """The templates in a folder of ours; all that is shown is escaped, and ``plain`` before.

    A name that nobody gave is an error.
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
    """A file of ours that is put into a page: a template, a style, a script."""
    return (resources.files(package) / name).read_text("utf-8")


def inlined(**parts: str) -> dict[str, str]:
    """What stands in a page itself, and by the name with ``_hash`` what its policy calls it."""
    hashes = {f"{name}_hash": policy_hash(text) for name, text in parts.items()}
    return {name: Markup(text) for name, text in parts.items()} | hashes


@cache
def ready_script() -> str:
    """The script that stands first in the head of every page."""
    return asset("citebed.pages", "ready.js")


def policy_hash(text: str) -> str:
    """What a Content-Security-Policy calls a style or a script that stands in the page."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
