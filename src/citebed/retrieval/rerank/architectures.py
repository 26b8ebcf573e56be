"""Which encoders can be built from their weights, and what their weights are called.

BERT, RoBERTa and DistilBERT are one network under different names: embeddings, then layers of
attention and a feed-forward part, each followed by a LayerNorm (Devlin et al. 2019; Liu et al.
2019; Sanh et al. 2019). SciBERT and MiniLM are BERTs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from citebed.errors import CitebedError


@dataclass(frozen=True)
class LayerNames:
    """What the parts of a layer are called; each has a ``.weight`` and a ``.bias``."""

    query: str
    key: str
    value: str
    attention_out: str
    attention_norm: str
    feed_in: str
    feed_out: str
    feed_norm: str


@dataclass(frozen=True)
class Architecture:
    """One family: its names of weights, of settings in ``config.json``, and its classifier.

    ``first_position`` is the row of the position table that the first token takes.
    ``classifier`` names the hidden part of a cross-encoder's head, its activation, and the last.
    """

    layers: str
    names: LayerNames
    settings: Mapping[str, str]
    prefixes: tuple[str, ...]
    first_position: int
    has_token_types: bool
    classifier: tuple[str, str, str]


_BERT_LAYER = LayerNames(
    query="attention.self.query",
    key="attention.self.key",
    value="attention.self.value",
    attention_out="attention.output.dense",
    attention_norm="attention.output.LayerNorm",
    feed_in="intermediate.dense",
    feed_out="output.dense",
    feed_norm="output.LayerNorm",
)
_DISTILBERT_LAYER = LayerNames(
    query="attention.q_lin",
    key="attention.k_lin",
    value="attention.v_lin",
    attention_out="attention.out_lin",
    attention_norm="sa_layer_norm",
    feed_in="ffn.lin1",
    feed_out="ffn.lin2",
    feed_norm="output_layer_norm",
)
_BERT_SETTINGS = {
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "layers": "num_hidden_layers",
    "activation": "hidden_act",
}
_DISTILBERT_SETTINGS = {
    "hidden": "dim",
    "heads": "n_heads",
    "layers": "n_layers",
    "activation": "activation",
}
_BERT = Architecture(
    layers="encoder.layer",
    names=_BERT_LAYER,
    settings=_BERT_SETTINGS,
    prefixes=("bert.",),
    first_position=0,
    has_token_types=True,
    classifier=("pooler.dense", "tanh", "classifier"),
)
# RoBERTa counts positions from the row after its padding token, which has number 1.
_ROBERTA = Architecture(
    layers="encoder.layer",
    names=_BERT_LAYER,
    settings=_BERT_SETTINGS,
    prefixes=("roberta.",),
    first_position=2,
    has_token_types=True,
    classifier=("classifier.dense", "tanh", "classifier.out_proj"),
)
_DISTILBERT = Architecture(
    layers="transformer.layer",
    names=_DISTILBERT_LAYER,
    settings=_DISTILBERT_SETTINGS,
    prefixes=("distilbert.",),
    first_position=0,
    has_token_types=False,
    classifier=("pre_classifier", "relu", "classifier"),
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
    activation = config.get(ARCHITECTURES[kind].settings["activation"], "gelu")
    if activation not in ACTIVATIONS:
        return f"its activation is '{activation}', not one of {', '.join(ACTIVATIONS)}"
    return None


def shape_of(config: Mapping[str, Any]) -> Shape:
    """The numbers of a network whose graph can be made (see ``why_not_built``)."""
    architecture = ARCHITECTURES[str(config["model_type"])]
    settings = architecture.settings
    missing = [
        settings[name]
        for name in ("hidden", "heads", "layers")
        if not isinstance(config.get(settings[name]), int)
    ]
    if missing:
        raise CitebedError(f"the model's config.json lacks {', '.join(missing)}")
    return Shape(
        architecture=architecture,
        hidden=config[settings["hidden"]],
        heads=config[settings["heads"]],
        layers=config[settings["layers"]],
        activation=str(config.get(settings["activation"], "gelu")),
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
    )
