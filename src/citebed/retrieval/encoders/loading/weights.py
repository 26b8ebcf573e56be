"""The weights of a model by name, read from ``model.safetensors`` or ``pytorch_model.bin``.

A model may come from anybody: what is read never takes more memory than a few times the file.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import FormatError, import_extra
from citebed.files.limits import MODEL_BYTES, check_size
from citebed.retrieval.encoders.loading.torch_pickle import (
    Tensor,
    array_of,
    bfloat16_to_float32,
    check_numbers,
    read_archive,
    read_stream,
    upcast,
)
from citebed.retrieval.vectors.model_files import Arrays

_KINDS = frozenset(("F64", "F32", "F16", "I64", "I32", "I16", "I8", "U8", "BOOL"))


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file; half precision comes as float32.

    A truncated or damaged file is a ``FormatError`` and never a wrong tensor. Tensors of a kind
    that no encoder has (8-bit floats) are left out.
    """
    library = import_extra("neural", "safetensors")
    check_size(path, MODEL_BYTES)
    try:
        with library.safe_open(path, "numpy") as file:
            names = file.keys()  # a method of the library's own: the file is no mapping
            kinds = {name: file.get_slice(name).get_dtype() for name in names}
            plain = [name for name, kind in kinds.items() if kind in _KINDS]
            found = {name: upcast(file.get_tensor(name)) for name in plain}
        if "BF16" in kinds.values():  # numpy has no such numbers: their bytes are taken
            for name, entry in library.deserialize(path.read_bytes()):
                if kinds[name] == "BF16":
                    bits = np.frombuffer(entry["data"], "<u2").reshape(entry["shape"])
                    found[name] = bfloat16_to_float32(bits)
    except library.SafetensorError as error:
        what = f"truncated, or not a safetensors file ({error}). Download the model again"
        raise FormatError(path, None, what) from error
    return found


_OLD_NORM = re.compile(r"\bLayerNorm\.(gamma|beta)$")
_NORM_NAMES = {"gamma": "weight", "beta": "bias"}


def with_current_names(weights: Arrays, prefixes: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Arrays without a wrapper's prefix (``bert.``), and with LayerNorm's names of today.

    Arrays that were converted from TensorFlow call a LayerNorm's weight and bias gamma and beta.
    """
    renamed = {}
    for name, array in weights.items():
        for prefix in prefixes:
            name = name.removeprefix(prefix)  # noqa: PLW2901 - the name without its prefixes
        renamed[_OLD_NORM.sub(lambda m: f"LayerNorm.{_NORM_NAMES[m[1]]}", name)] = array
    return renamed


def read_torch_pickle(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a file written by ``torch.save``; half precision comes as float32.

    Many models, SciBERT among them, come in no other form. Anything but a dictionary of tensors is
    a ``FormatError``.
    """
    tensors, storages = _opened(path)
    try:
        return {name: array_of(tensor, storages) for name, tensor in tensors.items()}
    except ValueError as error:
        raise _no_weights(path, error) from error


def check_torch_pickle(path: Path) -> None:
    """Raise what reading the file would raise, before another library reads it."""
    _opened(path)


def _opened(path: Path) -> tuple[dict[str, Tensor], dict[str, bytes]]:
    check_size(path, MODEL_BYTES)
    try:
        read = read_archive if zipfile.is_zipfile(path) else read_stream
        found, storages = read(path)
        tensors = {str(n): each for n, each in found.items() if isinstance(each, Tensor)}
        check_numbers(tensors.values(), path.stat().st_size)
    except FormatError:
        raise
    # A damaged pickle raises nearly anything; whatever it is, the file is to blame.
    except Exception as error:
        raise _no_weights(path, error) from error
    return tensors, storages


def _no_weights(path: Path, why: Exception) -> FormatError:
    what = f"not a file of PyTorch weights that can be read without PyTorch: {why}"
    return FormatError(path, None, what)
