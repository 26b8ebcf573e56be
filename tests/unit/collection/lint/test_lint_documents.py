"""Checks on documents: texts, years, identifiers, remains of markup and encodings."""

from __future__ import annotations

import datetime

import polars as pl
import pytest
from tests.library_samples import bibtex_entry
from tests.unit.collection.lint.kinds import Altered, Collect, Found

from citebed.collection import import_sources
from citebed.collection.storing.table_files import write_table
from citebed.collection.tables import DOCUMENTS, SECTIONS, make_frame

TODAY = datetime.date(2024, 3, 1)


def test_documents_without_title_and_without_text(collect: Collect, found: Found) -> None:
    text = (
        bibtex_entry("a", year=2000)
        + bibtex_entry("b", abstract="Words.")
        + bibtex_entry("c", title="A title")
    )
    collection = collect({"a.bib": text})
    assert [name for name, _ in found(collection, "documents-without-title")] == ["a", "b"]
    assert [name for name, _ in found(collection, "documents-without-text")] == ["a"]


def test_a_document_with_full_text_is_not_empty(collect: Collect, found: Found) -> None:
    collection = collect({"a.bib": bibtex_entry("a", year=2000)})
    sections = make_frame(SECTIONS, {"doc_id": ["a"], "record": ["a"], "text": ["All of it."]}, 1)
    write_table(collection.folder / "sections.parquet", sections, SECTIONS)
    assert found(collection, "documents-without-text") == []


def test_dates_in_future_leave_room_for_next_year(collect: Collect, found: Found) -> None:
    years = (2023, 2024, 2025, 2026)
    collection = collect(
        {"a.bib": "".join(bibtex_entry(f"y{y}", title=f"T {y}", year=y) for y in years)}
    )
    assert found(collection, "dates-in-future", today=TODAY) == [
        ("y2026", "is dated 2026, but it is 2024 now")
    ]


def test_a_citing_paper_of_the_future(collect: Collect, found: Found) -> None:
    paper = "<doc><doi>10.1145/9.9</doi><year>2050</year><contexts/><references/></doc>"
    collection = collect({"p.xml": paper})
    assert [name for name, _ in found(collection, "dates-in-future", today=TODAY)] == [
        "10.1145/9.9"
    ]


def test_implausible_years(collect: Collect, altered: Altered, found: Found) -> None:
    text = "".join(bibtex_entry(f"y{y}", title=f"T {y}", year=y) for y in (1600, 1665, 2000))
    collection = collect({"a.bib": text + bibtex_entry("none", title="Undated")})
    assert [name for name, _ in found(collection, "implausible-years")] == ["y1600"]
    torn = pl.when(doc_id="y2000").then(pl.lit("2001-05")).otherwise("date")
    assert found(altered(collection, "documents", DOCUMENTS, date=torn), "implausible-years")[
        1:
    ] == [("y2000", "year 2000, but date 2001-05")]


def test_a_doi_field_that_disagrees_with_the_key(collect: Collect, found: Found) -> None:
    text = (
        bibtex_entry("10.1145/1.1", title="One", doi="10.1145/1.2")
        + bibtex_entry("10.1145/3.A_b", title="Two", doi=r"https://doi.org/10.1145/3.a\_B")
        + bibtex_entry("10.1145/4.4", title="Three", url="https://example.org", doi="unknown")
        + bibtex_entry("key", title="Four", doi="10.1145/5.5")
        + bibtex_entry("10.1145/6.6", title="Five")
    )
    assert found(collect({"a.bib": text}), "doi-disagrees") == [
        ("10.1145/1.1", "its DOI field says 10.1145/1.2")
    ]


def test_different_documents_under_one_key(collect: Collect, found: Found) -> None:
    one, two = bibtex_entry("key", title="One of them"), bibtex_entry("key", title="Another one")
    own = bibtex_entry("key-7", title="Seven of nine", year=1990)
    assert found(collect({"a.bib": one, "b.bib": two + own}), "numbered-ids") == [
        ("key-2", "'Another one' has the key key of 'One of them'")
    ]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (r"A proof that \mathsf holds", True), ("The &thetas; function", True),
        ("A <blink> of an eye", True), ("Pages <foo a='b'> and </foo>", True),
        ("For a < b and c > d", False), ("AT&T; Bell and R&D", False),
        ("Caf&eacute; and &#233;", True), ("A path C:\\ and x<y>z in 3<4", True),
        ("Triples <s, p, o> at 5 < 6", False), ("Plain words, 10\\% of them", False),
    ],
)  # fmt: skip
def test_markup_remains(
    collect: Collect, altered: Altered, found: Found, text: str, seen: bool
) -> None:
    collection = collect({"a.bib": bibtex_entry("a", title="T", abstract="x")})
    collection = altered(collection, "documents", DOCUMENTS, abstract=pl.lit(text))
    assert [name for name, _ in found(collection, "markup-remains")] == ["a"] * seen


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Ren\u00c3\u00a9 Descartes", True),
        ("the user\u00e2\u20ac\u2122s needs", True),
        ("lost \ufffd letters", True),
        ("\u00c3\u2013sterreich", True),
        ("\u00c3\u0153ber", True),
        ("S\u00c3O PAULO, René, Ångström, Ðorđe", False),
        ("a â la carte menu at 5 €", False),
        ("\u0141ukasz as \u00c5\u0081ukasz, Luk\u00c3\u00a1\u00c5\u00a1", True),
        ("a surface of 5 Å², “resolved to 3 Å”", False),
    ],
)
def test_encoding_remains(
    collect: Collect, altered: Altered, found: Found, text: str, seen: bool
) -> None:
    collection = collect({"a.bib": bibtex_entry("a", title="T", author="Doe, Jane")})
    titled = altered(collection, "documents", DOCUMENTS, title=pl.lit(text))
    assert [name for name, _ in found(titled, "encoding-remains")] == ["a"] * seen
    plain = {"title": pl.lit("T"), "authors": pl.concat_list(pl.lit(text), "authors")}
    signed = altered(collection, "documents", DOCUMENTS, **plain)
    assert [name for name, _ in found(signed, "encoding-remains")] == ["a"] * seen


def test_a_finding_shows_the_text_around(collect: Collect, altered: Altered, found: Found) -> None:
    long = f"{'before ' * 20}the &thetas; function{' after' * 20}"
    collection = altered(
        collect({"a.bib": bibtex_entry("a", title="T")}),
        "documents",
        DOCUMENTS,
        abstract=pl.lit(long),
    )
    ((_, what),) = found(collection, "markup-remains")
    assert what == "abstract: …e before before the &thetas; function after afte…"


def test_the_name_of_a_command_that_is_left(collect: Collect, found: Found) -> None:
    """For unknown commands, and for known ones that a text rarely has; paths do not count."""
    collection = collect(
        {
            "a.bib": r"""
@article{a, title = {On \foobar things}, author = {Doe, Jane}, year = 2001}
@article{b, title = {B}, author = {Doe, John}, abstract = {We show textitgood results}}
@article{c, title = {\emph{Good} \foobar{thing}s, $\log n$}, file = {C:\\things\\x}, year = 2002}
@article{d, title = {D}, author = {Cvitanovi\ifmmode \acute{c}\else \'{c}\fi{}, P.}, year = 2003}
""",
            "b.jsonl": '{"id": "e", "title": "Zivkoviifmmode celse cfi"}\n',
        }
    )
    assert found(collection, "latex-remains") == [
        ("a", "title: …On foobar things…"),
        ("b", "abstract: …We show textitgood results…"),
        ("e", "title: …Zivkoviifmmode celse cfi…"),
    ]
    report = import_sources(collection.folder, [])
    assert report.latex_left == 3
    assert ("LaTeX", "3 texts in which a LaTeX command seems to be left; "
            "citebed lint --only latex-remains shows them") in report.lines()  # fmt: skip
