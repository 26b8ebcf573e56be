"""BEIR's three files: ``corpus.jsonl``, ``queries.jsonl`` and the ``qrels`` tables.

A query line has no ``title``, and a corpus may have none either: then the file's name decides.
See https://github.com/beir-cellar/beir.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from citebed.collection.formats.base import (
    MAX_RECORD_BYTES,
    TOO_LONG,
    Chunk,
    Format,
    cut_lines,
    decode,
    starts_as,
)
from citebed.collection.formats.jsonfiles import json_lines
from citebed.collection.formats.jsonkinds import is_untitled, json_format
from citebed.collection.formats.jsonvalues import JsonObject, as_int
from citebed.records import Document, Judgement, Problem, Query, Record
from citebed.text.normalise import fold


def _document(entry: JsonObject) -> Document | Problem:
    doc_id, extra = entry.text("_id"), entry.object("metadata")
    if doc_id is None:
        return entry.unknown("a BEIR document with '_id', 'title' and 'text'")
    year, date = extra.when("year", "date", "publication_date")
    return Document(
        doc_id=doc_id,
        title=entry.text("title") or "",
        authors=extra.people("authors"),
        year=year,
        date=date,
        doi=extra.doi("doi"),
        url=extra.text("url"),
        abstract=entry.text("text"),
        line=entry.line,
    )


def _query(entry: JsonObject) -> Query | Problem:
    query_id, text = entry.text("_id"), entry.text("text")
    if query_id is None or text is None:
        return entry.unknown("a BEIR query with '_id' and 'text'")
    return Query(query_id, text, line=entry.line)


_HEADER = re.compile(r"\ufeff?\s*query-id\s+corpus-id\s+score\s*(?:[\r\n]|\Z)", re.IGNORECASE)


def _judgement(line: int, row: str) -> Judgement | Problem:
    fields = [fold(field) for field in (row.split("\t") if "\t" in row else row.split())]
    if len(fields) != 3 or not fields[0] or not fields[1]:
        return Problem(line, f"expected query-id, corpus-id and score, found {len(fields)} fields")
    score = as_int(re.sub(r"\.0*$", "", fields[2]))
    if score is None:
        return Problem(line, f"expected a whole number as score, found '{fields[2][:40]}'")
    return Judgement(fields[0], fields[1], score, line)


def _parse_qrels(chunk: Chunk) -> Iterator[Record]:
    for line, raw in enumerate(io.BytesIO(chunk.data), chunk.line):
        if len(raw) > MAX_RECORD_BYTES:
            yield Problem(line, TOO_LONG)
            continue
        row = decode(raw)[0].strip()
        if row and _HEADER.fullmatch(row) is None:
            yield _judgement(line, row)


BEIR_CORPUS = json_format(
    *("beir-corpus", "a BEIR corpus", json_lines, _document),
    cut=cut_lines,
    leaves_doubt=is_untitled,
)
BEIR_QUERIES = json_format(
    *("beir-queries", "BEIR queries", json_lines, _query),
    cut=cut_lines,
    leaves_doubt=is_untitled,
)
BEIR_QRELS = Format("beir-qrels", "BEIR judgements", starts_as(_HEADER), _parse_qrels, cut_lines)
