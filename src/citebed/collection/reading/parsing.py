"""Cutting streams into pieces of whole records, and parsing these into tables.

Cut so, memory stays flat however long a stream is.

Parsing is Python work, so it runs in worker processes, one per core, which write their tables
as Arrow files; one that dies on a piece costs that piece alone.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import polars as pl

from citebed.collection.formats import FORMATS
from citebed.collection.formats.base import (
    MAX_RECORD_BYTES,
    MAX_WHOLE_FILE_BYTES,
    WIDE_MARKS,
    Chunk,
    Format,
    decode,
)
from citebed.collection.formats.bibtex import may_have_long_header
from citebed.collection.formats.detection import FormatDetector
from citebed.collection.reading.sources import BAD_DATA, Member
from citebed.collection.tables import Frames, canonical, fitting, frames_of, read_part, write_part
from citebed.files.file_kinds import PDF_MARK, explain_unreadable, is_pdf
from citebed.processes import Run, WorkerDied, run_all
from citebed.records import Problem, Record

RECORDS = "records"
"""The table that may be larger than memory: it stays in its files."""
JOB_BYTES = 4 << 20
IN_PROCESS_BYTES = 6 << 20
"""Less than this is parsed in the calling process: starting workers would take longer."""
_MOST_WORKERS = 16
CHUNK_BYTES = 4 << 20
_HEAD_BYTES = 16 << 10
_LONG_HEAD_BYTES = 1 << 20
_STEP_BYTES = 64 << 10


# --- cutting ------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """A chunk and the format to read it with."""

    format: str
    chunk: Chunk


def pieces(
    member: Member,
    recogniser: FormatDetector | None = None,
    macros: Mapping[str, str] | None = None,
) -> Iterator[Piece | Problem]:
    """The pieces of a stream, in order, and what could not be read of it.

    ``macros`` are BibTeX's strings that other files lend it.
    """
    stream = _Patient(member.stream)
    yield from _pieces(member.name, stream, recogniser or FormatDetector(), macros or {})
    if stream.error is not None:
        yield Problem(1, f"could not be read to the end: {stream.error}")


class _Patient:
    """A stream that ends where it breaks, so that what came before is not lost."""

    def __init__(self, inner: BinaryIO) -> None:
        self._inner: Any = inner
        self.error: Exception | None = None

    def read(self, size: int) -> bytes:
        """``size`` bytes, fewer only at the end."""
        blocks: list[bytes] = []
        while size > 0 and self.error is None:
            try:
                block = self._inner.read1(min(size, _STEP_BYTES))
            except BAD_DATA as error:
                self.error = error
                break
            if not block:
                break
            blocks.append(block)
            size -= len(block)
        return b"".join(blocks)


def _pieces(
    name: str, stream: _Patient, recogniser: FormatDetector, macros: Mapping[str, str]
) -> Iterator[Piece | Problem]:
    head = stream.read(_HEAD_BYTES)
    if not head.strip():
        if stream.error is None:
            yield Problem(1, "an empty file", "ignored")
        return
    if head.startswith(tuple(WIDE_MARKS)):
        wide = head + stream.read(MAX_WHOLE_FILE_BYTES)
        if stream.read(1):
            limit = MAX_WHOLE_FILE_BYTES >> 20
            yield Problem(1, f"UTF-16 and UTF-32 are read up to {limit} MiB; the rest was not")
        head, stream = decode(wide)[0].encode("utf-8", "replace"), _Patient(io.BytesIO())
    # A PDF is no text: reading its bytes one by one as Windows-1252 would take its time.
    text = PDF_MARK if is_pdf(head, name) else decode(head[:_HEAD_BYTES])[0]
    format, note = recogniser.detect(name, text)
    if format is None and may_have_long_header(name, text):
        head += stream.read(_LONG_HEAD_BYTES)
        format, note = recogniser.detect(name, decode(head[:_LONG_HEAD_BYTES])[0])
    if format is None:
        yield Problem(1, explain_unreadable(head, name), "ignored")
        return
    if note:
        yield Problem(1, note, "mended")
    if format.split is None:
        yield from _whole(name, format, head, stream)
    else:
        yield from _cut(Chunk(head, name, context=macros), format, stream)


def _whole(name: str, format: Format, head: bytes, stream: _Patient) -> Iterator[Piece | Problem]:
    data = head + stream.read(max(0, format.limit + 1 - len(head)))
    if len(data) > format.limit:
        larger = f"is read whole and this file is larger than {format.limit >> 20} MiB"
        yield Problem(1, f"{format.title} {larger}; split it, or convert it to JSON Lines")
        return
    yield Piece(format.name, Chunk(data, name))


def _cut(head: Chunk, format: Format, stream: _Patient) -> Iterator[Piece | Problem]:
    """The pieces of a stream of which ``head`` has been read."""
    assert format.split is not None
    name, line, macros = head.source, 1, dict(head.context)
    buffer = head.data + stream.read(CHUNK_BYTES)
    while block := stream.read(CHUNK_BYTES):
        end = format.split(buffer)
        if end == 0 and len(buffer) > MAX_RECORD_BYTES and format.allow_unsplit and line == 1:
            yield from _whole(name, format, buffer + block, stream)
            return
        if end == 0 and len(buffer) > MAX_RECORD_BYTES:
            start = line
            line, buffer = _skip_record(format, (buffer, block), line, stream)
            yield Problem(start, f"a record of more than {MAX_RECORD_BYTES >> 20} MiB is not read")
            continue
        if end:
            data = buffer[:end]
            yield Piece(format.name, Chunk(data, name, line, dict(macros)))
            if format.collect_context is not None:
                format.collect_context(data, macros)
            line += data.count(b"\n")
        buffer = buffer[end:] + block
    if buffer.strip():
        yield Piece(format.name, Chunk(buffer, name, line, macros))


def _skip_record(
    format: Format, read: tuple[bytes, bytes], line: int, stream: _Patient
) -> tuple[int, bytes]:
    """Pass over a record that is too long; gives what follows it and the line that starts at.

    ``read`` is what has been read: what is known to belong to the record, and what comes next.
    """
    buffer, ahead = read
    keep = 1 << 10
    while True:
        line += buffer[:-keep].count(b"\n")
        step, ahead = ahead[:_STEP_BYTES], ahead[_STEP_BYTES:]
        buffer = buffer[-keep:] + step
        end = _first_cut(format, buffer) if step else len(buffer)
        if end:
            return line + buffer[:end].count(b"\n"), buffer[end:] + ahead
        ahead = ahead or stream.read(CHUNK_BYTES)


def _first_cut(format: Format, buffer: bytes) -> int:
    assert format.split is not None
    end = format.split(buffer)
    while end and (earlier := format.split(buffer[: end - 1])):
        end = earlier
    return end


# --- parsing ------------------------------------------------------------------------------------


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

    ``unread`` are the sources of which a part was not read: they are not done with. ``problems``
    is how many the readers told of.
    """

    number: tuple[int, ...]
    files: dict[str, Path]
    counts: dict[str, int]
    unread: list[str]
    problems: int


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
        why = f"{type(error).__name__}: {error}"
        what = f"the {piece.format} reader failed ({why}); please report it"
        records.append(Problem(piece.chunk.line, what))
        return Records(records, whole=False)
    return Records(records, whole=True)


def run_job(job: Job) -> Parsed:
    """Parse a job and write its tables."""
    return _tables(job, [parse_piece(piece) for piece in job.pieces])


def _tables(job: Job, results: list[Records]) -> Parsed:
    parts = [(piece.chunk.source, part) for piece, part in zip(job.pieces, results, strict=True)]
    counts, problems = dict.fromkeys((source for source, _ in parts), 0), 0
    for source, part in parts:
        number = sum(isinstance(record, Problem) for record in part.records)
        counts[source] += len(part.records) - number
        problems += number
    files = {}
    tables = frames_of((source, part.records) for source, part in parts)
    if RECORDS in tables:
        tables[RECORDS] = canonical(tables[RECORDS])
    for name, table in tables.items():
        files[name] = job.folder / f"{name}-{'-'.join(map(str, job.number))}.arrow"
        write_part(files[name], table)
    unread = [source for source, part in parts if not part.whole]
    return Parsed(job.number, files, counts, unread, problems)


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
        except WorkerDied:
            what = (
                "reading this piece took too much time or memory; it was given up, "
                "and the next import tries it again"
            )
            (piece,) = part.pieces
            yield _tables(part, [Records([Problem(piece.chunk.line, what)], whole=False)])


def read_tables(parsed: Iterable[Parsed]) -> Frames:
    """The tables of all jobs but the records, each put together in the order of the sources."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for job in parsed:
        for name, path in job.files.items():
            if name != RECORDS:
                parts.setdefault(name, []).append(read_part(path))
    return {name: pl.concat(frames, rechunk=False) for name, frames in parts.items()}
