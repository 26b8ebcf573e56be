"""Read TREC KBA's files: filter runs, and judgements in two formats.

A filter run is plain or gzip text: a first line ``#{json}``, other lines that start with ``#``,
and lines of seven or more fields between white space::

    team system stream_id entity confidence rating contains_mention [date-hour …]

The confidence is in (0, 1000], the rating one of -1 garbage, 0 neutral, 1 relevant, 2 central
(since 2013: 1 useful, 2 vital; ``-`` for none), and a stream id starts with the document's epoch
second: ``1323450574-47f2…``.
Judgements have the same format or a short one: ``entity stream_id confidence rating
contains_mention``. The files are described in Frank et al., "Building an entity-centric stream
filtering test collection for TREC 2012".

Files are read in blocks of lines: clean blocks by polars' CSV reader, all others line by line, with
the same result. A block is clean if single blanks separate its fields, polars returns as many rows
as there are lines, and every row is valid. Otherwise (missing fields, odd numbers, carriage
returns) reading line by line gives errors with line numbers. `citebed.runs.writer` writes filter
runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from citebed.errors import FormatError
from citebed.files.limits import polars_misreads
from citebed.files.lines import Block, number_lines, read_blocks, read_numbered_lines
from citebed.records import Problem
from citebed.runs.assessors import OFFICIAL, merge_assessors
from citebed.runs.tables import Qrels, Run
from citebed.runs.times import FIRST_SECOND, LAST_SECOND
from citebed.runs.trec_files import QRELS, RUN, blanks_in, single
from citebed.wording import count, shorten

Fields = tuple[str, ...]
SHORT_FORM: Fields = ("query_id", "doc_id", "score", "rating", "contains_mention")
RUN_FORM: Fields = (
    "team",
    "system",
    "doc_id",
    *("query_id", "score", "rating", "contains_mention"),
)
SCHEMA: dict[str, pl.DataType] = {
    "query_id": pl.String(),
    "doc_id": pl.String(),
    "time": pl.Int64(),
    "score": pl.Float64(),
    "rating": pl.Int8(),
    "contains_mention": pl.Boolean(),
}
"""The columns of a filter run; ``time`` is in seconds since 1970, UTC."""

HIGHEST = 1000
RATINGS = (-1, 0, 1, 2)
_NO_RATING = ("-", "None", "none", "null", "NULL", "NA")
_EPOCH = r"^(-?[0-9]{5,12})-."
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,3}")
_BLANKS = bytes.maketrans(b"\t\v\f", b"   ")
_REMARK = re.compile(rb"\n#[^\n]*")

_ID = pl.col("doc_id")
_TEN = _ID.str.slice(0, 10).cast(pl.Int64, strict=False)
_TEN_DIGITS = pl.when(
    (_TEN >= 10**9) & (_ID.str.slice(10, 1) == "-") & (_ID.str.len_bytes() > 11)
).then(_TEN)
"""The time in an id that starts with a ten-digit epoch second; faster than ``_ANY_EPOCH``."""
_FOUND = _ID.str.extract(_EPOCH).cast(pl.Int64)
_ANY_EPOCH = pl.when(_FOUND.is_between(FIRST_SECOND, LAST_SECOND, closed="left")).then(_FOUND)


_BLOCK = 1 << 25


@dataclass(frozen=True)
class KbaFile:
    """A filter run or judgements, in the file's order.

    A run's ``table`` has the columns of ``SCHEMA``; ``rating`` and ``contains_mention`` are null if
    the file does not have them. The table of judgements has ``query_id, doc_id, time, relevance``,
    one row per line, not merged. ``team`` and ``system`` are from the first line.
    """

    path: Path
    table: pl.DataFrame
    problems: tuple[Problem, ...] = ()
    header: dict[str, Any] = field(default_factory=dict)
    team: str = ""
    system: str = ""


def read_filter_run(path: str | Path, *, strict: bool = True) -> KbaFile:
    """Read a filter run; an invalid line is an error that names the line.

    With ``strict=False`` invalid lines are skipped and listed in ``problems``. A file with only a
    header is an empty run; an empty file is an error.
    """
    path = Path(path)
    head = _read_head(path, RUN_FORM)
    table, problems = _read(path, RUN_FORM, strict)
    return KbaFile(path, table, (*head.problems, *problems), head.header, *head.names)


def detect_kba_form(path: str | Path) -> Fields | None:
    """Detect the KBA format of a file by its first line; ``None`` for any other file.

    A header without lines is an empty run.
    """
    try:
        head = _read_head(Path(path), RUN_FORM)
    except FormatError:
        return None  # reading the file will raise the error again
    if not head.fields:
        return RUN_FORM if head.header else None
    form = SHORT_FORM if len(head.fields) == len(SHORT_FORM) else RUN_FORM
    row = _row(" ".join(head.fields).encode(), form, form is SHORT_FORM)
    return form if isinstance(row, tuple) else None


def read_judgements(path: str | Path, *, strict: bool = True) -> KbaFile:
    """Read judgements in the short format (five fields) or in a run's (seven or more).

    The first line decides the format. Several assessors may have rated the same pair; their lines
    are not merged here.
    """
    path = Path(path)
    head = _read_head(path, SHORT_FORM)
    form = SHORT_FORM if len(head.fields) < len(RUN_FORM) else RUN_FORM
    table, problems = _read(path, form, strict, rated=True)
    relevance = pl.col("rating").cast(pl.Int32).alias("relevance")
    judged = table.select("query_id", "doc_id", "time", relevance)
    return KbaFile(path, judged, (*head.problems, *problems))


# --- as TREC qrels and runs, for scoring without time --------------------------------------


def grade_names(entities: pl.Series) -> tuple[str, str]:
    """Return KBA's names for grades 2 and 1.

    They are vital and useful since 2013, when entities became URLs
    (``http://en.wikipedia.org/wiki/…``), and central and relevant before.
    """
    is_2013 = entities.cast(pl.String).str.contains("://", literal=True).any()
    return ("vital", "useful") if is_2013 else ("central", "relevant")


def kba_qrels(path: Path, name: str) -> Qrels | None:
    """Read KBA judgements, merged by the track's rule; ``None`` if the file is not KBA's.

    Garbage (-1) counts as judged not relevant (0).
    """
    if detect_kba_form(path) is None:
        return None
    lines = read_judgements(path).table.with_columns(pl.col("relevance").clip(lower_bound=0))
    merged = merge_assessors(lines, OFFICIAL)
    top, next_one = grade_names(merged["query_id"])
    note = (
        f"{name}: read as KBA judgements, {count(merged.height, 'pair')} from "
        f"{count(lines.height, 'line')}, assessors merged by {OFFICIAL}; grade 2 is {top}, 1 is "
        f"{next_one}, 0 everything else"
    )
    return Qrels(merged.select(QRELS.columns).cast({"relevance": pl.Int64}), name, notes=(note,))


def kba_run(path: Path, name: str) -> Run | None:
    """Read a filter run with the confidence as score; ``None`` if the file is not KBA's."""
    form = detect_kba_form(path)
    if form is None:
        return None
    if form is SHORT_FORM:
        what = "these are KBA judgements, but a run was expected. Check the order of the files."
        raise FormatError(path, None, what)
    run = read_filter_run(path)
    rows, times = run.table.select(RUN.columns), run.table["time"]
    return Run(rows, name, times=times, tag=run.system or None, team=run.team)


# --- heads and blocks -----------------------------------------------------------------------


class _Head(NamedTuple):
    """The header, and the fields of the first line of data."""

    header: dict[str, Any]
    fields: list[str]
    problems: tuple[Problem, ...]

    @property
    def names(self) -> tuple[str, str]:
        """The team and the system, from the first line or else from the header."""
        team, system = (*self.fields, "", "")[:2]
        known = self.header.get
        return team or str(known("team_id", "")), system or str(known("system_id", ""))


def _read_head(path: Path, form: Fields) -> _Head:
    comments: list[str] = []
    first: list[str] = []
    try:
        for _, line in read_numbered_lines(path):
            text = line.strip().decode("utf-8", "replace")
            if text and not text.startswith("#"):
                first = text.split()
                break
            comments.append(text)
        if not (first or any(comments)):
            raise FormatError(
                path, None, f"the file is empty; expected lines of {describe_form(form)}"
            )
    except FormatError as error:
        if error.line is None:
            raise
        # Reading the lines of a damaged compressed file raises this error again.
    header, problems = _header(comments)
    return _Head(header, first, problems)


def _header(comments: list[str]) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """Parse the JSON object in the first comment lines, if there is one."""
    text = "\n".join(comment[1:] for comment in comments).lstrip()
    if not text.startswith("{"):
        return {}, ()
    try:
        header, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        what = f"the header is not valid JSON ({error}); ignored"
        return {}, (Problem(1, what, "mended"),)
    return dict(header), ()


def _read(
    path: Path, form: Fields, strict: bool, *, rated: bool = False
) -> tuple[pl.DataFrame, tuple[Problem, ...]]:
    """Read the table and the list of skipped lines; with ``strict`` a skipped line is an error."""
    parts = [pl.DataFrame(schema=SCHEMA)]
    problems: list[Problem] = []
    try:
        for block in read_blocks(path, _BLOCK):
            table = read_at_once(block.data, form, rated)
            if table is None:
                table, wrong = read_one_by_one(block, form, rated)
                problems += wrong
            if strict and problems:
                raise FormatError(path, *problems[0][:2])
            parts.append(table)
    except FormatError as error:
        if strict or error.line is None:
            raise
        problems.append(Problem(error.line, error.what))
    return pl.concat(parts), tuple(problems)


def parsed_filter_lines(data: bytes, path: Path) -> pl.DataFrame:
    """Parse lines of a filter run into the columns of ``SCHEMA``; errors name the file."""
    table = read_at_once(data, RUN_FORM, False)
    if table is not None:
        return table
    table, problems = read_one_by_one(Block(data, 1, data.count(b"\n") + 1), RUN_FORM, False)
    if problems:
        raise FormatError(path, None, problems[0].what)
    return table


def describe_form(form: Fields) -> str:
    """Describe a format for messages."""
    if form is SHORT_FORM:
        return "'entity stream_id confidence rating contains_mention', or fields of a filter run"
    return "'team system stream_id entity confidence rating contains_mention …'"


# --- reading a block at once ----------------------------------------------------------------


def read_at_once(data: bytes, form: Fields, rated: bool) -> pl.DataFrame | None:
    """Parse a block of lines at once; ``None`` if any of them may be invalid."""
    if b"\0" in data or not _is_utf_8(data):
        return None
    for text in _texts(data):
        if not text:
            return pl.DataFrame(schema=SCHEMA)
        lines = _count(text)
        blanks = text.count(b" ") + lines - (not text.endswith(b"\n"))
        if blanks_in(text) != blanks or polars_misreads(text):
            continue
        for time in (_TEN_DIGITS, _ANY_EPOCH):
            made = _scanned(text, form, _columns(time, rated))
            if made is not None and made["sound"].all() and made.height == lines:
                return made.drop("sound")
    return None


def _is_utf_8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _count(text: bytes) -> int:
    return text.count(b"\n") + (not text.endswith(b"\n"))


def _texts(data: bytes) -> Iterator[bytes]:
    """Yield the lines as they are, and then cleaned more and more, at growing cost.

    First other white space becomes blanks; then multiple blanks, comments and blank lines go. Lines
    with a carriage return in the middle are left to `read_one_by_one`.
    """
    if b"\r" not in data:
        yield _after_remarks(data)
    text = data.replace(b"\r\n", b"\n").translate(_BLANKS)
    if b"\r" in text:
        return
    yield _after_remarks(text)
    text = single(text, b" ").replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    yield single(_REMARK.sub(b"", b"\n%b\n" % text), b"\n").strip(b"\n")


def _after_remarks(text: bytes) -> bytes:
    start = 0
    while text.startswith(b"#", start):
        start = text.find(b"\n", start) + 1 or len(text)
    return text[start:]


def _scanned(text: bytes, form: Fields, columns: list[pl.Expr]) -> pl.DataFrame | None:
    try:
        raw = pl.scan_csv(
            text,
            separator=" ",
            has_header=False,
            quote_char=None,
            truncate_ragged_lines=True,
            extra_columns="ignore",
            schema=dict.fromkeys(form, pl.String()),
        )
        return raw.select(columns).collect(engine="streaming")
    except pl.exceptions.PolarsError:
        return None


def _columns(time: pl.Expr, rated: bool) -> list[pl.Expr]:
    """Return the table's columns and ``sound``, which is true if `_row` would accept the row."""
    score = pl.col("score").cast(pl.Float64, strict=False)
    levels = [str(rating) for rating in RATINGS]
    mention = pl.col("contains_mention")
    sound = (
        (score > 0)
        & (score <= HIGHEST)
        & pl.col("rating").is_in(levels if rated else [*levels, *_NO_RATING])
        & time.is_not_null()
        & mention.is_not_null()
    )
    known = pl.when(mention == "1").then(True).when(mention == "0").then(False)
    return [
        pl.col("query_id"),
        pl.col("doc_id"),
        time.alias("time"),
        score,
        pl.col("rating").cast(pl.Int8, strict=False),
        known.alias("contains_mention"),
        sound.fill_null(False).alias("sound"),
    ]


# --- reading line by line -------------------------------------------------------------------


def read_one_by_one(block: Block, form: Fields, rated: bool) -> tuple[pl.DataFrame, list[Problem]]:
    """Parse lines one by one; return the table of valid lines and the problems of others."""
    rows: list[tuple[Any, ...]] = []
    problems: list[Problem] = []
    for number, line in number_lines(block):
        row = _row(line.strip(), form, rated)
        if isinstance(row, str):
            problems.append(Problem(number, row))
        elif row is not None:
            rows.append(row)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row"), problems


def _row(line: bytes, form: Fields, rated: bool) -> tuple[Any, ...] | str | None:
    """Parse a line; return its row, a message if it is invalid, or ``None`` for a comment."""
    if b"\r" in line:
        return "a carriage return within the line; end lines with line feeds"
    if not line or line.startswith(b"#"):
        return None
    if b"\0" in line:
        return f"not a text file; expected lines of {describe_form(form)}"
    try:
        fields = [field.decode("utf-8") for field in line.split()]
    except UnicodeDecodeError:
        return "bytes that are not UTF-8; convert the file, or take the line out"
    if len(fields) < len(form):
        return f"{len(fields)} fields, but a line has at least {len(form)}: {describe_form(form)}"
    named = dict(zip(form, fields, strict=False))
    time = re.match(_EPOCH, named["doc_id"])
    if time is None or not FIRST_SECOND <= int(time[1]) < LAST_SECOND:
        return (
            f"the stream id '{shorten(named['doc_id'])}' does not start with an epoch second and "
            "'-', as in 1323450574-47f28b762b24"
        )
    text = named["score"]
    score = float(text) if _NUMBER.fullmatch(text) else 0.0
    if not 0 < score <= HIGHEST:
        return f"the confidence '{shorten(text)}' is not a number above 0 and up to {HIGHEST}"
    text, rating = named["rating"], None
    if rated or text not in _NO_RATING:
        if not _INTEGER.fullmatch(text) or int(text) not in RATINGS:
            none = "" if rated else " (or - for none)"
            return f"the rating '{shorten(text)}' is not -1, 0, 1 or 2{none}"
        rating = int(text)
    mention = {"1": True, "0": False}.get(named["contains_mention"])
    return named["query_id"], named["doc_id"], int(time[1]), score, rating, mention
