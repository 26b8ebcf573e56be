"""Trained weights of encoders in small files: adapters and students.

An adapter is the difference between trained and public weights. The difference of a matrix is
stored as the product of two narrow matrices in 8 bits a number (Hu et al. 2022 train such factors;
citebed computes them from the difference of two trained encoders); biases and norms as they differ.

A student is an encoder of fewer layers, trained to return the vectors of its teacher. Its layers
are stored whole in 8 bits a number, because narrow factors lose too much. Its tables of words and
positions are its teacher's, and are not in the file.
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

SHIPPED_ADAPTER = Path(__file__).with_name("adapter.npz")
SHIPPED_STUDENT = Path(__file__).with_name("student.npz")
ADAPTER, STUDENT = "adapter", "student"
RANK = 64
_DOWN, _UP, _DIFFERENCE = "|down", "|up", "|difference"
_ROWS, _SCALES, _WHOLE = "|rows", "|scales", "|whole"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LAYER = re.compile(r"\.layer\.([0-9]+)\.")


@dataclass(frozen=True)
class TrainedFile:
    """A file of trained weights."""

    file: ModelFile

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({name.rpartition("|")[0] for name in self.file.arrays}))

    def check_finite(self, name: str, weight: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a weight; raise ``FormatError`` if it has NaN or infinite values."""
        if not np.isfinite(weight).all():
            raise damaged(self.file.path, f"'{name}' has NaN or infinite values")
        return weight


@dataclass(frozen=True)
class Adapter(TrainedFile):
    """Differences to the public weights in the file with the SHA-256 ``base``.

    ``scale`` multiplies them; less than 1 keeps more of what the public weights know of other
    texts.
    """

    base: str
    scale: float

    def apply(self, weights: Arrays) -> dict[str, NDArray[np.float32]]:
        """Return the public weights with the differences added."""
        adapted = {name: np.asarray(array, np.float32) for name, array in weights.items()}
        for name in self.names:
            if name not in adapted:
                raise damaged(self.file.path, f"it changes '{name}', which the weights lack")
            difference = self.check_finite(name, self._difference(name, adapted[name].shape))
            adapted[name] = adapted[name] + np.float32(self.scale) * difference
        return adapted

    def _difference(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        if name + _DIFFERENCE in self.file.arrays:
            return self.file.array(name + _DIFFERENCE, "float16", *shape).astype(np.float32)
        factors = []
        for part, length in zip((_UP, _DOWN), shape if len(shape) == 2 else (-1, -1), strict=True):
            whole = self.file.array(name + part, "int8", length, None)
            scales = self.file.array(f"{name}{part}.scales", "float32", whole.shape[1])
            factors.append(np.asarray(whole * scales, np.float32))
        up, down = factors
        if up.shape[1] != down.shape[1]:
            raise damaged(self.file.path, f"the factors of '{name}' have different widths")
        return np.asarray(up @ down.T, np.float32)


@dataclass(frozen=True)
class Student(TrainedFile):
    """The ``layers`` of a small encoder; ``adapter`` is the SHA-256 of its teacher's adapter."""

    adapter: str
    layers: int

    def apply(self, teacher: Arrays) -> dict[str, NDArray[np.float32]]:
        """Return the student's weights: its own layers, and the tables of its teacher."""
        shared = {name: array for name, array in teacher.items() if _layer(name) < self.layers}
        own = set(self.names)
        missing = {name for name in shared if _layer(name) >= 0} - own
        if missing or own - set(shared):
            name = sorted(missing or own - set(shared))[0]
            raise damaged(self.file.path, f"its layers do not match its teacher's: '{name}'")
        weights = {name: np.asarray(array, np.float32) for name, array in shared.items()}
        for name in own:
            shape = shared[name].shape
            if len(shape) == 2:
                rows = self.file.array(name + _ROWS, "int8", *shape)
                scales = self.file.array(name + _SCALES, "float32", shape[0])
                weight = rows * scales[:, None]
            else:
                weight = self.file.array(name + _WHOLE, "float16", *shape)
            weights[name] = self.check_finite(name, np.asarray(weight, np.float32))
        return weights


def read_adapter(path: Path = SHIPPED_ADAPTER) -> Adapter:
    """Read an adapter from its file (default: the shipped one)."""
    file = read_model(path, ADAPTER)
    base, scale = file.about.get("base"), file.about.get("scale")
    if not isinstance(base, str) or _SHA256.fullmatch(base) is None:
        raise damaged(path, "'base' is not the SHA-256 of the public weights")
    if not isinstance(scale, int | float) or not 0 < scale <= 10:
        raise damaged(path, f"its scale is {scale!r}, not a number between 0 and 10")
    return Adapter(file, base, float(scale))


def read_student(path: Path = SHIPPED_STUDENT) -> Student:
    """Read a student from its file (default: the shipped one)."""
    file = read_model(path, STUDENT)
    adapter, layers = file.about.get("adapter"), file.about.get("layers")
    if not isinstance(adapter, str) or _SHA256.fullmatch(adapter) is None:
        raise damaged(path, "'adapter' is not the SHA-256 of its teacher's adapter")
    if not isinstance(layers, int) or not 0 < layers < 1000:
        raise damaged(path, f"'layers' is {layers!r}; expected a number from 1 to 999")
    return Student(file, adapter, layers)


def write_adapter(
    path: Path, trained: Arrays, public: Arrays, about: Mapping[str, Any], *, rank: int = RANK
) -> None:
    """Write the difference between trained and public weights as a file.

    ``about`` has at least ``base`` (SHA-256 of the public file) and ``scale``. A trained array that
    the public weights lack is an error. Equal arrays are left out.
    """
    if set(trained) - set(public):
        missing = ", ".join(sorted(set(trained) - set(public))[:3])
        raise CitebedError(f"the public weights have no arrays for: {missing}")
    arrays: dict[str, NDArray[Any]] = {}
    for name in sorted(trained):
        difference = np.asarray(trained[name], np.float32) - np.asarray(public[name], np.float32)
        if not difference.any():
            continue
        if difference.ndim != 2 or min(difference.shape) <= rank:
            arrays[name + _DIFFERENCE] = difference.astype(np.float16)
            continue
        # The best approximation of a rank (Eckart and Young 1936).
        left, sizes, right = np.linalg.svd(difference, full_matrices=False)
        root = np.sqrt(sizes[:rank])
        for part, factor in ((_UP, left[:, :rank] * root), (_DOWN, right[:rank].T * root)):
            scales = np.maximum(np.abs(factor).max(axis=0) / 127, 1e-12).astype(np.float32)
            arrays[name + part] = np.rint(factor / scales).astype(np.int8)
            arrays[f"{name}{part}.scales"] = scales
    write_model(path, ADAPTER, about, arrays)


def write_student(path: Path, weights: Arrays, adapter: str, about: Mapping[str, Any]) -> None:
    """Write a student's layers, and the norm before them, as a file.

    ``adapter`` is the SHA-256 of its teacher's adapter.
    """
    layers = count_layers(weights)
    if not layers:
        raise CitebedError("these weights have no layers, which a student needs")
    arrays: dict[str, NDArray[Any]] = {}
    for name in sorted(weights):
        weight = np.asarray(weights[name], np.float32)
        if weight.ndim == 2 and _layer(name) >= 0:
            scales = np.maximum(np.abs(weight).max(axis=1) / 127, 1e-12).astype(np.float32)
            arrays[name + _ROWS] = np.rint(weight / scales[:, None]).astype(np.int8)
            arrays[name + _SCALES] = scales
        elif weight.ndim == 1 or _layer(name) >= 0:
            arrays[name + _WHOLE] = weight.astype(np.float16)
    write_model(path, STUDENT, {**about, "adapter": adapter, "layers": layers}, arrays)


def count_layers(weights: Arrays) -> int:
    """Return the number of layers that these weights have."""
    return 1 + max(map(_layer, weights), default=-1)


def _layer(name: str) -> int:
    """Return the number of the layer that a weight belongs to, or -1."""
    found = _LAYER.search(name)
    return int(found[1]) if found else -1
