"""Terms as numbers of a fixed range, so that what is counted does not grow with the stream.

Different terms may share a number; with a million of them and the words of a language, few do.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


@lru_cache(maxsize=1 << 17)
def number(term: str) -> int:
    """The 32-bit number of a term, the same in every process."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def counted(terms: Iterable[str], buckets: int) -> tuple[Numbers, Values]:
    """The buckets of a text's terms in ascending order, and how often each occurs."""
    counts = Counter(number(term) % buckets for term in terms)
    keys = sorted(counts)
    return np.array(keys, np.int64), np.array([counts[key] for key in keys], np.float64)


def checked_buckets(given: float) -> int:
    """The number of buckets, if it is a sensible one."""
    if given != int(given) or not 1024 <= given <= 1 << 28:
        raise CitebedError(f"buckets={given:g} is not a whole number from 1024 to {1 << 28}")
    return int(given)


def packed(name: str, array: Values) -> dict[str, NDArray[np.generic]]:
    """An array of mostly zeros in little room: the places that are not, and what is there."""
    places = np.flatnonzero(array.ravel() != 0)
    return {f"{name}_places": places, f"{name}_values": array.ravel()[places]}


def unpacked(name: str, state: dict[str, NDArray[np.generic]], shape: tuple[int, ...]) -> Values:
    """The array that was ``packed`` under a name."""
    array: Values = np.zeros(shape, np.float64)
    array.ravel()[state[f"{name}_places"].astype(np.int64)] = state[f"{name}_values"]
    return array
