"""Writing TREC KBA's filter runs: line by line as a filter goes, or a whole table at once."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import polars as pl

from citebed.errors import CitebedError
from citebed.files.writing import whole_files
from citebed.wording import json_text, printable

_EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)
COLUMNS = ("query_id", "doc_id", "time", "score", "rating", "contains_mention")


class FilterLine(NamedTuple):
    """A line of a filter run: how sure a system is that a document is worth citing."""

    query_id: str
    doc_id: str
    time: int
    score: int | float
    rating: int | None = None
    contains_mention: bool | None = None


class FilterRunWriter:
    """Writes a filter run line by line, after what is there already; gzip if the name ends so.

    A new file starts with the header. ``flush`` makes sure that a reader sees all lines so far.
    A file that is open is written to, and stays open; ``packed`` says whether it is gzip.
    """

    def __init__(
        self,
        file: str | Path | BinaryIO,
        header: dict[str, Any],
        team: str,
        system: str,
        *,
        packed: bool | None = None,
    ) -> None:
        self._names = f"{_word(team, 'team')} {_word(system, 'system')}"
        self._opened = ExitStack()
        if isinstance(file, str | Path):
            packed = Path(file).suffix == ".gz" if packed is None else packed
            file = self._opened.enter_context(Path(file).open("ab"))  # noqa: SIM115 - until close
        self._raw = file
        is_new = not os.fstat(self._raw.fileno()).st_size
        # No name and no time in gzip's own header: equal lines make equal files.
        self._zip = gzip.GzipFile("", "wb", 6, self._raw, mtime=0) if packed else None
        self._file: IO[bytes] = self._zip or self._raw  # type: ignore[assignment]
        if is_new:
            self._file.write(header_line(header))

    def write(self, lines: Iterable[FilterLine]) -> None:
        """Append lines."""
        names = self._names
        self._file.write("".join(_line(names, line) for line in lines).encode("utf-8"))

    def flush(self) -> int:
        """Hand everything to the operating system; gives the file's length in bytes."""
        self._file.flush()
        self._raw.flush()
        return os.fstat(self._raw.fileno()).st_size

    def close(self) -> None:
        """End the file."""
        if self._zip is not None:
            self._zip.close()
        self._raw.flush()
        self._opened.close()

    def __enter__(self) -> FilterRunWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_filter_run(
    path: str | Path, table: pl.DataFrame, header: dict[str, Any], team: str, system: str
) -> None:
    """Write a whole table (columns as ``read_filter_run`` gives them), or nothing."""
    path = Path(path)
    for column in ("query_id", "doc_id"):
        blank = table.filter(pl.col(column).str.contains(r"[\s\x00\x1c-\x1f]|^$"))
        if blank.height:
            raise CitebedError(
                f"the {column} '{blank[column][0]}' has a blank in it or nothing, which a filter "
                "run cannot hold"
            )
    with (
        whole_files(path) as (draft,),
        FilterRunWriter(draft, header, team, system, packed=path.suffix == ".gz") as writer,
    ):
        for part in table.select(COLUMNS).iter_slices(100_000):
            writer.write(FilterLine(*row) for row in part.iter_rows())


def header_line(header: dict[str, Any]) -> bytes:
    """The first line of a filter run: ``#`` and a JSON object."""
    return f"#{json_text(header)}\n".encode()


def stream_id(doc_id: str, time: int) -> str:
    """The id of a document in a filter run: it starts with the document's epoch second.

    An id that does so already is kept as it is.
    """
    epoch = f"{time:010d}-"
    own = f"{time}-"
    return doc_id if doc_id.startswith((epoch, own)) and len(own) > 5 else epoch + doc_id


def date_hour(time: int) -> str:
    """The hour of an epoch second as KBA names its folders: ``2011-12-09-17``, UTC."""
    return _hour(time // 3600)


@lru_cache(maxsize=1024)
def _hour(hours: int) -> str:
    return (_EPOCH_START + timedelta(hours=hours)).strftime("%Y-%m-%d-%H")


def _line(names: str, line: FilterLine) -> str:
    query, doc, time, score, rating, mention = line
    level = "-" if rating is None else rating
    seen = "-" if mention is None else int(mention)
    number = int(score) if score == int(score) else score
    return f"{names} {doc} {query} {number} {level} {seen} {date_hour(time)}\n"


def _word(text: str, what: str) -> str:
    if text.replace("\0", " ").split() != [text] or text.startswith("#") or text != printable(text):
        shown = printable(text)
        raise CitebedError(f"the {what} '{shown}' cannot stand in a filter run; take one word")
    return text
