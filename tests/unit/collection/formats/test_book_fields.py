"""Place, edition, ISBN, group authors, early years: no format may lose them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from citebed.collection import import_sources, open_collection
from citebed.collection.exporting import export

COLUMNS = ("place", "edition", "isbn")
GENEVA = ("Geneva", "2nd", "978-3-16-148410-0")
BOOKS = {
    "a.ris": "TY  - BOOK\nTI  - A book\nAU  - Doe, Jo\nCY  - Geneva\nET  - 2nd\n"
    "SN  - 978-3-16-148410-0\nER  - \n",
    "a.bib": "@book{a, title={A book}, address={Geneva}, edition={2nd}, isbn={978-3-16-148410-0}}",
    "b.bib": "@book{a, title={A book}, location={Geneva}, edition={2nd}, isbn={978-3-16-148410-0}}",
    "a.json": json.dumps([{"id": "a", "type": "book", "title": "A book", "edition": "2nd",
                           "publisher-place": "Geneva", "ISBN": "978-3-16-148410-0"}]),
    "a.enw": "%0 Book\n%T A book\n%A Doe, Jo\n%C Geneva\n%7 2nd\n%@ 978-3-16-148410-0\n",
    "a.xml": "<xml><records><record><ref-type name='Book'>6</ref-type><titles><title>A book</title>"
    "</titles><pub-location>Geneva</pub-location><edition>2nd</edition>"
    "<isbn>978-3-16-148410-0</isbn></record></records></xml>",
    "a.csv": "Key,Title,Author,Place,Edition,ISBN\n"
    "ab,A book,\"Doe, Jo\",Geneva,2nd,978-3-16-148410-0\n",
}  # fmt: skip


def documents(folder: Path) -> pl.DataFrame:
    return open_collection(folder).documents


@pytest.mark.parametrize("name", BOOKS)
def test_place_edition_and_isbn_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(BOOKS[name])
    import_sources(tmp_path / "c", [tmp_path / name])
    assert documents(tmp_path / "c").select(COLUMNS).rows() == [GENEVA]


MIXED = (
    BOOKS["a.ris"]
    + "\nTY  - JOUR\nTI  - An article\nAU  - World Bank\nPY  - -51\nSN  - 1234-567X\nER  - \n"
)


@pytest.mark.parametrize(
    ("form", "name"),
    [("bibtex", "out.bib"), ("ris", "out.ris"), ("csl-json", "out.json"), ("jsonl", "out")],
)
def test_place_edition_isbn_groups_and_early_years_come_back(
    tmp_path: Path, form: str, name: str
) -> None:
    (tmp_path / "a.ris").write_text(MIXED)
    import_sources(tmp_path / "c", [tmp_path / "a.ris"])
    report = export(open_collection(tmp_path / "c"), form, tmp_path / name)
    assert not any("reads back" in note for note in report.notes)
    import_sources(tmp_path / "again", [tmp_path / name])
    read = documents(tmp_path / "again").select("authors", "year", *COLUMNS).rows()
    assert read == [(["Doe, Jo"], None, *GENEVA), (["World Bank"], -51, None, None, "1234-567X")]


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        ("World Bank", "World Bank"),
        ("International Monetary Fund", "International Monetary Fund"),
        ("Centers for Disease Control and Prevention",) * 2,
        ("Taylor and Francis", "Taylor and Francis"),
        ("St. Jude Hospital", "St. Jude Hospital"),
        ("Doe, Jo", "Doe, Jo"),
        ("J. R. Doe", "Doe, J. R."),
    ],
)
def test_group_authors_in_ris_are_not_turned_round(tmp_path: Path, stated: str, name: str) -> None:
    (tmp_path / "a.ris").write_text(f"TY  - RPRT\nTI  - A report\nAU  - {stated}\nER  - \n")
    import_sources(tmp_path / "c", [tmp_path / "a.ris"])
    assert documents(tmp_path / "c")["authors"].to_list() == [[name]]


@pytest.mark.parametrize(
    ("stated", "year"),
    [
        ("year={-51}", -51), ("date={-0379}", -379), ("year={44 BC}", -44), ("year={44 B.C.}", -44),
        ("year={ca. 300 BCE}", -300), ("year={50 v. Chr.}", -50), ("year={0}", None),
        ("year={850}", 850), ("year={2001}", 2001), ("year={2001-02}", 2001),
    ],
)  # fmt: skip
def test_years_before_1_are_kept(tmp_path: Path, stated: str, year: int | None) -> None:
    (tmp_path / "a.bib").write_text(f"@book{{a, title={{De re publica}}, {stated}}}")
    import_sources(tmp_path / "c", [tmp_path / "a.bib"])
    assert documents(tmp_path / "c")["year"].to_list() == [year]


def test_a_missing_comma_behind_the_key_is_noted_and_put_there(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text("\n@article{nokey title={A Broken Entry}, year={2001}}\n")
    report = import_sources(tmp_path / "c", [tmp_path / "a.bib"])
    assert report.problems.select("line", "kind", "what").rows() == [
        (2, "mended", "no comma after the key 'nokey'; citebed added it")
    ]
    export(open_collection(tmp_path / "c"), "bibtex", tmp_path / "out.bib")
    assert (tmp_path / "out.bib").read_text().startswith("@article{nokey, title={A Broken Entry}")
