"""Evaluation: measures, scoring runs, statistics, contrasts between judgement sets.

``evaluate`` scores runs, ``compare`` tests the differences between them; both take files, tables,
dicts and what ir_measures, ir_datasets and PyTerrier give. It knows nothing of indexes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citebed.evaluation.comparing import Comparison, Design, compare
    from citebed.evaluation.contrasts.contrasting import Contrast, ContrastOptions, contrast
    from citebed.evaluation.contrasts.pool_bias import PoolBias, PoolOptions, pool_bias
    from citebed.evaluation.door import as_qrels, as_run, as_runs
    from citebed.evaluation.measures import MEASURES, Measure
    from citebed.evaluation.measures.grammar import measure
    from citebed.evaluation.order import prepare, rank
    from citebed.evaluation.scoring import Evaluation, RunScores, Settings, evaluate, score_run
    from citebed.evaluation.summaries import Resampling, Summary, summarise
    from citebed.evaluation.tables import Qrels, Run, read_qrels, read_run

_PUBLIC = {
    "MEASURES": "measures",
    "Comparison": "comparing",
    "Contrast": "contrasts.contrasting",
    "ContrastOptions": "contrasts.contrasting",
    "Design": "comparing",
    "Evaluation": "scoring",
    "Measure": "measures",
    "PoolBias": "contrasts.pool_bias",
    "PoolOptions": "contrasts.pool_bias",
    "Qrels": "tables",
    "Resampling": "summaries",
    "Run": "tables",
    "RunScores": "scoring",
    "Settings": "scoring",
    "Summary": "summaries",
    "as_qrels": "door",
    "as_run": "door",
    "as_runs": "door",
    "compare": "comparing",
    "contrast": "contrasts.contrasting",
    "evaluate": "scoring",
    "measure": "measures.grammar",
    "pool_bias": "contrasts.pool_bias",
    "prepare": "order",
    "rank": "order",
    "read_qrels": "tables",
    "read_run": "tables",
    "score_run": "scoring",
    "summarise": "summaries",
}

__all__ = [
    "MEASURES",
    "Comparison",
    "Contrast",
    "ContrastOptions",
    "Design",
    "Evaluation",
    "Measure",
    "PoolBias",
    "PoolOptions",
    "Qrels",
    "Resampling",
    "Run",
    "RunScores",
    "Settings",
    "Summary",
    "as_qrels",
    "as_run",
    "as_runs",
    "compare",
    "contrast",
    "evaluate",
    "measure",
    "pool_bias",
    "prepare",
    "rank",
    "read_qrels",
    "read_run",
    "score_run",
    "summarise",
]


def __getattr__(name: str) -> Any:
    """Public names are looked up on first use; numpy and polars are loaded with them."""
    if name in _PUBLIC:
        return getattr(import_module(f"citebed.evaluation.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'citebed.evaluation' has no attribute '{name}'")
