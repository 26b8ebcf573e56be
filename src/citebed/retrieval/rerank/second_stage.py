"""The second stage of a pipeline: a neural model orders the first documents anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from citebed.collection import Collection
from citebed.collection.progress import SILENT, Progress
from citebed.retrieval.encoders.encoding import CrossEncoder, Encoder
from citebed.retrieval.encoders.vector_cache import VectorCache
from citebed.retrieval.pipeline import Interpolate, Rerank, Rrf, Stage
from citebed.retrieval.rerank.reranking import rerank_run
from citebed.runs.fusion import Fusion, fuse


def second_stage(
    collection: Collection,
    stage: Stage,
    first: pl.DataFrame,
    queries: Mapping[str, str],
    model: Encoder | CrossEncoder,
    progress: Progress = SILENT,
) -> pl.DataFrame:
    """The documents of a run in a new order; ``progress`` hears of every text that is encoded."""
    names = first["doc_id"].unique().to_list()
    texts = dict(document_texts(collection, names, keywords=stage.keywords == "yes"))
    cache = None if isinstance(model, CrossEncoder) else VectorCache()
    again = rerank_run(
        first, queries, texts, model, depth=stage.top, cache=cache, progress=_Told(progress)
    )
    how = fusion_of(stage)
    return again if how is None else fuse([first, again], how).table


class _Told:
    """Hands on how many texts were encoded; where another number is wanted, another step begins."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done, self._all = progress, 0, 0

    def __call__(self, done: int, wanted: int) -> None:
        if wanted != self._all or done < self._done:
            self._progress.step("encoding: texts", wanted)
            self._done, self._all = 0, wanted
        self._progress.add(done - self._done)
        self._done = done


def document_texts(
    collection: Collection, doc_ids: Sequence[str], *, keywords: bool = False
) -> Iterator[tuple[str, str]]:
    """Title and abstract of some documents, with a blank between them, as one text each.

    That is what ACM-CR's re-ranking reads; ``keywords`` adds them.
    """
    wanted = collection.scan_documents().select("doc_id", "title", "abstract", "keywords")
    chosen = wanted.filter(pl.col("doc_id").is_in(list(doc_ids))).collect()
    for doc_id, title, abstract, given in chosen.iter_rows():
        parts = (title, abstract, ", ".join(given or ()) if keywords else "")
        yield doc_id, " ".join(part for part in parts if part)


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
