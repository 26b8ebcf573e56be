"""Timelines on an engine: runs of any size over a stream, scored as on one machine."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import polars as pl

from citebed.distributed.arrow import ERROR, Schema, brought
from citebed.distributed.places import COLUMNS, places, rankings_of
from citebed.distributed.run_rows import Part, RunRows, run_rows
from citebed.distributed.sessions import Engine
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.ranking import hashed_here
from citebed.runs.reading import distinct_names
from citebed.runs.tables import Ints, Run
from citebed.timeline.scoring.stream_scores import Laid, RunLedger, lay
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.streams.run_sources import RunSource
from citebed.timeline.streams.timed_qrels import Skipped

_LAID: Schema = {
    "pair": pl.Int64, "which": pl.String, **COLUMNS, "ledger": pl.String, ERROR: pl.String,
}  # fmt: skip
_COUNTED = ("measured", "judged", "elsewhere", "outside")


def runs_on(engine: Engine, runs: Sequence[str | Path]) -> list[RunSource]:
    """Runs that the engine reads, for `citebed.timeline`."""
    paths = list(map(str, runs))
    names = distinct_names(list(map(Path, paths)))
    read: Any = [partial(_elsewhere, engine, *each) for each in zip(names, paths, strict=True)]
    return list(map(RunSource, names, read))


def _elsewhere(engine: Engine, name: str, path: str) -> _Elsewhere:
    return _Elsewhere(name, run_rows(engine, path))


@dataclass(frozen=True, eq=False)
class _Elsewhere:
    """A run that an engine has."""

    name: str
    rows: RunRows

    @property
    def team(self) -> str | None:
        """Whose run it is, where it says so."""
        return self.rows.team

    def laid(self, pairs: TopicSlices, times: pl.DataFrame | None, threshold: float | None) -> Laid:
        """The run beside the pairs of topic and slice."""
        table = brought(self.rows.by_query(_laying(pairs, times, threshold), _LAID))
        judged = pairs.pair_qrels

        def rankings(which: str) -> Rankings:
            some = table.filter(pl.col("which") == which)
            return rankings_of(judged, some, _pair_numbers)

        everything = rankings("everything")
        accepted = everything if threshold is None else rankings("accepted")
        return Laid(everything, accepted, self._ledger(table, everything, pairs))

    def _ledger(self, table: pl.DataFrame, found: Rankings, pairs: TopicSlices) -> RunLedger:
        parts = [json.loads(each) for each in table["ledger"].drop_nulls()]
        total = {name: sum(part[name] for part in parts) for name in (*_COUNTED, *_SKIPPED)}
        names = sorted({name for part in parts for name in part["queries"]})
        counts = {name: total[name] for name in _SKIPPED}
        ids = [part["least"] for part in parts if part["least"]] or [""]
        return RunLedger(
            run=self.name,
            skipped=Skipped(**counts, queries=tuple(names)),
            **{name: total[name] for name in _COUNTED},
            pairs=len(pairs),
            silent=int((found.retrieved == 0).sum()),
            alike=("" if total["judged"] else min(ids), str(pairs.qrels.doc_ids[0])),
        )


_SKIPPED = ("lines", "unjudged", "untimed")


def _pair_numbers(table: pl.DataFrame) -> Ints:
    return table["pair"].to_numpy()


def _laying(pairs: TopicSlices, times: pl.DataFrame | None, threshold: float | None) -> Part:
    data = pickle.dumps((pairs, times))

    def part(run: Run) -> pl.DataFrame:
        beside, known = _ready(data)
        laid = lay(run, beside, known, threshold)
        kinds = {"everything": laid.everything}
        if threshold is not None:
            kinds["accepted"] = laid.accepted
        found = [_found(each).with_columns(which=pl.lit(name)) for name, each in kinds.items()]
        return pl.concat(
            [*found, pl.DataFrame({"ledger": [_written(laid.ledger)]})], how="diagonal"
        )

    return part


def _found(rankings: Rankings) -> pl.DataFrame:
    """The pairs that a part has documents in, by number, and its judged documents."""
    numbers = pl.Series(rankings.query_ids.cast(pl.Int64))
    there = pl.Series(rankings.retrieved > 0)
    table = places("pair", numbers, rankings.retrieved, rankings)
    keep = table["rank"].is_not_null() | table["pair"].is_in(numbers.filter(there).implode())
    return table.filter(keep)


def _written(ledger: RunLedger) -> str:
    counted = {name: getattr(ledger, name) for name in _COUNTED}
    return json.dumps(counted | ledger.skipped._asdict() | {"least": ledger.alike[0]})


@cache
def _ready(data: bytes) -> tuple[TopicSlices, pl.DataFrame | None]:
    """The pairs and times as this machine hashes ids: once in each worker."""
    read: tuple[TopicSlices, pl.DataFrame | None] = pickle.loads(data)
    pairs, times = read
    here: Any = replace(pairs, pair_qrels=hashed_here(pairs.pair_qrels))
    return here, times
