"""Files of queries, JSON Lines: where they stand, and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import realpath
from pathlib import Path
from typing import Any

from citebed.errors import FormatError
from citebed.files.line_blocks import json_object
from citebed.files.reading import read_lines


def queries_beside(qrels: Path | None) -> Path | None:
    """The queries of judgements that stand in a collection, if they do.

    They are ``queries/NAME.jsonl`` for ``qrels/NAME.qrels``.
    """
    if qrels is None:
        return None
    place = Path(realpath(qrels))
    path = place.parent.parent / "queries" / f"{qrels.name.split('.qrels')[0]}.jsonl"
    return path if path.is_file() else None


def query_rows(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Every query of a file: its line, its id, and all its fields."""
    expected = 'Expected a JSON object with a "query_id".'
    for number, line in read_lines(path):
        if not line.strip():
            continue
        row = json_object(path, number, line, expected)
        if not isinstance(row.get("query_id"), str | int):
            raise FormatError(path, number, f"there is no query_id. {expected}")
        yield number, str(row["query_id"]), row


def query_texts(path: Path) -> dict[str, str]:
    """The text of each query that has one."""
    texts: dict[str, str] = {}
    for number, query, row in query_rows(path):
        text = row.get("text")
        if text is None:
            continue
        if not isinstance(text, str):
            raise FormatError(path, number, f"'text' must be text, not {type(text).__name__}.")
        if query in texts:
            raise FormatError(path, number, f"has query '{query}' a second time.")
        texts[query] = text
    return texts
