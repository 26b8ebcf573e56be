"""A contrast in a row a measure: what a second judgement set does to all runs together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from citebed.evaluation.contrasts.changes import (
    NEGLIGIBLE,
    SYSTEMS,
    Agreement,
    Change,
    Conclusion,
    Fate,
    Mover,
    fates,
)
from citebed.frames import FlatRow


@dataclass(frozen=True)
class Digest(FlatRow):
    """What becomes of one measure under the second set.

    ``change`` is the mean over runs of their changes, ``rose`` and ``fell`` count the runs.
    ``queries_rose`` and ``queries_fell`` are shares of the queries of all runs; ``from_best`` and
    ``from_0`` count queries that fell from the best value, or rose from 0, in some run.
    ``systems_kendall`` is Kendall's τ of the runs' order, ``queries_kendall`` the median over the
    runs of that of their queries. The last four count significant differences between runs.
    """

    measure: str
    runs: int
    change: float
    rose: int
    fell: int
    queries_rose: float
    queries_fell: float
    from_best: int
    from_0: int
    systems_kendall: float
    queries_kendall: float
    survive: int
    vanish: int
    appear: int
    turn_round: int


def digests(
    changes: Sequence[Change],
    agreements: Sequence[Agreement],
    conclusions: Sequence[Conclusion],
    movers: Sequence[Mover],
) -> list[Digest]:
    """A row for each measure."""
    counted = fates(conclusions)
    return [
        _digest(
            [of for of in changes if of.measure == measure],
            [of for of in agreements if of.measure == measure],
            counted.get(measure, Counter()),
            [of for of in movers if of.measure == measure],
        )
        for measure in dict.fromkeys(of.measure for of in changes)
    ]


def _digest(
    changes: Sequence[Change],
    agreements: Sequence[Agreement],
    fate: Counter[Fate],
    movers: Sequence[Mover],
) -> Digest:
    by_query = [of.kendall for of in agreements if of.of != SYSTEMS]
    queries = sum(of.queries for of in changes)
    known = [tau for tau in by_query if not math.isnan(tau)]
    return Digest(
        measure=changes[0].measure,
        runs=len(changes),
        change=fmean(of.change for of in changes),
        rose=sum(of.change > NEGLIGIBLE for of in changes),
        fell=sum(of.change < -NEGLIGIBLE for of in changes),
        queries_rose=sum(of.rose for of in changes) / queries if by_query else math.nan,
        queries_fell=sum(of.fell for of in changes) / queries if by_query else math.nan,
        from_best=len({of.query_id for of in movers if of.move == "from best"}),
        from_0=len({of.query_id for of in movers if of.move == "from 0"}),
        systems_kendall=next(of.kendall for of in agreements if of.of == SYSTEMS),
        queries_kendall=median(known) if known else math.nan,
        survive=fate["survives"],
        vanish=fate["vanishes"],
        appear=fate["appears"],
        turn_round=fate["turns round"],
    )
