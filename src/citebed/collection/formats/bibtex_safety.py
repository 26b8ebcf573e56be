"""Entries from strangers, made harmless before they are written into an author's file.

LaTeX runs what a bibliography says: ``\\input`` reads a file, ``\\write18`` starts a program. A
command that bibliographies use is written as it stands; any other is written as text, so that it is
printed by its name. The entry is one, whatever a forged record holds: no ``@preamble`` comes with
it, and no control characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from citebed.collection.formats.bibtex_entry import ASTRONOMY
from citebed.text.latex_commands import (
    ACCENTS,
    BIBLIOGRAPHIES,
    LETTERS,
    MATHS_ACCENTS,
    NOTHING,
    OPERATORS,
    SYMBOLS,
)

COMMANDS = frozenset(
    (
        *ACCENTS,
        *MATHS_ACCENTS,
        *LETTERS,
        *SYMBOLS,
        *NOTHING,
        *OPERATORS,
        *BIBLIOGRAPHIES,
        *ASTRONOMY,
    )
)
"""The words that may follow a backslash."""

CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]"
_CONTROLS = re.compile(CONTROLS)
_COMMAND = re.compile(r"\\([A-Za-z]+)|\\.|\^\^", re.DOTALL)
_SHOWN = 5
_CARETS = r"\textasciicircum{}\textasciicircum{}"  # ``^^5c`` is a backslash to TeX


def harmless_entry(entry: str) -> str:
    """An entry in which commands that bibliographies do not use are text."""
    return _COMMAND.sub(_written, _CONTROLS.sub("", entry.replace("\r\n", "\n")))


def _written(found: re.Match[str]) -> str:
    if found[0] == "^^":
        return _CARETS
    return rf"\textbackslash{{}}{found[1]}" if _is_strange(found) else found[0]


def _is_strange(found: re.Match[str]) -> bool:
    return found[1] is not None and found[1] not in COMMANDS


def strange_commands(entry: str) -> tuple[str, ...]:
    """What ``harmless_entry`` writes as text: commands with their backslash, and ``^^``."""
    every = (
        match[0] for match in _COMMAND.finditer(entry) if match[0] == "^^" or _is_strange(match)
    )
    return tuple(dict.fromkeys(every))


def told_of_strange(commands: Iterable[str]) -> str:
    """What there is to say of commands that were written as text."""
    names = list(dict.fromkeys(commands))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    which = ", ".join(names[:_SHOWN])
    return f"LaTeX that bibliographies do not use is written as text: {which}{more}"
