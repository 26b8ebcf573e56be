"""Row groups of Parquet files, copied from one file into another without unpacking them.

The bytes of a row group do not depend on where they are; only the offsets in the footer do. A
footer is a structure in Thrift's compact protocol: https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

_MAGIC = b"PAR1"
_END = 8
"""Bytes behind a footer: its length and the magic number."""
_BLOCK = 1 << 20
_DEEPEST = 16

Struct = dict[int, tuple[int, Any]]
"""A Thrift structure: type and value by field number. The value of a list is the type of its items,
and the items."""
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)

# Numbers of fields: of the file, of a row group, of a column. The indexes of pages are optional;
# they would have to be moved, too.
_SCHEMA, _ROWS, _GROUPS, _TEXTS = 2, 3, 4, 5
_COLUMNS, _GROUP_ROWS, _GROUP_OFFSET, _ORDINAL = 1, 3, 5, 7
_COLUMN_OFFSET, _COLUMN, _PAGE_INDEXES = 2, 3, (4, 5, 6, 7)
_PAGE_OFFSETS = (9, 10, 11, 14)


@dataclass(frozen=True)
class Footer:
    """The end of a Parquet file, which describes it: ``data`` begins at ``start``."""

    path: Path
    data: bytes
    start: int

    @property
    def digest(self) -> str:
        """A hash of the footer, which has the sizes and places of all columns."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def about(self) -> Struct:
        """The fields of the footer."""
        about: Struct = _Reader(self.data).struct()
        return about

    @property
    def texts(self) -> dict[bytes, bytes]:
        """The metadata: keys and values."""
        with _expected():
            _, (_, pairs) = self.about.get(_TEXTS, (_LIST, (_STRUCT, [])))
            return {pair[1][1]: pair[2][1] for pair in pairs if 2 in pair}

    @property
    def groups(self) -> list[Struct]:
        """The description of each row group."""
        return list(self.about[_GROUPS][1][1])

    @cached_property
    def rows(self) -> list[int]:
        """The number of rows in each row group."""
        with _expected():
            return [int(group[_GROUP_ROWS][1]) for group in self.groups]

    @cached_property
    def bounds(self) -> list[int]:
        """Where each row group begins, and where the last one ends."""
        with _expected():
            columns = (column for group in self.groups for column in group[_COLUMNS][1][1])
            indexes = (column[at][1] for column in columns for at in (4, 6) if at in column)
            starts = [int(group[_GROUP_OFFSET][1]) for group in self.groups]
            bounds = [len(_MAGIC), *starts, min((*indexes, self.start)), self.start]
            if bounds != sorted(bounds):
                raise ValueError("row groups overlap")
            return bounds[1:-1]


@contextlib.contextmanager
def _expected() -> Iterator[None]:
    """Turn errors from a footer with other fields than expected into a ``ValueError``."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"a footer is not as expected: {error!r}") from None


def read_footer(path: Path) -> Footer:
    """Return the footer of a Parquet file; raise ``ValueError`` for any other file."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END))
        end = file.read(_END)
        start = size - _END - int.from_bytes(end[:4], "little")
        if len(end) < _END or end[4:] != _MAGIC or start < len(_MAGIC):
            raise ValueError("it has no footer")
        file.seek(start)
        return Footer(path, file.read(size - _END - start), start)


def splice(target: Path, parts: Iterable[tuple[Footer, range]]) -> None:
    """Write a Parquet file from ranges of row groups of others, which have the same columns.

    Raise ``ValueError`` if a footer is not as expected; the target is not usable then.
    """
    groups: list[Struct] = []
    about: Struct = {}
    with target.open("wb") as file:
        file.write(_MAGIC)
        for footer, numbers in parts:
            about = about or dict(footer.about)
            if about.get(_SCHEMA) != footer.about.get(_SCHEMA):
                raise ValueError("the columns differ")
            with _expected():
                groups += _copied(file, footer, numbers)
        for number, group in enumerate(groups):
            if _ORDINAL in group:
                group[_ORDINAL] = group[_ORDINAL][0], number
        with _expected():
            about[_ROWS] = about[_ROWS][0], sum(group[_GROUP_ROWS][1] for group in groups)
        about[_GROUPS] = _LIST, (_STRUCT, groups)
        data = _written(about)
        file.write(data + len(data).to_bytes(4, "little") + _MAGIC)


def _copied(file: BinaryIO, footer: Footer, numbers: range) -> list[Struct]:
    """Copy neighbouring row groups to the end of a file; return their descriptions."""
    if not len(numbers):
        return []
    start, end = footer.bounds[numbers.start], footer.bounds[numbers.stop]
    moved = file.tell() - start
    with footer.path.open("rb") as source:
        source.seek(start)
        while start < end and (block := source.read(min(_BLOCK, end - start))):
            file.write(block)
            start += len(block)
    groups = footer.groups
    return [_moved(groups[number], moved) for number in numbers]


def _moved(group: Struct, by: int) -> Struct:
    columns = []
    for column in group[_COLUMNS][1][1]:
        inner = _shifted(column[_COLUMN][1], _PAGE_OFFSETS, by)
        others = {n: value for n, value in column.items() if n not in _PAGE_INDEXES}
        columns.append({**_shifted(others, (_COLUMN_OFFSET,), by), _COLUMN: (_STRUCT, inner)})
    made = {**group, _COLUMNS: (_LIST, (_STRUCT, columns))}
    return _shifted(made, (_GROUP_OFFSET,), by)


def _shifted(struct: Struct, offsets: Iterable[int], by: int) -> Struct:
    """Return the structure with some of its offsets moved."""
    more = {n: (struct[n][0], struct[n][1] + by) for n in offsets if n in struct}
    return struct | more


class _Reader:
    """Reads Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int = 0) -> Struct:
        if depth > _DEEPEST:
            raise ValueError("too deep")
        found: Struct = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._integer()
            found[field] = head & 15, self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _INTEGERS:
            return self._integer()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            if count > len(self._data):
                raise ValueError("a list is longer than the footer")
            if head & 15 in (_TRUE, _FALSE):
                return head & 15, [self._byte() for _ in range(count)]
            return head & 15, [self._value(head & 15, depth) for _ in range(count)]
        if kind in (_BYTE, _DOUBLE):
            return self._bytes(1 if kind == _BYTE else 8)
        raise ValueError(f"no type of Thrift's: {kind}")

    def _byte(self) -> int:
        if self._at >= len(self._data):
            raise ValueError("the footer is cut")
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._data):
            raise ValueError("the footer is cut")
        return self._data[self._at - count : self._at]

    def _varint(self) -> int:
        number = 0
        for shift in itertools.count(0, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            if shift > 63:
                raise ValueError("a number is too long")
        return number

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)


def _written(struct: Struct) -> bytes:
    """A structure in Thrift's compact protocol."""
    out, before = bytearray(), 0
    for field, (kind, value) in sorted(struct.items()):
        if 0 < field - before < 16:
            out.append((field - before) << 4 | kind)
        else:
            out += bytes([kind]) + _integer(field)
        before = field
        if kind not in (_TRUE, _FALSE):
            out += _value(kind, value)
    return bytes(out) + b"\0"


def _value(kind: int, value: Any) -> bytes:
    if kind in _INTEGERS:
        return _integer(value)
    if kind == _STRUCT:
        return _written(value)
    if kind in (_LIST, _SET):
        of, items = value
        count = len(items)
        head = bytes([count << 4 | of]) if count < 15 else bytes([15 << 4 | of]) + _varint(count)
        if of in (_TRUE, _FALSE):
            return head + bytes(items)
        return head + b"".join(_value(of, item) for item in items)
    text: bytes = value
    return _varint(len(text)) + text if kind == _BINARY else text


def _integer(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
