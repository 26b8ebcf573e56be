"""Numbers in sentences."""

from __future__ import annotations


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``1 file``, ``2,000 files``, ``2 queries``."""
    return f"{number:,} {noun if number == 1 else plural or _plural(noun)}"


def _plural(noun: str) -> str:
    ends_in_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return f"{noun[:-1]}ies" if ends_in_y else f"{noun}s"
