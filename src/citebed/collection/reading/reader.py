"""Reading the files of an import: which are new, what they contain, and which problems they have.

It also shares BibTeX strings between the files of an import (``\\bibliography{strings,refs}``), and
finds the sources of earlier imports by name or path, and those that are missing.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from citebed.collection.formats.bibtex import (
    ONLY_STRINGS,
    XDATA,
    collect_strings,
    find_bare_words,
    is_bibtex_name,
)
from citebed.collection.formats.detection import FormatDetector
from citebed.collection.progress import Progress
from citebed.collection.reading.parser import (
    RECORDS,
    ParsedJob,
    Piece,
    parse_all,
    read_tables,
    split_member,
)
from citebed.collection.reading.sources import (
    BAD_DATA,
    SourceFile,
    SourceNames,
    members,
    translate_os_errors,
)
from citebed.collection.tables import Frames
from citebed.errors import CitebedError, UnknownName
from citebed.files.input_files import hash_file
from citebed.files.system_errors import error_reason, find_system_error
from citebed.records import Problem
from citebed.wording import printable

_HEAD_BYTES = 4 << 10
_DEFINITIONS_BYTES = 1 << 20
_BLOCK_BYTES = 4 << 20
_DEFINITION = re.compile(rb"@[ \t]*(?:string|xdata)\s*[{(]", re.IGNORECASE)
_ENTRY = re.compile(
    rb"^[ \t]*@(?!\s*(?:string|xdata|comment|preamble)\b)\s*\w+\s*[{(]", re.I | re.M
)
_INHERITS = re.compile(r"\bxdata\s*=", re.IGNORECASE)

Definitions = dict[str, set[str]]
"""The values that files define for a string, by its name; more than one if files differ."""


class SharedStrings:
    """Strings and BibLaTeX's ``@xdata`` that the files of an import share.

    A file may use the definitions of files in its folder, and of any file that has only
    definitions. A name that two of these define differently stays undefined. Files in archives do
    not share. Files of an earlier import (``known``) share with the files in their folder, too.
    """

    def __init__(self, files: Iterable[SourceFile], earlier_names: Iterable[str] = ()) -> None:
        self._files = [file for file in files if is_bibtex_name(file.name)]
        self._used: dict[str, dict[str, str]] = {}
        paths = {file.path for file in self._files}
        names = {name.rpartition("/")[2] for name in earlier_names if is_bibtex_name(name)}
        for path in sorted({path.parent / name for path in paths for name in names} - paths):
            self._files += [SourceFile(path, str(path))] if path.is_file() else []

    def find_used(self, file: SourceFile) -> dict[str, str]:
        """Return the strings of other files that a file uses and does not define, and what else its
        reader needs to know."""
        if file.name not in self._used and is_bibtex_name(file.name):
            self._used[file.name] = self._find_used(file)
        return {**self._used.get(file.name, {}), **file.context}

    def has_strings(self, name: str) -> bool:
        """Return True if the file of this name defines strings."""
        return bool(self._defined.get(name))

    def _find_used(self, file: SourceFile) -> dict[str, str]:
        own, shared = self._defined.get(file.name, {}), self._shared
        nearby, anywhere = shared.get(file.path.parent, {}), shared.get(None, {})
        if nearby.keys() | anywhere.keys() <= own.keys():
            return {}
        words: set[str] = set()  # bare words may be names of strings
        with translate_os_errors(file.path), file.path.open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                text = block.decode("utf-8", "replace")
                words |= find_bare_words(text) | ({"xdata"} if _INHERITS.search(text) else set())
        if "xdata" in words:  # an @xdata entry may refer to others, and use their strings
            for name, values in (*nearby.items(), *anywhere.items()):
                if name.startswith(XDATA):
                    words |= {name}.union(*map(find_bare_words, values))
        used = {}
        for name in sorted(words - own.keys()):
            values = {*nearby.get(name, ()), *anywhere.get(name, ())}
            used.update({name: values.pop()} if len(values) == 1 else {})
        return used

    @cached_property
    def _defined(self) -> dict[str, dict[str, str]]:
        """Return the strings of each file that begins with string definitions."""
        strings: dict[str, dict[str, str]] = {}
        for file in self._files:
            if _DEFINITION.search(_read_head(file.path, _HEAD_BYTES)):
                own = strings.setdefault(file.name, {})
                collect_strings(_read_head(file.path, _DEFINITIONS_BYTES), own)
        return strings

    @cached_property
    def _shared(self) -> dict[Path | None, Definitions]:
        """Return the strings that each folder shares; ``None`` has those of files without entry."""
        shared: dict[Path | None, Definitions] = {}
        for file in (file for file in self._files if self._defined.get(file.name)):
            is_without_entry = _ENTRY.search(_read_head(file.path, _DEFINITIONS_BYTES)) is None
            for folder in (file.path.parent, *((None,) if is_without_entry else ())):
                values = shared.setdefault(folder, {})
                for name, value in self._defined[file.name].items():
                    values.setdefault(name, set()).add(value)
        return shared


def _read_head(path: Path, size: int) -> bytes:
    with translate_os_errors(path), path.open("rb") as file:
        return file.read(size)


# --- Reading ----------------------------------------------------------------------------------


@contextmanager
def report_resource_errors(folder: Path) -> Iterator[None]:
    """Raise ``CitebedError`` if an import into ``folder`` runs out of memory or disk space."""
    try:
        yield
    except CitebedError:
        raise
    except MemoryError as error:
        raise CitebedError(
            "there is not enough memory for this import. Nothing was imported; "
            "try fewer workers, or fewer sources at once."
        ) from error
    except BaseException as error:  # polars also panics on a full disk
        cause = find_system_error(error)
        if cause is None:
            raise
        raise CitebedError(
            f"cannot write to '{printable(folder)}': {error_reason(cause)}. Nothing was imported. "
            "Fix this and import again."
        ) from error


@dataclass
class Reader:
    """Reads files into tables under ``folder``.

    ``source_table`` has the sources of earlier imports, with their hashes. ``forced_format`` is one
    for all files. After reading, ``sources`` has a row for each file that was read, ``problems``
    the problems by source, and ``copies`` the files that were skipped because they equal another.
    ``record_files`` have the document records (which may not fit into memory), in the order of the
    sources. ``format_problem_count`` counts the problems that the formats reported.
    """

    source_table: pl.DataFrame
    folder: Path
    only: tuple[str, ...]
    workers: int
    progress: Progress
    forced_format: str | None = None
    sources: list[dict[str, object]] = field(default_factory=list)
    problems: list[tuple[str, Problem]] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    record_files: list[Path] = field(default_factory=list)
    format_problem_count: int = 0

    def read(self, files: list[SourceFile], pruned: set[str]) -> Frames:
        """Return the tables of new and changed files, except for their document records.

        ``pruned`` sources count as unknown.
        """
        rows = self.source_table.select("source", "sha256", "format").rows()
        self._known_hashes = {source: (sha256, format) for source, sha256, format in rows}
        self._detector = FormatDetector(self.forced_format, (file.name for file in files))
        self._strings = SharedStrings(files, self.source_table["source"])
        total = sum(_size(file) for file in files)
        self.progress.step("reading", total)
        # A unique name: a worker may outlive an import that was killed.
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        parsed = self._parse_files(files, pruned, folder)
        fresh = read_tables(parsed)
        self.record_files = [job.files[RECORDS] for job in parsed if RECORDS in job.files]
        self.format_problem_count = sum(job.problems for job in parsed)
        counts: Counter[str] = Counter()
        for job in parsed:
            counts.update(job.counts)
        record_counts: Counter[str] = Counter()
        for source, count in counts.items():
            record_counts[_file_on_disk(source)] += count
        unfinished = {_file_on_disk(source) for job in parsed for source in job.unread}
        for row in self.sources:
            row["records"] = record_counts[str(row["source"])]
            if row["source"] in unfinished:
                row["sha256"] = ""  # so that it is read again
        reported = {name for name, _ in self.problems}
        reported.update(fresh["problems"]["source"] if "problems" in fresh else ())
        empty = [name for name, count in counts.items() if not count and name not in reported]
        if not self.only:
            covered = {_file_on_disk(name) for name in (*reported, *counts)}
            empty += [str(row["source"]) for row in self.sources if row["source"] not in covered]
        for name in empty:
            what = ONLY_STRINGS if self._strings.has_strings(name) else "no record was found in it"
            self.problems.append((name, Problem(1, what, "ignored")))
        return fresh

    def _parse_files(
        self, files: list[SourceFile], pruned: set[str], folder: Path
    ) -> list[ParsedJob]:
        """Parse new and changed files into tables under ``folder``."""
        return parse_all(self._pieces(files, pruned), folder, self.workers)

    def _pieces(self, files: list[SourceFile], pruned: set[str]) -> Iterator[Piece]:
        for file, row in self._select_changed(files, pruned):
            formats: dict[str, None] = {}
            shared = self._strings.find_used(file)
            for piece in split_file(file, self._detector, self.only, shared, self.progress.add):
                if isinstance(piece, Piece):
                    formats[piece.format] = None
                    yield piece
                else:
                    self.problems.append(piece)
            self.sources.append({**row, "format": ", ".join(formats)})

    def _select_changed(
        self, files: list[SourceFile], pruned: set[str]
    ) -> Iterator[tuple[SourceFile, dict[str, object]]]:
        """Yield the new and changed files, each with its row in the table of sources."""
        hashes = dict(self.source_table.select("source", "sha256").iter_rows())
        digests = {file.name: self._digest_of(file) for file in files if file.name in hashes}
        stale = pruned | {name for name, digest in digests.items() if hashes[name] != digest}
        name_of_hash = {digest: name for name, digest in hashes.items() if name not in stale}
        for file in files:
            size = _size(file)
            digest = digests.get(file.name) or self._digest_of(file)
            is_copy = file.name not in hashes and digest in name_of_hash
            if is_copy or hashes.get(file.name) == digest:
                self.copies += [(file.name, name_of_hash[digest])] if is_copy else []
                self.progress.add(size)
                continue
            name_of_hash[digest] = file.name
            yield file, {"source": file.name, "sha256": digest, "bytes": size, "records": 0}

    def _digest_of(self, file: SourceFile) -> str:
        """Return the hash of a file, of the strings it uses and of the options that read it.

        A file that was read in a forced format is unchanged for imports without that option.
        """
        digest = self._hash_file(file)
        if shared := self._strings.find_used(file):
            digest = hashlib.sha256(f"{digest}{shared}".encode()).hexdigest()
        known_hash, format = self._known_hashes.get(file.name, ("", ""))
        hash_as_before = self._add_options(digest, format)
        if hash_as_before == known_hash and not self.forced_format:
            return hash_as_before
        return self._add_options(digest, self.forced_format)

    def _hash_file(self, file: SourceFile) -> str:
        with translate_os_errors(file.path):
            return hash_file(file.path)

    def _add_options(self, digest: str, format: str | None) -> str:
        options = sorted(self.only) + ([f"format {format}"] if format else [])
        text = "\n".join([digest, *options])
        return hashlib.sha256(text.encode()).hexdigest() if options else digest


def split_file(
    file: SourceFile,
    detector: FormatDetector,
    only: Sequence[str],
    shared: Mapping[str, str],
    on_read: Callable[[int], None] = lambda _: None,
) -> Iterator[Piece | tuple[str, Problem]]:
    """Yield the pieces of a file and of the files in it, and problems by source.

    ``only`` are patterns for the names to read, ``shared`` BibTeX strings of other files.
    """
    try:
        for member in members(file.path, file.name, on_read):
            if isinstance(member, Problem):
                yield file.name, member
            elif not only or any(fnmatch.fnmatchcase(member.name, f"*{like}") for like in only):
                strings = shared if member.name == file.name else {}
                for piece in split_member(member, detector, strings):
                    yield piece if isinstance(piece, Piece) else (member.name, piece)
    except BAD_DATA as error:
        yield file.name, Problem(1, f"could not be read to the end: {error}")


def _file_on_disk(source: str) -> str:
    return source.partition("!")[0]


def _size(file: SourceFile) -> int:
    with translate_os_errors(file.path):
        return file.path.stat().st_size


# --- Sources of earlier imports --------------------------------------------------------------


_MAX_LISTED = 20


@dataclass(frozen=True)
class KnownSources:
    """The sources that the collection at ``folder`` was imported from."""

    folder: Path
    names: SourceNames
    sources: tuple[str, ...]

    def under(self, root: str) -> list[str]:
        """Return the sources with this name and those below it."""
        return [
            name
            for name in self.sources
            if name == root
            or name.startswith(f"{root}/")
            or (root == "." and self.names.path_of(name) is not None)
        ]

    def find_named(self, wanted: Iterable[str | Path]) -> list[str]:
        """Return the sources that a user gives by name or path; raise if one is unknown."""
        items: list[str] = []
        for source in wanted:
            under = self.under(str(source).rstrip("/")) or self.under(self.names.name_of(source))
            if not under:
                top_names = {name.partition("/")[0] for name in self.sources}
                listed = self.sources if len(self.sources) <= _MAX_LISTED else top_names
                raise UnknownName("source", printable(source), listed)
            items += under
        return items

    def drop_missing(self, paths: list[str | Path], *, prune: bool) -> list[str | Path]:
        """Return the paths to read; raise if a source is missing, unless it is to be pruned."""
        missing = [path for path in paths if not os.path.exists(path)]
        gone = [path for path in missing if self.under(self.names.name_of(path))]
        if gone and not prune:
            forget = f"citebed forget {printable(self.folder)} {self.names.name_of(gone[0])}"
            raise CitebedError(
                f"{printable(gone[0])} is no longer there. Its documents are still in the "
                f"collection; to take them out: {forget}, or import with --prune."
            )
        return [path for path in paths if path not in gone]

    def check_folders(self, paths: list[str | Path], files: set[str]) -> None:
        """Raise if a folder has nothing to read, and had nothing at earlier imports."""
        for path in paths:
            if not os.path.isdir(path):
                continue
            root = self.names.name_of(path)
            inside = [name for name in files if root == "." or name.startswith(f"{root}/")]
            if not inside and not self.under(root):
                raise CitebedError(_describe_empty_folder(Path(path)))

    def find_unlocatable(self, roots: list[str]) -> list[str]:
        """Return the sources not below ``roots`` whose path citebed knows only as a hash."""
        named = {name for root in roots for name in self.under(root)}
        return [n for n in self.sources if n not in named and self.names.path_of(n) is None]

    def find_missing(self, found: set[str], roots: list[str], *, prune: bool) -> list[str]:
        """Return the missing sources below ``roots``; with ``prune``, also any other."""
        lost = {name for root in roots for name in self.under(root)} - found
        if prune:
            known_paths = ((name, self.names.path_of(name)) for name in self.sources)
            lost |= {name for name, path in known_paths if path and not os.path.exists(path)}
        return sorted(lost)


def _describe_empty_folder(folder: Path) -> str:
    name = printable(folder)
    if (folder / "citebed.toml").exists():
        return f"'{name}' is itself a collection. Give the files that it was imported from."
    more = "citebed skips hidden files and collections"
    return f"there is no file to read in the folder '{name}' ({more}). Nothing was changed."
