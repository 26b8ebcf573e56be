"""Local citation recommendation sets (Gu et al. 2022)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.jsonl import LOCAL_CITATION_JSON
from citebed.records import CitingPaper, Context, Document, Problem, Reference, Sentence

CONTEXTS: dict[str, dict[str, Any]] = {
    "A_B_0": {
        "masked_text": " gears turn ( TARGETCIT ; OTHERCIT) and\nstop",
        "context_id": "A_B_0",
        "citing_id": "A",
        "refid": "B",
    },
    "Z_B_0": {"masked_text": "[TARGETCIT] too", "citing_id": "Z", "cited_id": "10.1234/X"},
    "A_C_0": {"masked_text": "TARGETCIT", "citing_id": "A", "refers_to": ["C", "B"]},
}


def read(value: Any) -> list[Any]:
    text = value if isinstance(value, str) else json.dumps(value)
    return list(LOCAL_CITATION_JSON.parse(Chunk(text.encode(), "t.json")))


def context(name: str, text: str, *cites: str) -> Context:
    return Context(name, "", (Sentence(text, cites),))


def test_contexts_become_citing_papers() -> None:
    expected = [
        CitingPaper(
            "A",
            contexts=(
                context("A_B_0", "gears turn ( [CIT] ; [OTHERCIT]) and stop", "B"),
                context("A_C_0", "[CIT]", "C", "B"),
            ),
            references=(Reference("B", doc_id="B"), Reference("C", doc_id="C")),
        ),
        CitingPaper(
            "Z",
            contexts=(context("Z_B_0", "[CIT] too", "10.1234/X"),),
            references=(Reference("10.1234/X", doi="10.1234/x"),),
        ),
    ]
    assert read(CONTEXTS) == expected
    listed = [{"context_id": name, **entry} for name, entry in CONTEXTS.items()]
    assert read(listed) == expected


def test_papers_become_documents() -> None:
    papers = {
        "B": {"title": "Two\nlines", "abstract": "x", "authors": ["Ann Smith"], "year": "1999"},
        "C": {"title": None, "abstract": None},
    }
    assert read(json.dumps(papers, indent=1)) == [
        Document(
            "B",
            title="Two lines",
            abstract="x",
            authors=("Smith, Ann",),
            year=1999,
            date="1999",
            line=2,
        ),
        Document("C", line=10),
    ]


def test_repeated_context_ids_stay_apart() -> None:
    entry = CONTEXTS["A_B_0"]
    (paper,) = read([entry, entry, entry])
    assert [c.context_id for c in paper.contexts] == ["A_B_0", "A_B_0-2", "A_B_0-3"]


def test_a_truncated_file_gives_the_contexts_that_are_whole() -> None:
    problem, first, second = read(json.dumps(CONTEXTS)[:-20])
    assert isinstance(problem, Problem)
    assert [len(first.contexts), len(second.contexts)] == [1, 1]


@pytest.mark.parametrize(
    "entry",
    [
        {"citing_id": "A", "refid": "B"},
        {"masked_text": "x", "refid": "B"},
        {"masked_text": "x", "citing_id": "A", "refid": None},
        {"other": 1},
        7,
        None,
    ],
)
def test_what_is_neither_is_a_problem(entry: Any) -> None:
    assert [type(record) for record in read({"k": entry})] == [Problem]
