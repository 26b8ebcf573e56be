"""Evaluation: measures, scoring runs, statistics, contrasts between judgement sets.

``evaluate`` scores runs, ``compare`` tests the differences between them; both take files, tables,
dicts and what ir_measures, ir_datasets and PyTerrier give. It knows nothing of indexes.
"""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.evaluation.contrasts.contrast import Contrast as Contrast, contrast as contrast
    from citebed.evaluation.options import ContrastOptions as ContrastOptions
    from citebed.evaluation.options import PoolBiasOptions as PoolBiasOptions
    from citebed.evaluation.contrasts.pool_bias import PoolBias as PoolBias, pool_bias as pool_bias
    from citebed.evaluation.scoring.judge_quality import assess_judge as assess_judge
    from citebed.evaluation.judgements.preferences import score_preferences as score_preferences
    from citebed.evaluation.judgements.statistics import describe as describe
    from citebed.evaluation.judgements.sets import difference as difference, merge as merge
    from citebed.evaluation.measures import MEASURES as MEASURES, Measure as Measure
    from citebed.evaluation.measures.names import measure as measure
    from citebed.evaluation.scoring.comparison import (
        Comparison as Comparison,
        Comparisons as Comparisons,
        compare as compare,
    )
    from citebed.evaluation.options import Design as Design
    from citebed.evaluation.scoring.evaluation import Evaluation as Evaluation, evaluate as evaluate
    from citebed.evaluation.options import Resampling as Resampling, Settings as Settings
    from citebed.evaluation.scoring.incomplete import (
        estimate_ap as estimate_ap,
        removal_stability as removal_stability,
        score_limits as score_limits,
    )
    from citebed.evaluation.scoring.judgement_plan import (
        PlanOptions as PlanOptions,
        join_plans as join_plans,
        rank_judgements_to_make as rank_judgements_to_make,
    )
    from citebed.evaluation.scoring.machine import (
        MachineOptions as MachineOptions,
        evaluate_with_machine as evaluate_with_machine,
    )
    from citebed.evaluation.scoring.run_scores import (
        RunScores as RunScores,
        Summary as Summary,
        score_run as score_run,
        summarise as summarise,
    )
    from citebed.evaluation.options import Plan as Plan
    from citebed.evaluation.scoring.study import Study as Study, study as study
    from citebed.runs.fusion import Fusion as Fusion, fuse as fuse
    from citebed.runs.ranking import prepare as prepare, rank as rank
    from citebed.runs.reader import (
        as_qrels as as_qrels,
        as_run as as_run,
        as_runs as as_runs,
        read_qrels as read_qrels,
        read_run as read_run,
    )
    from citebed.runs.tables import Qrels as Qrels, Run as Run

__getattr__, __dir__ = names_on_first_use(__name__)
