"""Queries from citing text and from files: clean texts, read query sets, check dates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.collection.tables import QUERIES
from citebed.errors import CitebedError, FormatError, UnknownName
from citebed.files.input_files import read_lines
from citebed.files.lines import parse_json_object
from citebed.text.markers import remove_markers
from citebed.text.normalise import join_hyphens
from citebed.wording import printable

_EXPECTED = 'Expected on each line a query id, a tab and the text, or {"query_id": …, "text": …}.'
_IDS = ("query_id", "_id", "id")
_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)


def query_text(text: str) -> str:
    """Return citing text without citation markers and line-end hyphens."""
    return remove_markers(join_hyphens(text))


def checked_date(text: str) -> str:
    """Return a valid date: a year, or a month or day in ISO form. Raise for other text."""
    if not _DATE.fullmatch(text.strip()):
        raise CitebedError(f"'{text}' is not a date; write 2019, 2019-07 or 2019-07-31")
    return text.strip()


def read_queries(collection: Collection, name: str | pl.DataFrame) -> pl.DataFrame:
    """Return a query set of the collection, or the queries of a file (.jsonl, or id, tab, text).

    A table of queries needs ``query_id`` and ``text``; the other columns of a query set are
    optional.
    """
    if isinstance(name, pl.DataFrame):
        for column in ("query_id", "text"):
            if column not in name.columns:
                raise CitebedError(
                    "a table of queries needs the columns query_id and text; this one has "
                    f"{', '.join(name.columns) or 'none'}."
                )
        missing = {each: pl.lit(None, kind) for each, kind in QUERIES.items() if each not in name}
        return name.with_columns(**missing).with_columns(pl.col("query_id").cast(pl.String))
    if name in collection.query_sets:
        return collection.queries(name)
    path = Path(name)
    if path.is_dir() or not path.exists():
        raise UnknownName("query set", printable(name), collection.query_sets)
    rows: dict[str, dict[str, Any]] = {}
    for number, line in read_lines(path):
        if line.strip():
            row = _row(path, number, line)
            if row["query_id"] in rows:
                raise FormatError(path, number, f"has query '{row['query_id']}' a second time")
            rows[row["query_id"]] = row
    if not rows:
        raise FormatError(path, None, f"has no queries. {_EXPECTED}")
    return pl.DataFrame(list(rows.values()), schema=QUERIES)


def _row(path: Path, number: int, line: str) -> dict[str, Any]:
    """Return the query in a line: an id, a tab and the text, or a JSON object."""
    if not line.lstrip().startswith("{"):
        query_id, tab, text = line.partition("\t")
        if not tab or not query_id.strip():
            raise FormatError(path, number, _EXPECTED)
        if "\r" in line:
            raise FormatError(path, number, "contains a carriage return. Use \\n as line end.")
        return {**dict.fromkeys(QUERIES), "query_id": query_id.strip(), "text": text.strip()}
    row = parse_json_object(path, number, line, _EXPECTED)
    found = next((row[name] for name in _IDS if row.get(name) is not None), None)
    query_id = str(found) if isinstance(found, str | int) else ""
    if not query_id.strip() or not isinstance(row.get("text"), str):
        raise FormatError(path, number, 'expected {"query_id": …, "text": …}')
    row = {**{name: row.get(name) for name in QUERIES}, "query_id": query_id}
    exclude = [] if row["exclude"] is None else row["exclude"]
    if not isinstance(exclude, list) or not all(isinstance(name, str) for name in exclude):
        raise FormatError(path, number, "'exclude' must be a list of document ids")
    for name in ("title", "paper_id", "section", "before"):
        if not isinstance(row[name], str | None):
            kind = type(row[name]).__name__
            raise FormatError(path, number, f"'{name}' must be text, not {kind}")
    if row["before"] is not None:
        try:
            row["before"] = checked_date(row["before"])
        except CitebedError as error:
            raise FormatError(path, number, f"'before': {error}") from None
    return {**row, "exclude": exclude}
