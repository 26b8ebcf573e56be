"""Papers of strangers, read in child processes: what ends a child is told of its paper alone."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from citebed.errors import CitebedError, FormatError
from citebed.files.limits import how_to_raise, limit, shown
from citebed.files.reading import read_small
from citebed.papers.bounds import FILE_BYTES, MEMORY, WALL_SECONDS, unpacked
from citebed.papers.paper import Box, PlacedText, ReadPaper, ReadParagraph, ReferenceEntry
from citebed.wording import printable
from citebed.workers import Died, NotStarted, T, Worker, WorkerError, first_done

_TARGET, _PREPARE = "citebed.papers.limited:read_limited", "citebed.papers.limited:prepare"
_KNOWN = (ReadPaper, ReadParagraph, ReferenceEntry, PlacedText, Box, unpacked)
_PAPERS_A_CHILD = 500
"""A new child after so many: what a library lost of its memory is had back."""
_AHEAD = 8
"""So many papers for each child are read before the first of them is asked for."""


class PaperFile(NamedTuple):
    """A PDF by its name, and its bytes where they are at hand."""

    name: str
    data: bytes


class PaperProblem(NamedTuple):
    """Why a file was not read as a paper."""

    name: str
    what: str

    @property
    def error(self) -> FormatError:
        """What to raise where this file was all that was asked for."""
        return FormatError(self.name, None, self.what)


def read_papers(
    papers: Iterable[str | Path | PaperFile], workers: int = 0
) -> Iterator[ReadPaper | PaperProblem]:
    """The papers in PDF files, in the order given, read by so many processes (one per core)."""
    count = workers or os.cpu_count() or 1
    children, threads = Children(), ThreadPoolExecutor(count)
    running: deque[Future[ReadPaper | PaperProblem]] = deque()
    try:
        for paper in papers:
            running.append(threads.submit(children.read, paper))
            if len(running) > _AHEAD * count:
                yield _next(running)
        while running:
            yield _next(running)
    finally:
        children.end()
        threads.shutdown(cancel_futures=True)
        children.close()


def _next(running: deque[Future[T]]) -> T:
    first_done([running[0]])
    return running.popleft().result()


def read_paper(paper: str | Path | PaperFile) -> ReadPaper | PaperProblem:
    """The paper in a PDF file, read by a child that stays for the next one."""
    return _SHARED.read(paper)


class Children:
    """Child processes that read papers: as many as are asked at once."""

    def __init__(self) -> None:
        self._idle: deque[_Child] = deque()
        self._all: list[_Child] = []

    def read(self, paper: str | Path | PaperFile) -> ReadPaper | PaperProblem:
        """A paper, or why there is none; the bytes of a path are read here."""
        if not isinstance(paper, PaperFile):
            name = printable(paper)
            try:
                paper = PaperFile(name, _bytes_of(Path(paper)))
            except CitebedError as error:
                return PaperProblem(name, _without_name(error, name))
        if len(paper.data) > limit(FILE_BYTES):
            return PaperProblem(paper.name, _too_large())
        with self._child() as child:
            return child.read(paper)

    @contextlib.contextmanager
    def _child(self) -> Iterator[_Child]:
        try:
            child = self._idle.pop()
        except IndexError:
            child = _Child()
            self._all.append(child)
        try:
            yield child
        finally:
            self._idle.append(child)

    def end(self) -> None:
        """Give up what is being read; called by another thread."""
        for child in self._all:
            child.worker.end()

    def close(self) -> None:
        """End all children and wait for them."""
        for child in self._all:
            child.worker.close()


class _Child:
    def __init__(self) -> None:
        self.worker = Worker(_TARGET, _PREPARE, WALL_SECONDS, _KNOWN)
        self._papers = 0

    def read(self, paper: PaperFile) -> ReadPaper | PaperProblem:
        self._papers += 1
        if self._papers % _PAPERS_A_CHILD == 0:
            self.worker.close()
        try:
            read: ReadPaper = self.worker.run(paper.data)
        except Died as death:
            return PaperProblem(paper.name, _why_died(death))
        except WorkerError as error:
            return PaperProblem(paper.name, f"the reader failed ({error}); please report it")
        except NotStarted:
            raise
        except CitebedError as error:
            return PaperProblem(paper.name, str(error))
        return read


_SHARED = Children()
atexit.register(_SHARED.close)


# --- What went wrong ----------------------------------------------------------------------------


def _bytes_of(path: Path) -> bytes:
    if path.is_dir():
        raise CitebedError("a folder, not a PDF; name the files in it")
    if not path.exists():
        raise CitebedError("no such file")
    return read_small(path, FILE_BYTES)


def _without_name(error: CitebedError, name: str) -> str:
    return error.what if isinstance(error, FormatError) else str(error).removeprefix(f"{name}: ")


def _too_large() -> str:
    return f"larger than {shown(limit(FILE_BYTES))}, much for a PDF. {how_to_raise()}"


def _why_died(death: Died) -> str:
    """Why a child ended, in words."""
    if death.late or -death.code == signal.SIGXCPU:
        return "timed out while reading (damaged or malicious PDF); skipped"
    if -death.code == signal.SIGKILL:
        return "the system ended the process that read it, which happens where memory is short"
    how = f"exit code {death.code}"
    with contextlib.suppress(ValueError):
        how = signal.Signals(-death.code).name
    return (
        f"PDFium ended on it ({how}): damaged, made to do harm, or in need of more than "
        f"{shown(limit(MEMORY))} of memory; it was given up"
    )
