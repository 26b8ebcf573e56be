"""Parsing pieces into tables, in this process or in several of our own.

Parsing is Python work, so it runs in worker processes, one per core, which write their tables
as Arrow files; one that dies on a piece costs that piece alone.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.collection.chunks import Piece
from citebed.collection.formats import FORMATS
from citebed.collection.tables import Batch, Frames, frames_of
from citebed.collection.workers import Worker
from citebed.records import Problem, Record

JOB_BYTES = 4 << 20
IN_PROCESS_BYTES = 6 << 20
"""Less than this is parsed in the calling process: starting workers would take longer."""


class Job(NamedTuple):
    """Some pieces, numbered so that their tables can be put in order again."""

    number: int
    pieces: list[Piece]

    @property
    def size(self) -> int:
        return sum(len(piece.chunk.data) for piece in self.pieces)


class Parsed(NamedTuple):
    """Where a job's tables are, by name, and how many records each source gave."""

    number: int
    files: dict[str, Path]
    counts: dict[str, int]


def jobs(pieces: Iterable[Piece], first: int = 0) -> Iterator[Job]:
    """Pieces put together until there is enough work to be worth sending."""
    waiting: list[Piece] = []
    size = 0
    number = first
    for piece in pieces:
        waiting.append(piece)
        size += len(piece.chunk.data)
        if size >= JOB_BYTES:
            yield Job(number, waiting)
            waiting, size, number = [], 0, number + 1
    if waiting:
        yield Job(number, waiting)


def parse_piece(piece: Piece) -> list[Record]:
    """All records of a piece; a parser that fails is a bug of ours and costs this piece only."""
    records: list[Record] = []
    try:
        records.extend(FORMATS[piece.format].parse(piece.chunk))
    except Exception as error:  # the rest of the import must not be lost to one bad piece
        what = (
            f"the {piece.format} reader failed ({type(error).__name__}: {error}); please report it"
        )
        records.append(Problem(piece.chunk.line, what))
    return records


def run_job(job: Job, folder: Path) -> Parsed:
    """Parse a job and write its tables into ``folder``."""
    batches = [Batch(piece.chunk.source, parse_piece(piece)) for piece in job.pieces]
    counts: dict[str, int] = {}
    for batch in batches:
        kept = sum(not isinstance(record, Problem) for record in batch.records)
        counts[batch.source] = counts.get(batch.source, 0) + kept
    files = _write(frames_of(batches), folder, job.number)
    return Parsed(job.number, files, counts)


def _write(frames: Frames, folder: Path, number: int) -> dict[str, Path]:
    files = {}
    for name, table in frames.items():
        files[name] = folder / f"{name}-{number:06d}.arrow"
        table.write_ipc(files[name])
    return files


def parse_all(pieces: Iterable[Piece], folder: Path, workers: int) -> list[Parsed]:
    """Parse all pieces into tables under ``folder``."""
    stream = jobs(pieces)
    early: list[Job] = []
    for job in stream:
        early.append(job)
        if workers > 1 and sum(job.size for job in early) > IN_PROCESS_BYTES:
            break
    else:
        return [run_job(job, folder) for job in early]
    with _Pool(min(workers, 16), folder) as pool:
        for job in (*early, *stream):
            pool.send(job)
        return pool.finish()


class _Pool:
    """Worker processes, each fed by a thread of ours."""

    def __init__(self, workers: int, folder: Path) -> None:
        self._folder = folder
        self._jobs: queue.Queue[Job | None] = queue.Queue(maxsize=workers * 2)
        self._results: list[Parsed] = []
        self._failure: BaseException | None = None
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._feed, daemon=True) for _ in range(workers)]

    def __enter__(self) -> _Pool:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def send(self, job: Job | None) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(queue.Full):
                self._jobs.put(job, timeout=0.2)
                return
        if self._failure is not None:
            raise self._failure

    def finish(self) -> list[Parsed]:
        for _ in self._threads:
            self.send(None)
        for thread in self._threads:
            thread.join()
        if self._failure is not None:
            raise self._failure
        return sorted(self._results)

    def _feed(self) -> None:
        worker: Worker | None = None
        try:
            while not self._stop.is_set():
                try:
                    job = self._jobs.get(timeout=0.2)
                except queue.Empty:
                    continue
                if job is None:
                    return
                worker = worker or self._new_worker()
                worker = self._run(worker, job)
        except BaseException as error:
            self._failure = error
            self._stop.set()
        finally:
            if worker is not None:
                worker.close()

    def _new_worker(self) -> Worker:
        return Worker("citebed.collection.parsing:run_job", self._stop, self._folder)

    def _run(self, worker: Worker, job: Job) -> Worker:
        parsed = worker.run(job)
        if parsed is None and not self._stop.is_set():
            worker.close()
            worker = self._new_worker()
            parsed, worker = self._run_apart(worker, job)
        if parsed is not None:
            self._results.append(parsed)
        return worker

    def _run_apart(self, worker: Worker, job: Job) -> tuple[Parsed, Worker]:
        """A worker died on this job: run its pieces one by one to find which did it."""
        batches: list[Batch] = []
        for piece in job.pieces:
            records = worker.run(Job(-1, [piece]))
            if records is None:
                worker.close()
                worker = self._new_worker()
                what = "reading this piece took too much time or memory; it was given up"
                problem = Problem(piece.chunk.line, what)
                batches.append(Batch(piece.chunk.source, [problem]))
            else:
                batches.append(Batch(piece.chunk.source, parse_piece(piece)))
        counts = {b.source: sum(not isinstance(r, Problem) for r in b.records) for b in batches}
        files = _write(frames_of(batches), self._folder, job.number)
        return Parsed(job.number, files, counts), worker


def read_tables(parsed: Iterable[Parsed]) -> Frames:
    """The tables of all jobs, each put together in the order of the sources."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for job in parsed:
        for name, path in job.files.items():
            parts.setdefault(name, []).append(pl.read_ipc(path))
    return {name: pl.concat(frames, rechunk=False) for name, frames in parts.items()}
