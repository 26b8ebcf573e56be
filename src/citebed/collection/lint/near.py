"""Titles that are nearly the same, without comparing all with all.

Two titles are as alike as the Jaccard coefficient of their sets of letter trigrams (of the
title folded to letters and digits). Only titles with a key in common are compared. Those
pairs are many, so each set is drawn as a signature of 128 bits, a bit for each trigram's
hash: the bits in which two signatures differ are at most as many as the trigrams in which
the sets differ, and that number is bounded for titles that are alike. The test loses nothing
and leaves so few pairs that their sets can be compared one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

GRAM = 3
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SCHEMA = {"row": pl.UInt32(), "other": pl.UInt32(), "alike": pl.Float64()}

Words = npt.NDArray[np.uint64]


def alike(left: str, right: str) -> float:
    """The Jaccard coefficient of the trigrams of two folded titles; 0 where there are none."""
    ours, theirs = grams(left, GRAM), grams(right, GRAM)
    common = len(ours & theirs)
    return common / max(1, len(ours) + len(theirs) - common)


def grams(text: str, size: int) -> set[str]:
    """Every run of so many letters in a text."""
    return {text[at : at + size] for at in range(len(text) - size + 1)}


def near_pairs(titles: pl.Series, keys: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Pairs of rows of ``titles`` (folded) that are at least ``threshold`` alike and not equal.

    ``keys`` has the columns ``row`` and ``key``: rows with a key in common are compared.
    Gives ``row``, ``other`` (``row`` < ``other``) and ``alike``, in that order.
    """
    texts = titles.to_list()
    pairs: list[tuple[int, int, float]] = []
    for row, other in _candidates(titles, keys, threshold):
        if texts[row] != texts[other] and (value := alike(texts[row], texts[other])) >= threshold:
            pairs.append((row, other, value))
    return pl.DataFrame(sorted(pairs), schema=_SCHEMA, orient="row")


def _candidates(
    titles: pl.Series, keys: pl.DataFrame, threshold: float
) -> Iterator[tuple[int, int]]:
    """The pairs whose signatures differ in no more bits than the threshold allows."""
    low, high = _signatures(titles)
    size = titles.str.len_chars().cast(pl.Int64) - (GRAM - 1)
    drawn = pl.DataFrame({"size": size, "low": low, "high": high}).with_row_index("row")
    side = keys.select(pl.col("row").cast(pl.UInt32), "key").unique().join(drawn, on="row").lazy()
    bound = (1 - threshold) / (1 + threshold) * (pl.col("size") + pl.col("size_right"))
    different = _different_bits("low") + _different_bits("high")
    pairs = (
        side.join(side, on="key")
        .filter((pl.col("row") < pl.col("row_right")) & (different <= bound))
        .select("row", "row_right")
        .unique()
        .collect()
    )
    yield from pairs.iter_rows()


def _different_bits(word: str) -> pl.Expr:
    return (pl.col(word) ^ pl.col(f"{word}_right")).bitwise_count_ones().cast(pl.Int64)


def _signatures(titles: pl.Series) -> tuple[Words, Words]:
    """Two words of 64 bits for each title: the bits that its trigrams' hashes name."""
    sizes = titles.str.len_chars().to_numpy().astype(np.int64)
    letters = np.frombuffer("".join(titles.to_list()).encode("utf-32-le"), dtype=np.uint32)
    low, high = (np.zeros(len(sizes), dtype=np.uint64) for _ in range(2))
    if len(letters) < GRAM:
        return low, high
    hashes = _hashes(letters)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    hashes_owned = owners[: len(hashes)] == owners[GRAM - 1 :]
    bits = np.uint64(1) << (hashes & np.uint64(63))
    upper = (hashes >> np.uint64(6)) & np.uint64(1) == 1
    starts, filled = (np.cumsum(sizes) - sizes)[sizes > 0], sizes > 0
    for word, chosen in ((low, ~upper), (high, upper)):
        drawn = np.zeros(len(letters), dtype=np.uint64)
        drawn[: len(hashes)] = np.where(hashes_owned & chosen, bits, np.uint64(0))
        word[filled] = np.bitwise_or.reduceat(drawn, starts)
    return low, high


def _hashes(letters: npt.NDArray[np.uint32]) -> Words:
    """A well mixed number for every run of ``GRAM`` letters."""
    count = len(letters) - GRAM + 1
    hashes = np.zeros(count, dtype=np.uint64)
    for at in range(GRAM):
        hashes = hashes * _STEP + letters[at : at + count]
    return (hashes * _MIX) >> np.uint64(40)
