"""How far a long task is, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Where a task tells how far it is: ``step`` names what is done, ``add`` counts.

    A step says what it counts where that is not what the others count: ``encoding: texts``.
    """

    step: Callable[[str, int], None] = lambda *_: None
    add: Callable[[int], None] = lambda *_: None


SILENT = Progress()
