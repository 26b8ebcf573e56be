"""Runs that an engine reads: TREC or KBA text, or Parquet, in files or folders.

Workers parse them into tables, and send the rows of a query to one worker in packed form, because
an engine would take too long with single rows. Workers read text that this machine sees by
themselves, in pieces; the engine reads everything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

import polars as pl

from citebed._version import __version__
from citebed.distributed.arrow import SPARK, Batches, Schema, check_version
from citebed.distributed.sessions import Engine
from citebed.distributed.shuffle import (
    MOST_PARTS,
    SCHEMA,
    Given,
    Message,
    collect_messages,
    concat_tables,
    map_partitions,
    message_table,
    pack_table,
    send_rows,
    unpack_table,
)
from citebed.errors import CitebedError
from citebed.runs.file_ranges import MAX_SIZE, FileRange, split_files
from citebed.runs.reader import read_run
from citebed.runs.tables import Run, checked_columns, is_parquet, match_columns
from citebed.runs.texts import COLUMNS, Grouping, RunText, detect_run_text, first_lines
from citebed.runs.trec_files import RUN
from citebed.wording import printable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_LEAST_PARTS, _BLIND_PARTS = 4, 1024
"""Number of parts of a short run, and of a run of unknown length."""
_LINES, _ROWS = 200_000, 1_000_000
"""Lines to parse at once, and rows to send at once: engines pass only a few thousand."""
_HEAD = 100
_MADE, _GROUPS = 0, 1
"""Addresses of messages: results of a part, and the groups that occur in it."""
_Part = TypeVar("_Part", pl.DataFrame, pl.Series)
Part = Callable[[Run], pl.DataFrame]
"""Work on a part of a run with complete queries."""
Reading = Callable[[Batches], Iterator[pl.DataFrame]]
"""Converts the batches of an engine into tables."""


@dataclass(frozen=True, eq=False)
class RunRows:
    """A run on an engine: its rows, its name and its team."""

    engine: Engine
    text: RunText
    files: list[Path]

    def by_query(self, work: Part, schema: Schema, *groupings: Grouping) -> pl.DataFrame:
        """Apply ``work`` to the run, part by part, on the engine's workers.

        If the run is sorted by one of ``groupings``, workers read consecutive pieces of it.
        Otherwise all rows of a query are sent to one worker.
        """
        made = None
        if self.files and not is_parquet(Path(self.text.path)):
            for grouping in groupings:
                pieces = self.text.split_between_groups(self.files, grouping)
                made = self._of_pieces(pieces, work, grouping) if pieces else None
                if made is not None:
                    break
        made = self._of_queries(work) if made is None else made
        return pl.concat([pl.DataFrame(schema=schema), *made], how="diagonal")

    def _of_pieces(
        self, pieces: list[FileRange], work: Part, grouping: Grouping
    ) -> list[pl.DataFrame] | None:
        """Work on pieces; return ``None`` if a group is in several of them."""
        text = self.text

        def made(batches: Batches) -> Iterator[Message]:
            for piece in _pieces_here(pieces, batches):
                run = text.read(piece)
                groups = grouping(run).unique().cast(pl.String)
                yield Message("made", _MADE, pack_table(work(run)))
                yield Message("groups", _GROUPS, pack_table(pl.DataFrame({"group": groups})))

        numbers = self.engine.session.range(0, len(pieces), 1, len(pieces))
        found = collect_messages(numbers.mapInArrow(_parcels_of(made), SCHEMA))
        groups = concat_tables(data for to, data in found if to == _GROUPS)
        if groups["group"].is_duplicated().any():
            return None
        return [unpack_table(data) for to, data in found if to == _MADE]

    def _of_queries(self, work: Part) -> list[pl.DataFrame]:
        """Send the rows of each query to one worker, and work on them there."""
        text = self.text

        def made(_: int, given: Given) -> Iterator[Message]:
            rows = concat_tables(given["rows"])
            yield Message("made", _MADE, pack_table(work(text.run(rows))))

        size = sum(file.stat().st_size for file in self.files)
        addresses = min(MOST_PARTS, max(_LEAST_PARTS, math.ceil(size / MAX_SIZE)))
        addresses = addresses if self.files else _BLIND_PARTS
        frame, read = self._read()

        def send(batches: Batches) -> Iterator[Message]:
            for table in map(pl.concat, _grouped(read(batches), _ROWS)):
                names = table["query_id"].unique()
                numbers = [crc32((n or "").encode()) % addresses for n in names.cast(pl.String)]
                to = table["query_id"].replace_strict(names, numbers, return_dtype=pl.Int64)
                yield from send_rows("rows", table.with_columns(to=to), "to", "uncompressed")

        rows = frame.mapInArrow(_parcels_of(send), SCHEMA)
        return [
            unpack_table(data)
            for _, data in collect_messages(map_partitions(rows, made, addresses))
        ]

    def _read(self) -> tuple[DataFrame, Reading]:
        """Return the frame to read, and how to convert its batches."""
        path = self.text.path
        if is_parquet(Path(path)):
            return _columns(self.engine.table(path)), partial(_read_rows, path)
        if not self.files:
            return self.engine.lines(path), partial(_read_lines, self.text)
        pieces = split_files(self.files)
        numbers = self.engine.session.range(0, len(pieces), 1, len(pieces))
        return numbers, partial(_read_texts, pieces, self.text)


def run_rows(engine: Engine, path: str) -> RunRows:
    """Return a run that the engine reads, given its path."""
    files = _files(path)
    if is_parquet(Path(path)):
        has_times = "time" in engine.table(path).columns
        return RunRows(engine, RunText(path, has_times), files)
    if files:
        text = detect_run_text(path, first_lines(files))
    else:
        rows = engine.lines(path).limit(_HEAD).collect()
        text = detect_run_text(path, (row[0].encode() for row in rows))
    if text is None and files:  # an error, or a KBA run without documents
        run = read_run(files[0])
        return RunRows(engine, RunText(path, True, run.tag, run.team), [])
    return RunRows(engine, text or RunText(path), files)


def _files(path: str) -> list[Path]:
    """Return the files of a run if this machine can read it; in a folder, the files that Spark
    reads.
    """
    local = Path(path.removeprefix("file://"))
    if local.is_file():
        return [local.absolute()]
    names = local.rglob("[!._]*") if local.is_dir() else ()
    return sorted(file.absolute() for file in names if file.is_file())


def _columns(table: DataFrame) -> DataFrame:
    """Select the columns of a run under citebed's names."""
    from pyspark.sql import functions as of

    found = match_columns(table.columns, RUN) | (
        {"time": "time"} if "time" in table.columns else {}
    )
    return table.select(
        *(of.col(found[name]).cast(SPARK[COLUMNS[name]]).alias(name) for name in found)
    )


# --- on workers -----------------------------------------------------------------------------------


def _read_rows(path: str, batches: Batches) -> Iterator[pl.DataFrame]:
    for table in map(pl.DataFrame, batches):
        try:
            yield table.with_columns(checked_columns(table, RUN))
        except CitebedError as error:
            raise CitebedError(f"{path}: {error}") from None


def _read_lines(text: RunText, batches: Batches) -> Iterator[pl.DataFrame]:
    columns = (pl.Series(batch.column(0)) for batch in batches)
    for lines in _grouped(columns, _LINES):
        yield text.parse(pl.concat(lines).str.join("\n")[0].encode())


def _read_texts(pieces: list[FileRange], text: RunText, batches: Batches) -> Iterator[pl.DataFrame]:
    for piece in _pieces_here(pieces, batches):
        yield from map(text.parse, piece.texts())


def _grouped(parts: Iterable[_Part], most: int) -> Iterator[list[_Part]]:
    """Group tables or columns until they have about ``most`` rows together."""
    group: list[_Part] = []
    for part in parts:
        group.append(part)
        if sum(map(len, group)) >= most:
            yield group
            group = []
    if group:
        yield group


def _pieces_here(pieces: list[FileRange], batches: Batches) -> Iterator[FileRange]:
    """Yield the pieces with the numbers that the engine assigned."""
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        if not Path(pieces[number].path).exists():
            raise CitebedError(
                f"the engine's workers do not see '{printable(pieces[number].path)}': put it on a "
                "disk that they share with this machine, or give an address for it (s3a://…)."
            )
        yield pieces[number]


def _parcels_of(
    work: Callable[[Batches], Iterator[Message]],
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return a step that runs ``work`` and sends its messages, or the error."""
    version = __version__

    def send(batches: Batches) -> Iterator[pa.RecordBatch]:
        try:
            check_version(version)
            for parcel in work(batches):
                yield from message_table([parcel]).to_batches()
        except CitebedError as error:
            yield from message_table((), str(error)).to_batches()

    return send
