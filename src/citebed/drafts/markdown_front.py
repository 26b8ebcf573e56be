"""The front matter of Markdown: the few fields of YAML that say what a draft is.

Only what papers use is read (scalars, quoted or not; lists in brackets or with dashes; block
text), so that no YAML library is needed. What is not understood is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from citebed.drafts.findings import Block, Findings
from citebed.text.normalise import fold, unique

_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_DASH = re.compile(r"[ \t]*-[ \t]+(.*)$")
_NAME = re.compile(r"[ \t]*(?:-[ \t]+)?name[ \t]*:[ \t]*(.+)$")
_QUOTED = re.compile(r"([\"'])(.*?)\1(?:\s+#.*)?")
_BLOCK_TEXT = re.compile(r"[|>][+-]?\d?$")


def read_front(lines: Sequence[str], findings: Findings) -> int:
    """Read the front matter, if there is any; the number of lines it takes."""
    if lines and lines[0].startswith("% "):
        return _read_title_block(lines, findings)
    if not lines or lines[0].rstrip() != "---" or not any(map(_FIELD.match, lines[1:3])):
        return 0
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    if not end:
        return 0
    for name, values, line in _fields(lines[1:end]):
        _take(name, values, line + 1, findings)
    return end + 1


def _read_title_block(lines: Sequence[str], findings: Findings) -> int:
    """Pandoc's ``% title``, ``% authors``, ``% date``."""
    values = [line[1:].strip() for line in takewhile(lambda line: line[:1] == "%", lines[:3])]
    findings.title = values[0]
    if len(values) > 1:
        findings.authors = unique(part.strip() for part in values[1].split(";"))
    return len(values)


def _fields(lines: Sequence[str]) -> list[tuple[str, list[str], int]]:
    """Name, values and line of each field at the left margin."""
    found: list[tuple[str, list[str], int]] = []
    for number, line in enumerate(lines, start=1):
        match = _FIELD.match(line)
        if match is not None:
            values = _values(match[2] or "")
            found.append((match[1].lower(), values, number if values else number + 1))
        elif found and line.strip():
            found[-1][1].append(_nested(line))
    return found


def _nested(line: str) -> str:
    if name := _NAME.match(line):
        return _unquoted(name[1])
    dash = _DASH.match(line)
    if dash is None:
        return line.strip() if not _FIELD.match(line.strip()) else ""
    return _unquoted(dash[1]) if not _FIELD.match(dash[1]) else ""


def _values(raw: str) -> list[str]:
    raw = raw.strip()
    if _BLOCK_TEXT.match(raw) or not raw:
        return []
    if raw.startswith("[") and raw.endswith("]"):
        return [_unquoted(part) for part in raw[1:-1].split(",")]
    return [_unquoted(raw)]


def _unquoted(raw: str) -> str:
    if quoted := _QUOTED.fullmatch(raw.strip()):
        return quoted[2]
    return raw.split(" #", 1)[0].strip()


def _take(name: str, values: list[str], line: int, findings: Findings) -> None:
    if name == "title":
        findings.title = fold(" ".join(values))
    elif name in ("author", "authors"):
        findings.authors = unique(map(fold, values))
    elif name == "bibliography":
        findings.name_bibliographies(values)
    elif name == "abstract" and any(values):
        findings.blocks.append(Block("\n".join(values), line, "Abstract"))
