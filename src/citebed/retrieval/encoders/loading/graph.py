"""An ONNX graph for a BERT-like encoder, made from its settings and weights.

The graph uses ONNX Runtime's fused operator ``Attention``: it computes what the network's
definition says, with fewer passes over memory. For texts that are run alone there is a quicker one,
``MultiHeadAttention`` without a mask, which never holds the weights of all pairs of tokens.
Only the graph goes through ONNX's own format; the weights stay numpy arrays and are handed to the
session as they are, so a large model is neither copied into a message nor written to disk.

Of the encoders that people name, MiniLM is published as ``.onnx`` too; SciBERT and the base of
SPECTER2 are weights only, and so is whatever ``citebed train encoder`` makes and ``citebed fetch
encoder`` joins with an adapter and brings to 8 bits. PyTorch would export them, if it were there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.encoders.loading.architectures import Shape
from citebed.retrieval.vectors.model_files import Arrays

_OPSET, _IR_VERSION = 20, 9
_FUSED = "com.microsoft"


class Graph(NamedTuple):
    """A model as ONNX Runtime reads it: the graph, and its weights by name."""

    model: bytes
    weights: dict[str, NDArray[Any]]


def encoder_graph(shape: Shape, weights: Arrays, *, alone: bool = False) -> Graph:
    """The graph from ``input_ids``, ``attention_mask`` and ``token_type_ids`` (batch × tokens)
    to ``last_hidden_state`` (batch × tokens × hidden).

    One for texts that are run ``alone``, never padded, takes no ``attention_mask``.
    """
    builder = _Builder(shape, weights, alone=alone)
    hidden = builder.layers(builder.embeddings())
    builder.node("Identity", [hidden], output="last_hidden_state")
    return builder.finish("last_hidden_state", ["batch", "tokens", shape.hidden])


def classifier_graph(shape: Shape, weights: Arrays) -> Graph:
    """The graph of a cross-encoder, to ``logits`` (batch × labels), read off the first token."""
    builder = _Builder(shape, weights)
    hidden = builder.layers(builder.embeddings())
    first = builder.node("Gather", [hidden, builder.constant("zero", np.int64(0))], axis=1)
    inner, activation, outer = shape.architecture.classifier
    bent = builder.node(activation.capitalize(), [builder.linear(first, inner)])
    logits = builder.linear(bent, outer)
    builder.node("Identity", [logits], output="logits")
    return builder.finish("logits", ["batch", weights[f"{outer}.weight"].shape[0]])


class _Builder:
    """Collects nodes and weights; every method returns the name of what it computes."""

    def __init__(self, shape: Shape, weights: Arrays, *, alone: bool = False) -> None:
        self.shape = shape
        self.alone = alone
        self.given = weights
        self.weights: dict[str, NDArray[Any]] = {}
        self.nodes: list[Any] = []

    def embeddings(self) -> str:
        """Word + position (+ token type), then LayerNorm."""
        total = self.node("Gather", [self.table("word"), "input_ids"], axis=0)
        total = self.node("Add", [total, self.position_rows()])
        if self.shape.architecture.has_token_types:
            types = self.table("token_type")
            if len(self.weights[types]) > 1:  # RoBERTa has one row, whatever its tokeniser numbers
                types = self.node("Gather", [types, "token_type_ids"], axis=0)
            total = self.node("Add", [total, types])
        return self.norm(total, "embeddings.LayerNorm")

    def position_rows(self) -> str:
        """The rows of the position table for the tokens at hand.

        Padding stands at the end, so a row's place is the token's place in its text.
        """
        first = self.shape.architecture.first_position
        length = self.node("Shape", ["input_ids"], start=1, end=2)
        end = self.node("Add", [length, self.constant("first_position", np.array([first]))])
        start = self.constant("position_start", np.array([first]))
        return self.node("Slice", [self.table("position"), start, end])

    def table(self, kind: str) -> str:
        return self.take(f"embeddings.{kind}_embeddings.weight")

    def layers(self, hidden: str) -> str:
        """All layers one after another."""
        if not self.alone:
            self.nodes.append(_helper().make_node("Cast", ["attention_mask"], ["mask"], to=6))
        for number in range(self.shape.layers):
            hidden = self.layer(hidden, f"{self.shape.architecture.layers}.{number}.")
        return hidden

    def layer(self, hidden: str, at: str) -> str:
        """Attention and feed-forward, each added to its input and normalised."""
        names = self.shape.architecture.names
        attended = self.matmul(self.attention(hidden, at), at + names.attention_out)
        hidden = self.add_and_norm(
            attended, hidden, at + names.attention_norm, at + names.attention_out
        )
        inner = self.activation(self.matmul(hidden, at + names.feed_in), at + names.feed_in)
        outer = self.matmul(inner, at + names.feed_out)
        return self.add_and_norm(outer, hidden, at + names.feed_norm, at + names.feed_out)

    def attention(self, hidden: str, at: str) -> str:
        parts = [at + part for part in self.shape.architecture.names.attention]
        weight, bias = f"{at}qkv.weight", f"{at}qkv.bias"
        self.keep(weight, np.concatenate([self.get(f"{p}.weight") for p in parts]).T)
        self.keep(bias, np.concatenate([self.get(f"{p}.bias") for p in parts]))
        if self.alone:
            every = self.node("Add", [self.node("MatMul", [hidden, weight]), bias])
            three = [f"{at}{part}" for part in ("query", "key", "value")]
            split = _helper().make_node("Split", [every], three, axis=-1, num_outputs=3)
            self.nodes.append(split)
            heads = self.shape.heads
            return self.node("MultiHeadAttention", three, domain=_FUSED, num_heads=heads)
        inputs = [hidden, weight, bias, "mask"]
        return self.node("Attention", inputs, domain=_FUSED, num_heads=self.shape.heads)

    def activation(self, value: str, part: str) -> str:
        value = self.node("Add", [value, self.take(f"{part}.bias")])
        if self.shape.activation == "relu":
            return self.node("Relu", [value])
        how = "none" if self.shape.activation == "gelu" else "tanh"
        return self.node("Gelu", [value], approximate=how)

    def add_and_norm(self, value: str, skip: str, norm: str, part: str) -> str:
        # The fused operators SkipLayerNormalization and BiasGelu take longer than their parts.
        value = self.node("Add", [value, self.take(f"{part}.bias")])
        return self.norm(self.node("Add", [value, skip]), norm)

    def norm(self, value: str, part: str) -> str:
        inputs = [value, self.take(f"{part}.weight"), self.take(f"{part}.bias")]
        return self.node("LayerNormalization", inputs, epsilon=self.shape.epsilon, axis=-1)

    def matmul(self, value: str, part: str) -> str:
        """``value`` times a linear part's weight; its bias is left to the operator that follows."""
        weight = self.keep(f"{part}.weight.T", self.get(f"{part}.weight").T)
        return self.node("MatMul", [value, weight])

    def linear(self, value: str, part: str) -> str:
        return self.node("Add", [self.matmul(value, part), self.take(f"{part}.bias")])

    def get(self, name: str) -> NDArray[Any]:
        try:
            return self.given[name]
        except KeyError:
            raise CitebedError(
                f"the model's weights lack '{name}' (they have {len(self.given)} tensors): they "
                "are of another architecture than its config.json says, or not of this task"
            ) from None

    def take(self, name: str) -> str:
        return self.keep(name, self.get(name))

    def keep(self, name: str, array: NDArray[Any]) -> str:
        """The session reads an array's memory row by row, whatever its strides say."""
        self.weights[name] = np.ascontiguousarray(array)
        return name

    def constant(self, name: str, value: NDArray[Any] | np.int64) -> str:
        self.weights[name] = np.asarray(value, np.int64)
        return name

    def node(
        self, kind: str, inputs: list[str], *, output: str = "", domain: str = "", **settings: Any
    ) -> str:
        output = output or f"{kind}_{len(self.nodes)}"
        made = _helper().make_node(kind, inputs, [output], domain=domain, **settings)
        self.nodes.append(made)
        return output

    def finish(self, output: str, dimensions: list[str | int]) -> Graph:
        helper, whole, real = _helper(), 7, 1  # TensorProto.INT64 and FLOAT
        names = ["input_ids", *([] if self.alone else ["attention_mask"]), "token_type_ids"]
        inputs = [helper.make_tensor_value_info(n, whole, ["batch", "tokens"]) for n in names]
        outputs = [helper.make_tensor_value_info(output, real, dimensions)]
        tensors = [_placeholder(name, array) for name, array in self.weights.items()]
        graph = helper.make_graph(self.nodes, "encoder", inputs, outputs, tensors)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        return Graph(model.SerializeToString(), self.weights)


def _placeholder(name: str, array: NDArray[Any]) -> Any:
    """A weight of the right shape whose numbers are given to the session from memory."""
    import onnx

    if array.dtype == np.int64:  # a handful of small constants: they stay in the graph
        return onnx.numpy_helper.from_array(array, name)
    tensor = onnx.TensorProto(name=name, data_type=onnx.TensorProto.FLOAT, dims=array.shape)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="given from memory")
    return tensor


def _helper() -> Any:
    import onnx.helper

    return onnx.helper
