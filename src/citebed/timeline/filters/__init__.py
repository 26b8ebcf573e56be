"""Stream filters: baselines that read a stream in the order of time and never look ahead.

A filter is one file and one line in ``FILTERS``; ``filter_of`` reads one.
"""

from __future__ import annotations

from citebed.timeline.filters.base import Filter, read_filter
from citebed.timeline.filters.incremental import Incremental
from citebed.timeline.filters.names import Names
from citebed.timeline.filters.relevance_model import RelevanceModel

FILTERS: dict[str, type[Filter]] = {f.name: f for f in (Names, RelevanceModel, Incremental)}
"""All filters by name, in the order in which they are explained."""


def filter_of(text: str) -> Filter:
    """The filter that a text describes: ``names``, or ``names(common=0.01)``."""
    return read_filter(text, FILTERS)
