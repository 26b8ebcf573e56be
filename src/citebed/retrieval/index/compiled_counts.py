"""Counting the tokens of many texts, compiled by numba: for large collections.

``counting.counted`` is the slow and obvious twin, whose postings are sorted.
"""

from __future__ import annotations

import numpy as np

from citebed.retrieval.compiling import compiled


@compiled(nogil=True)
def counted(ids, rows, where, shift, most):  # type: ignore[no-untyped-def]
    """Postings in the order of their rows, which rise, and how many tokens each row has."""
    terms = ids.max() + 1 if ids.size else 0
    keys, lengths = np.empty(ids.size, np.uint64), np.zeros(where.size, np.uint32)
    row_of, place_of = np.full(terms, -1, np.int64), np.empty(terms, np.int64)
    n = 0
    for i in range(ids.size):
        term, row = ids[i], rows[i]
        if term < 0:
            continue
        lengths[row] += 1
        if row_of[term] != row:
            row_of[term], place_of[term] = row, n
            keys[n] = np.uint64(term) << np.uint64(shift) | where[row] | np.uint64(1)
            n += 1
        elif keys[place_of[term]] & np.uint64(most) < np.uint64(most):
            keys[place_of[term]] += np.uint64(1)
    return keys[:n], lengths
