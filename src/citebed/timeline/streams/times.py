"""Read document times from lines of id and time, from a stream, or from a collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import reusable_path
from citebed.files.lines import read_numbered_lines
from citebed.runs.tables import id_column
from citebed.runs.times import TIMES, format_time, parse_time, time_column
from citebed.timeline.streams.stream_files import blocks, decode, documents_by_date, file_source
from citebed.wording import count, printable


def times_of(source: Any, *, utc: bool = False) -> pl.DataFrame | None:
    """Return times from a file (`read_times`), a table, or a collection's documents.

    A date with a year or month only means its first day.
    """
    if source is None or (isinstance(source, pl.DataFrame) and source.schema == TIMES):
        return source
    if isinstance(source, pl.DataFrame):
        ids, times = id_column(source["doc_id"]), time_column(source["time"])
        return times_table(zip(ids, times, strict=True), "times")
    if isinstance(source, str | Path):
        with reusable_path(Path(source)) as file:
            return read_times(file, utc=utc)
    dated = documents_by_date(source.scan_documents()).select("doc_id", "time")
    return dated.drop_nulls().collect()


def read_times(path: str | Path, *, utc: bool = False) -> pl.DataFrame:
    """Read lines ``doc_id time`` or a stream of JSON documents, optionally compressed.

    An invalid line and two times for one id are errors; in a stream, lines that are not documents
    are skipped. Times may have different zones; all are converted to UTC.
    """
    path = Path(path)
    first = next((line for _, line in _text_lines(path) if line), "")
    pairs = list(_of_stream(path, utc) if first.startswith("{") else _lines(path, utc))
    if not pairs:
        raise FormatError(path, None, "there is nothing in it; expected lines of 'doc_id time'.")
    return times_table(pairs, printable(path))


def times_by_id(times: pl.DataFrame) -> pl.DataFrame:
    """Add the ids that a filter run gives to documents; ``known`` is a document's own id.

    A filter run puts the epoch second in front of the id, with or without zeros to ten digits.
    """
    plain = times.lazy().select("doc_id", "time", known="doc_id")
    written = (pl.col("time").cast(pl.String), pl.col("time").cast(pl.String).str.zfill(10))
    stream_ids = [plain.with_columns(doc_id=pl.format("{}-{}", time, "doc_id")) for time in written]
    every = pl.concat([plain, *stream_ids])
    return every.unique("doc_id", keep="first", maintain_order=True).collect()


def joined_times(lines: pl.LazyFrame, times: pl.DataFrame) -> pl.LazyFrame:
    """Join the ``time`` of each line's ``doc_id``, or null; restore ids with a time in front."""
    known = times if "known" in times.columns else times_by_id(times)
    return (
        lines.drop("time", strict=False)
        .join(known.lazy(), on="doc_id", how="left", maintain_order="left")
        .with_columns(doc_id=pl.coalesce("known", "doc_id"))
        .drop("known")
    )


def times_table(pairs: Iterable[tuple[str, int]], name: str) -> pl.DataFrame:
    """Build a table of documents and times; raise an error if a document has two times."""
    table = pl.DataFrame(list(pairs), schema=TIMES, orient="row").unique(maintain_order=True)
    twice = table.filter(pl.col("doc_id").is_duplicated())
    if twice.height:
        doc_id = twice["doc_id"][0]
        times = twice.filter(pl.col("doc_id") == doc_id)["time"].to_list()
        raise CitebedError(
            f"{name}: '{doc_id}' has two times, {format_time(times[0])} and "
            f"{format_time(times[1])}. Keep one."
        )
    return table


def _lines(path: Path, utc: bool) -> Iterator[tuple[str, int]]:
    for number, text in _text_lines(path):
        if not text or text.startswith("#"):
            continue
        try:
            doc_id, *time = text.split()
            if len(time) not in (1, 2):
                fields = count(1 + len(time), "field")
                raise CitebedError(f"found {fields}, expected two: 'doc_id time'.")
            yield doc_id, parse_time(" ".join(time), utc=utc)
        except CitebedError as error:
            raise FormatError(path, number, str(error)) from None


def _text_lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in read_numbered_lines(path):
        try:
            yield number, line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            what = f"byte 0x{line[error.start]:02x} is not UTF-8 text. Save the file as UTF-8."
            raise FormatError(path, number, what) from None


def _of_stream(path: Path, utc: bool) -> Iterator[tuple[str, int]]:
    """Yield the ids and times of a stream's documents, read as a filter reads them."""
    for block in blocks(file_source(path), 1 << 24):
        yield from decode(block, utc).table.select("doc_id", "time").iter_rows()
