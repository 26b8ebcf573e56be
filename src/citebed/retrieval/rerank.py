"""Two-stage re-ranking: a neural model re-ranks the first documents of a run.

This is the two-stage retrieval of ACM-CR (Boudin 2021): BM25 finds 20 documents, ranked by the
cosine between the mean hidden states of the citing text and of the document's title and abstract.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError
from citebed.retrieval.encoders.model_folder import find_model
from citebed.retrieval.encoders.models import (
    CrossEncoder,
    Encoder,
    load_cross_encoder,
    load_encoder,
    load_reranker,
)
from citebed.retrieval.encoders.vector_cache import VectorCache
from citebed.retrieval.pipeline import SHORT_NAMES, Interpolate, Rerank, Rrf, Stage
from citebed.retrieval.vectors.vectors import OnProgress, unit_rows
from citebed.runs.fusion import Fusion, fuse
from citebed.runs.ranking import in_rank_order
from citebed.runs.tables import Run

__all__ = [
    "SHORT_NAMES", "CrossEncoder", "Encoder", "VectorCache", "cosines", "find_model",
    "load_cross_encoder", "load_encoder", "load_reranker", "rerank", "rerank_run",
]  # fmt: skip
DEPTH = 20
"""As in the paper: ACM-CR re-ranks BM25's first 20 documents."""


def rerank(
    query_text: str,
    candidates: Sequence[tuple[str, str, float]],
    model: Encoder | CrossEncoder,
    cache: VectorCache | None = None,
) -> list[tuple[str, float]]:
    """Return the candidates (``doc_id``, text, first score) as ``(doc_id, score)``, best first.

    The score is the cosine of an encoder's vectors, or a cross-encoder's score. The first score is
    ignored (``runs.fusion`` adds it). ``cache`` stores the vectors of documents.
    """
    run = pl.DataFrame(
        [("", doc_id, score) for doc_id, _, score in candidates],
        schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64},
        orient="row",
    )
    texts = {doc_id: text for doc_id, text, _ in candidates}
    ranked = rerank_run(run, {"": query_text}, texts, model, depth=len(candidates), cache=cache)
    return list(ranked.select("doc_id", "score").iter_rows())


def rerank_run(  # noqa: PLR0913 - a run, two sources of text, a model, and how to use it
    run: pl.DataFrame,
    queries: Mapping[str, str],
    texts: Mapping[str, str],
    model: Encoder | CrossEncoder,
    *,
    depth: int = DEPTH,
    cache: VectorCache | None = None,
    progress: OnProgress | None = None,
) -> pl.DataFrame:
    """Return the first ``depth`` documents of each query of a run, with the model's scores.

    ``queries`` and ``texts`` are the texts of queries and documents by id. Each distinct text is
    encoded once.
    """
    first = _rank(run).filter(pl.col("rank") <= depth)
    chosen: list[list[str]] = []
    for kind, column, source in (("query", "query_id", queries), ("document", "doc_id", texts)):
        names = first[column].to_list()
        missing = next((name for name in names if name not in source), None)
        if missing is not None:
            raise CitebedError(
                f"the run names {kind} '{missing}', but its text is missing. Is the run from "
                "another collection?"
            )
        chosen.append([source[name] for name in names])
    asked, found = chosen
    if isinstance(model, CrossEncoder):
        scores = model.scores(list(zip(asked, found, strict=True)), progress=progress)
    else:
        scores = cosines(asked, found, model, cache, progress)
    return _rank(first.with_columns(pl.Series("score", scores, pl.Float64))).drop("rank")


def _rank(run: pl.DataFrame) -> pl.DataFrame:
    return in_rank_order(Run(run.select("query_id", "doc_id", "score")))


def cosines(
    left: Sequence[str],
    right: Sequence[str],
    encoder: Encoder,
    cache: VectorCache | None = None,
    progress: OnProgress | None = None,
) -> NDArray[np.float32]:
    """Return the cosine of the vectors of ``left[i]`` and ``right[i]``, for every ``i``.

    Only the vectors of ``right`` (the documents) are cached: queries seldom repeat.
    """
    places, distinct = [], []
    for texts in (left, right):
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        places.append(np.array([numbers[text] for text in texts], np.int64))
        distinct.append(list(numbers))
    queries = unit_rows(encoder.encode(distinct[0], progress=progress))
    if cache is None:
        documents = encoder.encode(distinct[1], progress=progress)
    else:
        documents = cache.vectors(encoder, distinct[1], progress=progress)
    products = np.einsum("ij,ij->i", queries[places[0]], unit_rows(documents)[places[1]])
    return np.asarray(np.clip(products, -1.0, 1.0), np.float32)


def second_stage(
    collection: Collection,
    stage: Stage,
    first: pl.DataFrame,
    queries: Mapping[str, str],
    model: Encoder | CrossEncoder,
    progress: Progress = SILENT,
) -> pl.DataFrame:
    """Re-rank a run; ``progress`` counts the encoded texts."""
    names = first["doc_id"].unique().to_list()
    texts = dict(document_texts(collection, names, keywords=stage.keywords == "yes"))
    cache = None if isinstance(model, CrossEncoder) else VectorCache()
    so_far = total = 0

    def count_texts(done: int, wanted: int) -> None:
        """Report progress; a new total begins a new step."""
        nonlocal so_far, total
        if wanted != total or done < so_far:
            progress.step("encoding: texts", wanted)
            so_far, total = 0, wanted
        progress.add(done - so_far)
        so_far = done

    ranked = rerank_run(
        first, queries, texts, model, depth=stage.top, cache=cache, progress=count_texts
    )
    if isinstance(stage, Rerank):
        return ranked
    fusion = Fusion(method="interpolate", normalise="max")
    if isinstance(stage, Rrf):
        fusion = Fusion(method="rrf", k0=stage.k)
    elif isinstance(stage, Interpolate):
        weight = 0.5 if stage.weight is None else stage.weight
        fusion = Fusion(method="interpolate", weights=(1 - weight, weight))
    return fuse([first, ranked], fusion).table


def document_texts(
    collection: Collection, doc_ids: Sequence[str], *, keywords: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the id and the title and abstract of some documents, as ACM-CR's re-ranking reads them.

    ``keywords`` adds the keywords.
    """
    columns = collection.scan_documents().select("doc_id", "title", "abstract", "keywords")
    chosen = columns.filter(pl.col("doc_id").is_in(list(doc_ids))).collect()
    for doc_id, title, abstract, words in chosen.iter_rows():
        parts = (title, abstract, ", ".join(words or ()) if keywords else "")
        yield doc_id, " ".join(part for part in parts if part)
