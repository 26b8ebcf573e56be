"""Parquet files: read with a limit, and copied by row groups without decompressing them.

The bytes of a row group do not depend on their place in a file; only the offsets in the footer do.
A footer is a structure in Thrift's compact protocol: https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from citebed.errors import FormatError, is_interrupt
from citebed.files.input_files import reusable_path
from citebed.files.limits import BOMB_RATIO, FILE_BYTES, DecompressionBomb, effective_limit
from citebed.files.system_errors import translate_read_errors

if TYPE_CHECKING:
    import polars as pl

_CELL_BYTES = 8
"""Minimum size of a value in memory."""


def read_parquet(path: Path) -> pl.DataFrame:
    """Return the table of a Parquet file; raise if it is damaged or has far too many rows."""
    import polars as pl

    with reusable_path(path) as file:
        try:
            with translate_read_errors(path):
                scan = pl.scan_parquet(file, glob=False)
                rows: int = scan.select(pl.len()).collect().item()
                size = rows * _CELL_BYTES * len(scan.collect_schema())
                if size > max(effective_limit(FILE_BYTES), BOMB_RATIO * file.stat().st_size):
                    raise FormatError(path, None, str(DecompressionBomb()))
                return scan.collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            reason = str(error).partition("\n")[0]
            raise FormatError(path, None, f"not a Parquet file, or damaged ({reason}).") from None


# --- Footers ----------------------------------------------------------------------------------

_MAGIC = b"PAR1"
_END = 8
"""Bytes after a footer: its length and the magic number."""
_BLOCK = 1 << 20
_MAX_DEPTH = 16

Struct = dict[int, tuple[int, Any]]
"""A Thrift structure: type and value by field number. The value of a list is the type of its items,
and the items."""
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)

# Numbers of fields: of the file, of a row group, of a column. The page indexes are optional; to
# keep them, citebed would have to move them, too.
_SCHEMA, _ROWS, _GROUPS, _TEXTS = 2, 3, 4, 5
_COLUMNS, _GROUP_ROWS, _GROUP_OFFSET, _ORDINAL = 1, 3, 5, 7
_COLUMN_OFFSET, _COLUMN, _PAGE_INDEXES = 2, 3, (4, 5, 6, 7)
_PAGE_OFFSETS = (9, 10, 11, 14)


@dataclass(frozen=True)
class Footer:
    """The end of a Parquet file, which describes the file; ``data`` begins at byte ``start``."""

    path: Path
    data: bytes
    start: int

    @property
    def digest(self) -> str:
        """A hash of the footer, which contains the sizes and offsets of all columns."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def fields(self) -> Struct:
        fields: Struct = _ThriftReader(self.data).read_struct()
        return fields

    @property
    def metadata(self) -> dict[bytes, bytes]:
        with _translate_missing_fields():
            _, (_, pairs) = self.fields.get(_TEXTS, (_LIST, (_STRUCT, [])))
            return {pair[1][1]: pair[2][1] for pair in pairs if 2 in pair}

    @property
    def groups(self) -> list[Struct]:
        return list(self.fields[_GROUPS][1][1])

    @cached_property
    def rows(self) -> list[int]:
        with _translate_missing_fields():
            return [int(group[_GROUP_ROWS][1]) for group in self.groups]

    @cached_property
    def bounds(self) -> list[int]:
        """The offset of each row group, and the end of the last one."""
        with _translate_missing_fields():
            columns = (column for group in self.groups for column in group[_COLUMNS][1][1])
            indexes = (column[at][1] for column in columns for at in (4, 6) if at in column)
            starts = [int(group[_GROUP_OFFSET][1]) for group in self.groups]
            bounds = [len(_MAGIC), *starts, min((*indexes, self.start)), self.start]
            if bounds != sorted(bounds):
                raise ValueError("row groups overlap")
            return bounds[1:-1]


@contextlib.contextmanager
def _translate_missing_fields() -> Iterator[None]:
    """Raise ``ValueError`` if a footer lacks the expected fields."""
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


# --- Copying ----------------------------------------------------------------------------------


def copy_row_groups(target: Path, parts: Iterable[tuple[Footer, range]]) -> None:
    """Write a Parquet file from ranges of row groups of other files with the same columns.

    Raise ``ValueError`` if a footer is not as expected; the target is then unusable.
    """
    groups: list[Struct] = []
    fields: Struct = {}
    with target.open("wb") as file:
        file.write(_MAGIC)
        for footer, numbers in parts:
            fields = fields or dict(footer.fields)
            if fields.get(_SCHEMA) != footer.fields.get(_SCHEMA):
                raise ValueError("the columns differ")
            with _translate_missing_fields():
                groups += _copy_groups(file, footer, numbers)
        for number, group in enumerate(groups):
            if _ORDINAL in group:
                group[_ORDINAL] = group[_ORDINAL][0], number
        with _translate_missing_fields():
            fields[_ROWS] = fields[_ROWS][0], sum(group[_GROUP_ROWS][1] for group in groups)
        fields[_GROUPS] = _LIST, (_STRUCT, groups)
        data = _encode(_STRUCT, fields)
        file.write(data + len(data).to_bytes(4, "little") + _MAGIC)


def _copy_groups(file: BinaryIO, footer: Footer, numbers: range) -> list[Struct]:
    """Copy neighbouring row groups to the end of a file; return their new descriptions."""
    if not len(numbers):
        return []
    start, end = footer.bounds[numbers.start], footer.bounds[numbers.stop]
    distance = file.tell() - start
    with footer.path.open("rb") as source:
        source.seek(start)
        while start < end and (block := source.read(min(_BLOCK, end - start))):
            file.write(block)
            start += len(block)
    groups = []
    for group in footer.groups[numbers.start : numbers.stop]:
        columns = []
        for column in group[_COLUMNS][1][1]:
            pages = _shift(column[_COLUMN][1], _PAGE_OFFSETS, distance)
            others = {n: value for n, value in column.items() if n not in _PAGE_INDEXES}
            shifted = _shift(others, (_COLUMN_OFFSET,), distance)
            columns.append({**shifted, _COLUMN: (_STRUCT, pages)})
        moved = {**group, _COLUMNS: (_LIST, (_STRUCT, columns))}
        groups.append(_shift(moved, (_GROUP_OFFSET,), distance))
    return groups


def _shift(struct: Struct, offsets: Iterable[int], by: int) -> Struct:
    return struct | {n: (struct[n][0], struct[n][1] + by) for n in offsets if n in struct}


# --- Thrift's compact protocol ----------------------------------------------------------------


class _ThriftReader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def read_struct(self, depth: int = 0) -> Struct:
        if depth > _MAX_DEPTH:
            raise ValueError("too deep")
        struct: Struct = {}
        field = 0
        while head := self._take(1)[0]:
            field = field + (head >> 4) if head >> 4 else self._integer()
            struct[field] = head & 15, self._value(head & 15, depth)
        return struct

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _INTEGERS:
            return self._integer()
        if kind == _BINARY:
            return self._take(self._varint())
        if kind == _STRUCT:
            return self.read_struct(depth + 1)
        if kind in (_LIST, _SET):
            head = self._take(1)[0]
            count = head >> 4 if head >> 4 < 15 else self._varint()
            if count > len(self._data):
                raise ValueError("a list is longer than the footer")
            if head & 15 in (_TRUE, _FALSE):
                return head & 15, list(self._take(count))
            return head & 15, [self._value(head & 15, depth) for _ in range(count)]
        if kind in (_BYTE, _DOUBLE):
            return self._take(1 if kind == _BYTE else 8)
        raise ValueError(f"unknown Thrift type {kind}")

    def _take(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._data):
            raise ValueError("the footer is incomplete")
        return self._data[self._at - count : self._at]

    def _varint(self) -> int:
        number = 0
        for shift in itertools.count(0, 7):
            byte = self._take(1)[0]
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            if shift > 63:
                raise ValueError("a number is too long")
        return number

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)


def _encode(kind: int, value: Any) -> bytes:
    """Return a value in Thrift's compact protocol."""
    if kind in _INTEGERS:
        return _encode_varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if kind == _STRUCT:
        out, before = bytearray(), 0
        for field, (inner, item) in sorted(value.items()):
            if 0 < field - before < 16:
                out.append((field - before) << 4 | inner)
            else:
                out += bytes([inner]) + _encode(_INTEGERS[0], field)
            before = field
            if inner not in (_TRUE, _FALSE):
                out += _encode(inner, item)
        return bytes(out) + b"\0"
    if kind in (_LIST, _SET):
        inner, items = value
        count = len(items)
        head = bytes([min(count, 15) << 4 | inner])
        head += _encode_varint(count) if count > 14 else b""
        if inner in (_TRUE, _FALSE):
            return head + bytes(items)
        return head + b"".join(_encode(inner, item) for item in items)
    text: bytes = value
    return _encode_varint(len(text)) + text if kind == _BINARY else text


def _encode_varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
