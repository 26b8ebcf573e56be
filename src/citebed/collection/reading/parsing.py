"""Parsing pieces into tables, in this process or in several of our own.

Parsing is Python work, so it runs in worker processes, one per core, which write their tables
as Arrow files; one that dies on a piece costs that piece alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.collection.formats import FORMATS
from citebed.collection.reading.chunks import Piece
from citebed.collection.reading.workers import Died, Run, run_all
from citebed.collection.tables import Frames, RecordBatch, fitting, frames_of
from citebed.records import Problem, Record

JOB_BYTES = 4 << 20
IN_PROCESS_BYTES = 6 << 20
"""Less than this is parsed in the calling process: starting workers would take longer."""
_MOST_WORKERS = 16


class Job(NamedTuple):
    """Some pieces to be parsed into tables in ``folder``, numbered so that these can be put in
    order again."""

    number: tuple[int, ...]
    pieces: list[Piece]
    folder: Path

    @property
    def size(self) -> int:
        return sum(len(piece.chunk.data) for piece in self.pieces)

    def apart(self) -> Iterator[Job]:
        """A job for each piece."""
        for place, piece in enumerate(self.pieces):
            yield Job((*self.number, place), [piece], self.folder)


class Parsed(NamedTuple):
    """Where a job's tables are, by name, and how many records each source gave.

    ``unread`` are the sources of which a part was not read: they are not done with.
    """

    number: tuple[int, ...]
    files: dict[str, Path]
    counts: dict[str, int]
    unread: list[str]


class Records(NamedTuple):
    """What a piece gave, and whether that is all of it."""

    records: list[Record]
    whole: bool


def jobs(pieces: Iterable[Piece], folder: Path) -> Iterator[Job]:
    """Pieces put together until there is enough work to be worth sending."""
    numbers = itertools.count()
    waiting: list[Piece] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece.chunk.data)
        if size >= JOB_BYTES:
            yield Job((next(numbers),), waiting, folder)
            waiting, size = [], 0
    if waiting:
        yield Job((next(numbers),), waiting, folder)


def parse_piece(piece: Piece) -> Records:
    """All records of a piece; a parser that fails is a bug of ours and costs this piece only."""
    records: list[Record] = []
    try:
        records.extend(map(fitting, FORMATS[piece.format].parse(piece.chunk)))
    except MemoryError:
        raise
    except Exception as error:  # the rest of the import must not be lost to one bad piece
        if isinstance(error, OSError) and error.errno is not None:
            raise
        what = (
            f"the {piece.format} reader failed ({type(error).__name__}: {error}); please report it"
        )
        records.append(Problem(piece.chunk.line, what))
        return Records(records, whole=False)
    return Records(records, whole=True)


def run_job(job: Job) -> Parsed:
    """Parse a job and write its tables."""
    return _tables(job, [parse_piece(piece) for piece in job.pieces])


def _tables(job: Job, given: list[Records]) -> Parsed:
    sources = [piece.chunk.source for piece in job.pieces]
    batches = [
        RecordBatch(*pair) for pair in zip(sources, (part.records for part in given), strict=True)
    ]
    counts: dict[str, int] = {}
    for batch in batches:
        kept = sum(not isinstance(record, Problem) for record in batch.records)
        counts[batch.source] = counts.get(batch.source, 0) + kept
    unread = [source for source, part in zip(sources, given, strict=True) if not part.whole]
    return Parsed(job.number, _write(frames_of(batches), job), counts, unread)


def _write(frames: Frames, job: Job) -> dict[str, Path]:
    files = {}
    for name, table in frames.items():
        files[name] = job.folder / f"{name}-{'-'.join(map(str, job.number))}.arrow"
        with files[name].open("wb") as handle:  # polars takes no name that is not UTF-8
            table.write_ipc(handle)
    return files


def parse_all(pieces: Iterable[Piece], folder: Path, workers: int) -> list[Parsed]:
    """Parse all pieces into tables under ``folder``."""
    stream = jobs(pieces, folder)
    early: list[Job] = []
    for job in stream if workers > 1 else ():
        early.append(job)
        if sum(job.size for job in early) > IN_PROCESS_BYTES:
            every = itertools.chain(early, stream)
            count = min(workers, _MOST_WORKERS)
            target = f"{run_job.__module__}:{run_job.__name__}"
            return sorted(run_all(target, every, count, _piece_by_piece))
    return [run_job(job) for job in itertools.chain(early, stream)]


def _piece_by_piece(job: Job, run: Run) -> Iterator[Parsed]:
    """A worker died of this job: its pieces are run one by one, to lose only what it died of."""
    for part in job.apart():
        try:
            yield run(part)
        except Died:
            what = (
                "reading this piece took too much time or memory; it was given up, "
                "and the next import tries it again"
            )
            (piece,) = part.pieces
            yield _tables(part, [Records([Problem(piece.chunk.line, what)], whole=False)])


def read_tables(parsed: Iterable[Parsed]) -> Frames:
    """The tables of all jobs, each put together in the order of the sources."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for job in parsed:
        for name, path in job.files.items():
            with path.open("rb") as handle:
                parts.setdefault(name, []).append(pl.read_ipc(handle))
    return {name: pl.concat(frames, rechunk=False) for name, frames in parts.items()}
