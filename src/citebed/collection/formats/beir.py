"""BEIR's three files: ``corpus.jsonl``, ``queries.jsonl`` and the ``qrels`` tables.

Corpus and queries are told apart by content: a query line has no ``title``.
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
from citebed.collection.formats.jsonkinds import json_format
from citebed.collection.formats.jsonvalues import (
    Json,
    as_int,
    doi_of,
    names_of,
    object_of,
    text_of,
    unknown_object,
    when,
    year_of,
)
from citebed.records import Document, Judgement, Problem, Query, Record
from citebed.text.normalise import fold


def _document(line: int, entry: Json) -> Document | Problem:
    doc_id = text_of(entry, "_id")
    if doc_id is None:
        return unknown_object(line, entry, "a BEIR document with '_id', 'title' and 'text'")
    extra = object_of(entry, "metadata")
    year, date = when(text_of(extra, "date", "publication_date"), year_of(extra, "year"))
    return Document(
        doc_id=doc_id,
        title=text_of(entry, "title") or "",
        authors=names_of(extra, "authors"),
        year=year,
        date=date,
        doi=doi_of(extra, "doi"),
        url=text_of(extra, "url"),
        abstract=text_of(entry, "text"),
        line=line,
    )


def _query(line: int, entry: Json) -> Query | Problem:
    query_id, text = text_of(entry, "_id"), text_of(entry, "text")
    if query_id is None or text is None:
        return unknown_object(line, entry, "a BEIR query with '_id' and 'text'")
    return Query(query_id, text, line=line)


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


BEIR_CORPUS = json_format("beir-corpus", "BEIR corpus", json_lines, _document, cut=cut_lines)
BEIR_QUERIES = json_format("beir-queries", "BEIR queries", json_lines, _query, cut=cut_lines)
BEIR_QRELS = Format("beir-qrels", "BEIR judgements", starts_as(_HEADER), _parse_qrels, cut_lines)
