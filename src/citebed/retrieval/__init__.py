"""Retrieval: text analysis, index, models, feedback, re-ranking, and recommending on top.

``build_index`` indexes a collection, ``Recommender`` recommends from it, ``run_queries`` runs a
set of queries with a pipeline such as ``bm25(k1=0.9,b=0.4)+rm3``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citebed.retrieval.index.building import IndexOptions, IndexReport, build_index
    from citebed.retrieval.index.index import Index, open_index
    from citebed.retrieval.pipeline import Pipeline, pipeline_of
    from citebed.retrieval.recommending import Recommendation, Recommender, recommend
    from citebed.retrieval.run_files import write_run
    from citebed.retrieval.running import Run, RunOptions, run_queries
    from citebed.retrieval.search.fields import Fields, fields_of
    from citebed.retrieval.search.searcher import Searcher

__all__ = [
    "Fields",
    "Index",
    "IndexOptions",
    "IndexReport",
    "Pipeline",
    "Recommendation",
    "Recommender",
    "Run",
    "RunOptions",
    "Searcher",
    "build_index",
    "fields_of",
    "open_index",
    "pipeline_of",
    "recommend",
    "run_queries",
    "write_run",
]

_HOME = {
    "index.building": ("IndexOptions", "IndexReport", "build_index"),
    "index.index": ("Index", "open_index"),
    "pipeline": ("Pipeline", "pipeline_of"),
    "recommending": ("Recommendation", "Recommender", "recommend"),
    "run_files": ("write_run",),
    "running": ("Run", "RunOptions", "run_queries"),
    "search.fields": ("Fields", "fields_of"),
    "search.searcher": ("Searcher",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    """Names are looked up on first use, so that no verb loads what it does not need."""
    if name in _MODULE_OF:
        return getattr(import_module(f"citebed.retrieval.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'citebed.retrieval' has no attribute '{name}'")
