"""ONNX graphs of BERT-like encoders, built from their settings and weights without PyTorch.

BERT, RoBERTa and DistilBERT are one network under different names: embeddings, then layers of
attention and a feed-forward part, each followed by a LayerNorm (Devlin et al. 2019; Liu et al.
2019; Sanh et al. 2019). MiniLM's package and the encoders of ``citebed train`` hold only weights;
``citebed fetch encoder`` merges public weights with an adapter. This module turns such weights into
a graph for ONNX Runtime, in 32 bits in memory or in 8 bits in a file.

A graph uses ONNX Runtime's fused operator ``Attention``. For texts that are run alone the operator
``MultiHeadAttention`` without a mask is faster: it never holds the weights of all pairs of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError, import_extra
from citebed.files.limits import MODEL_BYTES, check_size
from citebed.retrieval.vectors.model_files import Arrays

_OPSET, _IR_VERSION = 20, 9
_FUSED = "com.microsoft"
_INT64, _FLOAT = 7, 1  # of TensorProto
_ACTIVATIONS = ("gelu", "gelu_new", "gelu_pytorch_tanh", "relu")
QUANTISED = "int8"
"""The value of ``quantised`` in the ``config.json`` of a model in 8 bits."""
QUANTISED_WEIGHTS = f"{QUANTISED}, for texts alone"
"""The kind of weights in a model's card; ``citebed fetch encoder`` replaces other kinds."""


@dataclass(frozen=True)
class _Family:
    """The names that one family of networks has for its weights and settings.

    ``parts`` are the linear parts and norms of a layer: query, key, value, the output of attention
    and its norm, the two parts of the feed-forward network and its norm. ``settings`` are the
    width, the heads, the layers and the activation in ``config.json``. ``classifier`` is the head
    of a cross-encoder: its hidden part, the activation, and the last part. ``first_position`` is
    the row of the position table for the first token.
    """

    layers: str
    parts: tuple[str, ...]
    settings: tuple[str, str, str, str]
    prefixes: tuple[str, ...]
    classifier: tuple[str, str, str]
    first_position: int = 0
    has_token_types: bool = True


_BERT = _Family(
    layers="encoder.layer",
    parts=(
        *("attention.self.query", "attention.self.key", "attention.self.value"),
        *("attention.output.dense", "attention.output.LayerNorm"),
        *("intermediate.dense", "output.dense", "output.LayerNorm"),
    ),
    settings=("hidden_size", "num_attention_heads", "num_hidden_layers", "hidden_act"),
    prefixes=("bert.",),
    classifier=("pooler.dense", "tanh", "classifier"),
)
_ROBERTA = replace(
    _BERT,
    prefixes=("roberta.",),
    classifier=("classifier.dense", "tanh", "classifier.out_proj"),
    first_position=2,
)
_DISTILBERT = _Family(
    layers="transformer.layer",
    parts=(
        *("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"),
        *("sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"),
    ),
    settings=("dim", "n_heads", "n_layers", "activation"),
    prefixes=("distilbert.",),
    classifier=("pre_classifier", "relu", "classifier"),
    has_token_types=False,
)
_FAMILIES = {
    "bert": _BERT,
    **dict.fromkeys(("roberta", "xlm-roberta", "camembert"), _ROBERTA),
    "distilbert": _DISTILBERT,
}


def why_not_built(config: Mapping[str, Any]) -> str | None:
    """Return the reason why citebed cannot build this network; ``None`` if it can."""
    kind = str(config.get("model_type"))
    if kind not in _FAMILIES:
        return f"its model_type is '{kind}', not one of {', '.join(_FAMILIES)}"
    if config.get("position_embedding_type", "absolute") != "absolute":
        return f"its positions are '{config['position_embedding_type']}', not 'absolute'"
    if config.get("is_decoder") or config.get("add_cross_attention"):
        return "it is a decoder, not an encoder"
    if _FAMILIES[kind] is _ROBERTA and config.get("pad_token_id", 1) != 1:
        return f"its padding token has number {config['pad_token_id']}, not 1"
    activation = config.get(_FAMILIES[kind].settings[3], "gelu")
    if activation not in _ACTIVATIONS:
        return f"its activation is '{activation}', not one of {', '.join(_ACTIVATIONS)}"
    return None


class Graph(NamedTuple):
    """A model as ONNX Runtime reads it: the graph, and its weights by name."""

    model: bytes
    weights: dict[str, NDArray[Any]]


def build_graph(
    config: Mapping[str, Any], weights: Arrays, *, task: str = "encoder", alone: bool = False
) -> Graph:
    """Build the graph of an encoder or ``cross-encoder`` from its settings and weights.

    Its inputs are ``input_ids``, ``attention_mask`` and ``token_type_ids`` (batch × tokens). An
    encoder's output is ``last_hidden_state`` (batch × tokens × width). A cross-encoder's output is
    ``logits`` (batch × labels), computed from the first token. A graph for texts that are run
    ``alone``, and so are never padded, has no ``attention_mask``.
    """
    return _Builder(config, weights, alone=alone).build(task)


class _Builder:
    """Collects nodes and weights; the methods return the name of the value that they add."""

    def __init__(self, config: Mapping[str, Any], given: Arrays, *, alone: bool) -> None:
        self._family = _FAMILIES[str(config["model_type"])]
        *sizes, activation = self._family.settings
        if missing := [name for name in sizes if not isinstance(config.get(name), int)]:
            raise CitebedError(f"the model's config.json lacks {', '.join(missing)}")
        self._hidden, self._heads, self._layers = (int(config[name]) for name in sizes)
        self._activation = str(config.get(activation, "gelu"))
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        self._alone, self._given = alone, with_current_names(given, config)
        self._helper = import_extra("neural", "onnx.helper")
        self._weights: dict[str, NDArray[Any]] = {}
        self._nodes: list[Any] = []

    def build(self, task: str) -> Graph:
        """Build all layers, and the head of a cross-encoder."""
        value = self._embeddings()
        if not self._alone:
            self._nodes.append(self._helper.make_node("Cast", ["attention_mask"], ["mask"], to=6))
        for number in range(self._layers):
            value = self._layer(value, f"{self._family.layers}.{number}.")
        output, shape = "last_hidden_state", ["batch", "tokens", self._hidden]
        if task == "cross-encoder":
            inner, activation, outer = self._family.classifier
            zero = self._constant("zero", np.int64(0))
            first = self._linear(self._node("Gather", [value, zero], axis=1), inner)
            value = self._linear(self._node(activation.capitalize(), [first]), outer)
            output, shape = "logits", ["batch", self._get(f"{outer}.weight").shape[0]]
        self._node("Identity", [value], output)
        helper = self._helper
        names = ["input_ids", *([] if self._alone else ["attention_mask"]), "token_type_ids"]
        inputs = [helper.make_tensor_value_info(n, _INT64, ["batch", "tokens"]) for n in names]
        outputs = [helper.make_tensor_value_info(output, _FLOAT, shape)]
        tensors = [_placeholder(name, array) for name, array in self._weights.items()]
        graph = helper.make_graph(self._nodes, "encoder", inputs, outputs, tensors)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        return Graph(model.SerializeToString(), self._weights)

    def _embeddings(self) -> str:
        """Add word, position and token-type embeddings, and normalise the sum.

        Padding is at the end, so the row of a position is the place of the token in its text.
        """
        words = self._take("embeddings.word_embeddings.weight")
        total = self._node("Gather", [words, "input_ids"], axis=0)
        first = np.array([self._family.first_position])
        length = self._node("Shape", ["input_ids"], start=1, end=2)
        end = self._node("Add", [length, self._constant("first_position", first)])
        start = self._constant("position_start", first)
        positions = self._take("embeddings.position_embeddings.weight")
        total = self._node("Add", [total, self._node("Slice", [positions, start, end])])
        if self._family.has_token_types:
            types = self._take("embeddings.token_type_embeddings.weight")
            if len(self._weights[types]) > 1:  # RoBERTa has one row for any token type
                types = self._node("Gather", [types, "token_type_ids"], axis=0)
            total = self._node("Add", [total, types])
        return self._norm(total, "embeddings.LayerNorm")

    def _layer(self, hidden: str, at: str) -> str:
        """Add one layer: attention and feed-forward, each added to its input and normalised."""
        parts = [at + part for part in self._family.parts]
        attention, (attended, attended_norm, inner, outer, norm) = parts[:3], parts[3:]
        # The fused operators SkipLayerNormalization and BiasGelu take longer than their parts.
        value = self._linear(self._attention(hidden, at, attention), attended)
        hidden = self._norm(self._node("Add", [value, hidden]), attended_norm)
        value = self._linear(hidden, inner)
        if self._activation == "relu":
            value = self._node("Relu", [value])
        else:
            formula = "none" if self._activation == "gelu" else "tanh"
            value = self._node("Gelu", [value], approximate=formula)
        value = self._linear(value, outer)
        return self._norm(self._node("Add", [value, hidden]), norm)

    def _attention(self, hidden: str, at: str, parts: list[str]) -> str:
        weight, bias = f"{at}qkv.weight", f"{at}qkv.bias"
        self._keep(weight, np.concatenate([self._get(f"{p}.weight") for p in parts]).T)
        self._keep(bias, np.concatenate([self._get(f"{p}.bias") for p in parts]))
        if not self._alone:
            inputs = [hidden, weight, bias, "mask"]
            return self._node("Attention", inputs, domain=_FUSED, num_heads=self._heads)
        every = self._node("Add", [self._node("MatMul", [hidden, weight]), bias])
        three = [f"{at}{part}" for part in ("query", "key", "value")]
        split = self._helper.make_node("Split", [every], three, axis=-1, num_outputs=3)
        self._nodes.append(split)
        return self._node("MultiHeadAttention", three, domain=_FUSED, num_heads=self._heads)

    def _linear(self, value: str, part: str) -> str:
        weight = self._keep(f"{part}.weight.T", self._get(f"{part}.weight").T)
        value = self._node("MatMul", [value, weight])
        return self._node("Add", [value, self._take(f"{part}.bias")])

    def _norm(self, value: str, part: str) -> str:
        inputs = [value, self._take(f"{part}.weight"), self._take(f"{part}.bias")]
        return self._node("LayerNormalization", inputs, epsilon=self._epsilon, axis=-1)

    def _get(self, name: str) -> NDArray[Any]:
        try:
            return self._given[name]
        except KeyError:
            raise CitebedError(
                f"the model's weights lack '{name}' (they have {len(self._given)} tensors): they "
                "belong to another architecture than its config.json, or to another task"
            ) from None

    def _take(self, name: str) -> str:
        return self._keep(name, self._get(name))

    def _keep(self, name: str, array: NDArray[Any]) -> str:
        """Store an array by rows, as the session reads it."""
        self._weights[name] = np.ascontiguousarray(array)
        return name

    def _constant(self, name: str, value: NDArray[Any] | np.int64) -> str:
        self._weights[name] = np.asarray(value, np.int64)
        return name

    def _node(
        self, kind: str, inputs: list[str], output: str = "", domain: str = "", **settings: Any
    ) -> str:
        output = output or f"{kind}_{len(self._nodes)}"
        node = self._helper.make_node(kind, inputs, [output], domain=domain, **settings)
        self._nodes.append(node)
        return output


def _placeholder(name: str, array: NDArray[Any]) -> Any:
    """Return a tensor without numbers, which the session gets from memory (``give_weights``)."""
    import onnx

    if array.dtype == np.int64:  # a few small constants stay in the graph
        return onnx.numpy_helper.from_array(array, name)
    tensor = onnx.TensorProto(name=name, data_type=onnx.TensorProto.FLOAT, dims=array.shape)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="given from memory")
    return tensor


def give_weights(options: Any, graph: Graph) -> None:
    """Pass the weights to a session without a copy; the graph keeps them alive."""
    ort = import_extra("neural", "onnxruntime")
    arrays = {n: array for n, array in graph.weights.items() if array.dtype == np.float32}
    make = ort.OrtValue.ortvalue_from_numpy_with_onnx_type
    options.add_external_initializers(list(arrays), [make(a, _FLOAT) for a in arrays.values()])


# --- weights --------------------------------------------------------------------------------

_KINDS = frozenset(("F64", "F32", "F16", "I64", "I32", "I16", "I8", "U8", "BOOL"))
_OLD_NORM = re.compile(r"\bLayerNorm\.(gamma|beta)$")
_NORM_NAMES = {"gamma": "weight", "beta": "bias"}


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the tensors of a safetensors file; half precision becomes float32.

    A truncated or damaged file is a ``FormatError``. Tensors of a kind that no encoder has (8-bit
    floats) are left out. The arrays take at most a few times the memory of the file.
    """
    library = import_extra("neural", "safetensors")
    check_size(path, MODEL_BYTES)
    try:
        with library.safe_open(path, "numpy") as file:
            names = file.keys()  # a method of the library, not of a mapping
            kinds = {name: file.get_slice(name).get_dtype() for name in names}
            plain = [name for name, kind in kinds.items() if kind in _KINDS]
            tensors = {name: as_float32(file.get_tensor(name)) for name in plain}
        if "BF16" in kinds.values():  # numpy lacks this type: the upper half of a float32
            for name, entry in library.deserialize(path.read_bytes()):
                if kinds[name] == "BF16":
                    bits = np.frombuffer(entry["data"], "<u2").reshape(entry["shape"])
                    tensors[name] = (bits.astype(np.uint32) << 16).view(np.float32)
    except library.SafetensorError as error:
        what = f"truncated, or not a safetensors file ({error}). Download the model again"
        raise FormatError(path, None, what) from error
    return tensors


def as_float32(array: NDArray[Any]) -> NDArray[Any]:
    """Return floats of any width as float32, and integers unchanged."""
    return array.astype(np.float32, copy=False) if array.dtype.kind == "f" else array


def with_current_names(weights: Arrays, config: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Remove a wrapper's prefix (``bert.``) from names, and use today's names of LayerNorm.

    Weights that were converted from TensorFlow call its weight and bias gamma and beta.
    """
    renamed, prefixes = {}, _FAMILIES[str(config["model_type"])].prefixes
    for name, array in weights.items():
        for prefix in prefixes:
            name = name.removeprefix(prefix)  # noqa: PLW2901
        renamed[_OLD_NORM.sub(lambda m: f"LayerNorm.{_NORM_NAMES[m[1]]}", name)] = array
    return renamed


def onnx_weights(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the weights of an exported BERT by the names that they had before the export.

    An export keeps most names. It transposes and numbers the matrices of linear parts; then only
    the node that uses a matrix has the name of the part (``/encoder/layer.0/…/MatMul``).
    """
    onnx = import_extra("neural", "onnx")
    try:
        graph = onnx.ModelProto.FromString(data).graph
        tensors = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
    except Exception as error:  # of protobuf and numpy
        raise CitebedError(f"cannot read the weights in the ONNX file: {error}") from error
    named = {name: array for name, array in tensors.items() if not name.startswith("onnx::")}
    for node in graph.node:
        matrix = tensors.get(node.input[1]) if node.op_type == "MatMul" else None
        if matrix is not None and node.input[1] not in named:
            part = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            named[f"{part}.weight"] = matrix.T
    return named


def write_quantised(path: Path, config: Mapping[str, Any], weights: Arrays) -> None:
    """Write an encoder as one ONNX file with weights in 8 bits, for texts that are run alone.

    ONNX Runtime's quantiser gives each column of a matrix its scale; the network scales its input
    for each text. One bit stays unused, because processors without VNNI instructions add two
    products in 16 bits and would overflow. The folder also gets a temporary ``weights.onnx``.
    """
    onnx = import_extra("neural", "onnx")
    quantisation = import_extra("neural", "onnxruntime.quantization")
    graph = build_graph(config, weights, alone=True)
    model = onnx.ModelProto.FromString(graph.model)
    for tensor in model.graph.initializer:
        array = np.ascontiguousarray(graph.weights[tensor.name])
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    # Without this mark the quantiser asks to prepare the graph, which already has that form.
    model.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
    plain = path.with_name("weights.onnx")
    plain.write_bytes(model.SerializeToString())
    del graph, model
    try:
        quantisation.quantize_dynamic(
            plain,
            path,
            per_channel=True,
            reduce_range=True,
            weight_type=quantisation.QuantType.QInt8,
            op_types_to_quantize=["MatMul", "Gather"],
            # The quantiser does not know the type that ONNX Runtime's own operators return.
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
    except OSError:
        raise
    except Exception as error:  # its errors share no class; a full disk is one of the causes
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise CitebedError(
            f"ONNX Runtime could not quantise the weights to 8 bits ({reason}). It needs 300 MB of "
            "disk space for a while; check that there is enough."
        ) from error
    plain.unlink()
