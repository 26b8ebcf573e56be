"""Runs and judgements in TREC's text form, as columns.

A well-formed file (one blank or tab between the fields) goes straight through polars' CSV
reader. Other white space, comments and packed files cost a pass that tidies the text first.
Whatever neither of them takes is read line by line, slowly, which either succeeds or names the
line. polars sees to it that no line is short; that none is long is told from the number of
separators.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.errors import FormatError
from citebed.files.line_blocks import file_blocks, numbered_lines
from citebed.files.packed import polars_misreads
from citebed.files.reading import is_packed, opened
from citebed.runs.plain_text import separators
from citebed.wording import short

QUERY_HASH, DOC_HASH = "query_hash", "doc_hash"
_OTHER_KINDS = {"<": "XML or HTML", "{": "JSON", "[": "JSON"}
_SAMPLE = 1 << 16
_BLOCK = 1 << 25


class Layout(NamedTuple):
    """The fields of a kind of file; the last of ``kept`` is the number."""

    what: str
    fields: tuple[str, ...]
    kept: tuple[str, str, str]
    number: type[pl.Float64] | type[pl.Int64]
    example: str

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """Every column as text, but for the number."""
        return {name: self.number if name == self.kept[2] else pl.String for name in self.fields}

    @property
    def gaps(self) -> int:
        """How many separators a line has."""
        return len(self.fields) - 1


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
    """The kept columns of a file in its order, with hashes of the ids; errors name the line."""
    with opened(path) as handle:
        sample = handle.read(_SAMPLE)
    if not sample:
        raise FormatError(path, None, f"the file is empty. {_expected(layout)}")
    if b"\0" in sample or sample.startswith(b"PAR1"):
        raise FormatError(path, None, f"this is not a text file. {_expected(layout)}")
    table = None if is_packed(path) else _straight(path, layout, sample)
    if table is None:
        table = _tidied(path, layout)
    if table is None:
        table = _line_by_line(path, layout)
    if not table.height:
        raise FormatError(path, None, f"there is nothing in it. {_expected(layout)}")
    return table


def read_own(data: bytes, layout: Layout) -> pl.DataFrame:
    """The kept columns of what ``write_lines`` wrote, where nothing is a remark.

    Whatever cannot have been written so is a ``ValueError``.
    """
    # After a line of our own: by its first bytes polars could take it for packed.
    table = _scanned(io.BytesIO(b"\n" + data), layout, skip=1)
    if table is None:
        raise ValueError(f"a line is not '{' '.join(layout.fields)}'")
    return table.select(layout.kept)


def _straight(path: Path, layout: Layout, sample: bytes) -> pl.DataFrame | None:
    """The whole file through polars, if its first lines are as plain as they should be."""
    begin = sample.rfind(b"\n") + 1
    lines = [line.removesuffix(b"\r") for line in sample[:begin].split(b"\n")]
    remarks = [line for line in lines if line.startswith(b"#")]
    rows = [line for line in lines if line and not line.startswith(b"#")]
    if not rows or polars_misreads(sample):
        return None
    mark = b"\t" if b"\t" in rows[0] else b" "
    if any(line.split(mark) != line.split() or line.count(mark) != layout.gaps for line in rows):
        return None
    if any(_is_doubtful(remark, layout) for remark in remarks):
        return None
    with ThreadPoolExecutor(1) as beside:
        counted = beside.submit(separators, path, begin, mark)
        table = _scanned(path, layout, mark, comments=bool(remarks))
        if table is None or counted.result() != layout.gaps * (table.height - len(rows)):
            return None
        return table


def _tidied(path: Path, layout: Layout) -> pl.DataFrame | None:
    """The file in blocks of lines with the white space made plain; ``None`` if that fails."""
    parts = []
    for block, *_ in file_blocks(path, _BLOCK):
        remarks = _COMMENT.findall(block) if b"#" in block else []
        if b"\0" in block or any(_is_doubtful(remark, layout) for remark in remarks):
            return None
        text = _tidy(_COMMENT.sub(b"", block) if remarks else block)
        if not text:
            continue
        if polars_misreads(text):
            return None
        table = _scanned(io.BytesIO(text), layout)
        if table is None or text.count(b" ") != layout.gaps * table.height:
            return None
        parts.append(table)
    return pl.concat(parts) if parts else None


_COMMENT = re.compile(rb"^[ \t\r\v\f]*#[^\n]*\n?", re.MULTILINE)
_TO_BLANKS = bytes.maketrans(b"\t\r\v\f", b"    ")


def _tidy(block: bytes) -> bytes:
    """Lines without comments, parted by single line feeds, with single blanks between fields."""
    block = _single(block.translate(_TO_BLANKS), b" ")
    block = block.replace(b" \n", b"\n").replace(b"\n ", b"\n")
    return _single(block, b"\n").strip(b" \n")


def _single(text: bytes, byte: bytes) -> bytes:
    """One byte for several in a row; a pattern would take ten times as long."""
    while byte * 2 in text:
        text = text.replace(byte * 2, byte)
    return text


def _scanned(
    source: Path | io.BytesIO,
    layout: Layout,
    mark: bytes = b" ",
    *,
    comments: bool = False,
    skip: int = 0,
) -> pl.DataFrame | None:
    """What polars reads; ``None`` where a line is short or has no number.

    Of a line with too many fields it takes the first ones.
    """
    try:
        frame = plain_lines(source, layout, mark, comments=comments, skip=skip)
        return _checked(frame.select(*layout.kept, *_asides(layout)).collect(), layout)
    except pl.exceptions.PolarsError:
        return None


def plain_lines(
    source: Path | io.BytesIO | bytes,
    layout: Layout,
    mark: bytes,
    *,
    comments: bool = False,
    skip: int = 0,
) -> pl.LazyFrame:
    """Lines as polars reads them, which leaves a null where one is short."""
    return pl.scan_csv(
        source,
        separator=mark.decode(),
        has_header=False,
        schema=layout.schema,
        quote_char=None,
        comment_prefix="#" if comments else None,
        skip_lines=skip,
        glob=False,
    )


def _asides(layout: Layout) -> list[pl.Expr]:
    """Computed while reading, where it costs least: hashes, and whether a line is whole."""
    whole = pl.col(layout.fields[-1]).is_not_null()
    if layout is RUN:
        whole = whole & pl.col("score").is_finite().fill_null(False)
    return [
        pl.col("query_id").hash().alias(QUERY_HASH),
        pl.col("doc_id").hash().alias(DOC_HASH),
        whole.alias("whole"),
    ]


def _checked(table: pl.DataFrame, layout: Layout) -> pl.DataFrame | None:
    """The table without blank lines; ``None`` where a line is short or has no number."""
    if not table["whole"].all():
        table = table.filter(~pl.all_horizontal(pl.col(layout.kept).is_null()))
    if not table["whole"].all() or any(table[name].null_count() for name in layout.kept):
        return None
    return table.drop("whole")


def _line_by_line(path: Path, layout: Layout) -> pl.DataFrame:
    rows = [row[1:] for row in trec_lines(path, layout)]
    schema = {name: layout.schema[name] for name in layout.kept}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(_asides(layout)[:2])


def trec_lines(path: Path, layout: Layout) -> Iterator[tuple[int, str, str, float | int]]:
    """Every line as (number, query, document, value); the slow way, which names a bad line.

    White space is what C takes for it: no other character of Unicode parts fields.
    """
    for number, line in numbered_lines(path):
        fields = line.split()
        if b"\0" in line:
            raise FormatError(path, number, f"this is not text. {_expected(layout)}")
        if fields and not fields[0].startswith(b"#"):
            yield (number, *_parsed(path, number, fields, layout))
        elif fields and _is_doubtful(line, layout):
            raise FormatError(path, number, _doubt(fields[0].decode("utf-8", "replace")))


def _is_doubtful(remark: bytes, layout: Layout) -> bool:
    """Whether a line that starts with # could be one of a query whose name does."""
    fields = remark.split()
    if fields[0] == b"#":
        return False
    try:
        _parsed(Path(), 0, fields, layout)
    except FormatError:
        return False
    return True


def _doubt(name: str) -> str:
    return (
        f"is this a remark, or has a query the name '{short(name)}'? Write a blank behind the # "
        "of a remark; a query needs a name that starts otherwise."
    )


def _parsed(
    path: Path, number: int, fields: list[bytes], layout: Layout
) -> tuple[str, str, float | int]:
    if len(fields) != len(layout.fields):
        raise FormatError(path, number, _wrong_count(fields, layout))
    kept = [fields[layout.fields.index(name)] for name in layout.kept]
    try:
        query, document, value = [field.decode() for field in kept]
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        what = f"byte 0x{byte:02x} is not UTF-8 text. Save the file as UTF-8."
        raise FormatError(path, number, what) from None
    if layout is QRELS:
        return query, document, _relevance(path, number, value)
    return query, document, _score(path, number, value)


def _relevance(path: Path, number: int, value: str) -> int:
    found = int(value) if re.fullmatch(r"[+-]?[0-9]{1,19}", value) else None
    if found is None or not -(1 << 63) <= found < 1 << 63:
        raise FormatError(path, number, f"the relevance '{short(value)}' is not a whole number.")
    return found


def _score(path: Path, number: int, value: str) -> float:
    try:
        score = float(value) if "_" not in value else math.nan
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise FormatError(
            path, number, f"the score '{short(value)}' is not a finite number. {_expected(RUN)}"
        )
    return score


def _wrong_count(fields: list[bytes], layout: Layout) -> str:
    line = b" ".join(fields).decode("utf-8", "replace")
    if line[0] in _OTHER_KINDS:
        return f"this looks like {_OTHER_KINDS[line[0]]}. {_expected(layout)}"
    found = f"found {len(fields)} fields"
    other = next((x for x in LAYOUTS if x is not layout and len(x.fields) == len(fields)), None)
    if other:
        return (
            f"{found}, so this looks like {other.what} where {layout.what} should stand. "
            f"Are the files in the right order? {_expected(layout)}"
        )
    guess = " Was the file cut short?" if len(fields) < len(layout.fields) else ""
    if len(fields) >= 2 * layout.gaps:
        guess = " Do several lines stand in one?"
    return f"{found} ('{short(line)}').{guess} {_expected(layout)}"


def _expected(layout: Layout) -> str:
    return (
        f"Expected {layout.what}: lines of {len(layout.fields)} fields, "
        f"{' '.join(layout.fields)}, like '{layout.example}'."
    )


def run_tag(path: Path) -> str | None:
    """The tag a TREC run gives itself in the last field of its first line."""
    for _, line in numbered_lines(path):
        fields = line.split()
        if fields and not fields[0].startswith(b"#"):
            return fields[-1].decode("utf-8", "replace")
    return None
