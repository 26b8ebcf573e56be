"""An evaluation made ready to be reported: scores, intervals, comparisons, and what was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.scoring.comparing import Comparison, Design, compare
from citebed.evaluation.scoring.evaluating import Evaluation, Settings, score_each
from citebed.evaluation.scoring.summaries import Resampling, Summary, summarise
from citebed.runs.ranking import PreparedQrels, prepare
from citebed.runs.reading import check_names
from citebed.runs.tables import Qrels, Run


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is measured and compared, and how."""

    measures: tuple[Measure, ...]
    settings: Settings
    design: Design
    resampling: Resampling


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """Runs with their scores, summaries (a list a run) and comparisons (none of one run)."""

    plan: Plan
    judged: PreparedQrels
    runs: tuple[Run, ...]
    evaluation: Evaluation
    summaries: tuple[list[Summary], ...]
    comparisons: tuple[Comparison, ...]

    @property
    def base(self) -> int:
        """The place of the run that others are laid against: the baseline, else the first."""
        names = [run.name for run in self.runs]
        return names.index(self.plan.design.baseline) if self.plan.design.baseline else 0


def study(qrels: Qrels, runs: Sequence[Run], plan: Plan) -> Study:
    """Score runs, draw their intervals and compare them.

    Runs must have names of their own, for that is how a reader tells them apart. Measures that
    only count are not compared.
    """
    check_names([run.name for run in runs])
    judged = prepare(qrels)
    scored = tuple(score_each(judged, runs, plan.measures, plan.settings))
    evaluation = Evaluation(judged.name, plan.measures, scored)
    compared = len(runs) > 1 and any(m.SUMMARY != "sum" for m in plan.measures)
    return Study(
        plan=plan,
        judged=judged,
        runs=tuple(runs),
        evaluation=evaluation,
        summaries=tuple(summarise(scores, plan.resampling) for scores in scored),
        comparisons=tuple(compare(evaluation, plan.design, plan.resampling)) if compared else (),
    )
