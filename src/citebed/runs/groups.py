"""Files that say what belongs where: lines of a name and its group."""

from __future__ import annotations

from pathlib import Path

from citebed.errors import FormatError
from citebed.files.reading import read_lines


def read_groups(path: Path, name: str, group: str) -> dict[str, str]:
    """The group of each name; blank lines and ``#`` comments are skipped.

    ``name`` and ``group`` are what the two fields are called in messages.
    """
    found: dict[str, str] = {}
    for number, line in read_lines(path):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        if len(parts) != 2:
            raise FormatError(
                path, number, f"found {len(parts)} fields, expected two: {name} and {group}."
            )
        if found.setdefault(parts[0], parts[1]) != parts[1]:
            raise FormatError(path, number, f"the {name} '{parts[0]}' is in a second {group}.")
    return found
