"""Progress of a long task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Functions that a task calls: ``step(name, total)`` begins a step, ``add(n)`` counts.

    The name of a step can say what it counts: ``encoding: texts``.
    """

    step: Callable[[str, int], None] = lambda *_: None
    add: Callable[[int], None] = lambda *_: None


SILENT = Progress()
