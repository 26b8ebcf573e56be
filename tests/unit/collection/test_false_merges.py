"""Records that must not merge: one DOI on different papers, repeated columns, namesakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.library_samples import bibtex_entry
from tests.reference.merging import plain

from citebed.collection import Collection, import_sources, open_collection
from citebed.collection.building.import_report import ImportReport
from citebed.collection.building.merging import (
    MOST_TITLES,
    Place,
    Title,
    is_elsewhere,
    place_groups,
    title_groups,
    titles_agree,
)
from citebed.collection.lint import lint

DOI = "10.5072/shared"


def entry(key: str, title: str, author: str = "Doe, Jo", year: int = 2001, **fields: str) -> str:
    return bibtex_entry(key, title=title, author=author, year=year, **fields)


def collected(folder: Path, *files: str) -> tuple[ImportReport, Collection]:
    (folder / "in").mkdir()
    for number, text in enumerate(files):
        (folder / "in" / f"{number}.bib").write_text(text)
    report = import_sources(folder / "c", [folder / "in"])
    return report, open_collection(folder / "c")


def titles(*texts: str) -> list[Title]:
    return [Title(text, plain(text)) for text in texts]


def test_one_doi_on_different_papers(tmp_path: Path) -> None:
    report, collection = collected(
        tmp_path,
        entry("book", "Handbook of Shepherding", doi=DOI),
        entry("one", "Counting Sheep", doi=DOI, pages="1--20") + entry("x", "Something Else"),
        entry("two", "On the Naming of Rams", doi=DOI) + entry("ein", "Counting sheep.", doi=DOI),
    )
    assert (report.documents, report.merged, report.doubtful) == (4, 1, 3)
    assert (
        "doubtful",
        "3 documents with a DOI that other titles have too; citebed lint shows them",
    ) in report.lines()
    doubtful = dict(collection.documents.select("doc_id", "doubtful").iter_rows())
    assert doubtful == {"book": ["doi"], "one": ["doi"], "x": [], "two": ["doi"]}
    assert collection.document("ein").doc_id == "one"
    (found,) = lint(collection, ["duplicate-dois"])
    assert [example["id"] for example in found.examples] == ["one", "two"]
    assert found.examples[0]["what"] == f"'Counting Sheep' has the DOI {DOI}, as book does"


def test_again_and_in_another_order_it_is_the_same(tmp_path: Path) -> None:
    files = (
        entry("a", "Counting Sheep", doi=DOI),
        entry("b", "On Rams", doi=DOI),
        entry("c", "Counting sheep"),
    )
    for number, order in enumerate((files, files[::-1])):
        (tmp_path / str(number)).mkdir()
        _, collection = collected(tmp_path / str(number), *order)
        again = import_sources(collection.folder, [])
        assert (again.documents, again.merged, again.doubtful) == (2, 1, 2)
    assert again.account["missing"] == 0


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Counting Sheep at Scale", "counting sheep at scale."),
        ("Counting Sheep", "Counting Sheep: An Introduction"),
        ("Networks", "Networks. An introduction"),
        ("Counting Sheep at Scale", "Conting sheeps at scale"),
        ("Proceedings of the 5th Sheep Conference", "5th Sheep Conference"),
        ("Über das Zählen von Schafen", "Uber das Zahlen von Schafen"),
        ("Decay of $B^0$ into sheep and rams", "Decay of B0 into Sheep and Rams"),
    ],
)
def test_titles_that_agree(left: str, right: str) -> None:
    assert titles_agree(*titles(left, right))
    assert titles_agree(*titles(right, left))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Counting Sheep at Scale", "On the Naming of Rams"),
        ("Networks", "Social Networks"),
        ("Introduction", "Introduction to Sheep"),
        ("Counting Sheep at Scale, Part I", "Counting Sheep at Scale, Part II"),
        ("Report on the Workshop of 2014", "Report on the Workshop of 2016"),
        ("Herd behavior in purchasing books online", "The Art of Book Reviewing"),
    ],
)
def test_titles_that_do_not(left: str, right: str) -> None:
    assert not titles_agree(*titles(left, right))
    assert not titles_agree(*titles(right, left))


def test_titles_agree_by_way_of_others() -> None:
    whole, cut = "Counting Sheep at Scale: A Study of Rams and Ewes", "Counting Sheep at Scale"
    other = "Counting Sheep at Scale (Dissertation)"
    one, two, three, four = title_groups(titles(whole, "Of Dogs", other, cut))
    assert one == three == four != two


def test_a_doi_that_everything_has_is_no_papers() -> None:
    named = titles(*(f"Sheep {number} of the herd" for number in range(MOST_TITLES + 1)))
    assert len(set(title_groups(named))) == len(named)


def test_a_record_without_a_title_is_of_the_one_paper_of_its_doi(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    report, _ = collected(
        tmp_path / "a", entry("a", "Counting Sheep", doi=DOI), entry("b", "", doi=DOI)
    )
    assert (report.documents, report.doubtful) == (1, 0)
    other = entry("c", "On the Naming of Rams", doi=DOI)
    report, _ = collected(
        tmp_path, entry("a", "Counting Sheep", doi=DOI), entry("b", "", doi=DOI), other
    )
    assert (report.documents, report.doubtful) == (3, 3)


def test_columns_that_recur(tmp_path: Path) -> None:
    column: dict[str, Any] = {
        "title": "From the President",
        "journal": "Sheep Today",
        "volume": "7",
    }
    report, collection = collected(
        tmp_path,
        entry("a", **column, number="1", pages="3")
        + entry("b", **column, number="2", pages="151--152")
        + entry("c", **column, number="3/4", pages="201")
        + entry("d", **column, number="3/4", pages="288"),
        entry("again", **column, number="2", pages="151"),
        entry("which", **column),
    )
    assert (report.documents, report.merged) == (5, 1)
    assert collection.document("again").doc_id == "b"


def test_one_title_in_two_proceedings_of_a_year(tmp_path: Path) -> None:
    """Like Lanczos's iteration method of 1951: equal in all but the proceedings."""
    title = "An Iteration Method for the Counting of Sheep"
    report, collection = collected(
        tmp_path,
        entry("a", title, booktitle="Proc. Symposium on Machinery", pages="164--206")
        + entry("b", title, booktitle="Proc. Symposium on Spectral Theory", pages="301--316"),
        entry("preprint", title, booktitle="Reports of a Farm", pages="1--43"),
    )
    assert report.documents == 3  # one that could be either is neither
    assert collection.document("b").pages == "301–316"


@pytest.mark.parametrize(
    ("left", "right", "elsewhere"),
    [
        ((1, 7, 1, 3, None), (1, 7, 2, 151, 152), True),
        ((1, 7, 1, 3, None), (1, 7, 1, 8, 9), True),
        ((1, 7, 1, 3, 9), (2, 7, 1, 5, None), False),
        ((1, 7, 1, 3, 9), (2, 8, None, 50, 60), True),
        ((1, 7, 1, 3, 9), (2, 8, None, None, None), False),
        ((1, 7, 1, None, None), (1, 7, 2, 3, None), True),
        ((1, 7, 1, None, None), (2, 7, 2, 3, None), False),
        ((1, 7, 1, 3, 9), (2, None, None, 50, 60), True),
        ((1, 7, 1, 3, 9), (None, None, None, 50, 60), False),
        ((1, 7, 1, 33, 39), (2, None, None, 1, 7), False),
        ((None,) * 5, (1, 7, 1, 3, 9), False),
    ],
)
def test_places_that_cannot_be_one(
    left: tuple[int | None, ...], right: tuple[int | None, ...], elsewhere: bool
) -> None:
    assert is_elsewhere(Place(*left), Place(*right)) is elsewhere
    assert is_elsewhere(Place(*right), Place(*left)) is elsewhere
    assert (len(set(place_groups([Place(*left), Place(*right)]))) == 2) is elsewhere


XML = """<doc><id>p</id><title>Citing</title><contexts><context id="1" section="introduction">
<s cites="1">Sheep [1].</s></context></contexts><references><reference id="1">{}</reference>
</references></doc>"""


def test_a_reference_with_nothing_but_a_doubtful_doi_is_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.bib").write_text(
        entry("a", "Counting Sheep", doi=DOI) + entry("b", "On Rams", doi=DOI)
    )
    (tmp_path / "in/p.xml").write_text(XML.format(DOI))
    import_sources(tmp_path / "c", [tmp_path / "in"])
    assert open_collection(tmp_path / "c").references["doc_id"].to_list() == [None]


TEI = """<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc>
<titleStmt><title level="a" type="main">Citing Sheep</title></titleStmt></fileDesc></teiHeader>
<text><body><div><head>Introduction</head><p>Rams <ref type="bibr" target="#b0">[1]</ref>.</p>
</div></body><back><div><listBibl><biblStruct xml:id="b0"><analytic>
<title>On the Naming of Rams</title><idno type="DOI">10.5072/shared</idno></analytic></biblStruct>
</listBibl></div></back></text></TEI>"""


def test_the_title_decides_if_a_doi_is_doubtful(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.bib").write_text(
        entry("a", "Counting Sheep", doi=DOI) + entry("b", "On the Naming of Rams", doi=DOI)
    )
    (tmp_path / "in/p.tei.xml").write_text(TEI)
    import_sources(tmp_path / "c", [tmp_path / "in"])
    assert open_collection(tmp_path / "c").references["doc_id"].to_list() == ["b"]


def test_a_collection_of_an_earlier_version_has_no_doubts(tmp_path: Path) -> None:
    _, collection = collected(tmp_path, entry("a", "Counting Sheep"))
    path = collection.folder / "documents.parquet"
    pl.read_parquet(path).drop("doubtful").write_parquet(path)
    opened = open_collection(collection.folder)
    assert opened.documents["doubtful"].to_list() == [None]
    report = import_sources(collection.folder, [tmp_path / "in"])
    assert (report.unchanged, report.documents) == (1, 1)
    assert open_collection(collection.folder).documents["doubtful"].to_list() == [[]]


def test_real_files(shared_data: Path, tmp_path: Path) -> None:
    formats = shared_data / "formats"
    names = ("J10.xml", "recurring-columns.bib", "mendeley-types.bib")
    report = import_sources(tmp_path / "c", [formats / name for name in names])
    assert report.account["missing"] == 0
    documents = open_collection(tmp_path / "c").documents
    assert documents.filter(source="recurring-columns.bib").height == 12
    shared = documents.filter(doi="10.1162/coli.2010.36.1.36105")
    assert sorted(shared["doc_id"]) == ["J10-1006", "J10-1008"]
    assert shared["doubtful"].to_list() == [["doi"], ["doi"]]


def test_dois_with_blanks_and_parentheses(tmp_path: Path) -> None:
    report, collection = collected(
        tmp_path,
        entry("a", "Counting Sheep", doi="10.1659/0276-4741(2004)024 [ 0141:CS]2.0.CO;2")
        + entry("b", "On the Naming of Rams", doi="10.1659/0276-4741(2004)024 [ 0149:NR]2.0.CO;2")
        + entry("c", "Of Shepherds", doi="10.1016/S0140-6736 (05)17709-5")
        + entry("d", "Of Dogs and Wolves", doi="10.1016/S0140-6736 (05)17710-1"),
    )
    assert report.documents == 4
    dois = dict(collection.documents.select("doc_id", "doi").iter_rows())
    assert dois["a"] == "10.1659/0276-4741(2004)024[0141:cs]2.0.co;2"
    assert dois["b"] == "10.1659/0276-4741(2004)024[0149:nr]2.0.co;2"


TWO = ("Wang, Wei", "Li, Na", "Wang, Wei")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.bib", "@misc{a, title={Of Sheep}, author={Wang, Wei and Li, Na and Wang, Wei}}"),
        ("a.bib", "@misc{a, title={Of Sheep}, author={Wei Wang and Na Li and Wei Wang}}"),
        (
            "a.ris",
            "TY  - JOUR\nAU  - Wang, Wei\nAU  - Li, Na\nAU  - Wang, Wei\nTI  - Of Sheep\nER  - \n",
        ),
        (
            "a.json",
            '[{"id": "a", "type": "book", "title": "Of Sheep", "author": ['
            '{"family": "Wang", "given": "Wei"}, {"family": "Li", "given": "Na"}, '
            '{"family": "Wang", "given": "Wei"}]}]',
        ),
        (
            "a.xml",
            "<collection id='2020.a'><volume id='1'><meta><year>2020</year></meta><paper id='1'>"
            "<title>Of Sheep</title><author><first>Wei</first><last>Wang</last></author>"
            "<author><first>Na</first><last>Li</last></author>"
            "<author><first>Wei</first><last>Wang</last></author></paper></volume></collection>",
        ),
        (
            "a.jsonl",
            '{"doc_id": "a", "title": "Of Sheep", "authors": ["Wang, Wei", "Li, Na", "Wang, Wei"]}',
        ),
    ],
)
def test_namesakes_among_authors_are_two_people(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    import_sources(tmp_path / "c", [tmp_path / name])
    (document,) = open_collection(tmp_path / "c").iter_documents()
    assert document.authors == TWO
