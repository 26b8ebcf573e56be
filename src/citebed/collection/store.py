"""The collection folder on disk: its files, its manifest, and changing them all at once.

A change is prepared in ``.staging``, then a journal says which files are to be put in place,
then they are. Killed before the journal is there, nothing has happened; killed after, whoever
opens the folder next finishes the work. So whoever reads through citebed sees the state before
or after, never one between.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection.rules import Rules, rules_from
from citebed.collection.tables import Schema, empty
from citebed.errors import CollectionError
from citebed.files.writing import sync_folder

FORMAT = 1
MANIFEST = "citebed.toml"
_JOURNAL = ".commit.json"
_STAGING = ".staging"
_LOCK = ".lock"


@dataclass(frozen=True)
class Manifest:
    """What ``citebed.toml`` says: the collection's name, its sources, the rules, its query sets.

    ``sources`` has a row for each path that was given to an import, with the number of files
    under it and a hash over all their hashes.
    """

    name: str
    rules: Rules = field(default_factory=Rules)
    sources: tuple[dict[str, Any], ...] = ()
    query_sets: tuple[str, ...] = ()
    version: str = ""

    def to_toml(self) -> str:
        """The manifest as text."""
        lines = [
            "# Written by citebed; `citebed import` keeps it up to date.",
            f"format = {FORMAT}",
            f"name = {_toml(self.name)}",
            f"citebed = {_toml(self.version)}",
            f"query_sets = {_toml(list(self.query_sets))}",
            "",
            "[rules]",
            *(f"{name} = {_toml(value)}" for name, value in self.rules.as_dict().items()),
        ]
        for source in self.sources:
            lines += ["", "[[sources]]", *(f"{k} = {_toml(v)}" for k, v in source.items())]
        return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(str(k))} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        items = [_toml(item) for item in value]
        one_line = f"[{', '.join(items)}]"
        return one_line if len(one_line) < 90 else "[\n    " + ",\n    ".join(items) + ",\n]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a collection; raises if the folder is none, or of a newer format."""
    path = folder / MANIFEST
    if not path.is_file():
        raise CollectionError(_not_a_collection(folder))
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CollectionError(f"{path} is damaged: {error}. Restore it, or import again.") from None
    if values.get("format") != FORMAT:
        raise CollectionError(
            f"{folder} has collection format {values.get('format')!r}; this citebed reads "
            f"{FORMAT}. Import its sources again with this version."
        )
    return Manifest(
        name=str(values.get("name", folder.name)),
        rules=rules_from(values.get("rules", {}), str(path)),
        sources=tuple(values.get("sources", ())),
        query_sets=tuple(values.get("query_sets", ())),
        version=str(values.get("citebed", "")),
    )


def _not_a_collection(folder: Path) -> str:
    make = f"Make one with: citebed import {folder} FILES…"
    if not folder.exists():
        return f"there is no collection at '{folder}'. {make}"
    if not folder.is_dir():
        hint = f"Import it with: citebed import NEW-FOLDER {folder}"
        return f"'{folder}' is a file; a collection is a folder. {hint}"
    if (folder / _STAGING).exists():
        return f"'{folder}' is no collection yet: an import did not finish. Run it again."
    return f"'{folder}' is not a collection (it has no {MANIFEST}). {make}"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder for a change; someone else holding it is an error."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / _LOCK).open("a+")
    except OSError as error:
        raise CollectionError(f"cannot write to '{folder}': {error.strerror}") from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CollectionError(
                f"'{folder}' is being changed by another citebed. "
                "Wait for it to finish and try again."
            ) from None
        _finish_commit(folder)
        yield


def recover(folder: Path) -> None:
    """Finish a change that was interrupted after it was decided; else do nothing."""
    for _ in range(100):
        if not (folder / _JOURNAL).exists():
            return
        with contextlib.suppress(CollectionError), locked(folder):
            return
        time.sleep(0.05)
    raise CollectionError(
        f"'{folder}' has been in the middle of a change for five seconds; try again."
    )


@contextlib.contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """An empty folder to prepare a change in; it is gone afterwards, whatever happens."""
    path = folder / _STAGING
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def commit(folder: Path, prepared: Path, remove: list[str]) -> None:
    """Put all files under ``prepared`` in place and take ``remove`` away, as one change."""
    files = sorted(
        str(path.relative_to(prepared)) for path in prepared.rglob("*") if path.is_file()
    )
    for name in files:
        with (prepared / name).open("rb") as handle:
            os.fsync(handle.fileno())
    journal = {"from": str(prepared.relative_to(folder)), "files": files, "remove": remove}
    draft = folder / f"{_JOURNAL}.new"
    with draft.open("w", encoding="utf-8") as handle:
        json.dump(journal, handle)
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(folder / _JOURNAL)
    sync_folder(folder)
    _finish_commit(folder)


def _finish_commit(folder: Path) -> None:
    path = folder / _JOURNAL
    if not path.exists():
        return
    journal = json.loads(path.read_text("utf-8"))
    for name in journal["files"]:
        ready = folder / journal["from"] / name
        if ready.exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            ready.replace(folder / name)
    for name in journal["remove"]:
        (folder / name).unlink(missing_ok=True)
    sync_folder(folder)
    path.unlink()


def write_table(path: Path, table: pl.DataFrame, schema: Schema) -> None:
    """Write a table with exactly the stated columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table.select(pl.col(name).cast(kind) for name, kind in schema.items()).write_parquet(
        path, compression="zstd", compression_level=1, statistics=False, row_group_size=20_000
    )


def read_table(folder: Path, name: str, schema: Schema) -> pl.DataFrame:
    """A table of the collection; one that is not there is empty."""
    path = folder / f"{name}.parquet"
    if not path.exists():
        return empty(schema)
    try:
        return pl.read_parquet(path, columns=list(schema))
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise CollectionError(f"{path} is damaged ({reason}). Import the sources again.") from None


def write_jsonl(path: Path, table: pl.DataFrame) -> None:
    """Write a table as JSON Lines, one object a row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_ndjson(path)
