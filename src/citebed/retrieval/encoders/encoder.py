"""The encoder as a maker of vectors for an index and for texts that look for documents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from citebed.retrieval.dense.embedder import Told, Vectors
from citebed.retrieval.dense.vectors import DocumentVectors, unit_rows
from citebed.retrieval.pipeline import SHORT_NAMES, short_name
from citebed.retrieval.rerank.encoder import Encoder, load_encoder
from citebed.retrieval.rerank.names import encoder_folder
from citebed.retrieval.rerank.vector_cache import VectorCache

FETCHED = "encoder"
"""The name of the encoder that ``citebed fetch encoder`` gets."""


class DenseEncoder:
    """A transformer encoder whose vectors have length 1; ``load_dense_encoder`` makes one.

    With a ``cache``, vectors of documents are kept as they are made, so that a run that was
    interrupted goes on where it was.
    """

    def __init__(self, encoder: Encoder, cache: VectorCache | None = None) -> None:
        self.encoder, self.cache = encoder, cache
        self.name, self.width = encoder.name, encoder.dimensions

    @property
    def fingerprint(self) -> str:
        """A hash of weights, tokeniser, pooling and ``max_tokens``."""
        return self.encoder.fingerprint

    def documents(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """A vector for each text of a document."""
        if self.cache is None:
            return unit_rows(self.encoder.encode(texts, progress=progress))
        return unit_rows(self.cache.vectors(self.encoder, texts, progress=progress))

    def queries(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text that looks for documents."""
        return unit_rows(self.encoder.encode(texts))


def find_encoder() -> Path | None:
    """The folder of the encoder that was fetched; ``None`` where there is none."""
    folder = encoder_folder()
    return folder if folder.is_dir() else None


def load_dense_encoder(
    name_or_folder: str | Path = FETCHED, *, cache: VectorCache | None = None
) -> DenseEncoder:
    """An encoder by name or folder; its files are checked where it has a card.

    With a ``cache``, the vectors of documents are kept there as they are made.
    """
    folder, name = Path(name_or_folder).expanduser(), str(name_or_folder)
    if folder.is_dir():
        name = str(folder.resolve())  # an index made here is asked from elsewhere
    elif short_name(name) in SHORT_NAMES:
        name = short_name(name)
    return DenseEncoder(load_encoder(name), cache)


def index_encoder(neural: bool | str | Path | None) -> DenseEncoder | None:
    """The encoder for a collection's index: the fetched one, one by name or folder, or none.

    What it makes is kept in the user's cache folder too.
    """
    if not neural:
        return None
    return load_dense_encoder(FETCHED if neural is True else neural, cache=VectorCache())


def encoder_of(vectors: DocumentVectors) -> DenseEncoder:
    """The encoder that made an index's vectors, as far as its name tells."""
    return _loaded(vectors.name, vectors.fingerprint)


@lru_cache(maxsize=2)
def _loaded(name: str, _fingerprint: str) -> DenseEncoder:
    return load_dense_encoder(name)
