"""Runs as text of any length, TREC's or KBA's, in parts: some lines, or those of whole groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from citebed.files.line_blocks import file_texts
from citebed.files.reading import is_packed
from citebed.runs.file_ranges import FileRange, split_between_groups
from citebed.runs.kba_files import RUN_FORM, parsed_filter_lines
from citebed.runs.tables import Run, is_parquet
from citebed.runs.trec_files import RUN, parsed_lines

Grouping = Callable[[Run], pl.Series]
"""By what a run may be cut: a value for each row, such that what is made of a run is that of the
rows of some values and that of the others together."""
COLUMNS = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "time": pl.Int64}
LARGE = 1 << 28
"""From so many bytes on a run is better read in parts."""


def group_by_query(run: Run) -> pl.Series:
    """Runs may always be cut between queries."""
    return run.rows["query_id"].cast(pl.String)


@dataclass(frozen=True)
class RunText:
    """A run as text: where it is, whether its lines have times (KBA's do, TREC's have none), what
    it calls itself, whose it is, and how it is called."""

    path: str
    has_times: bool = False
    tag: str | None = None
    team: str | None = None
    name: str = ""

    def parse(self, lines: bytes) -> pl.DataFrame:
        """The rows of some lines."""
        if self.has_times:
            return parsed_filter_lines(lines, Path(self.path)).select(*COLUMNS)
        return parsed_lines(lines, RUN, Path(self.path))

    def run(self, rows: pl.DataFrame) -> Run:
        """Rows as a run."""
        times = rows["time"] if self.has_times else None
        return Run(rows.select(RUN.columns), self.path, times=times)

    def read(self, piece: FileRange) -> Run:
        """The lines of a piece."""
        return self.run(pl.concat(map(self.parse, piece.texts())))

    def split_between_groups(
        self, files: Sequence[Path], grouping: Grouping
    ) -> list[FileRange] | None:
        """Pieces in which groups are whole, as it seems; ``None`` where there are none."""
        return split_between_groups(files, lambda lines: grouping(self.run(self.parse(lines))))


def detect_run_text(path: str, head: Iterable[bytes]) -> RunText | None:
    """A run by its first lines; ``None`` where all of them are remarks."""
    split = (line.split() for line in head)  # by what C takes for white space, as readers do
    first = next((fields for fields in split if fields and not fields[0].startswith(b"#")), None)
    if first is None:
        return None
    fields = [field.decode("utf-8", "replace") for field in first]
    if len(fields) >= len(RUN_FORM):
        return RunText(path, True, fields[1] or None, fields[0])
    return RunText(path, False, fields[-1])


def first_lines(files: Iterable[Path]) -> Iterator[bytes]:
    """The first lines of files."""
    for file in files:
        yield from next(file_texts(file), b"").split(b"\n")


def large_run_text(path: Path, name: str) -> RunText | None:
    """A file that is better read in parts, if it is one."""
    if is_parquet(path) or path.stat().st_size < LARGE or is_packed(path):
        return None
    text = detect_run_text(str(path), first_lines([path]))
    return text and replace(text, name=name)
