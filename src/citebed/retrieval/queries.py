"""Queries from citing text: what is taken out of a text before it asks for documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.collection.citing import QUERIES
from citebed.errors import CitebedError, FormatError, UnknownName
from citebed.retrieval.analysis.hyphens import join_hyphens
from citebed.retrieval.analysis.markers import remove_markers


def query_text(text: str) -> str:
    """Citing text without its citation markers and line-end hyphens."""
    return remove_markers(join_hyphens(text))


def is_telling(term: str) -> bool:
    """Whether a term tells a topic: a single letter or digit does not."""
    return len(term) > 1 or not term.isascii()


def read_queries(collection: Collection, name: str) -> pl.DataFrame:
    """A query set of the collection, or the queries of a file (.jsonl, or id, tab, text)."""
    if name in collection.query_sets:
        return collection.queries(name)
    path = Path(name)
    if not path.is_file():
        known = (*collection.query_sets, "or a file")
        raise UnknownName("query set", name, known)
    rows = [_row(path, number, line) for number, line in enumerate(_lines(path), 1) if line.strip()]
    seen: set[str] = set()
    for number, row in enumerate(rows, 1):
        if row["query_id"] in seen:
            raise FormatError(path, number, f"has query '{row['query_id']}' a second time")
        seen.add(row["query_id"])
    return pl.DataFrame(rows, schema=QUERIES)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(path, None, f"is not UTF-8 text ({error.reason})") from None


def _row(path: Path, number: int, line: str) -> dict[str, Any]:
    if line.lstrip().startswith("{"):
        return _json_row(path, number, line)
    query_id, tab, text = line.partition("\t")
    if not tab or not query_id.strip():
        raise FormatError(path, number, "expected a query id, a tab and the text, or JSON")
    return _with_defaults({"query_id": query_id.strip(), "text": text.strip()})


def _json_row(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(path, number, f"is not JSON ({error})") from None
    query_id = row.get("query_id", row.get("_id", row.get("id")))
    if query_id is None or not isinstance(row.get("text"), str):
        raise FormatError(path, number, 'expected {"query_id": …, "text": …}')
    return _with_defaults({**row, "query_id": str(query_id)})


def _with_defaults(row: dict[str, Any]) -> dict[str, Any]:
    exclude = row.get("exclude")
    if exclude is not None and not isinstance(exclude, list):
        raise CitebedError(f"query '{row['query_id']}': 'exclude' must be a list of document ids")
    texts = {name: row.get(name) for name in QUERIES if name != "exclude"}
    return {**texts, "exclude": [str(name) for name in exclude or ()]}
