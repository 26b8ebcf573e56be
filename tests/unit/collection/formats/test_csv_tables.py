"""Tables: columns of many makers, names in a cell, quotation marks that never close."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.collection import import_sources, open_collection
from citebed.collection.exporting import export
from citebed.collection.formats import Chunk
from citebed.collection.formats.csv_tables import CSV
from citebed.records import Document, Link, Problem, Record


def read(text: str, line: int = 1) -> list[Record]:
    return list(CSV.parse(Chunk(text.encode(), "x", line)))


def one(text: str) -> Document:
    [document] = read(text)
    assert isinstance(document, Document)
    return document


def test_a_plain_table() -> None:
    document = one("id;title;author;year;DOI\na1;Apples;Muster, Anna;2010;10.1234/A\n")
    assert document == Document(
        doc_id="a1",
        title="Apples",
        authors=("Muster, Anna",),
        year=2010,
        date="2010",
        doi="10.1234/a",
        keys=("a1",),
        line=2,
    )


def test_a_table_of_web_of_science() -> None:
    document = one(
        "PT\tAU\tAF\tTI\tSO\tPY\tBP\tEP\tCR\tUT\n"
        "J\tMuster, A; Beispiel, B\tMuster, Anna; Beispiel, Bert\tApples\tFRUIT\t2010\t1\t9\t"
        "Leiter C, 1999, DOI 10.1234/p; Hand E, 1998\tWOS:1\n"
    )
    assert (document.doc_id, document.type, document.venue) == ("WOS:1", "article", "FRUIT")
    assert document.authors == ("Muster, Anna", "Beispiel, Bert")
    assert (document.pages, document.links) == ("1–9", (Link("10.1234/p"),))


def test_a_table_of_ieee_and_one_of_zotero() -> None:
    ieee = one(
        '"Document Title","Authors","Publication Title","Year","Start Page","End Page"\n'
        '"Apples","A. Muster; B. Beispiel","Fruit Conference","2010","1","9"\n'
    )
    assert (ieee.title, ieee.venue, ieee.pages) == ("Apples", "Fruit Conference", "1–9")
    assert ieee.authors == ("Muster, A.", "Beispiel, B.")
    zotero = one(
        '"Key","Item Type","Publication Year","Author","Title","Publication Title","Manual Tags"\n'
        '"ABCD2345","journalArticle","2010","Muster, Anna; Hand, E.","Apples","Fruit","a; b"\n'
    )
    assert (zotero.doc_id, zotero.type, zotero.venue) == ("ABCD2345", "article", "Fruit")
    assert zotero.keywords == ("a", "b")


def test_a_table_of_pubmed() -> None:
    document = one(
        "PMID,Title,Authors,Journal/Book,Publication Year\n7,Apples,Muster A,Fruit,2010\n"
    )
    assert (document.doc_id, document.authors) == ("pmid:7", ("Muster, A",))


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("Muster, Anna; Beispiel, Bert", ("Muster, Anna", "Beispiel, Bert")),
        ("Muster A., Beispiel B.-C.", ("Muster, A.", "Beispiel, B.-C.")),
        ("Anna Muster, Bert Beispiel", ("Muster, Anna", "Beispiel, Bert")),
        ("Anna Muster and Bert Beispiel", ("Muster, Anna", "Beispiel, Bert")),
        ("Muster, Anna", ("Muster, Anna",)),
        ("Muster AB, Beispiel B.", ("Muster, AB", "Beispiel, B.")),
        ("Muster, A., Beispiel, B.", ("Muster, A.", "Beispiel, B.")),
        ("Anna Muster|Bert Beispiel", ("Muster, Anna", "Beispiel, Bert")),
        ("Muster, Anna (57190000001)", ("Muster, Anna",)),
        ("", ()),
    ],
)
def test_names_in_a_cell(cell: str, names: tuple[str, ...]) -> None:
    assert one(f'id,title,authors\n1,Apples,"{cell}"\n').authors == names


def test_a_quotation_mark_that_never_closes_costs_its_own_row() -> None:
    rows = "".join(f"{n},Title {n},2010\n" for n in range(3, 50))
    records = read(f'id,title,year\n1,Apples,2010\n2,"Pears,2011\n{rows}')
    assert records[1] == Problem(3, "a row of 2 fields: expected 3, as in the header")
    assert [getattr(r, "doc_id", "") for r in records[2:]] == [str(n) for n in range(3, 50)]


def test_a_mark_in_the_midst_of_a_field_is_text() -> None:
    first, second = read('id,title,year\n1,A 5" disk,2010\n2,Pears,2011\n')
    assert getattr(first, "title", "") == 'A 5" disk'
    assert getattr(second, "title", "") == "Pears"


def test_rows_that_do_not_fit_are_reported() -> None:
    records = read("id,title,year\n1,Apples\n2,Pears,2011,,\n3,Quinces,a,b\n,,\n")
    assert [type(record).__name__ for record in records] == [
        "Problem",
        "Document",
        "Problem",
        "Problem",
    ]
    assert records[3] == Problem(5, "a row without a title, an author, a DOI or an abstract")


def test_the_cut_is_never_inside_a_row() -> None:
    data = b'id,title\n1,"Apples\nand pears"\n2,Pears\n'
    assert CSV.split is not None
    cuts = {CSV.split(data[:end]) for end in range(len(data) + 1)}
    assert cuts == {0, data.index(b"1,"), data.index(b"2,"), len(data)}


def test_what_citebed_exports_it_reads(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(
        "@article{muster2010, author={Muster, Anna and Beispiel, Bert}, title={=Apples}, year=2010,"
        " journal={Fruit}, doi={10.1234/a}}\n@misc{b, title={Pears, ``quoted''}}\n"
    )
    import_sources(tmp_path / "c", [tmp_path / "a.bib"])
    export(open_collection(tmp_path / "c"), "csv", tmp_path / "out")
    import_sources(tmp_path / "d", [tmp_path / "out" / "documents.csv"])
    columns = ["doc_id", "title", "authors", "year", "venue", "doi"]
    found = open_collection(tmp_path / "d").documents.select(columns).rows()
    assert found == open_collection(tmp_path / "c").documents.select(columns).rows()


@given(st.lists(st.lists(st.text(max_size=6), min_size=1, max_size=4), max_size=5))
def test_every_line_is_a_record_or_a_problem(rows: list[list[str]]) -> None:
    text = "id,title,year\n" + "".join(",".join(row).replace("\n", " ") + "\n" for row in rows)
    for record in read(text):
        assert isinstance(record, Document | Problem)
