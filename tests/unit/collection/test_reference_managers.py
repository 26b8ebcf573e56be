"""Zotero's libraries: what citebed reads from the database and the local API, and what it leaves."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from citebed.collection import ImportOptions, import_sources, open_collection
from citebed.collection.building.import_report import ImportReport
from citebed.collection.formats import FORMATS
from citebed.collection.formats.base import Chunk
from citebed.collection.reading import reference_managers
from citebed.errors import CitebedError
from citebed.files import database_copies
from citebed.files.database_copies import open_copy
from citebed.records import Document
from tests.pdfs import set_paper
from tests.zotero_databases import VERSIONS, Item, LibraryWriter, write_library

APPLES = Item(
    "APPL2345",
    fields={
        "title": "Sorting <i>apples</i> by colour",
        "date": "2010-08-00 August 2010",
        "DOI": "https://doi.org/10.1234/FRUIT.7",
        "publicationTitle": "Journal of Fruit",
        "volume": "12",
        "issue": "3",
        "pages": "181-184",
        "ISSN": "1234-5678",
        "url": "https://example.org/apples",
        "language": "en",
        "abstractNote": "We sort apples.",
        "extra": "PMID: 12\nCitation Key: muster2010apples\narXiv:1006.01234 [fruit]",
    },
    creators=[
        ("author", "Anna", "Muster"),
        ("author", "", "Fruit Consortium"),
        ("editor", "Clara", "Leiter"),
        ("translator", "Tom", "Wort"),
    ],
    tags=["apples", "sorting"],
    collections=["Thesis/Chapter 2", "Reading"],
    notes=["<p>Read <b>again</b> &amp; cite.</p>"],
)
THESIS = Item(
    "THES2345",
    "thesis",
    {
        "title": "On pears",
        "date": "1999-00-00 1999",
        "university": "University of Pears",
        "place": "Pirna",
        "thesisType": "Master's thesis",
    },
    creators=[("author", "Bert", "Beispiel")],
)
CHAPTER = Item(
    "CHAP2345",
    "bookSection",
    {
        "title": "Plums",
        "bookTitle": "Handbook of fruit",
        "extra": "DOI: 10.1234/plums",
        "date": "n.d.",
    },
    creators=[("bookAuthor", "Eva", "Buch"), ("author", "Paul", "Pflaum")],
)
CASE = Item("CASE2345", "case", {"caseName": "Apple v. Pear", "dateDecided": "2001-02-03 3.2.2001"})


def documents(folder: Path) -> dict[str, dict[str, Any]]:
    """The documents of a collection by title."""
    return {row["title"]: row for row in open_collection(folder).documents.to_dicts()}


def sections(folder: Path) -> list[tuple[str, str]]:
    rows = open_collection(folder).sections.select("heading", "text").rows()
    return [(str(heading), str(text)) for heading, text in rows]


def imported(folder: Path, *paths: Path | str, **options: Any) -> ImportReport:
    return import_sources(folder / "c", paths, ImportOptions(**options))


@pytest.fixture
def zotero(tmp_path: Path) -> Path:
    """Zotero's folder."""
    (tmp_path / "Zotero" / "storage").mkdir(parents=True)
    return tmp_path / "Zotero"


# --- Items ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_items_of_every_version(zotero: Path, version: int) -> None:
    write_library(zotero / "zotero.sqlite", [APPLES, THESIS, CHAPTER, CASE], version)
    imported(zotero.parent, zotero)
    rows = documents(zotero.parent / "c")
    assert len(rows) == 4
    apples = rows["Sorting apples by colour"]
    wanted = {
        "type": "article",
        "authors": ["Muster, Anna", "Fruit Consortium"],
        "editors": ["Leiter, Clara"],
        "year": 2010,
        "date": "2010-08",
        "venue": "Journal of Fruit",
        "volume": "12",
        "number": "3",
        "pages": "181–184",
        "doi": "10.1234/fruit.7",
        "arxiv": "1006.01234",
        "url": "https://example.org/apples",
        "abstract": "We sort apples.",
        "keywords": ["apples", "sorting"],
        "language": "en",
        "isbn": "1234-5678",
        "keys": ["muster2010apples"],
        "cite_key": "muster2010apples",
        "groups": ["Thesis/Chapter 2", "Reading"],
        "source": "Zotero/zotero.sqlite",
    }
    assert {name: apples[name] for name in wanted} == wanted
    assert sections(zotero.parent / "c") == [("Note", "Read again & cite.")]
    thesis, chapter, case = (rows[name] for name in ("On pears", "Plums", "Apple v. Pear"))
    assert (thesis["type"], thesis["publisher"]) == ("mastersthesis", "University of Pears")
    assert (thesis["date"], thesis["place"]) == ("1999", "Pirna")
    assert (chapter["venue"], chapter["doi"]) == ("Handbook of fruit", "10.1234/plums")
    assert (chapter["authors"], chapter["date"]) == (["Pflaum, Paul"], None)
    assert case["date"] == "2001-02-03"


def test_keys_of_better_bibtex_and_of_zotero(zotero: Path) -> None:
    plain = Item("AAAA2345", fields={"title": "One"})
    own = Item("BBBB2345", fields={"title": "Two", "citationKey": "two2020"})
    write_library(zotero / "zotero.sqlite", [plain, own], 140)
    with closing(sqlite3.connect(zotero / "better-bibtex.sqlite")) as database, database:
        database.execute(
            "CREATE TABLE citationkey (itemID NOT NULL PRIMARY KEY, itemKey NOT NULL,"
            " libraryID NOT NULL, citationKey NOT NULL, pinned)"
        )
        rows = [(1, "AAAA2345", 1, "one2020", 0), (9, "AAAA2345", 2, "wrong", 0)]
        database.executemany("INSERT INTO citationkey VALUES (?, ?, ?, ?, ?)", rows)
    imported(zotero.parent, zotero)
    rows_by_title = documents(zotero.parent / "c")
    assert {row["cite_key"] for row in rows_by_title.values()} == {"one2020", "two2020"}


def test_groups_feeds_and_the_trash(zotero: Path) -> None:
    with closing(LibraryWriter(zotero / "zotero.sqlite")) as writer:
        writer.add_group(2, "Orchard")
        writer.add_feed(3)
        writer.add(
            [
                Item("AAAA2345", fields={"title": "Mine"}, collections=["Old", "New"]),
                Item("BBBB2345", fields={"title": "Ours"}, collections=["Shared/2024"], library=2),
                Item("CCCC2345", fields={"title": "Ours, alone"}, library=2),
                Item("DDDD2345", fields={"title": "News"}, library=3),
                Item("EEEE2345", fields={"title": "Gone"}, notes=["gone"], is_deleted=True),
            ]
        )
        writer.delete_collection("Old")
    imported(zotero.parent, zotero)
    groups = {title: row["groups"] for title, row in documents(zotero.parent / "c").items()}
    assert groups == {"Mine": ["New"], "Ours": ["Orchard/Shared/2024"], "Ours, alone": ["Orchard"]}


def test_the_real_library_equals_its_own_export(tmp_path: Path, shared_data: Path) -> None:
    folder = shared_data / "zotero"
    import_sources(tmp_path / "c", [folder / "zotero.sqlite"])
    exported = (folder / "zotero-library.bib").read_bytes()
    records = FORMATS["bibtex"].parse(Chunk(exported, "x"))
    wanted = [record for record in records if isinstance(record, Document)]
    rows = {row["doi"]: row for row in open_collection(tmp_path / "c").documents.to_dicts()}
    assert len(rows) == len(wanted) == 5
    for record in wanted:
        row = rows[record.doc_id] if record.doc_id in rows else rows[str(record.doi)]
        for name in ("type", "title", "year", "date", "volume", "number", "pages", "url", "isbn"):
            assert row[name] == getattr(record, name), (record.doc_id, name)
        assert row["authors"] == list(record.authors)


def test_an_item_twice_in_a_library_is_one_document(zotero: Path) -> None:
    fields = {"title": "Apples and their colours in autumn", "date": "2010-00-00 2010"}
    creators = [("author", "Anna", "Muster")]
    items = [Item(f"AAAA000{n}", fields=fields, creators=creators, tags=[str(n)]) for n in (1, 2)]
    write_library(zotero / "zotero.sqlite", items)
    assert imported(zotero.parent, zotero).documents == 1


# --- Later imports ----------------------------------------------------------------------------


def test_an_unchanged_library_is_not_read_again_and_a_removed_item_disappears(zotero: Path) -> None:
    path = write_library(zotero / "zotero.sqlite", [APPLES, THESIS])
    assert imported(zotero.parent, zotero).unchanged == 0
    with closing(sqlite3.connect(path)) as database, database:  # what Zotero writes all the time
        database.execute("INSERT INTO version VALUES ('styles', 5)")
    assert imported(zotero.parent, zotero).unchanged == 1
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO deletedItems SELECT itemID, 0 FROM items WHERE key = 'THES2345'"
        )
    report = imported(zotero.parent, path)
    assert (report.unchanged, report.documents) == (0, 1)


def test_a_library_can_be_forgotten_by_its_folder(zotero: Path) -> None:
    from citebed.collection.importing import forget_sources

    (zotero.parent / "other.bib").write_text("@misc{one, title = {On Zebras}}")
    write_library(zotero / "zotero.sqlite", [APPLES])
    imported(zotero.parent, zotero, zotero.parent / "other.bib")
    assert forget_sources(zotero.parent / "c", [zotero]).documents == 1


# --- Attached files ---------------------------------------------------------------------------


def store_pdf(folder: Path, key: str, name: str = "paper.pdf", data: bytes | None = None) -> Path:
    path = folder / "storage" / key / name
    path.parent.mkdir(parents=True)
    path.write_bytes(set_paper() if data is None else data)
    return path


WITH_PDF = Item(
    "ELMS2345",
    fields={"title": "The title in Zotero", "date": "2015-00-00 2015"},
    creators=[("author", "Lena", "Lehrer")],
    files=[("PDFS2345", "storage:paper.pdf", [("growth of elms", "check"), (None, "a comment")])],
)


def test_an_attached_pdf_gives_text_to_its_item(zotero: Path) -> None:
    pdf = store_pdf(zotero, "PDFS2345")
    store_pdf(zotero, "ORPH2345", "orphan.pdf")
    write_library(zotero / "zotero.sqlite", [WITH_PDF, Item("NOPE2345", fields={"title": "Other"})])
    report = imported(zotero.parent, zotero)
    rows = documents(zotero.parent / "c")
    assert set(rows) == {"The title in Zotero", "Other"}
    assert rows["The title in Zotero"]["records"] == 2
    assert rows["The title in Zotero"]["authors"] == ["Lehrer, Lena"]
    assert report.papers == 1
    found = sections(zotero.parent / "c")
    notes = [("Annotation", "growth of elms – check"), ("Annotation", "a comment")]
    assert found[-2:] == notes
    assert len(found) > 3
    again = imported(zotero.parent, zotero)
    assert (again.unchanged, again.files) == (2, 2)
    with closing(sqlite3.connect(zotero / "zotero.sqlite")) as database, database:
        database.execute(
            "INSERT INTO deletedItems SELECT itemID, 0 FROM items WHERE key = 'ELMS2345'"
        )
    gone = imported(zotero.parent, zotero)
    assert (gone.documents, gone.papers, gone.missing) == (1, 0, [])
    assert pdf.exists()


def test_the_database_alone_gives_no_pdfs(zotero: Path) -> None:
    store_pdf(zotero, "PDFS2345")
    write_library(zotero / "zotero.sqlite", [WITH_PDF])
    assert imported(zotero.parent, zotero / "zotero.sqlite").files == 1


def test_the_pdf_of_an_item_without_authors_belongs_to_it(zotero: Path) -> None:
    item = Item("ELMS2345", fields={"title": "A report"}, files=[("PDFS2345", "storage:p.pdf", [])])
    store_pdf(zotero, "PDFS2345", "p.pdf")
    write_library(zotero / "zotero.sqlite", [item])
    assert imported(zotero.parent, zotero).documents == 1


def test_a_database_leads_to_no_other_file(zotero: Path) -> None:
    secret = zotero.parent / "secret.pdf"
    secret.write_bytes(set_paper())
    (zotero / "storage" / "LINK2345").mkdir()
    (zotero / "storage" / "LINK2345" / "a.pdf").symlink_to(secret)
    (zotero / "storage" / "DIRS2345").symlink_to(zotero.parent)
    paths = [
        ("AAAA2345", "storage:../../../secret.pdf"),
        ("..", "storage:secret.pdf"),
        ("LINK2345", "storage:a.pdf"),
        ("DIRS2345", "storage:secret.pdf"),
        ("BBBB2345", str(secret)),
        ("CCCC2345", "attachments:../secret.pdf"),
        ("DDDD2345", "storage:a\0b.pdf"),
        ("EEEE2345", "storage:"),
    ]
    item = Item("ELMS2345", fields={"title": "Elms"}, files=[(*path, []) for path in paths])
    write_library(zotero / "zotero.sqlite", [item])
    report = imported(zotero.parent, zotero)
    assert (report.files, report.documents, sections(zotero.parent / "c")) == (1, 1, [])
    assert [what.partition(":")[0] for what in report.problems["what"]] == [
        "8 attached PDFs not read"
    ]


def test_linked_files_are_read_if_their_folder_is_named(zotero: Path) -> None:
    papers = zotero.parent / "papers"
    (papers / "sub").mkdir(parents=True)
    (papers / "absolute.pdf").write_bytes(set_paper())
    (papers / "sub" / "relative.pdf").write_bytes(set_paper(sections=2))
    files = [
        ("AAAA2345", str(papers / "absolute.pdf"), []),
        ("BBBB2345", "attachments:sub/relative.pdf", []),
    ]
    items = [
        Item(f"ITEM000{n}", fields={"title": f"Item {n}"}, files=[file])
        for n, file in enumerate(files)
    ]
    write_library(zotero / "zotero.sqlite", items)
    report = imported(zotero.parent, zotero, papers)
    assert set(documents(zotero.parent / "c")) == {"Item 0", "Item 1"}
    assert report.files == 3
