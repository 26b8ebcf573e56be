"""The encoder as a maker of vectors for an index and for texts that look for documents.

Which encoder is loaded is the user's own choice: the one that was named or fetched here, or that
``CITEBED_ENCODER`` names. An index may come from a stranger: it says by which encoder its vectors
were made, and that name is shown, never followed.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.environment import state_folder
from citebed.files.input_files import read_text
from citebed.files.output_files import write_file
from citebed.retrieval.encoders.encoding import Encoder, load_encoder
from citebed.retrieval.encoders.loading.names import encoder_folder, packaged_encoder
from citebed.retrieval.encoders.vector_cache import VectorCache
from citebed.retrieval.pipeline import SHORT_NAMES, short_name
from citebed.retrieval.vectors.vectors import DocumentVectors, OnProgress, Vectors, unit_rows
from citebed.wording import for_terminal, printable

_LOG = logging.getLogger("citebed")
_MOST_SHOWN = 200
"""Characters of a name that an index gives."""
VARIABLE = "CITEBED_ENCODER"
"""The variable of the environment in which the user names an encoder."""
FETCHED = "encoder"
"""The name of the encoder that ``citebed fetch encoder`` gets, or its package brings."""


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
        """A hash of weights, tokeniser, pooling and how many tokens of a document are read."""
        return self.encoder.document_fingerprint

    def documents(self, texts: Sequence[str], progress: OnProgress | None = None) -> Vectors:
        """A vector for each text of a document."""
        reader = self.encoder.of_documents
        if self.cache is None:
            return unit_rows(reader.encode(texts, progress=progress))
        return unit_rows(self.cache.vectors(reader, texts, progress=progress))

    def queries(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text that looks for documents."""
        return unit_rows(self.encoder.encode(texts))


def find_encoder() -> Path | None:
    """The folder of the encoder that is installed as a package, or else was fetched; ``None`` where
    there is neither."""
    folder = packaged_encoder() or encoder_folder()
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


def index_encoder(neural: bool | str | Path = True) -> DenseEncoder:
    """The encoder for a collection's index: the fetched one, or one by name or folder.

    What it makes is kept in the user's cache folder too.
    """
    encoder = load_dense_encoder(
        FETCHED if isinstance(neural, bool) else neural, cache=VectorCache()
    )
    _remember(encoder)
    return encoder


def encoder_of(vectors: DocumentVectors) -> DenseEncoder:
    """The user's encoder that made an index's vectors; if it is none of the user's, an error that
    says which made them."""
    reasons = []
    for name in _chosen(vectors.fingerprint):
        try:
            encoder = _loaded(name, vectors.fingerprint)
        except CitebedError as error:
            reasons.append(str(error))
            continue
        if vectors.is_of(encoder):
            return encoder
        reasons.append(f"'{printable(name)}' is another one")
    raise ForeignEncoder(vectors, reasons)


class ForeignEncoder(CitebedError):
    """The vectors of an index were made by an encoder that the user has not chosen here."""

    def __init__(self, vectors: DocumentVectors, reasons: Sequence[str] = ()) -> None:
        name = for_terminal(vectors.name[:_MOST_SHOWN])
        why = f" ({'; '.join(reasons)})" if reasons else ""
        super().__init__(
            f"the index's vectors were made by the encoder '{name}', which is not one of yours"
            f"{why}. If you trust it, name it in {VARIABLE}; or make the vectors by one of yours: "
            "citebed index COLLECTION --neural"
        )


def _chosen(fingerprint: str) -> list[str]:
    """What the user calls the encoders that may be one of this fingerprint: named in the
    environment, indexed with before, installed, fetched."""
    names = [os.environ.get(VARIABLE, "")]
    if (path := _memory(fingerprint)) is not None and path.is_file():
        names.append(read_text(path).strip())
    if find_encoder() is not None:
        names.append(FETCHED)
    if packaged_encoder() is not None and encoder_folder().is_dir():
        names.append(str(encoder_folder()))  # which the package hides
    return list(dict.fromkeys(name for name in names if name))


def _remember(encoder: DenseEncoder) -> None:
    """Keep what the user calls an encoder, so that an index made with it can be asked later."""
    path = _memory(encoder.fingerprint)
    if path is None or (path.is_file() and read_text(path) == encoder.name):
        return
    try:
        write_file(path, encoder.name)
    except CitebedError as error:
        _LOG.warning("note: %s; to ask this index later, set %s", error, VARIABLE)


def _memory(fingerprint: str) -> Path | None:
    """Where the name of the encoder of a fingerprint is kept, if it is one."""
    is_one = re.fullmatch("[0-9a-f]{64}", fingerprint)
    return state_folder() / "encoders" / fingerprint if is_one else None


@lru_cache(maxsize=2)
def _loaded(name: str, _fingerprint: str) -> DenseEncoder:
    return load_dense_encoder(name)
