"""Small models of word vectors, made by chance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from citebed.retrieval.vectors.static_model import (
    StaticModel,
    open_static_model,
    write_static_model,
)

WORDS = ("trees", "of", "the", "sea", "leaves", "oak", "a", "salt", "resume", "3d", "x")


def write_small(
    path: Path,
    *,
    words: Sequence[str] = WORDS,
    pieces: Sequence[str] = (),
    width: int = 5,
    seed: int = 0,
) -> StaticModel:
    """A model of a few words, perhaps with pieces of others."""
    chance = np.random.default_rng(seed)
    vectors = chance.standard_normal((len(words) + len(pieces), width), np.float32)
    query = chance.standard_normal((width, width), np.float32)
    write_static_model(path, words, vectors, query, {"name": f"small {seed}"}, pieces)
    return open_static_model(path)
