"""The index on disk: ``.npy`` files and ``index.json``, which lists and describes them.

A new index is written beside the old one, and replacing ``index.json`` switches to its files in one
step. A process that has the old files open keeps them. A collection may
come from a stranger: citebed reads and removes only files of an index, and follows no link.
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
from citebed.retrieval.index.arrays import in_threads
from citebed.retrieval.index.records import RECORD_ARRAYS
from citebed.retrieval.vectors.model_files import Arrays, read_header
from citebed.wording import printable

FORMAT = 1
FOLDER = "index"
DESCRIPTION = "index.json"
SHARDS_DESCRIPTION = "shards.json"
"""Describes the indexes of a collection's shards."""
FIELDS = ("title", "abstract", "keywords", "fulltext", "citing")
"""The fields of a document, indexed separately; ``citing`` is what other papers say about it."""

_SOURCE_TABLES = ("documents", "sections", "contexts")
_FILE = re.compile(r"([a-z]+(?:\.[a-z]+)*)\.([0-9]{1,18})\.npy")
"""Name and generation of an array."""
_LARGE = 16 << 20
"""From this many bytes on, files are written and verified in two threads."""
_BATCH = 1 << 23
"""Postings that are checked at a time."""


class DamagedIndex(CollectionError):
    """An index that cannot be used. It can always be rebuilt from the collection."""

    def __init__(self, folder: Path, what: str) -> None:
        self.what = what
        name = printable(folder.parent)
        super().__init__(f"the index {what}. Rebuild it with: citebed index {name}")


@dataclass(frozen=True)
class Description:
    """The contents of ``index.json``."""

    analyser: str
    documents: int
    terms: int
    postings: int
    citing_papers: int
    citing_sources: tuple[str, ...]
    sources: Mapping[str, Mapping[str, Any]]
    """The indexed files of the collection, with size, time and hash."""
    hashing: str
    """How documents were hashed. If that changes, the next build starts from scratch."""
    citebed: str
    generation: int = 1
    format: int = FORMAT
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vectors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The vector models by kind; empty in an index of the first versions."""
    fit: Mapping[str, Any] = field(default_factory=dict)
    """Ranking weights fitted to the collection; empty in an index of earlier versions."""


def vector_arrays(kind: str) -> tuple[str, str]:
    """Return the names of two arrays: the vectors of a kind, and their scales."""
    return f"vectors.{kind}", f"vectors.{kind}.scales"


# --- reading ------------------------------------------------------------------------------------


def read_description(folder: Path) -> Description:
    """Return the index's description. Raise if it is missing or has another format."""
    path = folder / DESCRIPTION
    if not os.path.lexists(path):
        name = printable(folder.parent)
        advice = f"Build it with: citebed index {name}"
        if os.path.lexists(folder / SHARDS_DESCRIPTION):
            advice = (
                f"Its shards have one: search with --on local, or build one: citebed index {name}"
            )
        if not os.access(folder.parent, os.W_OK):
            advice = "The folder is read-only: build one in a copy of it, with citebed index"
        raise CollectionError(f"{name} has no index yet. {advice}")
    try:
        _check_plain_file(path)
        values = json.loads(read_small(path))
        if values["format"] != FORMAT:
            what = f"has format {values['format']!r}, this citebed reads {FORMAT}"
            raise DamagedIndex(folder, what)
        values["citing_sources"] = tuple(values["citing_sources"])
        values.pop("background", None)  # which earlier versions wrote
        description = Description(**values)
        _check_description(folder, description)
    except (
        *(ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError),
        FormatError,
    ) as error:
        raise DamagedIndex(folder, f"is damaged ({DESCRIPTION}: {error})") from None
    return description


def _check_description(folder: Path, description: Description) -> None:
    """Raise if a value has another type, or if a file name does not belong to an index."""
    for name in ("documents", "terms", "postings", "citing_papers", "generation"):
        count = getattr(description, name)
        if type(count) is not int or count < 0:
            raise ValueError(f"'{name}' is not a count")
    for name, entry in description.files.items():
        match = _FILE.fullmatch(entry["file"])
        if match is None or match[1] != name or int(match[2]) > description.generation:
            raise ValueError(f"'{printable(entry['file'])}' is not a file of an index")
        _check_plain_file(folder / entry["file"])
        int(entry["bytes"]), str.encode(entry["sha256"])
    for state in description.sources.values():
        int(state["bytes"]), int(state["time"]), str.encode(state["sha256"])
    for about in description.vectors.values():
        int(about["width"]), int(about.get("missing", 0))
        str.encode(about["fingerprint"]), str.encode(about["name"])
    if not all(isinstance(name, str) for name in description.fit):
        raise ValueError("'fit' must have names")
    if not all(isinstance(name, str) for name in (description.analyser, description.hashing)):
        raise ValueError("'analyser' and 'hashing' must be text")


def _check_plain_file(path: Path) -> None:
    if not output_files.is_plain_or_missing(
        path
    ):  # a link may lead anywhere, and reading a pipe may never end
        raise ValueError(f"'{path.name}' is not a plain file")


def description_version(folder: Path) -> tuple[int, int] | None:
    """Return a value that changes whenever ``index.json`` is replaced; ``None`` without one."""
    try:
        found = (folder / DESCRIPTION).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def open_arrays(folder: Path, description: Description) -> dict[str, NDArray[Any]]:
    """Map all arrays into memory. Raise if a file is missing or has another size."""
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
            what = f"is damaged: {path.name} was changed after it was written ({error})"
            raise DamagedIndex(folder, what) from None
    return arrays


def verify_files(folder: Path, description: Description) -> None:
    """Compare the hash of every file with the one in ``index.json``."""

    def verify(entry: Mapping[str, Any]) -> None:
        path = folder / entry["file"]
        try:
            found = hash_file(path)
        except FileNotFoundError:
            raise DamagedIndex(folder, f"lacks its file {path.name}") from None
        if found != entry["sha256"]:
            raise DamagedIndex(folder, f"is damaged: {path.name} was changed after it was written")

    entries = sorted(description.files.values(), key=lambda entry: -int(entry["bytes"]))
    for _ in in_threads(verify, entries, _threads(int(entry["bytes"]) for entry in entries)):
        pass


def _threads(sizes: Iterable[int]) -> int:
    return 2 if sum(sizes) >= _LARGE else 1


# --- writing ------------------------------------------------------------------------------------


def write(
    folder: Path,
    description: Description,
    arrays: Arrays,
    kept: Mapping[str, Mapping[str, Any]] | None = None,
) -> Description:
    """Write an index, and return its description with all files. On any failure the old one stays.

    ``kept``: entries of files of the old index that the new one keeps.
    """
    files: dict[str, Mapping[str, Any]] = dict(kept or {})
    try:
        with output_files.add_files(folder) as draft:
            threads = _threads(array.nbytes for array in arrays.values())
            paths = {name: draft / f"{name}.{description.generation}.npy" for name in arrays}
            entries = in_threads(
                lambda name: _write_array(paths[name], arrays[name]), arrays, threads
            )
            files |= zip(arrays, entries, strict=True)
        with output_files.translate_write_errors(folder):
            output_files.sync_folder(folder)
        complete = Description(**{**asdict(description), "files": files})
        _replace_description(folder, asdict(complete))
    finally:
        remove_leftovers(folder)
    return complete


def _write_array(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    with path.open("wb") as handle:
        # ``np.save`` would call ``tofile``, which hides why writing failed.
        whole = np.ascontiguousarray(array)
        header = np.lib.format.header_data_from_array_1_0(whole)
        np.lib.format.write_array_header_1_0(handle, header)
        handle.write(whole.data)
        handle.flush()
        os.fsync(handle.fileno())
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": hash_file(path)}


def write_fit(folder: Path, generation: int, fit: Mapping[str, Any]) -> None:
    """Store fitted weights in an index, if it still has that generation."""
    description = read_description(folder)
    if description.generation == generation and description.fit != fit:
        _replace_description(folder, {**asdict(description), "fit": fit})


def _replace_description(folder: Path, values: Mapping[str, Any]) -> None:
    output_files.write_own_file(folder / DESCRIPTION, json.dumps(values, indent=1))
    try:
        output_files.sync_folder(folder)
    except OSError as error:
        name = printable(folder.parent)
        raise CollectionError(
            f"cannot write {printable(folder)}: {error.strerror}. The new index is in place, but a "
            f"power failure may undo it. Check the disk, then run: citebed index {name} --rebuild"
        ) from error


def remove_leftovers(folder: Path) -> None:
    """Remove what killed builders left behind. If the index cannot be read, remove no array."""
    output_files.remove_stale_drafts(folder)
    try:
        used = {entry["file"] for entry in read_description(folder).files.values()}
    except DamagedIndex:
        return
    except CollectionError:  # no index yet
        used = set()
    for path in folder.glob("*.npy"):
        if _FILE.fullmatch(path.name) and path.name not in used:
            path.unlink(missing_ok=True)


def next_generation(folder: Path) -> int:
    """Return a generation that no array in the folder has."""
    matches = (_FILE.fullmatch(path.name) for path in folder.glob("*.npy"))
    return max((int(match[2]) for match in matches if match), default=0) + 1


# --- source files -------------------------------------------------------------------------------


def source_files(folder: Path) -> dict[str, Path]:
    """Return the indexed files of a collection and its shards by name."""
    paths = (path for table in _SOURCE_TABLES for path in table_paths(folder, table))
    return {str(path.relative_to(folder).with_suffix("")): path for path in paths}


def source_states(folder: Path, citing: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return size, time and hash of the indexed files of a collection and of contexts files."""
    states = {}
    paths = source_files(folder) | {os.path.realpath(path): path for path in citing}
    for name, path in paths.items():
        found = path.stat()
        size, time = found.st_size, found.st_mtime_ns
        states[name] = {"bytes": size, "time": time, "sha256": hash_file(path)}
    return states


def is_current(folder: Path, description: Description) -> bool:
    """Return True if the collection still has exactly the files that were indexed.

    A file is read and hashed only if its time has changed and its size has not.
    """
    for name, state in description.sources.items():
        path = Path(name)
        if not path.is_absolute():
            path = folder.parent / f"{name}.parquet"
        if not path.is_file():
            return False
        found = path.stat()
        if found.st_size != state["bytes"]:
            return False
        if found.st_mtime_ns != state["time"] and hash_file(path) != state["sha256"]:
            return False
    return set(source_files(folder.parent)) <= set(description.sources)


# --- values -------------------------------------------------------------------------------------


def check_arrays(arrays: Arrays, description: Description) -> None:
    """Raise a ``ValueError`` that names an array whose values point outside the index.

    Compiled code follows these values without checks of its own. Checksums reveal accidental
    changes, but an index that a stranger made has correct checksums whatever it contains.
    """
    check = _ArrayChecks(arrays)
    documents, papers = description.documents, description.citing_papers
    postings = len(arrays["docs"])
    check.strings("ids", documents)
    check.strings("terms", description.terms)
    check.offsets("offsets", description.terms, check.numbers("docs", documents))
    check.rising("docs", arrays["offsets"])
    check.length("hashes", documents, np.uint64)
    for name in FIELDS:
        if f"tf.{name}" in arrays:
            check.length(f"length.{name}", documents, np.uint32)
            count = postings
            if f"tf.{name}.at" in arrays:
                check.rising(f"tf.{name}.at", np.zeros(0, np.int64))
                count = check.numbers(f"tf.{name}.at", postings)
            check.length(f"tf.{name}", count, np.unsignedinteger)
    years, pages, authors, starts = RECORD_ARRAYS
    if years in arrays:
        check.length(years, documents, np.int32)
        check.length(pages, documents, np.uint8)
        check.require((arrays[pages] > 0).all(), pages, "a paper has pages")
        check.offsets(starts, documents, check.numbers(authors, len(arrays[authors])))
    if "papers" in arrays:
        check.strings("papers", papers)
        check.offsets("share.offsets", papers, check.numbers("share.postings", postings))
        shares = check.numbers("share.lengths.docs", documents)
        check.offsets("share.lengths.offsets", papers, shares)
        check.length("share.times", len(arrays["share.postings"]), np.unsignedinteger)
        check.length("share.lengths", shares, np.unsignedinteger)
    for kind, about in description.vectors.items():
        check.vectors(kind, (documents, about["width"]))
    if "citing.docs" in arrays:
        count = check.numbers("citing.docs", documents)
        falls = np.diff(arrays["citing.docs"].astype(np.int64)) < 0
        check.require(not falls.any(), "citing.docs", "they fall")
        check.numbers("citing.papers", papers)
        check.length("citing.papers", count, np.uint32)
        check.length("citing.years", papers, np.int32)
        check.strings("citing.text", count)
        check.vectors("citing", (count, description.vectors["static"]["width"]))


@dataclass(frozen=True)
class _ArrayChecks:
    """Checks of single arrays, by name."""

    arrays: Arrays

    def require(self, holds: Any, name: str, what: str) -> None:
        if not holds:
            raise ValueError(f"the numbers of '{name}' are invalid: {what}")

    def length(self, name: str, count: int, kind: type[np.generic]) -> None:
        array = self.arrays[name]
        is_kind = array.ndim == 1 and np.issubdtype(array.dtype, kind)
        self.require(is_kind, name, "they have another type")
        self.require(len(array) == count, name, f"there are {len(array):,}, not {count:,}")

    def numbers(self, name: str, limit: int) -> int:
        """Check that all numbers are below ``limit``; return how many there are."""
        array = self.arrays[name]
        self.length(name, len(array), np.uint32)
        is_below = int(array.max(initial=0)) < max(limit, 1)
        self.require(is_below, name, f"not all are below {limit:,}")
        self.require(limit > 0 or not len(array), name, "there is nothing to number")
        return len(array)

    def offsets(self, name: str, count: int, size: int) -> None:
        self.length(name, count + 1, np.int64)
        offsets = self.arrays[name]
        spans_all = offsets[0] == 0 and offsets[-1] == size
        self.require(spans_all, name, "they do not span the whole array")
        self.require(not (offsets[1:] < offsets[:-1]).any(), name, "they do not rise")

    def rising(self, name: str, starts: NDArray[np.int64]) -> None:
        """Check that numbers fall only where a new span starts."""
        array = self.arrays[name]
        for first in range(0, len(array) - 1, _BATCH):
            part = array[first : first + _BATCH + 1]
            falls = np.flatnonzero(part[1:] <= part[:-1]) + (first + 1)
            at = np.searchsorted(starts, falls)
            are_starts = bool((at < len(starts)).all()) and bool((starts[at] == falls).all())
            self.require(are_starts, name, "they do not rise")

    def strings(self, name: str, count: int) -> None:
        blob = self.arrays[name]
        self.length(name, len(blob), np.uint8)
        self.offsets(f"{name}.offsets", count, len(blob))
        blob.tobytes().decode("utf-8", "surrogatepass")
        offsets = self.arrays[f"{name}.offsets"]
        starts = blob[offsets[offsets < len(blob)]]
        self.require(not (starts & 0xC0 == 0x80).any(), name, "a text begins within a character")

    def vectors(self, kind: str, shape: tuple[int, int]) -> None:
        rows, scales = vector_arrays(kind)
        found, values = self.arrays[rows], self.arrays[scales]
        self.require(found.dtype == np.int8, rows, "they have another type")
        self.require(found.shape == shape, rows, f"their shape is {found.shape}, not {shape}")
        self.length(scales, shape[0], np.float32)
        are_valid = ((values >= 0) & (values <= 1)).all()
        self.require(are_valid, scales, "they do not fit vectors of length 1")
