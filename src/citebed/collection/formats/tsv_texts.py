"""Texts with an id, ``id<TAB>text`` a line: queries as MS MARCO and others have them, and passages.

Nothing in such a file says which of the two it holds, so that its name decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from citebed.collection.formats.base import Chunk, Format, cut_lines, read_text, with_newlines
from citebed.collection.formats.fields import one_word
from citebed.records import Document, Problem, Query, Record
from citebed.text.normalise import fold

_HEADER = re.compile(
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
    lines = lines[1:] if lines and _HEADER.fullmatch(lines[0]) else lines
    rows = [
        (name.strip(), text.strip()) for name, _, text in (row.partition("\t") for row in lines)
    ]
    found = [row for row in rows if _fits(*row)]
    ids, texts = {name for name, _ in found}, [text for _, text in found]
    many = len(found) >= 0.9 * len(rows) and len(ids) >= 0.9 * len(found)
    worded = sum(" " in text for text in texts) >= 0.6 * len(texts)
    return texts if many and worded and rows[:1] == found[:1] else []


def _fits(name: str, text: str) -> bool:
    is_id = 0 < len(name) <= 100 and len(name.split()) == 1
    return is_id and "\t" not in text and any(map(str.isalpha, text))


def _is_long(texts: list[str]) -> bool:
    return sum(map(len, texts)) > _LONG_TEXT * len(texts)


def _sniff_queries(head: str) -> bool:
    texts = _texts_in(head)
    return bool(texts) and not _is_long(texts)


def _sniff_documents(head: str) -> bool:
    texts = _texts_in(head)
    return bool(texts) and _is_long(texts)


def _reader(record: Callable[[str, str, int], Record]) -> Callable[[Chunk], Iterator[Record]]:
    def parse(chunk: Chunk) -> Iterator[Record]:
        text, problems = read_text(chunk)
        yield from problems
        for line, row in enumerate(with_newlines(text).split("\n"), chunk.line):
            if not row.strip() or (line == 1 and _HEADER.fullmatch(row)):
                continue
            name, _, content = (fold(part) for part in row.partition("\t"))
            if name and content:
                yield record(one_word(name), content, line)
            else:
                yield Problem(line, f"expected an id, a tab and a text, found '{fold(row)[:60]}'")

    return parse


def _query(name: str, text: str, line: int) -> Record:
    return Query(name, text, line=line)


def _document(name: str, text: str, line: int) -> Record:
    return Document(name, abstract=text, line=line)


TSV_QUERIES = Format(
    *("tsv-queries", "queries (id, tab, text)", _sniff_queries, _reader(_query), cut_lines),
    leaves_doubt=lambda _: True,
)
TSV_DOCUMENTS = Format(
    *("tsv-documents", "passages (id, tab, text)", _sniff_documents, _reader(_document), cut_lines),
    leaves_doubt=lambda _: True,
)
