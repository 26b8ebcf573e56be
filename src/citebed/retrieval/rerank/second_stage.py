"""The second stage of a pipeline: a neural model orders the first documents anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl

from citebed.collection import Collection
from citebed.files.writing import own_folder
from citebed.retrieval.pipeline import Interpolate, Rerank, Rrf, Stage
from citebed.retrieval.rerank.encoder import CrossEncoder, Encoder
from citebed.retrieval.rerank.reranking import rerank_run
from citebed.retrieval.rerank.vector_cache import VectorCache
from citebed.runs.fusion import Fusion, fuse


def second_stage(
    collection: Collection,
    stage: Stage,
    first: pl.DataFrame,
    queries: Mapping[str, str],
    model: Encoder | CrossEncoder,
    tell: Callable[[int], None],
) -> pl.DataFrame:
    """The documents of a run in a new order; ``tell`` hears of every text that is encoded."""
    texts = dict(document_texts(collection, first["doc_id"].unique().to_list()))
    cache = None
    if not isinstance(model, CrossEncoder):
        cache = VectorCache(own_folder(collection.folder / "vectors"))
    told = 0

    def progress(done: int, _: int) -> None:
        nonlocal told
        tell(done - told)
        told = done

    again = rerank_run(
        first, queries, texts, model, depth=stage.top, cache=cache, progress=progress
    )
    how = fusion_of(stage)
    return again if how is None else fuse([first, again], how).table


def document_texts(collection: Collection, doc_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Title, abstract and keywords of some documents, as one text each."""
    wanted = collection.scan_documents().select("doc_id", "title", "abstract", "keywords")
    chosen = wanted.filter(pl.col("doc_id").is_in(list(doc_ids))).collect()
    for doc_id, title, abstract, keywords in chosen.iter_rows():
        parts = (title, abstract, ", ".join(keywords or ()))
        yield doc_id, ". ".join(part for part in parts if part)


def fusion_of(stage: Stage) -> Fusion | None:
    """How the first ranking and the model's are fused; ``None`` where the model's alone counts."""
    if isinstance(stage, Rerank):
        return None
    if isinstance(stage, Rrf):
        return Fusion(method="rrf", k0=stage.k)
    if isinstance(stage, Interpolate):
        weight = 0.5 if stage.weight is None else stage.weight
        return Fusion(method="interpolate", weights=(1 - weight, weight))
    return Fusion(method="interpolate", normalise="max")
