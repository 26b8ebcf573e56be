"""The folder of a collection: its manifest, its lock, and atomic changes.

citebed prepares a change in ``.staging``, writes a journal that lists the files to move, and moves
them. After a kill before the journal is written nothing has changed; after a later kill the next
citebed that opens the folder finishes the change. So citebed always reads the state before or after
a change, never one between.

A collection may come from a stranger. citebed finishes a journal only if this user signed it, or
says that it can be trusted (`finish_change`). Journals and manifests may only name files that
collections have (`is_collection_file`), and files are moved and removed without following links
(`citebed.files.output_files.FolderHandle`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import shutil
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citebed.collection.rules import Rules, parse_rules
from citebed.collection.tables import IMPORT, TABLES
from citebed.errors import CitebedError, CollectionError
from citebed.files.file_kinds import MANIFEST
from citebed.files.input_files import read_text
from citebed.files.output_files import (
    FolderHandle,
    UnexpectedFile,
    open_folder,
    sync_file,
    sync_folder,
    write_own_file,
)
from citebed.files.secret_files import is_sealed, seal
from citebed.files.system_errors import error_reason
from citebed.wording import printable

FORMAT = 1
_JOURNAL = ".commit.json"
_STAGING = ".staging"
_READY = f"{_STAGING}/ready"
_LOCK = ".lock"
_TRIES = 20
"""Maximum number of times that another process removes a new folder before it is locked."""
SETS = {"queries": ".jsonl", "qrels": ".qrels"}
SHARDS = "shards"
_SHARD = re.compile(r"[0-9]{5}")
_NO_SET_NAME = re.compile(r"^\.|[/\\\x00-\x1f\x7f]|^$")
_SET_NAME_BYTES = 200


@dataclass(frozen=True)
class Manifest:
    """The content of ``citebed.toml``: name, rules, sources and query sets of a collection.

    ``sources`` has a row for each imported path, with its number of files and a hash of their
    hashes. ``shards`` names the folders of a large collection's shards, each a collection of at
    most ``shard_size`` documents.
    """

    name: str
    rules: Rules = field(default_factory=Rules)
    sources: tuple[dict[str, Any], ...] = ()
    query_sets: tuple[str, ...] = ()
    version: str = ""
    shards: tuple[str, ...] = ()
    shard_size: int = 0

    def to_toml(self) -> str:
        lines = [
            "# Written by citebed; `citebed import` keeps it up to date.",
            f"format = {FORMAT}",
            f"name = {_toml(self.name)}",
            f"citebed = {_toml(self.version)}",
            f"query_sets = {_toml(list(self.query_sets))}",
            *([f"shards = {_toml(list(self.shards))}"] if self.shards else ()),
            *([f"shard_size = {self.shard_size}"] if self.shard_size else ()),
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


def is_set_name(name: object) -> bool:
    """Return True for a valid name of a query set, which is part of its file names."""
    return (
        isinstance(name, str)
        and not _NO_SET_NAME.search(name)
        and len(name.encode("utf-8", "replace")) <= _SET_NAME_BYTES
    )


def is_shard_name(name: object) -> bool:
    """Return True for a valid name of a shard."""
    return isinstance(name, str) and _SHARD.fullmatch(name) is not None


def format_shard_name(number: int) -> str:
    return f"{number:05}"


def is_collection_file(name: object) -> bool:
    """Return True for a path, relative to the folder, of a file that collections have."""
    if not isinstance(name, str):
        return False
    folder, _, file = name.partition("/")
    if folder == SHARDS:
        shard, _, inside = file.partition("/")
        return (
            is_shard_name(shard)
            and not inside.startswith(f"{SHARDS}/")
            and is_collection_file(inside)
        )
    if folder in SETS and file.endswith(SETS[folder]):
        return is_set_name(file.removesuffix(SETS[folder]))
    return name == MANIFEST or (name.endswith(".parquet") and name[:-8] in TABLES)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a collection; raise for other folders and newer formats."""
    path = folder / MANIFEST
    if not path.is_file():
        raise CollectionError(_not_a_collection(folder))
    try:
        values = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _damaged(path, error) from None
    if values.get("format") != FORMAT:
        raise CollectionError(
            f"{folder} has collection format {values.get('format')!r}; this citebed reads "
            f"{FORMAT}. Import its sources again with this version."
        )
    query_sets, sources = values.get("query_sets", []), values.get("sources", [])
    if not isinstance(query_sets, list) or not all(map(is_set_name, query_sets)):
        raise _damaged(path, f"{query_sets!r:.80} is not a list of query sets")
    if not isinstance(sources, list) or not all(
        isinstance(row, dict) and isinstance(row.get("path"), str) for row in sources
    ):
        raise _damaged(path, f"{sources!r:.80} is not a list of sources")
    shards, size = values.get("shards", []), values.get("shard_size", 0)
    if not isinstance(shards, list) or not all(map(is_shard_name, shards)):
        raise _damaged(path, f"{shards!r:.80} is not a list of shards")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise _damaged(path, f"{size!r:.80} is not a number of documents")
    return Manifest(
        name=str(values.get("name", folder.name)),
        rules=parse_rules(values.get("rules", {}), printable(path)),
        sources=tuple(sources),
        query_sets=tuple(query_sets),
        version=str(values.get("citebed", "")),
        shards=tuple(shards),
        shard_size=size,
    )


def _damaged(path: Path, why: object) -> CollectionError:
    return CollectionError(f"{printable(path)} is damaged: {why}. Restore it, or import again.")


def _not_a_collection(folder: Path) -> str:
    name = printable(folder)
    make = f"Make one with: citebed import {name} FILES…"
    if not folder.exists():
        return f"there is no collection at '{name}'. {make}"
    if not folder.is_dir():
        hint = f"Import it with: citebed import NEW-FOLDER {name}"
        return f"'{name}' is a file; a collection is a folder. {hint}"
    if (folder / _STAGING).exists():
        return f"'{name}' is not a collection yet: an import did not finish. Run it again."
    return f"'{name}' is not a collection (it has no {MANIFEST}). {make}"


class CollectionBusy(CollectionError):
    """Another process is changing the collection."""


@contextlib.contextmanager
def lock_collection(folder: Path, *, trusting: bool = False) -> Iterator[None]:
    """Lock the folder for a change; raise if another process has locked it.

    An interrupted change is finished first; with ``trusting``, also another user's. A folder that
    was created for the change is removed again if nothing is written.
    """
    is_new = not folder.exists()
    handle = _lock(folder)
    try:
        _finish_commit(folder, trusting=trusting)
        yield
    finally:
        if is_new and not (folder / MANIFEST).exists():
            with contextlib.suppress(OSError):
                if set(os.listdir(folder)) <= {_LOCK}:
                    (folder / _LOCK).unlink(missing_ok=True)
                    folder.rmdir()
        os.close(handle)  # last, because others may wait for the lock


def _lock(folder: Path) -> int:
    """Return the locked handle of the folder's lock file; repeat if the file was replaced."""
    is_new = not folder.exists()
    busy = f"'{printable(folder)}' is being changed by another citebed."
    busy += " Wait for it to finish and try again."
    for left in reversed(range(_TRIES)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and left:  # another process removed the folder
                continue
            if is_new:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            why = f"cannot write to '{printable(folder)}': {error_reason(error)}"
            raise CollectionError(f"{why}. Get permission to write, or work on a copy.") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise CollectionBusy(busy) from None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), (folder / _LOCK).lstat()):
                return handle
        os.close(handle)
    raise CollectionBusy(busy)


def recover(folder: Path) -> None:
    """Finish an interrupted change, if its journal was written."""
    for _ in range(100):
        if not os.path.lexists(folder / _JOURNAL):
            return
        with contextlib.suppress(CollectionBusy), lock_collection(folder):
            return
        time.sleep(0.05)
    raise CollectionError(
        f"'{printable(folder)}' has been changed for five seconds by another citebed; try again."
    )


def finish_change(folder: str | Path) -> None:
    """Finish a change that another user left incomplete, if you trust that user.

    Only files of the collection are moved or removed, as the journal lists them.
    """
    folder = Path(folder)
    if os.path.lexists(folder / _JOURNAL):
        with lock_collection(folder, trusting=True):
            pass


@contextlib.contextmanager
def prepare_change(folder: Path) -> Iterator[Path]:
    """Yield an empty folder for preparing a change, and remove it afterwards.

    If the journal is written but the change is incomplete, the folder stays.
    """
    path = folder / _STAGING
    _clear(path)
    path.mkdir()
    try:
        yield path
    finally:
        if not os.path.lexists(folder / _JOURNAL):
            _clear(path)


def _clear(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    for _ in range(5):  # a worker that was killed may still create a file there
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.05)


def commit_change(folder: Path, remove: list[str]) -> None:
    """Move all files from the staged ``ready`` in place and delete ``remove``, as one change."""
    ready = folder / _READY
    files = sorted(str(path.relative_to(ready)) for path in ready.rglob("*") if path.is_file())
    journal = {"from": _READY, "files": files, "remove": remove, "seal": sign_change(files, remove)}
    with _translate_errors(folder), open_folder(folder) as inside:
        _check_journal(inside, journal)
    for name in files:
        sync_file(ready / name)
    with _folders({(folder / name).parent for name in files}):
        write_own_file(folder / _JOURNAL, json.dumps(journal))
    _finish_commit(folder)


@contextlib.contextmanager
def _folders(places: set[Path]) -> Iterator[None]:
    """Create folders before the journal is written, because the disk may be full; remove them on
    error."""
    above = {parent for place in places for parent in (place, *place.parents)}
    new = sorted(place for place in above if not place.exists())
    try:
        for place in new:
            place.mkdir()
        yield
    except BaseException:
        for place in reversed(new):
            with contextlib.suppress(OSError):
                place.rmdir()
        raise


def _finish_commit(folder: Path, *, trusting: bool = False) -> None:
    path = folder / _JOURNAL
    if not os.path.lexists(path):
        return
    journal = None
    with contextlib.suppress(ValueError, RecursionError, CitebedError):
        journal = None if path.is_symlink() else json.loads(read_text(path))
    with _translate_errors(folder), open_folder(folder) as inside:
        files, remove, is_own = _check_journal(inside, journal)
        if not (is_own or trusting):
            name = printable(folder)
            raise CollectionError(
                f"'{name}' was left incomplete by a change on another machine, or by another user. "
                "Nothing was changed here. Ask for a complete copy; if you trust its origin, finish"
                f" the change with: citebed import {shlex.quote(name)} --finish"
            )
        sync_folder(folder)  # the journal must be on the disk before a file is moved
        waiting = [name for name in files if inside.has(f"{_READY}/{name}")]
        for name in waiting:
            inside.open_below(name.rpartition("/")[0], make=True)
        for name in waiting:
            inside.move(f"{_READY}/{name}", name)
        for name in remove:
            inside.remove(name)
        inside.sync()
        inside.remove(_JOURNAL)


def _check_journal(inside: FolderHandle, journal: object) -> tuple[list[str], list[str], bool]:
    """Return the files to move and to remove, and whether this user signed the journal; raise if it
    is not a valid journal."""
    if not isinstance(journal, dict) or journal.get("from") != _READY:
        raise UnexpectedFile("it is damaged")
    files, remove = journal.get("files"), journal.get("remove")
    if not isinstance(files, list) or not isinstance(remove, list):
        raise UnexpectedFile("it is damaged")
    for name in (*files, *remove):
        if not is_collection_file(name):
            raise UnexpectedFile(f"{name!r:.80} is not a file of a collection")
    for name in (_READY, *SETS, IMPORT, *(f"{_READY}/{name}" for name in (*SETS, IMPORT))):
        inside.open_below(name)
    return files, remove, is_sealed(json.dumps([files, remove]), journal.get("seal"))


def sign_change(files: list[str], remove: list[str]) -> str:
    return seal(json.dumps([files, remove]))


@contextlib.contextmanager
def _translate_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except UnexpectedFile as why:
        raise CollectionError(
            f"{printable(folder / _JOURNAL)} is not a journal that citebed wrote: {why}. Nothing "
            "was changed. If you trust the rest of the folder, delete this file and import the "
            "sources again."
        ) from None
    except OSError as error:
        raise CollectionError(
            f"'{printable(folder)}' could not be changed completely: {error.strerror}. Nothing is "
            "lost: the next citebed that opens it completes the change. Solve this and try again."
        ) from error


def read_state(folder: Path) -> tuple[int, int, int] | None:
    """Return a value that differs after each change; ``None`` during a change.

    Every change replaces the manifest, so its inode, time and size identify the state.
    """
    try:
        manifest = (folder / MANIFEST).stat()
    except OSError:
        return None
    if os.path.lexists(folder / _JOURNAL):
        return None
    return manifest.st_ino, manifest.st_mtime_ns, manifest.st_size
