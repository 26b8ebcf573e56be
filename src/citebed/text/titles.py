"""Titles as they are compared: letters and digits only, runs of letters, what they count by."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

GRAM = 3
_COUNTED = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "one two three four five six seven eight nine ten "
    "january february march april june july august september october november december "
    "spring summer autumn fall winter"
)
_NUMBER = re.compile(rf"\d+|\b(?:{'|'.join(_COUNTED.split())}|[a-z]+(?:teen|ty)(?:th)?|[ivx]+)\b")


def plain_title(title: pl.Expr) -> pl.Expr:
    """A title as letters and digits only: no case, accents, punctuation or blanks."""
    return title.str.normalize("NFKD").str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", "")


def numbers(title: str) -> list[str]:
    """What a title counts by: digits, Roman numerals, "Second", months. Titles that differ in
    these (Part I and Part II, the reports of two years) are meant to be alike."""
    return _NUMBER.findall(title.lower())


def alike(left: str, right: str) -> float:
    """The Jaccard coefficient of the trigrams of two folded titles; 0 where there are none."""
    ours, theirs = grams(left, GRAM), grams(right, GRAM)
    common = len(ours & theirs)
    return common / max(1, len(ours) + len(theirs) - common)


def grams(text: str, size: int) -> set[str]:
    """Every run of so many letters in a text."""
    return {text[at : at + size] for at in range(len(text) - size + 1)}


# --- Of many titles at once -------------------------------------------------------------------

Hashes = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)


def letters_of(titles: Sequence[str]) -> npt.NDArray[np.uint32]:
    """The letters of all titles behind one another."""
    return np.frombuffer("".join(titles).encode("utf-32-le"), dtype=np.uint32)


def gram_hashes(letters: npt.NDArray[np.uint32], size: int) -> Hashes:
    """A number for every run of so many letters, well mixed in its upper bits."""
    count = max(0, len(letters) - size + 1)
    hashes = np.zeros(count, dtype=np.uint64)
    for at in range(size):
        hashes *= _STEP
        hashes += letters[at : at + count]
    hashes *= _MIX
    return hashes
