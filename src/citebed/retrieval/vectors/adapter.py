"""Adapters: what training changed in a public encoder, small enough to be shipped.

The difference of a weight to the public one is kept as the product of two narrow matrices, each in
8 bits a number with a scale for each of its ranks (Hu et al. 2022 train such factors; here they are
cut from the difference of two trained encoders). Biases and norms are kept as they differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.vectors.model_files import (
    Arrays,
    ModelFile,
    damaged,
    read_model,
    write_model,
)

SHIPPED = Path(__file__).with_name("adapter.npz")
KIND = "adapter"
RANK = 64
_DOWN, _UP, _WHOLE = "|down", "|up", "|difference"
_SCALES = ".scales"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Adapter:
    """A file of differences; ``base`` is the SHA-256 of the public file that they belong to.

    ``scale`` is what they are multiplied by before they are added: less than 1 keeps more of what
    the public weights know of other texts. ``fingerprint`` is the SHA-256 of the adapter's file.
    """

    file: ModelFile
    base: str
    scale: float

    @property
    def fingerprint(self) -> str:
        return self.file.fingerprint

    @property
    def about(self) -> Mapping[str, Any]:
        """What training wrote down: data, figures, settings."""
        return self.file.about

    @property
    def names(self) -> tuple[str, ...]:
        """The weights that it changes."""
        return tuple(sorted({name.rpartition("|")[0] for name in self.file.arrays}))

    def joined(self, weights: Arrays) -> dict[str, NDArray[np.float32]]:
        """The public weights with the differences added."""
        joined = {name: np.asarray(array, np.float32) for name, array in weights.items()}
        for name in self.names:
            if name not in joined:
                raise damaged(self.file.path, f"it changes '{name}', which the weights lack")
            difference = self._difference(name, joined[name].shape)
            joined[name] = joined[name] + np.float32(self.scale) * difference
        return joined

    def _difference(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        if name + _WHOLE in self.file.arrays:
            whole = self.file.array(name + _WHOLE, "float16", *shape).astype(np.float32)
        else:
            rows, columns = shape if len(shape) == 2 else (-1, -1)
            up, down = (
                self._factor(name + _UP, rows, None),
                self._factor(name + _DOWN, columns, None),
            )
            if up.shape[1] != down.shape[1]:
                raise damaged(self.file.path, f"the factors of '{name}' do not fit each other")
            whole = up @ down.T
        if not np.isfinite(whole).all():
            raise damaged(self.file.path, f"'{name}' has numbers that are none")
        return whole

    def _factor(self, name: str, *shape: int | None) -> NDArray[np.float32]:
        whole = self.file.array(name, "int8", *shape)
        scales = self.file.array(name + _SCALES, "float32", whole.shape[1])
        return np.asarray(whole * scales, np.float32)


def read_adapter(path: Path = SHIPPED) -> Adapter:
    """An adapter from its file; by default the one that comes with citebed."""
    file = read_model(path, KIND)
    base, scale = file.about.get("base"), file.about.get("scale")
    if not isinstance(base, str) or _SHA256.fullmatch(base) is None:
        raise damaged(path, "it does not say which weights it belongs to (SHA-256)")
    if not isinstance(scale, int | float) or not 0 < scale <= 10:
        raise damaged(path, f"its scale is {scale!r}, not a number between 0 and 10")
    return Adapter(file, base, float(scale))


def write_adapter(
    path: Path, trained: Arrays, public: Arrays, about: Mapping[str, Any], *, rank: int = RANK
) -> None:
    """The difference of trained weights to public ones as a file.

    ``about`` says at least ``base`` (SHA-256 of the public file) and ``scale``. Arrays that only
    one side has are an error; those that are the same take no room.
    """
    if set(trained) - set(public):
        missing = ", ".join(sorted(set(trained) - set(public))[:3])
        raise CitebedError(f"the public weights lack what was trained: {missing}")
    arrays: dict[str, NDArray[Any]] = {}
    for name in sorted(trained):
        difference = np.asarray(trained[name], np.float32) - np.asarray(public[name], np.float32)
        if not difference.any():
            continue
        if difference.ndim == 2 and min(difference.shape) > rank:
            arrays |= _factors(name, difference, rank)
        else:
            arrays[name + _WHOLE] = difference.astype(np.float16)
    write_model(path, KIND, about, arrays)


def _factors(name: str, difference: NDArray[np.float32], rank: int) -> dict[str, NDArray[Any]]:
    """The two factors of the best approximation of a rank (Eckart and Young 1936)."""
    left, sizes, right = np.linalg.svd(difference, full_matrices=False)
    root = np.sqrt(sizes[:rank])
    up, down = left[:, :rank] * root, right[:rank].T * root
    return _quantised(name + _UP, up) | _quantised(name + _DOWN, down)


def _quantised(name: str, factor: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    scales = np.maximum(np.abs(factor).max(axis=0) / 127, 1e-12).astype(np.float32)
    return {name: np.rint(factor / scales).astype(np.int8), name + _SCALES: scales}
