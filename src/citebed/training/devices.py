"""On what a run computes, and in what words."""

from __future__ import annotations

import platform
from typing import Any

from citebed.errors import CitebedError, import_extra


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
