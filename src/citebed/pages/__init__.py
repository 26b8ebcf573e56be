"""What all pages have in common: the script that runs first, and hashes for their policies.

A page is busy (``aria-busy`` on its root, which screen readers know) until its own script calls
``citebedReady()``; then the root has ``data-ready``. A page with no script of its own is ready
when it is read; one that has a script says ``data-waits`` on its root. Keys and clicks that come
before are kept and done then.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources


@cache
def ready_script() -> str:
    """The script that stands first in the head of every page."""
    return (resources.files("citebed.pages") / "ready.js").read_text("utf-8")


def policy_hash(text: str) -> str:
    """What a Content-Security-Policy calls a style or a script that stands in the page."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
