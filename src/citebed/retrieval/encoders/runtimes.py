"""Running a model on texts: batches of tokens, then ONNX Runtime or PyTorch.

ONNX Runtime runs ``.onnx`` files and BERT-like weights, PyTorch the others. A batch has texts of
similar length, so that they need little padding.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError, import_extra
from citebed.files.input_files import read_lines, read_text
from citebed.install_commands import install_command
from citebed.retrieval.encoders.graph import (
    Graph,
    build_graph,
    give_weights,
    read_safetensors,
    why_not_built,
)
from citebed.retrieval.encoders.model_folder import ModelFolder, read_json

if TYPE_CHECKING:
    import onnxruntime

RUNTIMES = ("auto", "onnx", "torch")
DEVICES = ("auto", "cpu", "cuda")
_GPU = "CUDAExecutionProvider"
_OUTPUTS = {"encoder": ("last_hidden_state", 3), "cross-encoder": ("logits", 2)}
"""The name of a model's output, and its number of axes."""
# On a CPU, a separate sum and LayerNorm take a third of the time of the fused operator.
_SLOWER = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]


# --- Tokens ---

Texts = Sequence[str] | Sequence[tuple[str, str]]

_CHUNK = 4096
"""Texts that are tokenised and sorted by length at a time: enough to find similar lengths, few
enough that citebed need not hold the tokens of a million texts."""
TOKENS_IN_BATCH = {"cpu": 1024, "cuda": 8192}
"""The memory of attention grows with the square of the length, so long texts come in smaller
batches. A CPU is fastest with a batch that fits into its cache."""


class Batch(NamedTuple):
    """Some texts as numbers, padded at the end; ``at`` holds their places in the input."""

    at: NDArray[np.int64]
    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    types: NDArray[np.int64]


class Tokeniser:
    """A model's tokeniser, which truncates texts to ``max_tokens``."""

    def __init__(self, folder: ModelFolder, max_tokens: int) -> None:
        self._is_lower = folder.is_lower_case
        self._tokenizer = load_tokenizer(folder)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens, strategy="longest_first")
        self._padding = np.int64(int(folder.config.get("pad_token_id") or 0))

    def batches(self, texts: Texts, size: int, tokens: int) -> Iterator[Batch]:
        """Yield batches of at most ``size`` texts (or pairs) and ``tokens`` tokens.

        Each text is in exactly one batch. The batches are ordered by length, longest first.
        """
        if size < 1:
            raise CitebedError(f"a batch needs at least one text, not {size}")
        for start in range(0, len(texts), _CHUNK):
            part = [self._clean(text) for text in texts[start : start + _CHUNK]]
            encodings = self._tokenizer.encode_batch_fast(part)
            order = sorted(range(len(part)), key=lambda i: -len(encodings[i]))
            at = 0
            while at < len(order):
                longest = max(len(encodings[order[at]]), 1)
                group = order[at : at + max(1, min(size, tokens // longest))]
                at += len(group)
                ids = np.full((len(group), len(encodings[group[0]])), self._padding, np.int64)
                mask, types = np.zeros_like(ids), np.zeros_like(ids)
                for row, i in enumerate(group):
                    length = len(encodings[i])
                    ids[row, :length] = encodings[i].ids
                    types[row, :length] = encodings[i].type_ids
                    mask[row, :length] = 1
                yield Batch(np.array(group) + start, ids, mask, types)

    def _clean(self, text: str | tuple[str, str]) -> Any:
        if isinstance(text, tuple):
            return tuple(self._clean(part) for part in text)
        # A lone surrogate is not a character, and the tokeniser, written in Rust, rejects it.
        text = text.encode("utf-8", "replace").decode("utf-8")
        return text.lower() if self._is_lower else text


def load_tokenizer(folder: ModelFolder) -> Any:
    """Load a model's tokeniser from ``tokenizer.json``, or BERT's from ``vocab.txt``."""
    tokenizers = import_extra("neural", "tokenizers")
    path = folder.path / "tokenizer.json"
    if path.is_file():
        try:
            return tokenizers.Tokenizer.from_str(read_text(path))
        except CitebedError:
            raise
        except Exception as error:  # the Rust library raises plain Exception
            raise FormatError(path, None, f"not a tokeniser ({error})") from error
    path, kind = folder.path / "vocab.txt", folder.config.get("model_type")
    if kind not in ("bert", "distilbert", None):
        raise CitebedError(
            f"the folder '{folder.path}' has no tokenizer.json; citebed reads vocab.txt only for "
            f"BERT, and the model is '{kind}'"
        )
    vocabulary = {line: number - 1 for number, line in read_lines(path) if line}
    if missing := {"[UNK]", "[CLS]", "[SEP]"} - set(vocabulary):
        raise FormatError(path, None, f"the vocabulary lacks {', '.join(sorted(missing))}")
    settings = read_json(folder.path / "tokenizer_config.json") or {}
    tokenizer = tokenizers.BertWordPieceTokenizer(
        vocabulary,
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True) is not False,
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True) is not False,
    )
    return tokenizer._tokenizer  # the wrapper has no encode_batch_fast


# --- Models ---


class OnnxModel:
    """A model in ONNX Runtime, called with a batch of tokens."""

    runtime = "onnx"

    def __init__(self, folder: ModelFolder, task: str, device: str) -> None:
        self._graph: Graph | None = None
        if folder.weights.suffix != ".onnx":
            import_extra("neural", "onnx")  # so that a missing package is reported early
            weights = read_safetensors(folder.weights)
            try:
                self._graph = build_graph(folder.config, weights, task=task)
            except CitebedError as error:
                raise CitebedError(f"'{folder.weights}': {error}") from error
            del weights
        self._session = _start_session(folder, self._graph, device)
        self.device = "cuda" if _GPU in self._session.get_providers() else "cpu"
        self._inputs = {each.name for each in self._session.get_inputs()}
        name, axes = _OUTPUTS[task]
        outputs = [each for each in self._session.get_outputs() if len(each.shape) == axes]
        if not outputs:
            others = ", ".join(f"{o.name} {o.shape}" for o in self._session.get_outputs())
            raise CitebedError(
                f"'{folder.weights}' has no output for a model of kind {task}: expected "
                f"{name} with {axes} axes, found {others}"
            )
        output = next((each for each in outputs if each.name == name), outputs[0])
        width = output.shape[-1]
        if not isinstance(width, int):
            width = folder.config.get("hidden_size") if task == "encoder" else None
        if not isinstance(width, int):
            raise CitebedError(f"'{folder.weights}' does not give the width of its {output.name}")
        self._output, self.width = output.name, width

    def __call__(self, batch: Batch) -> NDArray[np.float32]:
        """Return hidden states (texts × tokens × width) or logits (texts × labels)."""
        values = {
            "input_ids": batch.ids,
            "attention_mask": batch.mask,
            "token_type_ids": batch.types,
        }
        inputs = {name: value for name, value in values.items() if name in self._inputs}
        return np.asarray(self._session.run([self._output], inputs)[0], np.float32)


class TorchModel:
    """A model in PyTorch and transformers, called with a batch of tokens.

    The weights are never unpickled as objects: transformers reads ``.bin`` files with PyTorch's
    ``weights_only``, and runs no code of the folder.
    """

    runtime = "torch"

    def __init__(self, folder: ModelFolder, task: str, device: str) -> None:
        torch, transformers = (import_extra("torch", name) for name in ("torch", "transformers"))
        has_gpu = bool(torch.cuda.is_available())
        if device == "cuda" and not has_gpu:
            raise CitebedError("device 'cuda' was requested, but PyTorch finds no NVIDIA GPU")
        self.device = "cuda" if device != "cpu" and has_gpu else "cpu"
        is_encoder = task == "encoder"
        name = "AutoModel" if is_encoder else "AutoModelForSequenceClassification"
        try:
            model = getattr(transformers, name).from_pretrained(
                str(folder.path), local_files_only=True, trust_remote_code=False
            )
        except Exception as error:  # a broken folder raises nearly any error here
            reason = str(error).strip().split("\n")[0]
            raise CitebedError(f"PyTorch cannot load '{folder.path}': {reason}") from error
        self._torch, self._model = torch, model.float().to(self.device).eval()
        self._output, _ = _OUTPUTS[task]
        self.width = int(model.config.hidden_size if is_encoder else model.config.num_labels)
        self._takes_types = getattr(model.config, "type_vocab_size", 0) > 1

    def __call__(self, batch: Batch) -> NDArray[np.float32]:
        """Return hidden states (texts × tokens × width) or logits (texts × labels)."""
        inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
        if self._takes_types:
            inputs["token_type_ids"] = batch.types
        torch = self._torch
        tensors = {name: torch.from_numpy(a).to(self.device) for name, a in inputs.items()}
        with torch.inference_mode():
            result = getattr(self._model(**tensors), self._output)
        return np.asarray(result.cpu().numpy(), np.float32)


Model = OnnxModel | TorchModel


def load_model(folder: ModelFolder, task: str, runtime: str, device: str) -> Model:
    """Load an ``encoder`` or ``cross-encoder`` with a runtime, on a device.

    With the runtime ``auto`` this is ONNX Runtime if it can run the model, unless only PyTorch can
    use this machine's GPU.
    """
    for value, known in ((runtime, RUNTIMES), (device, DEVICES)):
        if value not in known:
            raise CitebedError(f"'{value}' is not one of {', '.join(known)}")
    reason = None if folder.weights.suffix == ".onnx" else why_not_built(folder.config)
    if folder.weights.suffix == ".bin":
        reason = f"{folder.weights.name} is a pickle, which only PyTorch reads"
    if runtime == "auto":
        runtime = "onnx" if reason is None else "torch"
        if reason is not None and not _has_torch():
            raise CitebedError(
                f"ONNX Runtime cannot run the model in '{folder.path}': {reason}. PyTorch is not "
                f"installed. Run: {install_command('torch', 'torch')}. Or export the model to "
                "model.onnx"
            )
        is_free = folder.weights.suffix != ".onnx" and device != "cpu"
        # PyTorch takes seconds to import: only if there is a driver.
        may_have_gpu = Path("/dev/nvidiactl").exists() and _has_torch()
        if reason is None and is_free and not has_gpu() and may_have_gpu:
            has_cuda = import_extra("torch", "torch").cuda.is_available()
            runtime = "torch" if has_cuda else runtime
    if runtime == "torch":
        return TorchModel(folder, task, device)
    if reason is not None:
        raise CitebedError(f"ONNX Runtime cannot run the model in '{folder.path}': {reason}")
    if device == "cuda" and not has_gpu():
        raise CitebedError(
            "device 'cuda' was requested, but the installed ONNX Runtime has no CUDA: install "
            "onnxruntime-gpu in its place, or PyTorch and use the runtime 'torch'"
        )
    return OnnxModel(folder, task, device)


def has_gpu() -> bool:
    """Return True if the installed ONNX Runtime supports NVIDIA GPUs."""
    return _GPU in import_extra("neural", "onnxruntime").get_available_providers()


def cores() -> int:
    """Return the number of CPU cores for this process; a container often has fewer than the
    machine."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _has_torch() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "transformers"))


def _start_session(
    folder: ModelFolder, graph: Graph | None, device: str
) -> onnxruntime.InferenceSession:
    ort = import_extra("neural", "onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1 if folder.is_quantised else cores()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    # Threads that wait in a loop gain a few percent alone, and lose a third on a busy machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only: its warnings are for authors of graphs
    providers = [_GPU] if device == "cuda" or (device == "auto" and has_gpu()) else []
    try:
        model: str | bytes = str(folder.weights)
        if graph is not None:
            model = graph.model
            give_weights(options, graph)
        return ort.InferenceSession(
            model,
            options,
            providers=[*providers, "CPUExecutionProvider"],
            disabled_optimizers=[] if providers else _SLOWER,
        )
    except Exception as error:  # its errors have no common class
        reason = str(error).strip().split("\n")[0]
        raise CitebedError(f"ONNX Runtime cannot load '{folder.weights}': {reason}") from error
