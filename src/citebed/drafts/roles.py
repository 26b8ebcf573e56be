"""Citations as Sphinx and MyST write them, and the tag that notebooks cite by.

``:cite:p:`a,b``` in reStructuredText, ``{cite}`a``` in MyST's Markdown, and
``<cite data-cite="a">(Lee, 2019)</cite>``.
"""

from __future__ import annotations

import re

from citebed.drafts.findings import Findings
from citebed.patterns import compiled

_NAME = r"(?:foot|full|no)?cite(?:[:a-z]{0,20})"
_RST = re.compile(rf":({_NAME}):`([^`]{{1,2000}})`")
_MYST = re.compile(rf"\{{({_NAME})\}}`([^`]{{1,2000}})`")
_TAG = compiled(
    r"<cite\s+data-cite\s*+=\s*+[\"']([^\"'<>]{1,500})[\"'][^<>]{0,200}>[^<]*+(?:</cite>)?"
)
_WITHIN = re.compile(r"\{[^{}]*\}|<([^<>]+)>")


def place_rst_roles(text: str, findings: Findings) -> str:
    """reStructuredText with its citations as places."""
    if "cite" not in text:
        return text
    return _RST.sub(lambda match: _placed(match[1], match[2], findings), text)


def place_markdown_roles(text: str, findings: Findings) -> str:
    """Markdown with MyST's citations and the tags of notebooks as places."""
    if "cite" not in text:
        return text
    text = _MYST.sub(lambda match: _placed(match[1], match[2], findings), text)
    return _TAG.sub(lambda match: _placed("cite", match[1], findings), text)


def _placed(role: str, listed: str, findings: Findings) -> str:
    """Keys with commas between them, with notes in braces (``{see}a{p. 3}``) or as a title."""
    plain = _WITHIN.sub(lambda match: match[1] or "", listed)
    keys = [key.strip() for key in plain.split(",") if key.strip()]
    if role.startswith("nocite"):
        findings.nowhere += keys
        return ""
    return f" {findings.cite(keys)}" if keys else ""
