"""Running a model in PyTorch with the transformers library, where both are installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.install_commands import pip_install_command
from citebed.retrieval.encoders.loading.folder import ModelFolder
from citebed.retrieval.encoders.loading.tokens import Batch
from citebed.retrieval.encoders.loading.weights import check_torch_pickle

NEEDS = ("torch", "transformers")
"""The packages that this runtime needs."""


class TorchModel:
    """A transformers model: from a batch of tokens to hidden states or logits."""

    runtime = "torch"

    def __init__(self, folder: ModelFolder, task: str, device: str) -> None:
        torch, transformers = _import()
        if folder.weights.suffix == ".bin":  # PyTorch reads it without measure
            check_torch_pickle(folder.weights)
        there = bool(torch.cuda.is_available())
        if device == "cuda" and not there:
            raise CitebedError("device 'cuda' was asked for, but PyTorch sees no NVIDIA GPU")
        self.device = "cuda" if device != "cpu" and there else "cpu"
        kinds = {
            "encoder": transformers.AutoModel,
            "cross-encoder": transformers.AutoModelForSequenceClassification,
        }
        try:
            model = kinds[task].from_pretrained(str(folder.path), local_files_only=True)
        except Exception as error:  # what a broken folder raises here is the library's affair
            reason = str(error).strip().split("\n")[0]
            raise CitebedError(f"PyTorch cannot load '{folder.path}': {reason}") from error
        self._model = model.float().to(self.device).eval()
        self._output = "last_hidden_state" if task == "encoder" else "logits"
        config = model.config
        self.width = int(config.hidden_size if task == "encoder" else config.num_labels)
        self._takes_types = getattr(config, "type_vocab_size", 0) > 1

    def __call__(self, batch: Batch) -> NDArray[np.float32]:
        """Hidden states (texts × tokens × width) or logits (texts × labels)."""
        torch, _ = _import()
        given = {"input_ids": batch.ids, "attention_mask": batch.mask}
        if self._takes_types:
            given["token_type_ids"] = batch.types
        tensors = {name: torch.from_numpy(a).to(self.device) for name, a in given.items()}
        with torch.inference_mode():
            result = getattr(self._model(**tensors), self._output)
        return np.asarray(result.cpu().numpy(), np.float32)


def is_installed() -> bool:
    """Whether PyTorch and transformers are there; neither is imported."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "transformers"))


def sees_gpu() -> bool:
    """Whether PyTorch can use an NVIDIA GPU.

    PyTorch takes seconds to import, so it is only asked where a driver is there at all.
    """
    if not Path("/dev/nvidiactl").exists() or not is_installed():
        return False
    torch, _ = _import()
    return bool(torch.cuda.is_available())


def _import() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise CitebedError(
            f"runtime 'torch' needs '{error.name}', which is not installed. "
            f"Run: {pip_install_command(*NEEDS)}"
        ) from error
    return torch, transformers
