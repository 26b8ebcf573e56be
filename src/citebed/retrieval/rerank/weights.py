"""The weights of a model, read from ``model.safetensors`` or ``pytorch_model.bin`` by name.

The safetensors format is a length, a JSON header and raw little-endian numbers, so it is read
here without a package of its own; PyTorch's pickles are in ``torch_pickle``.
"""

from __future__ import annotations

import json
import math
import mmap
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import FormatError

Weights = Mapping[str, NDArray[Any]]

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
}
_LARGEST_HEADER = 100_000_000


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file, mapped into memory; half precision comes as float32.

    Every offset is checked against the file before anything is read, so a truncated or damaged
    file is a ``FormatError`` and never a wrong tensor. Tensors of a kind that no encoder has
    (8-bit floats) are left out.
    """
    size = path.stat().st_size
    if size < 8:
        raise FormatError(path, None, f"{size} bytes are too few for a safetensors file")
    with path.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    (length,) = struct.unpack("<Q", data[:8])
    header = _header(path, data, length)
    body = data[8 + length :]
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            array = _tensor(path, name, entry, body)
            if array is not None:
                found[name] = array
    return found


def _header(path: Path, data: memoryview, length: int) -> dict[str, Any]:
    if length > min(len(data) - 8, _LARGEST_HEADER):
        raise FormatError(
            path,
            None,
            f"the header should have {length:,} bytes, the file has {len(data):,}: truncated, or "
            "not a safetensors file. Download the model again",
        )
    try:
        header = json.loads(bytes(data[8 : 8 + length]))
    except ValueError as error:
        raise FormatError(path, None, f"the header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise FormatError(path, None, "the header is not a JSON object")
    return header


def _tensor(path: Path, name: str, entry: Any, body: memoryview) -> NDArray[Any] | None:
    try:
        kind, shape = str(entry["dtype"]), tuple(int(n) for n in entry["shape"])
        start, end = (int(n) for n in entry["data_offsets"])
    except (TypeError, KeyError, ValueError) as error:
        raise FormatError(path, None, f"the entry of tensor '{name}' is not understood") from error
    if kind not in _DTYPES:
        return None
    dtype = np.dtype(_DTYPES[kind])
    if min(shape, default=0) < 0 or end - start != math.prod(shape) * dtype.itemsize or start < 0:
        raise FormatError(path, None, f"tensor '{name}' has {end - start:,} bytes for {shape}")
    if end > len(body):
        raise FormatError(
            path,
            None,
            f"truncated: tensor '{name}' should end at byte {end:,} of {len(body):,}. "
            "Download the model again",
        )
    array = np.frombuffer(body[start:end], dtype).reshape(shape)
    return bfloat16_to_float32(array) if kind == "BF16" else upcast(array)


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
