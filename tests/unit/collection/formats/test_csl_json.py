"""CSL-JSON from Zotero, Pandoc and Crossref."""

from __future__ import annotations

import json
from typing import Any

import pytest

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.csl import CSL_JSON
from citebed.collection.formats.fields import to_bibtex_type
from citebed.records import Document, Link, Problem

ZOTERO = {
    "id": "smith2010",
    "type": "article-journal",
    "title": "On <i>Widgets</i> &amp; n<sup>2</sup> gears",
    "author": [
        {"family": "Smith", "given": "Ann B."},
        {"family": "Berg", "given": "Carl", "non-dropping-particle": "van den"},
        {"family": "Lee", "given": "Dan", "suffix": "Jr."},
        {"literal": "Widget Society, Inc."},
    ],
    "editor": [{"family": "Ed", "given": "Itor", "dropping-particle": "de"}],
    "issued": {"date-parts": [["2010", 8, "15"]]},
    "container-title": "Journal of Widgets",
    "volume": 12,
    "issue": "3",
    "page": "1-20",
    "publisher": "Gear Press",
    "DOI": "https://doi.org/10.1234/ABC.5",
    "URL": "https://example.org/w",
    "abstract": "Short.",
    "keyword": "gears, widgets",
    "language": "en",
}
CROSSREF = {
    "DOI": "10.5555/XYZ",
    "type": "proceedings-article",
    "title": ["A Title", "An Alternative"],
    "subtitle": ["And More"],
    "container-title": ["Proc. Things", "PT"],
    "author": [{"given": "Eva", "family": "Noll"}, {"name": "The Group"}],
    "issued": {"date-parts": [[2021]]},
    "abstract": "<jats:title>Abstract</jats:title><jats:p>We  test\n"
    "<jats:italic>it</jats:italic>.</jats:p>",
    "subject": ["Software", "Software", "Networks"],
    "reference": [
        {"key": "1", "DOI": "10.1/No"},
        {"DOI": "10.5555/OLD"},
        {"DOI": "10.5555/old"},
        7,
    ],
}


def read(value: Any) -> list[Any]:
    text = value if isinstance(value, str) else json.dumps(value)
    return list(CSL_JSON.parse(Chunk(text.encode(), "t.json")))


def test_a_zotero_item_in_full() -> None:
    assert read([ZOTERO]) == [
        Document(
            "smith2010",
            type="article",
            title="On Widgets & n^2 gears",
            authors=("Smith, Ann B.", "van den Berg, Carl", "Lee, Jr., Dan", "Widget Society Inc."),
            editors=("Ed, Itor de",),
            year=2010,
            date="2010-08-15",
            venue="Journal of Widgets",
            volume="12",
            number="3",
            pages="1–20",
            publisher="Gear Press",
            doi="10.1234/abc.5",
            url="https://example.org/w",
            abstract="Short.",
            keywords=("gears", "widgets"),
            language="en",
            keys=("smith2010",),
        )
    ]


def test_a_crossref_work_in_full() -> None:
    assert read(CROSSREF) == [
        Document(
            "10.5555/xyz",
            type="inproceedings",
            title="A Title: And More",
            authors=("Noll, Eva", "The Group"),
            year=2021,
            date="2021",
            venue="Proc. Things",
            doi="10.5555/xyz",
            abstract="We test it.",
            keywords=("Software", "Networks"),
            links=(Link("10.5555/old"),),
        )
    ]


def test_every_wrapping_gives_the_same_documents() -> None:
    plain = [doc._replace(line=1) for doc in read([ZOTERO, CROSSREF])]
    for text in (
        json.dumps({"items": [ZOTERO, CROSSREF]}, indent=2),
        json.dumps({"status": "ok", "message": {"total-results": 2, "items": [ZOTERO, CROSSREF]}}),
        json.dumps(ZOTERO) + "\n" + json.dumps(CROSSREF) + "\n",
    ):
        assert [doc._replace(line=1) for doc in read(text)] == plain
    assert [doc.doc_id for doc in read({"status": "ok", "message": CROSSREF})] == ["10.5555/xyz"]


def test_a_truncated_export_yields_its_complete_items() -> None:
    text = json.dumps([ZOTERO, CROSSREF, ZOTERO], indent=1)[:-30]
    first, second, problem = read(text)
    assert (first.doc_id, first.line) == ("smith2010", 2)
    assert second.doc_id == "10.5555/xyz"
    assert isinstance(problem, Problem)


@pytest.mark.parametrize(
    ("issued", "date"),
    [
        ({"date-parts": [[2010, 13, 40]]}, "2010"),
        ({"date-parts": [[None]]}, None),
        ({"date-parts": [2010]}, None),
        ({"date-parts": [["x"]], "raw": "Aug. 2010"}, "2010-08"),
        ({"literal": "c. 1999"}, "1999"),
        ("2010-08-15", "2010-08-15"),
        (2010, "2010"),
        ({"date-parts": [[10**400]]}, None),
        ([], None),
    ],
)
def test_dates_in_all_their_shapes(issued: Any, date: str | None) -> None:
    (doc,) = read([{"id": 1, "issued": issued}])
    assert (doc.date, doc.year) == (date, int(date[:4]) if date else None)


def test_the_print_date_helps_out() -> None:
    (doc,) = read([{"id": "a", "issued": None, "published-print": {"date-parts": [[2001, 2]]}}])
    assert doc.date == "2001-02"


@pytest.mark.parametrize(
    ("item", "doc_id"),
    [
        ({"id": 7, "DOI": "10.1234/X"}, "7"),
        ({"DOI": "10.1234/X", "citation-key": "k"}, "10.1234/x"),
        ({"DOI": None, "citation-key": "k"}, "k"),
        ({"id": "a\ud800b"}, "ab"),
    ],
)
def test_ids(item: Any, doc_id: str) -> None:
    assert [doc.doc_id for doc in read([item])] == [doc_id]


def test_an_item_without_id_is_a_problem_that_lists_its_keys() -> None:
    (problem,) = read([{"title": "x", "type": "book"}])
    assert isinstance(problem, Problem)
    assert "title, type" in problem.what


@pytest.mark.parametrize("value", [None, 3, True, "x", [], {}, [[1]], [{}], {"a": {}}])
def test_wrong_types_everywhere_leave_a_document(value: Any) -> None:
    doc, *problems = read([{**dict.fromkeys([*ZOTERO, *CROSSREF], value), "id": "a"}])
    assert isinstance(doc, Document)
    assert doc.doc_id == "a"
    what = [f"{doc.doc_id}: '{value}' is not a DOI and was left out"] if value in (3, "x") else []
    assert [problem.what for problem in problems if isinstance(problem, Problem)] == what


def test_types() -> None:
    names = ("journal-article", "chapter", "book", "thesis", "report", "dataset", None)
    assert [to_bibtex_type(name) for name in names] == [
        "article", "incollection", "book", "phdthesis", "techreport", "misc", "misc",
    ]  # fmt: skip
    assert (
        read([{"id": 1, "type": "thesis", "genre": "Master's thesis"}])[0].type == "mastersthesis"
    )


def test_items_under_their_ids() -> None:
    items = {
        "muster2010": {"type": "article-journal", "title": "Apples", "DOI": "10.1234/A"},
        "b": {"id": "own", "type": "book", "title": "Pears", "author": [{"family": "Beispiel"}]},
        "long": {"type": "book", "title": "x" * 20_000},
        "c": 3,
    }
    first, second, _, problem = read(items)
    assert (first.doc_id, first.doi, first.keys) == ("muster2010", "10.1234/a", ("muster2010",))
    assert (second.doc_id, second.authors) == ("own", ("Beispiel",))
    assert problem == Problem(1, "expected a CSL-JSON item under the id 'c'")
