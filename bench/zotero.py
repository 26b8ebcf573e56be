"""How long does the import of a large Zotero library take, how much memory, and is anything lost?

The database has the tables of Zotero 7 and generated items: authors, fields, tags, collections,
notes. ``first`` is a new collection, ``unchanged`` the same import again, ``one more`` an import
after one new item, ``locked`` one while another process holds the database locked and writes it.
Run: python bench/zotero.py [--items N]
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from citebed.collection import open_collection
from common import watch

sys.path.append(str(Path(__file__).parents[1]))
from tests.zotero_databases import Item, LibraryWriter

_WORDS = ("sorting", "fruit", "autumn", "apples", "pears", "plums", "colour", "size", "taste")
_WRITER = """
import itertools, sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA locking_mode=EXCLUSIVE")
database.execute("PRAGMA journal_mode=" + sys.argv[2])
for number in itertools.count():
    database.execute("UPDATE version SET version = ? WHERE schema = 'styles'", (number,))
    print("ready", flush=True)
    time.sleep(1)
"""


def generated_items(number: int) -> Iterator[Item]:
    """Items with about as much in them as those of a library of papers."""
    rng = random.Random(1)

    def text(words: int) -> str:
        return " ".join(rng.choices(_WORDS, k=words))

    for at in range(number):
        fields = {
            "title": f"{text(8).capitalize()} {at}",
            "date": f"{1980 + at % 45}-05-00 May {1980 + at % 45}",
            "publicationTitle": f"Journal of {text(2)}",
            "volume": str(at % 90),
            "pages": f"{at % 300 + 1}-{at % 300 + 12}",
            "DOI": f"10.{10_000 + at % 7}/item.{at}",
            "url": f"https://example.org/{at}",
            "abstractNote": text(120),
            "language": "en",
            "extra": f"Citation Key: key{at}",
        }
        authors = [
            ("author", f"A{rng.randrange(400)}", f"Name{rng.randrange(9000)}") for _ in range(3)
        ]
        tags = [f"tag {rng.randrange(2000)}" for _ in range(3)]
        collections = [f"Shelf {at % 20}/Board {at % 200}"]
        notes = [f"<p>{text(40)}</p>"] if at % 5 == 0 else []
        key = f"{at:08d}"
        yield Item(key, "journalArticle", fields, authors, tags, collections, notes)


def fingerprint(folder: Path) -> list[tuple[str, int, str]]:
    """Names, times and contents of the files in a folder."""
    return [
        (path.name, path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.iterdir())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    number = parser.parse_args().items
    with tempfile.TemporaryDirectory() as temporary:
        folder, target = Path(temporary) / "Zotero", Path(temporary) / "c"
        folder.mkdir()
        path = folder / "zotero.sqlite"
        with closing(LibraryWriter(path, 124)) as writer:
            writer.add(generated_items(number))
            writer.database.execute("INSERT INTO version VALUES ('styles', 0)")
        print(f"{number:,} items, {path.stat().st_size >> 20} MiB")
        head = f"{'seconds':>8} {'processor':>10} {'MB':>7} {'documents':>10} {'notes':>7}"
        print(f"{'import':12} {head}  written to the folder")
        for name in ("first", "unchanged", "one more", "locked", "locked, WAL"):
            if name == "one more":
                add_item(path)
            before, writer_process = fingerprint(folder), None
            if name.startswith("locked"):
                mode = "WAL" if "WAL" in name else "DELETE"
                program = [sys.executable, "-c", _WRITER, str(path), mode]
                writer_process = subprocess.Popen(program, stdout=subprocess.PIPE)
                assert writer_process.stdout is not None
                writer_process.stdout.readline()
            command = [sys.executable, "-m", "citebed", "import", str(target), str(folder)]
            used = watch([*command, "--quiet"])
            written = "nothing" if fingerprint(folder) == before else "CHANGED"
            if writer_process is not None:
                writer_process.kill()
                writer_process.communicate()
                written = "by the other program"
            if used.code:
                sys.exit(used.err)
            collection = open_collection(target)
            print(
                f"{name:12} {used.seconds:8.1f} {used.processor:10.1f} {used.megabytes:7.0f} "
                f"{collection.documents.height:10,} {collection.sections.height:7,}  {written}",
                flush=True,
            )


def add_item(path: Path) -> None:
    """Add an item with a title."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO items (itemID, itemTypeID, libraryID, key) SELECT 1000000000, "
            "itemTypeID, 1, 'NEWITEM1' FROM itemTypes WHERE typeName = 'book'"
        )
        database.execute("INSERT INTO itemDataValues VALUES (1000000000, 'The newest item of all')")
        database.execute(
            "INSERT INTO itemData SELECT 1000000000, fieldID, 1000000000 FROM fields "
            "WHERE fieldName = 'title'"
        )


if __name__ == "__main__":
    main()
