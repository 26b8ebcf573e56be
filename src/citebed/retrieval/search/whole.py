"""The whole collection in numbers, for an index that has a shard of it.

A document's score depends on the collection around it: how many documents there are, how long they
are, in how many of them a term is. Who scores a shard with the numbers of the whole gets the scores
of one index of everything, to the last bit: counts are whole numbers, and weights of fields come
in only after these have been added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Whole:
    """A collection in numbers: its ``documents``, those that are ``filled`` (have any text in the
    fields that count), its ``tokens`` by field; and ``df`` and ``cf`` (by field) of terms, by their
    numbers in the shard's index.

    A df of -1 is one that nobody asked for; where ``complete`` there is none.
    """

    documents: int
    filled: int
    tokens: Mapping[str, int]
    df: Counts
    cf: Mapping[str, Counts] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the frequencies of all terms are known."""
        return bool((self.df >= 0).all())


def weighed(weights: Mapping[str, float], counts: Mapping[str, Any]) -> Any:
    """Counts by field added up, each times the weight of its field; in the fields' order, since a
    sum of floats depends on it. A field without counts adds nothing."""
    total: Any = 0.0
    for name, weight in weights.items():
        if name in counts:
            total = total + weight * counts[name]
    return total
