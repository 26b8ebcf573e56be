"""BEIR's corpus, queries and judgements."""

from __future__ import annotations

from typing import Any

import pytest

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.beir import BEIR_CORPUS, BEIR_QRELS, BEIR_QUERIES
from citebed.records import Document, Judgement, Problem, Query


def read(form: Format, text: str, line: int = 1) -> list[Any]:
    return list(form.parse(Chunk(text.encode(), "t", line)))


def test_corpus() -> None:
    text = (
        '{"_id": "a", "title": "T", "text": " some\\ntext ", "metadata": {"year": "2010"}}\n'
        '{"_id": 7, "text": null}\n{"title": "no id"}\nnot json\n'
    )
    first, second, third, fourth = read(BEIR_CORPUS, text)
    assert first == Document("a", title="T", abstract="some text", year=2010, date="2010")
    assert second == Document("7", line=2)
    assert isinstance(third, Problem)
    assert (type(fourth), fourth.line) == (Problem, 4)


def test_queries() -> None:
    found = read(
        BEIR_QUERIES, '{"_id": "1", "text": "why\\u200b gears"}\n{"_id": "2", "text": ""}\n'
    )
    assert found[0] == Query("1", "why gears")
    assert (type(found[1]), found[1].line) == (Problem, 2)


def test_judgements() -> None:
    text = "query-id\tcorpus-id\tscore\r\n1\td 1\t2\r\n\n1\td2\t1.0\n2 d3 -1\n"
    assert read(BEIR_QRELS, text) == [
        Judgement("1", "d 1", 2, 2),
        Judgement("1", "d2", 1, 4),
        Judgement("2", "d3", -1, 5),
    ]


@pytest.mark.parametrize(
    "row", ["1\t2", "1\t2\tx", "1\t2\t0.5", "\t2\t1", "1\t2\t3\t4", "1\t2\t1e400"]
)
def test_bad_judgements_are_problems(row: str) -> None:
    (problem,) = read(BEIR_QRELS, row + "\n", line=9)
    assert (type(problem), problem.line) == (Problem, 9)


def test_judgements_are_known_by_their_header() -> None:
    assert BEIR_QRELS.sniff("\ufeffquery-id\tcorpus-id\tscore\n1\t2\t3")
    assert BEIR_QRELS.sniff("query-id\tcorpus-id\tscore")
    assert not BEIR_QRELS.sniff("1 0 d1 1\n")
    assert not BEIR_QRELS.sniff("query-id\tcorpus-id\tscores\n")


def test_all_are_cut_at_newlines() -> None:
    for form in (BEIR_CORPUS, BEIR_QUERIES, BEIR_QRELS):
        assert form.split is not None
        assert form.split(b"a\nb\nc") == 4
