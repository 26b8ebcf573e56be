"""What a search finds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Hits(NamedTuple):
    """Documents by number with their scores, best first; of equal ones the later id first."""

    docs: NDArray[np.int64]
    scores: NDArray[np.float64]


NOTHING = Hits(np.zeros(0, np.int64), np.zeros(0, np.float64))
