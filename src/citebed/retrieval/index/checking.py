"""Whether the numbers in an index lead only where they may: compiled code follows them blindly.

A checksum tells what changed on the way; an index that somebody else made has the right ones
whatever is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index.layout import FIELDS, Arrays, Description

_SHARES = (("share.offsets", "share.postings"), ("share.lengths.offsets", "share.lengths.docs"))
_ALIKE = {"share.times": "share.postings", "share.lengths": "share.lengths.docs"}


def check(arrays: Arrays, description: Description) -> None:
    """Raise a ``ValueError`` that names an array which is not one of an index."""
    documents, terms = description.documents, description.terms
    _check_strings(arrays, "ids", documents)
    _check_strings(arrays, "terms", terms)
    _check_bounds(arrays, "offsets", terms, _numbers(arrays, "docs", documents, np.uint32))
    _check_rises(arrays["docs"], arrays["offsets"], "docs")
    _check_length("hashes", arrays["hashes"], documents, np.uint64)
    for name in FIELDS:
        if f"tf.{name}" in arrays:
            _check_length(f"length.{name}", arrays[f"length.{name}"], documents, np.uint32)
            _check_column(arrays, f"tf.{name}")
    if "papers" in arrays:
        _check_shares(arrays, description)


def _check_column(arrays: Arrays, name: str) -> None:
    """Frequencies: one for each posting, or for those that are named, in their order."""
    postings = len(arrays["docs"])
    if f"{name}.at" in arrays:
        _check_rises(arrays[f"{name}.at"], np.zeros(0, np.int64), f"{name}.at")
        postings = _numbers(arrays, f"{name}.at", postings, np.uint32)
    _check_length(name, arrays[name], postings, np.unsignedinteger)


def _check_shares(arrays: Arrays, description: Description) -> None:
    _check_strings(arrays, "papers", description.citing_papers)
    below = {"share.postings": len(arrays["docs"]), "share.lengths.docs": description.documents}
    for bounds, name in _SHARES:
        size = _numbers(arrays, name, below[name], np.uint32)
        _check_bounds(arrays, bounds, description.citing_papers, size)
    for name, other in _ALIKE.items():
        _check_length(name, arrays[name], len(arrays[other]), np.unsignedinteger)


def _check_strings(arrays: Arrays, name: str, count: int) -> None:
    """Texts: all of it UTF-8, and none begins within a character."""
    blob, offsets = arrays[name], arrays[f"{name}.offsets"]
    _check_length(name, blob, len(blob), np.uint8)
    _check_bounds(arrays, f"{name}.offsets", count, len(blob))
    blob.tobytes().decode("utf-8", "surrogatepass")
    starts = blob[offsets[offsets < len(blob)]]
    _require(not (starts & 0xC0 == 0x80).any(), name, "a text begins within a character")


def _check_bounds(arrays: Mapping[str, NDArray[Any]], name: str, count: int, size: int) -> None:
    """Where each of ``count`` spans begins, and the last ends, among ``size`` values."""
    offsets = arrays[name]
    _check_length(name, offsets, count + 1, np.int64)
    _require(offsets[0] == 0 and offsets[-1] == size, name, "they do not span all there is")
    _require(not (offsets[1:] < offsets[:-1]).any(), name, "they do not rise")


def _numbers(arrays: Arrays, name: str, below: int, kind: type[np.generic]) -> int:
    """How many numbers there are, all of them below a number."""
    found = arrays[name]
    _check_length(name, found, len(found), kind)
    _require(int(found.max(initial=0)) < max(below, 1), name, f"not all are below {below:,}")
    _require(below > 0 or not len(found), name, "there is nothing that they could mean")
    return len(found)


def _check_rises(found: NDArray[Any], starts: NDArray[np.int64], name: str) -> None:
    """Numbers rise, but for where another span of them starts."""
    falls = np.flatnonzero(found[1:] <= found[:-1]) + 1
    _require(bool(np.isin(falls, starts).all()), name, "they do not rise")


def _check_length(name: str, found: NDArray[Any], count: int, kind: type[np.generic]) -> None:
    _require(found.ndim == 1 and np.issubdtype(found.dtype, kind), name, "they are of another type")
    _require(len(found) == count, name, f"there are {len(found):,}, not {count:,}")


def _require(holds: bool, name: str, what: str) -> None:
    if not holds:
        raise ValueError(f"the numbers of '{name}' cannot be: {what}")
