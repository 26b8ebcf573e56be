"""Checks for every record that a reader yields, from any file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from citebed.records import CitingPaper, Document, Judgement, Problem, Query, Record

RECORDS = get_args(Record)


def texts_in(value: Any) -> Iterator[str]:
    """All texts in a record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from texts_in(part)


def check(record: Any, line_count: int) -> None:
    """A record of ours with its parts, in text that can be written, of a line of its file."""
    assert isinstance(record, RECORDS)
    for text in texts_in(record):
        text.encode("utf-8")
    assert 1 <= record.line <= line_count + 1
    if isinstance(record, Problem):
        assert record.what.strip()
    elif isinstance(record, Document):
        assert record.doc_id.strip()
    elif isinstance(record, CitingPaper):
        assert record.paper_id.strip()
        ids = [context.context_id for context in record.contexts]
        assert len(set(ids)) == len(ids)
    elif isinstance(record, Query):
        assert record.query_id.strip()
        assert record.text.strip()
    elif isinstance(record, Judgement):
        assert record.query_id.strip()
        assert record.doc_id.strip()


def line_count(data: bytes) -> int:
    """How many lines a file has at most, however lines end in it."""
    return max(data.count(b"\n"), data.count(b"\r")) + 1
