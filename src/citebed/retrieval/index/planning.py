"""Tables to count, read in parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.files.reading import at_hand
from citebed.files.system_errors import reading_told
from citebed.retrieval.index.counting import Rows

_ROWS_READ = 100_000
"""Rows of text that are in memory at a time."""
_ROWS_A_JOB = 20_000


@dataclass(frozen=True)
class Planned:
    """A table to count: which columns, and the document of each row (-1: leave it out)."""

    table: Path
    columns: tuple[tuple[str, str], ...]
    document_of_row: NDArray[np.int64]

    def jobs(self) -> Iterator[Rows]:
        """The table in parts; parts of which nothing is wanted are left out."""
        wanted = self.document_of_row >= 0
        for start in range(0, len(wanted), _ROWS_READ):
            keep = wanted[start : start + _ROWS_READ]
            if keep.any():
                texts = self._read(start, keep)
                for at in range(0, len(keep), _ROWS_A_JOB):
                    yield Rows(self.table, start + at, texts.slice(at, _ROWS_A_JOB))

    def _read(self, start: int, keep: NDArray[np.bool_]) -> pl.DataFrame:
        """Some rows' texts by field; those that are not wanted are empty."""
        with reading_told(self.table), at_hand(self.table) as file:
            scan = pl.scan_parquet(file, glob=False).slice(start, len(keep))
            kinds = scan.collect_schema()
            texts = (
                (pl.col(name).list.join(" ; ") if kinds[name] == pl.List else pl.col(name))
                .fill_null("")
                .alias(field)
                for field, name in self.columns
            )
            found = scan.select(texts).collect()
        blank = pl.when(pl.Series(keep)).then(pl.all()).otherwise(pl.lit(""))
        return found if keep.all() else found.select(blank)
