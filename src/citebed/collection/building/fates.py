"""What became of the records of an import, counted."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from citebed.collection.building.assembling import Decided
from citebed.collection.storing.import_report import Account
from citebed.collection.tables import IMPORT, Frames
from citebed.wording import count

_WORDS = {
    "other": "merged with others",
    "within": "merged among themselves",
    "aside": "set aside",
}


@dataclass(frozen=True)
class Fates:
    """How many records became documents, were merged into others, or were set aside, and why.

    ``files`` has a row for each file: its ``own`` documents, records merged ``within`` it, those
    merged with records of ``other`` files, and those set ``aside``.
    """

    records: int
    documents: int
    merged: int
    doubtful: int
    set_aside: dict[str, int]
    files: dict[str, dict[str, int]]

    @classmethod
    def of(cls, decided: Decided) -> Fates:
        """Count what was decided."""
        table = decided.table
        documents = decided.owners.height
        reasons = table["reason"].drop_nulls().cast(pl.String).value_counts(sort=True)
        kept = table.height - table["reason"].count()
        return cls(
            records=table.height,
            documents=documents,
            merged=kept - documents,
            doubtful=decided.doubtful,
            set_aside=dict(reasons.iter_rows()),
            files=_by_file(decided),
        )

    def outcomes(
        self, read: list[dict[str, object]], copies: list[tuple[str, str]]
    ) -> list[tuple[str, str]]:
        """What became of each file, in words.

        ``read`` are the files that were read, ``copies`` those that are equal to another.
        """
        items = [(name, f"the same as {other}, which was read") for name, other in copies]
        for row in read:
            form = f" ({row['format']})" if row["format"] else ""
            items.append((str(row["source"]), self._told([row], "its") + form))
        return sorted(items)

    def together(self, read: list[dict[str, object]]) -> str:
        """What became of the files that were read, in words; nothing where there are no others."""
        new = {str(row["source"]) for row in read}
        if self.files.keys() <= new:
            return ""
        return f"{count(len(read), 'file')}: {self._told(read, 'their')}"

    def account(self, frames: Frames, lost: int) -> Account:
        """What the readers met, of which ``lost`` problems were not kept, and what it became."""
        others = ("papers", f"{IMPORT}/topics", f"{IMPORT}/judgements")
        problems = frames[f"{IMPORT}/problems"].filter(pl.col("kind") == "skipped").height
        return Account(
            met=int(frames[f"{IMPORT}/sources"]["records"].sum()) + problems + lost,
            documents=self.documents,
            merged=self.merged,
            excluded=sum(self.set_aside.values()),
            others=sum(frames[name].height for name in others)
            + frames[f"{IMPORT}/lists"]["source"].n_unique(),
            problems=problems,
        )

    def _told(self, read: list[dict[str, object]], whose: str) -> str:
        files = [self.files.get(str(row["source"]), {}) for row in read]
        told = {name: sum(file.get(name, 0) for file in files) for name in _WORDS}
        parts = [f"{number:,} {_WORDS[name]}" for name, number in told.items() if number]
        own = sum(file.get("own", 0) for file in files)
        if parts and own:
            parts = [f"{count(own, 'document')} of {whose} own", *parts]
        records = sum(int(str(row["records"])) for row in read)
        return ", ".join([count(records, "record"), *parts])


def _by_file(decided: Decided) -> dict[str, dict[str, int]]:
    names = sorted({name.partition("!")[0] for name in decided.sources})
    files = {name: number for number, name in enumerate(names)}
    numbers = [files[name.partition("!")[0]] for name in decided.sources]
    file = pl.Series("file", numbers, dtype=pl.UInt32).gather(decided.table["source"])
    table = decided.table.select("row", "owner", "size", file)
    single = pl.col("size") == 1
    inside = pl.col("file").min().over("owner") == pl.col("file").max().over("owner")
    several = (pl.col("size") > 1).fill_null(value=False)
    first = pl.col("owner") == pl.col("row")
    counted = (
        table.group_by("file").agg(pl.len())
        if table.is_empty()
        else (
            table.with_columns(inside=inside)
            .group_by("file")
            .agg(
                own=(single | (several & pl.col("inside") & first)).sum(),
                within=(several & pl.col("inside") & ~first).sum(),
                other=(several & ~pl.col("inside")).sum(),
                aside=pl.col("owner").is_null().sum(),
            )
        )
    )
    return {names[row.pop("file")]: row for row in counted.iter_rows(named=True)}
