"""Timelines on an engine: runs of any size over a stream, scored as on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from citebed.distributed.places import Carried, arrived
from citebed.distributed.run_rows import Part, RunRows, run_rows
from citebed.distributed.sessions import Engine
from citebed.runs.reader import distinct_names
from citebed.timeline.scoring.partial_scores import Scored, Scoring, part_rows, together
from citebed.timeline.streams.run_sources import RunSource


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
        return self.rows.text.team

    def scored(self, how: Scoring) -> Scored:
        """The scores of the run: of its parts only those come here."""
        return together(self.name, self.rows.by_query(_scoring(how), {}, *how.groupings), how)


def _scoring(how: Scoring) -> Part:
    first = how.pairs.qrels.first()
    rest = how._replace(pairs=replace(how.pairs, qrels=first, pair_qrels=first))
    data = Carried(how.pairs.pair_qrels, rest)

    return lambda run: part_rows(run, _arrived(data))


@lru_cache(2)
def _arrived(data: Carried) -> Scoring:
    """On a worker: what was carried, ready for parts."""
    pair_qrels, rest = arrived(data)
    how: Scoring = rest._replace(pairs=replace(rest.pairs, pair_qrels=pair_qrels))
    return how.for_parts()
