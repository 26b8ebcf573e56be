"""Numbers and names in sentences."""

from __future__ import annotations

import json
import math
import os
import re
from functools import partial
from pathlib import Path
from typing import Any

_LONE = re.compile("[\ud800-\udfff]")

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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


def for_terminal(text: str) -> str:
    """Text from a file in a message: what a terminal would obey is written out, ``\\x1b[31m``."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def short(text: str) -> str:
    """What is quoted of a field, which may be long."""
    return text if len(text) <= 60 else f"{text[:57]}…"
