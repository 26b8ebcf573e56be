"""Zotero's libraries: what citebed reads from the database and the local API, and what not."""

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
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.library_samples import OPF
from tests.pdfs import set_paper
from tests.zotero_databases import VERSIONS, Item, LibraryWriter, write_library

from citebed.collection import ImportOptions, import_sources, open_collection
from citebed.collection.building.import_report import ImportReport
from citebed.collection.formats import FORMATS
from citebed.collection.formats.base import Chunk
from citebed.collection.reading import reference_managers
from citebed.errors import CitebedError
from citebed.files import database_copies
from citebed.files.database_copies import open_copy
from citebed.records import Document

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


def test_other_files_beside_the_database_are_read(zotero: Path) -> None:
    write_library(zotero / "zotero.sqlite", [THESIS])
    write_library(zotero / "zotero.sqlite.bak", [THESIS, CHAPTER])
    for name in ("styles/apa.bib", "translators/x.bib", "mine/own.bib", "mine.bib"):
        (zotero / name).parent.mkdir(exist_ok=True)
        (zotero / name).write_text(f"@misc{{a, title = {{In {name}}}}}")
    imported(zotero.parent, zotero)
    assert set(documents(zotero.parent / "c")) == {"On pears", "In mine.bib", "In mine/own.bib"}


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


def test_a_storage_folder_behind_a_link_is_read_if_it_is_named(zotero: Path) -> None:
    (zotero / "storage").rmdir()
    elsewhere = zotero.parent / "disk"
    store_pdf(elsewhere, "PDFS2345")
    (zotero / "storage").symlink_to(elsewhere / "storage")
    write_library(zotero / "zotero.sqlite", [WITH_PDF])
    assert imported(zotero.parent, zotero).files == 1
    report = imported(zotero.parent, zotero, elsewhere)
    assert (report.files, report.documents, report.papers) == (2, 1, 1)


def test_linked_files_are_read_if_their_folder_is_named(zotero: Path) -> None:
    papers = zotero.parent / "papers"
    (papers / "sub").mkdir(parents=True)
    (papers / "absolute.pdf").write_bytes(set_paper())
    (papers / "sub" / "relative.pdf").write_bytes(set_paper(sections=2))
    files: list[tuple[str, str, list[Any]]] = [
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


# --- While Zotero runs ------------------------------------------------------------------------

WRITER = textwrap.dedent(
    """
    import itertools, sqlite3, sys, time
    database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
    journal, locking, pause = sys.argv[2:]
    database.execute(f"PRAGMA locking_mode={locking}")
    database.execute(f"PRAGMA journal_mode={journal}")
    database.execute("PRAGMA wal_autocheckpoint=900")  # about three transactions
    for number in itertools.count(1):
        database.execute("BEGIN IMMEDIATE")
        database.execute(  # one transaction changes all titles, on hundreds of pages
            "UPDATE itemDataValues SET value = 'State ' || ? || substr(value, instr(value, ' of'))",
            (number,),
        )
        database.execute("COMMIT")
        if number == 3:
            print("ready", flush=True)
        time.sleep(float(pause))
    """
)
"""A program that changes the titles of all items together, over and over."""
MODES = [
    (journal, locking)
    for journal in ("DELETE", "PERSIST", "WAL")
    for locking in ("NORMAL", "EXCLUSIVE")
]


@contextmanager
def running_writer(path: Path, journal: str, locking: str, pause: float) -> Iterator[None]:
    command = [sys.executable, "-c", WRITER, str(path), journal, locking, str(pause)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            yield
            assert process.poll() is None, "the writer must not be disturbed"
        finally:
            process.kill()


def busy_library(path: Path) -> Path:
    words = "apples " * 400  # as long as it takes to see states in between
    fields = ({"title": f"State 0 of {number} {words}"} for number in range(200))
    items = [Item(f"ITEM{n:04d}", fields=each) for n, each in enumerate(fields)]
    return write_library(path, items)


def read_titles(path: Path, folder: Path) -> list[str]:
    with open_copy(path, folder) as database:
        items = list(reference_managers._zotero_items(database, {}))
    return [str(item["title"]) for item in items if "title" in item]


@pytest.mark.parametrize(("journal", "locking"), MODES)
def test_fifty_reads_while_another_program_writes(zotero: Path, journal: str, locking: str) -> None:
    """Each copy has the state after a complete transaction. The other program pauses between
    transactions, as Zotero does: only then can a database with a rollback journal be copied."""
    path = busy_library(zotero / "zotero.sqlite")
    pause = 0.03 if (journal, locking) in (("DELETE", "EXCLUSIVE"), ("PERSIST", "EXCLUSIVE")) else 0
    with running_writer(path, journal, locking, pause):
        for _ in range(50):
            titles = read_titles(path, zotero.parent / "copy")
            assert len(titles) == 200
            assert len({title.split()[1] for title in titles}) == 1


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_an_import_while_zotero_locks_and_writes(zotero: Path, journal: str) -> None:
    path = busy_library(zotero / "zotero.sqlite")
    with running_writer(path, journal, "EXCLUSIVE", 0.02):
        with closing(sqlite3.connect(path, timeout=0)) as other, pytest.raises(sqlite3.Error):
            other.execute("SELECT * FROM items").fetchall()  # it is locked
        for _ in range(3):
            assert imported(zotero.parent, zotero).documents == 200
            states = {title.split()[1] for title in documents(zotero.parent / "c")}
            assert len(states) == 1


def test_what_is_only_in_the_log_is_read(zotero: Path) -> None:
    path = busy_library(zotero / "zotero.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA locking_mode=EXCLUSIVE")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA wal_autocheckpoint=0")
        database.execute("UPDATE itemDataValues SET value = 'State 7 of ' || valueID")
        assert {title.split()[1] for title in read_titles(path, zotero.parent / "copy")} == {"7"}


def test_a_killed_program_left_half_a_transaction(zotero: Path) -> None:
    path = busy_library(zotero / "zotero.sqlite")
    script = textwrap.dedent(
        """
        import os, sqlite3, sys
        database = sqlite3.connect(sys.argv[1], isolation_level=None)
        database.execute("PRAGMA cache_size=1")
        database.execute("PRAGMA cache_spill=1")
        database.execute("BEGIN")
        database.execute("UPDATE itemDataValues SET value = value || hex(randomblob(3000))")
        database.execute("UPDATE items SET key = key || hex(randomblob(3000))")
        os._exit(0)
        """
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    assert (zotero / "zotero.sqlite-journal").stat().st_size > 512
    before = snapshot(zotero)
    titles = read_titles(path, zotero.parent / "copy")
    assert [title.split()[:4] for title in titles] == [
        ["State", "0", "of", str(number)] for number in range(200)
    ]
    assert snapshot(zotero) == before


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Names, contents and times of everything in a folder."""
    return {
        str(path): (
            path.stat().st_mtime_ns,
            path.stat().st_mode,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted([folder, *folder.rglob("*")])
    }


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_nothing_is_written_to_zoteros_folder(zotero: Path, journal: str) -> None:
    store_pdf(zotero, "PDFS2345")
    path = write_library(zotero / "zotero.sqlite", [WITH_PDF, APPLES])
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode={journal}")
    before = snapshot(zotero)
    imported(zotero.parent, zotero)
    assert snapshot(zotero) == before
    for folder in (zotero, *filter(Path.is_dir, zotero.rglob("*"))):
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    path.chmod(stat.S_IRUSR)
    before = snapshot(zotero)
    import_sources(zotero.parent / "d", [zotero])
    assert len(documents(zotero.parent / "d")) == 2
    assert snapshot(zotero) == before
    assert not [*(zotero.parent / "d").rglob("*.jsonl")]


def test_a_database_that_never_rests_is_an_error(
    zotero: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_library(zotero / "zotero.sqlite")
    monkeypatch.setattr(database_copies, "_are_same", lambda *_: False)
    monkeypatch.setattr(database_copies, "_copy_with_lock", lambda *_: False)
    monkeypatch.setattr(database_copies, "_PATIENCE", 0.0)
    with pytest.raises(CitebedError, match=r"keeps writing .*zotero\.sqlite"):
        imported(zotero.parent, zotero)


# --- Damaged and hostile databases ------------------------------------------------------------


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes of a database with a few changes of one kind."""
    kind = rng.choice(("flip", "cut", "zero", "swap", "grow"))
    at = rng.randrange(len(data))
    if kind == "cut":
        return data[:at]
    if kind == "grow":
        return data + rng.randbytes(rng.randrange(9000))
    changed = bytearray(data)
    if kind == "flip":
        for _ in range(rng.choice((1, 10, 200))):
            changed[rng.randrange(16, len(data))] = rng.randrange(256)
    elif kind == "zero":
        changed[at : at + 512] = bytes(len(changed[at : at + 512]))
    else:
        page, other = (4096 * rng.randrange(1, len(data) // 4096) for _ in range(2))
        changed[page : page + 4096], changed[other : other + 4096] = (
            changed[other : other + 4096],
            changed[page : page + 4096],
        )
    return bytes(changed)


def test_damaged_databases_give_an_error_or_items(zotero: Path) -> None:
    whole = write_library(zotero / "zotero.sqlite", [APPLES, THESIS, CHAPTER, CASE, WITH_PDF])
    data, rng, outcomes = whole.read_bytes(), random.Random(5), Counter[str]()
    for _ in range(300):
        whole.write_bytes(damaged(data, rng))
        try:
            read_titles(whole, zotero.parent / "copy")
        except CitebedError as error:
            outcomes["error" if "zotero.sqlite" in str(error) else "other"] += 1
        else:
            outcomes["items"] += 1
        assert not (zotero.parent / "copy").exists()
    assert set(outcomes) == {"items", "error"}
    assert min(outcomes.values()) > 20, outcomes


def test_a_damaged_database_leaves_the_collection_as_it_was(zotero: Path) -> None:
    path = write_library(zotero / "zotero.sqlite", [APPLES, THESIS])
    imported(zotero.parent, zotero)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(CitebedError, match=r"zotero.sqlite is damaged.*zotero\.sqlite\.bak"):
        imported(zotero.parent, zotero)
    assert len(documents(zotero.parent / "c")) == 2


HOSTILE = {
    "a view": "ALTER TABLE tags RENAME TO x; CREATE VIEW tags AS SELECT tagID, name FROM x",
    "a computed column": "ALTER TABLE tags ADD COLUMN more AS (hex(zeroblob(100000000)))",
    "a virtual table": "DROP TABLE tags; CREATE VIRTUAL TABLE tags USING fts5(tagID, name)",
    "no such table": "DROP TABLE itemCreators",
    "no such column": "ALTER TABLE itemAttachments RENAME COLUMN parentItemID TO sourceItemID",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_tables_of_another_kind_are_refused(zotero: Path, kind: str) -> None:
    path = write_library(zotero / "zotero.sqlite", [APPLES])
    with closing(sqlite3.connect(path)) as database:
        database.executescript(HOSTILE[kind])
    with pytest.raises(CitebedError, match=r"zotero.sqlite (has no plain table|is damaged)"):
        imported(zotero.parent, zotero)


def test_statistics_that_compute_are_refused_quickly(zotero: Path) -> None:
    path = write_library(zotero / "zotero.sqlite", [APPLES])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("ANALYZE")
        database.execute("PRAGMA writable_schema=ON")
        database.execute(
            "UPDATE sqlite_schema SET sql = 'CREATE TABLE sqlite_stat1(tbl, idx, stat AS "
            "(hex(zeroblob(400000000))))' WHERE name = 'sqlite_stat1'"
        )
    with suppress(CitebedError):  # it depends on the version of SQLite
        assert read_titles(path, zotero.parent / "copy") == ["Sorting <i>apples</i> by colour"]


def test_a_journal_that_names_another_file_deletes_nothing(
    zotero: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.hot_journals import forge_journal

    path = write_library(zotero / "zotero.sqlite", [APPLES])
    victim = zotero.parent / "victim"
    victim.write_text("precious")
    forge_journal(path, victim)
    monkeypatch.setattr(database_copies, "_PATIENCE", 0.0)
    with pytest.raises(CitebedError, match="keeps writing"):
        imported(zotero.parent, zotero)
    assert victim.read_text() == "precious"


def test_a_pipe_beside_the_database_is_an_error(zotero: Path) -> None:
    write_library(zotero / "zotero.sqlite", [APPLES])
    os.mkfifo(zotero / "zotero.sqlite-journal")
    with pytest.raises(CitebedError, match=r"zotero\.sqlite-journal is not a plain file"):
        imported(zotero.parent, zotero)


def test_a_database_of_another_program_is_ignored_with_advice(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "metadata.db")) as database, database:
        database.execute("CREATE TABLE books (id INTEGER)")
    (tmp_path / "one.bib").write_text("@misc{one, title = {On Zebras}}")
    report = imported(tmp_path, tmp_path / "metadata.db", tmp_path / "one.bib")
    assert report.problems["what"].str.contains("Calibre").to_list() == [True]


# --- Calibre ----------------------------------------------------------------------------------

# The tables of Calibre 7 that have the records, without indexes and triggers
CALIBRE = """
CREATE TABLE books (id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL DEFAULT 'Unknown' COLLATE NOCASE, sort TEXT COLLATE NOCASE,
    pubdate TIMESTAMP DEFAULT CURRENT_TIMESTAMP, series_index REAL NOT NULL DEFAULT 1.0,
    author_sort TEXT COLLATE NOCASE, path TEXT NOT NULL DEFAULT "", uuid TEXT);
CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT NOT NULL, sort TEXT COLLATE NOCASE);
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE);
CREATE TABLE publishers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, sort TEXT COLLATE NOCASE);
CREATE TABLE series (id INTEGER PRIMARY KEY, name TEXT NOT NULL, sort TEXT COLLATE NOCASE);
CREATE TABLE comments (id INTEGER PRIMARY KEY, book INTEGER NOT NULL, text TEXT NOT NULL);
CREATE TABLE identifiers (id INTEGER PRIMARY KEY, book INTEGER NOT NULL,
    type TEXT NOT NULL DEFAULT "isbn" COLLATE NOCASE, val TEXT NOT NULL COLLATE NOCASE);
CREATE TABLE data (id INTEGER PRIMARY KEY, book INTEGER NOT NULL,
    format TEXT NOT NULL COLLATE NOCASE, uncompressed_size INTEGER NOT NULL, name TEXT NOT NULL);
CREATE TABLE books_authors_link (id INTEGER PRIMARY KEY, book INTEGER NOT NULL, author INTEGER);
CREATE TABLE books_tags_link (id INTEGER PRIMARY KEY, book INTEGER NOT NULL, tag INTEGER);
CREATE TABLE books_publishers_link (id INTEGER PRIMARY KEY, book INTEGER, publisher INTEGER);
CREATE TABLE books_series_link (id INTEGER PRIMARY KEY, book INTEGER, series INTEGER);
INSERT INTO books (title, pubdate, path) VALUES
    ('On apples', '2010-08-15 00:00:00+00:00', 'Anna Muster/On apples (1)'),
    ('Undated', '0101-01-01 00:00:00+00:00', 'Plato/Undated (2)');
INSERT INTO authors VALUES (1, 'Al Roe', 'Roe, Al'), (2, 'Anna Muster', 'Muster, Anna'),
    (3, 'Plato', 'Plato');
INSERT INTO books_authors_link VALUES (1, 1, 2), (2, 1, 1), (3, 2, 3);
INSERT INTO tags VALUES (1, 'fruit'), (2, 'Trees');
INSERT INTO books_tags_link VALUES (1, 1, 1), (2, 1, 2);
INSERT INTO publishers VALUES (1, 'Fruit Press', ''); INSERT INTO series VALUES (1, 'Fruits', '');
INSERT INTO books_publishers_link VALUES (1, 1, 1); INSERT INTO books_series_link VALUES (1, 1, 1);
INSERT INTO comments VALUES (1, 1, '<div><p>About <b>apples</b> &amp; pears.</p></div>');
INSERT INTO identifiers VALUES (1, 1, 'isbn', '9783161484100'), (2, 1, 'doi', '10.1234/fruit.7');
INSERT INTO data VALUES (1, 1, 'PDF', 9, 'On apples - Anna Muster'), (2, 1, 'EPUB', 9, 'On apples');
"""


def test_a_library_of_calibre_gives_books_and_their_pdfs(tmp_path: Path) -> None:
    books = tmp_path / "Calibre" / "Anna Muster" / "On apples (1)"
    books.mkdir(parents=True)
    with closing(sqlite3.connect(tmp_path / "Calibre" / "metadata.db")) as database, database:
        database.executescript(CALIBRE)
    (books / "On apples - Anna Muster.pdf").write_bytes(set_paper())
    (books / "metadata.opf").write_bytes(OPF)  # Calibre's copy of the record, here an old one
    report = imported(tmp_path, tmp_path / "Calibre")
    assert report.problems.filter(kind="skipped").height == 0
    found = documents(tmp_path / "c")
    assert sorted(found) == ["On apples", "Undated"]
    apples, undated = found["On apples"], found["Undated"]
    assert (apples["authors"], apples["date"], apples["publisher"], apples["venue"]) == (
        ["Muster, Anna", "Roe, Al"], "2010-08-15", "Fruit Press", "Fruits",
    )  # fmt: skip
    assert (apples["doi"], apples["isbn"], apples["abstract"], apples["keywords"]) == (
        "10.1234/fruit.7", "9783161484100", "About apples & pears.", ["fruit", "Trees"],
    )  # fmt: skip
    assert apples["records"] == 2  # with its PDF, which has another title
    assert (undated["authors"], undated["date"], undated["year"]) == (["Plato"], None, None)


# --- The local API ----------------------------------------------------------------------------

API_ITEMS: list[dict[str, Any]] = [
    {
        "key": f"ITEM{n:04d}",
        "data": {
            "key": f"ITEM{n:04d}",
            "itemType": "journalArticle",
            "title": f"Paper {n}",
            "creators": [{"creatorType": "author", "firstName": "Anna", "lastName": f"Nr{n}"}],
            "tags": [{"tag": "apples", "type": 1}],
            "collections": ["COLL0002"] if n == 0 else [],
            "date": "2010-08",
            "citationKey": f"nr{n}",
        },
    }
    for n in range(230)
] + [
    {"key": "NOTE0001", "data": {"key": "NOTE0001", "itemType": "note", "parentItem": "ITEM0000",
                                 "note": "<p>Mine</p>"}},
    {"key": "FILE0001", "data": {"key": "FILE0001", "itemType": "attachment",
                                 "parentItem": "ITEM0000"}},
    {"key": "MARK0001", "data": {"key": "MARK0001", "itemType": "annotation",
                                 "parentItem": "FILE0001", "annotationText": "marked",
                                 "annotationComment": "why"}},
]  # fmt: skip
API = {
    "/api/users/0/items": API_ITEMS,
    "/api/users/0/collections": [
        {"key": "COLL0001", "data": {"name": "Thesis", "parentCollection": False}},
        {"key": "COLL0002", "data": {"name": "Part", "parentCollection": "COLL0001"}},
    ],
    "/api/users/0/groups": [{"id": 7, "data": {"name": "Orchard"}}],
    "/api/groups/7/items": [
        {"key": "GRUP0001", "data": {"key": "GRUP0001", "itemType": "book", "title": "Ours"}}
    ],
    "/api/groups/7/collections": [],
}


@contextmanager
def serving(answers: dict[str, Any], status: int = 200, change_at: int = -1) -> Iterator[str]:
    """A server that answers as Zotero's local API does, 100 objects at a time at most."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
            whole = answers.get(path)
            start, limit = int(query.get("start", ["0"])[0]), int(query["limit"][0])
            page = whole[start : start + min(limit, 100)] if isinstance(whole, list) else whole
            self.send_response(status if whole is not None else 404)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/")
            if isinstance(whole, list):
                self.send_header("Total-Results", str(len(whole)))
                version = 5 + (0 <= change_at <= start)
                self.send_header("Last-Modified-Version", str(version))
            self.end_headers()
            self.wfile.write(json.dumps(page).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}/api"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("offline", ["", "1"])
def test_the_local_api_gives_what_the_database_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: str
) -> None:
    monkeypatch.setenv("CITEBED_OFFLINE", offline)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with serving(API) as address:
        imported(tmp_path, Path(address))
        assert imported(tmp_path, f"{address}/").unchanged == 1
    rows = documents(tmp_path / "c")
    assert len(rows) == 231
    first = rows["Paper 0"]
    assert (first["cite_key"], first["groups"]) == ("nr0", ["Thesis/Part"])
    assert (first["authors"], first["keywords"]) == (["Nr0, Anna"], ["apples"])
    assert (first["source"], rows["Ours"]["groups"]) == ("zotero-api", ["Orchard"])
    assert sections(tmp_path / "c") == [("Note", "Mine"), ("Annotation", "marked – why")]
    report = imported(tmp_path, prune=True)
    assert (report.documents, report.elsewhere) == (231, ["zotero-api"])


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        (API, {"status": 403}, "Allow other applications"),
        (API, {"status": 302}, "302"),
        ({}, {}, "404"),
        ({**API, "/api/users/0/items": {"not": "a list"}}, {}, "Start Zotero 7 or later"),
        ({**API, "/api/users/0/items": [{"key": "A", "data": 3}]}, {}, "Start Zotero 7 or later"),
        (API, {"change_at": 100}, "changed while citebed read it"),
    ],
)
def test_answers_that_are_not_a_library(
    tmp_path: Path, answers: dict[str, Any], options: dict[str, int], message: str
) -> None:
    with serving(answers, **options) as address, pytest.raises(CitebedError, match=message):
        imported(tmp_path, address)
    assert not (tmp_path / "c").exists()


def test_an_api_that_does_not_run_or_is_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match=r"127\.0\.0\.1:1/api.*import its folder"):
        imported(tmp_path, "http://127.0.0.1:1/api")
    for address in ("http://example.org:23119/api", "http://127.0.0.1.example.org/api"):
        with pytest.raises(CitebedError, match="no such file or folder"):
            imported(tmp_path, address)
    assert reference_managers.parse_api_address("zotero:") == "http://127.0.0.1:23119/api"
