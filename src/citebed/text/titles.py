"""Compare titles by their letters and digits, by runs of letters, and by their numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from citebed.text.normalise import fold

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


# --- The parts of a paper that headings name ------------------------------------------------------


BELOW = " / "
"""Separates a heading from those below it: ``Related Work / Test collections``."""
NO_HEADING = "none"
"""The name of text without a heading in a list of sections."""

_ALSO = {
    "introduction": ("intro",),
    "related work": (
        *("related research", "related literature", "related studies", "previous work"),
        *("previous research", "prior work", "prior research", "earlier work", "existing work"),
        *("literature review", "literature survey", "review of the literature", "state of the art"),
    ),
}
_NUMBER = re.compile(
    r"(?:section |chapter )?(?:\d+(?:\.\d+)*\s?[.:)]?\s*|(?:[ivx]+|[a-z])\s?[.:)]?\s+)"
)
_PARTS = re.compile(r"\s?(?:[,:;/&|–—]|\band\b|\bor\b|\+)\s?")


def is_under(section: str, wanted: Collection[str]) -> bool:
    """Return True if a heading, or one above it, names one of the wanted parts of a paper.

    The heading, or one of its pieces around "and", must begin with the words of the part: ``1.
    Introduction and Motivation`` names ``introduction``.
    """
    if not section:
        return NO_HEADING in wanted
    headings = [_plain(heading) for heading in section.split(BELOW)]
    pieces = {piece for heading in headings for piece in (heading, *_PARTS.split(heading))}
    return any(_names(part).match(piece) for part in wanted for piece in pieces)


def _plain(heading: str) -> str:
    """Return a heading in lower case, without its number, with spaces for hyphens."""
    lower = re.sub(r"[-_‐‑\s]+", " ", fold(heading).lower())
    number = _NUMBER.match(lower)
    return lower[number.end() :] if number else lower


def _names(part: str) -> re.Pattern[str]:
    words = re.sub(r"[-_\s]+", " ", part.strip().lower())
    every = "|".join(map(re.escape, (words, *_ALSO.get(words, ()))))
    return re.compile(rf"(?:{every})s?\b")
