"""Write runs and judgements atomically: as TREC text, compressed TREC text, or Parquet.

The ending of the file name decides: ``.parquet``, ``.gz``, or plain text for all others. The same
table gives the same bytes. KBA filter runs are written line by line while a filter runs, or as a
whole table.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from citebed.errors import CitebedError
from citebed.files.input_files import hash_file
from citebed.files.output_files import replace_files
from citebed.runs.ranking import in_rank_order
from citebed.runs.tables import Qrels, Run, is_parquet
from citebed.wording import json_text, printable

# Blanks end a field, NUL is not text, a line that starts with # is a comment, and readers skip a
# byte order mark at the beginning of a file.
_BLANK = r"[\s\x00\x1c-\x1f]|^$"
_UNFIT = {"query_id": rf"{_BLANK}|^[#\x{{feff}}]", "doc_id": _BLANK, "label": _BLANK}
_LEVEL = 6

Facts = Mapping[str, Any]
"""Facts about how a file was made, to be stored in ``NAME.json``."""


def write_qrels(
    path: str | Path,
    qrels: Qrels,
    label: str = "0",
    facts: Facts | None = None,
) -> list[Path]:
    """Write judgements in the order of their table; return the files written.

    ``label`` is written into TREC's second field, which evaluation programs ignore, and unless it
    is ``0`` into a column ``label`` of Parquet; a table that has this column keeps its own. Parquet
    files keep all other columns, too. ``facts`` on how the set was made go into ``NAME.json``.
    """
    path = Path(path)
    if not label or len(label.split()) != 1:
        raise CitebedError(f"the label '{label}' must be one word, without blanks.")
    own = "label" in qrels.table.columns
    if is_parquet(path):
        extra = [] if own or label == "0" else [pl.lit(label).alias("label")]
        return _write(path, qrels.table.with_columns(extra), facts)
    second = "label" if own else pl.lit(label).alias("0")
    fields = ("query_id", second, "doc_id", "relevance")
    return _write(path, qrels.table.select(fields), facts)


def write_run(
    path: str | Path,
    run: Run,
    tag: str | None = None,
    facts: Facts | None = None,
    header: str = "",
) -> list[Path]:
    """Write a run in rank order, queries ascending; return the files written.

    Ranks start at 1. A run that has ranks, such as the result of a search, is written as it is. The
    default tag is the run's name. Scores have all digits, so that reading restores them exactly.
    ``header`` are lines of comments to put first; Parquet has none.
    """
    path = Path(path)
    ranked = run.table if "rank" in run.table.columns else in_rank_order(run)
    if is_parquet(path):
        return _write(path, ranked.select("query_id", "doc_id", "rank", "score"), facts)
    name = "".join(printable(tag or run.name).split()) or "run"
    fields = ("query_id", pl.lit("Q0").alias("Q0"), "doc_id", "rank", "score", pl.lit(name))
    return _write(path, ranked.select(fields), facts, header.encode())


def check_not_input(out: Path, *inputs: Path) -> None:
    """Raise an error if an output file is one of the inputs."""
    for made in (out, out.with_name(f"{out.name}.json")):
        for path in inputs:
            if made.exists() and path.exists() and made.samefile(path):
                raise CitebedError(
                    f"{printable(made)} is an input file. Choose another name for the output."
                )


def check_ids(table: pl.DataFrame, path: Path) -> None:
    """Raise an error for ids that would not be read back from a TREC file unchanged."""
    if is_parquet(path):
        return
    for column in filter(table.columns.__contains__, _UNFIT):
        unfit = table[column].str.contains(_UNFIT[column]).fill_null(True)
        if unfit.any():
            raise CitebedError(
                f"the {column} {table[column].filter(unfit)[0]!r} is empty, contains a blank or "
                "starts with #, which a TREC file cannot hold. "
                f"Write Parquet instead: {printable(path.stem)}.parquet"
            )


def _write(path: Path, table: pl.DataFrame, facts: Facts | None, header: bytes = b"") -> list[Path]:
    check_ids(table, path)
    paths = [path] if facts is None else [path, path.with_name(f"{path.name}.json")]
    with replace_files(*paths) as drafts:
        with drafts[0].open("wb") as handle:
            if is_parquet(path):
                table.write_parquet(handle)
            elif path.suffix.lower() == ".gz":
                # Without name and time in the header, for reproducible bytes.
                with gzip.GzipFile("", "wb", _LEVEL, handle, mtime=0) as zipped:
                    zipped.write(header)
                    write_lines(table, zipped)
            else:
                handle.write(header)
                write_lines(table, handle)
        if facts is not None:
            recorded = {**facts, "file": path.name, "sha256": hash_file(drafts[0])}
            drafts[1].write_text(json_text(recorded, indent=2) + "\n", "utf-8")
    return paths


def write_lines(table: pl.DataFrame, handle: Any) -> None:
    """Write rows as lines, with single blanks between the fields."""
    table.write_csv(
        handle, include_header=False, separator=" ", quote_style="never", batch_size=65536
    )


# --- KBA's filter runs ----------------------------------------------------------------------

_EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)


class FilterLine(NamedTuple):
    """A line of a filter run: a document for a query, with the system's confidence as score."""

    query_id: str
    doc_id: str
    time: int
    score: int | float
    rating: int | None = None
    contains_mention: bool | None = None


def filter_names(team: str, system: str) -> str:
    """Return the first two fields of every line of a filter run."""
    return f"{_word(team, 'team')} {_word(system, 'system')}"


def filter_lines(names: str, lines: Iterable[FilterLine]) -> bytes:
    """Format lines of a filter run; ``names`` is the result of `filter_names`."""
    return "".join(_line(names, line) for line in lines).encode("utf-8")


def header_line(header: dict[str, Any]) -> bytes:
    """Format the first line of a filter run: ``#`` and a JSON object."""
    return f"#{json_text(header)}\n".encode()


def stream_id(doc_id: str, time: int) -> str:
    """Return a document's id in a filter run, which starts with its epoch second.

    An id that does so already is not changed.
    """
    epoch = f"{time:010d}-"
    own = f"{time}-"
    return doc_id if doc_id.startswith((epoch, own)) and len(own) > 5 else epoch + doc_id


def stream_ids(ids: pl.Series, times: pl.Series) -> pl.Series:
    """Apply `stream_id` to many documents in order of time."""
    if len(times) and times[0] < _TEN_DIGITS:
        return pl.Series(map(stream_id, ids, times), dtype=pl.String)
    epochs = times.cast(pl.String) + "-"
    start = ids.str.starts_with(epochs)  # type: ignore[arg-type]
    return ids if start.all() else ids.zip_with(start, epochs + ids)


_TEN_DIGITS = 10**9
"""From this second on, in September 2001, epoch seconds have ten digits."""


@lru_cache(maxsize=1024)
def _date_hour(hours: int) -> str:
    """Format hours since 1970 as KBA names its folders: ``2011-12-09-17``, UTC."""
    return (_EPOCH_START + timedelta(hours=hours)).strftime("%Y-%m-%d-%H")


def _line(names: str, line: FilterLine) -> str:
    query, doc, time, score, rating, mention = line
    level = "-" if rating is None else rating
    seen = "-" if mention is None else int(mention)
    number = int(score) if score == int(score) else score
    return f"{names} {doc} {query} {number} {level} {seen} {_date_hour(time // 3600)}\n"


def _word(text: str, what: str) -> str:
    if text.replace("\0", " ").split() != [text] or text.startswith("#") or text != printable(text):
        shown = printable(text)
        raise CitebedError(f"the {what} '{shown}' must be one word in a filter run.")
    return text
