"""Students: encoders of a few layers that learned to give the vectors of one of many.

A student's layers are kept whole, in 8 bits a number with a scale for each row of a matrix; cut to
narrow factors, as an adapter is, they lose too much. Its tables of words and positions are its
teacher's, and are not in the file.
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

SHIPPED = Path(__file__).with_name("student.npz")
KIND = "student"
_ROWS, _SCALES, _WHOLE = "|rows", "|scales", "|whole"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LAYER = re.compile(r"\.layer\.([0-9]+)\.")


@dataclass(frozen=True)
class Student:
    """A file of layers; ``adapter`` is the SHA-256 of the adapter that makes its teacher.

    ``fingerprint`` is the SHA-256 of the student's own file.
    """

    file: ModelFile
    adapter: str
    layers: int

    @property
    def fingerprint(self) -> str:
        return self.file.fingerprint

    @property
    def about(self) -> Mapping[str, Any]:
        """What training wrote down: data, figures, settings."""
        return self.file.about

    def joined(self, teacher: Arrays) -> dict[str, NDArray[np.float32]]:
        """The student's weights: its own layers, and what it shares with its teacher."""
        kept = {name: array for name, array in teacher.items() if _layer(name) < self.layers}
        named = {name.rpartition("|")[0] for name in self.file.arrays}
        lacks = {name for name in kept if _layer(name) >= 0} - named
        if lacks or named - set(kept):
            odd = sorted(lacks or named - set(kept))[0]
            raise damaged(self.file.path, f"its layers are not those of its teacher: '{odd}'")
        own = {name: self._weight(name, kept[name].shape) for name in named}
        return {name: np.asarray(array, np.float32) for name, array in kept.items()} | own

    def _weight(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        if len(shape) == 2:
            rows = self.file.array(name + _ROWS, "int8", *shape)
            scales = self.file.array(name + _SCALES, "float32", shape[0])
            weight = np.asarray(rows * scales[:, None], np.float32)
        else:
            weight = np.asarray(self.file.array(name + _WHOLE, "float16", *shape), np.float32)
        if not np.isfinite(weight).all():
            raise damaged(self.file.path, f"'{name}' has numbers that are none")
        return weight


def read_student(path: Path = SHIPPED) -> Student:
    """A student from its file; by default the one that comes with citebed."""
    file = read_model(path, KIND)
    adapter, layers = file.about.get("adapter"), file.about.get("layers")
    if not isinstance(adapter, str) or _SHA256.fullmatch(adapter) is None:
        raise damaged(path, "it does not say which adapter makes its teacher (SHA-256)")
    if not isinstance(layers, int) or not 0 < layers < 1000:
        raise damaged(path, f"it has {layers!r} layers, not a number of them")
    return Student(file, adapter, layers)


def write_student(path: Path, weights: Arrays, adapter: str, about: Mapping[str, Any]) -> None:
    """The layers of a student, and the norm before them, as a file.

    ``adapter`` is the SHA-256 of the adapter that makes its teacher.
    """
    layers = layers_of(weights)
    if not layers:
        raise CitebedError("a student has layers; these weights have none")
    arrays: dict[str, NDArray[Any]] = {}
    for name in sorted(weights):
        if _layer(name) >= 0 or weights[name].ndim == 1:
            arrays |= _packed(name, np.asarray(weights[name], np.float32))
    write_model(path, KIND, {**about, "adapter": adapter, "layers": layers}, arrays)


def layers_of(weights: Arrays) -> int:
    """How many layers weights are of."""
    return 1 + max(map(_layer, weights), default=-1)


def _layer(name: str) -> int:
    """The number of the layer that a weight is of; -1 where it is of none."""
    found = _LAYER.search(name)
    return int(found[1]) if found else -1


def _packed(name: str, weight: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    if weight.ndim != 2:
        return {name + _WHOLE: weight.astype(np.float16)}
    scales = np.maximum(np.abs(weight).max(axis=1) / 127, 1e-12).astype(np.float32)
    rows = np.rint(weight / scales[:, None]).astype(np.int8)
    return {name + _ROWS: rows, name + _SCALES: scales}
