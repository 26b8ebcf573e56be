"""A line of JSON Lines as an object, or what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from citebed.errors import FormatError


def json_object(path: Path, number: int, line: str, expected: str) -> dict[str, Any]:
    """The object of a line; ``expected`` says what it should look like."""
    try:
        row = json.loads(line)
        if "\\ud" in line.lower():  # JSON can spell half a character; no table or file holds it
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start].encode("ascii", "backslashreplace").decode()
        what = f"{half} is half a character. Write all of it, or take it out."
        raise FormatError(path, number, what) from None
    except (ValueError, RecursionError) as error:  # also of a number of thousands of digits
        raise FormatError(path, number, f"is not JSON ({error}). {expected}") from None
    if not isinstance(row, dict):
        raise FormatError(path, number, f"found no JSON object. {expected}")
    return row
