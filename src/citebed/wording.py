"""Numbers and names in sentences."""

from __future__ import annotations

import os
from pathlib import Path


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``1 file``, ``2,000 files``, ``2 queries``."""
    return f"{number:,} {noun if number == 1 else plural or _plural(noun)}"


def _plural(noun: str) -> str:
    ends_in_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return f"{noun[:-1]}ies" if ends_in_y else f"{noun}s"


def printable(name: str | Path) -> str:
    """A file's name that can be printed and stored; bytes that are no text are written ``\\xe9``.

    The names of a system's files are bytes, and not all of them are UTF-8. Python holds the others
    as lone surrogates, which neither a terminal nor a table takes.
    """
    text = os.fspath(name)
    return text.encode("utf-8", "backslashreplace").decode().replace("\\udc", "\\x")
