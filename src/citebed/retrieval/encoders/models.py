"""Encoders (from a text to a vector) and cross-encoders (from a pair of texts to a score)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.encoders.model_folder import (
    ModelFolder,
    Pooling,
    check_files,
    find_model,
    open_folder,
    wrap_model_errors,
)
from citebed.retrieval.encoders.runtimes import (
    TOKENS_IN_BATCH,
    Batch,
    Model,
    Texts,
    Tokeniser,
    cores,
    load_model,
)
from citebed.retrieval.vectors.vectors import OnProgress, Vectors, unit_rows

_IN_THREADS = 128
"""Texts that go to threads at a time; Ctrl-C waits for them."""


class _Loaded:
    """A folder, its tokeniser and a running network, for encoders and cross-encoders."""

    _kind: tuple[str, ...]

    def __init__(self, name: str, folder: ModelFolder, model: Model, max_tokens: int) -> None:
        self.name, self.folder, self.max_tokens = name, folder.path, max_tokens
        self.runtime, self.device = model.runtime, model.device
        self._files, self._model = folder, model
        self._tokeniser = Tokeniser(folder, max_tokens)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of weights, tokeniser, pooling and ``max_tokens``, which decide the results.

        It does not depend on the place of the model or on the runtime.
        """
        return self._files.fingerprint(*self._kind, self.max_tokens)

    def _run(
        self,
        texts: Texts,
        batch: int,
        progress: OnProgress | None,
        finish: Callable[[Vectors, Batch], Vectors],
    ) -> NDArray[np.float32]:
        """Run all texts through the network; row i of the result belongs to text i."""

        def run(part: Batch) -> tuple[Batch, Vectors]:
            with wrap_model_errors(self._files):
                return part, finish(self._model(part), part)

        # A quantised network runs every text alone, one on each core, which is also fastest.
        alone, done, rows = self._files.is_quantised, 0, None
        parts = self._tokeniser.batches(texts, 1 if alone else batch, TOKENS_IN_BATCH[self.device])
        with ThreadPoolExecutor(cores()) as pool:
            while some := list(islice(parts, _IN_THREADS if alone else 1)):
                for part, results in pool.map(run, some) if alone else map(run, some):
                    if rows is None:
                        rows = np.empty((len(texts), *results.shape[1:]), np.float32)
                    rows[part.at] = results
                    done += len(part.at)
                    if progress is not None:
                        progress(done, len(texts))
        return np.empty((0, self._model.width), np.float32) if rows is None else rows


class Encoder(_Loaded):
    """A text encoder; ``load_encoder`` creates one.

    ``runtime`` is ``onnx`` or ``torch``, ``device`` is ``cpu`` or ``cuda``.
    """

    def __init__(
        self, name: str, folder: ModelFolder, model: Model, max_tokens: int, pooling: Pooling
    ) -> None:
        super().__init__(name, folder, model, max_tokens)
        self.pooling = pooling
        self.dimensions = model.width
        self._kind = ("encoder", str(pooling))
        self.document_tokens = folder.document_tokens(max_tokens)

    @cached_property
    def document_fingerprint(self) -> str:
        """The fingerprint of ``for_documents``, without loading its network."""
        files = self._files.for_documents()
        return files.fingerprint(*self._document_kind(files), self.document_tokens)

    @cached_property
    def for_documents(self) -> Encoder:
        """The encoder for documents: the folder's network for them, or this one.

        It truncates a text after ``document_tokens``.
        """
        files, model = self._files.for_documents(), self._model
        if files != self._files:
            with wrap_model_errors(files):
                model = load_model(files, "encoder", self.runtime, self.device)
        elif self.document_tokens == self.max_tokens:
            return self
        encoder = Encoder(self.name, files, model, self.document_tokens, self.pooling)
        encoder._kind = self._document_kind(files)
        return encoder

    def _document_kind(self, files: ModelFolder) -> tuple[str, ...]:
        """Return what document vectors depend on, including another network for queries."""
        return self._kind if files == self._files else (*self._kind, self.fingerprint)

    def encode(
        self, texts: Sequence[str], *, batch: int = 32, progress: OnProgress | None = None
    ) -> Vectors:
        """Return one vector per text (texts × ``dimensions``).

        The vector of a text does not depend on the other texts (except in the last digits of
        float32). Tokens after ``max_tokens`` are not read. An empty text has a vector too.
        """

        def pooled(hidden: Vectors, part: Batch) -> Vectors:
            vectors = pool(hidden, part.mask, self.pooling.kind)
            return unit_rows(vectors) if self.pooling.unit else vectors

        return self._run(texts, batch, progress, pooled)


class CrossEncoder(_Loaded):
    """A model that reads two texts at once; ``load_cross_encoder`` creates one."""

    def __init__(self, name: str, folder: ModelFolder, model: Model, max_tokens: int) -> None:
        super().__init__(name, folder, model, max_tokens)
        if model.width not in (1, 2):
            raise CitebedError(
                f"'{name}' has {model.width} output classes; a cross-encoder needs one (how "
                "relevant) or two (not relevant, relevant)"
            )
        self._kind = ("cross-encoder",)

    def scores(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        batch: int = 32,
        progress: OnProgress | None = None,
    ) -> NDArray[np.float32]:
        """Return how relevant the second text of each pair is to the first.

        A score is the model's output (log-odds), or for two outputs the second minus the first. If
        a pair is too long, its longer text is truncated first.
        """

        def relevance(logits: NDArray[np.float32], _: Batch) -> NDArray[np.float32]:
            return logits if logits.shape[1] == 1 else logits[:, 1:] - logits[:, :1]

        return self._run(pairs, batch, progress, relevance)[:, 0]


def pool(hidden: NDArray[np.float32], mask: NDArray[np.int64], kind: str) -> Vectors:
    """Combine the vectors of a text's real tokens: ``mean``, ``cls`` (the first) or ``max``."""
    if kind == "cls":
        return hidden[:, 0]
    if kind == "max":
        return np.asarray(np.where(mask[:, :, None] == 1, hidden, -np.inf).max(axis=1), np.float32)
    weights = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
    return np.asarray(np.matmul(weights[:, None, :], hidden)[:, 0], np.float32)


def load_encoder(
    name_or_folder: str | Path,
    *,
    runtime: str = "auto",
    device: str = "auto",
    max_tokens: int | None = None,
    pooling: str | None = None,
) -> Encoder:
    """Load an encoder by folder, hub name (``allenai/scibert_scivocab_uncased``) or short name.

    With ``runtime="auto"`` this is ONNX Runtime if it can run the model, else PyTorch if it is
    installed; with ``device="auto"`` an NVIDIA GPU if the runtime finds one. The encoder's
    ``runtime`` and ``device`` hold the choice. ``max_tokens`` and ``pooling`` default to the
    model's own; without one, the pooling is the mean over the tokens.
    """
    folder = find_model(name_or_folder)
    check_files(folder)
    files = open_folder(folder)
    with wrap_model_errors(files):
        tokens, pooled = files.max_tokens(max_tokens), files.pooling(pooling)
        model = load_model(files, "encoder", runtime, device)
        return Encoder(str(name_or_folder), files, model, tokens, pooled)


def load_cross_encoder(
    name_or_folder: str | Path,
    *,
    runtime: str = "auto",
    device: str = "auto",
    max_tokens: int | None = None,
) -> CrossEncoder:
    """Load a cross-encoder by folder, hub name or short name; arguments as for ``load_encoder``."""
    folder = find_model(name_or_folder)
    check_files(folder)
    files = open_folder(folder)
    with wrap_model_errors(files):
        tokens = files.max_tokens(max_tokens)
        model = load_model(files, "cross-encoder", runtime, device)
        return CrossEncoder(str(name_or_folder), files, model, tokens)


def load_reranker(name_or_folder: str | Path) -> Encoder | CrossEncoder:
    """Load an encoder or a cross-encoder, depending on the model's ``config.json``."""
    if open_folder(find_model(name_or_folder)).is_cross_encoder:
        return load_cross_encoder(name_or_folder)
    return load_encoder(name_or_folder)
