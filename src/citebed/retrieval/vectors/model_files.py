"""Model files: named arrays and a description in one ``.npz``.

A file can come from a stranger, or be cut short. Nothing in it is unpickled, its size is checked
before it is read, and every array must have exactly the bytes that its header announces.
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
from citebed.files.input_files import read_small
from citebed.files.limits import MODEL_BYTES, effective_limit, format_size, limit_hint
from citebed.files.output_files import write_file
from citebed.wording import printable

Arrays = Mapping[str, NDArray[Any]]
"""Arrays by name."""

FORMAT = 1
MOST_BYTES = 256 << 20
"""The size limit of a model file, and of its unpacked arrays."""

_MOST_TIMES, _SPARE = 16, 64 << 20
"""Weights hardly compress: arrays that take more than this many times the file are an attack."""
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
"""The errors of zipfile, numpy and json for invalid files."""


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file; ``fingerprint`` is the SHA-256 of all its bytes."""

    path: Path
    fingerprint: str
    about: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def array(self, name: str, kind: str, *shape: int | None) -> NDArray[Any]:
        """Return an array; raise ``FormatError`` if its type (``int8``) or shape differs.

        ``None`` in ``shape`` is any length.
        """
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
    """Return the error for a file that is not the expected model."""
    message = f"not a usable model file: {printable(what)}. Download it again."
    return FormatError(path, None, message)


def read_model(path: Path, kind: str, newest: int = FORMAT) -> ModelFile:
    """Read a model file of a kind (``static``) in a format up to ``newest``."""
    data = read_small(path, MOST_BYTES)
    try:
        arrays = _arrays(path, data, MOST_BYTES)
        if not all(each.flags.c_contiguous for each in arrays.values()):
            raise ValueError("an array is stored by columns")
        about = json.loads(bytes(arrays.pop(_ABOUT)))
        found = about["kind"], about["format"]
    except _NO_MODEL as error:
        raise damaged(path, f"{error}" or type(error).__name__) from None
    if found[0] != kind:
        raise damaged(path, f"its kind is {found[0]!r}, not {kind!r}")
    if found[1] not in range(FORMAT, newest + 1):
        raise damaged(path, f"its format is {found[1]!r}; this citebed reads up to {newest}")
    return ModelFile(path, hashlib.sha256(data).hexdigest(), about, arrays)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of any ``.npz`` file, without unpickling."""
    try:
        return _arrays(path, read_small(path, MODEL_BYTES), MODEL_BYTES)
    except _NO_MODEL as error:
        what = f"not a file of arrays, or damaged ({error})"
        raise FormatError(path, None, what) from None


def _arrays(path: Path, data: bytes, most: int) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        members = packed.infolist()
        if not {member.compress_type for member in members} <= set(_PACKINGS):
            raise ValueError("its compression method is not allowed")
        most = effective_limit(min(most, _MOST_TIMES * len(data) + _SPARE))
        if sum(member.file_size for member in members) > most:
            what = (
                f"it unpacks to more than {format_size(most)}, too much for a model. {limit_hint()}"
            )
            raise FormatError(path, None, what)
        named = {each.filename.removesuffix(_ENDING): packed.read(each) for each in members}
    arrays = {}
    for name, content in named.items():
        stream = io.BytesIO(content)
        try:
            shape, by_columns, kind = read_header(stream)
        except ValueError as error:
            raise ValueError(f"'{name}': {error}") from None
        if kind.hasobject:
            raise ValueError(f"'{name}' is an array of {kind}")
        flat = np.frombuffer(content, kind, offset=stream.tell())
        arrays[name] = flat.reshape(shape, order="F" if by_columns else "C")
    return arrays


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read a ``.npy`` header of version 1.0: the shape, whether by columns, and the type.

    Numpy's own reader evaluates the header as Python and only warns about some damage.
    """
    start = stream.read(10)
    if start[:8] != b"\x93NUMPY\x01\x00" or len(start) < 10:
        raise ValueError("not the header of an array of version 1.0")
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
    """Write a model file atomically; the same model always has the same bytes."""
    described = {**about, "kind": kind, "format": version}
    text = json.dumps(described, ensure_ascii=False, sort_keys=True, indent=1).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for name, array in {_ABOUT: np.frombuffer(text, np.uint8), **arrays}.items():
            whole = io.BytesIO()
            np.lib.format.write_array(whole, np.ascontiguousarray(array), (1, 0), False)
            # Vectors hardly compress, and every command reads them.
            is_dense = array.dtype == np.int8
            member = zipfile.ZipInfo(name + _ENDING)  # has a fixed date
            member.compress_type = zipfile.ZIP_STORED if is_dense else zipfile.ZIP_DEFLATED
            packed.writestr(member, whole.getvalue())
    if stream.tell() > effective_limit(MOST_BYTES):
        raise CitebedError(f"cannot write {printable(path)}: a model of {stream.tell():,} bytes")
    write_file(path, stream.getvalue())
