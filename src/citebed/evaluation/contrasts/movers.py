"""Queries whose scores the second judgement set moves most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.evaluating import RunScores
from citebed.runs.tables import Floats

Move = Literal["from best", "from 0", "fell", "rose"]
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class Mover:
    """A query that a run scores otherwise under the second set.

    ``move`` is "from best" where it fell from the measure's highest value (1 for nearly all),
    "from 0" where it rose from 0, else "fell" or "rose". ``before_relevant`` and
    ``after_relevant`` count its relevant documents: one that fell from 1 had mostly a single
    one, and that was found.
    """

    measure: str
    run: str
    query_id: str
    before: float
    after: float
    change: float
    move: Move
    before_relevant: int
    after_relevant: int

    def row(self) -> dict[str, Any]:
        """As a flat row."""
        return asdict(self)


def movers(
    measure: Measure,
    before: RunScores,
    after: RunScores,
    relevant: tuple[Mapping[str, int], Mapping[str, int]],
    largest: int,
) -> list[Mover]:
    """All queries that fell from the best value or rose from 0, and the largest other moves.

    ``largest`` limits the latter, in each direction. Largest move first; of equal ones by id.
    """
    at = before.measures.index(measure)
    rows = list(_moved(measure, before, before.values[at], after.values[at], relevant))
    rows.sort(key=lambda mover: (-abs(mover.change), mover.query_id))
    kept = {id(mover) for mover in rows if mover.move in ("from best", "from 0")}
    for move in ("fell", "rose"):
        kept |= {id(mover) for mover in [m for m in rows if m.move == move][:largest]}
    return [mover for mover in rows if id(mover) in kept]


def _moved(
    measure: Measure,
    run: RunScores,
    before: Floats,
    after: Floats,
    relevant: tuple[Mapping[str, int], Mapping[str, int]],
) -> Iterator[Mover]:
    ids = run.query_ids.to_list()
    for place in np.flatnonzero(np.abs(after - before) > NEGLIGIBLE).tolist():
        x, y, query = float(before[place]), float(after[place]), ids[place]
        yield Mover(
            measure=str(measure),
            run=run.run,
            query_id=query,
            before=x,
            after=y,
            change=y - x,
            move=_move(measure, x, y),
            before_relevant=relevant[0].get(query, 0),
            after_relevant=relevant[1].get(query, 0),
        )


def _move(measure: Measure, before: float, after: float) -> Move:
    if after < before:
        return "from best" if before >= measure.RANGE[1] - NEGLIGIBLE else "fell"
    return "from 0" if abs(before) <= NEGLIGIBLE else "rose"
