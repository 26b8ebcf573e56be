"""TREC KBA's files as they are in the wild: filter runs, and judgements in two forms.

A filter run is plain or gzip text: a first line ``#{json}``, other lines that start with ``#``,
and lines of seven or more fields between white space::

    team system stream_id entity confidence rating contains_mention [date-hour …]

The confidence is in (0, 1000], the rating one of -1 garbage, 0 neutral, 1 relevant, 2 central
(since 2013: 1 useful, 2 vital; ``-`` for none), and a stream id starts with the document's epoch
second: ``1323450574-47f2…``.
Judgements stand in the same form, or in a short one: ``entity stream_id confidence rating
contains_mention``. The files are described in Frank et al., "Building an entity-centric stream
filtering test collection for TREC 2012".

Files are read in blocks of lines, each by polars' CSV reader where it is in order, and line by
line where not. Both ways give the same. polars is only shown lines whose fields stand between
single blanks, as many as it gives rows, and every row must be sound; whatever it cannot vouch for
(a field too few, an odd number, a return within a line) is read one by one, so that errors have a
place. `citebed.runs.writer` writes filter runs.
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
from citebed.files.line_blocks import Block, file_blocks, numbered, numbered_lines
from citebed.files.packed import polars_misreads
from citebed.records import Problem
from citebed.runs.assessors import OFFICIAL, merge_assessors
from citebed.runs.plain_text import blanks_in
from citebed.runs.tables import Qrels, Run
from citebed.runs.times import FIRST_SECOND, LAST_SECOND
from citebed.runs.trec_files import QRELS, RUN
from citebed.wording import count, short

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
"""The time of an id that starts with an epoch second of these decades: quicker than any."""
_FOUND = _ID.str.extract(_EPOCH).cast(pl.Int64)
_ANY_EPOCH = pl.when(_FOUND.is_between(FIRST_SECOND, LAST_SECOND, closed="left")).then(_FOUND)


_BLOCK = 1 << 25


@dataclass(frozen=True)
class FilterRun:
    """A filter run: the table (columns as in ``SCHEMA``, in the file's order) and its head.

    ``team`` and ``system`` are those of the first line. ``rating`` and ``contains_mention`` are
    null where the file does not say.
    """

    path: Path
    table: pl.DataFrame
    header: dict[str, Any] = field(default_factory=dict)
    team: str = ""
    system: str = ""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class FilterJudgements:
    """Judgements: ``query_id``, ``doc_id``, ``time``, ``relevance``; one row a line, unmerged."""

    path: Path
    table: pl.DataFrame
    problems: tuple[Problem, ...] = ()


def read_filter_run(path: str | Path, *, strict: bool = True) -> FilterRun:
    """Read a filter run; a bad line is an error with its place.

    With ``strict=False`` bad lines are left out and listed in ``problems``. A file that holds
    a header only is a run that returned nothing, and fine; a file without a byte is not.
    """
    path = Path(path)
    head = _read_head(path, RUN_FORM)
    table, problems = _read(path, RUN_FORM, strict)
    return FilterRun(path, table, head.header, *head.names, (*head.problems, *problems))


def detect_kba_form(path: str | Path) -> Fields | None:
    """The form of a file by its first line; ``None`` for one that is not KBA's.

    A header with nothing after it is a run that returned nothing.
    """
    try:
        head = _read_head(Path(path), RUN_FORM)
    except FormatError:
        return None  # what is wrong with it, whoever reads it will say
    if not head.fields:
        return RUN_FORM if head.header else None
    form = SHORT_FORM if len(head.fields) == len(SHORT_FORM) else RUN_FORM
    row = _row(" ".join(head.fields).encode(), form, form is SHORT_FORM)
    return form if isinstance(row, tuple) else None


def read_judgements(path: str | Path, *, strict: bool = True) -> FilterJudgements:
    """Read judgements in the short form (five fields) or in a run's form (seven or more).

    Which of them it is, the first line says. Every line is kept: several assessors may have
    rated the same pair, and how they are merged is for others to decide.
    """
    path = Path(path)
    head = _read_head(path, SHORT_FORM)
    form = SHORT_FORM if len(head.fields) < len(RUN_FORM) else RUN_FORM
    table, problems = _read(path, form, strict, rated=True)
    relevance = pl.col("rating").cast(pl.Int32).alias("relevance")
    return FilterJudgements(
        path,
        table.select("query_id", "doc_id", "time", relevance),
        (*head.problems, *problems),
    )


# --- as tables like TREC's, for all who score without time ---------------------------------


def grade_names(entities: pl.Series) -> tuple[str, str]:
    """What KBA calls grades 2 and 1: vital and useful since 2013, when entities became addresses
    (``http://en.wikipedia.org/wiki/…``), before that central and relevant."""
    is_2013 = entities.cast(pl.String).str.contains("://", literal=True).any()
    return ("vital", "useful") if is_2013 else ("central", "relevant")


def kba_qrels(path: Path, name: str) -> Qrels | None:
    """KBA judgements, a pair once by the track's own rule; ``None`` for a file that has none.

    Garbage, -1, is a judgement: 0.
    """
    if detect_kba_form(path) is None:
        return None
    lines = read_judgements(path).table.with_columns(pl.col("relevance").clip(lower_bound=0))
    merged = merge_assessors(lines, OFFICIAL)
    top, next_one = grade_names(merged["query_id"])
    note = (
        f"{name}: read as KBA's judgements, {count(merged.height, 'pair')} from "
        f"{count(lines.height, 'line')}, several assessors by {OFFICIAL}; grade 2 is {top}, 1 "
        f"{next_one}, 0 all else"
    )
    return Qrels(merged.select(QRELS.columns).cast({"relevance": pl.Int64}), name, notes=(note,))


def kba_run(path: Path, name: str) -> Run | None:
    """A filter run, whose confidence is the score; ``None`` for a file that is none."""
    form = detect_kba_form(path)
    if form is None:
        return None
    if form is SHORT_FORM:
        what = "these are KBA's judgements, where a run should stand. Are the files in order?"
        raise FormatError(path, None, what)
    run = read_filter_run(path)
    rows, times = run.table.select(RUN.columns), run.table["time"]
    return Run(rows, name, times=times, tag=run.system or None, team=run.team)


# --- heads and blocks -----------------------------------------------------------------------


class _Head(NamedTuple):
    """What the first lines say: the header, and the fields of the first line of data."""

    header: dict[str, Any]
    fields: list[str]
    problems: tuple[Problem, ...]

    @property
    def names(self) -> tuple[str, str]:
        """The team and the system: fields of the first line, or else of the header."""
        team, system = (*self.fields, "", "")[:2]
        known = self.header.get
        return team or str(known("team_id", "")), system or str(known("system_id", ""))


def _read_head(path: Path, form: Fields) -> _Head:
    comments: list[str] = []
    first: list[str] = []
    try:
        for _, line in numbered_lines(path):
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
        # Where a packed file is damaged is told when its lines are read.
    header, problems = _header(comments)
    return _Head(header, first, problems)


def _header(comments: list[str]) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """The JSON object that the first comment lines hold, if they do; it may span several."""
    text = "\n".join(comment[1:] for comment in comments).lstrip()
    if not text.startswith("{"):
        return {}, ()
    try:
        header, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        what = f"the header is no JSON ({error}); read without it"
        return {}, (Problem(1, what, "mended"),)
    return dict(header), ()


def _read(
    path: Path, form: Fields, strict: bool, *, rated: bool = False
) -> tuple[pl.DataFrame, tuple[Problem, ...]]:
    """The table, and what was left out; with ``strict`` the first of that is an error."""
    parts = [pl.DataFrame(schema=SCHEMA)]
    problems: list[Problem] = []
    try:
        for block in file_blocks(path, _BLOCK):
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
    """Some lines of a filter run, columns as in ``SCHEMA``; an error names the file."""
    table = read_at_once(data, RUN_FORM, False)
    if table is not None:
        return table
    table, problems = read_one_by_one(Block(data, 1, data.count(b"\n") + 1), RUN_FORM, False)
    if problems:
        raise FormatError(path, None, problems[0].what)
    return table


def describe_form(form: Fields) -> str:
    """A form in words."""
    if form is SHORT_FORM:
        return "'entity stream_id confidence rating contains_mention', or those of a filter run"
    return "'team system stream_id entity confidence rating contains_mention …'"


# --- at once --------------------------------------------------------------------------------


def read_at_once(data: bytes, form: Fields, rated: bool) -> pl.DataFrame | None:
    """The table of lines that are all right; ``None`` for any others."""
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
    """The lines as they are; with other white space made blanks; and with single blanks alone,
    without remarks and blank lines. Each of them costs more than the last.

    A return that does not end a line is left to those who read one by one.
    """
    if b"\r" not in data:
        yield _after_remarks(data)
    text = data.replace(b"\r\n", b"\n").translate(_BLANKS)
    if b"\r" in text:
        return
    yield _after_remarks(text)
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = b"\n%b\n" % text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    text = _REMARK.sub(b"", text)
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    yield text.strip(b"\n")


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
    """The columns of the table, and whether each row is ``sound``: no less than ``_row`` asks."""
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


# --- one by one -----------------------------------------------------------------------------


def read_one_by_one(block: Block, form: Fields, rated: bool) -> tuple[pl.DataFrame, list[Problem]]:
    """The table of the lines that are right, and what is wrong with the others."""
    rows: list[tuple[Any, ...]] = []
    problems: list[Problem] = []
    for number, line in numbered(block):
        row = _row(line.strip(), form, rated)
        if isinstance(row, str):
            problems.append(Problem(number, row))
        elif row is not None:
            rows.append(row)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row"), problems


def _row(line: bytes, form: Fields, rated: bool) -> tuple[Any, ...] | str | None:
    """A line as a row of the table, or what is wrong with it; ``None`` where nothing is said."""
    if b"\r" in line:
        return "a return within the line; end lines with line feeds"
    if not line or line.startswith(b"#"):
        return None
    if b"\0" in line:
        return f"this is not text; expected lines of {describe_form(form)}"
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
            f"the stream id '{short(named['doc_id'])}' does not start with an epoch second and "
            "'-', as in 1323450574-47f28b762b24"
        )
    text = named["score"]
    score = float(text) if _NUMBER.fullmatch(text) else 0.0
    if not 0 < score <= HIGHEST:
        return f"the confidence '{short(text)}' is not a number above 0 and up to {HIGHEST}"
    rating = _rating(named["rating"], rated)
    if isinstance(rating, str):
        return rating
    mention = {"1": True, "0": False}.get(named["contains_mention"])
    return named["query_id"], named["doc_id"], int(time[1]), score, rating, mention


def _rating(text: str, rated: bool) -> int | str | None:
    """The rating, ``None`` where there is none, or what is wrong with it."""
    if text in _NO_RATING and not rated:
        return None
    if _INTEGER.fullmatch(text) and int(text) in RATINGS:
        return int(text)
    none = "" if rated else " (or - for none)"
    return f"the rating '{short(text)}' is none of -1, 0, 1, 2{none}"
