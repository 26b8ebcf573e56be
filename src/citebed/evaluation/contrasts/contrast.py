"""Compare the same runs under two judgement sets.

Made for the study of Ritchie, Robertson & Teufel (2007), Creating a test collection: relevance
judgements of cited & non-cited papers. Authors first judge the papers that they cite (J1), then
papers from other sources (J1+2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.changes import (
    Agreement,
    Change,
    ContrastSummary,
    QueryChange,
    SignificanceChange,
    agreements,
    is_by_query,
    query_changes,
    score_changes,
    significance_changes,
    summarise_contrast,
)
from citebed.evaluation.contrasts.sets import Sets, align, relevant_counts
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import CONTRASTED, ContrastOptions, Resampling
from citebed.evaluation.scoring.evaluation import Evaluation, evaluate_under
from citebed.frames import MultiTableResult
from citebed.runs.ranking import prepare
from citebed.runs.reader import as_qrels, check_names, read_sets
from citebed.runs.tables import Qrels
from citebed.wording import count


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(MultiTableResult):
    """The results of runs under two judgement sets."""

    PARTS = ("judgements", "summary", "changes", "correlations", "conclusions", "movers", "queries")
    MAIN = "changes"

    sets: Sets
    before: Evaluation
    after: Evaluation
    changes: tuple[Change, ...]
    agreements: tuple[Agreement, ...]
    conclusions: tuple[SignificanceChange, ...]
    movers: tuple[QueryChange, ...]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order given."""
        return self.before.measures

    @property
    def by_query(self) -> tuple[Measure, ...]:
        """The measures that have their own scores per query."""
        return tuple(measure for measure in self.measures if is_by_query(measure))

    @cached_property
    def summary(self) -> tuple[ContrastSummary, ...]:
        """The changes of each measure over all runs."""
        return tuple(
            summarise_contrast(self.changes, self.agreements, self.conclusions, self.movers)
        )

    def change(self, run: str, measure: Measure | str) -> Change:
        """Return the change of one run under one measure."""
        for row in self.changes:
            if (row.run, row.measure) == (run, str(measure)):
                return row
        raise CitebedError(f"{measure} of '{run}' was not contrasted.")

    def rows(self, part: str) -> list[dict[str, Any]]:
        """Return one of the ``PARTS`` as flat rows."""
        if part == "queries":
            return self.query_rows()
        parts: Mapping[str, Sequence[Any]] = {
            "judgements": self.sets.facts, "summary": self.summary, "changes": self.changes,
            "movers": self.movers, "correlations": self.agreements, "conclusions": self.conclusions,
        }  # fmt: skip
        return [row.row() for row in parts[part]]

    def query_rows(self) -> list[dict[str, Any]]:
        """Return the scores under both sets, one flat row per run, measure and query."""
        return [
            {"run": x.run, "measure": str(measure), "query_id": query, "before": a, "after": b}
            for x, y in zip(self.before.runs, self.after.runs, strict=True)
            for measure in self.by_query
            for query, a, b in zip(
                x.query_ids.to_list(), x.of(measure).tolist(), y.of(measure).tolist(), strict=True
            )
        ]

    def notes(self) -> list[str]:
        """Return notes on queries and measures that are treated specially."""
        notes = self.sets.notes()
        notes += [
            f"{measure} has no scores of its own per query (they are AP's), so it has no query "
            "correlations, movers or scatter plot; its differences are tested on logarithms"
            f"{self._otherwise_on_logarithms(measure)}"
            for measure in self.measures
            if not is_by_query(measure)
        ]
        missing = {x.run: x.ledger.missing for x in self.before.runs if x.ledger.missing}
        notes += [
            f"{run}: {number:,} of {count(len(self.sets.query_ids), 'query')} "
            f"{'is' if number == 1 else 'are'} not in the run"
            for run, number in missing.items()
        ]
        return notes

    def _otherwise_on_logarithms(self, measure: Measure) -> str:
        """Count the shifts of a geometric mean that have the other sign on logarithms, if any."""
        turned = 0
        for of in (of for of in self.conclusions if of.measure == str(measure)):
            run, base = self.change(of.run, measure), self.change(of.base, measure)
            tested = math.log(run.after / base.after) - math.log(run.before / base.before)
            turned += of.shift * tested < 0
        ratios = f"{count(turned, 'shift')} {'goes' if turned == 1 else 'go'} the other way"
        return f", as ratios, in which {ratios}" if turned else ""


def contrast(
    before: Any,
    after: Any,
    runs: Any,
    measures: Iterable[str | Measure] = CONTRASTED,
    options: ContrastOptions | None = None,
    *,
    cluster: Mapping[str, str] | str | Path | None = None,
) -> Contrast:
    """Score runs under two judgement sets and compare the scores.

    Judgements and runs are files, tables or dicts (`citebed.runs.reader`). Only queries judged in
    both sets count; `align` leaves out some of these, too. ``before`` is the earlier or smaller set
    (J1), ``after`` the later or larger one (J1+2); only signs and names depend on this. With a
    ``cluster`` (as in ``Evaluation.summary``) the tests use whole clusters of queries.
    """
    options = options or ContrastOptions()
    chosen = tuple(parse_measures(measures))
    _check_measures(chosen)
    rel = max(1, min(measure.rel for measure in chosen))
    judgements = _sets(before, after)
    resampling = options.resampling if cluster is None else Resampling(cluster=cluster)
    options = replace(options, resampling=resampling.with_clusters(judgements[1].source))
    sets = align(*judgements, rel, options.keep_empty)
    judged = prepare(sets.before), prepare(sets.after)
    first, second = evaluate_under(judged, runs, chosen, options.settings)
    check_names([scores.run for scores in first.runs])
    return Contrast(
        sets=sets,
        before=first,
        after=second,
        changes=tuple(score_changes(first, second)),
        agreements=tuple(agreements(first, second)),
        conclusions=tuple(significance_changes(first, second, options.design, options.resampling)),
        movers=tuple(_movers(sets, first, second, options.largest)),
    )


def _sets(before: Any, after: Any) -> tuple[Qrels, Qrels]:
    """Read both judgement sets, files under distinct names."""
    if isinstance(before, str | Path) and isinstance(after, str | Path):
        first, second = read_sets([Path(before), Path(after)])
        return first, second
    return as_qrels(before, "before"), as_qrels(after, "after")


def _check_measures(measures: Sequence[Measure]) -> None:
    counts = [str(measure) for measure in measures if measure.SUMMARY == "sum"]
    if counts:
        raise CitebedError(
            f"{', '.join(counts)}: counts cannot be contrasted, because they grow with the "
            "judgements. Use measures such as AP or P@5."
        )


def _movers(sets: Sets, before: Evaluation, after: Evaluation, largest: int) -> list[QueryChange]:
    rows: list[QueryChange] = []
    for measure in filter(is_by_query, before.measures):
        rel = max(1, measure.rel)
        relevant = relevant_counts(sets.before, rel), relevant_counts(sets.after, rel)
        for x, y in zip(before.runs, after.runs, strict=True):
            rows += query_changes(measure, x, y, relevant, largest)
    return rows
