"""The sizes of slices to study, and the levels of disorder, as they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citebed.errors import CitebedError

DOCUMENTS = "10,100,200"
RELEVANT = "D/2,D/10"
MOST = 1_000_000


@dataclass(frozen=True)
class Setting:
    """A slice of ``D`` documents of which ``R`` are relevant.

    ``written`` is R as it was asked for: settings with the same are alike but for their length.
    """

    D: int
    R: int
    written: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.D <= MOST:
            raise CitebedError(
                f"D={self.D}: rankings of 1 to {MOST:,} documents can be studied. A slice with "
                "more is alike but for its length: take a tenth of both D and R."
            )
        if not 1 <= self.R <= self.D:
            raise CitebedError(
                f"D={self.D}, R={self.R}: of {self.D} documents from 1 to {self.D} can be relevant."
            )

    def __str__(self) -> str:
        return f"D={self.D}, R={self.R}"


def settings_of(documents: str = DOCUMENTS, relevant: str = RELEVANT) -> list[Setting]:
    """Every number of documents with every number of relevant ones.

    Lists with commas; a number of relevant documents is whole, or a part of all: ``D/10``. A
    setting that comes twice counts once.
    """
    found: dict[tuple[int, int], Setting] = {}
    for text in _pieces(documents, "the numbers of documents"):
        length = _whole(text, "the number of documents")
        for written in _pieces(relevant, "the numbers of relevant documents"):
            setting = Setting(length, _relevant(written, length), written)
            found.setdefault((setting.D, setting.R), setting)
    return list(found.values())


def levels_of(text: str) -> tuple[float, ...]:
    """Levels of disorder from 0 to 1, in rising order, each once."""
    found = set()
    for piece in _pieces(text, "the levels"):
        try:
            found.add(float(piece))
        except ValueError:
            raise CitebedError(f"the level '{piece}' is not a number from 0 to 1.") from None
    return checked_levels(sorted(found))


def checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Levels that are all from 0 to 1, or an error that names the first that is not."""
    if not levels:
        raise CitebedError("no level of disorder is given. Give some from 0 to 1, e.g. 0,0.5,1.")
    for level in levels:
        if not 0 <= level <= 1:
            raise CitebedError(
                f"the level of disorder θ={level:g} is not from 0 (ideal) to 1 (most disorder)."
            )
    return tuple(float(level) + 0.0 for level in levels)  # -0.0 becomes 0.0


def _pieces(text: str, what: str) -> list[str]:
    pieces = [piece.replace(" ", "") for piece in text.split(",")]
    if not all(pieces):
        raise CitebedError(f"cannot read {what}, '{text}': expected a list like {DOCUMENTS}.")
    return pieces


def _whole(text: str, what: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise CitebedError(f"cannot read {what}, '{text}': expected a whole number.")
    return int(text)


def _relevant(text: str, length: int) -> int:
    if not text.upper().startswith("D"):
        return _whole(text, "the number of relevant documents")
    if not re.fullmatch(r"[Dd](/0*[1-9]\d{0,8})?", text):
        raise CitebedError(f"cannot read '{text}' relevant documents: expected D/10, or a number.")
    parts = int(text[2:] or 1)
    if length % parts:
        raise CitebedError(
            f"'{text}' of {length} documents is no whole number. Take numbers of documents that "
            f"{parts} divides, or give R as a number."
        )
    return length // parts
