"""The network of an encoder in PyTorch: BERT and its kin, from weights by name.

The mean of the last layer's states, scaled to length 1, is a text's vector. Texts go through the
network in groups of like length; every group has random numbers of its own for dropout, so that
a group can be computed again to the same result (see `Network.learn`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from citebed.retrieval.rerank.architectures import Shape
from citebed.training.start import Start

_ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_pytorch_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
}
_KEPT_BYTES = 46
"""Of a number that goes through a layer in half precision, kept until the way back; measured."""
_READ_GROUP = 512

Tensor = Any
TokenLists = Sequence[Sequence[int]]


class Network:
    """An encoder that learns: its weights are tensors on a device."""

    def __init__(self, start: Start, device: str, dropout: float, group: int) -> None:
        self.shape, self.device = start.shape, device
        self._dropout, self._group = dropout, group
        self.weights = {
            name: torch.tensor(array, device=device).requires_grad_()
            for name, array in start.weights.items()
        }

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """The weights by name."""
        return {name: each.detach().cpu().numpy() for name, each in self.weights.items()}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take weights by name."""
        with torch.no_grad():
            for name, tensor in self.weights.items():
                tensor.copy_(torch.from_numpy(np.asarray(arrays[name])))

    def encode(self, tokens: TokenLists) -> Tensor:
        """The vector of each text, nothing learned and nothing dropped."""
        found = torch.empty(len(tokens), self.shape.hidden, device=self.device)
        with torch.no_grad():
            for group in _groups(tokens, _READ_GROUP):
                found[group] = self._vectors([tokens[i] for i in group], 0.0)
        return found

    def learn(self, tokens: TokenLists, loss_of: Callable[[Tensor], Tensor], seed: str) -> Tensor:
        """Gradients of the loss of these texts' vectors; gives the loss.

        Where the states of all groups do not fit into memory the vectors are computed first, then
        each group again with its share of the gradient (Gao et al. 2021, GradCache).
        """
        groups = _groups(tokens, self._group)
        back = torch.tensor(np.argsort(np.concatenate(groups)), device=self.device)

        def vectors(number: int) -> Tensor:
            torch.manual_seed(_number(seed, number))
            return self._vectors([tokens[i] for i in groups[number]], self._dropout)

        if self._fits(tokens):
            loss = loss_of(torch.cat([vectors(n) for n in range(len(groups))])[back])
            loss.backward()
            return loss.detach()
        with torch.no_grad():
            found = [vectors(n) for n in range(len(groups))]
        leaves = [each.requires_grad_() for each in found]
        loss = loss_of(torch.cat(leaves)[back])
        loss.backward()
        for number, leaf in enumerate(leaves):
            (vectors(number) * leaf.grad).sum().backward()
        return loss.detach()

    def _fits(self, tokens: TokenLists) -> bool:
        wide = 1 if self.device.startswith("cuda") else 2
        numbers = sum(map(len, tokens)) * self.shape.hidden * self.shape.layers
        return numbers * _KEPT_BYTES * wide < _memory(self.device) // 2

    def _vectors(self, tokens: TokenLists, dropout: float) -> Tensor:
        lengths = [len(each) for each in tokens]
        ids = np.zeros((len(tokens), max(lengths)), np.int64)
        for row, each in enumerate(tokens):
            ids[row, : len(each)] = each
        size = torch.tensor(lengths, device=self.device)
        placed = torch.from_numpy(ids).to(self.device)
        mask = torch.arange(ids.shape[1], device=self.device)[None] < size[:, None]
        kind = self.device.partition(":")[0]
        with torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
            states = last_states(self.weights, self.shape, placed, mask, dropout)
        mean = (states.float() * mask[..., None]).sum(1) / size[:, None]
        return F.normalize(mean, dim=-1)


def last_states(
    weights: Mapping[str, Tensor], shape: Shape, ids: Tensor, mask: Tensor, dropout: float
) -> Tensor:
    """The states of the last layer (texts × tokens × hidden) of token numbers with their mask."""
    names, kind = shape.architecture.names, shape.architecture

    def linear(x: Tensor, name: str) -> Tensor:
        return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(x: Tensor, name: str) -> Tensor:
        scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return F.layer_norm(x, (shape.hidden,), scale, shift, shape.epsilon)

    def heads(x: Tensor) -> Tensor:
        return x.unflatten(-1, (shape.heads, -1)).transpose(1, 2)

    first, length = kind.first_position, ids.shape[1]
    x = F.embedding(ids, weights["embeddings.word_embeddings.weight"])
    x = x + weights["embeddings.position_embeddings.weight"][first : first + length]
    if kind.has_token_types:
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = F.dropout(norm(x, "embeddings.LayerNorm"), dropout)
    for number in range(shape.layers):
        at = f"{kind.layers}.{number}."
        asked, keys, values = (heads(linear(x, at + name)) for name in names.attention)
        seen = F.scaled_dot_product_attention(
            asked, keys, values, attn_mask=mask[:, None, None], dropout_p=dropout
        )
        seen = linear(seen.transpose(1, 2).flatten(2), at + names.attention_out)
        x = norm(x + F.dropout(seen, dropout), at + names.attention_norm)
        inner = _ACTIVATIONS[shape.activation](linear(x, at + names.feed_in))
        inner = linear(inner, at + names.feed_out)
        x = norm(x + F.dropout(inner, dropout), at + names.feed_norm)
    return x


def _groups(tokens: TokenLists, size: int) -> list[list[int]]:
    """The places of texts in groups of nearly the same length, the longest first."""
    order = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))
    return [order[at : at + size] for at in range(0, len(order), size)]


def _number(*parts: object) -> int:
    digest = hashlib.sha256(":".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _memory(device: str) -> int:
    """Bytes that a device has."""
    if device.startswith("cuda"):
        return int(torch.cuda.get_device_properties(device).total_memory)
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
