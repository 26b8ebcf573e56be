"""Runs and judgements in TREC's text form, as columns.

A well-formed file (one blank or tab between the fields) goes straight through polars' CSV
reader. Other white space, comments and gzip cost a pass that tidies the text first. Whatever
neither of them takes is read line by line, slowly, which either succeeds or names the line.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import polars as pl

from citebed.errors import CitebedError, FormatError
from citebed.evaluation.plain_text import stays_plain

QUERY_HASH, DOC_HASH = "query_hash", "doc_hash"
_GZIP = b"\x1f\x8b"
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
    zipped, sample = _look(path)
    _check_kind(path, layout, sample)
    table = None
    if not zipped:
        table = _straight(path, layout, sample)
    if table is None:
        table = _tidied(path, layout)
    if table is None:
        table = _line_by_line(path, layout)
    if not table.height:
        raise FormatError(path, None, f"there is nothing in it. {_expected(layout)}")
    return table


def _look(path: Path) -> tuple[bool, bytes]:
    if path.is_dir():
        raise CitebedError(f"{path} is a folder; give the file itself.")
    with path.open("rb") as handle:
        zipped = handle.read(2) == _GZIP
    with _opened(path) as handle:
        sample = handle.read(_SAMPLE)
    if not sample:
        raise FormatError(path, None, f"the file is empty. {_expected_by_name(path)}")
    return zipped, sample


def _expected_by_name(path: Path) -> str:
    return _expected(QRELS if "qrel" in path.name else RUN)


class _Gzip(gzip.GzipFile):
    """A gzip file that says so when it was cut short or damaged."""

    def read(self, size: int | None = -1) -> bytes:
        try:
            return super().read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(
                str(self.name),
                None,
                f"the gzip file is cut short or damaged ({error}). Get it anew.",
            ) from None


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as handle:
        zipped = handle.read(2) == _GZIP
    return cast(BinaryIO, _Gzip(path, "rb")) if zipped else path.open("rb")


def _check_kind(path: Path, layout: Layout, sample: bytes) -> None:
    """Say so at once when the file is of another kind altogether."""
    if b"\x00" in sample or sample.startswith(b"PAR1"):
        raise FormatError(path, None, f"this is not a text file. {_expected(layout)}")


def _straight(path: Path, layout: Layout, sample: bytes) -> pl.DataFrame | None:
    """The whole file through polars, if its first lines are as plain as they should be."""
    lines = sample.split(b"\n")[:-1] or [sample]
    separator = "\t" if b"\t" in lines[0] else " "
    mark = separator.encode()
    if any(line.rstrip(b"\r").split(mark) != line.split() for line in lines if line.strip()):
        return None
    remarks = [line for line in lines if line.startswith(b"#")]
    if any(_is_doubtful(remark, layout) for remark in remarks):
        return None
    if layout is QRELS:
        return None if remarks else _scanned(path, layout, separator, comments=False)
    with ThreadPoolExecutor(1) as beside:
        plain = beside.submit(stays_plain, path, max(sample.rfind(b"\n"), 0))
        comments = bool(remarks)
        table = _scanned(path, layout, separator, comments)
        return table if plain.result() else None


def _scanned(path: Path, layout: Layout, separator: str, comments: bool) -> pl.DataFrame | None:
    try:
        frame = pl.scan_csv(
            path,
            separator=separator,
            has_header=False,
            schema=layout.schema,
            quote_char=None,
            comment_prefix="#" if comments else None,
            glob=False,
        )
        return _checked(frame.select(*layout.kept, *_asides(layout, separator)).collect(), layout)
    except pl.exceptions.PolarsError:
        return None


def _tidied(path: Path, layout: Layout) -> pl.DataFrame | None:
    """The file in blocks of lines with the white space made plain; ``None`` if that fails."""
    parts = []
    for block in _blocks(path):
        if b"#" in block and any(_is_doubtful(x, layout) for x in _COMMENT.findall(block)):
            return None
        text = _tidy(block)
        if not text:
            continue
        try:
            table = pl.read_csv(
                io.BytesIO(text),
                separator=" ",
                has_header=False,
                schema=layout.schema,
                quote_char=None,
            )
        except pl.exceptions.PolarsError:
            return None
        checked = _checked(table.select(*layout.kept, *_asides(layout)), layout)
        if checked is None:
            return None
        parts.append(checked)
    return pl.concat(parts) if parts else None


_COMMENT = re.compile(rb"^[ \t]*#[^\n]*\n?", re.MULTILINE)
_BLANKS = re.compile(rb"[ \t\r\v\f]+")
_EDGES = re.compile(rb"^ | ?\n", re.MULTILINE)


def _tidy(block: bytes) -> bytes:
    block = block.removeprefix(b"\xef\xbb\xbf")
    if b"#" in block:
        block = _COMMENT.sub(b"", block)
    block = _BLANKS.sub(b" ", block)
    block = _EDGES.sub(lambda m: b"\n" if m.group().endswith(b"\n") else b"", block)
    return re.sub(rb"\n{2,}", b"\n", block).strip(b" \n")


def _blocks(path: Path) -> Iterator[bytes]:
    """Pieces of the file that end with a line."""
    with _opened(path) as handle:
        rest = b""
        while piece := handle.read(_BLOCK):
            cut = piece.rfind(b"\n") + 1
            if not cut:
                rest += piece
                continue
            yield rest + piece[:cut]
            rest = piece[cut:]
        if rest:
            yield rest


def _asides(layout: Layout, separator: str = " ") -> list[pl.Expr]:
    """Computed while reading, where it costs least: hashes, and whether a line is whole."""
    if layout is RUN:  # long, so that empty fields and comments are looked for by `stays_plain`
        whole = pl.col(layout.fields[-1]).is_not_null() & pl.col("score").is_finite()
    else:
        whole = pl.all_horizontal(pl.col(layout.fields).is_not_null())
        whole = whole & ~pl.col("query_id").str.starts_with("#")
    if separator == "\t":  # then a blank can be within an id, and is no white space between two
        blank = [pl.col(name).str.contains(" ", literal=True) for name in ("query_id", "doc_id")]
        whole = whole & ~pl.any_horizontal(blank)
    whole = whole.fill_null(False)
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
    rows = [row[1:] for row in read_lines(path, layout)]
    schema = {name: layout.schema[name] for name in layout.kept}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(_asides(layout)[:2])


def read_lines(path: Path, layout: Layout) -> Iterator[tuple[int, str, str, float | int]]:
    """Every line as (number, query, document, value); the slow way, which names a bad line."""
    with _opened(path) as handle:
        for number, raw in enumerate(handle, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise FormatError(
                    path, number, f"not UTF-8 ({error.reason}). Save the file as UTF-8."
                ) from None
            fields = re.split(r"[ \t\r\n\v\f]+", line.strip(" \t\r\n\v\f"))
            if fields == [""]:
                continue
            if fields[0].startswith("#"):
                if _is_doubtful(raw, layout):
                    raise FormatError(path, number, _doubt(fields[0]))
                continue
            yield (number, *_parsed(path, number, fields, layout))


def _is_doubtful(remark: bytes, layout: Layout) -> bool:
    """Whether a line that starts with # could be one of a query whose name does."""
    fields = remark.decode("utf-8", "replace").split()
    if fields[0] == "#":
        return False
    try:
        _parsed(Path(), 0, fields, layout)
    except FormatError:
        return False
    return True


def _doubt(name: str) -> str:
    return (
        f"is this a remark, or has a query the name '{name}'? Write a blank behind the # of a "
        "remark; a query needs a name that starts otherwise."
    )


def _parsed(
    path: Path, number: int, fields: list[str], layout: Layout
) -> tuple[str, str, float | int]:
    if len(fields) != len(layout.fields):
        raise FormatError(path, number, _wrong_count(fields, layout))
    query, document, value = (fields[layout.fields.index(name)] for name in layout.kept)
    if layout.number is pl.Int64:
        if not re.fullmatch(r"[+-]?\d{1,18}", value):
            raise FormatError(
                path, number, f"the relevance '{_short(value)}' is not a whole number."
            )
        return query, document, int(value)
    try:
        score = float(value) if "_" not in value else math.nan
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise FormatError(
            path, number, f"the score '{_short(value)}' is not a finite number. {_expected(layout)}"
        )
    return query, document, score


def _wrong_count(fields: list[str], layout: Layout) -> str:
    if fields[0][0] in _OTHER_KINDS:
        return f"this looks like {_OTHER_KINDS[fields[0][0]]}. {_expected(layout)}"
    found = f"found {len(fields)} fields"
    other = next((x for x in LAYOUTS if x is not layout and len(x.fields) == len(fields)), None)
    if other:
        return (
            f"{found}, so this looks like {other.what} where {layout.what} should stand. "
            f"Are the files in the right order? {_expected(layout)}"
        )
    cut = " Was the file cut short?" if len(fields) < len(layout.fields) else ""
    return f"{found} ('{_short(' '.join(fields))}').{cut} {_expected(layout)}"


def _expected(layout: Layout) -> str:
    return (
        f"Expected {layout.what}: lines of {len(layout.fields)} fields, "
        f"{' '.join(layout.fields)}, like '{layout.example}'."
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


def run_tag(path: Path) -> str:
    """The tag a TREC run gives itself in the last field; the file's name where it has none."""
    if path.suffix == ".parquet":
        return path.stem
    with _opened(path) as handle:
        for raw in handle:
            fields = raw.decode("utf-8", "replace").split()
            if fields and not fields[0].startswith("#"):
                return fields[-1]
    return path.stem
