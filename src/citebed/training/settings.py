"""Settings of a training run; the model's card records them."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from citebed.errors import CitebedError, UnknownName, import_extra

Report = Callable[[str], None]
"""Receives lines for people while a run goes on."""
Tensor = Any
"""A tensor of PyTorch, whose types mypy does not know here."""
_Settings = TypeVar("_Settings", "EncoderSettings", "StaticSettings", "StudentSettings")
_SEED = 7
_POSITIVE = frozenset(
    ("epochs", "hard_batch", "rate", "hard_rate", "temperature", "text_tokens", "document_tokens",
     "words", "width", "teacher_temperature", "layers", "others", "teacher_tokens")
)  # fmt: skip


@dataclass(frozen=True)
class EncoderSettings:
    """Settings for an encoder.

    It trains with the other documents of a batch as negatives, and then with documents that it
    ranked high and that the citing paper does not cite (hard negatives).
    """

    seed: int = _SEED
    fold: int = 0
    """The fold of citing papers that is held out for the test, 0 to 19."""
    epochs: int = 2
    hard_epochs: int = 2
    batch: int = 1024
    hard_batch: int = 384
    rate: float = 6e-5
    hard_rate: float = 2e-5
    """The learning rate of the first epoch with hard negatives; each further epoch halves it."""
    temperature: float = 0.04
    reverse: float = 0.3
    """The weight of the loss from documents to texts."""
    negatives: int = 2
    dropout: float = 0.1
    text_tokens: int = 160
    document_tokens: int = 224
    group: int = 0
    """The number of texts that go through the network together; 0 for as many as fit into
    memory."""


@dataclass(frozen=True)
class StaticSettings:
    """Settings for word vectors, trained on pairs and on a teacher's similarities, if there is one.

    A ``batch`` of 0 is 8,192 on a GPU and 2,048 on a CPU.
    """

    seed: int = _SEED
    fold: int = 0
    epochs: int = 20
    batch: int = 0
    rate: float = 3e-3
    words: int = 51_500
    pieces: int = 7_500
    """The number of pieces for all other words; 0 for none."""
    piece_share: float = 0.1
    """The share of occurrences of a rare word that are split into its pieces, so that they learn
    its meaning."""
    width: int = 256
    fields_apart: int = 1
    """1 if the documents of a batch come from one field; 0 for any fields."""
    word_dropout: float = 0.1
    reverse: float = 0.3
    teacher_weight: float = 3.0
    teacher_temperature: float = 0.04


@dataclass(frozen=True)
class StudentSettings:
    """Settings for a student of an encoder, trained on its teacher's vectors of texts."""

    seed: int = _SEED
    fold: int = 0
    layers: int = 4
    """Layers of the student, which starts with as many layers of its teacher, evenly spaced."""
    epochs: int = 39
    batch: int = 1024
    rate: float = 5e-4
    nearness: float = 10.0
    """The weight of the distance to the teacher's vector, beside the divergence of similarities."""
    temperature: float = 0.05
    others: int = 16_384
    """Texts with which each step compares similarities."""
    document_tokens: int = 224
    teacher_tokens: int = 256
    group: int = 0


@dataclass(frozen=True)
class Machine:
    """The device, time limit and checkpoints of a run, which do not change the result.

    ``minutes`` ends a run early; the same command continues it from its checkpoint. ``restart``
    ignores the checkpoint.
    """

    device: str = "auto"
    checkpoint_minutes: float = 5.0
    minutes: float = 0.0
    restart: bool = False


def parse_settings(kind: type[_Settings], changes: Mapping[str, Any]) -> _Settings:
    """Return settings with some changes; unknown names and invalid numbers are errors."""
    known = {field.name: field.default for field in fields(kind)}
    for name, value in changes.items():
        if name not in known:
            raise UnknownName("setting", name, known)
        is_whole = isinstance(known[name], int)
        if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float):
            wanted = "a whole number" if is_whole else "a number"
            raise CitebedError(f"the setting '{name}' is {value!r}; expected {wanted}.")
        if not value >= 0 or (not value and name in _POSITIVE):  # also refuses nan
            minimum = "more than 0" if name in _POSITIVE else "0 or more"
            raise CitebedError(f"the setting '{name}' is {value}; expected {minimum}.")
    return kind(**changes)


def import_torch() -> Any:
    """Import PyTorch; if it is missing, the error says how to install it."""
    return import_extra("torch", "torch")


def resolve_device(name: str) -> str:
    """Return the device for ``auto``, ``cpu``, ``cuda`` or ``cuda:1``, after a check."""
    torch = import_torch()
    has_gpu = bool(torch.cuda.is_available())
    if name == "auto":
        return "cuda" if has_gpu else "cpu"
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda"):
        raise CitebedError(f"unknown device '{name}'. Known: auto, cpu, cuda, cuda:1 …")
    if kind == "cuda" and (not has_gpu or int(number or 0) >= torch.cuda.device_count()):
        raise CitebedError(f"PyTorch finds no NVIDIA GPU '{name}'.")
    return name


def describe_device(device: str) -> str:
    """Return a device's name: ``CPU (x86_64, 2 threads)``, ``NVIDIA H200``."""
    torch = import_torch()
    if device.startswith("cuda"):
        return str(torch.cuda.get_device_name(device))
    return f"CPU ({platform.machine()}, {torch.get_num_threads()} threads)"


def format_duration(seconds: float) -> str:
    """Return a rounded duration: ``40 s``, ``12 min``, ``26 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.0f} h" if hours < 72 else f"{hours / 24:.0f} days"
