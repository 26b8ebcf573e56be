"""Runs and judgements in TREC's text form, as columns.

Files are read in blocks of lines by polars' CSV reader. It reports a line that is too short, and
the number of blanks shows that no line is too long. A block with other white space, blank lines or
comments is tidied and read again. If polars cannot read it even then, citebed reads it line by
line, slowly, which either succeeds or names the line.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.errors import FormatError
from citebed.files.input_files import is_compressed, open_input
from citebed.files.limits import polars_misreads
from citebed.files.lines import (
    find_part_bounds,
    read_chunks,
    read_numbered_lines,
    read_part_chunks,
)
from citebed.wording import parse_integer, parse_number, shorten

_BLOCK = 1 << 18
"""A block and what is computed from it fit into a processor's cache."""
_BLANK = 0x20


def blanks_in(text: bytes) -> int | None:
    """Count blanks, line ends and control characters; ``None`` if a field may be empty.

    That is so if two of them are neighbours, if the text starts with one, or if a line is a
    comment. If each of n lines has at least k fields, and the count is k * n, then each line has
    exactly k fields, none is empty, and only one kind of blank separates them.
    """
    import numpy as np

    if b"#" in text and (text.startswith(b"#") or b"\n#" in text):
        return None
    codes = np.frombuffer(text, np.uint8)
    is_last_blank, total = True, 0
    for begin in range(0, len(text), _BLOCK):
        is_blank = codes[begin : begin + _BLOCK] <= _BLANK
        if (is_last_blank and is_blank[0]) or (is_blank[1:] & is_blank[:-1]).any():
            return None
        is_last_blank = is_blank[-1]
        total += int(np.count_nonzero(is_blank))
    return total


DOC_HASH = "doc_hash"
_HASHED = pl.col("doc_id").hash().alias(DOC_HASH)
_OTHER_KINDS = {"<": "XML or HTML", "{": "JSON", "[": "JSON"}
_SAMPLE = 1 << 16
_BLOCK, _BESIDE = 1 << 23, 2


class Layout(NamedTuple):
    """The fields of a kind of file; the last of ``columns`` is the number."""

    what: str
    fields: tuple[str, ...]
    columns: tuple[str, str, str]
    number: type[pl.Float64] | type[pl.Int64]
    example: str
    more: bool = False
    """Whether further fields are ignored; otherwise they are an error."""

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """The columns' types: the number, and strings for all others."""
        return {name: self.number if name == self.columns[2] else pl.String for name in self.fields}

    @property
    def gaps(self) -> int:
        """The number of separators of a line."""
        return len(self.fields) - 1


LARGEST_GRADE = (1 << 31) - 1
"""The largest absolute grade, so that sums of grades do not overflow."""
OUT_OF_RANGE = f"is out of range; grades go from -{LARGEST_GRADE:,} to {LARGEST_GRADE:,}."

QRELS = Layout(
    "judgements (qrels)",
    ("query_id", "iteration", "doc_id", "relevance"),
    ("query_id", "doc_id", "relevance"),
    pl.Int64,
    "q1 0 doc7 1",
)
RUN = Layout(
    "a run",
    ("query_id", "Q0", "doc_id", "rank", "score", "tag"),
    ("query_id", "doc_id", "score"),
    pl.Float64,
    "q1 Q0 doc7 1 12.5 mysystem",
)
LAYOUTS = (QRELS, RUN)


def read_trec(path: Path, layout: Layout) -> pl.DataFrame:
    """Read the layout's columns of a file, with hashes of the document ids."""
    return read_coded(path, layout).cast({"query_id": pl.String})


def read_coded(path: Path, layout: Layout) -> pl.DataFrame:
    """Read as `read_trec`, but with queries as categories, which take a quarter of the memory."""
    with open_input(path) as handle:
        sample = handle.read(_SAMPLE)
    if not sample:
        raise FormatError(path, None, f"the file is empty. {_expected(layout)}")
    if b"\0" in sample or sample.startswith(b"PAR1"):
        raise FormatError(path, None, f"this is not a text file. {_expected(layout)}")
    table = _in_blocks(path, layout)
    if table is None:  # slowly, which either succeeds or names the line
        rows = [row[1:] for row in trec_lines(path, layout)]
        schema = {name: layout.schema[name] for name in layout.columns}
        table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(_HASHED)
    if not table.height:
        raise FormatError(path, None, f"the file has no lines of data. {_expected(layout)}")
    return table


def read_own(data: bytes, layout: Layout) -> pl.DataFrame:
    """Read back what ``write_lines`` wrote, without comments.

    Anything that ``write_lines`` cannot have written raises ``ValueError``.
    """
    # Start with an empty line, because polars could take the first bytes for compressed data.
    table = _scanned(b"\n" + data, layout, b" ", skip=1)
    if table is None:
        raise ValueError(f"a line is not '{' '.join(layout.fields)}'")
    return table.select(layout.columns)


def parsed_lines(data: bytes, layout: Layout, path: Path) -> pl.DataFrame:
    """Parse lines into the layout's columns, queries as categories.

    Errors name the file and quote the line.
    """
    table = _of_block(data, layout)
    if table is None or not table.height:
        lines = data.split(b"\n") if table is None else []
        rows = [_parsed(path, None, fields, layout) for line in lines
                if (fields := _fields(path, None, line, layout))]  # fmt: skip
        schema = {name: layout.schema[name] for name in layout.columns}
        table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.select(layout.columns).cast({"query_id": pl.Categorical})


def _in_blocks(path: Path, layout: Layout) -> pl.DataFrame | None:
    """Read a file in blocks of lines; ``None`` if polars cannot read one of them."""
    parts = []
    for part in _parts(path, layout):
        if part is None:
            return None
        parts += [part] if part.height else []
    names = parts[0].columns if parts else []
    # Column by column, and documents without rechunking, so that nothing large is copied.
    columns = ((name, [part.drop_in_place(name) for part in parts]) for name in names)
    return pl.DataFrame([pl.concat(column, rechunk=name != "doc_id") for name, column in columns])


def _parts(path: Path, layout: Layout) -> Iterator[pl.DataFrame | None]:
    """Parse the blocks of a file in parallel; blocks before a damage come before its error."""

    def of_part(begin: int, end: int) -> pl.DataFrame | None:
        return _of_block(b"".join(read_part_chunks(path, begin, end, 2 * _BLOCK)), layout)

    with ThreadPoolExecutor(_BESIDE) as beside:
        waiting: deque[Future[pl.DataFrame | None]] = deque()
        try:
            if not is_compressed(path):
                cuts = find_part_bounds(path, _BLOCK)
                yield from beside.map(of_part, cuts, cuts[1:])
                return
            for text in read_chunks(path, _BLOCK):
                waiting.append(beside.submit(_of_block, text, layout))
                if len(waiting) > _BESIDE:
                    yield waiting.popleft().result()
        except FormatError:
            yield from (part.result() for part in waiting)
            for _ in read_numbered_lines(path):
                pass  # raises the same error with its line number
            raise
        yield from (part.result() for part in waiting)


def _of_block(data: bytes, layout: Layout) -> pl.DataFrame | None:
    """Parse a block, if necessary after tidying it; ``None`` if polars cannot read it."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    # polars comes first, since other threads can import modules while it reads.
    table = _scanned(data, layout, b"\t" if b"\t" in data[:_SAMPLE] else b" ")
    if table is not None:  # polars has checked that no line has too few fields
        blanks = (layout.gaps + 1) * table.height - (not data.endswith(b"\n"))
        if blanks_in(data) == blanks:
            return table
    remarks = _COMMENT.findall(data) if b"#" in data else []
    if b"\0" in data or any(_is_doubtful(remark, layout) for remark in remarks):
        return None
    # Separate lines by single line feeds and fields by single blanks.
    data = _COMMENT.sub(b"", data) if remarks else data
    data = single(data.translate(_TO_BLANKS), b" ")
    data = single(data.replace(b" \n", b"\n").replace(b"\n ", b"\n"), b"\n").strip(b" \n")
    table = _scanned(data, layout, b" ") if data else pl.DataFrame()
    return None if table is None or data.count(b" ") != layout.gaps * table.height else table


_COMMENT = re.compile(rb"^[ \t\r\v\f]*#[^\n]*\n?", re.MULTILINE)
_TO_BLANKS = bytes.maketrans(b"\t\r\v\f", b"    ")


def single(text: bytes, byte: bytes) -> bytes:
    """Collapse repeated bytes; a regular expression takes ten times as long."""
    while byte * 2 in text:
        text = text.replace(byte * 2, byte)
    return text


def _scanned(data: bytes, layout: Layout, mark: bytes, skip: int = 0) -> pl.DataFrame | None:
    """Parse with polars; ``None`` if a line has too few fields or an invalid number.

    Further fields of a line are ignored.
    """
    if polars_misreads(data):
        return None
    whole = pl.col(layout.fields[-1]).is_not_null().alias("whole")
    lines = pl.scan_csv(
        data,
        separator=mark.decode(),
        has_header=False,
        schema={**layout.schema, "query_id": pl.Categorical},
        quote_char=None,
        skip_lines=skip,
        glob=False,
    )
    try:
        table = lines.select(*layout.columns, _HASHED, whole).collect()
    except pl.exceptions.PolarsError:
        return None
    if not table["whole"].all() or any(table[name].null_count() for name in layout.columns):
        return None
    values = table[layout.columns[2]]
    fits = grades(values) if layout.number is pl.Int64 else values.is_finite()
    return table.drop("whole") if fits.all() else None


def grades(relevance: pl.Series) -> pl.Series:
    """Return which numbers of a column are in the range of grades."""
    return relevance.is_between(-LARGEST_GRADE, LARGEST_GRADE)


def trec_lines(path: Path, layout: Layout) -> Iterator[tuple[int, str, str, float | int]]:
    """Yield every line as (number, query, document, value); slow, but errors name the line.

    Only ASCII white space separates fields, as in C.
    """
    for number, line in read_numbered_lines(path):
        if fields := _fields(path, number, line, layout):
            yield (number, *_parsed(path, number, fields, layout))


def _fields(path: Path, number: int | None, line: bytes, layout: Layout) -> list[bytes]:
    """Split a line into fields; a comment has none."""
    fields = line.split()
    if b"\0" in line:
        raise FormatError(path, number, f"this is not a text file. {_expected(layout)}")
    if not fields or not fields[0].startswith(b"#"):
        return fields
    if _is_doubtful(line, layout):
        name = shorten(fields[0].decode("utf-8", "replace"))
        raise FormatError(
            path,
            number,
            f"is this a comment, or does a query have the id '{name}'? Comments need a blank "
            "after the #; query ids must not start with #.",
        )
    return []


def _is_doubtful(remark: bytes, layout: Layout) -> bool:
    """Return True if a line that starts with # could belong to a query whose id does."""
    fields = remark.split()
    if fields[0] == b"#":
        return False
    try:
        _parsed(Path(), 0, fields, layout)
    except FormatError:
        return False
    return True


def _parsed(
    path: Path, number: int | None, fields: list[bytes], layout: Layout
) -> tuple[str, str, float | int]:
    if layout.more:
        fields = fields[: len(layout.fields)]
    if len(fields) != len(layout.fields):
        raise FormatError(path, number, _wrong_count(fields, layout))
    wanted = [fields[layout.fields.index(name)] for name in layout.columns]
    try:
        query, document, value = [field.decode() for field in wanted]
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        what = f"byte 0x{byte:02x} is not UTF-8 text. Save the file as UTF-8."
        raise FormatError(path, number, what) from None
    if layout.number is pl.Int64:
        grade = parse_integer(value)
        if grade is None:
            what = f"the relevance '{shorten(value)}' is not a whole number."
            raise FormatError(path, number, what)
        if abs(grade) > LARGEST_GRADE:
            raise FormatError(path, number, f"the relevance {shorten(value)} {OUT_OF_RANGE}")
        return query, document, grade
    score = parse_number(value)
    if score is None:
        what = f"the score '{shorten(value)}' is not a finite number. {_expected(RUN)}"
        raise FormatError(path, number, what)
    return query, document, score


def _wrong_count(fields: list[bytes], layout: Layout) -> str:
    line = b" ".join(fields).decode("utf-8", "replace")
    if line[0] in _OTHER_KINDS:
        return f"this looks like {_OTHER_KINDS[line[0]]}. {_expected(layout)}"
    counted = f"found {len(fields)} fields"
    other = next((x for x in LAYOUTS if x is not layout and len(x.fields) == len(fields)), None)
    if other:
        return (
            f"{counted}, so this looks like {other.what} instead of {layout.what}. "
            f"Are the files in the right order? {_expected(layout)}"
        )
    guess = " Was the file cut short?" if len(fields) < len(layout.fields) else ""
    if len(fields) >= 2 * layout.gaps:
        guess = " Is a line feed missing?"
    return f"{counted} ('{shorten(line)}').{guess} {_expected(layout)}"


def _expected(layout: Layout) -> str:
    return (
        f"Expected {layout.what}: lines of {len(layout.fields)} fields, "
        f"{' '.join(layout.fields)}, like '{layout.example}'."
    )


def run_tag(path: Path) -> str | None:
    """Return the tag of a TREC run, the last field of its first line."""
    for _, line in read_numbered_lines(path):
        fields = line.split()
        if fields and not fields[0].startswith(b"#"):
            return fields[-1].decode("utf-8", "replace")
    return None


def last_tag(path: Path) -> str | None:
    """Return the tag in the last line of a TREC run, which trec_eval prints."""
    tag = None
    for block in read_chunks(path, _BLOCK):
        rest = block
        while rest := rest.rstrip():
            rest, _, line = rest.rpartition(b"\n")
            fields = line.split()
            if len(fields) >= len(RUN.fields) and not fields[0].startswith(b"#"):
                tag = fields[RUN.gaps].decode("utf-8", "replace")
                break
    return tag
