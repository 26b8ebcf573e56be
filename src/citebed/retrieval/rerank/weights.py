"""The weights of a model by name, read from ``model.safetensors`` or ``pytorch_model.bin``.

A file that ``torch.save`` wrote (many models, SciBERT among them, come in no other form) is a
pickle whose tensors point at raw storages: since PyTorch 1.6 in a ZIP archive, before that one
after another behind the pickle. It is read without PyTorch, with a table of the few names that a
dictionary of tensors needs; any other name ends the reading, so that no code of the file is ever
run.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import FormatError, import_extra

Weights = Mapping[str, NDArray[Any]]

_KINDS = frozenset(("F64", "F32", "F16", "I64", "I32", "I16", "I8", "U8", "BOOL"))


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file; half precision comes as float32.

    A truncated or damaged file is a ``FormatError`` and never a wrong tensor. Tensors of a kind
    that no encoder has (8-bit floats) are left out.
    """
    library = import_extra("neural", "safetensors")
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


# --- PyTorch's pickles ----------------------------------------------------------------------

_MAGIC = 0x1950A86A20F9469CFC6C
_STORAGES = {
    "Double": "<f8", "Float": "<f4", "Half": "<f2", "BFloat16": "bfloat16", "Long": "<i8",
    "Int": "<i4", "Short": "<i2", "Char": "i1", "Byte": "u1", "Bool": "?",
}  # fmt: skip


class _StorageType(NamedTuple):
    """What ``torch.FloatStorage`` stands for: how the numbers of a storage are written."""

    dtype: str


class _Storage(NamedTuple):
    """A storage that a tensor points at; its numbers are read when all names are known."""

    key: str
    dtype: str
    size: int


class _Tensor(NamedTuple):
    """A view of a storage: where it starts, its shape and its strides, counted in numbers."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _rebuild_tensor(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object
) -> _Tensor:
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


_KNOWN = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
    **{("torch", f"{name}Storage"): _StorageType(how) for name, how in _STORAGES.items()},
}


class _Unpickler(pickle.Unpickler):
    """Reads names of the table only; a storage stays a note of where its numbers are."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _KNOWN:
            return _KNOWN[module, name]
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no table of weights needs")

    def persistent_load(self, pid: Any) -> _Storage:
        kind, storage_type, key, _location, size, *view = pid
        if kind != "storage" or not isinstance(storage_type, _StorageType) or any(view):
            raise pickle.UnpicklingError("a storage of an unknown kind")  # nested, it has no end
        return _Storage(str(key), storage_type.dtype, int(size))


def read_torch_pickle(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a file written by ``torch.save``; half precision comes as float32.

    Anything but a dictionary of tensors is a ``FormatError``.
    """
    try:
        if zipfile.is_zipfile(path):
            tensors, storages = _read_archive(path)
        else:
            tensors, storages = _read_stream(path)
        return {
            str(name): _array(tensor, storages)
            for name, tensor in tensors.items()
            if isinstance(tensor, _Tensor)
        }
    except FormatError:
        raise
    # A damaged pickle raises nearly anything; whatever it is, the file is to blame.
    except Exception as error:
        what = f"not a file of PyTorch weights that can be read without PyTorch: {error}"
        raise FormatError(path, None, what) from error


def _read_archive(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        root = next(name for name in names if name.endswith("data.pkl")).removesuffix("data.pkl")
        if f"{root}byteorder" in names and archive.read(f"{root}byteorder") != b"little":
            raise FormatError(path, None, "written on a big-endian machine")
        tensors = _Unpickler(io.BytesIO(archive.read(f"{root}data.pkl"))).load()
        wanted = {t.storage.key for t in tensors.values() if isinstance(t, _Tensor)}
        sizes = [archive.getinfo(f"{root}data/{key}").file_size for key in wanted]
        if sum(sizes) > path.stat().st_size:  # PyTorch packs nothing, and nothing twice
            raise FormatError(path, None, "its storages are larger than the file")
        return tensors, {key: archive.read(f"{root}data/{key}") for key in wanted}


def _read_stream(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The form before PyTorch 1.6: magic number, version, system, tensors, keys, storages."""
    with path.open("rb") as file:
        if _Unpickler(file).load() != _MAGIC:
            raise FormatError(path, None, "not a file of PyTorch weights")
        _Unpickler(file).load()
        _Unpickler(file).load()
        tensors = _Unpickler(file).load()
        keys = _Unpickler(file).load()
        found = (t.storage for t in tensors.values() if isinstance(t, _Tensor))
        widths = {storage.key: _width(storage.dtype) for storage in found}
        return tensors, {str(key): _next_storage(file, widths[str(key)]) for key in keys}


def _next_storage(file: IO[bytes], width: int) -> bytes:
    (count,) = struct.unpack("<q", file.read(8))
    data = file.read(count * width)
    if len(data) != count * width:
        raise ValueError("the file is truncated")
    return data


def _width(dtype: str) -> int:
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def _array(tensor: _Tensor, storages: dict[str, bytes]) -> NDArray[Any]:
    half = tensor.storage.dtype == "bfloat16"
    flat = np.frombuffer(storages[tensor.storage.key], "<u2" if half else tensor.storage.dtype)
    last = tensor.offset + sum(
        (n - 1) * step for n, step in zip(tensor.shape, tensor.strides, strict=True)
    )
    reaches = last >= max(len(flat), 1) or math.prod(tensor.shape) > max(len(flat), 1)
    if tensor.offset < 0 or min(tensor.strides, default=0) < 0 or reaches:
        raise ValueError("a tensor reaches beyond its storage")
    strides = tuple(step * flat.itemsize for step in tensor.strides)
    view = np.lib.stride_tricks.as_strided(flat[tensor.offset :], tensor.shape, strides)
    return bfloat16_to_float32(np.ascontiguousarray(view)) if half else upcast(view)
