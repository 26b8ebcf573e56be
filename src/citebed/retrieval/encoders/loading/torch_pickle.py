"""Files that ``torch.save`` wrote, read without PyTorch, in bounded memory, running nothing.

Such a file is a pickle whose tensors point at raw storages: since PyTorch 1.6 in a ZIP archive,
before that one after another behind the pickle. A pickle is a little program. It is carried out by
a machine of our own that knows only what a dictionary of tensors needs: any other instruction or
name ends the reading. What Python's own reader would do, such as making room for as many objects
as an instruction says, does not happen.
"""

from __future__ import annotations

import io
import math
import os
import pickletools
import struct
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import FormatError

# --- tensors: views of raw storages ---


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


# --- the pickle ---


_MAGIC = 0x1950A86A20F9469CFC6C
_MOST_BYTES = 4 << 20
"""Of a pickle; that of a network with a thousand tensors has a twentieth."""
_MOST_STEPS = 1 << 19
"""Of a pickle; a tensor takes about forty."""


def _paired(*given: object) -> dict[Any, Any]:
    """An ordered dictionary; the pickles of Python 2 give its items at once, in a list."""
    made: dict[Any, Any] = {}
    for pair in given[0] if given and isinstance(given[0], list) else ():
        name, value = pair
        made[_key(name)] = value
    return made


def _parameter(data: object, *_: object) -> object:
    return data


_KNOWN: dict[str, Callable[..., Any] | StorageType] = {
    "collections OrderedDict": _paired,
    "torch._utils _rebuild_tensor": rebuilt,
    "torch._utils _rebuild_tensor_v2": rebuilt,
    "torch._utils _rebuild_parameter": _parameter,
    **{f"torch {name}Storage": StorageType(how) for name, how in STORAGES.items()},
}


def _key(name: object) -> str | int:
    """A key of a dictionary; others may take forever to be compared."""
    if isinstance(name, str | int):
        return name
    raise ValueError("a dictionary whose keys are not names")


class _Machine:
    """Carries out the instructions of one pickle, by their names in ``pickletools``."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def run(self, stream: IO[bytes]) -> Any:
        """What the pickle at the stream's place makes."""
        for number, (step, given, _) in enumerate(pickletools.genops(stream)):
            if number > _MOST_STEPS:
                raise ValueError(f"it has more than {_MOST_STEPS:,} instructions")
            if step.name == "STOP":
                return self._stack.pop()
            if step.name in _VALUES:
                self._stack.append(_VALUES[step.name](given))
            elif step.name in _DOING:
                _DOING[step.name](self, given)
            elif step.name not in ("PROTO", "FRAME"):
                raise ValueError(f"its instruction {step.name} is none that weights need")
        raise ValueError("it is cut short")

    def mark(self, _: Any) -> None:
        self._marks.append(len(self._stack))

    def since_mark(self) -> list[Any]:
        start = self._marks.pop()
        found = self._stack[start:]
        del self._stack[start:]
        return found

    def joined(self, count: int | None) -> None:
        """A tuple of the last values; ``None`` of those since the mark."""
        if count is None:
            self._stack.append(tuple(self.since_mark()))
        else:
            values = tuple(self._stack[-count:])
            if len(values) != count:
                raise ValueError("it is damaged")
            self._stack[-count:] = [values]

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            raise ValueError("items of no dictionary")
        for name, value in zip(items[::2], items[1::2], strict=True):
            target[_key(name)] = value

    def append_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            raise ValueError("items of no list")
        target.extend(items)

    def last(self, count: int) -> list[Any]:
        found = self._stack[-count:]
        del self._stack[-count:]
        return found

    def put(self, place: int | None) -> None:
        """Remember the last value, to be got again."""
        place = len(self._memo) if place is None else place
        if place > _MOST_STEPS:
            raise ValueError("pickle memo index is too large (damaged or malicious file)")
        self._memo[place] = self._stack[-1]

    def get(self, place: int) -> None:
        self._stack.append(self._memo[place])

    def named(self, name: str | None) -> None:
        """One of the known names; of ``None`` the last two values are its parts."""
        if name is None:
            name = " ".join(str(part) for part in self.last(2) if isinstance(part, str))
        if name not in _KNOWN:
            known = name.replace(" ", ".")[:80]
            raise ValueError(f"it names {known}, which no table of weights needs")
        self._stack.append(_KNOWN[name])

    def stored(self, _: Any) -> None:
        """A storage: its kind, how it is written, its key; where it was and its size do not
        matter."""
        kind, how, key, _location, _size, *view = self._stack.pop()
        if kind != "storage" or not isinstance(how, StorageType) or not isinstance(key, str):
            raise ValueError("a storage of an unknown kind")
        if any(each is not None for each in view):
            raise ValueError("a storage that is a part of another")
        self._stack.append(Storage(key, how.dtype))

    def called(self, _: Any) -> None:
        make, given = self.last(2)
        if not callable(make) or not isinstance(given, tuple):
            raise ValueError("it calls what cannot be called")
        self._stack.append(make(*given))

    def built(self, _: Any) -> None:
        """The state of an object: what a dictionary of tensors says of itself, not needed."""
        self._stack.pop()


_VALUES: dict[str, Callable[[Any], Any]] = {
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "EMPTY_TUPLE": lambda _: (),
    "EMPTY_LIST": lambda _: [],
    "EMPTY_DICT": lambda _: {},
    **dict.fromkeys(
        ("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE",
         "BINSTRING", "SHORT_BINSTRING"),
        lambda given: given,
    ),
}  # fmt: skip
_DOING: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine.mark,
    "TUPLE": lambda machine, _: machine.joined(None),
    "TUPLE1": lambda machine, _: machine.joined(1),
    "TUPLE2": lambda machine, _: machine.joined(2),
    "TUPLE3": lambda machine, _: machine.joined(3),
    "SETITEM": lambda machine, _: machine.set_items(machine.last(2)),
    "SETITEMS": lambda machine, _: machine.set_items(machine.since_mark()),
    "APPEND": lambda machine, _: machine.append_items(machine.last(1)),
    "APPENDS": lambda machine, _: machine.append_items(machine.since_mark()),
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "MEMOIZE": _Machine.put,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "GLOBAL": _Machine.named,
    "STACK_GLOBAL": _Machine.named,
    "BINPERSID": _Machine.stored,
    "REDUCE": _Machine.called,
    "BUILD": _Machine.built,
}


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The dictionary of tensors in an archive, and the storages that they need.

    PyTorch packs nothing and keeps nothing twice: so all that is read is no larger than the file.
    """
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        pickled = next((name for name in names if name.endswith("data.pkl")), None)
        if pickled is None:
            raise ValueError("the archive has no data.pkl")
        root = pickled.removesuffix("data.pkl")
        if f"{root}byteorder" in names and _member(archive, f"{root}byteorder", 16) != b"little":
            raise FormatError(path, None, "written on a big-endian machine")
        tensors = _Machine().run(io.BytesIO(_member(archive, pickled, _MOST_BYTES)))
        wanted = {t.storage.key for t in _values(tensors) if isinstance(t, Tensor)}
        size = path.stat().st_size
        if sum(archive.getinfo(f"{root}data/{key}").file_size for key in wanted) > size:
            raise FormatError(path, None, "its storages are larger than the file")
        return tensors, {key: _member(archive, f"{root}data/{key}", size) for key in wanted}


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    about = archive.getinfo(name)
    if about.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"'{name}' is packed, which PyTorch does not do")
    if about.file_size > most:
        raise ValueError(f"'{name}' has {about.file_size:,} bytes, more than {most:,}")
    return archive.read(about)


def _values(found: Any) -> Any:
    if not isinstance(found, Mapping):
        raise ValueError("it holds no dictionary of tensors")
    return found.values()


def read_stream(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The form before PyTorch 1.6: magic number, version, system, tensors, keys, storages."""
    with path.open("rb") as file:
        head = io.BytesIO(file.read(_MOST_BYTES))
        if _Machine().run(head) != _MAGIC:
            raise FormatError(path, None, "not a file of PyTorch weights")
        _version, _system, tensors, keys = (_Machine().run(head) for _ in range(4))
        found = (t.storage for t in _values(tensors) if isinstance(t, Tensor))
        widths = {storage.key: width(storage.dtype) for storage in found}
        file.seek(head.tell())
        size = os.fstat(file.fileno()).st_size
        return tensors, {key: _next_storage(file, widths[key], size) for key in keys}


def _next_storage(file: IO[bytes], wide: int, size: int) -> bytes:
    (count,) = struct.unpack("<q", file.read(8))
    if not 0 <= count * wide <= size - file.tell():
        raise ValueError("the file is truncated")
    return file.read(count * wide)
