"""Small databases like those of several versions of Zotero, written from its public schema.

The versions differ as Zotero's do: in the numbers of types and fields, which mean nothing, and in
the tables and columns that later versions added.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

VERSIONS = (80, 100, 107, 121, 124, 140)
"""Zotero 5.0 beta, 5.0, 5.0.97, 6, 7, and a later one with the field ``citationKey``."""

_TYPES = (
    "note",
    "attachment",
    "journalArticle",
    "book",
    "bookSection",
    "thesis",
    "case",
    "preprint",
)
_BASES = {
    ("thesis", "university"): "publisher",
    ("bookSection", "bookTitle"): "publicationTitle",
    ("case", "caseName"): "title",
    ("case", "dateDecided"): "date",
}
_FIELDS = (
    *(
        "title",
        "date",
        "DOI",
        "ISBN",
        "ISSN",
        "url",
        "extra",
        "publicationTitle",
        "volume",
        "issue",
    ),
    *("pages", "publisher", "place", "abstractNote", "language", "archiveID", "thesisType"),
    *(name for _, name in _BASES),
)
_ROLES = ("author", "editor", "translator", "contributor", "bookAuthor")

_SCHEMA = """
CREATE TABLE version (schema TEXT PRIMARY KEY, version INT NOT NULL);
CREATE TABLE libraries (libraryID INTEGER PRIMARY KEY, {library_type} TEXT NOT NULL);
CREATE TABLE groups (groupID INTEGER PRIMARY KEY, libraryID INT UNIQUE, name TEXT NOT NULL);
CREATE TABLE itemTypes (itemTypeID INTEGER PRIMARY KEY, typeName TEXT);
CREATE TABLE itemTypesCombined (itemTypeID INT NOT NULL PRIMARY KEY, typeName TEXT NOT NULL);
CREATE TABLE fields (fieldID INTEGER PRIMARY KEY, fieldName TEXT);
CREATE TABLE fieldsCombined (fieldID INT NOT NULL PRIMARY KEY, fieldName TEXT NOT NULL);
CREATE TABLE baseFieldMappings (itemTypeID INT, baseFieldID INT, fieldID INT,
    PRIMARY KEY (itemTypeID, baseFieldID, fieldID));
CREATE TABLE items (itemID INTEGER PRIMARY KEY, itemTypeID INT NOT NULL,
    dateAdded TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, libraryID INT NOT NULL,
    key TEXT NOT NULL, version INT NOT NULL DEFAULT 0, UNIQUE (libraryID, key));
CREATE TABLE itemDataValues (valueID INTEGER PRIMARY KEY, value UNIQUE);
CREATE TABLE itemData (itemID INT, fieldID INT, valueID, PRIMARY KEY (itemID, fieldID));
CREATE TABLE itemNotes (itemID INTEGER PRIMARY KEY, parentItemID INT, note TEXT, title TEXT);
CREATE INDEX itemNotes_parentItemID ON itemNotes(parentItemID);
CREATE TABLE itemAttachments (itemID INTEGER PRIMARY KEY, parentItemID INT, linkMode INT,
    contentType TEXT, charsetID INT, path TEXT);
CREATE INDEX itemAttachments_parentItemID ON itemAttachments(parentItemID);
CREATE TABLE tags (tagID INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE itemTags (itemID INT NOT NULL, tagID INT NOT NULL, type INT NOT NULL,
    PRIMARY KEY (itemID, tagID));
CREATE TABLE creators (creatorID INTEGER PRIMARY KEY, firstName TEXT, lastName TEXT, fieldMode INT,
    UNIQUE (lastName, firstName, fieldMode));
CREATE TABLE creatorTypes (creatorTypeID INTEGER PRIMARY KEY, creatorType TEXT);
CREATE TABLE itemCreators (itemID INT NOT NULL, creatorID INT NOT NULL,
    creatorTypeID INT NOT NULL DEFAULT 1, orderIndex INT NOT NULL DEFAULT 0,
    PRIMARY KEY (itemID, creatorID, creatorTypeID, orderIndex), UNIQUE (itemID, orderIndex));
CREATE TABLE collections (collectionID INTEGER PRIMARY KEY, collectionName TEXT NOT NULL,
    parentCollectionID INT DEFAULT NULL, libraryID INT NOT NULL, key TEXT NOT NULL);
CREATE TABLE collectionItems (collectionID INT NOT NULL, itemID INT NOT NULL,
    orderIndex INT NOT NULL DEFAULT 0, PRIMARY KEY (collectionID, itemID));
CREATE INDEX collectionItems_itemID ON collectionItems(itemID);
CREATE TABLE deletedItems (itemID INTEGER PRIMARY KEY, dateDeleted DEFAULT CURRENT_TIMESTAMP);
CREATE TRIGGER fki_tagsBEFORE BEFORE INSERT ON tags FOR EACH ROW BEGIN
    SELECT RAISE(ABORT, 'Tag cannot be blank') WHERE TRIM(NEW.name) = ''; END;
"""
_LATER = {
    100: "CREATE TABLE feeds (libraryID INTEGER PRIMARY KEY, name TEXT NOT NULL)",
    107: """CREATE TABLE itemAnnotations (itemID INTEGER PRIMARY KEY, parentItemID INT NOT NULL,
        type INTEGER NOT NULL, text TEXT, comment TEXT, sortIndex TEXT NOT NULL);
        CREATE INDEX itemAnnotations_parentItemID ON itemAnnotations(parentItemID)""",
    121: "CREATE TABLE deletedCollections (collectionID INTEGER PRIMARY KEY, dateDeleted TEXT)",
    124: "ALTER TABLE itemAttachments ADD COLUMN lastRead INT",
}


@dataclass(frozen=True)
class Item:
    """An item to put into a database; ``files`` are keys and paths of its PDFs, each with texts and
    comments of annotations."""

    key: str
    type: str = "journalArticle"
    fields: Mapping[str, str] = field(default_factory=dict)
    creators: Sequence[tuple[str, str, str]] = ()
    tags: Sequence[str] = ()
    collections: Sequence[str] = ()
    notes: Sequence[str] = ()
    files: Sequence[tuple[str, str, Sequence[tuple[str | None, str | None]]]] = ()
    library: int = 1
    is_deleted: bool = False


class LibraryWriter:
    """Writes items into a new database of one of Zotero's versions."""

    def __init__(self, path: Path, version: int = 121) -> None:
        self.database = sqlite3.connect(path)
        self.version = version
        library_type = "libraryType" if version < 100 else "type"
        self.database.executescript(_SCHEMA.format(library_type=library_type))
        for since, script in _LATER.items():
            if version >= since:
                self.database.executescript(script)
        rng = random.Random(version)
        types = [*_TYPES, *(["annotation"] if version >= 107 else [])]
        fields = [*_FIELDS, *(["citationKey"] if version >= 140 else [])]
        numbers = rng.sample(range(1, 500), len(types) + len(fields) + len(_ROLES))
        self.types = {name: numbers.pop() for name in types}
        self.fields = {name: numbers.pop() for name in fields}
        self.roles = {name: numbers.pop() for name in _ROLES}
        self._ids = 0
        self._collections: dict[tuple[int, str], int] = {}
        self._add("version", ("userdata", version))
        self._add("libraries", (1, "user"))
        for table, names in (
            ("itemTypes", self.types),
            ("itemTypesCombined", self.types),
            ("fields", self.fields),
            ("fieldsCombined", self.fields),
            ("creatorTypes", self.roles),
        ):
            self._add(table, *((number, name) for name, number in names.items()))
        for (kind, own), base in _BASES.items():
            row = (self.types[kind], self.fields[base], self.fields[own])
            self._add("baseFieldMappings", row)

    def _add(self, table: str, *rows: Sequence[object]) -> None:
        marks = ", ".join("?" * len(rows[0])) if rows else ""
        self.database.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)

    def _new_id(self) -> int:
        self._ids += 1
        return self._ids

    def _value(self, table: str, columns: str, values: tuple[object, ...]) -> int:
        """Return the number of a row in a table of unique values."""
        names = columns.split(", ")
        marks = ", ".join("?" * len(values))
        self.database.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", values)
        where = " AND ".join(f"{name} IS ?" for name in names)
        (number,) = self.database.execute(
            f"SELECT rowid FROM {table} WHERE {where}", values
        ).fetchone()
        return int(number)

    def add_group(self, library: int, name: str) -> None:
        """Add a group library."""
        self._add("libraries", (library, "group"))
        self._add("groups", (library, library, name))

    def add_feed(self, library: int) -> None:
        """Add a feed; its items are not documents."""
        self._add("libraries", (library, "feed"))
        self._add("feeds", (library, "News"))

    def delete_collection(self, path: str) -> None:
        """Put a collection of the user's library into the trash."""
        self._add("deletedCollections", (self._collection(1, path), "2024-01-01"))

    def _collection(self, library: int, path: str) -> int:
        if (library, path) not in self._collections:
            above, _, name = path.rpartition("/")
            parent = self._collection(library, above) if above else None
            number = self._collections[library, path] = len(self._collections) + 1
            self._add("collections", (number, name, parent, library, f"COLL{number:04d}"))
        return self._collections[library, path]

    def _add_item(self, kind: str, key: str, library: int) -> int:
        number = self._new_id()
        self.database.execute(
            "INSERT INTO items (itemID, itemTypeID, libraryID, key) VALUES (?, ?, ?, ?)",
            (number, self.types[kind], library, key),
        )
        return number

    def add(self, items: Iterable[Item]) -> None:
        """Add items with all that belongs to them."""
        for item in items:
            number = self._add_item(item.type, item.key, item.library)
            for name, value in item.fields.items():
                value_id = self._value("itemDataValues", "value", (value,))
                self._add("itemData", (number, self.fields[name], value_id))
            for place, (role, first, last) in enumerate(item.creators):
                mode = 0 if first else 1
                person = self._value(
                    "creators", "firstName, lastName, fieldMode", (first, last, mode)
                )
                self._add("itemCreators", (number, person, self.roles[role], place))
            for tag in item.tags:
                self._add("itemTags", (number, self._value("tags", "name", (tag,)), 0))
            for path in item.collections:
                self._add("collectionItems", (self._collection(item.library, path), number, 0))
            for note in item.notes:
                child = self._add_item("note", f"N{self._ids:07d}", item.library)
                self._add("itemNotes", (child, number, note, ""))
            for key, path, marks in item.files:
                self.add_file(key, path, number, marks, item.library)
            if item.is_deleted:
                self._add("deletedItems", (number, "2024-01-01"))

    def add_file(
        self,
        key: str,
        path: str,
        parent: int | None = None,
        marks: Sequence[tuple[str | None, str | None]] = (),
        library: int = 1,
    ) -> None:
        """Add a PDF of an item or, without ``parent``, of none."""
        number = self._add_item("attachment", key, library)
        mode = 1 if path.startswith("storage:") else 2
        self.database.execute(
            "INSERT INTO itemAttachments (itemID, parentItemID, linkMode, contentType, path)"
            " VALUES (?, ?, ?, 'application/pdf', ?)",
            (number, parent, mode, path),
        )
        for place, (text, comment) in enumerate(marks):
            child = self._add_item("annotation", f"A{self._ids:07d}", library)
            row = (child, number, 1, text, comment, f"{place:05d}|000000|00000")
            self._add("itemAnnotations", row)

    def close(self) -> None:
        """Commit and close."""
        self.database.commit()
        self.database.close()


def write_library(path: Path, items: Iterable[Item], version: int = 121) -> Path:
    """Write a database of one library; return its path."""
    with closing(LibraryWriter(path, version)) as writer:
        writer.add(items)
    return path
