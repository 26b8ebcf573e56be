"""The network of an encoder in PyTorch: a model of transformers, and how it learns in groups.

The vector of a text is the mean of the last layer's states, scaled to length 1. Texts go through
the network in groups of similar length. Every group has its own random numbers for dropout, so that
citebed can compute a group again with the same result (see `Network.learn`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError, import_extra
from citebed.files.limits import MODEL_BYTES, check_size
from citebed.retrieval.encoders.graph import (
    as_float32,
    onnx_weights,
    read_safetensors,
    why_not_built,
    with_current_names,
)
from citebed.retrieval.encoders.model_folder import ModelFolder, open_folder, read_json
from citebed.retrieval.vectors.model_files import read_arrays
from citebed.training.settings import Tensor
from citebed.wording import printable

_BYTES_PER_VALUE = 46
"""The bytes that each value of a layer needs until the backward pass, in half precision
(measured)."""
_ENCODE_GROUP = 512
_GROUP_LIMITS = (8, 512)
_WIDTH_STEP = 16
"""The kernels of a GPU are fastest with widths that are multiples of this."""

TokenLists = Sequence[Sequence[int]]


@dataclass(frozen=True)
class InitialModel:
    """A model that training starts from: its folder, and the weights that the network needs."""

    folder: ModelFolder
    weights: dict[str, NDArray[np.float32]]

    @property
    def layers(self) -> int:
        return int(self.folder.config[self.layers_key])

    @property
    def layers_key(self) -> str:
        """The name of the number of layers in ``config.json``."""
        return "n_layers" if "n_layers" in self.folder.config else "num_hidden_layers"

    @cached_property
    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for name in sorted(self.weights):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(self.weights[name]).tobytes())
        return digest.hexdigest()

    @property
    def facts(self) -> dict[str, str]:
        """The name and the hash of the model, for cards and checkpoints."""
        return {"name": self.folder.path.name, "sha256": self.fingerprint}


def read_initial_model(folder: str | Path, files: Sequence[str | Path] = ()) -> InitialModel:
    """Read a model's folder; ``files`` (``.npz`` or ``.safetensors``) replace its weights.

    Nothing is unpickled as an object: PyTorch reads ``.bin`` files with ``weights_only``.
    """
    path, weights = Path(folder), dict[str, NDArray[Any]]()
    if files:
        config = read_json(path / "config.json")
        if config is None:
            raise CitebedError(f"'{printable(path)}' has no config.json with the model's size.")
        for file in files:
            weights |= _read_weights(Path(file))
        opened = ModelFolder(path, Path(files[0]), config)
    else:
        opened = open_folder(path)
        weights = _read_weights(opened.weights)
    if reason := why_not_built(opened.config):
        raise CitebedError(f"the model in '{printable(path)}' cannot be trained: {reason}.")
    weights = with_current_names(weights, opened.config)
    with torch.device("meta"):
        wanted = {name: w.shape for name, w in _build(opened.config).named_parameters()}
    if missing := [name for name in wanted if name not in weights]:
        what = f"lacks {missing[0]} and {len(missing) - 1} other weights of its config.json."
        raise FormatError(opened.weights, None, what)
    if wrong := [name for name, shape in wanted.items() if weights[name].shape != tuple(shape)]:
        what = f"the shape of {wrong[0]} does not match its config.json."
        raise FormatError(opened.weights, None, what)
    return InitialModel(opened, {name: np.asarray(weights[name], np.float32) for name in wanted})


def _read_weights(path: Path) -> dict[str, NDArray[Any]]:
    match path.suffix:
        case ".npz":
            return {name: as_float32(array) for name, array in read_arrays(path).items()}
        case ".safetensors":
            return read_safetensors(path)
        case ".onnx":
            check_size(path, MODEL_BYTES)
            return onnx_weights(path.read_bytes())
        case ".bin":
            check_size(path, MODEL_BYTES)
            try:
                tensors = torch.load(path, "cpu", weights_only=True)
                return {name: each.float().numpy() for name, each in tensors.items()}
            except Exception as error:  # damaged or malicious pickles raise nearly any error
                what = f"PyTorch cannot read its weights ({error})"
                raise FormatError(path, None, what) from error
        case _:
            raise CitebedError(
                f"'{printable(path)}' cannot be trained from; give weights as .safetensors or .npz."
            )


def _build(config: Mapping[str, Any], dropout: float = 0.0) -> Any:
    """Build a model of transformers with random weights."""
    transformers = import_extra("torch", "transformers")
    rates = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")
    settings = transformers.AutoConfig.for_model(**{**config, **dict.fromkeys(rates, dropout)})
    head = {} if config["model_type"] == "distilbert" else {"add_pooling_layer": False}
    model = transformers.AutoModel.from_config(settings, attn_implementation="sdpa", **head)
    return model.float()


class Network:
    """An encoder that learns; ``weights`` are its parameters by name."""

    def __init__(self, initial: InitialModel, device: str, dropout: float, group: int) -> None:
        self.device, self._group, self._initial = device, group, initial
        self._model = _build(initial.folder.config, dropout)
        self._model.load_state_dict(
            {name: torch.from_numpy(array.copy()) for name, array in initial.weights.items()},
            strict=False,
        )
        self._model.to(device)
        self.weights: dict[str, Tensor] = dict(self._model.named_parameters())
        self.hidden = int(self._model.config.hidden_size)

    def encode(self, tokens: TokenLists) -> Tensor:
        """Return the vector of each text, without dropout and gradients."""
        batch = self.batch(tokens, _ENCODE_GROUP)
        self._model.eval()
        with torch.no_grad():
            groups = [self._vectors(batch, number) for number in range(len(batch))]
        if not groups:
            return torch.empty(0, self.hidden, device=self.device)
        return torch.cat(groups)[batch.back]

    def batch(self, tokens: TokenLists, group: int = 0) -> DeviceBatch:
        """Send texts to the device, in groups of ``group`` texts or as many as fit into memory."""
        longest = max(map(len, tokens), default=1)
        fitting = _memory(self.device) // 4 // max(self._bytes(longest), 1)
        low, high = _GROUP_LIMITS
        chosen = group or self._group or min(max(fitting, low), high)
        positions = self._initial.folder.positions
        return DeviceBatch(tokens, chosen, positions or longest, self.device)

    def learn(self, batch: DeviceBatch, loss_of: Callable[[Tensor], Tensor], seed: str) -> Tensor:
        """Compute the gradients of a loss of these texts' vectors, and return the loss.

        If the states of all groups do not fit into memory, citebed first computes the vectors, and
        then each group again with its share of the gradient (Gao et al. 2021, GradCache).
        """
        self._model.train()

        def vectors(number: int) -> Tensor:
            digest = hashlib.sha256(f"{seed}:{number}".encode()).digest()
            torch.manual_seed(int.from_bytes(digest[:8], "big") >> 1)
            return self._vectors(batch, number)

        if self._bytes(batch.tokens) < _memory(self.device) // 2:
            loss = loss_of(torch.cat([vectors(n) for n in range(len(batch))])[batch.back])
            loss.backward()
            return loss.detach()
        with torch.no_grad():
            groups = [vectors(n) for n in range(len(batch))]
        leaves = [group.requires_grad_() for group in groups]
        loss = loss_of(torch.cat(leaves)[batch.back])
        loss.backward()
        for number, leaf in enumerate(leaves):
            (vectors(number) * leaf.grad).sum().backward()
        return loss.detach()

    def _bytes(self, tokens: int) -> int:
        """Return the bytes that tokens need until the backward pass."""
        width = 1 if self.device.startswith("cuda") else 2
        return tokens * self.hidden * self._initial.layers * _BYTES_PER_VALUE * width

    def _vectors(self, batch: DeviceBatch, number: int) -> Tensor:
        ids, size = batch.group(number)
        mask = torch.arange(ids.shape[1], device=self.device)[None] < size[:, None]
        kind = self.device.partition(":")[0]
        with torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
            states = self._model(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        mean = (states.float() * mask[..., None]).sum(1) / size[:, None]
        return torch.nn.functional.normalize(mean, dim=-1)


class DeviceBatch:
    """Texts on a device in groups of similar length, longest first; ``back`` restores their order.

    All texts are sent at once without waiting, because a GPU that gets them group by group is idle
    most of the time.
    """

    def __init__(self, tokens: TokenLists, group: int, positions: int, device: str) -> None:
        lengths = np.array([len(each) for each in tokens], np.int64)
        order = np.argsort(-lengths, kind="stable")
        widths = -(-lengths[order[::group]] // _WIDTH_STEP) * _WIDTH_STEP
        self._widths = np.minimum(widths, positions).tolist()
        ids = np.zeros((len(order), max(self._widths, default=1)), np.int64)
        for row, at in enumerate(order.tolist()):
            ids[row, : lengths[at]] = tokens[at]
        self.tokens, self._group = int(lengths.sum()), group
        self._ids = send(ids, device)
        self._lengths = send(lengths[order], device)
        self.back = send(np.argsort(order), device)

    def __len__(self) -> int:
        return len(self._widths)

    def group(self, number: int) -> tuple[Tensor, Tensor]:
        """Return the padded token numbers of a group, and the lengths of its texts."""
        some = slice(number * self._group, (number + 1) * self._group)
        return self._ids[some, : self._widths[number]], self._lengths[some]


def send(array: NDArray[Any], device: str) -> Tensor:
    """Send an array to a device, without waiting until it arrives."""
    tensor = torch.from_numpy(array)
    if not device.startswith("cuda"):
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def _memory(device: str) -> int:
    if device.startswith("cuda"):
        return int(torch.cuda.get_device_properties(device).total_memory)
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
