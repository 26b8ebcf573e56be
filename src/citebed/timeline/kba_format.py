"""TREC KBA's files as they are in the wild: filter runs, and judgements in two forms.

A filter run is plain or gzip text: a first line ``#{json}``, other lines that start with ``#``,
and lines of seven or more fields between white space::

    team system stream_id entity confidence rating contains_mention [date-hour …]

The confidence is in (0, 1000], the rating one of -1 garbage, 0 neutral, 1 relevant, 2 central
(``-`` for none), and a stream id starts with the document's epoch second: ``1323450574-47f2…``.
Judgements stand in the same form, or in a short one: ``entity stream_id confidence rating
contains_mention``. The files are described in Frank et al., "Building an entity-centric stream
filtering test collection for TREC 2012".

Well-formed files are read by polars' CSV reader. Whatever it cannot vouch for (tabs, several
blanks, a line that is wrong) is read once more line by line, so that errors have a place.
"""

from __future__ import annotations

import gzip
import json
import mmap
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from citebed.errors import FormatError
from citebed.records import Problem
from citebed.timeline.kba_writing import FilterLine, FilterRunWriter, stream_id, write_filter_run
from citebed.timeline.times import FIRST_SECOND, LAST_SECOND

__all__ = [
    "HIGHEST",
    "RATINGS",
    "SCHEMA",
    "FilterJudgements",
    "FilterLine",
    "FilterRun",
    "FilterRunWriter",
    "read_filter_run",
    "read_judgements",
    "stream_id",
    "write_filter_run",
]

HIGHEST = 1000
RATINGS = (-1, 0, 1, 2)
GZIP, BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_EPOCH = r"^(-?[0-9]{5,12})-."
_NO_RATING = ("-", "None", "none", "null", "NULL", "NA")
_OTHER_WHITE_SPACE = (b"\t", b"\r", b"\v", b"\f")
_BLANKS = bytes.maketrans(b"\t\r\v\f", b"    ")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,3}")
_RUN_FORM = ("team", "system", "doc_id", "query_id", "score", "rating", "contains_mention")
_SHORT_FORM = ("query_id", "doc_id", "score", "rating", "contains_mention")

_ID = pl.col("doc_id")
_TEN = _ID.str.slice(0, 10).cast(pl.Int64, strict=False)
_TEN_DIGITS = pl.when(
    (_TEN >= 10**9) & (_ID.str.slice(10, 1) == "-") & (_ID.str.len_bytes() > 11)
).then(_TEN)
"""The time of an id that starts with an epoch second of these decades: quicker than any."""
_FOUND = _ID.str.extract(_EPOCH).cast(pl.Int64)
_ANY_EPOCH = pl.when(_FOUND.is_between(FIRST_SECOND, LAST_SECOND, closed="left")).then(_FOUND)

SCHEMA: dict[str, pl.DataType] = {
    "query_id": pl.String(),
    "doc_id": pl.String(),
    "time": pl.Int64(),
    "score": pl.Float64(),
    "rating": pl.Int8(),
    "contains_mention": pl.Boolean(),
}
"""The columns of a filter run; ``time`` is in seconds since 1970, UTC."""


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
    head = _read_head(path, _RUN_FORM)
    table, problems = _read(path, head, _RUN_FORM, strict)
    team, system = (*head.fields, "", "")[:2]
    team = team or str(head.header.get("team_id", ""))
    system = system or str(head.header.get("system_id", ""))
    return FilterRun(path, table, head.header, team, system, (*head.problems, *problems))


def read_judgements(path: str | Path, *, strict: bool = True) -> FilterJudgements:
    """Read judgements in the short form (five fields) or in a run's form (seven or more).

    Which of them it is, the first line says. Every line is kept: several assessors may have
    rated the same pair, and how they are merged is for others to decide.
    """
    path = Path(path)
    head = _read_head(path, _SHORT_FORM)
    form = _SHORT_FORM if len(head.fields) < len(_RUN_FORM) else _RUN_FORM
    table, problems = _read(path, head, form, strict, rated=True)
    relevance = pl.col("rating").cast(pl.Int32).alias("relevance")
    return FilterJudgements(
        path,
        table.select("query_id", "doc_id", "time", relevance),
        (*head.problems, *problems),
    )


# --- the head -------------------------------------------------------------------------------


class _Head(NamedTuple):
    """What the first lines say: the header, and the fields of the first line of data, before
    which there are ``lines`` others."""

    header: dict[str, Any]
    fields: list[str]
    lines: int
    zipped: bool
    problems: tuple[Problem, ...]


def _read_head(path: Path, form: tuple[str, ...]) -> _Head:
    comments: list[str] = []
    first: list[bytes] = []
    damage: list[Problem] = []
    with path.open("rb") as handle:
        zipped = handle.read(2) == GZIP
    for _, line in _lines(path, zipped, damage):
        text = line.strip()
        if text and not text.startswith(b"#"):
            first = text.split()
            break
        comments.append(text[1:].decode("utf-8", "replace"))
    if not (first or any(comments) or damage):
        raise FormatError(path, None, f"the file is empty; expected lines of {_shape(form)}")
    header, problems = _header(comments)
    fields = [field.decode("utf-8", "replace") for field in first]
    return _Head(header, fields, len(comments), zipped, problems)


def _header(comments: list[str]) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """The JSON object that the first comment lines hold, if they do; it may span several."""
    text = "\n".join(comments).lstrip()
    if not text.startswith("{"):
        return {}, ()
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except ValueError as error:
        what = f"the header is no JSON ({error}); read without it"
        return {}, (Problem(1, what, "mended"),)
    return dict(found), ()


def _lines(path: Path, zipped: bool, damage: list[Problem]) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; an end that is missing is noted in ``damage``."""
    number = 0
    try:
        with gzip.open(path) if zipped else path.open("rb") as handle:
            for number, line in enumerate(handle, start=1):
                yield number, line.removeprefix(BOM) if number == 1 else line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = f"the gzip file is cut short or damaged here ({error}); fetch or make it again"
        damage.append(Problem(number + 1, what))


def _shape(form: tuple[str, ...]) -> str:
    if form is _SHORT_FORM:
        return "'entity stream_id confidence rating contains_mention', or those of a filter run"
    return "'team system stream_id entity confidence rating contains_mention …'"


# --- the table ------------------------------------------------------------------------------


def _read(
    path: Path, head: _Head, form: tuple[str, ...], strict: bool, *, rated: bool = False
) -> tuple[pl.DataFrame, tuple[Problem, ...]]:
    """The table, read quickly if all of it is in order, and with care if not."""
    if head.fields:
        for source in _sources(path, head.zipped):
            for time in (_TEN_DIGITS, _ANY_EPOCH):
                table = _read_fast(source, head, form, _columns(time, rated))
                if table is not None:
                    return table, ()
    return _read_with_care(path, head, form, strict, rated)


def _sources(path: Path, zipped: bool) -> Iterator[bytes | Path]:
    """The file as it stands, if its fields can be separated by single blanks; then with all
    other white space made into that. Nothing if it cannot be unpacked.

    A tab that stays between two fields would shift the others, and they might look right; a
    second blank makes an empty field, which does not.
    """
    try:
        data = gzip.decompress(path.read_bytes()) if zipped else None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return
    if data is None and not _has_other_white_space(path):
        yield path
    data = path.read_bytes() if data is None else data
    if zipped and not any(sign in data for sign in _OTHER_WHITE_SPACE):
        yield data
    data = data.translate(_BLANKS)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    yield data.replace(b" \n", b"\n").replace(b"\n ", b"\n").lstrip(b" ")


def _has_other_white_space(path: Path) -> bool:
    with (
        path.open("rb") as handle,
        mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as view,
    ):
        return any(view.find(sign) >= 0 for sign in _OTHER_WHITE_SPACE)


def _read_fast(
    source: bytes | Path, head: _Head, form: tuple[str, ...], columns: list[pl.Expr]
) -> pl.DataFrame | None:
    """The table of a file in which every line is right; ``None`` for any other file.

    Columns are made while the file is read, so that its text is never in memory as a whole.
    """
    names = [*form, *(f"more_{n}" for n in range(len(head.fields) - len(form)))]
    try:
        raw = pl.scan_csv(
            source,
            separator=" ",
            has_header=False,
            quote_char=None,
            skip_lines=head.lines,
            comment_prefix="#",
            truncate_ragged_lines=True,
            schema=dict.fromkeys(names, pl.String()),
            glob=False,
        )
        made = raw.select(columns).collect(engine="streaming")
        if made["doc_id"].null_count():  # lines without a field may be passed over, others not
            some = raw.filter(pl.col(names[0]).is_not_null())
            made = some.select(columns).collect(engine="streaming")
    except pl.exceptions.PolarsError:
        return None
    return made.drop("sound") if made["sound"].all() else None


def _columns(time: pl.Expr, rated: bool) -> list[pl.Expr]:
    """The columns of the table, and whether each row is ``sound``: the same as ``_row`` asks."""
    score = pl.col("score").cast(pl.Float64, strict=False)
    rating = pl.col("rating").cast(pl.Int8, strict=False)
    mention = pl.col("contains_mention")
    level_is_sound = rating.is_in(RATINGS)
    if not rated:
        level_is_sound = level_is_sound.fill_null(pl.col("rating").is_in(_NO_RATING))
    sound = (
        (score > 0)
        & (score <= HIGHEST)
        & level_is_sound
        & time.is_not_null()
        & pl.col("query_id").is_not_null()
        & mention.is_not_null()
    )
    known = pl.when(mention == "1").then(True).when(mention == "0").then(False)
    return [
        pl.col("query_id"),
        pl.col("doc_id"),
        time.alias("time"),
        score,
        rating,
        known.alias("contains_mention"),
        sound.fill_null(False).alias("sound"),
    ]


def _read_with_care(
    path: Path, head: _Head, form: tuple[str, ...], strict: bool, rated: bool
) -> tuple[pl.DataFrame, tuple[Problem, ...]]:
    rows: list[tuple[Any, ...]] = []
    problems: list[Problem] = []
    for number, line in _lines(path, head.zipped, problems):
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        row = _row(text, form, rated)
        if isinstance(row, str):
            problems.append(Problem(number, row))
            if strict:
                break
        else:
            rows.append(row)
    if strict and problems:
        raise FormatError(path, problems[0].line, problems[0].what)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row"), tuple(problems)


def _row(line: bytes, form: tuple[str, ...], rated: bool) -> tuple[Any, ...] | str:
    """A line as a row of the table, or what is wrong with it."""
    try:
        fields = [field.decode("utf-8") for field in line.split()]
    except UnicodeDecodeError:
        return "bytes that are not UTF-8; convert the file, or take the line out"
    if len(fields) < len(form):
        return f"{len(fields)} fields, but a line has at least {len(form)}: {_shape(form)}"
    named = dict(zip(form, fields, strict=False))
    time = re.match(_EPOCH, named["doc_id"])
    if time is None or not FIRST_SECOND <= int(time[1]) < LAST_SECOND:
        return (
            f"the stream id '{named['doc_id']}' does not start with an epoch second and '-', "
            "as in 1323450574-47f28b762b24"
        )
    text = named["score"]
    score = float(text) if _NUMBER.fullmatch(text) else 0.0
    if not 0 < score <= HIGHEST:
        return f"the confidence '{text}' is not a number above 0 and up to {HIGHEST}"
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
    return f"the rating '{text}' is none of -1, 0, 1, 2{'' if rated else ' (or - for none)'}"
