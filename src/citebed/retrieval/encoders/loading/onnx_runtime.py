"""Running a model in ONNX Runtime: an ``.onnx`` file as it is, or a graph made from weights."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, import_extra
from citebed.retrieval.encoders.loading.architectures import Shape, shape_of, why_not_built
from citebed.retrieval.encoders.loading.folder import ModelFolder
from citebed.retrieval.encoders.loading.graph import Graph, classifier_graph, encoder_graph
from citebed.retrieval.encoders.loading.tokens import Batch
from citebed.retrieval.encoders.loading.weights import (
    read_safetensors,
    read_torch_pickle,
    with_current_names,
)
from citebed.retrieval.vectors.model_files import Arrays

if TYPE_CHECKING:
    import onnxruntime

_GPU = "CUDAExecutionProvider"
_OUTPUTS = {"encoder": "last_hidden_state", "cross-encoder": "logits"}
# On a CPU the sum and the LayerNorm after it take a third of the time that both fused take.
_SLOWER = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]
_RANKS = {"encoder": 3, "cross-encoder": 2}


class OnnxModel:
    """A session: from a batch of tokens to hidden states (encoder) or logits (cross-encoder)."""

    runtime = "onnx"

    def __init__(self, folder: ModelFolder, task: str, device: str) -> None:
        self._graph = None if folder.weights.suffix == ".onnx" else _built(folder, task)
        self._session = _session(folder, self._graph, device)
        self.device = "cuda" if _GPU in self._session.get_providers() else "cpu"
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._output, self.width = _output(folder, self._session, task)

    def __call__(self, batch: Batch) -> NDArray[np.float32]:
        """Hidden states (texts × tokens × width) or logits (texts × labels)."""
        values = {
            "input_ids": batch.ids,
            "attention_mask": batch.mask,
            "token_type_ids": batch.types,
        }
        given = {name: value for name, value in values.items() if name in self._inputs}
        result = self._session.run([self._output], given)[0]
        return np.asarray(result, np.float32)


def why_not_onnx(folder: ModelFolder) -> str | None:
    """Why ONNX Runtime cannot run the model in this folder; ``None`` where it can."""
    return None if folder.weights.suffix == ".onnx" else why_not_built(folder.config)


def has_gpu() -> bool:
    """Whether the installed ONNX Runtime is one for NVIDIA GPUs."""
    return _GPU in import_extra("neural", "onnxruntime").get_available_providers()


def cores() -> int:
    """The processor's cores that are ours; a container often has fewer than the machine."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _built(folder: ModelFolder, task: str) -> Graph:
    import_extra("neural", "onnx")  # only to say early that it is missing
    shape, weights = read_weights(folder)
    try:
        return (classifier_graph if task == "cross-encoder" else encoder_graph)(shape, weights)
    except CitebedError as error:
        raise CitebedError(f"'{folder.weights}': {error}") from error


def read_weights(folder: ModelFolder) -> tuple[Shape, Arrays]:
    """The numbers and weights of a network from which a graph can be made."""
    reason = why_not_built(folder.config)
    if reason is not None:
        raise CitebedError(f"ONNX Runtime cannot run the model in '{folder.path}': {reason}")
    shape = shape_of(folder.config)
    pickled = folder.weights.suffix == ".bin"
    weights = read_torch_pickle(folder.weights) if pickled else read_safetensors(folder.weights)
    return shape, with_current_names(weights, shape.architecture.prefixes)


def _session(folder: ModelFolder, graph: Graph | None, device: str) -> onnxruntime.InferenceSession:
    ort = import_extra("neural", "onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1 if folder.is_quantised else cores()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    # Threads that wait in a loop gain a few percent alone and cost a third beside other work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only: its warnings are for those who write graphs
    providers = [_GPU] if device == "cuda" or (device == "auto" and has_gpu()) else []
    try:
        if graph is None:
            model: str | bytes = str(folder.weights)
        else:
            model = graph.model
            give_weights(options, graph)
        return ort.InferenceSession(
            model,
            options,
            providers=[*providers, "CPUExecutionProvider"],
            disabled_optimizers=[] if providers else _SLOWER,
        )
    except Exception as error:  # its errors share no class but Exception
        reason = str(error).strip().split("\n")[0]
        raise CitebedError(f"ONNX Runtime cannot load '{folder.weights}': {reason}") from error


def give_weights(options: Any, graph: Graph) -> None:
    """Hand the arrays to the session without a copy; the graph keeps them alive."""
    ort, single = import_extra("neural", "onnxruntime"), 1  # TensorProto.FLOAT
    arrays = {n: array for n, array in graph.weights.items() if array.dtype == np.float32}
    make = ort.OrtValue.ortvalue_from_numpy_with_onnx_type
    options.add_external_initializers(list(arrays), [make(a, single) for a in arrays.values()])


def _output(folder: ModelFolder, session: Any, task: str) -> tuple[str, int]:
    """The output that holds hidden states or logits, by name or else by its number of axes."""
    outputs = [output for output in session.get_outputs() if len(output.shape) == _RANKS[task]]
    named = [output for output in outputs if output.name == _OUTPUTS[task]]
    if not outputs:
        found = ", ".join(f"{o.name} {o.shape}" for o in session.get_outputs())
        raise CitebedError(
            f"'{folder.weights}' has no output for a model of kind {task}: expected "
            f"{_OUTPUTS[task]} with {_RANKS[task]} axes, found {found}"
        )
    chosen = (named or outputs)[0]
    width = chosen.shape[-1]
    if not isinstance(width, int):
        width = folder.config.get("hidden_size") if task == "encoder" else None
    if not isinstance(width, int):
        raise CitebedError(f"'{folder.weights}' does not say how wide its output {chosen.name} is")
    return chosen.name, width
