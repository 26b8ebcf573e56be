"""Groups of JabRef and of exports of other reference managers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import library_samples

from citebed.collection.formats import FORMATS
from citebed.collection.formats.base import Chunk
from citebed.collection.formats.jabref import parse_groups
from citebed.files.file_kinds import explain_unreadable
from citebed.records import Document


def groups_of(format: str, text: str) -> dict[str, tuple[str, ...]]:
    form, context = FORMATS[format], dict[str, str]()
    if form.collect_context is not None and format == "csv":
        header, _, text = text.partition("\n")
        form.collect_context(f"{header}\n".encode(), context)
    records = form.parse(Chunk(text.encode(), "x", 1, context))
    return {each.title: each.groups for each in records if isinstance(each, Document)}


ENTRIES = """@article{a, title = {One}, groups = {Part 2, Reading}}
@article{b, title = {Two}, groups = {Reading}}
@article{c, title = {Three}}
"""
TREE = r"""
@Comment{jabref-meta: databaseType:bibtex;}

@Comment{jabref-meta: grouping:
0 AllEntriesGroup:;
1 StaticGroup:Thesis\;0\;1\;0x8a8a8aff\;\;\;;
2 StaticGroup:Part 1\;0\;1\;\;\;\;;
2 StaticGroup:Part 2\;0\;1\;\;\;\;;
3 KeywordGroup:pears\;0\;keywords\;pears\;0\;0\;1\;\;\;\;;
1 StaticGroup:Reading\;0\;1\;\;\;\;;
}
"""
LEGACY = r"""
@comment{jabref-meta: groupstree:
0 AllEntriesGroup:;
1 ExplicitGroup:Thesis\;0\;b\;;
2 ExplicitGroup:Fruit \\\; nuts\;0\;a\;
c\;;
}
"""


def test_groups_of_jabref_have_the_paths_of_the_tree() -> None:
    paths = {"One": ("Thesis/Part 2", "Reading"), "Two": ("Reading",), "Three": ()}
    assert groups_of("bibtex", ENTRIES + TREE) == paths
    assert groups_of("bibtex", TREE + ENTRIES) == paths


def test_the_tree_of_old_versions_names_entries() -> None:
    found = groups_of("bibtex", ENTRIES.replace("groups", "note") + LEGACY)
    nuts = ("Thesis/Fruit ; nuts",)
    assert found == {"One": nuts, "Two": ("Thesis",), "Three": nuts}


def test_a_name_of_two_groups_and_a_group_without_a_tree_stay_names() -> None:
    double = TREE.replace("Part 1", "Part 2")
    assert groups_of("bibtex", ENTRIES + double)["One"] == ("Part 2", "Reading")
    assert groups_of("bibtex", ENTRIES)["One"] == ("Part 2", "Reading")


@given(st.text(alphabet="01 \n;\\:GroupStaticExplAb{}@", max_size=200))
def test_any_tree_is_read(text: str) -> None:
    for path in parse_groups(f"@comment{{jabref-meta: grouping:\n{text}\n}}").by_key.values():
        assert path


def test_folders_of_mendeley_and_paperpile() -> None:
    mendeley = "@article{a, title = {One}, mendeley-groups = {Thesis/Part 2,Reading}}"
    assert groups_of("bibtex", mendeley) == {"One": ("Thesis/Part 2", "Reading")}
    table = 'Title,Authors,Folders filed in\nOne,"Muster A","Thesis;Reading"\n'
    assert groups_of("csv", table) == {"One": ("Thesis", "Reading")}
    item = {
        "_id": "aaaa-bbbb",
        "citekey": "Muster2010-ab",
        "kind": "Journal Article",
        "title": "One",
        "author": [{"first": "Anna", "last": "Muster"}],
        "published": {"year": "2010", "month": "8"},
        "journal": "J. Fruit",
        "journalfull": "Journal of Fruit",
        "pages": "1-9",
        "doi": "10.1234/fruit.7",
        "labelsNamed": ["apples"],
        "foldersNamed": ["Thesis"],
    }
    (record,) = FORMATS["csl-json"].parse(Chunk(json.dumps([item]).encode(), "x"))
    assert isinstance(record, Document)
    assert (record.authors, record.venue, record.date) == (
        ("Muster, Anna",),
        "Journal of Fruit",
        "2010-08",
    )
    assert (record.keywords, record.groups, record.keys) == (
        ("apples",),
        ("Thesis",),
        ("Muster2010-ab",),
    )
    assert (record.type, record.pages) == ("article", "1–9")


def test_a_catalogue_of_calibre() -> None:
    header = "author_sort,authors,isbn,pubdate,publisher,tags,title"
    row = '"Muster, Anna & Roe, Al",Anna Muster & Al Roe,9783161484100,2010-08-15T00:00:00+00:00'
    context: dict[str, str] = {}
    form = FORMATS["csv"]
    assert form.collect_context is not None
    form.collect_context(f"{header}\n".encode(), context)
    data = f"{row},Fruit Press,apples,On apples\n".encode()
    (record,) = form.parse(Chunk(data, "x", 2, context))
    assert isinstance(record, Document)
    assert record.authors == ("Muster, Anna", "Roe, Al")
    assert (record.date, record.isbn, record.publisher) == (
        "2010-08-15",
        "9783161484100",
        "Fruit Press",
    )


def test_a_book_of_calibre() -> None:
    (record,) = FORMATS["opf"].parse(Chunk(library_samples.OPF, "x"))
    assert record == Document(
        "10.1234/fruit.7", type="book", title="Sorting apples", authors=("Muster, Anna",),
        year=2010, date="2010-08-15", venue="Fruits of the world", publisher="Fruit Press",
        isbn="9783161484100", doi="10.1234/fruit.7", abstract="We sort apples.",
        keywords=("apples", "Trees"), language="eng", line=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("me@x.org@www.mendeley.com.sqlite", "Mendeley.*encrypted.*File, Export"),
        ("library/My EndNote Library.enl", "EndNote.*XML or RIS"),
        ("a.Data/sdb/sdb.eni", "EndNote"),
        ("Calibre Library/metadata.db", "Calibre.*catalogue"),
    ],
)
def test_libraries_that_citebed_cannot_read_say_what_to_export(name: str, what: str) -> None:
    import re

    for head in (b"SQLite format 3\0", b"\x93\x8a\xff\0"):
        assert re.search(what, explain_unreadable(head, name))
