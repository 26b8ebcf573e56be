"""Running a model: ONNX Runtime for ``.onnx`` files and BERT-like weights, PyTorch for others."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, import_extra
from citebed.install_commands import install_command
from citebed.retrieval.encoders.graph import (
    Graph,
    build_graph,
    give_weights,
    read_safetensors,
    why_not_built,
)
from citebed.retrieval.encoders.model_folder import ModelFolder
from citebed.retrieval.encoders.tokens import Batch

if TYPE_CHECKING:
    import onnxruntime

RUNTIMES = ("auto", "onnx", "torch")
DEVICES = ("auto", "cpu", "cuda")
_GPU = "CUDAExecutionProvider"
_OUTPUTS = {"encoder": ("last_hidden_state", 3), "cross-encoder": ("logits", 2)}
"""The name of a model's output, and its number of axes."""
# On a CPU, a separate sum and LayerNorm take a third of the time of the fused operator.
_SLOWER = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]


class OnnxModel:
    """A model in ONNX Runtime, called with a batch of tokens."""

    runtime = "onnx"

    def __init__(self, folder: ModelFolder, task: str, device: str) -> None:
        self._graph = None if folder.weights.suffix == ".onnx" else _build(folder, task)
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
    reason = None if folder.weights.suffix == ".onnx" else _why_not_onnx(folder)
    if runtime == "auto":
        runtime = "onnx" if reason is None else "torch"
        if reason is not None and not _has_torch():
            raise CitebedError(
                f"ONNX Runtime cannot run the model in '{folder.path}': {reason}. PyTorch is not "
                f"installed. Run: {install_command('torch', 'torch')}. Or export the model to "
                "model.onnx"
            )
        is_free = folder.weights.suffix != ".onnx" and device != "cpu"
        if reason is None and is_free and not has_gpu() and _torch_has_gpu():
            runtime = "torch"
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


def _why_not_onnx(folder: ModelFolder) -> str | None:
    if folder.weights.suffix == ".bin":
        return f"{folder.weights.name} is a pickle, which only PyTorch reads"
    return why_not_built(folder.config)


def _has_torch() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "transformers"))


def _torch_has_gpu() -> bool:
    """Return True if PyTorch finds a GPU; it is imported, which takes seconds, only if there is a
    driver."""
    if not Path("/dev/nvidiactl").exists() or not _has_torch():
        return False
    return bool(import_extra("torch", "torch").cuda.is_available())


def _build(folder: ModelFolder, task: str) -> Graph:
    import_extra("neural", "onnx")  # so that a missing package is reported early
    weights = read_safetensors(folder.weights)
    try:
        return build_graph(folder.config, weights, task=task)
    except CitebedError as error:
        raise CitebedError(f"'{folder.weights}': {error}") from error


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
