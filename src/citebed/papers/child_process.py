"""Read PDFs in child processes, so that a malicious file can end only its own child."""

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
from citebed.files.input_files import read_small
from citebed.files.limits import effective_limit, format_size, limit_hint
from citebed.papers.paper import (
    FILE_BYTES,
    MEMORY,
    WALL_SECONDS,
    Box,
    PlacedText,
    ReadPaper,
    ReadParagraph,
    ReferenceEntry,
    unpack_placed_text,
)
from citebed.processes import T, Worker, WorkerDied, WorkerError, WorkerNotStarted, first_done
from citebed.wording import printable

_TARGET, _PREPARE = "citebed.papers.pdf_reader:read_pdf", "citebed.papers.paper:limit_process"
_RESULT_TYPES = (ReadPaper, ReadParagraph, ReferenceEntry, PlacedText, Box, unpack_placed_text)
_PAPERS_PER_CHILD = 500
"""A new child replaces one that has read this many papers, to release leaked memory."""
_AHEAD = 8
"""Papers that each child may read ahead of the caller."""


class PaperFile(NamedTuple):
    """The name and the bytes of a PDF."""

    name: str
    data: bytes


class PaperProblem(NamedTuple):
    """The reason why a file was not read as a paper."""

    name: str
    what: str

    @property
    def error(self) -> FormatError:
        """The error to raise if the user gave this file only."""
        return FormatError(self.name, None, self.what)


def read_papers(
    papers: Iterable[str | Path | PaperFile], workers: int = 0
) -> Iterator[ReadPaper | PaperProblem]:
    """Yield the papers in PDF files, in their order; ``workers`` is one per core by default."""
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
    """Return the paper in a PDF file, read by a child process that later calls use again."""
    return _SHARED.read(paper)


class Children:
    """Child processes that read papers: one for each call of `read` that runs at the same time."""

    def __init__(self) -> None:
        self._idle: deque[Worker] = deque()
        self._papers: dict[Worker, int] = {}  # read by each child

    def read(self, paper: str | Path | PaperFile) -> ReadPaper | PaperProblem:
        """Return a paper or the problem with its file; read a path in this process."""
        if not isinstance(paper, PaperFile):
            name = printable(paper)
            try:
                path = Path(paper)
                if path.is_dir():
                    raise CitebedError("a folder, not a PDF; name the files in it")
                if not path.exists():
                    raise CitebedError("no such file")
                paper = PaperFile(name, read_small(path, FILE_BYTES))
            except CitebedError as error:
                own = str(error).removeprefix(f"{name}: ")
                return PaperProblem(name, error.what if isinstance(error, FormatError) else own)
        if len(paper.data) > effective_limit(FILE_BYTES):
            most = format_size(effective_limit(FILE_BYTES))
            what = f"larger than {most}, too large for a PDF. {limit_hint()}"
            return PaperProblem(paper.name, what)
        try:
            child = self._idle.pop()
        except IndexError:
            child = Worker(_TARGET, _PREPARE, WALL_SECONDS, _RESULT_TYPES)
        try:
            self._papers[child] = self._papers.get(child, 0) + 1
            if self._papers[child] % _PAPERS_PER_CHILD == 0:
                child.close()
            read: ReadPaper = child.run(paper.data)
        except WorkerDied as death:
            return PaperProblem(paper.name, _why_died(death))
        except WorkerError as error:
            return PaperProblem(paper.name, f"the reader failed ({error}); please report it")
        except WorkerNotStarted:
            raise
        except CitebedError as error:
            return PaperProblem(paper.name, str(error))
        finally:
            self._idle.append(child)
        return read

    def end(self) -> None:
        """Stop reading; call this from another thread."""
        for child in list(self._papers):
            child.end()

    def close(self) -> None:
        """End all children and wait for them."""
        for child in list(self._papers):
            child.close()


_SHARED = Children()
atexit.register(_SHARED.close)


def _why_died(death: WorkerDied) -> str:
    if death.late or -death.code == signal.SIGXCPU:
        return "timed out while reading (damaged or malicious PDF); skipped"
    if -death.code == signal.SIGKILL:
        return "the system ended the process that read it; perhaps memory is short"
    reason = f"exit code {death.code}"
    with contextlib.suppress(ValueError):
        reason = signal.Signals(-death.code).name
    return (
        f"PDFium crashed ({reason}): a damaged or malicious PDF, or one that needs more than "
        f"{format_size(effective_limit(MEMORY))} of memory; skipped"
    )
