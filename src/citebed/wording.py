"""Format numbers and names for sentences, terminals and pages."""

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
"""Characters that a terminal interprets: control characters, bidirectional controls, other line
ends."""

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that are invalid in a page, or that would reverse the text around them; direction
marks within a text are fine."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 file``, ``2,000 files``, ``2 queries``."""
    if plural is None:
        ends_in_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
        plural = f"{noun[:-1]}ies" if ends_in_y else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def list_first(names: Sequence[str], most: int = 5) -> str:
    """Return the first names and the number of the others: ``a, b and 2,000 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DIGITS = re.compile(r"[+-]?[0-9]{1,30}")


def parse_number(text: str) -> float | None:
    """Parse a finite number, or return ``None``.

    Only ASCII digits count; Python would also accept ``١٢``, ``1_000`` and ``nan``.
    """
    found = float(text) if _NUMBER.fullmatch(text) else math.inf
    return found if math.isfinite(found) else None


def parse_integer(text: str) -> int | None:
    """Parse a whole number in ASCII digits, or return ``None``."""
    return int(text) if _DIGITS.fullmatch(text) else None


_ADDRESS = re.compile(r"^(https?|ftp|s3a?|file):/(?=[^/])")


def printable(name: str | Path) -> str:
    """Return a file's name that can be printed and stored, with invalid bytes written as ``\\xe9``.

    File names are bytes, and not all are valid UTF-8. Python represents invalid bytes as lone
    surrogates, which neither a terminal nor a table accepts. Pass a URL as text, because a ``Path``
    drops slashes.
    """
    return _ADDRESS.sub(r"\1://", _LONE.sub(_spelled, os.fspath(name)))


def json_text(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Return a value as JSON with every text ``printable``; infinities and nan become null."""
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
    """Return ``json_text`` with terminal controls escaped; it parses to the same value."""
    text = json_text(value, ascii_only=ascii_only)
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def for_terminal(text: str) -> str:
    """Return text with terminal controls escaped, e.g. ``\\x1b[31m``."""
    return text if text.isprintable() else _OBEYED.sub(_written_out, text)


def for_page(text: str) -> str:
    """Return text that is safe in a page; invalid characters become U+FFFD."""
    return text if text.isprintable() else _UNFIT.sub("\ufffd", text)


def shorten(text: str) -> str:
    """Return a field, shortened for quoting."""
    return text if len(text) <= 60 else f"{text[:57]}…"


_SIGN = r"[=+\-@＝＋－＠﹦﹢﹣﹫]"
_BLANKS = r'[ \xa0"]{0,20}'
_BREAK = r"[;|\t\r\n]"
_PLAIN_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_FORMULA = rf"^(?:[\t\r]|{_BLANKS}{_SIGN})"
MAYBE_FORMULA = rf"(?:{_FORMULA})|(?:{_BREAK}{_BLANKS}{_SIGN})"
"""Pattern that matches every text which `escape_formulas` changes, and numbers with a sign."""


def escape_formulas(text: str) -> str:
    """Return the text of a CSV cell with an apostrophe before whatever a spreadsheet would run.

    A spreadsheet takes a cell that starts with ``=``, ``+``, ``-``, ``@`` (or their wide forms), a
    tab or a carriage return for a formula, such as ``=HYPERLINK(…)`` in a paper's title. Where it
    splits cells at semicolons, tabs or bars, as in half of the world, this also holds for what
    follows these, or a line break, within a cell. Numbers stay as they are.
    """
    if re.fullmatch(_PLAIN_NUMBER, text):
        return text
    text = re.sub(rf"({_BREAK})(?={_BLANKS}{_SIGN})", r"\1'", text)
    return f"'{text}" if re.match(_FORMULA, text) else text
