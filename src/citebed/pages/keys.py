"""The keys of all pages: a key has the same meaning on every page."""

from __future__ import annotations

KEYS = {
    "?": "help",
    "/": "type",
    "Esc": "leave the field",
    "Enter": "accept or open",
    "n": "next", "p": "previous", "j": "next", "k": "previous",
    "←": "move", "→": "move", "↑": "move", "↓": "move",
    "z": "undo",
    "Del": "take back",
    **dict.fromkeys((*"123456789", "1–9"), "choose"),
    "0": "choose none",
    "u": "can't say",
    "e": "edit",
    "m": "mark",
    "c": "cite",
    "a": "abstract",
    "o": "open",
    "y": "copy the citations",
    "b": "copy BibTeX",
    "l": "list, or one at a time",
    "+": "larger", "-": "smaller", "f": "fit the screen",
    "i": "import",
    "v": "check for problems",
    "r": "new run",
    "q": "query by query",
    # Capitals change the structure of a paper.
    "A": "accept the rest",
    "D": "drop",
    "I": "insert",
    "J": "join",
    "M": "merge",
    "S": "split", "Ctrl+Enter": "split",
    "X": "anonymise",
}  # fmt: skip
"""Every key of the pages, and its action. ``g`` and a letter opens a page."""


def key_rows(*rows: str) -> list[tuple[list[str], str]]:
    """Return the rows of a page's list of keys.

    ``"n p"`` gives ``(["n", "p"], "next, previous")``, and ``"c: the paper"``
    ``(["c"], "cite: the paper")``.
    """
    found = []
    for row in rows:
        written, _, detail = row.partition(": ")
        keys = written.split()
        does = ", ".join(dict.fromkeys(KEYS[key] for key in keys))
        found.append((keys, f"{does}: {detail}" if detail else does))
    return found
