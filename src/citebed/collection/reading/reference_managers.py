"""Read the libraries of Zotero (its database and its local API) and of Calibre (its database).

A library becomes a file of JSON lines in the form of Zotero's API, which the format `zotero-json`
reads. Each item also has its ``groups`` (paths of collections), ``notes`` and ``annotations``.

Each attached PDF is a source of its own, so that an import reads only new and changed ones. It has
title, authors and identifiers from its item. A database cannot lead citebed to other files: citebed
reads ``storage/KEY/NAME`` beside it, and a linked file only if the user names a folder that has it.
"""

from __future__ import annotations

import json
import os
import re
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from citebed.collection.formats.zotero import book_item
from citebed.collection.reading.sources import SourceFile, SourceNames, translate_os_errors
from citebed.errors import CitebedError
from citebed.files.database_copies import DatabaseCopy, is_database, open_copy
from citebed.files.input_files import read_up_to
from citebed.records import Problem
from citebed.wording import count

Item = dict[str, Any]

_CHILDREN = ("attachment", "note", "annotation")
_OF_PAPER = (
    *("key", "itemType", "citationKey", "title", "creators", "date", "DOI", "extra", "archiveID"),
    *("publicationTitle", "volume", "issue", "pages", "abstractNote"),
)
"""The fields of an item that identify its paper; citebed reads a PDF again if they change."""
_KEY = re.compile(r"[A-Z0-9]{8}")
_SQL_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?: (.*))?", re.DOTALL)
_MAX_DEPTH = 50

# --- Sources ----------------------------------------------------------------------------------


class OpenedLibraries(NamedTuple):
    """The files of an import, with items and PDFs in place of databases; the problems by source;
    the names of stored PDFs by the name of their storage folder."""

    files: list[SourceFile]
    problems: list[tuple[str, Problem]]
    stored: dict[str, set[str]]


def open_libraries(
    files: list[SourceFile], paths: Sequence[str | Path], folder: Path, names: SourceNames
) -> OpenedLibraries:
    """Replace databases of Zotero and Calibre among the files by their items and PDFs.

    ``paths`` are what the user named: citebed reads stored PDFs if that is Zotero's folder, not if
    it is the database itself. ``folder`` is for temporary files.
    """
    opened = OpenedLibraries([], [], {})
    by_name, by_path = {file.name: file for file in files}, dict[str, SourceFile]()
    for file in files:
        with translate_os_errors(file.path):
            if not is_database(file.path):
                continue
        storage, records = file.path.parent / "storage", folder / f"{len(opened.stored)}.jsonl"
        with open_copy(file.path, folder / "database") as database:
            if (items := _read_items(database, file, folder)) is None:
                continue  # another program's, which the import report names
            attached = write_items(records, items)
        copies = {each.name for each in files if each.path.name == "metadata.opf"
                  and each.path.is_relative_to(file.path.parent)}  # fmt: skip
        by_name = {name: each for name, each in by_name.items() if name not in copies}
        by_name[file.name] = SourceFile(records, file.name)
        stored = opened.stored.setdefault(names.name_of(storage), set())
        by_path = by_path or {os.path.realpath(each.path): each for each in files}
        is_folder, missing = file.path not in map(Path, paths), 0
        for key, path, context in attached:
            if is_stored := path.startswith("storage:"):
                tried = [storage / key / path.removeprefix("storage:")]
            else:  # "attachments:" is a folder of Zotero's settings
                tried = [Path(root, path.removeprefix("attachments:")) for root in ("", *paths)]
            real = map(os.path.realpath, tried)
            pdf = next((by_path[each] for each in real if each in by_path), None)
            if pdf is None and is_stored and _is_in_storage(tried[0], storage):
                pdf = SourceFile(tried[0], names.name_of(tried[0]))
                stored.add(pdf.name)
            missing += pdf is None
            if pdf is not None and (is_folder or pdf.name in by_name):
                by_name[pdf.name] = pdf._replace(context=context)
        if missing and is_folder:
            what = f"{count(missing, 'attached PDF')} not read: not on this machine, or linked"
            advice = "name the folder of linked files, too, to read them"
            opened.problems.append((file.name, Problem(1, f"{what}; {advice}", "ignored")))
    return opened._replace(files=sorted(by_name.values(), key=lambda file: file.name))


def _read_items(database: DatabaseCopy, file: SourceFile, folder: Path) -> Iterator[Item] | None:
    """Return the items of a database, or ``None`` if it is not one of Zotero or Calibre."""
    if database.has("itemDataValues"):
        return _zotero_items(database, _citation_keys(file, folder))
    is_calibre = all(database.has(name) for name in _CALIBRE_TABLES)
    return map(_calibre_item, database.rows(_BOOKS)) if is_calibre else None


def _is_in_storage(path: Path, storage: Path) -> bool:
    """Return True if a file is in the folder of its attachment, and no link leads there."""
    own = os.path.join(os.path.realpath(storage.parent), "storage", *path.parts[-2:])
    is_named = path.parent.parent == storage and _KEY.fullmatch(path.parent.name) is not None
    return is_named and os.path.realpath(own) == own and os.path.isfile(own)


def write_items(target: Path, items: Iterable[Item]) -> list[tuple[str, str, dict[str, str]]]:
    """Write items as JSON lines. Return their PDFs: the key of each file, its path in the library,
    and what its reader needs to know of the item."""
    attached = []
    with target.open("w", encoding="utf-8", errors="replace") as file:
        for item in items:
            known = {name: item[name] for name in _OF_PAPER if name in item}
            for names in item.pop("files", ()):
                key, path = (str(name).replace("\0", "") for name in names)
                attached.append((key, path, {"item": json.dumps(known)} if item else {}))
            file.write(json.dumps(item, ensure_ascii=False) + "\n" if item else "")
    return attached


def _group_paths(
    library: str | None, names: Iterable[Any], parents: Mapping[Any, tuple[str, Any]]
) -> list[str]:
    """Return the paths of collections (``Thesis/Chapter 2``), below the name of a group library."""
    paths = []
    for collection in names:
        path, above = list[str](), collection
        while above in parents and len(path) < _MAX_DEPTH:
            name, above = parents[above]
            path.insert(0, str(name))
        paths += ["/".join(filter(None, (library, *path)))] if path else []
    return list(filter(None, paths or [library or ""]))


# --- Zotero's database ------------------------------------------------------------------------

_TABLES = (
    *("items", "itemTypes", "itemData", "itemDataValues", "fields", "creators", "itemCreators"),
    *("creatorTypes", "tags", "itemTags", "collections", "collectionItems", "itemNotes"),
    *("itemAttachments", "deletedItems", "baseFieldMappings"),
)
_DELETED = "IN (SELECT itemID FROM deletedItems)"
_FIELDS = """SELECT json_group_array(json_array(own.fieldName, base.fieldName, value)) FROM itemData
    JOIN itemDataValues USING (valueID) JOIN {fields} AS own USING (fieldID)
    LEFT JOIN baseFieldMappings AS mapping
        ON mapping.itemTypeID = item.itemTypeID AND mapping.fieldID = own.fieldID
    LEFT JOIN {fields} AS base ON base.fieldID = baseFieldID WHERE itemID = item.itemID"""
_FILES = f"""SELECT json_group_array(json_array(key, path)) FROM itemAttachments
    JOIN items USING (itemID) WHERE itemID NOT {_DELETED}
    AND (contentType = 'application/pdf' OR path LIKE '%.pdf') AND parentItemID"""
_MARKS = f"""SELECT text, comment FROM itemAnnotations AS mark JOIN itemAttachments AS file
    ON file.itemID = mark.parentItemID WHERE file.parentItemID = item.itemID
    AND mark.itemID NOT {_DELETED} AND file.itemID NOT {_DELETED} ORDER BY file.itemID, sortIndex"""
_ITEMS = f"""SELECT libraryID, item.key, typeName, ({_FIELDS}),
    (SELECT json_group_array(json_object('creatorType', creatorType, 'firstName', firstName,
        iif(fieldMode = 1, 'name', 'lastName'), lastName)) FROM (SELECT * FROM itemCreators
        JOIN creators USING (creatorID) LEFT JOIN creatorTypes USING (creatorTypeID)
        WHERE itemID = item.itemID ORDER BY orderIndex)),
    (SELECT json_group_array(json_object('tag', name)) FROM itemTags JOIN tags USING (tagID)
        WHERE itemID = item.itemID),
    (SELECT json_group_array(collectionID) FROM collectionItems WHERE itemID = item.itemID),
    (SELECT json_group_array(note) FROM itemNotes
        WHERE parentItemID = item.itemID AND itemID NOT {_DELETED}),
    ({_FILES} = item.itemID),
    (SELECT json_group_array(json_array(text, comment)) FROM ({{marks}}))
    FROM items AS item LEFT JOIN {{itemTypes}} USING (itemTypeID)
    WHERE itemID NOT {_DELETED} ORDER BY itemID"""


def _zotero_items(database: DatabaseCopy, keys: Mapping[tuple[Any, Any], str]) -> Iterator[Item]:
    """Yield the items of all libraries but feeds, without the trash, in the form of Zotero's API.

    Names of types and fields come from the database, because each version has others. An item
    also has the base fields of its fields (``publisher`` for ``university``). A last item without
    fields has the ``files`` of no item.
    """
    if lacking := [name for name in _TABLES if not database.has(name)]:
        raise CitebedError(
            f"{database.name} has no plain table {lacking[0]} as Zotero 5 and later have. Nothing "
            "was imported. Choose File, Export Library in Zotero, and import that file."
        )

    def table(name: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table that not every version has."""
        if database.has(name, *columns):
            yield from database.rows(f"SELECT {', '.join(columns)} FROM {name}")

    names = {
        name: f"{name}Combined" if database.has(f"{name}Combined") else name
        for name in ("itemTypes", "fields")
    }
    has_marks = database.has("itemAnnotations", "itemID", "parentItemID", "text", "sortIndex")
    names["marks"] = _MARKS if has_marks else "SELECT 0 AS text, 0 AS comment WHERE 0"
    feeds = {row[0] for row in table("feeds", "libraryID")}
    groups: dict[Any, str] = dict(table("groups", "libraryID", "name"))
    trash = {row[0] for row in table("deletedCollections", "collectionID")}
    rows = table("collections", "collectionID", "collectionName", "parentCollectionID")
    collections = {number: (name, above) for number, name, above in rows if number not in trash}
    for library, key, type_name, *texts in database.rows(_ITEMS.format(**names)):
        if type_name in _CHILDREN or library in feeds:
            continue
        fields, creators, tags, inside, notes, files, marks = map(json.loads, texts)
        item: Item = {"itemType": type_name or "document", "key": key}
        item |= {"citationKey": keys[library, key]} if (library, key) in keys else {}
        for own, base, value in fields:
            text = _plain_date(str(value)) if "date" in (own, base) else str(value)
            item |= dict.fromkeys((own, base or own), text)
        paths = _group_paths(groups.get(library), inside, collections)
        item |= {"creators": creators, "tags": tags, "groups": paths, "notes": notes}
        yield item | {"annotations": marks, "files": files}
    for (text,) in database.rows(f"{_FILES} IS NULL"):
        yield {"files": json.loads(text)}


def _plain_date(text: str) -> str:
    """Return a date without Zotero's form for sorting: ``1991-12`` for ``1991-12-00 12/1991``."""
    match = _SQL_DATE.fullmatch(text)
    if match is None or match[1] == "0000":
        return text if match is None else match[4] or ""
    return "-".join([match[1], *(part for part in match.group(2, 3) if part != "00")])


def _citation_keys(file: SourceFile, folder: Path) -> dict[tuple[Any, Any], str]:
    """Return the keys in Better BibTeX's database beside Zotero's, by library and item key."""
    path = file.path.with_name("better-bibtex.sqlite")
    if not path.is_file() or not is_database(path):
        return {}
    with open_copy(path, folder / "citation-keys") as database:
        if not database.has("citationkey", "libraryID", "itemKey", "citationKey"):
            return {}
        rows = database.rows("SELECT libraryID, itemKey, citationKey FROM citationkey")
        return {(library, key): str(name) for library, key, name in rows}


# --- Calibre's database -----------------------------------------------------------------------

_LINKED = "SELECT json_group_array({}) FROM (SELECT * FROM books_{table}_link AS link JOIN {table} "
_LINKED += "ON {table}.id = link.{column} WHERE link.book = book.id ORDER BY link.id)"
_CALIBRE_TABLES = (
    *("books", "authors", "tags", "publishers", "series", "comments", "identifiers", "data"),
    *("books_authors_link", "books_tags_link", "books_publishers_link", "books_series_link"),
)
_BOOKS = f"""SELECT title, pubdate, ({_LINKED.format("sort", table="authors", column="author")}),
    ({_LINKED.format("name", table="tags", column="tag")}),
    ({_LINKED.format("name", table="publishers", column="publisher")}),
    ({_LINKED.format("name", table="series", column="series")}),
    (SELECT json_group_array(text) FROM comments WHERE book = book.id),
    (SELECT json_group_object(type, val) FROM identifiers WHERE book = book.id),
    (SELECT json_group_array(json_array(name, path || '/' || name || '.pdf')) FROM data
        WHERE book = book.id AND format = 'PDF')
    FROM books AS book ORDER BY id"""


def _calibre_item(row: Sequence[Any]) -> Item:
    """Return a book of Calibre in the form of Zotero's API, with its PDFs as linked files."""
    title, date, *texts = row
    names, tags, publishers, series, comments, ids, files = map(json.loads, texts)
    joined = {"publisher": publishers, "series": series, "abstractNote": comments}
    fields = {name: "; ".join(values) for name, values in joined.items()}
    names = [str(name or "") for name in names]
    return book_item(names, ids, tags, str(date or ""), title=title, **fields) | {"files": files}


# --- Zotero's local API -----------------------------------------------------------------------

# A Path has lost a slash of its address.
_ADDRESS = re.compile(r"zotero:|http:/{1,2}((?:localhost|127\.0\.0\.1)(?::\d+)?/api)/?")
_PAGE, _MAX_PAGE_BYTES, _TIMEOUT = 100, 64 << 20, 60.0


def parse_api_address(path: str | Path) -> str | None:
    """Return the address of Zotero's API on this machine, or ``None`` for any other source."""
    match = _ADDRESS.fullmatch(os.fspath(path))
    return f"http://{match[1] or '127.0.0.1:23119/api'}" if match else None


def fetch_items(address: str) -> Iterator[Item]:
    """Yield the items of all libraries from Zotero's local API."""
    groups = _fetch(f"{address}/users/0/groups")
    libraries = {f"groups/{each['id']}": each["data"].get("name") for each in groups}
    for library, name in {"users/0": None, **libraries}.items():
        collections = {
            each["key"]: (each["data"].get("name"), each["data"].get("parentCollection"))
            for each in _fetch(f"{address}/{library}/collections")
        }
        items = [each["data"] for each in _fetch(f"{address}/{library}/items")]
        children: dict[str, list[Item]] = {}
        for item in items:
            children.setdefault(item.get("parentItem", ""), []).append(item)
        for item in items:
            if item.get("itemType") in _CHILDREN:
                continue
            below = children.get(item["key"], [])
            marks = [mark for child in below for mark in children.get(child["key"], ())]
            texts = [[mark.get("annotationText"), mark.get("annotationComment")] for mark in marks]
            paths = _group_paths(name, item.get("collections", ()), collections)
            notes = [child["note"] for child in below if child.get("note")]
            yield item | {"groups": paths, "notes": notes, "annotations": texts}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """An address on this machine must not lead to another one."""

    def redirect_request(self, *_: object) -> None:
        return None


def _fetch(address: str) -> list[Item]:
    """Return all objects at an address of the API; raise if the library changes meanwhile."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)
    found: list[Item] = []
    versions, total = set(), 1
    while len(found) < total:
        query = f"format=json&sort=dateAdded&direction=asc&limit={_PAGE}&start={len(found)}"
        try:
            with opener.open(f"{address}?{query}", timeout=_TIMEOUT) as response:
                page = json.loads(read_up_to(response, _MAX_PAGE_BYTES))
                total = int(response.headers.get("Total-Results") or len(found) + len(page))
                versions.add(response.headers.get("Last-Modified-Version"))
            if not all({"id", "key"} & each.keys() and each["data"].keys() for each in page):
                raise ValueError("not the form of Zotero's API, version 3")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            advice = "Start Zotero 7 or later, or import its folder"
            if getattr(error, "code", None) == 403:
                advice = (
                    "In Zotero choose Settings, Advanced, 'Allow other applications on this "
                    "computer to communicate with Zotero'"
                )
            what = f"cannot read {address} ({error}). {advice}. Nothing was imported."
            raise CitebedError(what) from error
        if not page:
            break
        found += page
    if len(versions) > 1 or len(found) < total:
        raise CitebedError(
            "Zotero's library changed while citebed read it. Nothing was imported; import it again "
            "when Zotero has synchronised."
        )
    return found
