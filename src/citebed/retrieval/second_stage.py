"""The second stage of a pipeline: a neural model orders the first documents anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.collection.reading.reader import Progress
from citebed.retrieval.pipeline import Interpolate, Rerank, Rrf, Stage
from citebed.retrieval.rerank import (
    CrossEncoder,
    Encoder,
    VectorCache,
    interpolate,
    load_reranker,
    reciprocal_rank,
    rerank_run,
    sum_scores,
)


def second_stage(
    collection: Collection,
    stage: Stage,
    table: pl.DataFrame,
    queries: Mapping[str, str],
    progress: Progress,
    model: Encoder | CrossEncoder | None = None,
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The first ``stage.top`` documents of each query in a new order, and what ordered them.

    Documents below are left out. ``model`` is the stage's encoder where it is loaded already.
    """
    from citebed.retrieval.running import document_texts, vectors_folder

    if model is None:
        progress.step(f"loading {stage.encoder}", 0)
        model = load_reranker(stage.encoder)
    first = table.filter(pl.col("rank") <= stage.top).select("query_id", "doc_id", "score")
    texts = dict(document_texts(collection, first["doc_id"].unique().to_list()))
    progress.step("re-ranking", len(texts))
    cache = None if isinstance(model, CrossEncoder) else VectorCache(vectors_folder(collection))
    told = 0

    def tell(done: int, _: int) -> None:
        nonlocal told
        progress.add(done - told)
        told = done

    again = rerank_run(first, queries, texts, model, depth=stage.top, cache=cache, progress=tell)
    facts = {"name": model.name, "fingerprint": model.fingerprint, "runtime": model.runtime}
    return _combined(stage, first, again), facts


def _combined(stage: Stage, first: pl.DataFrame, again: pl.DataFrame) -> pl.DataFrame:
    if isinstance(stage, Rerank):
        return again
    if isinstance(stage, Rrf):
        return reciprocal_rank([first, again], k=stage.k)
    if isinstance(stage, Interpolate):
        weight = 0.5 if stage.weight is None else stage.weight
        return interpolate([first, again], [1 - weight, weight])
    return sum_scores([first, again])
