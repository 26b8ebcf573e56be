"""Records on disk, in parts: what an import reads is more than there may be memory for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from citebed.collection.building.keys import Keys
from citebed.collection.tables import RECORD

ROOM = 512 << 20
"""So many bytes of records are held in memory."""
WHOLE = Keys(tuple(RECORD), lambda records: records)


def write_part(path: Path, records: pl.DataFrame) -> None:
    """Write rows to a file that only this import reads."""
    with path.open("wb") as handle:  # polars takes no name that is not UTF-8
        records.write_ipc(handle)


def read_part(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The rows of a file."""
    with path.open("rb") as handle:
        return pl.read_ipc(handle, columns=list(columns) if columns else None)


class Parts:
    """The records of an import as files of some thousand rows, found by part and row.

    Those that were read are held in memory as long as there is room.
    """

    def __init__(self, folder: Path, files: Iterable[Path]) -> None:
        self._folder = folder
        self._files = list(files)
        self._held: dict[int, pl.DataFrame] = {}
        self._room = ROOM

    def __len__(self) -> int:
        return len(self._files)

    def read(self, part: int, columns: Sequence[str] = tuple(RECORD)) -> pl.DataFrame:
        """The records of a part, or some columns of them."""
        path = self._files[part]
        if part not in self._held:
            size = path.stat().st_size
            if size > self._room:
                return read_part(path, columns)
            self._room -= size
            self._held[part] = read_part(path)
        return self._held[part].select(columns)

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
        if part in self._held:
            self._held[part] = records

    def take(self, places: pl.DataFrame, what: Keys = WHOLE) -> pl.DataFrame:
        """The records at some places (``part`` and ``at``, their row there), in that order, or
        what is made of them."""
        wanted = places.select("part", "at").with_row_index("order")
        schema = {name: RECORD[name] for name in what.columns}
        found, order = [what.of(pl.DataFrame(schema=schema))], [wanted["order"].clear()]
        for part in wanted.partition_by("part", maintain_order=True):
            records = self.read(int(part["part"][0]), what.columns)
            found.append(what.of(records[part["at"]]))
            order.append(part["order"])
        records, asked = pl.concat(found, rechunk=False), pl.concat(order)
        # In one chunk rows are taken out ten times as quickly.
        return records if asked.is_sorted() else records.rechunk()[asked.arg_sort()]
