"""Text made safe to stand in a page.

`Html` is what is markup already; every other string is escaped when it becomes part of an
element, so that forgetting to escape shows tags on the page and cannot run anything.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any, NewType

Html = NewType("Html", str)
"""Markup. Made only in this package: from `element`, `escaped`, `join` and the like."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_VOID = frozenset(("meta", "link", "input", "br", "hr"))


def escaped(text: str) -> Html:
    """Text as text, in an element or in a quoted attribute.

    Control characters and halves of characters, which no page may hold, become U+FFFD.
    """
    return Html(html.escape(_CONTROLS.sub("\ufffd", text), quote=True))


def join(parts: Iterable[Html], between: str = "") -> Html:
    """Pieces of markup, one after the other."""
    return Html(str(escaped(between)).join(parts))


def attributes(values: dict[str, str | bool | None]) -> str:
    """Attributes with a space before each; ``True`` stands alone, ``None`` and ``False`` not.

    A name may end in ``_`` (``class_``, ``for_``), and its other ``_`` are written ``-``.
    """
    parts = []
    for name, value in values.items():
        if value is None or value is False:
            continue
        written = name.rstrip("_").replace("_", "-")
        parts.append(f" {written}" if value is True else f' {written}="{escaped(value)}"')
    return "".join(parts)


def element(tag: str, /, *inside: Html, **values: str | bool | None) -> Html:
    """An element of markup: ``element("td", escaped(text), class_="number")``."""
    start = f"<{tag}{attributes(values)}>"
    return Html(start if tag in _VOID else f"{start}{''.join(inside)}</{tag}>")


def json_block(name: str, data: Any) -> Html:
    """Data for scripts, in an element that holds it and runs nothing.

    What could end the element or start a comment in it is written by its number.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    text = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return Html(f'<script type="application/json" id="{escaped(name)}">{text}</script>')
