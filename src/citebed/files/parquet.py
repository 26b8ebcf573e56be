"""Parquet files of users: whatever is wrong with one is told with its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from citebed.errors import FormatError, is_interrupt
from citebed.files.limits import BOMB_RATIO, FILE_BYTES, limit
from citebed.files.packed import Bomb
from citebed.files.reading import at_hand
from citebed.files.system_errors import reading_told

if TYPE_CHECKING:
    import polars as pl

_CELL = 8
"""The least that a value takes in memory."""


def read_parquet(path: Path) -> pl.DataFrame:
    """The table; a file that is damaged, or holds far too many rows for its size, is refused."""
    import polars as pl

    with at_hand(path) as file:
        try:
            with reading_told(path):
                scan = pl.scan_parquet(file, glob=False)
                rows: int = scan.select(pl.len()).collect().item()
                size = rows * _CELL * len(scan.collect_schema())
                if size > max(limit(FILE_BYTES), BOMB_RATIO * file.stat().st_size):
                    raise FormatError(path, None, str(Bomb()))
                return scan.collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            reason = str(error).partition("\n")[0]
            raise FormatError(path, None, f"not a Parquet file, or damaged ({reason}).") from None
