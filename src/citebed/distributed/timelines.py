"""Timelines on an engine: runs of any size over a stream, scored as on one machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from citebed.distributed.arrow import Schema
from citebed.distributed.places import COLUMNS, arrived, carried, places, rankings_of
from citebed.distributed.run_rows import Grouping, Part, RunRows, queries_of, run_rows
from citebed.distributed.sessions import Engine
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.reading import distinct_names
from citebed.runs.tables import Run
from citebed.runs.times import FIRST_SECOND, epochs, time_column
from citebed.timeline.scoring.stream_scores import Laid, RunLedger, lay
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.slices import Slices
from citebed.timeline.streams.run_sources import RunSource
from citebed.timeline.streams.timed_qrels import Skipped

_LAID: Schema = {
    "which": pl.String, **COLUMNS, "ledger": pl.String,
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
        groupings = [queries_of] if times is not None else [_slices_by(pairs.slices), queries_of]
        table = self.rows.by_query(_laying(pairs, times, threshold), _LAID, *groupings)
        judged = pairs.pair_qrels

        def rankings(which: str) -> Rankings:
            return rankings_of(judged, table.filter(pl.col("which") == which))

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


def _slices_by(slices: Slices) -> Grouping:
    """A run may be cut between slices: a pair is in one."""

    def of(run: Run) -> pl.Series:
        time = epochs(run.rows["doc_id"]) if run.times is None else time_column(run.times)
        return pl.Series(slices.of(time.fill_null(FIRST_SECOND - 1).to_numpy()))

    return of


def _laying(pairs: TopicSlices, times: pl.DataFrame | None, threshold: float | None) -> Part:
    data = carried(pairs.pair_qrels, replace(pairs, pair_qrels=None), times)  # type: ignore[arg-type]

    def part(run: Run) -> pl.DataFrame:
        pair_qrels, rest, known = arrived(data)
        laid = lay(run, replace(rest, pair_qrels=pair_qrels), known, threshold)
        kinds = {"everything": laid.everything}
        if threshold is not None:
            kinds["accepted"] = laid.accepted
        found = [_found(each).with_columns(which=pl.lit(name)) for name, each in kinds.items()]
        return pl.concat(
            [*found, pl.DataFrame({"ledger": [_written(laid.ledger)]})], how="diagonal"
        )

    return part


def _found(rankings: Rankings) -> pl.DataFrame:
    """The pairs that a part has documents in, and its judged documents."""
    there = np.flatnonzero(rankings.retrieved)
    return places(there, rankings.retrieved[there], rankings)


def _written(ledger: RunLedger) -> str:
    counted = {name: getattr(ledger, name) for name in _COUNTED}
    return json.dumps(counted | ledger.skipped._asdict() | {"least": ledger.alike[0]})
