"""Slices with equal numbers of relevant documents."""

from __future__ import annotations

import numpy as np

from citebed.errors import CitebedError
from citebed.timeline.slices.base import Range, Slices


def equal(number: int, over: Range) -> Slices:
    """Each slice ends when it has ``number`` relevant documents, of all queries together.

    Documents of the same second are never parted, so a slice may have more; what is left at
    the end, fewer than ``number``, belongs to the last slice.
    """
    if number < 1:
        raise CitebedError(f"equal:{number}: a slice needs one relevant document at least.")
    times = over.within()
    if number > len(times):
        raise CitebedError(
            f"equal:{number}: slices of {number} relevant documents are longer than the range, "
            f"which has {len(times)}."
        )
    bounds, at = [over.since], 0
    while len(times) - at >= 2 * number:
        at = int(np.searchsorted(times, times[at + number - 1], "right"))
        if len(times) - at < number:
            break
        bounds.append(int(times[at - 1]) + 1)
    return Slices(f"equal:{number}", np.array([*bounds, over.until], np.int64))
