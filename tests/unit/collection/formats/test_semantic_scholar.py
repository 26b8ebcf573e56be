"""Semantic Scholar's papers and S2ORC metadata."""

from __future__ import annotations

import json
from typing import Any

import pytest

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.catalogues import SEMANTIC_SCHOLAR
from citebed.records import Document, Link, Problem

GRAPH = {
    "paperId": "abc1",
    "corpusId": 77,
    "externalIds": {"DOI": "10.1234/ABC", "ArXiv": "1901.00001", "CorpusId": 77},
    "url": "https://www.semanticscholar.org/paper/abc1",
    "title": "Gears",
    "abstract": "About gears.",
    "venue": "",
    "publicationVenue": {"name": "Widget Conference"},
    "year": 2019,
    "publicationDate": "2019-03-02",
    "journal": {"name": "Proc. W", "volume": "3", "pages": "1-9"},
    "publicationTypes": ["JournalArticle", "Conference"],
    "authors": [{"authorId": "1", "name": "Ann B. Smith"}, {"name": None}],
    "references": [{"paperId": "d4"}, {"paperId": None, "externalIds": {"DOI": "10.5555/R"}}, None],
}
S2ORC = {
    "paper_id": "77",
    "title": "Cogs",
    "authors": [{"first": "Ann", "middle": ["B.", "C."], "last": "Smith", "suffix": "Jr."}],
    "abstract": "One.:::Two.",
    "year": 2008,
    "arxiv_id": "0801.0001",
    "acl_id": None,
    "doi": None,
    "venue": None,
    "journal": "J. Cogs",
    "outbound_citations": ["5", "6", "5"],
}


def read(value: Any) -> list[Any]:
    text = value if isinstance(value, str) else json.dumps(value)
    return list(SEMANTIC_SCHOLAR.parse(Chunk(text.encode(), "t.json")))


def test_a_graph_paper_in_full() -> None:
    expected = Document(
        "abc1",
        type="inproceedings",
        title="Gears",
        authors=("Smith, Ann B.",),
        year=2019,
        date="2019-03-02",
        venue="Widget Conference",
        volume="3",
        pages="1–9",
        doi="10.1234/abc",
        arxiv="1901.00001",
        url="https://www.semanticscholar.org/paper/abc1",
        abstract="About gears.",
        links=(Link("d4"), Link("10.5555/r")),
    )
    assert read(GRAPH) == [expected]
    assert read({"total": 1, "data": [GRAPH]}) == [expected]
    assert read({"data": [{"citedPaper": GRAPH}]}) == [expected]


def test_dataset_papers_have_lower_case_names() -> None:
    lower = {name.lower(): value for name, value in GRAPH.items() if name != "paperId"}
    (doc,) = read(lower)
    assert (doc.doc_id, doc.doi, doc.date) == ("77", "10.1234/abc", "2019-03-02")


def test_s2orc_metadata_in_full() -> None:
    expected = Document(
        "77",
        type="article",
        title="Cogs",
        authors=("Smith, Jr., Ann B. C.",),
        year=2008,
        date="2008",
        venue="J. Cogs",
        arxiv="0801.0001",
        url="https://arxiv.org/abs/0801.0001",
        abstract="One. Two.",
        links=(Link("5"), Link("6")),
    )
    assert read(json.dumps(S2ORC) + "\n") == [expected]
    older = {"paper_id": "77", "metadata": {k: v for k, v in S2ORC.items() if k != "paper_id"}}
    assert read(older) == [expected]
    assert read({**S2ORC, "acl_id": "P08-1001", "arxiv_id": None})[0].type == "inproceedings"


def test_the_open_research_corpus() -> None:
    paper: dict[str, Any] = {
        "id": "f0",
        "title": "T",
        "paperAbstract": "A.",
        "outCitations": ["e1"],
    }
    paper |= {"authors": [{"name": "A B", "ids": []}], "journalName": "J", "journalPages": "3-4"}
    (doc,) = read(paper)
    assert (doc.doc_id, doc.abstract, doc.venue, doc.pages) == ("f0", "A.", "J", "3–4")
    assert doc.links == (Link("e1"),)


def test_a_batch_answer_with_null_and_a_paper_without_id() -> None:
    first, second, third = read([GRAPH, None, {"title": "x"}])
    assert isinstance(first, Document)
    assert isinstance(second, Problem)
    assert isinstance(third, Problem)


@pytest.mark.parametrize("value", [None, 3, True, "x", [], {}, [[1]], [{}], {"name": 1}])
def test_wrong_types_everywhere_leave_a_document(value: Any) -> None:
    doc, *problems = read([{**dict.fromkeys([*GRAPH, *S2ORC], value), "paperId": "a"}])
    assert isinstance(doc, Document)
    assert doc.doc_id == "a"
    what = [f"{doc.doc_id}: '{value}' is not a DOI and was left out"] if value in (3, "x") else []
    assert [problem.what for problem in problems if isinstance(problem, Problem)] == what
