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

from citebed.retrieval.encoders.loading.architectures import Shape
from citebed.training.settings import Tensor
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
_GROUPS = (8, 512)
_STEP = 16
"""The kernels of a GPU like widths that are multiples of this."""

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
        batch = self.batch(tokens, _READ_GROUP)
        with torch.no_grad():
            found = [self._vectors(batch, number, 0.0) for number in range(len(batch))]
        return torch.cat(found)[batch.back] if found else self._nothing()

    def batch(self, tokens: TokenLists, group: int = 0) -> DeviceBatch:
        """Texts on the device as `learn` takes them, in groups of so many, or of as many as fit."""
        longest = max(map(len, tokens), default=1)
        fitting = _memory(self.device) // 4 // max(self._kept(longest), 1)
        chosen = group or self._group or min(max(fitting, _GROUPS[0]), _GROUPS[1])
        return DeviceBatch(tokens, chosen, self._most, self.device)

    def learn(self, batch: DeviceBatch, loss_of: Callable[[Tensor], Tensor], seed: str) -> Tensor:
        """Gradients of the loss of these texts' vectors; gives the loss.

        Where the states of all groups do not fit into memory the vectors are computed first, then
        each group again with its share of the gradient (Gao et al. 2021, GradCache).
        """

        def vectors(number: int) -> Tensor:
            torch.manual_seed(_number(seed, number))
            return self._vectors(batch, number, self._dropout)

        if self._kept(batch.tokens) < _memory(self.device) // 2:
            loss = loss_of(torch.cat([vectors(n) for n in range(len(batch))])[batch.back])
            loss.backward()
            return loss.detach()
        with torch.no_grad():
            found = [vectors(n) for n in range(len(batch))]
        leaves = [each.requires_grad_() for each in found]
        loss = loss_of(torch.cat(leaves)[batch.back])
        loss.backward()
        for number, leaf in enumerate(leaves):
            (vectors(number) * leaf.grad).sum().backward()
        return loss.detach()

    def _kept(self, tokens: int) -> int:
        """Bytes that are kept of so many tokens until the way back."""
        wide = 1 if self.device.startswith("cuda") else 2
        return tokens * self.shape.hidden * self.shape.layers * _KEPT_BYTES * wide

    def _nothing(self) -> Tensor:
        return torch.empty(0, self.shape.hidden, device=self.device)

    @property
    def _most(self) -> int:
        """Tokens that have a position."""
        rows = len(self.weights["embeddings.position_embeddings.weight"])
        return rows - self.shape.architecture.first_position

    def _vectors(self, batch: DeviceBatch, number: int, dropout: float) -> Tensor:
        ids, size = batch.group(number)
        mask = torch.arange(ids.shape[1], device=self.device)[None] < size[:, None]
        kind = self.device.partition(":")[0]
        with torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
            states = last_states(self.weights, self.shape, ids, mask, dropout)
        mean = (states.float() * mask[..., None]).sum(1) / size[:, None]
        return F.normalize(mean, dim=-1)


class DeviceBatch:
    """Texts on a device in groups of like length, the longest first; ``back`` restores the order.

    All of it is sent at once and nobody waits for it: a GPU that is asked group by group stands
    still most of the time.
    """

    def __init__(self, tokens: TokenLists, group: int, most: int, device: str) -> None:
        lengths = np.array([len(each) for each in tokens], np.int64)
        order = np.argsort(-lengths, kind="stable")
        widths = -(-lengths[order[::group]] // _STEP) * _STEP
        self._widths = np.minimum(widths, most).tolist()
        ids = np.zeros((len(order), max(self._widths, default=1)), np.int64)
        for row, at in enumerate(order.tolist()):
            ids[row, : lengths[at]] = tokens[at]
        self.tokens, self._group = int(lengths.sum()), group
        self._ids = sent(ids, device)
        self._lengths = sent(lengths[order], device)
        self.back = sent(np.argsort(order), device)

    def __len__(self) -> int:
        return len(self._widths)

    def group(self, number: int) -> tuple[Tensor, Tensor]:
        """The token numbers of a group, padded, and their lengths."""
        some = slice(number * self._group, (number + 1) * self._group)
        return self._ids[some, : self._widths[number]], self._lengths[some]


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


def sent(array: NDArray[Any], device: str) -> Tensor:
    """An array on a device, which may still be on its way there."""
    tensor = torch.from_numpy(array)
    if not device.startswith("cuda"):
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def _number(*parts: object) -> int:
    digest = hashlib.sha256(":".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _memory(device: str) -> int:
    """Bytes that a device has."""
    if device.startswith("cuda"):
        return int(torch.cuda.get_device_properties(device).total_memory)
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
