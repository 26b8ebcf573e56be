"""Numbers and names in sentences."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

_LONE = re.compile("[\ud800-\udfff]")

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]"
)
"""What a terminal obeys: controls, those of the direction of writing, other ends of lines."""

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What no page may hold, or what would turn the text around it; marks within a text are fine."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``1 file``, ``2,000 files``, ``2 queries``."""
    return f"{number:,} {noun if number == 1 else plural or _plural(noun)}"


def _plural(noun: str) -> str:
    ends_in_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return f"{noun[:-1]}ies" if ends_in_y else f"{noun}s"


def first_few(names: Sequence[str], most: int = 5) -> str:
    """``a, b and 2,000 more``: the first of some names, and how many there are beyond these."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DIGITS = re.compile(r"[+-]?[0-9]{1,30}")


def number_in(text: str) -> float | None:
    """The finite number that a text is, ``None`` if it is none.

    Files and options have it in ASCII; Python would take ``١٢``, ``1_000`` and ``nan`` for numbers.
    """
    found = float(text) if _NUMBER.fullmatch(text) else math.inf
    return found if math.isfinite(found) else None


def whole_number_in(text: str) -> int | None:
    """The whole number that a text is, in ASCII digits, ``None`` if it is none."""
    return int(text) if _DIGITS.fullmatch(text) else None


def printable(name: str | Path) -> str:
    """A file's name that can be printed and stored; bytes that are no text are written ``\\xe9``.

    The names of a system's files are bytes, and not all of them are UTF-8. Python holds the others
    as lone surrogates, which neither a terminal nor a table takes.
    """
    return _LONE.sub(_spelled, os.fspath(name))


def json_text(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """A value as JSON, in which every text is ``printable``, and what JSON has no numbers for
    (infinite ones, nan) is null."""
    write = partial(json.dumps, ensure_ascii=ascii_only, indent=indent, default=str)
    try:
        text = write(value, allow_nan=False)
    except ValueError:
        text = write(_finite(value))
    return _LONE.sub(lambda found: f"\\{_spelled(found)}", text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def json_for_terminal(value: Any, *, ascii_only: bool = False) -> str:
    """``json_text`` that a terminal shows and does not obey; it reads back as the same value."""
    text = json_text(value, ascii_only=ascii_only)
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def for_terminal(text: str) -> str:
    """Text that a terminal shows and does not obey: controls are written out, ``\\x1b[31m``."""
    return text if text.isprintable() else _OBEYED.sub(_written_out, text)


def for_page(text: str) -> str:
    """Text that a page can show beside others: what it may not hold becomes U+FFFD."""
    return text if text.isprintable() else _UNFIT.sub("\ufffd", text)


def short(text: str) -> str:
    """What is quoted of a field, which may be long."""
    return text if len(text) <= 60 else f"{text[:57]}…"
