"""What a model is that makes vectors of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Told = Callable[[int, int], None]
"""Hears of texts done, and texts in all."""


class Embedder(Protocol):
    """A model that makes a vector of length 1 of each text; of one that says nothing, zeros."""

    @property
    def name(self) -> str:
        """What people call the model."""

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides its vectors, in hexadecimal."""

    @property
    def width(self) -> int:
        """Numbers of a vector."""

    def documents(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """A vector for each text of a document."""

    def queries(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text that looks for documents."""
