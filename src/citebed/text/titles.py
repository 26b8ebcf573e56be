"""Compare titles by their letters and digits, by runs of letters, and by their numbers."""

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
    """Return a title in lower-case letters and digits, without accents, punctuation and spaces."""
    return title.str.normalize("NFKD").str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", "")


def numbers(title: str) -> list[str]:
    """Return the numbers in a title: digits, Roman numerals, "Second", months. Titles with other
    numbers (Part I and Part II, reports of two years) belong to different papers."""
    return _NUMBER.findall(title.lower())


def alike(left: str, right: str) -> float:
    """Return the Jaccard coefficient of the trigrams of two plain titles; 0 without trigrams."""
    ours, theirs = grams(left, GRAM), grams(right, GRAM)
    common = len(ours & theirs)
    return common / max(1, len(ours) + len(theirs) - common)


def grams(text: str, size: int) -> set[str]:
    """Return every run of ``size`` letters in a text."""
    return {text[at : at + size] for at in range(len(text) - size + 1)}


# --- Many titles at once ----------------------------------------------------------------------

Hashes = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)


def letters_of(titles: Sequence[str]) -> npt.NDArray[np.uint32]:
    """Return the letters of all titles in one array."""
    return np.frombuffer("".join(titles).encode("utf-32-le"), dtype=np.uint32)


def gram_hashes(letters: npt.NDArray[np.uint32], size: int) -> Hashes:
    """Return a hash of every run of ``size`` letters; its upper bits are well mixed."""
    count = max(0, len(letters) - size + 1)
    hashes = np.zeros(count, dtype=np.uint64)
    for at in range(size):
        hashes *= _STEP
        hashes += letters[at : at + count]
    hashes *= _MIX
    return hashes
