"""TREC KBA's files as they are in the wild: filter runs, and judgements in two forms.

A filter run is plain or gzip text: a first line ``#{json}``, other lines that start with ``#``,
and lines of seven or more fields between white space::

    team system stream_id entity confidence rating contains_mention [date-hour …]

The confidence is in (0, 1000], the rating one of -1 garbage, 0 neutral, 1 relevant, 2 central
(``-`` for none), and a stream id starts with the document's epoch second: ``1323450574-47f2…``.
Judgements stand in the same form, or in a short one: ``entity stream_id confidence rating
contains_mention``. The files are described in Frank et al., "Building an entity-centric stream
filtering test collection for TREC 2012".

Files are read in blocks of lines, each by polars' CSV reader where it is in order, and line by
line where not (`citebed.runs.kba_lines`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from citebed.errors import FormatError
from citebed.files.line_blocks import file_blocks, numbered_lines
from citebed.records import Problem
from citebed.runs.kba_lines import (
    HIGHEST,
    RATINGS,
    RUN_FORM,
    SCHEMA,
    SHORT_FORM,
    Form,
    read_at_once,
    read_one_by_one,
    shape,
)
from citebed.runs.kba_writing import FilterLine, FilterRunWriter, stream_id, write_filter_run

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
    head = _read_head(path, SHORT_FORM)
    form = SHORT_FORM if len(head.fields) < len(RUN_FORM) else RUN_FORM
    table, problems = _read(path, form, strict, rated=True)
    relevance = pl.col("rating").cast(pl.Int32).alias("relevance")
    return FilterJudgements(
        path,
        table.select("query_id", "doc_id", "time", relevance),
        (*head.problems, *problems),
    )


class _Head(NamedTuple):
    """What the first lines say: the header, and the fields of the first line of data."""

    header: dict[str, Any]
    fields: list[str]
    problems: tuple[Problem, ...]


def _read_head(path: Path, form: Form) -> _Head:
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
            raise FormatError(path, None, f"the file is empty; expected lines of {shape(form)}")
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
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        what = f"the header is no JSON ({error}); read without it"
        return {}, (Problem(1, what, "mended"),)
    return dict(found), ()


def _read(
    path: Path, form: Form, strict: bool, *, rated: bool = False
) -> tuple[pl.DataFrame, tuple[Problem, ...]]:
    """The table, and what was left out; with ``strict`` the first of that is an error."""
    parts = [pl.DataFrame(schema=SCHEMA)]
    problems: list[Problem] = []
    try:
        for block in file_blocks(path, _BLOCK):
            table = read_at_once(block.data, form, rated)
            if table is None:
                table, found = read_one_by_one(block, form, rated)
                problems += found
            if strict and problems:
                raise FormatError(path, *problems[0][:2])
            parts.append(table)
    except FormatError as error:
        if strict or error.line is None:
            raise
        problems.append(Problem(error.line, error.what))
    return pl.concat(parts), tuple(problems)
