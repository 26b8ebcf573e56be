"""Streams of documents: JSON Lines in order of time, read block by block.

A line is ``{"doc_id": "d1", "time": 1323450574, "title": …, "abstract": …, "text": …}`` with at
least one of the three texts. The time is in seconds since 1970, or ISO 8601 with a zone; it may be
missing if the id starts with it. A source yields the same bytes each time it is opened, so that a
position in it is a number of bytes.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.errors import CitebedError
from citebed.files.input_files import open_input
from citebed.files.limits import polars_misreads
from citebed.files.lines import Block, read_pieces, split_blocks
from citebed.records import Problem
from citebed.runs.times import is_in_years, parse_time
from citebed.wording import printable

TEXTS = ("title", "abstract", "text")
"""The columns of a document's text."""

_LINES = dict.fromkeys(("doc_id", "time", *TEXTS), pl.String())
_GIVEN = {**_LINES, "id": pl.String()}
"""The fields of a line; the document's id is in ``doc_id`` or ``id``, as in an import."""
_EPOCH = r"^(-?[0-9]{5,12})-."
_WORD = r"[^\s\x00\x1c-\x1f\x85]+"  # polars turns a lone surrogate such as \ud800 into NUL
_WIDTH = 60  # longest quotation from an invalid line
_BOM = b"\xef\xbb\xbf"


class Source(NamedTuple):
    """A source of documents: its name for messages, a function that yields its bytes, and its file.

    The file, if there is one, may be compressed.
    """

    name: str
    pieces: Callable[[], Iterator[bytes]]
    path: Path | None = None


class Decoded(NamedTuple):
    """The documents of a block (``line``, ``doc_id``, ``time``, texts) and its skipped lines.

    ``repeated`` of the skipped lines are repeated documents.
    """

    table: pl.DataFrame
    problems: tuple[Problem, ...]
    repeated: int = 0


def file_source(path: str | Path, piece: int = 1 << 20) -> Source:
    """Return the source of a JSON Lines file, plain or compressed, or of an endless pipe."""
    path = Path(path)

    def pieces() -> Iterator[bytes]:
        with open_input(path, endless=True) as stream:
            yield from read_pieces(stream, piece)

    return Source(printable(path), pieces, path)


def table_source(name: str, table: pl.DataFrame, rows: int = 1000) -> Source:
    """Return a table's documents as a source."""

    def pieces() -> Iterator[bytes]:
        for part in table.iter_slices(rows):
            yield part.write_ndjson().encode()

    return Source(name, pieces)


def documents_by_date(documents: pl.LazyFrame) -> pl.LazyFrame:
    """Return a collection's documents as a stream, in order of time.

    A year or month means its first day. Documents without a date have no time. Keywords become the
    text.
    """
    date = pl.coalesce("date", pl.col("year").cast(pl.String).str.zfill(4)) + "-01-01"
    day = date.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    text = pl.col("keywords").list.join("; ")
    return documents.select(
        "doc_id", day.dt.epoch("s").alias("time"), "title", "abstract", text.alias("text")
    ).sort("time", "doc_id")


def blocks(source: Source, size: int, first_line: int = 1, skip: int = 0) -> Iterator[Block]:
    """Read a stream from byte ``skip``, in blocks of whole lines with about ``size`` bytes."""
    return split_blocks(_after(source, skip), source.name, size, first_line)


def _after(source: Source, skip: int) -> Iterator[bytes]:
    for piece in source.pieces():
        if skip < len(piece):
            yield piece[skip:] if skip else piece
        skip = max(0, skip - len(piece))


def checksum(source: Source, length: int) -> int | None:
    """Return the CRC-32 of a source's first bytes, or ``None`` if it has fewer."""
    crc = 0
    for piece in source.pieces():
        crc = zlib.crc32(piece[:length], crc)
        length -= len(piece)
        if length <= 0:
            return crc
    return crc if length == 0 else None


# --- decoding -------------------------------------------------------------------------------


def decode(block: Block, naive_is_utc: bool) -> Decoded:
    """Parse the documents of a block, and list the lines that are not documents.

    A time without a zone is a problem unless ``naive_is_utc``.
    """
    data = block.data.removeprefix(_BOM) if block.first_line == 1 else block.data
    problems: list[tuple[int, str]] = []
    try:
        raw = _read(data)
        # Line numbers differ from row numbers only if there are blank lines.
        numbers = None if raw.height == block.lines else _numbered(data)
    except pl.exceptions.PolarsError:
        raw, numbers, problems = _decode_lines(data)
    line = pl.Series(range(raw.height) if numbers is None else numbers, dtype=pl.Int64)
    table = raw.with_columns((line + block.first_line).alias("line"))
    table = table.with_columns(_times(table["time"], table["doc_id"], naive_is_utc))
    wrong = table.filter(~_is_document())
    listed = [Problem(at + block.first_line, what) for at, what in problems]
    if wrong.height:
        listed += [Problem(row["line"], _wrong(row)) for row in wrong.iter_rows(named=True)]
        table = table.filter(_is_document())
    return Decoded(table.drop("given"), tuple(sorted(listed)))


def _read(data: bytes) -> pl.DataFrame:
    given = pl.read_ndjson(b"\n" + data if polars_misreads(data) else data, schema=_GIVEN)
    return given.with_columns(pl.coalesce("doc_id", "id")).drop("id")


def _numbered(data: bytes) -> list[int]:
    return [number for number, line in enumerate(data.split(b"\n")) if line.strip()]


def _decode_lines(data: bytes) -> tuple[pl.DataFrame, list[int], list[tuple[int, str]]]:
    """Parse a block with invalid lines, by halving it until they are found.

    Return the rows, their line numbers, and the problems by line number, all counted from 0.
    """
    lines = data.split(b"\n")
    parts: list[pl.DataFrame] = [pl.DataFrame(schema=_LINES)]
    numbers: list[int] = []
    problems: list[tuple[int, str]] = []
    todo = [_numbered(data)]
    while todo:
        some = todo.pop()
        try:
            parts.append(_read(b"\n".join(lines[n] for n in some)))
            numbers += some
        except pl.exceptions.PolarsError as error:
            if len(some) == 1:
                why = _no_object(lines[some[0]]) or str(error).splitlines()[0]
                problems.append((some[0], f"not a JSON object in UTF-8 ({why})"))
            else:
                half = len(some) // 2
                todo += [some[half:], some[:half]]
    return pl.concat(parts), numbers, problems


def _no_object(line: bytes) -> str:
    """Say why a line is not a JSON object; return "" if Python's JSON parser accepts it."""
    try:
        value = json.loads(line.decode("utf-8"))
    except json.JSONDecodeError as error:
        return f"{error.msg} at character {error.pos + 1}"
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} is not UTF-8"
    except (ValueError, RecursionError) as error:
        return str(error)
    return "" if isinstance(value, dict) else f"found {_shown(value)}"


def _is_document() -> pl.Expr:
    has_text = pl.any_horizontal(pl.col(name).is_not_null() for name in TEXTS)
    word = pl.col("doc_id").str.contains(f"^{_WORD}$").fill_null(False)
    return word & pl.col("time").is_not_null() & has_text


def _wrong(row: dict[str, object]) -> str:
    if not re.fullmatch(_WORD, str(row["doc_id"] or "")):
        return f"the doc_id {_shown(row['doc_id'])} is not one word, which a filter run needs"
    if row["time"] is None and row["given"] is None:
        return "no 'time', and the doc_id does not start with an epoch second and '-'"
    if row["time"] is None:
        return (
            f"the time {_shown(row['given'])} is neither seconds since 1970 nor ISO 8601 with a "
            "zone, as in 2011-12-09T17:09:34Z (for times in UTC without a zone, say so: --utc)"
        )
    return f"none of {', '.join(TEXTS)} is there"


def _shown(value: object) -> str:
    """Format a value on one line, shortened."""
    text = repr(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"


def _times(column: pl.Series, ids: pl.Series, naive_is_utc: bool) -> list[pl.Series]:
    """Return the times in seconds, null if invalid, and the original values as ``given``."""
    unchanged = column.alias("given")
    time = column.cast(pl.Int64, strict=False)
    if time.null_count():
        others = column.filter(time.is_null()).unique().drop_nulls()
        read = [_seconds(text, naive_is_utc) for text in others]
        by_text = column.replace_strict(others, read, default=None, return_dtype=pl.Int64)
        time = time.fill_null(by_text) if len(others) else time
        from_id = ids.str.extract(_EPOCH).cast(pl.Int64)
        time = time.zip_with(column.is_not_null(), from_id)
    time = time.set(~is_in_years(time), None)
    return [time.alias("time"), unchanged]


def _seconds(text: str, naive_is_utc: bool) -> int | None:
    """Parse a time that is not a whole number; return ``None`` if it is invalid."""
    try:
        return parse_time(text, utc=naive_is_utc)
    except (CitebedError, OverflowError):
        return None
