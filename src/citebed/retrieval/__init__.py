"""Retrieval: text analysis, index, models, feedback, re-ranking, and recommending on top.

``build_index`` indexes a collection, ``Recommender`` recommends from it, ``run_queries`` runs a
set of queries with a pipeline such as ``bm25(k1=0.9,b=0.4)+rm3``.
"""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.retrieval.index.builder import IndexOptions as IndexOptions
    from citebed.retrieval.index.index import Index as Index, open_index as open_index
    from citebed.retrieval.index.statistics import IndexReport as IndexReport
    from citebed.retrieval.ranking.weight_fit import build_index as build_index
    from citebed.retrieval.pipeline import Pipeline as Pipeline, parse_pipeline as parse_pipeline
    from citebed.retrieval.recommend.recommendations import Recommendation as Recommendation
    from citebed.retrieval.recommend.recommendations import Recommendations as Recommendations
    from citebed.retrieval.recommend.recommender import Recommender as Recommender
    from citebed.retrieval.execution.runner import (
        RunOptions as RunOptions,
        run_queries as run_queries,
    )
    from citebed.retrieval.search.fields import Fields as Fields, fields_of as fields_of
    from citebed.retrieval.search.searcher import Searcher as Searcher
    from citebed.runs.tables import Run as Run
    from citebed.runs.writer import write_run as write_run

__getattr__, __dir__ = names_on_first_use(__name__)
