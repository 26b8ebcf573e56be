"""Encoders (a text to a vector) and cross-encoders (a pair of texts to a score)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.install_commands import pip_install_command
from citebed.retrieval.encoders.loading import torch_runtime
from citebed.retrieval.encoders.loading.folder import (
    ModelFolder,
    Pooling,
    blaming,
    check_files,
    document_tokens,
    documents_of,
    fingerprint,
    most_tokens,
    open_folder,
    pooling_of,
)
from citebed.retrieval.encoders.loading.names import find_model
from citebed.retrieval.encoders.loading.onnx_runtime import OnnxModel, cores, has_gpu, why_not_onnx
from citebed.retrieval.encoders.loading.tokens import TOKENS_IN_BATCH, Batch, Texts, Tokeniser
from citebed.retrieval.encoders.loading.torch_runtime import TorchModel
from citebed.retrieval.vectors.vectors import OnProgress, Vectors, unit_rows

Finish = Callable[[Vectors, Batch], Vectors]
_IN_THREADS = 128
"""Texts that threads are given at a time: Ctrl-C waits for them."""

RUNTIMES = ("auto", "onnx", "torch")
DEVICES = ("auto", "cpu", "cuda")

Model = OnnxModel | TorchModel


class _Loaded:
    """What encoders and cross-encoders share: a folder, its tokeniser and a running network."""

    _kind: tuple[str, ...]

    def __init__(self, name: str, folder: ModelFolder, model: Model, max_tokens: int) -> None:
        self.name = name
        self.folder = folder.path
        self.runtime = model.runtime
        self.device = model.device
        self.max_tokens = max_tokens
        self._files = folder
        self._model = model
        self._tokeniser = Tokeniser(folder, max_tokens)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that decides the results: weights, tokeniser, pooling and
        ``max_tokens``; not of where the model lies or which runtime it is in."""
        return self._fingerprint_at(self.max_tokens)

    def _fingerprint_at(self, tokens: int) -> str:
        return fingerprint(self._files, *self._kind, tokens)

    def _run(
        self,
        texts: Texts,
        batch: int,
        progress: OnProgress | None,
        finish: Finish,
    ) -> NDArray[np.float32]:
        """Run all texts through the network and put each result in its text's row."""
        done, rows = 0, None
        for part, results in self._results(texts, batch, finish):
            if rows is None:
                rows = np.empty((len(texts), *results.shape[1:]), np.float32)
            rows[part.at] = results
            done += len(part.at)
            if progress is not None:
                progress(done, len(texts))
        return np.empty((0, self._model.width), np.float32) if rows is None else rows

    def _results(self, texts: Texts, batch: int, finish: Finish) -> Iterator[tuple[Batch, Vectors]]:
        """Batches and what the network makes of them.

        A quantised network runs every text alone, one on each core: so it is quickest, too.
        """

        def result(part: Batch) -> tuple[Batch, Vectors]:
            with blaming(self._files):
                return part, finish(self._model(part), part)

        size = 1 if self._files.is_quantised else batch
        parts = self._tokeniser.batches(texts, size, TOKENS_IN_BATCH[self.device])
        if not self._files.is_quantised:
            yield from map(result, parts)
            return
        with ThreadPoolExecutor(cores()) as pool:
            while some := list(islice(parts, _IN_THREADS)):
                yield from pool.map(result, some)


class Encoder(_Loaded):
    """A text encoder; ``load_encoder`` makes one.

    ``runtime`` (``onnx`` or ``torch``) and ``device`` (``cpu`` or ``cuda``) say where it runs.
    """

    def __init__(
        self, name: str, folder: ModelFolder, model: Model, max_tokens: int, pooling: Pooling
    ) -> None:
        super().__init__(name, folder, model, max_tokens)
        self.pooling = pooling
        self.dimensions = model.width
        self._kind = ("encoder", str(pooling))
        self.document_tokens = document_tokens(folder, max_tokens)

    @cached_property
    def document_fingerprint(self) -> str:
        """The fingerprint as a reader of an index's documents, without loading that."""
        files = documents_of(self._files)
        return fingerprint(files, *self._document_kind(files), self.document_tokens)

    @cached_property
    def of_documents(self) -> Encoder:
        """The reader of documents: the network that the folder has for them, or this one; and as
        much of a text as the folder says."""
        files, model = documents_of(self._files), self._model
        if files != self._files:
            with blaming(files):
                model = _load_model(files, "encoder", self.runtime, self.device)
        elif self.document_tokens == self.max_tokens:
            return self
        reader = Encoder(self.name, files, model, self.document_tokens, self.pooling)
        reader._kind = self._document_kind(files)
        return reader

    def _document_kind(self, files: ModelFolder) -> tuple[str, ...]:
        """What the vectors of documents depend on: who reads queries, too, if it is another."""
        return self._kind if files == self._files else (*self._kind, self.fingerprint)

    def encode(
        self, texts: Sequence[str], *, batch: int = 32, progress: OnProgress | None = None
    ) -> Vectors:
        """One vector per text, in the order of the texts (texts × ``dimensions``).

        A text's vector does not depend on the texts around it (to the last digits of float32).
        What lies beyond ``max_tokens`` is not read; an empty text has a vector too.
        """
        return self._run(texts, batch, progress, self._pooled)

    def _pooled(self, hidden: NDArray[np.float32], batch: Batch) -> Vectors:
        vectors = pool(hidden, batch.mask, self.pooling.kind)
        if self.pooling.unit:
            vectors = unit_rows(vectors)
        return vectors


class CrossEncoder(_Loaded):
    """A model that reads two texts at once; ``load_cross_encoder`` makes one."""

    def __init__(self, name: str, folder: ModelFolder, model: Model, max_tokens: int) -> None:
        super().__init__(name, folder, model, max_tokens)
        if model.width not in (1, 2):
            raise CitebedError(
                f"'{name}' tells {model.width} classes apart; a model for re-ranking has one "
                "output (how relevant) or two (not relevant, relevant)"
            )
        self._kind = ("cross-encoder",)

    def scores(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        batch: int = 32,
        progress: OnProgress | None = None,
    ) -> NDArray[np.float32]:
        """How relevant the second text of each pair is to the first; higher is more.

        The score is the model's output as it is (a log-odds, not squeezed into 0 to 1); of a
        model with two outputs it is the second minus the first. The longer text of a pair is cut
        first where both do not fit.
        """
        return self._run(pairs, batch, progress, _relevance)[:, 0]


def _relevance(logits: NDArray[np.float32], _batch: Batch) -> NDArray[np.float32]:
    return logits if logits.shape[1] == 1 else logits[:, 1:] - logits[:, :1]


def pool(hidden: NDArray[np.float32], mask: NDArray[np.int64], kind: str) -> Vectors:
    """One vector per text from those of its real tokens: ``mean``, ``cls`` (the first), ``max``."""
    if kind == "cls":
        return hidden[:, 0]
    if kind == "max":
        return np.asarray(np.where(mask[:, :, None] == 1, hidden, -np.inf).max(axis=1), np.float32)
    weights = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
    return np.asarray(np.matmul(weights[:, None, :], hidden)[:, 0], np.float32)


# --- loading --------------------------------------------------------------------------------


def load_encoder(
    name_or_folder: str | Path,
    *,
    runtime: str = "auto",
    device: str = "auto",
    max_tokens: int | None = None,
    pooling: str | None = None,
) -> Encoder:
    """An encoder by folder, hub name (``allenai/scibert_scivocab_uncased``) or short name.

    ``runtime`` ``auto`` is ONNX Runtime where it can run the model, else PyTorch where that is
    installed; ``device`` ``auto`` is an NVIDIA GPU where the runtime sees one. What was chosen is
    in the encoder's ``runtime`` and ``device``. ``max_tokens`` and ``pooling`` are the model's
    own unless given; a model that says nothing of pooling gets the mean over its tokens.
    """
    folder = _opened(name_or_folder)
    with blaming(folder):
        tokens, pooled = most_tokens(folder, max_tokens), pooling_of(folder, pooling)
        model = _load_model(folder, "encoder", runtime, device)
        return Encoder(str(name_or_folder), folder, model, tokens, pooled)


def _opened(name_or_folder: str | Path) -> ModelFolder:
    """A model's folder; where it has a card, its files are as the card says."""
    folder = find_model(name_or_folder)
    check_files(folder)
    return open_folder(folder)


def load_cross_encoder(
    name_or_folder: str | Path,
    *,
    runtime: str = "auto",
    device: str = "auto",
    max_tokens: int | None = None,
) -> CrossEncoder:
    """A cross-encoder by folder, hub name or short name; arguments as of ``load_encoder``."""
    folder = _opened(name_or_folder)
    with blaming(folder):
        tokens = most_tokens(folder, max_tokens)
        model = _load_model(folder, "cross-encoder", runtime, device)
        return CrossEncoder(str(name_or_folder), folder, model, tokens)


def load_reranker(
    name_or_folder: str | Path,
    *,
    runtime: str = "auto",
    device: str = "auto",
    max_tokens: int | None = None,
) -> Encoder | CrossEncoder:
    """Whichever of the two the model's ``config.json`` says it is."""
    folder = find_model(name_or_folder)
    load = load_cross_encoder if open_folder(folder).is_cross_encoder else load_encoder
    return load(name_or_folder, runtime=runtime, device=device, max_tokens=max_tokens)


def _load_model(folder: ModelFolder, task: str, runtime: str, device: str) -> Model:
    for asked, known in ((runtime, RUNTIMES), (device, DEVICES)):
        if asked not in known:
            raise CitebedError(f"'{asked}' is not one of {', '.join(known)}")
    if runtime == "auto":
        runtime = _choose_runtime(folder, device)
    if runtime == "torch":
        return TorchModel(folder, task, device)
    if device == "cuda" and not has_gpu():
        raise CitebedError(
            "device 'cuda' was asked for, but the installed ONNX Runtime has no CUDA: install "
            "onnxruntime-gpu in its place, or PyTorch and runtime 'torch'"
        )
    return OnnxModel(folder, task, device)


def _choose_runtime(folder: ModelFolder, device: str) -> str:
    """ONNX Runtime if it can run the model, unless only PyTorch can use the GPU that is there."""
    reason = why_not_onnx(folder)
    if reason is None:
        on_torch = device != "cpu" and not has_gpu() and torch_runtime.sees_gpu()
        return "torch" if on_torch and folder.weights.suffix != ".onnx" else "onnx"
    if torch_runtime.is_installed():
        return "torch"
    raise CitebedError(
        f"ONNX Runtime cannot run the model in '{folder.path}': {reason}. PyTorch might, but is "
        f"not installed. Run: {pip_install_command(*torch_runtime.NEEDS)}. "
        "Or export the model to model.onnx"
    )
