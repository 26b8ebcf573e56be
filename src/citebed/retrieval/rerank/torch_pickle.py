"""``pytorch_model.bin`` without PyTorch: many models, SciBERT among them, come in no other form.

A file that ``torch.save`` wrote is a pickle whose tensors point at raw storages: since PyTorch
1.6 in a ZIP archive, before that one after another behind the pickle. The pickle is read with a
table of the few names that a dictionary of tensors needs; any other name ends the reading, so
that no code of the file is ever run.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import FormatError
from citebed.retrieval.rerank.weights import bfloat16_to_float32, upcast

_MAGIC = 0x1950A86A20F9469CFC6C
_STORAGES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}


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


def _rebuild_parameter(data: _Tensor, *_: object) -> _Tensor:
    return data


_KNOWN = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    **{("torch", name): _StorageType(dtype) for name, dtype in _STORAGES.items()},
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
