"""Tiny random models, written by numpy in the files that real models come in."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

_PIECES = """
[PAD] [UNK] [CLS] [SEP] a citation cites paper papers ##s the of retrieval test query
document re ##trieve ##val graph . , é 引 用
"""
VOCABULARY = _PIECES.split()
CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "hidden_size": 24,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 40,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 32,
    "type_vocab_size": 2,
    "vocab_size": len(VOCABULARY),
    "pad_token_id": 0,
}
Weights = dict[str, NDArray[Any]]


class TinyModel(NamedTuple):
    """A model on disk, and what was written there."""

    folder: Path
    config: dict[str, Any]
    weights: Weights


def random_weights(config: Mapping[str, Any], seed: int) -> Weights:
    """Weights of the size that makes every part of the network matter."""
    rng = np.random.default_rng(seed)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    weights: Weights = {}

    def add(name: str, *shape: int, around: float = 0.0, spread: float = 0.4) -> None:
        weights[name] = (around + spread * rng.standard_normal(shape)).astype(np.float32)

    def linear(name: str, out: int, into: int) -> None:
        add(f"{name}.weight", out, into)
        add(f"{name}.bias", out)

    def norm(name: str) -> None:
        add(f"{name}.weight", hidden, around=1.0, spread=0.2)
        add(f"{name}.bias", hidden)

    add("embeddings.word_embeddings.weight", config["vocab_size"], hidden)
    add("embeddings.position_embeddings.weight", config["max_position_embeddings"], hidden)
    add("embeddings.token_type_embeddings.weight", config["type_vocab_size"], hidden)
    norm("embeddings.LayerNorm")
    for number in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{number}."
        for part in ("query", "key", "value"):
            linear(f"{at}attention.self.{part}", hidden, hidden)
        linear(f"{at}attention.output.dense", hidden, hidden)
        norm(f"{at}attention.output.LayerNorm")
        linear(f"{at}intermediate.dense", inner, hidden)
        linear(f"{at}output.dense", hidden, inner)
        norm(f"{at}output.LayerNorm")
    linear("pooler.dense", hidden, hidden)
    return weights


def classifier_weights(config: Mapping[str, Any], labels: int, seed: int) -> Weights:
    """Weights as ``BertForSequenceClassification`` saves them."""
    weights = {f"bert.{name}": array for name, array in random_weights(config, seed).items()}
    rng = np.random.default_rng(seed + 1)
    shape = (labels, config["hidden_size"])
    weights["classifier.weight"] = rng.standard_normal(shape).astype(np.float32)
    weights["classifier.bias"] = rng.standard_normal(labels).astype(np.float32)
    return weights


_NAMES = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64"}


def safetensors(weights: Mapping[str, NDArray[Any]], bfloat16: tuple[str, ...] = ()) -> bytes:
    """A safetensors file by the format's description: length, JSON header, numbers."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, array in weights.items():
        if name in bfloat16:
            kind, data = "BF16", (array.view(np.uint32) >> 16).astype("<u2").tobytes()
        else:
            kind, data = _NAMES[str(array.dtype)], array.tobytes()
        offsets = [len(body), len(body) + len(data)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def write_model(
    folder: Path,
    config: Mapping[str, Any],
    weights: Weights,
    extra: Mapping[str, Any] | None = None,
) -> TinyModel:
    """A folder with the settings, weights and vocabulary; ``extra`` are more JSON files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(safetensors(weights))
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", "utf-8")
    for name, value in {"config.json": config, **(extra or {})}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")
    return TinyModel(folder, dict(config), weights)


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TinyModel]:
    """Writes a tiny encoder; keyword arguments change its settings."""

    def make(extra: Mapping[str, Any] | None = None, seed: int = 7, **changes: Any) -> TinyModel:
        config = {**CONFIG, **changes}
        folder = tmp_path_factory.mktemp("models") / "tiny"
        return write_model(folder, config, random_weights(config, seed), extra)

    return make


@pytest.fixture(scope="session")
def make_cross_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TinyModel]:
    """Writes a tiny cross-encoder with so many labels."""

    def make(labels: int = 1, seed: int = 11) -> TinyModel:
        config = {**CONFIG, "architectures": ["BertForSequenceClassification"]}
        folder = tmp_path_factory.mktemp("models") / "cross"
        return write_model(folder, config, classifier_weights(config, labels, seed))

    return make


@pytest.fixture(scope="session")
def write_safetensors() -> Callable[..., bytes]:
    return safetensors


@pytest.fixture(scope="session")
def neural() -> None:
    """The extra ``neural``; the test is reported as not run without it."""
    for package in ("onnxruntime", "onnx", "tokenizers", "safetensors"):
        pytest.importorskip(package, reason=f"{package} is not installed: citebed[neural]")
