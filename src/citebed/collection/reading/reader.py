"""Reading the files of an import: which are new, what is in them, and what went wrong.

What one BibTeX file lends another (``\bibliography{strings,refs}``): strings and ``@xdata``.

The sources that a collection was read from: found by name or path; which of them are gone.
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

from citebed.collection.formats.bibtex import ONLY_STRINGS, XDATA, collect_strings, find_bare_words
from citebed.collection.formats.detection import FormatDetector
from citebed.collection.progress import Progress
from citebed.collection.reading.parsing import (
    RECORDS,
    Parsed,
    Piece,
    parse_all,
    pieces,
    read_tables,
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

_NAMES = (".bib", ".bibtex")
_HEAD_BYTES = 4 << 10
_MOST_BYTES = 1 << 20
_BLOCK_BYTES = 4 << 20
_LENT = re.compile(rb"@[ \t]*(?:string|xdata)\s*[{(]", re.IGNORECASE)
_ENTRY = re.compile(
    rb"^[ \t]*@(?!\s*(?:string|xdata|comment|preamble)\b)\s*\w+\s*[{(]", re.I | re.M
)
_BORROWS = re.compile(r"\bxdata\s*=", re.IGNORECASE)

Values = dict[str, set[str]]
"""By the name of a string, the values that files give it."""


class SharedStrings:
    """What the files of an import lend each other.

    A file may use the strings, and BibLaTeX's ``@xdata``, of those beside it, and of any that holds
    nothing else; where two of these define a name otherwise it stays undefined. Files in archives
    keep to themselves. Sources that are ``known`` from an earlier import lend to the files beside
    them, too.
    """

    def __init__(self, files: Iterable[SourceFile], known: Iterable[str] = ()) -> None:
        self._files = [file for file in files if file.name.lower().endswith(_NAMES)]
        self._used: dict[str, dict[str, str]] = {}
        here = {file.path for file in self._files}
        names = {name.rpartition("/")[2] for name in known if name.lower().endswith(_NAMES)}
        for path in sorted({path.parent / name for path in here for name in names} - here):
            self._files += [SourceFile(path, str(path))] if path.is_file() else []

    def used_by(self, file: SourceFile) -> dict[str, str]:
        """The strings of other files that ``file`` names and does not define."""
        if file.name not in self._used and file.name.lower().endswith(_NAMES):
            self._used[file.name] = self._looked_up(file)
        return self._used.get(file.name, {})

    def lends(self, name: str) -> bool:
        """Whether the file of this name defines strings."""
        return bool(self._defined.get(name))

    def _looked_up(self, file: SourceFile) -> dict[str, str]:
        own, lent = self._defined.get(file.name, {}), self._lent
        beside, anywhere = lent.get(file.path.parent, {}), lent.get(None, {})
        if beside.keys() | anywhere.keys() <= own.keys():
            return {}
        used = {}
        words = _words(file.path)
        if "xdata" in words:  # which may borrow from others in turn, and use their strings
            for name, values in (*beside.items(), *anywhere.items()):
                if name.startswith(XDATA):
                    words |= {name}.union(*map(find_bare_words, values))
        for name in sorted(words - own.keys()):
            values = {*beside.get(name, ()), *anywhere.get(name, ())}
            used.update({name: values.pop()} if len(values) == 1 else {})
        return used

    @cached_property
    def _defined(self) -> dict[str, dict[str, str]]:
        """The strings of each file that begins with some."""
        strings: dict[str, dict[str, str]] = {}
        for file in self._files:
            if _LENT.search(_head(file.path, _HEAD_BYTES)):
                collect_strings(_head(file.path, _MOST_BYTES), strings.setdefault(file.name, {}))
        return strings

    @cached_property
    def _lent(self) -> dict[Path | None, Values]:
        """The strings lent in each folder; under ``None`` those of files that hold no entry."""
        lent: dict[Path | None, Values] = {}
        for file in (file for file in self._files if self._defined.get(file.name)):
            alone = _ENTRY.search(_head(file.path, _MOST_BYTES)) is None
            for folder in (file.path.parent, *((None,) if alone else ())):
                values = lent.setdefault(folder, {})
                for name, value in self._defined[file.name].items():
                    values.setdefault(name, set()).add(value)
        return lent


def _head(path: Path, size: int) -> bytes:
    with translate_os_errors(path), path.open("rb") as file:
        return file.read(size)


def _words(path: Path) -> set[str]:
    """The bare words of a file, in lower case, which may be names of strings."""
    words: set[str] = set()
    with translate_os_errors(path), path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            text = block.decode("utf-8", "replace")
            words |= find_bare_words(text) | ({"xdata"} if _BORROWS.search(text) else set())
    return words


# --- Reading ----------------------------------------------------------------------------------


@contextmanager
def all_or_nothing(folder: Path) -> Iterator[None]:
    """An import into ``folder``: a machine without room for it is told as what ended it."""
    try:
        yield
    except CitebedError:
        raise
    except MemoryError as error:
        raise CitebedError(
            "there is not enough memory for this import. Nothing was imported; "
            "try fewer workers, or fewer sources at once."
        ) from error
    except BaseException as error:  # polars tells of a full disk in panic, too
        cause = find_system_error(error)
        if cause is None:
            raise
        raise CitebedError(
            f"cannot write to '{printable(folder)}': {error_reason(cause)}. Nothing was imported; "
            "mend that and import again."
        ) from error


@dataclass
class Reader:
    """Reads files into tables under ``folder``.

    ``known`` are the sources read before, with their hashes. After reading, ``sources`` has a
    row for each file that was read, ``problems`` what there is to say, by source, and ``copies``
    the files that were not read since another is equal to them. ``records`` are the files of the
    document records, which may be too many for memory, in the order of the sources, and
    ``problem_count`` is how many problems were found in the files' text. ``forced`` is the format
    that all files are read in, whatever they look like.
    """

    known: pl.DataFrame
    folder: Path
    only: tuple[str, ...]
    workers: int
    progress: Progress
    forced: str | None = None
    sources: list[dict[str, object]] = field(default_factory=list)
    problems: list[tuple[str, Problem]] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    records: list[Path] = field(default_factory=list)
    problem_count: int = 0

    def read(self, files: list[SourceFile], pruned: set[str]) -> Frames:
        """The tables of the files that are new or have changed, but for their document records;
        ``pruned`` ones do not count."""
        rows = self.known.select("source", "sha256", "format").rows()
        self._before = {source: (sha256, format) for source, sha256, format in rows}
        self._recogniser = FormatDetector(self.forced, (file.name for file in files))
        self._strings = SharedStrings(files, self.known["source"])
        total = sum(_size(file) for file in files)
        self.progress.step("reading", total)
        # A name of its own: a worker that outlives an import that was killed writes nowhere else.
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        parsed = self._parsed(files, pruned, folder)
        fresh = read_tables(parsed)
        self.records = [job.files[RECORDS] for job in parsed if RECORDS in job.files]
        self.problem_count = sum(job.problems for job in parsed)
        counts: Counter[str] = Counter()
        for job in parsed:
            counts.update(job.counts)
        tops: Counter[str] = Counter()
        for source, count in counts.items():
            tops[_top(source)] += count
        unfinished = {_top(source) for job in parsed for source in job.unread}
        for row in self.sources:
            row["records"] = tops[str(row["source"])]
            if row["source"] in unfinished:
                row["sha256"] = ""  # so that it is read again
        self._tell_of_silent(counts, fresh)
        return fresh

    def _parsed(self, files: list[SourceFile], pruned: set[str], folder: Path) -> list[Parsed]:
        """What is in the files that are to be read, as tables under ``folder``."""
        return parse_all(self._pieces(files, pruned), folder, self.workers)

    def _tell_of_silent(self, counts: Counter[str], fresh: Frames) -> None:
        """No source goes without a word: one that gave neither records nor problems gets one."""
        noted = {source for source, _ in self.problems}
        noted.update(fresh["problems"]["source"] if "problems" in fresh else ())
        silent = [source for source, count in counts.items() if not count and source not in noted]
        if not self.only:
            heard = {_top(source) for source in (*noted, *counts)}
            silent += [str(row["source"]) for row in self.sources if row["source"] not in heard]
        for source in silent:
            what = ONLY_STRINGS if self._strings.lends(source) else "no record was found in it"
            self.problems.append((source, Problem(1, what, "ignored")))

    def _pieces(self, files: list[SourceFile], pruned: set[str]) -> Iterator[Piece]:
        for file, row in self._to_read(files, pruned):
            formats: dict[str, None] = {}
            lent = self._strings.used_by(file)
            for found in pieces_of(file, self._recogniser, self.only, lent, self.progress.add):
                if isinstance(found, Piece):
                    formats[found.format] = None
                    yield found
                else:
                    self.problems.append(found)
            self.sources.append({**row, "format": ", ".join(formats)})

    def _to_read(
        self, files: list[SourceFile], pruned: set[str]
    ) -> Iterator[tuple[SourceFile, dict[str, object]]]:
        """The files that are new or have changed, each with what is known of it as a source."""
        hashes = dict(self.known.select("source", "sha256").iter_rows())
        digests = {file.name: self._digest(file) for file in files if file.name in hashes}
        stale = pruned | {name for name, digest in digests.items() if hashes[name] != digest}
        contents = {digest: name for name, digest in hashes.items() if name not in stale}
        for file in files:
            size = _size(file)
            digest = digests.get(file.name) or self._digest(file)
            is_copy = file.name not in hashes and digest in contents
            if is_copy or hashes.get(file.name) == digest:
                self.copies += [(file.name, contents[digest])] if is_copy else []
                self.progress.add(size)
                continue
            contents[digest] = file.name
            yield file, {"source": file.name, "sha256": digest, "bytes": size, "records": 0}

    def _digest(self, file: SourceFile) -> str:
        """The hash of what is read of a file: of what it is lent and how it is read, too.

        A file that was read in a forced format stays so until it changes.
        """
        digest = self._hash(file)
        if lent := self._strings.used_by(file):
            digest = hashlib.sha256(f"{digest}{lent}".encode()).hexdigest()
        known, format = self._before.get(file.name, ("", ""))
        again = self._digest_of(digest, format)
        return again if again == known and not self.forced else self._digest_of(digest, self.forced)

    def _hash(self, file: SourceFile) -> str:
        with translate_os_errors(file.path):
            return hash_file(file.path)

    def _digest_of(self, digest: str, format: str | None) -> str:
        how = sorted(self.only) + ([f"format {format}"] if format else [])
        return hashlib.sha256("\n".join([digest, *how]).encode()).hexdigest() if how else digest


def pieces_of(
    file: SourceFile,
    recogniser: FormatDetector,
    only: Sequence[str],
    lent: Mapping[str, str],
    on_read: Callable[[int], None] = lambda _: None,
) -> Iterator[Piece | tuple[str, Problem]]:
    """The pieces of a file, and of those in it whose names are like one of ``only``; and what could
    not be read, by source. ``lent`` are BibTeX's strings of other files."""
    try:
        for member in members(file.path, file.name, on_read):
            if isinstance(member, Problem):
                yield file.name, member
            elif not only or any(fnmatch.fnmatchcase(member.name, f"*{like}") for like in only):
                strings = lent if member.name == file.name else {}
                for piece in pieces(member, recogniser, strings):
                    yield piece if isinstance(piece, Piece) else (member.name, piece)
    except BAD_DATA as error:
        yield file.name, Problem(1, f"could not be read to the end: {error}")


def _top(source: str) -> str:
    """The file on disk that a source is (in)."""
    return source.partition("!")[0]


def _size(file: SourceFile) -> int:
    with translate_os_errors(file.path):
        return file.path.stat().st_size


# --- Sources read before ----------------------------------------------------------------------


_MOST_LISTED = 20


@dataclass(frozen=True)
class KnownSources:
    """The names of the files that the collection at ``folder`` was read from."""

    folder: Path
    names: SourceNames
    sources: tuple[str, ...]

    def under(self, root: str) -> list[str]:
        """The sources that are, or are below, a path that was given by this name."""
        return [
            name
            for name in self.sources
            if name == root
            or name.startswith(f"{root}/")
            or (root == "." and self.names.where(name) is not None)
        ]

    def named(self, wanted: Iterable[str | Path]) -> list[str]:
        """The sources that a user names, by their names or paths; an unknown one is an error."""
        items: list[str] = []
        for source in wanted:
            under = self.under(str(source).rstrip("/")) or self.under(self.names.of(source))
            if not under:
                few = len(self.sources) <= _MOST_LISTED  # else the folders and files at the top
                tops = {name.partition("/")[0] for name in self.sources}
                raise UnknownName("source", printable(source), self.sources if few else tops)
            items += under
        return items

    def still_there(self, paths: list[str | Path], *, prune: bool) -> list[str | Path]:
        """The paths to read; one that was imported before and is gone can only be pruned."""
        missing = [path for path in paths if not os.path.exists(path)]
        gone = [path for path in missing if self.under(self.names.of(path))]
        if gone and not prune:
            forget = f"citebed forget {printable(self.folder)} {self.names.of(gone[0])}"
            raise CitebedError(
                f"{printable(gone[0])} is no longer there. Its documents are still in the "
                f"collection; to take them out: {forget}, or import with --prune."
            )
        return [path for path in paths if path not in gone]

    def refuse_empty(self, paths: list[str | Path], files: set[str]) -> None:
        """Raise for a folder in which there is nothing to read, now or when it was imported."""
        for path in paths:
            if not os.path.isdir(path):
                continue
            root = self.names.of(path)
            inside = [name for name in files if root == "." or name.startswith(f"{root}/")]
            if not inside and not self.under(root):
                raise CitebedError(_nothing_in(Path(path)))

    def elsewhere(self, roots: list[str]) -> list[str]:
        """Sources of whose place only a hash is known, and that are not under a path given."""
        named = {name for root in roots for name in self.under(root)}
        return [n for n in self.sources if n not in named and self.names.where(n) is None]

    def gone(self, here: set[str], roots: list[str], *, prune: bool) -> list[str]:
        """Sources that are no longer there: under a path given now, or (with ``prune``) wherever
        that can be told."""
        lost = {name for root in roots for name in self.under(root)} - here
        if prune:
            places = ((name, self.names.where(name)) for name in self.sources)
            lost |= {name for name, place in places if place and not os.path.exists(place)}
        return sorted(lost)


def _nothing_in(folder: Path) -> str:
    """What to say of a folder that has no file to read."""
    name = printable(folder)
    if (folder / "citebed.toml").exists():
        return f"'{name}' is a collection of its own; name the files that it was made of."
    more = "hidden files, and collections of citebed's, are passed over"
    return f"there is no file to read in the folder '{name}' ({more}). Nothing was changed."
