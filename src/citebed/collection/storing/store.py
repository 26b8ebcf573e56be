"""The collection folder on disk: its files, its manifest, and changing them all at once.

A change is prepared in ``.staging``, then a journal says which files are to be put in place,
then they are. Killed before the journal is there, nothing has happened; killed after, whoever
opens the folder next finishes the work. So whoever reads through citebed sees the state before
or after, never one between.

A collection may come from a stranger. A journal is only finished by the user who wrote it, whose
secret it is sealed with, or who is asked to trust it (`finish_change`). Names in journal and
manifest are taken only if they are those of files that a collection has (`is_own`), and files are
moved and removed by handles that follow no link (`citebed.files.output_files.FolderHandle`).
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

from citebed.collection.rules import Rules, rules_from
from citebed.collection.tables import IMPORT, TABLES
from citebed.errors import CitebedError, CollectionError
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
MANIFEST = "citebed.toml"
_JOURNAL = ".commit.json"
_STAGING = ".staging"
_READY = f"{_STAGING}/ready"
_LOCK = ".lock"
_TRIES = 20
"""So often at most a folder is taken away by who made it, before it is locked."""
SETS = {"queries": ".jsonl", "qrels": ".qrels"}
SHARDS = "shards"
_SHARD = re.compile(r"[0-9]{5}")
_NO_SET_NAME = re.compile(r"^\.|[/\\\x00-\x1f\x7f]|^$")
_SET_NAME_BYTES = 200


@dataclass(frozen=True)
class Manifest:
    """What ``citebed.toml`` says: the collection's name, its sources, the rules, its query sets.

    ``sources`` has a row for each path that was given to an import, with the number of files
    under it and a hash over all their hashes. ``shards`` are the names of the folders, each a
    collection of at most ``shard_size`` documents, that have the documents of a large one.
    """

    name: str
    rules: Rules = field(default_factory=Rules)
    sources: tuple[dict[str, Any], ...] = ()
    query_sets: tuple[str, ...] = ()
    version: str = ""
    shards: tuple[str, ...] = ()
    shard_size: int = 0

    def to_toml(self) -> str:
        """The manifest as text."""
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
    """Whether a query set can have this name: it is a part of the names of its files."""
    return (
        isinstance(name, str)
        and not _NO_SET_NAME.search(name)
        and len(name.encode("utf-8", "replace")) <= _SET_NAME_BYTES
    )


def is_shard_name(name: object) -> bool:
    """Whether a shard can have this name."""
    return isinstance(name, str) and _SHARD.fullmatch(name) is not None


def shard_name(number: int) -> str:
    """The name of a shard by its number."""
    return f"{number:05}"


def is_own(name: object) -> bool:
    """Whether a name, relative to the folder, is that of a file which a collection has."""
    if not isinstance(name, str):
        return False
    folder, _, file = name.partition("/")
    if folder == SHARDS:
        shard, _, inside = file.partition("/")
        return is_shard_name(shard) and not inside.startswith(f"{SHARDS}/") and is_own(inside)
    if folder in SETS and file.endswith(SETS[folder]):
        return is_set_name(file.removesuffix(SETS[folder]))
    return name == MANIFEST or (name.endswith(".parquet") and name[:-8] in TABLES)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a collection; raises if the folder is none, or of a newer format."""
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
        raise _damaged(path, f"{query_sets!r:.80} are not names of query sets")
    if not isinstance(sources, list) or not all(
        isinstance(row, dict) and isinstance(row.get("path"), str) for row in sources
    ):
        raise _damaged(path, f"{sources!r:.80} are not sources")
    shards, size = values.get("shards", []), values.get("shard_size", 0)
    if not isinstance(shards, list) or not all(map(is_shard_name, shards)):
        raise _damaged(path, f"{shards!r:.80} are not names of shards")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise _damaged(path, f"{size!r:.80} is no number of documents")
    return Manifest(
        name=str(values.get("name", folder.name)),
        rules=rules_from(values.get("rules", {}), printable(path)),
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
        return f"'{name}' is no collection yet: an import did not finish. Run it again."
    return f"'{name}' is not a collection (it has no {MANIFEST}). {make}"


class _Busy(CollectionError):
    """Another process is changing the collection."""


@contextlib.contextmanager
def locked(folder: Path, *, trusting: bool = False) -> Iterator[None]:
    """Hold the folder for a change; someone else holding it is an error.

    A change that was cut short is finished first; ``trusting``, also one of another user's. A
    folder that is made for a change which comes to nothing goes again.
    """
    made = not folder.exists()
    handle = _lock(folder)
    try:
        _finish_commit(folder, trusting=trusting)
        yield
    finally:
        if made and not (folder / MANIFEST).exists():  # while it is ours: others may wait to begin
            _unmake(folder)
        os.close(handle)


def _lock(folder: Path) -> int:
    """The locked handle of the folder's lock, once that is the one which others find too."""
    made = not folder.exists()
    for left in reversed(range(_TRIES)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and left:  # who made it has taken it away
                continue
            if made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            why = f"cannot write to '{printable(folder)}': {error_reason(error)}"
            raise CollectionError(f"{why}. Get leave to write there, or work on a copy.") from None
        if _is_locked(folder, handle):
            return handle
    raise _Busy(_busy(folder))


def _busy(folder: Path) -> str:
    busy = f"'{printable(folder)}' is being changed by another citebed."
    return f"{busy} Wait for it to finish and try again."


def _is_locked(folder: Path, handle: int) -> bool:
    """Lock an open file; whether it is still the lock of the folder, else it is closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise _Busy(_busy(folder)) from None
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), (folder / _LOCK).lstat()):
            return True
    os.close(handle)
    return False


def _unmake(folder: Path) -> None:
    """Take away a folder that was made, if it has nothing but the lock."""
    with contextlib.suppress(OSError):
        if set(os.listdir(folder)) <= {_LOCK}:
            (folder / _LOCK).unlink(missing_ok=True)
            folder.rmdir()


def recover(folder: Path) -> None:
    """Finish a change that was interrupted after it was decided; else do nothing."""
    for _ in range(100):
        if not os.path.lexists(folder / _JOURNAL):
            return
        with contextlib.suppress(_Busy), locked(folder):
            return
        time.sleep(0.05)
    raise CollectionError(
        f"'{printable(folder)}' has been in the middle of a change for five seconds; try again."
    )


def finish_change(folder: str | Path) -> None:
    """Finish a change that somebody else left in the middle: whoever calls this trusts them.

    Only files of the collection are put in place or taken away, as its journal says.
    """
    folder = Path(folder)
    if os.path.lexists(folder / _JOURNAL):
        with locked(folder, trusting=True):
            pass


@contextlib.contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """An empty folder to prepare a change in; it is gone afterwards, whatever happens.

    Only what a journal has decided and could not put in place stays, for whoever finishes that.
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
    shutil.rmtree(path, ignore_errors=True)


def commit(folder: Path, remove: list[str]) -> None:
    """Put all files under the staged ``ready`` in place and take ``remove`` away, as one change."""
    ready = folder / _READY
    files = sorted(str(path.relative_to(ready)) for path in ready.rglob("*") if path.is_file())
    journal = {"from": _READY, "files": files, "remove": remove, "seal": seal_of(files, remove)}
    with _telling(folder), open_folder(folder) as inside:
        _checked(inside, journal)
    for name in files:
        sync_file(ready / name)
    with _folders({(folder / name).parent for name in files}):
        write_own_file(folder / _JOURNAL, json.dumps(journal))
    _finish_commit(folder)


@contextlib.contextmanager
def _folders(places: set[Path]) -> Iterator[None]:
    """Folders made before a change is decided: later, a full disk would be too late."""
    above = {parent for place in places for parent in (place, *place.parents)}
    made = sorted(place for place in above if not place.exists())
    try:
        for place in made:
            place.mkdir()
        yield
    except BaseException:
        for place in reversed(made):
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
    with _telling(folder), open_folder(folder) as inside:
        files, remove, is_ours = _checked(inside, journal)
        if not (is_ours or trusting):
            raise _anothers(folder)
        sync_folder(folder)  # the journal is on the disk before anything is moved
        waiting = [name for name in files if inside.has(f"{_READY}/{name}")]
        for name in waiting:
            inside.open_below(name.rpartition("/")[0], make=True)
        for name in waiting:
            inside.move(f"{_READY}/{name}", name)
        for name in remove:
            inside.remove(name)
        inside.sync()
        inside.remove(_JOURNAL)


def _checked(inside: FolderHandle, journal: object) -> tuple[list[str], list[str], bool]:
    """The files that a journal puts in place and removes, and whether this user wrote it; if it is
    one that a citebed may have written."""
    if not isinstance(journal, dict) or journal.get("from") != _READY:
        raise UnexpectedFile("it is damaged")
    files, remove = journal.get("files"), journal.get("remove")
    if not isinstance(files, list) or not isinstance(remove, list):
        raise UnexpectedFile("it is damaged")
    for name in (*files, *remove):
        if not is_own(name):
            raise UnexpectedFile(f"{name!r:.80} is no file of a collection")
    for name in (_READY, *SETS, IMPORT, *(f"{_READY}/{name}" for name in (*SETS, IMPORT))):
        inside.open_below(name)
    return files, remove, is_sealed(_sealed(files, remove), journal.get("seal"))


def seal_of(files: list[str], remove: list[str]) -> str:
    """The seal of a journal that puts files in place and removes others."""
    return seal(_sealed(files, remove))


def _sealed(files: list[str], remove: list[str]) -> str:
    return json.dumps([files, remove])


@contextlib.contextmanager
def _telling(folder: Path) -> Iterator[None]:
    """Around a change by a journal: why it cannot be made, or not to the end."""
    try:
        yield
    except UnexpectedFile as why:
        raise CollectionError(
            f"{printable(folder / _JOURNAL)} is not a journal that citebed wrote: {why}. Nothing "
            "was changed. If you trust the rest of the folder, remove that and import the sources "
            "again."
        ) from None
    except OSError as error:
        raise CollectionError(
            f"'{printable(folder)}' could not be changed to the end: {error.strerror}. Nothing is "
            "lost: whoever opens it next puts the rest in place. Mend that and try again."
        ) from error


def _anothers(folder: Path) -> CollectionError:
    name = printable(folder)
    return CollectionError(
        f"'{name}' was left in the middle of a change on another machine, or by another user. "
        "Nothing was changed here. Ask whoever gave it to you for a whole copy; if you trust them, "
        f"finish the change yourself with: citebed import {shlex.quote(name)} --finish"
    )


def state_of(folder: Path) -> tuple[int, int, int] | None:
    """The state that the folder is in; ``None`` in the middle of a change.

    Every change replaces the manifest, so its inode, time and size tell one state from the next.
    """
    try:
        manifest = (folder / MANIFEST).stat()
    except OSError:
        return None
    if os.path.lexists(folder / _JOURNAL):
        return None
    return manifest.st_ino, manifest.st_mtime_ns, manifest.st_size
