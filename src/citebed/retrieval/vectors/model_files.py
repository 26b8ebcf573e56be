"""Model files: named arrays and what is to be said of them, in one ``.npz``.

A file may come from a stranger, or be cut short: nothing in it is unpickled, its size is bounded
before it is read, and an array is taken only if its bytes are those that its header announces.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError
from citebed.files.limits import MODEL, how_to_raise, limit, shown
from citebed.files.reading import read_small
from citebed.files.writing import write_whole
from citebed.wording import printable

Arrays = Mapping[str, NDArray[Any]]
"""Arrays by name: the weights of a network, the parts of a file."""

FORMAT = 1
MOST_BYTES = 256 << 20
"""Of a model file, and of its arrays together."""

_MOST_TIMES, _SPARE = 16, 64 << 20
"""Numbers hardly become smaller when they are packed: arrays that take so many times the file, and
more than some, are made to hurt."""
_ABOUT = "about"
_ENDING = ".npy"
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[A-Za-z][0-9]*)', 'fortran_order': (False|True), "
    rb"'shape': \(([0-9, ]*)\), \} *\n"
)
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_NO_MODEL = (
    *(ValueError, TypeError, KeyError, EOFError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, OverflowError, struct.error),
)
"""What zipfile, numpy and json say of bytes that are not theirs."""


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds; ``fingerprint`` is the SHA-256 of all its bytes."""

    path: Path
    fingerprint: str
    about: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def array(self, name: str, kind: str, *shape: int | None) -> NDArray[Any]:
        """An array of a type (``int8``) and shape; ``None`` is any length."""
        found = self.arrays.get(name)
        if found is None:
            raise damaged(self.path, f"it has no array '{name}'")
        fits = len(found.shape) == len(shape) and all(
            wanted in (None, there) for wanted, there in zip(shape, found.shape, strict=True)
        )
        if found.dtype != np.dtype(kind) or not fits:
            what = f"'{name}' is {found.dtype} of {found.shape}, not {kind} of {shape}"
            raise damaged(self.path, what)
        return found


def damaged(path: Path, what: str) -> FormatError:
    """The error of a file that is not the model it should be."""
    told = f"this is no usable model: {printable(what)}. Get the file anew."
    return FormatError(path, None, told)


def read_model(path: Path, kind: str, newest: int = FORMAT) -> ModelFile:
    """A model file of a kind (``static``), of a format up to the newest of its kind; checked."""
    data = read_small(path, MOST_BYTES)
    try:
        arrays = _arrays(path, data, MOST_BYTES)
        if not all(each.flags.c_contiguous for each in arrays.values()):
            raise ValueError("it has an array by columns")
        about = json.loads(bytes(arrays.pop(_ABOUT)))
        found = about["kind"], about["format"]
    except _NO_MODEL as error:
        raise damaged(path, f"{error}" or type(error).__name__) from None
    if found[0] != kind:
        raise damaged(path, f"it is of kind {found[0]!r}, not {kind!r}")
    if found[1] not in range(FORMAT, newest + 1):
        raise damaged(path, f"it has format {found[1]!r}, this citebed reads {newest}")
    return ModelFile(path, hashlib.sha256(data).hexdigest(), about, arrays)


def read_arrays(path: Path, most: int = MODEL) -> dict[str, NDArray[Any]]:
    """The arrays of any ``.npz`` file, by name; nothing in it is unpickled."""
    try:
        return _arrays(path, read_small(path, most), most)
    except _NO_MODEL as error:
        what = f"is no file of arrays, or damaged ({error})"
        raise FormatError(path, None, what) from None


def _arrays(path: Path, data: bytes, most: int) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        members = packed.infolist()
        if not {member.compress_type for member in members} <= set(_PACKINGS):
            raise ValueError("it is packed in another way than models are")
        most = limit(min(most, _MOST_TIMES * len(data) + _SPARE))
        if sum(member.file_size for member in members) > most:
            what = f"holds more than {shown(most)}, much for a model. {how_to_raise()}"
            raise FormatError(path, None, what)
        named = {each.filename.removesuffix(_ENDING): packed.read(each) for each in members}
    return {name: _array(name, bare) for name, bare in named.items()}


def _array(name: str, data: bytes) -> NDArray[Any]:
    stream = io.BytesIO(data)
    try:
        shape, by_columns, kind = read_header(stream)
    except ValueError as error:
        raise ValueError(f"'{name}': {error}") from None
    if kind.hasobject:
        raise ValueError(f"'{name}' is an array of {kind}")
    flat = np.frombuffer(data, kind, offset=stream.tell())
    return flat.reshape(shape, order="F" if by_columns else "C")


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read a ``.npy`` header of version 1.0: the shape, whether by columns, and the type.

    Numpy's own reader evaluates the header as Python and warns of some damage. To turn warnings
    into errors would do so in every thread of the process.
    """
    start = stream.read(10)
    if start[:8] != b"\x93NUMPY\x01\x00" or len(start) < 10:
        raise ValueError("no header of an array of version 1.0")
    header = _HEADER.fullmatch(stream.read(int.from_bytes(start[8:], "little")))
    if header is None:
        raise ValueError("the header of the array is damaged")
    shape = tuple(int(number) for number in header[3].split(b",") if number.strip())
    try:
        return shape, header[2] == b"True", np.dtype(header[1].decode())
    except TypeError as error:
        raise ValueError(str(error)) from None


def write_model(
    path: Path,
    kind: str,
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    version: int = FORMAT,
) -> None:
    """A model file, whole or not at all; the same model always has the same bytes."""
    says = {**about, "kind": kind, "format": version}
    text = json.dumps(says, ensure_ascii=False, sort_keys=True, indent=1).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for name, array in {_ABOUT: np.frombuffer(text, np.uint8), **arrays}.items():
            whole = io.BytesIO()
            np.lib.format.write_array(whole, np.ascontiguousarray(array), (1, 0), False)
            # Vectors hardly become smaller, and are read whenever a command starts.
            dense = array.dtype == np.int8
            member = zipfile.ZipInfo(name + _ENDING)  # of a fixed date
            member.compress_type = zipfile.ZIP_STORED if dense else zipfile.ZIP_DEFLATED
            packed.writestr(member, whole.getvalue())
    if stream.tell() > limit(MOST_BYTES):
        raise CitebedError(f"cannot write {printable(path)}: a model of {stream.tell():,} bytes")
    write_whole(path, stream.getvalue())
