"""Splitting sources into chunks of whole records, and parsing these into tables.

Memory stays flat however large a source is. Parsing is Python work, so it runs in worker processes,
one per core, which write their tables as Arrow files. If a worker dies, only the chunk that it died
of is lost.
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
    TOO_LONG,
    WIDE_MARKS,
    Chunk,
    Format,
    decode,
)
from citebed.collection.formats.bibtex import may_have_long_header
from citebed.collection.formats.detection import FormatDetector
from citebed.collection.reading.sources import BAD_DATA, Member
from citebed.collection.tables import (
    Frames,
    check_range,
    normalise_records,
    read_ipc,
    records_to_frames,
    write_ipc,
)
from citebed.files.file_kinds import PDF_MARK, explain_unreadable, is_pdf
from citebed.processes import Run, WorkerDied, run_all
from citebed.records import Problem, Record

RECORDS = "records"
"""The table that may be larger than memory: it stays in its files."""
JOB_BYTES = 4 << 20
IN_PROCESS_BYTES = 6 << 20
"""Smaller imports are parsed in the calling process: starting workers would take longer."""
_MAX_WORKERS = 16
CHUNK_BYTES = 4 << 20
_HEAD_BYTES = 16 << 10
_LONG_HEAD_BYTES = 1 << 20
_STEP_BYTES = 64 << 10


# --- Splitting ----------------------------------------------------------------------------------


class Piece(NamedTuple):
    """A chunk and the format to read it with."""

    format: str
    chunk: Chunk


class _PatientStream:
    """A stream that ends at the first error, so that the data before it is not lost."""

    def __init__(self, inner: BinaryIO) -> None:
        self._inner: Any = inner
        self.error: Exception | None = None

    def read(self, size: int) -> bytes:
        """Return ``size`` bytes, fewer only at the end."""
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


def split_member(
    member: Member, detector: FormatDetector | None = None, strings: Mapping[str, str] | None = None
) -> Iterator[Piece | Problem]:
    """Yield the pieces of a stream in order, and problems for what is unreadable.

    ``strings`` are the BibTeX strings that other files define, or the item of an attached PDF.
    """
    name, stream = member.name, _PatientStream(member.stream)
    yield from _split(name, stream, detector or FormatDetector(), strings or {})
    if stream.error is not None:
        yield Problem(1, f"could not be read to the end: {stream.error}")


def _split(
    name: str, stream: _PatientStream, detector: FormatDetector, strings: Mapping[str, str]
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
        head, stream = decode(wide)[0].encode("utf-8", "replace"), _PatientStream(io.BytesIO())
    # A PDF is not text: to read its bytes as Windows-1252 would take long.
    text = PDF_MARK if is_pdf(head, name) else decode(head[:_HEAD_BYTES])[0]
    format, note = detector.detect(name, text)
    if format is None and may_have_long_header(name, text):
        head += stream.read(_LONG_HEAD_BYTES)
        format, note = detector.detect(name, decode(head[:_LONG_HEAD_BYTES])[0])
    if format is None:
        yield Problem(1, explain_unreadable(head, name), "ignored")
        return
    if note:
        yield Problem(1, note, "mended")
    if format.split is None:
        yield from _read_whole(Chunk(head, name, context=strings), format, stream)
    else:
        yield from _split_chunks(Chunk(head, name, context=strings), format, stream)


def _read_whole(head: Chunk, format: Format, stream: _PatientStream) -> Iterator[Piece | Problem]:
    data = head.data + stream.read(max(0, format.limit + 1 - len(head.data)))
    if len(data) > format.limit:
        larger = f"must be read in one piece, and this file is larger than {format.limit >> 20} MiB"
        yield Problem(1, f"{format.title} {larger}; split it, or convert it to JSON Lines")
        return
    yield Piece(format.name, head._replace(data=data))


def _split_chunks(head: Chunk, format: Format, stream: _PatientStream) -> Iterator[Piece | Problem]:
    """Yield the pieces of a stream after ``head``, which has been read from it."""
    assert format.split is not None
    name, line, context = head.source, 1, dict(head.context)
    buffer = head.data + stream.read(CHUNK_BYTES)
    while block := stream.read(CHUNK_BYTES):
        end = format.split(buffer)
        if end == 0 and len(buffer) > MAX_RECORD_BYTES and format.allow_unsplit and line == 1:
            yield from _read_whole(Chunk(buffer + block, name), format, stream)
            return
        if end == 0 and len(buffer) > MAX_RECORD_BYTES:
            start = line
            line, buffer = _skip_record(format, buffer, block, line, stream)
            yield Problem(start, TOO_LONG)
            continue
        if end:
            data = buffer[:end]
            yield Piece(format.name, Chunk(data, name, line, dict(context)))
            if format.collect_context is not None:
                format.collect_context(data, context)
            line += data.count(b"\n")
        buffer = buffer[end:] + block
    if buffer.strip():
        yield Piece(format.name, Chunk(buffer, name, line, context))


def _skip_record(
    format: Format, buffer: bytes, ahead: bytes, line: int, stream: _PatientStream
) -> tuple[int, bytes]:
    """Skip a record that is too long; return the line and the data that follow it.

    ``buffer`` belongs to the record, ``ahead`` is the data after that.
    """
    assert format.split is not None
    overlap = 1 << 10
    while True:
        line += buffer[:-overlap].count(b"\n")
        step, ahead = ahead[:_STEP_BYTES], ahead[_STEP_BYTES:]
        buffer = buffer[-overlap:] + step
        end = format.split(buffer) if step else len(buffer)
        while step and end and (earlier := format.split(buffer[: end - 1])):
            end = earlier
        if end:
            return line + buffer[:end].count(b"\n"), buffer[end:] + ahead
        ahead = ahead or stream.read(CHUNK_BYTES)


# --- Parsing ------------------------------------------------------------------------------------


class Job(NamedTuple):
    """Pieces to parse into tables in ``folder``; ``number`` gives the order of the tables."""

    number: tuple[int, ...]
    pieces: list[Piece]
    folder: Path


class ParsedJob(NamedTuple):
    """The files of a job's tables by name, and the number of records of each source.

    ``unread`` are sources that were not read to the end, so that the next import reads them again.
    ``problems`` counts the problems that the formats reported.
    """

    number: tuple[int, ...]
    files: dict[str, Path]
    counts: dict[str, int]
    unread: list[str]
    problems: int


class ParsedPiece(NamedTuple):
    """The records of a piece; ``is_whole`` is False if the parser failed."""

    records: list[Record]
    is_whole: bool


def make_jobs(pieces: Iterable[Piece], folder: Path) -> Iterator[Job]:
    """Group pieces until there is enough work to be worth sending to a worker."""
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


def parse_piece(piece: Piece) -> ParsedPiece:
    """Parse a piece; a bug in a parser costs only this piece."""
    records: list[Record] = []
    try:
        records.extend(map(check_range, FORMATS[piece.format].parse(piece.chunk)))
    except MemoryError:
        raise
    except Exception as error:  # a bad piece must not end the import
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why = f"{type(error).__name__}: {error}"
        what = f"the {piece.format} reader failed ({why}); please report it"
        records.append(Problem(piece.chunk.line, what))
        return ParsedPiece(records, is_whole=False)
    return ParsedPiece(records, is_whole=True)


def run_job(job: Job) -> ParsedJob:
    return _write_tables(job, [parse_piece(piece) for piece in job.pieces])


def _write_tables(job: Job, results: list[ParsedPiece]) -> ParsedJob:
    parts = [(piece.chunk.source, part) for piece, part in zip(job.pieces, results, strict=True)]
    counts, problems = dict.fromkeys((source for source, _ in parts), 0), 0
    for source, part in parts:
        number = sum(isinstance(record, Problem) for record in part.records)
        counts[source] += len(part.records) - number
        problems += number
    files = {}
    tables = records_to_frames((source, part.records) for source, part in parts)
    if RECORDS in tables:
        tables[RECORDS] = normalise_records(tables[RECORDS])
    for name, table in tables.items():
        files[name] = job.folder / f"{name}-{'-'.join(map(str, job.number))}.arrow"
        write_ipc(files[name], table)
    unread = [source for source, part in parts if not part.is_whole]
    return ParsedJob(job.number, files, counts, unread, problems)


def parse_all(pieces: Iterable[Piece], folder: Path, workers: int) -> list[ParsedJob]:
    """Parse all pieces into tables under ``folder``."""
    stream = make_jobs(pieces, folder)
    early: list[Job] = []
    size = 0
    for job in stream if workers > 1 else ():
        early.append(job)
        size += sum(len(piece.chunk.data) for piece in job.pieces)
        if size > IN_PROCESS_BYTES:
            jobs = itertools.chain(early, stream)
            target = f"{run_job.__module__}:{run_job.__name__}"
            return sorted(run_all(target, jobs, min(workers, _MAX_WORKERS), _retry_by_piece))
    return [run_job(job) for job in itertools.chain(early, stream)]


def _retry_by_piece(job: Job, run: Run) -> Iterator[ParsedJob]:
    """Run the pieces of a job that killed its worker one by one."""
    for place, piece in enumerate(job.pieces):
        part = Job((*job.number, place), [piece], job.folder)
        try:
            yield run(part)
        except WorkerDied:
            what = "timed out or out of memory while parsing; skipped. The next import tries again."
            problem = Problem(piece.chunk.line, what)
            yield _write_tables(part, [ParsedPiece([problem], is_whole=False)])


def read_tables(parsed: Iterable[ParsedJob]) -> Frames:
    """Return the tables of all jobs except the records, in the order of the sources."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for job in parsed:
        for name, path in job.files.items():
            if name != RECORDS:
                parts.setdefault(name, []).append(read_ipc(path))
    return {name: pl.concat(frames, rechunk=False) for name, frames in parts.items()}
