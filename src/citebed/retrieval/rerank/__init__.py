"""Two-stage re-ranking: neural encoders, cross-encoders, cached vectors."""

from __future__ import annotations

from citebed.retrieval.rerank.encoder import (
    CrossEncoder,
    Encoder,
    load_cross_encoder,
    load_encoder,
    load_reranker,
)
from citebed.retrieval.rerank.names import SHORT_NAMES, find_model
from citebed.retrieval.rerank.reranking import cosines, rerank, rerank_run
from citebed.retrieval.rerank.vector_cache import VectorCache

__all__ = [
    "SHORT_NAMES",
    "CrossEncoder",
    "Encoder",
    "VectorCache",
    "cosines",
    "find_model",
    "load_cross_encoder",
    "load_encoder",
    "load_reranker",
    "rerank",
    "rerank_run",
]
