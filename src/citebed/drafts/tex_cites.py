"""The citation commands of LaTeX, natbib, biblatex and apacite, wherever they are met."""

from __future__ import annotations

import re
from typing import NamedTuple

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


class Citation(NamedTuple):
    """The keys of a citation command, and where it ends; no keys where it cannot be read."""

    keys: tuple[str, ...]
    end: int


def is_citation(name: str) -> bool:
    """Whether a command of this name cites: ``cite``, ``citep``, ``Textcite``, ``footcites`` …"""
    return _NAME.fullmatch(name) is not None and name not in _NO_CITATION


def citation_at(name: str, text: str, at: int) -> Citation:
    """The citation whose command ``name`` ends at ``at``.

    biblatex's plural commands (``\\cites(see)(p. 3)[1]{a}[2]{b}``) take any number of keys.
    """
    several = name.endswith("cites")
    if several and (notes := _GLOBAL_NOTES.match(text, at)):
        at = notes.end()
    keys: dict[str, None] = {}
    while (match := _ONE.match(text, at)) is not None:
        keys.update(dict.fromkeys(key for key in map(_key, match[1].split(",")) if key))
        at = match.end()
        if not several:
            break
    return Citation(tuple(keys), at)


def _key(raw: str) -> str:
    return "_".join(re.sub(r"%[^\n]*", "", raw).split())


def place_commands(text: str, findings: Findings) -> str:
    """Text that is not LaTeX as a whole, with its citation commands as citations."""
    if "cite" not in text and "Cite" not in text:
        return text
    pieces, at = [], 0
    for match in _IN_TEXT.finditer(text):
        if match.start() < at:
            continue
        citation = citation_at(match[1], text, match.end())
        pieces.append(text[at : match.start()])
        pieces.append(take(match[1], citation, findings))
        at = citation.end
    return "".join(pieces) + text[at:]


def take(name: str, citation: Citation, findings: Findings) -> str:
    """Note a citation; what it leaves in the text: a place, or nothing for ``\\nocite``."""
    if name == "nocite":
        findings.every_entry |= "*" in citation.keys
        findings.cite_nowhere(key for key in citation.keys if key != "*")
        return ""
    return findings.cite(citation.keys) if citation.keys else ""
