"""The citation commands of LaTeX, natbib, biblatex and apacite, wherever they are met."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citebed.drafts.findings import Findings
from citebed.patterns import compiled

_BLANK = r"[ \t]*+(?:\n[ \t]*+)?+"
# Braces in a note protect a bracket: ``\cite[{[sic]}]{a}``.
NOTE = r"\[(?:[^][{}]++|\{[^{}]*+\})*+\]"
_ARGUMENT = rf"(?:{_BLANK}(?:{NOTE}|<[^<>{{}}\n]*+>))*+{_BLANK}\{{([^{{}}]*+)\}}"
_ONE = compiled(_ARGUMENT)
_GLOBAL_NOTES = compiled(rf"(?:{_BLANK}\([^(){{}}]*+\)){{0,2}}+")
_NAME = compiled(r"(?!set|define|Declare|At|bib|newcites|renew|def)[A-Za-z]*?[Cc]ite[A-Za-z]*+")
_NO_CITATION = frozenset(("citestyle", "citeindextrue", "citeindexfalse", "citenamefont"))
_IN_TEXT = compiled(r"\\([A-Za-z]*[Cc]ite[A-Za-z]*+)\*?")


def is_citation(name: str) -> bool:
    """Whether a command of this name cites: ``cite``, ``citep``, ``Textcite``, ``footcites`` …"""
    return _NAME.fullmatch(name) is not None and name not in _NO_CITATION


def keys_at(name: str, text: str, at: int) -> tuple[tuple[str, ...], int]:
    """The keys of the citation whose command ``name`` ends at ``at``, and where it ends.

    There are none where it cannot be read.
    biblatex's plural commands (``\\cites(see)(p. 3)[1]{a}[2]{b}``) take any number of keys.
    """
    several = name.endswith("cites")
    if several and (notes := _GLOBAL_NOTES.match(text, at)):
        at = notes.end()
    keys: dict[str, None] = {}
    while (match := _ONE.match(text, at)) is not None:
        given = re.sub(r"%[^\n]*", "", match[1]).split(",")
        keys.update(dict.fromkeys("_".join(key.split()) for key in given if key.strip()))
        at = match.end()
        if not several:
            break
    return tuple(keys), at


def place_commands(text: str, findings: Findings) -> str:
    """Text that is not LaTeX as a whole, with its citation commands as citations."""
    if "cite" not in text and "Cite" not in text:
        return text
    pieces, at = [], 0
    for match in _IN_TEXT.finditer(text):
        if match.start() < at:
            continue
        keys, end = keys_at(match[1], text, match.end())
        is_read = keys or end > match.end()
        pieces += [text[at : match.start()], take(match[1], keys, findings) if is_read else ""]
        at = end
    return "".join(pieces) + text[at:]


def take(name: str, keys: Sequence[str], findings: Findings) -> str:
    """Note a citation; what it leaves in the text: a place, or nothing for ``\\nocite``."""
    if name == "nocite":
        findings.every_entry |= "*" in keys
        findings.nowhere += [key for key in keys if key != "*"]
        return ""
    return findings.cite(keys)
