"""The scores, summaries and comparisons behind a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from citebed.evaluation.options import Plan
from citebed.evaluation.scoring.comparison import Comparison, compare
from citebed.evaluation.scoring.evaluation import Evaluation, evaluate_under
from citebed.evaluation.scoring.run_scores import Summary
from citebed.runs.ranking import SortedQrels, prepare
from citebed.runs.reader import as_qrels, as_runs, check_names
from citebed.runs.tables import Run


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """Runs with their scores, summaries (one list per run) and comparisons (none for one run)."""

    plan: Plan
    qrels: SortedQrels
    runs: tuple[Run, ...]
    evaluation: Evaluation
    summaries: tuple[list[Summary], ...]
    comparisons: Sequence[Comparison]

    @property
    def base(self) -> int:
        """The position of the run to compare others with: the baseline, or the first run."""
        names = [run.name for run in self.runs]
        return names.index(self.plan.design.baseline) if self.plan.design.baseline else 0


def study(qrels: Any, runs: Any, plan: Plan) -> Study:
    """Score runs, compute intervals, and compare the runs; all runs are kept in memory.

    Runs must have distinct names. Counts are not compared.
    """
    tables = tuple(as_runs(runs))
    check_names([run.name for run in tables])
    ready = prepare(as_qrels(qrels))
    (evaluation,) = evaluate_under([ready], tables, plan.measures, plan.settings)
    compared = len(tables) > 1 and any(m.SUMMARY != "sum" for m in evaluation.measures)
    return Study(
        plan=plan,
        qrels=ready,
        runs=tables,
        evaluation=evaluation,
        summaries=evaluation.summaries(plan.resampling),
        comparisons=compare(evaluation, plan.design, plan.resampling) if compared else (),
    )
