"""The user's encoder, which computes vectors of an index's documents and of queries.

The user chooses which encoder citebed loads: the installed or downloaded one, one that an index was
made with before, or the one in ``CITEBED_ENCODER``. An index may come from someone else; citebed
shows the name of its encoder but never loads it by that name.
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
from citebed.retrieval.encoders.model_folder import encoder_folder, packaged_encoder
from citebed.retrieval.encoders.models import Encoder, load_encoder
from citebed.retrieval.encoders.vector_cache import VectorCache
from citebed.retrieval.pipeline import SHORT_NAMES, short_name
from citebed.retrieval.vectors.vectors import DocumentVectors, OnProgress, Vectors, unit_rows
from citebed.wording import for_terminal, printable

_LOG = logging.getLogger("citebed")
_LONGEST_NAME = 200
"""Characters of an encoder's name in an index that a message shows."""
VARIABLE = "CITEBED_ENCODER"
"""The environment variable in which users name their encoder."""
FETCHED = "encoder"
"""The name of the encoder that ``citebed fetch encoder`` or its package provides."""


class DenseEncoder:
    """A transformer encoder with vectors of length 1; ``load_dense_encoder`` creates one.

    With a ``cache``, it stores the vectors of documents as it computes them, so that an interrupted
    run can continue.
    """

    def __init__(self, encoder: Encoder, cache: VectorCache | None = None) -> None:
        self.encoder, self.cache = encoder, cache
        self.name, self.width = encoder.name, encoder.dimensions

    @property
    def fingerprint(self) -> str:
        """A hash of weights, tokeniser, pooling and the number of tokens per document."""
        return self.encoder.document_fingerprint

    def documents(self, texts: Sequence[str], progress: OnProgress | None = None) -> Vectors:
        encoder = self.encoder.for_documents
        if self.cache is None:
            return unit_rows(encoder.encode(texts, progress=progress))
        return unit_rows(self.cache.vectors(encoder, texts, progress=progress))

    def queries(self, texts: Sequence[str]) -> Vectors:
        return unit_rows(self.encoder.encode(texts))


class ForeignEncoder(CitebedError):
    """An encoder that is not the user's made the vectors of an index."""

    def __init__(self, vectors: DocumentVectors, reasons: Sequence[str] = ()) -> None:
        name = for_terminal(vectors.name[:_LONGEST_NAME])
        why = f" ({'; '.join(reasons)})" if reasons else ""
        super().__init__(
            f"the index's vectors were made by the encoder '{name}', which is not one of yours"
            f"{why}. If you trust it, name it in {VARIABLE}; or make the vectors with one of "
            "yours: citebed index COLLECTION --neural"
        )


def find_encoder() -> Path | None:
    """Return the folder of the installed or else the downloaded encoder, if there is one."""
    folder = packaged_encoder() or encoder_folder()
    return folder if folder.is_dir() else None


def load_dense_encoder(
    name_or_folder: str | Path = FETCHED, *, cache: VectorCache | None = None
) -> DenseEncoder:
    """Load an encoder by name or folder; citebed checks the files of a folder with a card.

    With a ``cache``, citebed stores the vectors of documents there.
    """
    folder, name = Path(name_or_folder).expanduser(), str(name_or_folder)
    if folder.is_dir():
        name = str(folder.resolve())  # an index is searched from other folders too
    elif short_name(name) in SHORT_NAMES:
        name = short_name(name)
    return DenseEncoder(load_encoder(name), cache)


def index_encoder(neural: bool | str | Path = True) -> DenseEncoder:
    """Load the encoder for a collection's index: the downloaded one, or one by name or folder.

    Its vectors go into the user's vector cache, and its name into the user's state folder, so that
    citebed finds it again when the index is searched.
    """
    name = FETCHED if isinstance(neural, bool) else neural
    encoder = load_dense_encoder(name, cache=VectorCache())
    path = _name_file(encoder.fingerprint)
    if path is not None and not (path.is_file() and read_text(path) == encoder.name):
        try:
            write_file(path, encoder.name)
        except CitebedError as error:
            _LOG.warning("note: %s; to search this index later, set %s", error, VARIABLE)
    return encoder


def load_encoder_for_index(vectors: DocumentVectors) -> DenseEncoder:
    """Load the user's encoder that made an index's vectors; raise ``ForeignEncoder`` if none did.

    citebed tries the encoders that the user named in the environment, made an index with,
    installed, or downloaded.
    """
    names = [os.environ.get(VARIABLE, "")]
    if (path := _name_file(vectors.fingerprint)) is not None and path.is_file():
        names.append(read_text(path).strip())
    if find_encoder() is not None:
        names.append(FETCHED)
    if packaged_encoder() is not None and encoder_folder().is_dir():
        names.append(str(encoder_folder()))  # the package goes before it
    reasons = []
    for name in dict.fromkeys(name for name in names if name):
        try:
            encoder = _load_once(name, vectors.fingerprint)
        except CitebedError as error:
            reasons.append(str(error))
            continue
        if vectors.is_of(encoder):
            return encoder
        reasons.append(f"'{printable(name)}' is another one")
    raise ForeignEncoder(vectors, reasons)


def _name_file(fingerprint: str) -> Path | None:
    """Return the file with the name of a fingerprint's encoder; ``None`` if it is not a hash."""
    is_hash = re.fullmatch("[0-9a-f]{64}", fingerprint)
    return state_folder() / "encoders" / fingerprint if is_hash else None


@lru_cache(maxsize=2)
def _load_once(name: str, _fingerprint: str) -> DenseEncoder:
    return load_dense_encoder(name)
