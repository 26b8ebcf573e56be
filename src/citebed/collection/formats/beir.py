"""Texts under ids: the files of BEIR, and tables of ``id<TAB>text``.

BEIR has ``corpus.jsonl``, ``queries.jsonl`` and tables of judgements (``qrels``), see
https://github.com/beir-cellar/beir. A query has no ``title``, and a corpus may have none either:
then the name of the file decides. It also decides whether a table has queries, as in MS MARCO, or
passages.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import partial

from citebed.collection.formats.base import (
    MAX_RECORD_BYTES,
    TOO_LONG,
    Chunk,
    Format,
    decode,
    head_matches,
    normalise_newlines,
    split_lines,
    text_parser,
)
from citebed.collection.formats.detection import json_keys
from citebed.collection.formats.fields import remove_spaces
from citebed.collection.formats.json_files import JsonObject, as_int, json_format, json_lines
from citebed.records import Document, Judgement, Problem, Query, Record
from citebed.text.normalise import fold

# --- BEIR -------------------------------------------------------------------------------------


def _parse_beir_document(entry: JsonObject) -> Document | Problem:
    doc_id, metadata = entry.text("_id"), entry.object("metadata")
    if doc_id is None:
        return entry.unexpected("a BEIR document with '_id', 'title' and 'text'")
    year, date = metadata.year_and_date("year", "date", "publication_date")
    return Document(
        doc_id=doc_id,
        title=entry.text("title") or "",
        authors=metadata.people("authors"),
        year=year,
        date=date,
        doi=metadata.doi("doi"),
        url=metadata.text("url"),
        abstract=entry.text("text"),
        line=entry.line,
    )


def _parse_beir_query(entry: JsonObject) -> Query | Problem:
    query_id, text = entry.text("_id"), entry.text("text")
    if query_id is None or text is None:
        return entry.unexpected("a BEIR query with '_id' and 'text'")
    return Query(query_id, text, line=entry.line)


_BEIR_HEADER = re.compile(r"\ufeff?\s*query-id\s+corpus-id\s+score\s*(?:[\r\n]|\Z)", re.IGNORECASE)


def _parse_beir_qrels(chunk: Chunk) -> Iterator[Record]:
    for line, raw in enumerate(io.BytesIO(chunk.data), chunk.line):
        if len(raw) > MAX_RECORD_BYTES:
            yield Problem(line, TOO_LONG)
            continue
        row = decode(raw)[0].strip()
        if not row or _BEIR_HEADER.fullmatch(row) is not None:
            continue
        fields = [fold(field) for field in (row.split("\t") if "\t" in row else row.split())]
        if len(fields) != 3 or not fields[0] or not fields[1]:
            what = f"expected query-id, corpus-id and score, found {len(fields)} fields"
            yield Problem(line, what)
            continue
        score = as_int(re.sub(r"\.0*$", "", fields[2]))
        if score is None:
            yield Problem(line, f"expected a whole number as score, found '{fields[2][:40]}'")
        else:
            yield Judgement(fields[0], fields[1], score, line)


def _is_untitled(head: str) -> bool:
    """Return True if no text has a title, so that the file may have documents or queries."""
    keys = json_keys(head)
    return keys is not None and "title" not in keys.record


_beir_format = partial(
    json_format, items=json_lines, split=split_lines, allow_unsplit=False, is_ambiguous=_is_untitled
)
BEIR_CORPUS = _beir_format("beir-corpus", "a BEIR corpus", _parse_beir_document)
BEIR_QUERIES = _beir_format("beir-queries", "BEIR queries", _parse_beir_query)
BEIR_QRELS = Format(
    "beir-qrels", "BEIR judgements", head_matches(_BEIR_HEADER), _parse_beir_qrels, split_lines
)


# --- Tables of ids and texts ------------------------------------------------------------------

_TSV_HEADER = re.compile(
    r"\s*(?:id|_id|qid|pid|docid|(?:query|doc|topic|passage|document)[_ -]?id|query)\t"
    r"\s*(?:text|query|title|topic|passage|question|contents?)\s*",
    re.IGNORECASE,
)
_LONG_TEXT = 300


def _sniff_texts(*, are_long: bool) -> Callable[[str], bool]:
    """Make a ``sniff`` for texts that are long on average, like passages, or short."""

    def sniff(head: str) -> bool:
        lines = [line for line in normalise_newlines(head).split("\n") if line.strip()]
        if len(lines) > 1 and not head.endswith("\n"):
            lines.pop()
        lines = lines[1:] if lines and _TSV_HEADER.fullmatch(lines[0]) else lines
        rows = [
            (name.strip(), text.strip()) for name, _, text in (row.partition("\t") for row in lines)
        ]
        items = [
            (name, text)
            for name, text in rows
            if 0 < len(name) <= 100
            and len(name.split()) == 1
            and "\t" not in text
            and any(map(str.isalpha, text))
        ]
        ids, texts = {name for name, _ in items}, [text for _, text in items]
        are_rows = len(items) >= 0.9 * len(rows) and len(ids) >= 0.9 * len(items)
        have_words = sum(" " in text for text in texts) >= 0.6 * len(texts)
        texts = texts if are_rows and have_words and rows[:1] == items[:1] else []
        return bool(texts) and (sum(map(len, texts)) > _LONG_TEXT * len(texts)) == are_long

    return sniff


def _tsv_parser(
    make_record: Callable[[str, str, int], Record],
) -> Callable[[Chunk], Iterator[Record]]:
    @text_parser
    def parse(text: str, chunk: Chunk) -> Iterator[Record]:
        for line, row in enumerate(text.split("\n"), chunk.line):
            if not row.strip() or (line == 1 and _TSV_HEADER.fullmatch(row)):
                continue
            name, _, content = (fold(part) for part in row.partition("\t"))
            if name and content:
                yield make_record(remove_spaces(name), content, line)
            else:
                yield Problem(line, f"expected an id, a tab and a text, found '{fold(row)[:60]}'")

    return parse


TSV_QUERIES = Format(
    "tsv-queries",
    "queries (id, tab, text)",
    _sniff_texts(are_long=False),
    _tsv_parser(lambda name, text, line: Query(name, text, line=line)),
    split_lines,
    is_ambiguous=lambda _: True,
)
TSV_DOCUMENTS = Format(
    "tsv-documents",
    "passages (id, tab, text)",
    _sniff_texts(are_long=True),
    _tsv_parser(lambda name, text, line: Document(name, abstract=text, line=line)),
    split_lines,
    is_ambiguous=lambda _: True,
)
