"""Files of queries, JSON Lines: where they stand, and what they say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citebed.errors import FormatError


def queries_beside(qrels: Path | None) -> Path | None:
    """The queries of judgements that stand in a collection, if they do.

    They are ``queries/NAME.jsonl`` for ``qrels/NAME.qrels``.
    """
    if qrels is None:
        return None
    path = qrels.resolve().parent.parent / "queries" / f"{qrels.name.split('.qrels')[0]}.jsonl"
    return path if path.is_file() else None


def query_rows(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Every query of a file: its line, its id, and all its fields."""
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(path, None, f"is not UTF-8 text ({error.reason}).") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            query = str(row["query_id"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise FormatError(path, number, 'expected a JSON object with a "query_id".') from None
        yield number, query, row


def query_texts(path: Path) -> dict[str, str]:
    """The text of each query that has one."""
    found: dict[str, str] = {}
    for number, query, row in query_rows(path):
        text = row.get("text")
        if text is None:
            continue
        if not isinstance(text, str):
            raise FormatError(path, number, f"'text' must be text, not {text!r:.60}.")
        if query in found:
            raise FormatError(path, number, f"has query '{query}' a second time.")
        found[query] = text
    return found
