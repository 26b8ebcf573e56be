"""The second stage: the first documents of a ranking, put in a new order by a neural model.

The two-stage path of ACM-CR (Boudin 2021): BM25 finds 20 documents, which are ordered anew by the
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
from citebed.retrieval.encoders.encoding import CrossEncoder, Encoder
from citebed.retrieval.encoders.vector_cache import VectorCache
from citebed.retrieval.pipeline import Interpolate, Rerank, Rrf, Stage
from citebed.retrieval.vectors.vectors import OnProgress, unit_rows
from citebed.runs.fusion import Fusion, fuse
from citebed.runs.ranking import in_rank_order
from citebed.runs.tables import Run

DEPTH = 20  # as in the paper: ACM-CR re-ranks BM25's first 20


def rerank(
    query_text: str,
    candidates: Sequence[tuple[str, str, float]],
    model: Encoder | CrossEncoder,
    cache: VectorCache | None = None,
) -> list[tuple[str, float]]:
    """The candidates (``doc_id``, text, first score) as ``(doc_id, score)``, best first.

    The score is the cosine of an encoder's vectors, or a cross-encoder's own; the first stage's
    score does not count (``runs.fusion`` adds it). ``cache`` keeps the vectors of the documents.
    """
    run = pl.DataFrame(
        [("", doc_id, score) for doc_id, _, score in candidates],
        schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64},
        orient="row",
    )
    texts = {doc_id: text for doc_id, text, _ in candidates}
    again = rerank_run(run, {"": query_text}, texts, model, depth=len(candidates), cache=cache)
    return list(again.select("doc_id", "score").iter_rows())


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
    """The first ``depth`` documents of each query of a run, with the model's scores.

    ``queries`` and ``texts`` give the texts of queries and documents by id. Every distinct text
    is encoded once, however many queries share it. What the run has below ``depth`` is left out.
    """
    first = _in_order(run).filter(pl.col("rank") <= depth)
    pairs = list(first.select("query_id", "doc_id").iter_rows())
    asked = [_text_of(query_id, queries, "query") for query_id, _ in pairs]
    found = [_text_of(doc_id, texts, "document") for _, doc_id in pairs]
    if isinstance(model, CrossEncoder):
        scores = model.scores(list(zip(asked, found, strict=True)), progress=progress)
    else:
        scores = cosines(asked, found, model, cache, progress)
    return _in_order(first.with_columns(pl.Series("score", scores, pl.Float64))).drop("rank")


def _in_order(run: pl.DataFrame) -> pl.DataFrame:
    return in_rank_order(Run(run.select("query_id", "doc_id", "score")))


def cosines(
    left: Sequence[str],
    right: Sequence[str],
    encoder: Encoder,
    cache: VectorCache | None = None,
    progress: OnProgress | None = None,
) -> NDArray[np.float32]:
    """The cosine between the vectors of ``left[i]`` and ``right[i]``, for every ``i``.

    Only the vectors of ``right`` (the documents) go into the cache: queries seldom come again.
    """
    left_places, left_texts = _distinct(left)
    right_places, right_texts = _distinct(right)
    left_vectors = unit_rows(encoder.encode(left_texts, progress=progress))
    if cache is None:
        right_vectors = encoder.encode(right_texts, progress=progress)
    else:
        right_vectors = cache.vectors(encoder, right_texts, progress=progress)
    right_vectors = unit_rows(right_vectors)
    products = np.einsum("ij,ij->i", left_vectors[left_places], right_vectors[right_places])
    return np.asarray(np.clip(products, -1.0, 1.0), np.float32)


def _distinct(texts: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Each text's place in a list that has every text once."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.array([places[text] for text in texts], np.int64), list(places)


def _text_of(name: str, texts: Mapping[str, str], kind: str) -> str:
    try:
        return texts[name]
    except KeyError:
        raise CitebedError(
            f"the run names {kind} '{name}', but there is no text for it: is the run of another "
            "collection?"
        ) from None


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
        first, queries, texts, model, depth=stage.top, cache=cache, progress=_Steps(progress)
    )
    how = fusion_of(stage)
    return again if how is None else fuse([first, again], how).table


class _Steps:
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
