"""Keep a collection and its index current while files change.

The system reports that something changed; sizes and times of the files say what. So it makes no
difference how a program saves (in place, in steps, by renaming), or whether a path is a link. A
file is read when it has stopped changing. If it then has fewer records and new problems, it is half
written or damaged, and the collection keeps what it had.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import NamedTuple, TypeVar

from citebed.collection import Collection, open_collection
from citebed.collection.formats.base import decode
from citebed.collection.formats.detection import recognise
from citebed.collection.importing import ImportOptions, import_sources
from citebed.collection.reading.sources import SourceNames, files_under, is_archive
from citebed.collection.storing.store import CollectionBusy, read_manifest
from citebed.drafts.reader import is_draft_file, read_draft
from citebed.errors import CitebedError, CollectionError
from citebed.files.file_kinds import MANIFEST
from citebed.retrieval.encoders.dense_encoder import load_encoder_for_index
from citebed.retrieval.index.analyser_choice import AUTO, choose_analyser
from citebed.retrieval.index.builder import IndexOptions
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.memory import trim_heap
from citebed.retrieval.ranking.weight_fit import build_index
from citebed.wording import count, list_first, printable

_QUIET_SECONDS, _RETRY_SECONDS = 0.25, 0.5
"""A file has stopped changing if it is the same after the first of these times."""
_DEBOUNCE_MS, _LOOK_MS = 200, 2000
"""Times for `watchfiles`. Without any report (some network drives send none), citebed looks at the
files every two seconds."""
_SMALL_BYTES = 16 << 20
"""Up to this size, this process reads files faster than several that must start first."""
_HEAD_BYTES = 4096
_BACKUP = re.compile(r"~$|^#.*#$|\.(?:bak|tmp|temp|swp|swo|part|crdownload|orig|sav)$", re.I)
_State = tuple[int, int, int]
"""The size, time and inode of a file."""
_T = TypeVar("_T")


class Update(NamedTuple):
    """Something that happened: ``kind`` is ``updated``, ``unchanged``, ``damaged`` (a file keeps
    its earlier records), ``gone``, ``problem``, ``waiting`` or ``watching``."""

    kind: str
    message: str
    documents: int = 0
    seconds: float = 0.0


def watch(
    collection: str | Path | Collection,
    paths: Iterable[str | Path] = (),
    *,
    once: bool = False,
    prune: bool = False,
    stop: Event | None = None,
) -> Iterator[Update]:
    """Import and index files now and whenever they change, and yield what happened.

    ``paths`` are bibliographies, PDFs, drafts, and folders of these; by default the sources of the
    collection. Drafts become citing text of the index, everything else is imported. ``once`` ends
    after the first update. Without ``prune``, documents of deleted files stay. It runs until
    ``stop`` is set.
    """
    folder = collection.folder if isinstance(collection, Collection) else Path(collection)
    watcher = _Watcher(folder, [Path(path) for path in paths], stop or Event(), prune=prune)
    return watcher.run(once=once)


class _Watcher:
    """``paths``, and the files below them as they were when they were last read."""

    def __init__(self, folder: Path, paths: list[Path], stop: Event, *, prune: bool) -> None:
        self.folder, self.paths, self.stop, self.prune = folder, paths, stop, prune
        self.states: dict[Path, _State] = {}
        self.drafts: dict[Path, set[str]] = {}
        """The readable drafts, and the files that they include."""
        self.reported: set[str] = set()
        self.is_index_stale = True

    def run(self, *, once: bool) -> Iterator[Update]:
        """Yield the first update, then the others."""
        if not self.paths:
            yield from self._find_known_sources()
        for path in self.paths:
            if not os.path.exists(path):
                raise CitebedError(f"no such file or folder: {printable(path)}. Correct the path.")
        yield from self._update(self._scan())
        if once:
            return
        yield Update("watching", f"watching {count(len(self.states), 'file')}")
        for _ in self._wait():
            before = self._scan()
            if before == self.states:
                continue
            self.stop.wait(_QUIET_SECONDS)
            now = self._scan()
            settled = {
                path: now.get(path)
                for path in {*now, *before, *self.states}
                if self.states.get(path) != now.get(path) == before.get(path)
            }
            try:
                yield from self._update(settled)
            except CitebedError as error:
                yield Update("problem", str(error))
            trim_heap()

    def _find_known_sources(self) -> Iterator[Update]:
        """Watch the sources of the collection; yield those whose paths are unknown."""
        manifest = read_manifest(self.folder)
        names = SourceNames(self.folder, manifest.sources)
        for name in (str(row["path"]) for row in manifest.sources):
            path = names.path_of(name)
            if path is not None and os.path.exists(path):
                self.paths.append(Path(path))
            else:
                what = "is not watched, because citebed cannot find it. Name its path"
                yield Update("problem", f"{name} {what}.")
        if not self.paths:
            name = printable(self.folder)
            raise CitebedError(f"no source of '{name}' was found. Name the files to watch.")

    def _wait(self) -> Iterator[None]:
        """Yield whenever something may have changed, until stopped."""
        from watchfiles import watch as wait

        while not self.stop.is_set():
            folders = self._folders()
            for _ in wait(
                *folders, recursive=False, watch_filter=None, debounce=_DEBOUNCE_MS,
                rust_timeout=_LOOK_MS, yield_on_timeout=True, stop_event=self.stop,
                ignore_permission_denied=True,
            ):  # fmt: skip
                yield
                if self._folders() != folders:
                    break

    def _folders(self) -> set[Path]:
        """Return the folders of the files, and of the files behind links."""
        real = (Path(os.path.realpath(path)) for path in self.states)
        folders = {path.parent for path in (*self.states, *self.paths, *real)}
        return {folder for folder in folders.union(self.paths) if folder.is_dir()}

    def _scan(self) -> dict[Path, _State]:
        """Return the states of all watched files that exist."""
        files: dict[Path, _State] = {}
        for root in self.paths:
            for path in files_under(root):
                try:
                    status = path.stat()
                except OSError:  # deleted in this moment, a link to nowhere, or in a closed folder
                    continue
                is_backup = path != root and _BACKUP.search(path.name)
                if stat.S_ISREG(status.st_mode) and not is_backup:
                    files[path] = (status.st_size, status.st_mtime_ns, status.st_ino)
        self._draft_names = {_name_of_draft(path) for path in files if _is_text_draft(path)}
        return files

    def _is_source(self, path: Path) -> bool:
        """Return True for a file to import: not for a draft, and not for its PDF beside it."""
        if _is_text_draft(path):
            return False
        if path in self.paths:
            return True
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD_BYTES)
        except OSError:
            return True  # the import says what is wrong
        if is_archive(head) or head.startswith(b"%PDF"):
            return _name_of_draft(path) not in self._draft_names
        return recognise(decode(head)[0]) is not None

    # --- one update ---

    def _update(self, changed: Mapping[Path, _State | None]) -> Iterator[Update]:
        """Import and index what changed; a deleted file has no state."""
        start = time.monotonic()
        states = {**self.states, **changed}.items()
        self.states = {path: state for path, state in states if state is not None}
        drafts = sorted(filter(_is_text_draft, changed))
        self.is_index_stale |= bool(drafts)
        yield from self._read_drafts(drafts)
        sources = sorted(path for path in changed.keys() & self.states if self._is_source(path))
        gone = sorted(changed.keys() - self.states - set(drafts))
        if gone and not self.prune:
            names = list_first([printable(path) for path in gone], 3)
            yield Update("gone", f"{names}: deleted. Its documents stay (see --prune)")
            gone = []
        if sources or gone:
            damaged = yield from self._import(sources, gone)
            sources = [path for path in sources if path not in damaged]
        self.is_index_stale |= bool(sources or gone)
        if not self.is_index_stale:
            return
        try:
            old = open_index(self.folder)
        except CollectionError:  # none yet, or a damaged one, which is rebuilt
            old = None
        options = self._index_options(old, drafts)
        report = yield from self._when_free(partial(build_index, self.folder, options))
        self.is_index_stale = False
        parts = [f"{count(report.counted, 'document')} new or changed"] if report.counted else []
        if old is not None and len(old.ids) > report.documents:
            parts.append(f"{count(len(old.ids) - report.documents, 'document')} fewer")
        if drafts and report.contexts:
            parts.append(count(report.contexts, "citing sentence"))
        seconds = time.monotonic() - start
        names = list_first([printable(path.name) for path in (*sources, *drafts, *gone)], 3)
        what = f"{names or printable(self.folder)}: {', '.join(parts) or 'nothing new'}"
        what += f" ({count(report.documents, 'document')}, {seconds:.1f} s)"
        kind = "unchanged" if report.unchanged else "updated"
        yield Update(kind, what, report.documents, seconds)

    def _import(
        self, sources: Sequence[Path], gone: Sequence[Path]
    ) -> Generator[Update, None, set[Path]]:
        """Import files, and folders that the collection does not know as sources yet; return the
        damaged files."""
        rows = read_manifest(self.folder).sources if (self.folder / MANIFEST).exists() else ()
        names, known = SourceNames(self.folder, rows), {str(row["path"]) for row in rows}
        new = [root for root in self.paths if names.name_of(root) not in known]
        paths = dict.fromkeys(
            next((root for root in new if root in (path, *path.parents)), path) for path in sources
        )
        workers = 1 if sum(self.states[path][0] for path in sources) <= _SMALL_BYTES else 0
        options = ImportOptions(
            keep_damaged=True, accept=self._is_source, prune=self.prune, workers=workers
        )
        work = partial(import_sources, self.folder, [*paths, *gone], options)
        report = yield from self._when_free(work)
        for name, what in report.damaged.items():
            yield Update("damaged", f"{name}: {what}. Its earlier records stay until it is whole")
        for row in report.new_problems.filter(kind="skipped").iter_rows(named=True):
            if row["what"] not in self.reported:
                self.reported.add(row["what"])
                yield Update("problem", f"{row['source']}:{row['line']}: {row['what']}")
        return {path for path in sources if names.name_of(path) in report.damaged}

    def _read_drafts(self, changed: Sequence[Path]) -> Iterator[Update]:
        """Read changed drafts, to know what they include; yield the unreadable ones."""
        for path in changed:
            self.drafts.pop(path, None)
            if path not in self.states:
                continue
            try:
                draft = read_draft(path)
            except CitebedError as error:
                yield Update("problem", f"{str(error).rstrip('.')}. It is not indexed now")
                continue
            places = (place for passage in draft.passages for place in passage.places)
            files = {os.path.realpath(draft.file_of(place)) for place in places}
            self.drafts[path] = files - {os.path.realpath(path)}

    def _index_options(self, old: Index | None, changed: Sequence[Path]) -> IndexOptions:
        """Return the options of the existing index, with the drafts as citing text.

        Drafts that another one includes are part of that.
        """
        included = set[str]().union(*self.drafts.values())
        citing = sorted(path for path in self.drafts if os.path.realpath(path) not in included)
        if old is None:
            return IndexOptions(citing=tuple(citing))
        own = {os.path.realpath(path) for path in self.states}
        earlier = [Path(name) for name in old.description.citing_sources if name not in own]
        analyser = old.description.analyser
        if analyser == choose_analyser(open_collection(self.folder)):
            analyser = AUTO
        vectors = old.vectors("encoder", incomplete=True)
        return IndexOptions(
            analyser, (*filter(Path.is_file, earlier), *citing),
            neural=None if vectors is None else load_encoder_for_index(vectors),
            refresh=not included.isdisjoint(map(os.path.realpath, changed)),
        )  # fmt: skip

    def _when_free(self, work: Callable[[], _T]) -> Generator[Update, None, _T]:
        """Call a function, again and again while another citebed changes the collection."""
        is_reported = False
        while True:
            try:
                return work()
            except CollectionBusy as error:
                if not is_reported:
                    yield Update("waiting", str(error))
                is_reported = True
                if self.stop.wait(_RETRY_SECONDS):
                    raise


def _is_text_draft(path: Path) -> bool:
    return is_draft_file(path) and path.suffix.lower() != ".pdf"


def _name_of_draft(path: Path) -> tuple[Path, str]:
    """Return what a draft shares with its output: the folder, and the name up to the first dot."""
    return path.parent, path.name.partition(".")[0]
