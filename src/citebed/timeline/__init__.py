"""Timeline: streams cut into slices, scored slice by slice, and filters that run on them.

``read_truth`` and ``slices_of`` make the cells of query and slice, ``score_stream`` scores a run
in them, ``trend`` says whether it degrades, ``score_official`` is TREC KBA's own scoring.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citebed.timeline.official import score_official
    from citebed.timeline.runs import open_run
    from citebed.timeline.scoring import StreamScores, measured_cells, score_stream
    from citebed.timeline.slices import Slices, slices_of
    from citebed.timeline.trends import mann_kendall, theil_sen, trend
    from citebed.timeline.truth import Truth, read_truth
    from citebed.timeline.weights import weights_of

_PUBLIC = {
    "Slices": "slices",
    "StreamScores": "scoring",
    "Truth": "truth",
    "mann_kendall": "trends",
    "measured_cells": "scoring",
    "open_run": "runs",
    "read_truth": "truth",
    "score_official": "official",
    "score_stream": "scoring",
    "slices_of": "slices",
    "theil_sen": "trends",
    "trend": "trends",
    "weights_of": "weights",
}

__all__ = [
    "Slices",
    "StreamScores",
    "Truth",
    "mann_kendall",
    "measured_cells",
    "open_run",
    "read_truth",
    "score_official",
    "score_stream",
    "slices_of",
    "theil_sen",
    "trend",
    "weights_of",
]


def __getattr__(name: str) -> Any:
    """Public names are looked up on first use."""
    if name in _PUBLIC:
        return getattr(import_module(f"citebed.timeline.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'citebed.timeline' has no attribute '{name}'")
