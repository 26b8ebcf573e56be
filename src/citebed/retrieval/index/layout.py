"""The index on disk: plain ``.npy`` arrays and an ``index.json`` that names and checks them.

The arrays of a new index are put beside those of the old one; replacing ``index.json`` makes the
change, in one step. Whoever has the old arrays open keeps them. A collection may come from a
stranger: only files that an index has are read and removed, and no link is followed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.collection.storing.table_files import table_paths
from citebed.errors import CollectionError, FormatError
from citebed.files import output_files
from citebed.files.input_files import hash_file, read_small
from citebed.files.system_errors import translate_read_errors
from citebed.retrieval.index.threads import in_threads
from citebed.retrieval.vectors.model_files import Arrays, read_header
from citebed.wording import printable

FORMAT = 1
FOLDER = "index"
DESCRIPTION = "index.json"
OF_SHARDS = "shards.json"
"""What tells of the indexes of a collection's shards."""
FIELDS = ("title", "abstract", "keywords", "fulltext", "citing")
"""The fields of a document, kept apart in the index; ``citing`` is what others say of it."""

_INDEXED = ("documents", "sections", "contexts")
"""The tables that an index is made of."""
_FILE = re.compile(r"([a-z]+(?:\.[a-z]+)*)\.([0-9]{1,18})\.npy")
"""Name and generation of an array."""
_MUCH = 16 << 20
"""Write and verify so many bytes or more in two threads."""
_NO_DESCRIPTION = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)


class DamagedIndex(CollectionError):
    """An index that cannot be used; it can always be built anew from the collection."""

    def __init__(self, folder: Path, what: str) -> None:
        self.what = what
        collection = folder.parent
        name = printable(collection)
        super().__init__(f"the index {what}. Build it anew with: citebed index {name}")


@dataclass(frozen=True)
class Description:
    """What ``index.json`` says."""

    analyser: str
    documents: int
    terms: int
    postings: int
    citing_papers: int
    citing_sources: tuple[str, ...]
    sources: Mapping[str, Mapping[str, Any]]
    """The collection's files that were indexed, each with its size, time and hash."""
    hashing: str
    """How documents were hashed; another way makes the next build a full one."""
    citebed: str
    generation: int = 1
    format: int = FORMAT
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vectors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The models whose vectors are there, by kind; none in an index of the first versions."""
    fit: Mapping[str, Any] = field(default_factory=dict)
    """What was learned from the collection for ranking it; nothing in an index of before."""
    background: Mapping[str, Any] = field(default_factory=dict)
    """What everyday texts find in it; found anew when its words are written."""


def array_names(kind: str) -> tuple[str, str]:
    """What the arrays of a kind of vectors are called: the rows', and their scales'."""
    return f"vectors.{kind}", f"vectors.{kind}.scales"


def read_description(folder: Path) -> Description:
    """The index's description; raises if there is none, or one of another format."""
    path = folder / DESCRIPTION
    if not os.path.lexists(path):
        name = printable(folder.parent)
        how = f"Build it with: citebed index {name}"
        if os.path.lexists(folder / OF_SHARDS):
            how = f"Its shards have: search with --on local, or build one: citebed index {name}"
        if not os.access(folder.parent, os.W_OK):
            how = "The folder is read-only: build one in a copy of it, with citebed index"
        raise CollectionError(f"{name} has no index yet. {how}")
    try:
        _check_kind(path)
        values = json.loads(read_small(path))
        if values["format"] != FORMAT:
            what = f"has format {values['format']!r}, this citebed reads {FORMAT}"
            raise DamagedIndex(folder, what)
        values["citing_sources"] = tuple(values["citing_sources"])
        return _checked(folder, Description(**values))
    except (*_NO_DESCRIPTION, FormatError) as error:
        raise DamagedIndex(folder, f"is damaged ({DESCRIPTION}: {error})") from None


def _checked(folder: Path, description: Description) -> Description:
    """The description, if its parts are of their types and its files are those of an index."""
    counted = ("documents", "terms", "postings", "citing_papers", "generation")
    for name, count in ((name, getattr(description, name)) for name in counted):
        if type(count) is not int or count < 0:
            raise ValueError(f"'{name}' is no count")
    last = description.generation
    for name, entry in description.files.items():
        found = _FILE.fullmatch(entry["file"])
        if found is None or found[1] != name or int(found[2]) > last:
            raise ValueError(f"'{printable(entry['file'])}' is no file of an index")
        _check_kind(folder / entry["file"])
        int(entry["bytes"]), str.encode(entry["sha256"])
    for state in description.sources.values():
        int(state["bytes"]), int(state["time"]), str.encode(state["sha256"])
    for about in description.vectors.values():
        int(about["width"]), int(about.get("missing", 0))
        str.encode(about["fingerprint"]), str.encode(about["name"])
    if not all(isinstance(name, str) for name in (*description.fit, *description.background)):
        raise ValueError("what was learned has no names")
    if not all(isinstance(name, str) for name in (description.analyser, description.hashing)):
        raise ValueError("it names no analyser")
    return description


def _check_kind(path: Path) -> None:
    if not output_files.is_plain_or_missing(path):  # a link may lead anywhere, a pipe may never end
        raise ValueError(f"'{path.name}' is not a plain file")


def written(folder: Path) -> tuple[int, int] | None:
    """What tells one ``index.json`` from the next that takes its place; ``None`` without one."""
    try:
        found = (folder / DESCRIPTION).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def write(
    folder: Path,
    description: Description,
    arrays: Arrays,
    kept: Mapping[str, Mapping[str, Any]] | None = None,
) -> Description:
    """Write an index; on any failure, what was there before stays as it was.

    ``kept`` are files of the index before that stay, as its description names them.
    """
    files: dict[str, Mapping[str, Any]] = dict(kept or {})
    try:
        with output_files.add_files(folder) as draft:
            paths = {name: draft / f"{name}.{description.generation}.npy" for name in arrays}
            threads = _threads(array.nbytes for array in arrays.values())
            entries = in_threads(
                lambda name: _write_array(paths[name], arrays[name]), arrays, threads
            )
            files |= zip(arrays, entries, strict=True)
        with output_files.translate_write_errors(folder):
            output_files.sync_folder(folder)
        complete = Description(**{**asdict(description), "files": files})
        _replace_description(folder, asdict(complete))
    finally:
        sweep(folder)
    return complete


def write_fit(folder: Path, generation: int, **learned: Mapping[str, Any]) -> None:
    """Note in an index what was learned from its collection, its ``fit`` and its ``background``, if
    it is still of that generation."""
    description = read_description(folder)
    now = {**asdict(description), **learned}
    if description.generation == generation and now != asdict(description):
        _replace_description(folder, now)


def _replace_description(folder: Path, values: Mapping[str, Any]) -> None:
    """Replace ``index.json``; an error of its folder says so."""
    output_files.write_own_file(folder / DESCRIPTION, json.dumps(values, indent=1))
    try:
        output_files.sync_folder(folder)
    except OSError as error:
        name = printable(folder.parent)
        raise CollectionError(
            f"cannot write {printable(folder)}: {error.strerror}. The new index is in place, but a "
            f"power failure may undo it. Check the disk, then run: citebed index {name} --rebuild"
        ) from error


def sweep(folder: Path) -> None:
    """Take away what builders left that were killed; of an index that cannot be read, nothing."""
    output_files.remove_stale_drafts(folder)
    try:
        kept = {entry["file"] for entry in read_description(folder).files.values()}
    except DamagedIndex:
        return
    except CollectionError:  # there is none yet
        kept = set()
    for path in folder.glob("*.npy"):
        if _FILE.fullmatch(path.name) and path.name not in kept:
            path.unlink(missing_ok=True)


def next_generation(folder: Path) -> int:
    """A number that no array in the folder has."""
    found = (_FILE.fullmatch(path.name) for path in folder.glob("*.npy"))
    return max((int(name[2]) for name in found if name), default=0) + 1


def _write_array(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    with path.open("wb") as handle:
        # Not numpy's own way, which writes with ``tofile``: that hides why writing failed.
        whole = np.ascontiguousarray(array)
        header = np.lib.format.header_data_from_array_1_0(whole)
        np.lib.format.write_array_header_1_0(handle, header)
        handle.write(whole.data)
        handle.flush()
        os.fsync(handle.fileno())
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": hash_file(path)}


def open_arrays(folder: Path, description: Description) -> dict[str, NDArray[Any]]:
    """The arrays, memory-mapped; a file that is missing or not of its size is an error."""
    arrays = {}
    for name, entry in description.files.items():
        path = folder / entry["file"]
        try:
            size = path.stat().st_size
            if size != entry["bytes"]:
                what = f"is damaged: {path.name} has {size:,} bytes, not {entry['bytes']:,}"
                raise DamagedIndex(folder, what)
            with translate_read_errors(path):
                with path.open("rb") as handle:
                    read_header(handle)
                # A plain array: reading items of a ``memmap`` takes three times as long.
                arrays[name] = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        except FileNotFoundError:
            raise DamagedIndex(folder, f"lacks its file {path.name}") from None
        except (ValueError, TypeError) as error:
            what = f"is damaged: {path.name} is not as it was written ({error})"
            raise DamagedIndex(folder, what) from None
    return arrays


def verify(folder: Path, description: Description) -> None:
    """Read every file and compare its hash with the one that was written down."""
    entries = sorted(description.files.values(), key=lambda entry: -int(entry["bytes"]))
    threads = _threads(int(entry["bytes"]) for entry in entries)
    for _ in in_threads(lambda entry: _verify_file(folder, entry), entries, threads):
        pass


def _threads(sizes: Iterable[int]) -> int:
    return 2 if sum(sizes) >= _MUCH else 1


def _verify_file(folder: Path, entry: Mapping[str, Any]) -> None:
    path = folder / entry["file"]
    try:
        found = hash_file(path)
    except FileNotFoundError:
        raise DamagedIndex(folder, f"lacks its file {path.name}") from None
    if found != entry["sha256"]:
        raise DamagedIndex(folder, f"is damaged: {path.name} is not as it was written")


def source_files(folder: Path) -> dict[str, Path]:
    """The files of a collection that are indexed, by name: those of its shards where these have
    them."""
    paths = (path for table in _INDEXED for path in table_paths(folder, table))
    return {str(path.relative_to(folder).with_suffix("")): path for path in paths}


def source_state(path: Path) -> dict[str, Any]:
    """What tells whether a file of the collection is still the one that was indexed."""
    found = path.stat()
    return {"bytes": found.st_size, "time": found.st_mtime_ns, "sha256": hash_file(path)}


def is_current(folder: Path, description: Description) -> bool:
    """Whether the collection's files are still those that an index was made of."""
    for name, state in description.sources.items():
        path = Path(name)
        if not path.is_absolute():
            path = folder.parent / f"{name}.parquet"
        if not is_same(path, state):
            return False
    return set(source_files(folder.parent)) <= set(description.sources)


def is_same(path: Path, state: Mapping[str, Any]) -> bool:
    """Whether the file is as it was; it is only read where its time says it may not be."""
    if not path.is_file():
        return False
    found = path.stat()
    if found.st_size != state["bytes"]:
        return False
    return bool(found.st_mtime_ns == state["time"] or hash_file(path) == state["sha256"])
