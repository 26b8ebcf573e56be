"""Two-stage re-ranking: neural encoders, cross-encoders, cached vectors."""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.retrieval.encoders.models import (
        CrossEncoder as CrossEncoder,
        Encoder as Encoder,
        load_cross_encoder as load_cross_encoder,
        load_encoder as load_encoder,
        load_reranker as load_reranker,
    )
    from citebed.retrieval.pipeline import SHORT_NAMES as SHORT_NAMES
    from citebed.retrieval.encoders.model_folder import find_model as find_model
    from citebed.retrieval.rerank.second_stage import (
        cosines as cosines,
        rerank as rerank,
        rerank_run as rerank_run,
    )
    from citebed.retrieval.encoders.vector_cache import VectorCache as VectorCache

__getattr__, __dir__ = names_on_first_use(__name__)
