"""Coverage of an evaluation: missing queries, unjudged documents, and ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Flags, Floats
from citebed.wording import count


@dataclass(frozen=True)
class MeasureCoverage:
    """Coverage of one measure: unjudged documents, and the influence of ties.

    ``looked_at`` counts the retrieved documents within the cut-off, or all without one. ``lowest``
    and ``highest`` are the summary with all ties in the worst and in the best order.
    ``queries_in_32_bits`` counts the queries whose score changes with 32-bit document scores, as in
    trec_eval 9.0.8; ``in_32_bits`` is the summary in that case (``None`` if no query changes).
    """

    measure: str
    looked_at: int
    unjudged: int
    lowest: float
    highest: float
    value: float
    queries_in_32_bits: int = 0
    in_32_bits: float | None = None


@dataclass(frozen=True)
class Coverage:
    """Coverage of a run's scores.

    ``measured`` queries are in the means. ``missing`` queries are judged but not in the run,
    ``unjudged`` queries in the run but not judged. ``without_relevant`` counts measured queries
    without relevant documents (they score 0). ``ties`` counts groups of equal scores whose
    documents differ in relevance (unjudged is 0), ``tied`` the documents in them.
    """

    run: str
    judged: int
    in_run: int
    measured: int
    missing: int
    unjudged: int
    without_relevant: int
    retrieved: int
    ties: int
    tied: int
    missing_examples: tuple[str, ...]
    unjudged_examples: tuple[str, ...]
    measures: tuple[MeasureCoverage, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return flat rows, one per measure, which repeat the run's own numbers."""
        own = {
            name: value
            for name, value in vars(self).items()
            if name not in ("measures", "missing_examples", "unjudged_examples", "unjudged")
        }
        own["unjudged_queries"] = self.unjudged
        return [{**own, **vars(measure)} for measure in self.measures]

    def notes(self) -> list[str]:
        """Return notes on missing queries, unjudged queries and ties, if any."""
        notes = []
        if self.missing:
            done = "counted as 0" if self.measured == self.judged else "left out of the means"
            are = "is" if self.missing == 1 else "are"
            judged = count(self.judged, "judged query", "judged queries")
            notes.append(
                f"{self.missing:,} of {judged} {are} not in the run and {are} "
                f"{done}: {_examples(self.missing_examples, self.missing)}"
            )
        if self.unjudged:
            one = self.unjudged == 1
            notes.append(
                f"{self.unjudged:,} of {count(self.in_run, 'query')} in the run "
                f"{'lacks judgements and is' if one else 'lack judgements and are'} left out: "
                f"{_examples(self.unjudged_examples, self.unjudged)}"
            )
        if self.without_relevant:
            measured = count(self.measured, "measured query", "measured queries")
            notes.append(
                f"{self.without_relevant:,} of {measured} without relevant documents: "
                f"{'it scores' if self.without_relevant == 1 else 'they score'} 0"
            )
        if self.ties:
            moved = [m for m in self.measures if m.highest - m.lowest > 5e-5]
            spans = "; ".join(f"{m.measure} from {m.lowest:.4f} to {m.highest:.4f}" for m in moved)
            effect = f"other orders would give {spans}" if moved else "no measure moves by 0.00005"
            ties = "a tie" if self.ties == 1 else f"{self.ties:,} ties"
            notes.append(f"{count(self.tied, 'document')} in {ties} across relevance: {effect}")
        changes = []
        for m in self.measures:
            if m.in_32_bits is not None:
                change, how = m.in_32_bits - m.value, "not the mean"
                if change:
                    digits = f"{change:+.4f}" if abs(change) >= 5e-5 else f"{change:+.1e}"
                    how = f"the mean from {m.value:.4f} to {m.in_32_bits:.4f} ({digits})"
                changes.append(f"{m.measure} for {count(m.queries_in_32_bits, 'query')}, {how}")
        if changes:
            notes.append(
                "trec_eval 9.0.8 keeps scores in 32 bits, where some of these are ties; that "
                f"changes {'; '.join(changes)} (--scores float does the same)"
            )
        return notes


def _examples(ids: tuple[str, ...], number: int) -> str:
    return ", ".join(ids) + (" …" if number > len(ids) else "")


class AlignedRun(NamedTuple):
    """A run matched with judgements.

    ``query_ids`` are all queries of the run; ``rankings`` has its judged documents. ``in_32_bits``
    has the rankings of queries in which 32-bit scores create new ties.
    """

    run: str
    tag: str | None
    query_ids: pl.Series
    rankings: Rankings
    in_32_bits: Rankings | None = None


def compute_coverage(
    matched: AlignedRun, measures: Sequence[Measure], values: Floats, counted: Flags
) -> Coverage:
    """Compute the coverage of a run.

    ``values`` has one row per measure, over all judged queries; ``counted`` are the measured ones.
    """
    rankings, in_32_bits, query_ids = matched.rankings, matched.in_32_bits, matched.query_ids
    missing = rankings.query_ids.to_numpy()[~rankings.in_run]
    unknown = query_ids.filter(~query_ids.is_in(rankings.query_ids.implode())).sort()
    ties, tied = _boundary_ties(rankings)
    orders = [rankings.retied(lucky) for lucky in (False, True) if rankings.with_ties.any()]
    covered = []
    for measure, row in zip(measures, values, strict=True):
        retrieved, known = rankings.retrieved, rankings.relevance >= 0
        if isinstance(measure.cutoff, int):
            retrieved = np.minimum(retrieved, measure.cutoff)
            known = known & (rankings.rank <= measure.cutoff)
        looked_at = int(retrieved.sum())
        ends = [measure.summary(row[counted])]
        for order in orders:
            moved = np.where(rankings.with_ties, measure.values(order), row)
            ends.append(measure.summary(moved[counted]))
        unjudged, changed, narrow = looked_at - int(known.sum()), 0, None
        if in_32_bits is not None:
            narrow_row = np.where(in_32_bits.in_run, measure.values(in_32_bits), row)
            changed = int((np.abs(narrow_row - row)[counted] > 1e-12).sum())
            narrow = measure.summary(narrow_row[counted]) if changed else None
        covered.append(
            MeasureCoverage(
                str(measure), looked_at, unjudged, min(ends), max(ends), ends[0], changed, narrow
            )
        )
    return Coverage(
        run=matched.run,
        judged=rankings.queries,
        in_run=len(query_ids),
        measured=int(counted.sum()),
        missing=len(missing),
        unjudged=len(unknown),
        without_relevant=int((rankings.judged(1)[counted] == 0).sum()),
        retrieved=int(rankings.retrieved.sum()),
        ties=ties,
        tied=tied,
        missing_examples=tuple(missing[:3].tolist()),
        unjudged_examples=tuple(unknown.head(3).to_list()),
        measures=tuple(covered),
    )


def _boundary_ties(rankings: Rankings) -> tuple[int, int]:
    """Count groups of equal scores whose documents differ in relevance, and their documents."""
    tied = rankings.rows(rankings.tie_size > 1)
    if not len(tied.query):
        return 0, 0
    grade, at = np.maximum(tied.relevance, 0), np.flatnonzero(tied.new_tie)
    size, known = tied.tie_size[at], np.diff(np.append(at, len(tied.query)))
    best, worst = np.maximum.reduceat(grade, at), np.minimum.reduceat(grade, at)
    worst = np.where(known < size, 0, worst)
    differ = best != worst
    return int(differ.sum()), int(size[differ].sum())
