"""The phrases of ``vocabulary.toml`` by which papers are read, in several languages."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources


@cache
def _read() -> dict[str, str]:
    text = resources.files(__package__).joinpath("vocabulary.toml").read_text("utf-8")
    return tomllib.loads(text)


def phrases(name: str) -> str:
    """Return a regular expression for any phrase in one list."""
    return "|".join(_read()[name].splitlines())
