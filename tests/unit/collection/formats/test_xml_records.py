"""XML of many records: strangers between them, entities, encodings, bombs, huge files."""

from __future__ import annotations

import io
from typing import Any

import pytest

from citebed.collection.formats import FORMATS, Chunk
from citebed.collection.reading.parser import CHUNK_BYTES, Piece, split_member
from citebed.collection.reading.sources import Member
from citebed.records import Document, Problem, Record

ONE = '<article key="k/{0}"><author>Anna Muster</author><title>Apples {0}.</title></article>\n'


def dblp(text: str | bytes, line: int = 1, **macros: str) -> list[Record]:
    data = text.encode() if isinstance(text, str) else text
    return list(FORMATS["dblp-xml"].parse(Chunk(data, "x", line, macros)))


def titles(records: list[Record]) -> list[str]:
    return [record.title for record in records if isinstance(record, Document)]


def test_other_elements_are_reported_with_their_lines() -> None:
    stranger = "<artikel key='k/2'><title>Pears</title></artikel>\n"
    records = dblp(f"<dblp>\n{ONE.format(1)}{stranger}{ONE.format(3)}</dblp>")
    assert titles(records) == ["Apples 1", "Apples 3"]
    what = "expected a record, found <artikel>; skipped"
    assert [r for r in records if isinstance(r, Problem)] == [Problem(4, what)]


def test_comments_hold_no_records() -> None:
    assert titles(dblp(f"<dblp><!-- {ONE.format(1)} -->{ONE.format(2)}</dblp>")) == ["Apples 2"]


def test_a_record_that_does_not_close_ends_where_the_next_starts() -> None:
    cut = ONE.format(1).replace("</article>", "")
    records = dblp(f"<dblp>\n{cut}{ONE.format(2)}{ONE.format(3)[:60]}")
    assert titles(records)[:2] == ["Apples 1", "Apples 2"]
    assert [r.kind for r in records if isinstance(r, Problem)] == ["mended", "mended"]


def test_known_entities_are_characters_and_others_stay() -> None:
    text = ONE.format("&uuml;&amp;&#228;&unheard;")
    assert titles(dblp(f"<dblp>{text}</dblp>")) == ["Apples ü&ä&unheard;"]


def test_the_encoding_of_the_head_holds_for_later_pieces() -> None:
    text = ONE.format("é").encode("latin-1")
    assert titles(dblp(text, encoding="ISO-8859-1")) == ["Apples é"]
    head = b'<?xml version="1.0" encoding="ISO-8859-1"?>\n<dblp>'
    assert titles(dblp(head + text)) == ["Apples é"]


@pytest.mark.parametrize("name", ["dblp-xml", "pubmed-xml", "endnote-xml", "arxiv-atom"])
def test_entities_of_a_stranger_are_not_expanded(name: str) -> None:
    lines = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 30))
    bomb = f'<!DOCTYPE x [<!ENTITY l0 "lol"><!ENTITY f SYSTEM "file:///etc/passwd">{lines}]>\n'
    record = {
        "dblp-xml": ONE.format("&l29;&f;"),
        "pubmed-xml": "<PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>"
        "&l29;&f;</ArticleTitle></Article></MedlineCitation></PubmedArticle>",
        "endnote-xml": "<record><titles><title>&l29;&f;</title></titles></record>",
        "arxiv-atom": "<entry><id>http://arxiv.org/abs/2001.00001</id><title>&l29;&f;</title></entry>",
    }[name]
    found = list(FORMATS[name].parse(Chunk((bomb + record).encode(), "x")))
    text = str(found)
    assert len(text) < 5000
    assert "root:" not in text
    assert titles(found)


class _Endless(io.RawIOBase):
    """A DBLP of some megabytes, made while it is read."""

    def __init__(self, megabytes: int) -> None:
        self._left = megabytes << 20
        self._buffer = b'<?xml version="1.0" encoding="ISO-8859-1"?>\n<dblp>\n'
        self._number = 0

    def read1(self, size: int) -> bytes:
        while len(self._buffer) < size and self._left > 0:
            made = "".join(ONE.format(self._number + n) for n in range(1000)).encode()
            self._number, self._left = self._number + 1000, self._left - len(made)
            self._buffer += made
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found


def test_a_large_file_is_read_in_pieces() -> None:
    """No piece is larger than two blocks, and no record is lost between them."""
    stream: Any = _Endless(20)
    count, line = 0, 3
    for piece in split_member(Member("dblp.xml", stream)):
        assert isinstance(piece, Piece)
        assert len(piece.chunk.data) <= 2 * CHUNK_BYTES + (64 << 10)
        first = next(FORMATS[piece.format].parse(piece.chunk))
        assert (titles([first]), first.line) == ([f"Apples {count}"], line)
        count += piece.chunk.data.count(b"<article ")
        line = 3 + count
    assert count == stream._number


def test_person_pages_are_counted() -> None:
    page = '<www key="homepages/x"><title>Home Page</title></www>\n'
    records = dblp(f"<dblp>{page * 3}{ONE.format(1)}</dblp>")
    assert titles(records) == ["Apples 1"]
    what = "ignored 3 records of the kind www or person, which is not a publication"
    assert Problem(1, what, "ignored") in records


def test_an_error_of_the_api_of_arxiv_is_reported() -> None:
    entry = "<entry><id>http://arxiv.org/api/errors#x</id><title>Error</title></entry>"
    [problem] = FORMATS["arxiv-atom"].parse(Chunk(f"<feed>{entry}</feed>".encode(), "x"))
    assert isinstance(problem, Problem)
    assert problem.what.startswith("an entry without the address of a paper")
