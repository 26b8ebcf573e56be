"""Read text runs of any length (TREC or KBA) in parts, optionally cut between groups of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from citebed.files.input_files import is_compressed
from citebed.files.lines import read_chunks
from citebed.runs.file_ranges import FileRange, split_between_groups
from citebed.runs.kba_files import RUN_FORM, parsed_filter_lines
from citebed.runs.tables import Run, is_parquet
from citebed.runs.trec_files import RUN, parsed_lines

Grouping = Callable[[Run], pl.Series]
"""Returns a group for each row; groups can be scored independently of each other."""
COLUMNS = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "time": pl.Int64}
LARGE = 1 << 28
"""Size in bytes from which a run is read in parts."""


def group_by_query(run: Run) -> pl.Series:
    """Group rows by query."""
    return run.rows["query_id"].cast(pl.String)


@dataclass(frozen=True)
class RunText:
    """A text run by its path, with its tag, team and name.

    ``has_times`` is true for KBA's format and false for TREC's.
    """

    path: str
    has_times: bool = False
    tag: str | None = None
    team: str | None = None
    name: str = ""

    def parse(self, lines: bytes) -> pl.DataFrame:
        """Parse lines into rows."""
        if self.has_times:
            return parsed_filter_lines(lines, Path(self.path)).select(*COLUMNS)
        return parsed_lines(lines, RUN, Path(self.path))

    def run(self, rows: pl.DataFrame) -> Run:
        """Make a run of rows."""
        times = rows["time"] if self.has_times else None
        return Run(rows.select(RUN.columns), self.path, times=times)

    def read(self, piece: FileRange) -> Run:
        """Read the lines of a file range."""
        return self.run(pl.concat(map(self.parse, piece.texts())))

    def split_between_groups(
        self, files: Sequence[Path], grouping: Grouping
    ) -> list[FileRange] | None:
        """Split files between groups, judged by samples; ``None`` if groups seem scattered."""
        return split_between_groups(files, lambda lines: grouping(self.run(self.parse(lines))))


def detect_run_text(path: str, head: Iterable[bytes]) -> RunText | None:
    """Detect a run's format, tag and team from its first lines; ``None`` for comments only."""
    split = (line.split() for line in head)  # by what C takes for white space, as readers do
    first = next((fields for fields in split if fields and not fields[0].startswith(b"#")), None)
    if first is None:
        return None
    fields = [field.decode("utf-8", "replace") for field in first]
    if len(fields) >= len(RUN_FORM):
        return RunText(path, True, fields[1] or None, fields[0])
    return RunText(path, False, fields[-1])


def first_lines(files: Iterable[Path]) -> Iterator[bytes]:
    """Yield the first lines of each file."""
    for file in files:
        yield from next(read_chunks(file), b"").split(b"\n")


def large_run_text(path: Path, name: str) -> RunText | None:
    """Return a run file that is large enough to be read in parts, or ``None``."""
    if is_parquet(path) or path.stat().st_size < LARGE or is_compressed(path):
        return None
    text = detect_run_text(str(path), first_lines([path]))
    return text and replace(text, name=name)
