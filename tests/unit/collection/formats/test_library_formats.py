"""Exports of libraries and reference managers: count, first, middle and last record of each.

For all of them: parts are read like the complete file, and a broken record affects no other.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.samples import SAMPLES

from citebed.collection.formats import FORMATS, Chunk
from citebed.records import Document, Link, Problem, Query, Record

APPLES = Document(
    doc_id="",
    type="article",
    title="Sorting apples",
    authors=("Muster, Anna", "Beispiel, Bert"),
    year=2010,
    date="2010-08-15",
    venue="Journal of Fruit",
    volume="12",
    number="3",
    pages="12–20",
    doi="10.1234/fruit.7",
)
PUBMED = APPLES._replace(
    doc_id="pmid:101",
    authors=("Muster, Anna B", "Fruit Group"),
    venue="Journal of fruit",
    pages="123–129",
    keywords=("apples", "Malus"),
    language="eng",
)
ON_ARXIV: dict[str, Any] = {
    "arxiv": "1008.1234",
    "url": "https://arxiv.org/abs/1008.1234",
    "venue": "J. Fruit 12",
}
FIRST: dict[str, Document] = {
    "pubmed-xml": PUBMED._replace(
        title="Sorting apples & péches",
        abstract="AIM: To sort. We did.",
        links=(Link("pmid:102"),),
        line=4,
    ),
    "endnote-xml": APPLES._replace(
        doc_id="10.1234/fruit.7",
        url="https://example.org/7",
        abstract="We sort & sort.",
        keywords=("apples", "pears"),
    ),
    "dblp-xml": APPLES._replace(
        doc_id="journals/jf/MusterB10",
        title="Sorting n^2 Apples & Péches",
        authors=("Muster, Anna", "Beispiel, Bert Jörg"),
        date="2010-08",
        venue="J. Fruit",
        url="https://doi.org/10.1234/Fruit.7",
        keys=("journals/jf/MusterB10",),
        line=4,
    ),
    "arxiv-atom": APPLES._replace(
        doc_id="arXiv:1008.1234",
        title="Sorting n^2 Apples",
        volume=None,
        number=None,
        pages=None,
        abstract="We sort école apples.",
        keywords=("cs.DS",),
        line=6,
        **ON_ARXIV,
    ),
    "zotero-rdf": APPLES._replace(
        doc_id="10.1234/fruit.7",
        title="Sorting apples & pears",
        authors=("Muster, Anna",),
        url="https://example.org/7",
        abstract="We sort.",
        keywords=("apples", "pears"),
        line=6,
    ),
    "nbib": PUBMED._replace(
        title="Sorting apples and pears",
        authors=("Muster, Anna B", "Beispiel, Bert", "Fruit Group"),
        abstract="We sort apples and pears.",
    ),
    "web-of-science": APPLES._replace(
        doc_id="WOS:000000000000001",
        title="Sorting apples and pears",
        venue="JOURNAL OF FRUIT",
        abstract="We sort.",
        keywords=("apples", "pears", "MALUS"),
        language="English",
        links=(Link("10.1234/p"),),
        line=3,
    ),
    "enw": APPLES._replace(
        doc_id="muster2010",
        title="Sorting apples and pears",
        url="https://example.org/7",
        abstract="We sort. And sort.",
        keywords=("apples", "pears"),
        keys=("muster2010",),
    ),
    "csl-yaml": APPLES._replace(
        doc_id="muster2010",
        authors=("Muster, Anna", "Fruit Group"),
        volume=None,
        number=None,
        abstract="We sort. - And sort.",
        keys=("muster2010",),
        line=3,
    ),
    "arxiv-json": APPLES._replace(
        doc_id="arXiv:1008.1234",
        title="Sorting n^2 Apples",
        authors=("Muster, Anna", "Beispiel, Jr., Bert"),
        volume=None,
        number=None,
        pages=None,
        abstract="We sort école.",
        keywords=("cs.DS", "math.CO"),
        **ON_ARXIV,
    ),
    "zotero-json": APPLES._replace(
        doc_id="muster2010",
        authors=("Muster, Anna", "Fruit Group"),
        editors=("Hand, Eve",),
        keywords=("apples",),
        keys=("muster2010",),
        line=4,
    ),
    "csv": APPLES._replace(
        doc_id="2-s2.0-1",
        title='Sorting "apples" & pears',
        date="2010",
        url="https://example.org/7",
        abstract="We sort. And sort.",
        keywords=("apples", "pears"),
        line=2,
    ),
}
Known = tuple[str, str, str, int | None, int]
LATER: dict[str, tuple[Known, Known]] = {
    "pubmed-xml": (
        ("pmid:102", "article", "On pears", 1998, 22),
        ("pmid:103", "incollection", "Quinces", 2001, 25),
    ),
    "endnote-xml": (
        ("leiter-2011-pears", "incollection", "Pears", 2011, 15),
        ("leiter1999", "phdthesis", "Quinces", 1999, 19),
    ),
    "dblp-xml": (
        ("conf/fruit/Leiter11", "inproceedings", "Pears?", 2011, 11),
        ("conf/fruit/2011", "proceedings", "Fruit Conference 2011", 2011, 16),
    ),
    "arxiv-atom": (
        ("arXiv:cs/0112017", "misc", "Pears", 2001, 13),
        ("arXiv:2001.00001", "misc", "Quinces", None, 15),
    ),
    "zotero-rdf": (
        ("2011-pears", "incollection", "Pears", 2011, 18),
        ("leiter1999", "phdthesis", "Quinces", None, 24),
    ),
    "nbib": (
        ("pmid:102", "article", "On pears", 1998, 23),
        ("pmid:103", "incollection", "Quinces", None, 28),
    ),
    "web-of-science": (
        ("WOS:000000000000002", "inproceedings", "Pears", 2011, 28),
        ("hand-1999-quinces", "book", "Quinces", 1999, 39),
    ),
    "enw": (
        ("leiter-2011-pears", "incollection", "Pears", 2011, 20),
        ("quinces", "phdthesis", "Quinces", None, 27),
    ),
    "csl-yaml": (
        ("pears", "incollection", "Pears: é", 2011, 18),
        ("quinces", "phdthesis", "Quinces", 1999, 25),
    ),
    "arxiv-json": (
        ("arXiv:cs/0112017", "misc", "Pears", 2001, 2),
        ("arXiv:2001.00001", "misc", "Quinces", 2020, 3),
    ),
    "zotero-json": (
        ("ABCD2345", "incollection", "Pears", None, 11),
        ("1999-quinces", "phdthesis", "Quinces", 1999, 12),
    ),
    "csv": (
        ("2-s2.0-2", "inproceedings", "Pears", 2011, 5),
        ("2-s2.0-3", "book", "Quinces", 1999, 6),
    ),
}
PASSED_OVER = {
    "dblp-xml": [
        Problem(
            1, "ignored 1 record of the kind www or person, which is not a publication", "ignored"
        )
    ],
    "zotero-rdf": [
        Problem(1, "2 items ignored: notes, files and collections are not documents", "ignored")
    ],
    "zotero-json": [Problem(10, "an item of the type attachment is not a document", "ignored")],
}
NEW = (*FIRST, "s2orc", "tsv-queries", "tsv-documents")


def read(name: str, data: bytes | str, line: int = 1, **macros: str) -> list[Record]:
    data = data.encode() if isinstance(data, str) else data
    return list(FORMATS[name].parse(Chunk(data, "x", line, macros)))


def kept(records: list[Record]) -> list[Any]:
    return [record for record in records if not isinstance(record, Problem)]


@pytest.mark.parametrize("name", FIRST)
def test_count_first_middle_and_last(name: str) -> None:
    records = read(name, SAMPLES[name])
    documents = kept(records)
    assert len(documents) == 3
    assert documents[0] == FIRST[name]
    found = [(d.doc_id, d.type, d.title, d.year, d.line) for d in documents[1:]]
    assert found == [*LATER[name]]
    problems = [record for record in records if isinstance(record, Problem)]
    assert problems == PASSED_OVER.get(name, [])


def test_texts_with_ids() -> None:
    assert read("tsv-queries", SAMPLES["tsv-queries"]) == [
        Query("1", "how are apples sorted", line=1),
        Query("2", "what of pears", line=2),
        Query("3", "are quinces hard", line=3),
    ]
    first, middle, last = read("tsv-documents", SAMPLES["tsv-documents"])
    assert [getattr(d, "doc_id", "") for d in (first, middle, last)] == ["0", "1", "2"]
    headed = read("tsv-queries", "qid\tquery\r\n1\tapples\r\n2\t\r\nno tab\r\n")
    assert headed == [
        Query("1", "apples", line=2),
        Problem(3, "expected an id, a tab and a text, found '2'"),
        Problem(4, "expected an id, a tab and a text, found 'no tab'"),
    ]


BROKEN = {
    "pubmed-xml": ("<ArticleTitle>[On", "<ArticleTitle"),
    "endnote-xml": ("<titles><title>Pears", "<titles><title<Pears"),
    "dblp-xml": ("<title>Pears?</title>", "<title>Pears?<title>"),
    "arxiv-atom": ("<title>Pears</title>", "<title>Pears</tit"),
    "csl-yaml": ("title: 'Pears", "title: ['Pears"),
    "csv": ('"Leiter C.",', ""),
    "s2orc": ('"title": "Pears"', '"title": Pears'),
    "arxiv-json": ('"title": "Pears"', '"title": Pears'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_record_is_reported_and_costs_no_other(name: str) -> None:
    right, wrong = map(str.encode, BROKEN[name])
    good, broken = SAMPLES[name], SAMPLES[name].replace(right, wrong)
    assert good != broken
    whole, damaged = read(name, good), read(name, broken)
    around = [r for r in kept(whole) if "Pears" not in r.title and "On pears" not in r.title]
    assert [record for record in damaged if record in around] == around
    line = next(record.line for record in kept(whole) if "ears" in record.title)
    told = [r for r in damaged if isinstance(r, Problem) and r.kind != "ignored"]
    assert [line <= problem.line <= line + 8 for problem in told] == [True] * len(told) != []
