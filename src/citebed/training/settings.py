"""What a training run can be told; all of it is written into the model's card."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from citebed.errors import CitebedError, UnknownName, import_extra

_SEED = 7
Report = Callable[[str], None]
"""Hears lines for people while a run goes on."""
Tensor = Any
"""One of PyTorch's, of whose types mypy knows nothing here."""
_Settings = TypeVar("_Settings", "EncoderSettings", "StaticSettings", "StudentSettings")


@dataclass(frozen=True)
class EncoderSettings:
    """How an encoder is trained: first with the other documents of a batch as wrong answers, then
    with documents that it itself ranked high and that the citing paper does not cite."""

    seed: int = _SEED
    fold: int = 0
    """The fold of citing papers that is kept for the test, 0 to 19."""
    epochs: int = 2
    hard_epochs: int = 2
    batch: int = 1024
    hard_batch: int = 384
    rate: float = 6e-5
    hard_rate: float = 2e-5
    """Of the first epoch with hard negatives; half of it for each that follows."""
    temperature: float = 0.04
    reverse: float = 0.3
    """The weight of the loss from documents to texts."""
    negatives: int = 2
    dropout: float = 0.1
    text_tokens: int = 160
    document_tokens: int = 224
    group: int = 0
    """Texts that go through the network together; 0 for as many as fit into memory."""


@dataclass(frozen=True)
class StaticSettings:
    """How word vectors are trained: from pairs, and from a teacher's similarities if there is one.

    A ``batch`` of 0 is 8,192 on a GPU and 2,048 on a CPU.
    """

    seed: int = _SEED
    fold: int = 0
    epochs: int = 20
    batch: int = 0
    rate: float = 3e-3
    words: int = 51_500
    pieces: int = 7_500
    """Pieces of words, for words that are not among those; 0 for none."""
    piece_share: float = 0.1
    """How often a rare word is shown as its pieces, so that they learn what it means."""
    width: int = 256
    fields_apart: int = 1
    """Whether the documents of a batch are of one field; 0 for any."""
    word_dropout: float = 0.1
    reverse: float = 0.3
    teacher_weight: float = 3.0
    teacher_temperature: float = 0.04


@dataclass(frozen=True)
class StudentSettings:
    """How a student of an encoder is trained: from its teacher's vectors of texts."""

    seed: int = _SEED
    fold: int = 0
    layers: int = 4
    """Of the student; it begins as so many of its teacher's, evenly spaced."""
    epochs: int = 39
    batch: int = 1024
    rate: float = 5e-4
    nearness: float = 10.0
    """The weight of being near the teacher's vector, beside that of being as like other texts."""
    temperature: float = 0.05
    others: int = 16_384
    """Texts that a text's likeness is compared on, drawn for each step."""
    document_tokens: int = 224
    teacher_tokens: int = 256
    group: int = 0


@dataclass(frozen=True)
class Machine:
    """Where a run runs and how it is kept: nothing here changes what is learned.

    ``minutes`` ends a run early, at a checkpoint from which the same command goes on; ``restart``
    begins anew although there is one.
    """

    device: str = "auto"
    checkpoint_minutes: float = 5.0
    minutes: float = 0.0
    restart: bool = False


def settings_of(kind: type[_Settings], changed: dict[str, Any]) -> _Settings:
    """Settings with some of them changed; unknown names and impossible numbers are told."""
    known = {field.name: field.default for field in fields(kind)}
    for name, value in changed.items():
        if name not in known:
            raise UnknownName("setting", name, known)
        whole = isinstance(known[name], int)
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            wanted = "a whole number" if whole else "a number"
            raise CitebedError(f"the setting '{name}' is {value!r}; expected {wanted}.")
        if not value >= 0 or (not value and name in _POSITIVE):  # nan is not either
            least = "more than 0" if name in _POSITIVE else "0 or more"
            raise CitebedError(f"the setting '{name}' is {value}; expected {least}.")
    return kind(**changed)


_POSITIVE = frozenset(
    ("epochs", "hard_batch", "rate", "hard_rate", "temperature", "text_tokens", "document_tokens",
     "words", "width", "teacher_temperature", "layers", "others", "teacher_tokens")
)  # fmt: skip


def import_torch() -> Any:
    """PyTorch; where it is missing the error says how to install it."""
    return import_extra("train", "torch")


def device_of(asked: str) -> str:
    """The device for ``auto``, ``cpu``, ``cuda`` (or ``cuda:1``), ``mps``; checked."""
    torch = import_torch()
    there = bool(torch.cuda.is_available())
    if asked == "auto":
        return "cuda" if there else "cpu"
    kind, _, number = asked.partition(":")
    if kind not in ("cpu", "cuda"):
        raise CitebedError(f"unknown device '{asked}'. Known: auto, cpu, cuda, cuda:1 …")
    if kind == "cuda" and (not there or int(number or 0) >= torch.cuda.device_count()):
        raise CitebedError(f"device '{asked}' was asked for, but PyTorch sees no such NVIDIA GPU.")
    return asked


def described(device: str) -> str:
    """A device in words: ``this CPU (2 threads)``, ``NVIDIA H200``."""
    torch = import_torch()
    if device.startswith("cuda"):
        return str(torch.cuda.get_device_name(device))
    return f"CPU ({platform.machine()}, {torch.get_num_threads()} threads)"


def in_words(seconds: float) -> str:
    """A time as people say it: ``40 s``, ``12 min``, ``26 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.0f} h" if hours < 72 else f"{hours / 24:.0f} days"
