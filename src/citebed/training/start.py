"""What an encoder's training starts from: a model's folder, with its weights or others' beside."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError
from citebed.files.limits import MODEL_BYTES, check_size
from citebed.retrieval.encoders.loading.architectures import Shape, shape_of, why_not_built
from citebed.retrieval.encoders.loading.folder import ModelFolder, open_folder, read_json
from citebed.retrieval.encoders.loading.torch_pickle import upcast
from citebed.retrieval.encoders.loading.weights import (
    read_safetensors,
    read_torch_pickle,
    with_current_names,
)
from citebed.retrieval.vectors.model_files import Arrays, read_arrays
from citebed.wording import printable


@dataclass(frozen=True)
class Start:
    """A model to be trained: its folder, its shape, and the weights that the network has."""

    folder: ModelFolder
    shape: Shape
    weights: dict[str, NDArray[np.float32]]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all weights."""
        digest = hashlib.sha256()
        for name in sorted(self.weights):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(self.weights[name]).tobytes())
        return digest.hexdigest()


def read_start(folder: str | Path, files: Sequence[str | Path] = ()) -> Start:
    """A model's folder; with ``files`` (``.npz`` or ``.safetensors``) the weights are theirs."""
    path = Path(folder)
    if files:
        config = read_json(path / "config.json")
        if config is None:
            raise CitebedError(f"'{printable(path)}' has no config.json, which tells the shape.")
        found: dict[str, NDArray[Any]] = {}
        for each in files:
            found |= _read(Path(each))
        opened = ModelFolder(path, Path(files[0]), config)
    else:
        opened = open_folder(path)
        found = _read(opened.weights)
    if reason := why_not_built(opened.config):
        raise CitebedError(f"the model in '{printable(path)}' cannot be trained: {reason}.")
    shape = shape_of(opened.config)
    current = with_current_names(found, shape.architecture.prefixes)
    return Start(opened, shape, _needed(current, shape, opened.weights))


def _read(path: Path) -> dict[str, NDArray[Any]]:
    if path.suffix == ".npz":
        return {name: upcast(array) for name, array in read_arrays(path).items()}
    if path.suffix == ".safetensors":
        return read_safetensors(path)
    if path.suffix == ".bin":
        return read_torch_pickle(path)
    if path.suffix == ".onnx":
        from citebed.retrieval.encoders.fetching.joining import onnx_weights

        check_size(path, MODEL_BYTES)
        return onnx_weights(path.read_bytes())
    raise CitebedError(
        f"'{printable(path)}' cannot be trained from; give weights as .safetensors or .npz."
    )


def names_of_weights(shape: Shape) -> Iterator[str]:
    """What the weights of a network are called."""
    kind = shape.architecture
    tables = ["word", "position", *(["token_type"] if kind.has_token_types else [])]
    yield from (f"embeddings.{table}_embeddings.weight" for table in tables)
    parts = ["embeddings.LayerNorm"]
    for number in range(shape.layers):
        names = (*kind.names.attention, *kind.names[1:])
        parts += [f"{kind.layers}.{number}.{name}" for name in names]
    for part in parts:
        yield from (f"{part}.weight", f"{part}.bias")


def _needed(found: Arrays, shape: Shape, path: Path) -> dict[str, NDArray[np.float32]]:
    wanted = list(names_of_weights(shape))
    missing = [name for name in wanted if name not in found]
    if missing:
        what = f"lacks {missing[0]} and {len(missing) - 1} other weights of its config.json."
        raise FormatError(path, None, what)
    return {name: np.asarray(found[name], np.float32) for name in wanted}
