"""Texts under ids: BEIR's corpus, queries and judgements, and tables of ``id<TAB>text``.

BEIR's three files: ``corpus.jsonl``, ``queries.jsonl`` and the ``qrels`` tables.

A query line has no ``title``, and a corpus may have none either: then the file's name decides.
See https://github.com/beir-cellar/beir.

Texts with an id, ``id<TAB>text`` a line: queries as MS MARCO and others have them, and passages.

Nothing in such a file says which of the two it holds, so that its name decides.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator

from citebed.collection.formats.base import (
    MAX_RECORD_BYTES,
    TOO_LONG,
    Chunk,
    Format,
    cut_lines,
    decode,
    of_text,
    starts_as,
    with_newlines,
)
from citebed.collection.formats.fields import one_word
from citebed.collection.formats.json_objects import JsonObject, as_int, is_untitled, json_format
from citebed.collection.formats.jsonfiles import json_lines
from citebed.records import Document, Judgement, Problem, Query, Record
from citebed.text.normalise import fold


def _beir_document(entry: JsonObject) -> Document | Problem:
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


def _beir_query(entry: JsonObject) -> Query | Problem:
    query_id, text = entry.text("_id"), entry.text("text")
    if query_id is None or text is None:
        return entry.unknown("a BEIR query with '_id' and 'text'")
    return Query(query_id, text, line=entry.line)


_BEIR_HEADER = re.compile(r"\ufeff?\s*query-id\s+corpus-id\s+score\s*(?:[\r\n]|\Z)", re.IGNORECASE)


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
        if row and _BEIR_HEADER.fullmatch(row) is None:
            yield _judgement(line, row)


BEIR_CORPUS = json_format(
    *("beir-corpus", "a BEIR corpus", json_lines, _beir_document),
    cut=cut_lines,
    leaves_doubt=is_untitled,
)
BEIR_QUERIES = json_format(
    *("beir-queries", "BEIR queries", json_lines, _beir_query),
    cut=cut_lines,
    leaves_doubt=is_untitled,
)
BEIR_QRELS = Format(
    "beir-qrels", "BEIR judgements", starts_as(_BEIR_HEADER), _parse_qrels, cut_lines
)


# --- Tables of ids and texts ------------------------------------------------------------------


_TSV_HEADER = re.compile(
    r"\s*(?:id|_id|qid|pid|docid|(?:query|doc|topic|passage|document)[_ -]?id|query)\t"
    r"\s*(?:text|query|title|topic|passage|question|contents?)\s*",
    re.IGNORECASE,
)
_LONG_TEXT = 300


def _texts_in(head: str) -> list[str]:
    """The texts of a head in which (nearly) every line is an id and a text of some words."""
    lines = [line for line in with_newlines(head).split("\n") if line.strip()]
    if len(lines) > 1 and not head.endswith("\n"):
        lines.pop()
    lines = lines[1:] if lines and _TSV_HEADER.fullmatch(lines[0]) else lines
    rows = [
        (name.strip(), text.strip()) for name, _, text in (row.partition("\t") for row in lines)
    ]
    items = [row for row in rows if _fits(*row)]
    ids, texts = {name for name, _ in items}, [text for _, text in items]
    many = len(items) >= 0.9 * len(rows) and len(ids) >= 0.9 * len(items)
    worded = sum(" " in text for text in texts) >= 0.6 * len(texts)
    return texts if many and worded and rows[:1] == items[:1] else []


def _fits(name: str, text: str) -> bool:
    is_id = 0 < len(name) <= 100 and len(name.split()) == 1
    return is_id and "\t" not in text and any(map(str.isalpha, text))


def _holds_texts(*, long: bool) -> Callable[[str], bool]:
    """A test for a head of texts that are long on average, as passages are, or short."""

    def holds(head: str) -> bool:
        texts = _texts_in(head)
        return bool(texts) and (sum(map(len, texts)) > _LONG_TEXT * len(texts)) == long

    return holds


def _reader(record: Callable[[str, str, int], Record]) -> Callable[[Chunk], Iterator[Record]]:
    @of_text
    def parse(text: str, chunk: Chunk) -> Iterator[Record]:
        for line, row in enumerate(text.split("\n"), chunk.line):
            if not row.strip() or (line == 1 and _TSV_HEADER.fullmatch(row)):
                continue
            name, _, content = (fold(part) for part in row.partition("\t"))
            if name and content:
                yield record(one_word(name), content, line)
            else:
                yield Problem(line, f"expected an id, a tab and a text, found '{fold(row)[:60]}'")

    return parse


TSV_QUERIES = Format(
    "tsv-queries",
    "queries (id, tab, text)",
    _holds_texts(long=False),
    _reader(lambda name, text, line: Query(name, text, line=line)),
    cut_lines,
    leaves_doubt=lambda _: True,
)
TSV_DOCUMENTS = Format(
    "tsv-documents",
    "passages (id, tab, text)",
    _holds_texts(long=True),
    _reader(lambda name, text, line: Document(name, abstract=text, line=line)),
    cut_lines,
    leaves_doubt=lambda _: True,
)
