"""Slices between visits at random times."""

from __future__ import annotations

import numpy as np

from citebed.errors import CitebedError
from citebed.timeline.slices.base import Range, Slices


def random_visits(number: int, over: Range, seed: int) -> Slices:
    """The user looks ``number`` times, the last time at the end, else at random.

    Every second of the range is as likely as any other; no two visits are in the same second.
    """
    if not 1 <= number <= over.length:
        raise CitebedError(
            f"random:{number}: expected from 1 visit to one each second ({over.length:,})."
        )
    rng = np.random.default_rng(seed)
    inner = over.since + 1 + rng.choice(over.length - 1, number - 1, replace=False)
    bounds = np.concatenate(([over.since], np.sort(inner), [over.until]))
    return Slices(f"random:{number}", bounds.astype(np.int64))
