"""The weights of a model, read from ``model.safetensors`` by name, and what they are called.

PyTorch's pickles are in ``torch_pickle``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import FormatError, MissingExtra

Weights = Mapping[str, NDArray[Any]]

_KINDS = frozenset(("F64", "F32", "F16", "I64", "I32", "I16", "I8", "U8", "BOOL"))


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file; half precision comes as float32.

    A truncated or damaged file is a ``FormatError`` and never a wrong tensor. Tensors of a kind
    that no encoder has (8-bit floats) are left out.
    """
    try:
        from safetensors import SafetensorError, deserialize, safe_open
    except ImportError as error:
        raise MissingExtra("neural", "safetensors") from error
    try:
        with safe_open(path, "numpy") as file:
            names = file.keys()  # a method of the library's own: the file is no mapping
            kinds = {name: file.get_slice(name).get_dtype() for name in names}
            plain = [name for name, kind in kinds.items() if kind in _KINDS]
            found = {name: upcast(file.get_tensor(name)) for name in plain}
        if "BF16" in kinds.values():  # numpy has no such numbers: their bytes are taken
            for name, entry in deserialize(path.read_bytes()):  # type: ignore[no-untyped-call]
                if kinds[name] == "BF16":
                    bits = np.frombuffer(entry["data"], "<u2").reshape(entry["shape"])
                    found[name] = bfloat16_to_float32(bits)
    except SafetensorError as error:
        what = f"truncated, or not a safetensors file ({error}). Download the model again"
        raise FormatError(path, None, what) from error
    return found


def bfloat16_to_float32(bits: NDArray[Any]) -> NDArray[np.float32]:
    """bfloat16 is the upper half of a float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def upcast(array: NDArray[Any]) -> NDArray[Any]:
    """Floats of any width as float32; whole numbers as they are."""
    return array.astype(np.float32, copy=False) if array.dtype.kind == "f" else array


_OLD_NORM = re.compile(r"\bLayerNorm\.(gamma|beta)$")
_NORM_NAMES = {"gamma": "weight", "beta": "bias"}


def with_current_names(weights: Weights, prefixes: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Weights without a wrapper's prefix (``bert.``), and with LayerNorm's names of today.

    Weights that were converted from TensorFlow call a LayerNorm's weight and bias gamma and beta.
    """
    renamed = {}
    for name, array in weights.items():
        for prefix in prefixes:
            name = name.removeprefix(prefix)  # noqa: PLW2901 - the name without its prefixes
        renamed[_OLD_NORM.sub(lambda m: f"LayerNorm.{_NORM_NAMES[m[1]]}", name)] = array
    return renamed
