"""Which encoders can be built from their weights, and what their weights are called.

BERT, RoBERTa and DistilBERT are one network under different names: embeddings, then layers of
attention and a feed-forward part, each followed by a LayerNorm (Devlin et al. 2019; Liu et al.
2019; Sanh et al. 2019). SciBERT and MiniLM are BERTs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from citebed.errors import CitebedError


class LayerNames(NamedTuple):
    """What the parts of a layer are called; each has a ``.weight`` and a ``.bias``."""

    attention: tuple[str, str, str]  # query, key, value
    attention_out: str
    attention_norm: str
    feed_in: str
    feed_out: str
    feed_norm: str


@dataclass(frozen=True)
class Architecture:
    """One family: its names of weights, of settings in ``config.json``, and its classifier.

    ``settings`` are the width, the heads, the layers and the activation.
    ``first_position`` is the row of the position table that the first token takes.
    ``classifier`` names the hidden part of a cross-encoder's head, its activation, and the last.
    """

    layers: str
    names: LayerNames
    settings: tuple[str, str, str, str]
    prefixes: tuple[str, ...]
    classifier: tuple[str, str, str]
    first_position: int = 0
    has_token_types: bool = True


_BERT = Architecture(
    layers="encoder.layer",
    names=LayerNames(
        ("attention.self.query", "attention.self.key", "attention.self.value"),
        *("attention.output.dense", "attention.output.LayerNorm"),
        *("intermediate.dense", "output.dense", "output.LayerNorm"),
    ),
    settings=("hidden_size", "num_attention_heads", "num_hidden_layers", "hidden_act"),
    prefixes=("bert.",),
    classifier=("pooler.dense", "tanh", "classifier"),
)
# RoBERTa counts positions from the row after its padding token, which has number 1.
_ROBERTA = replace(
    _BERT,
    prefixes=("roberta.",),
    classifier=("classifier.dense", "tanh", "classifier.out_proj"),
    first_position=2,
)
_DISTILBERT = Architecture(
    layers="transformer.layer",
    names=LayerNames(
        ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        *("attention.out_lin", "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"),
    ),
    settings=("dim", "n_heads", "n_layers", "activation"),
    prefixes=("distilbert.",),
    classifier=("pre_classifier", "relu", "classifier"),
    has_token_types=False,
)
ARCHITECTURES = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "distilbert": _DISTILBERT,
}
ACTIVATIONS = ("gelu", "gelu_new", "gelu_pytorch_tanh", "relu")


@dataclass(frozen=True)
class Shape:
    """The numbers of one network, as its ``config.json`` has them."""

    architecture: Architecture
    hidden: int
    heads: int
    layers: int
    activation: str
    epsilon: float


def positions(config: Mapping[str, Any]) -> int | None:
    """How many tokens a model takes at most, special ones included; ``None`` where unknown."""
    rows = config.get("max_position_embeddings")
    if not isinstance(rows, int):
        return None
    architecture = ARCHITECTURES.get(str(config.get("model_type")))
    return rows - (architecture.first_position if architecture else 0)


def why_not_built(config: Mapping[str, Any]) -> str | None:
    """Why no ONNX graph can be made from these settings; ``None`` where it can."""
    kind = str(config.get("model_type"))
    if kind not in ARCHITECTURES:
        return f"its model_type is '{kind}', not one of {', '.join(ARCHITECTURES)}"
    if config.get("position_embedding_type", "absolute") != "absolute":
        return f"its positions are '{config['position_embedding_type']}', not 'absolute'"
    if config.get("is_decoder") or config.get("add_cross_attention"):
        return "it is a decoder, not an encoder"
    if kind in ("roberta", "xlm-roberta", "camembert") and config.get("pad_token_id", 1) != 1:
        return f"its padding token has number {config['pad_token_id']}, not 1"
    activation = config.get(ARCHITECTURES[kind].settings[3], "gelu")
    if activation not in ACTIVATIONS:
        return f"its activation is '{activation}', not one of {', '.join(ACTIVATIONS)}"
    return None


def shape_of(config: Mapping[str, Any]) -> Shape:
    """The numbers of a network whose graph can be made (see ``why_not_built``)."""
    architecture = ARCHITECTURES[str(config["model_type"])]
    hidden, heads, layers, activation = architecture.settings
    missing = [name for name in (hidden, heads, layers) if not isinstance(config.get(name), int)]
    if missing:
        raise CitebedError(f"the model's config.json lacks {', '.join(missing)}")
    return Shape(
        architecture=architecture,
        hidden=config[hidden],
        heads=config[heads],
        layers=config[layers],
        activation=str(config.get(activation, "gelu")),
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
    )
