"""The tensors of a file that PyTorch wrote: views of raw storages, made into arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

STORAGES = {
    "Double": "<f8", "Float": "<f4", "Half": "<f2", "BFloat16": "bfloat16", "Long": "<i8",
    "Int": "<i4", "Short": "<i2", "Char": "i1", "Byte": "u1", "Bool": "?",
}  # fmt: skip
"""How the numbers of a storage are written, by the name that PyTorch has for such a storage."""
_MOST_AXES = 16
_MOST_TIMES = 4
"""The numbers of all tensors take so many times the file: twice for half precision, and twice for
weights that two parts of a network share."""
_SPARE = 1 << 20


class StorageType(NamedTuple):
    """What ``torch.FloatStorage`` stands for: how the numbers of a storage are written."""

    dtype: str


class Storage(NamedTuple):
    """A storage that a tensor points at; its numbers are read when all names are known."""

    key: str
    dtype: str


class Tensor(NamedTuple):
    """A view of a storage: where it starts, its shape and its strides, counted in numbers."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def rebuilt(storage: object, offset: object, shape: object, strides: object, *_: object) -> Tensor:
    """What PyTorch's own function of the same arguments makes."""
    if not isinstance(storage, Storage) or not isinstance(shape, tuple | list):
        raise ValueError("a tensor of no storage or shape")
    if not isinstance(strides, tuple | list) or not len(shape) == len(strides) <= _MOST_AXES:
        raise ValueError("a tensor whose shape and strides do not agree")
    numbers = (offset, *shape, *strides)
    if not all(type(number) is int and 0 <= number < 1 << 48 for number in numbers):
        raise ValueError("a tensor whose shape is not of numbers")
    return Tensor(storage, numbers[0], tuple(shape), tuple(strides))


def check_numbers(tensors: Iterable[Tensor], size: int) -> None:
    """Raise if the tensors have far more numbers than a file of this size holds: many of them may
    be views of one storage."""
    total = sum(math.prod(each.shape) * _width_in_memory(each.storage.dtype) for each in tensors)
    if total > _MOST_TIMES * size + _SPARE:
        raise ValueError(f"its tensors take {total:,} bytes, the file {size:,}")


def _width_in_memory(dtype: str) -> int:
    is_real = dtype == "bfloat16" or np.dtype(dtype).kind == "f"
    return 4 if is_real else np.dtype(dtype).itemsize


def width(dtype: str) -> int:
    """Bytes of a number in the file."""
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def array_of(tensor: Tensor, storages: Mapping[str, bytes]) -> NDArray[Any]:
    """A tensor as an array; half precision as float32."""
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


def bfloat16_to_float32(bits: NDArray[Any]) -> NDArray[np.float32]:
    """bfloat16 is the upper half of a float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def upcast(array: NDArray[Any]) -> NDArray[Any]:
    """Floats of any width as float32; whole numbers as they are."""
    return array.astype(np.float32, copy=False) if array.dtype.kind == "f" else array
