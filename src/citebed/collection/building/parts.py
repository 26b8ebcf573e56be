"""Records on disk, in parts: what an import reads is more than there may be memory for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from citebed.collection.building.keys import canonical_records


def write_part(path: Path, records: pl.DataFrame) -> None:
    """Write rows to a file that only this import reads."""
    with path.open("wb") as handle:  # polars takes no name that is not UTF-8
        records.write_ipc(handle)


def read_part(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The rows of a file."""
    with path.open("rb") as handle:
        return pl.read_ipc(handle, columns=list(columns) if columns else None)


class Parts:
    """The records of an import as files of some thousand rows, found by part and row."""

    def __init__(self, folder: Path, files: Iterable[Path]) -> None:
        self._folder = folder
        self._files = list(files)

    def __len__(self) -> int:
        return len(self._files)

    def read(self, part: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The records of a part, or some columns of them."""
        if columns is not None:
            return read_part(self._files[part], columns)
        return canonical_records(read_part(self._files[part]))

    def add(self, records: pl.DataFrame) -> None:
        """Put records behind the others."""
        if records.is_empty():
            return
        path = self._folder / f"earlier-{len(self)}.arrow"
        write_part(path, records)
        self._files.append(path)

    def replace(self, part: int, records: pl.DataFrame) -> None:
        """Put changed records in place of a part."""
        self._files[part] = self._folder / f"changed-{part}.arrow"
        write_part(self._files[part], records)

    def take(self, places: pl.DataFrame, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The records at some places (``part`` and ``at``, their row there), in that order."""
        wanted = places.select("part", "at").with_row_index("order")
        found, order = [], []
        for part in wanted.partition_by("part", maintain_order=True):
            found.append(self.read(int(part["part"][0]), columns)[part["at"]])
            order.append(part["order"])
        records = pl.concat(found, rechunk=False)
        asked = pl.concat(order)
        return records if asked.is_sorted() else records[asked.arg_sort()]
