"""OpenAlex works."""

from __future__ import annotations

import json
from typing import Any

import pytest

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.catalogues import OPENALEX, shorten_id, uninvert_abstract
from citebed.records import Document, Link, Problem

WORK = {
    "id": "https://openalex.org/W42",
    "doi": "https://doi.org/10.1234/ABC",
    "title": "Gears in <i>Widgets</i>",
    "display_name": "other",
    "publication_year": 2019,
    "publication_date": "2019-03-02",
    "language": "en",
    "type": "article",
    "type_crossref": "proceedings-article",
    "authorships": [
        {"author": {"id": "A1", "display_name": "Ann B. Smith"}, "raw_author_name": "A Smith"},
        {"author": None, "raw_author_name": "Carl van Berg"},
        None,
    ],
    "primary_location": {
        "landing_page_url": "https://example.org/42",
        "source": {"display_name": "Widget Conference", "host_organization_name": "Gear Press"},
    },
    "biblio": {"volume": "1", "issue": None, "first_page": "5", "last_page": "9"},
    "keywords": [{"display_name": "Gear", "score": 0.5}, {"keyword": "Cog"}, "Axle"],
    "concepts": [{"display_name": "Not used"}],
    "abstract_inverted_index": {"gears": [1, 3], "We": [0], "and": [2]},
    "referenced_works": ["https://openalex.org/W1", "https://openalex.org/W2", None],
}


def read(value: Any) -> list[Any]:
    text = value if isinstance(value, str) else json.dumps(value)
    return list(OPENALEX.parse(Chunk(text.encode(), "t.json")))


def test_a_work_in_full() -> None:
    assert read(WORK) == [
        Document(
            "W42",
            type="inproceedings",
            title="Gears in Widgets",
            authors=("Smith, Ann B.", "van Berg, Carl"),
            year=2019,
            date="2019-03-02",
            venue="Widget Conference",
            volume="1",
            pages="5–9",
            publisher="Gear Press",
            doi="10.1234/abc",
            url="https://example.org/42",
            abstract="We gears and gears",
            keywords=("Gear", "Cog", "Axle"),
            language="en",
            links=(Link("W1"), Link("W2")),
        )
    ]


def test_lines_and_pages_give_the_same() -> None:
    lines = json.dumps(WORK) + "\n\n" + json.dumps({"id": "W7"}) + "\n"
    assert [(doc.doc_id, doc.line) for doc in read(lines)] == [("W42", 1), ("W7", 3)]
    page = json.dumps({"meta": {"count": 2}, "results": [WORK, {"id": "W7"}], "group_by": []})
    assert [doc.doc_id for doc in read(page)] == ["W42", "W7"]
    assert OPENALEX.split is not None
    assert OPENALEX.split(lines.encode()) == lines.rindex('{"id"')
    assert OPENALEX.split(json.dumps({"results": [WORK]}, indent=1).encode()) == 0


def test_concepts_help_out_and_a_conference_makes_a_paper() -> None:
    source = {"display_name": "C", "type": "conference"}
    work = {"id": "W1", "type": "article", "keywords": [], "concepts": [{"display_name": "X"}]}
    (doc,) = read({**work, "primary_location": {"source": source}})
    assert (doc.keywords, doc.type) == (("X",), "inproceedings")


def test_hostile_positions_cost_nothing() -> None:
    index = {"b": [10**12], "a": [-5, True, None, "1", 2.5, [], {}], "c": 10**15, "d": None}
    assert uninvert_abstract(index) == "a b c"
    (doc,) = read('{"id": "W1", "abstract_inverted_index": {"x": [1%s]}}' % ("0" * 400))
    assert doc.abstract is None


def test_ids() -> None:
    assert shorten_id("https://openalex.org/works/w12") == "W12"
    assert shorten_id("other") == "other"
    assert shorten_id(None) is None
    (problem,) = read({"title": "no id"})
    assert isinstance(problem, Problem)


@pytest.mark.parametrize("value", [None, 3, True, "x", [], {}, [[1]], [{}], {"source": 1}])
def test_wrong_types_everywhere_leave_a_document(value: Any) -> None:
    doc, *problems = read({**dict.fromkeys(WORK, value), "id": "W1"})
    assert isinstance(doc, Document)
    assert doc.doc_id == "W1"
    what = [f"{doc.doc_id}: '{value}' is not a DOI and was left out"] if value in (3, "x") else []
    assert [problem.what for problem in problems if isinstance(problem, Problem)] == what
