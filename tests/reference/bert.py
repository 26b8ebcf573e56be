"""BERT's forward pass in plain numpy, one text at a time, as the paper's equations have it.

No batches, no padding, no masks, no fused anything: the twin of the graph that citebed builds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, NDArray[Any]]


def linear(x: Array, weights: Weights, name: str) -> Array:
    return x @ weights[f"{name}.weight"].astype(np.float64).T + weights[f"{name}.bias"]


def layer_norm(x: Array, weights: Weights, name: str, epsilon: float) -> Array:
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    scaled = (x - mean) / np.sqrt(variance + epsilon)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def gelu(x: Array) -> Array:
    """x Φ(x), with the error function itself (Hendrycks and Gimpel 2016)."""
    return np.vectorize(lambda v: v * 0.5 * (1.0 + math.erf(v / math.sqrt(2.0))))(x)


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attention(x: Array, weights: Weights, at: str, heads: int) -> Array:
    query, key, value = (
        linear(x, weights, f"{at}attention.self.{part}") for part in ("query", "key", "value")
    )
    width = x.shape[1] // heads
    parts = []
    for head in range(heads):
        cut = slice(head * width, (head + 1) * width)
        scores = query[:, cut] @ key[:, cut].T / math.sqrt(width)
        parts.append(softmax(scores) @ value[:, cut])
    return np.concatenate(parts, axis=1)


def last_hidden_state(
    config: Mapping[str, Any],
    weights: Weights,
    ids: Sequence[int],
    types: Sequence[int] | None = None,
) -> Array:
    """One vector per token of one text."""
    epsilon, heads = config["layer_norm_eps"], config["num_attention_heads"]
    x = weights["embeddings.word_embeddings.weight"][list(ids)].astype(np.float64)
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + weights["embeddings.token_type_embeddings.weight"][list(types or [0] * len(ids))]
    x = layer_norm(x, weights, "embeddings.LayerNorm", epsilon)
    for number in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{number}."
        attended = linear(attention(x, weights, at, heads), weights, f"{at}attention.output.dense")
        x = layer_norm(x + attended, weights, f"{at}attention.output.LayerNorm", epsilon)
        inner = gelu(linear(x, weights, f"{at}intermediate.dense"))
        outer = linear(inner, weights, f"{at}output.dense")
        x = layer_norm(x + outer, weights, f"{at}output.LayerNorm", epsilon)
    return x


def logits(
    config: Mapping[str, Any], weights: Weights, ids: Sequence[int], types: Sequence[int]
) -> Array:
    """The scores of ``BertForSequenceClassification`` for one pair of texts.

    ``weights`` are named as that class saves them: ``bert.…``, and ``classifier.…``.
    """
    bare = {name.removeprefix("bert."): array for name, array in weights.items()}
    first = last_hidden_state(config, bare, ids, types)[:1]
    return linear(np.tanh(linear(first, bare, "pooler.dense")), bare, "classifier")[0]
