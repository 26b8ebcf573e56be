"""What was computed once and is asked for again: kept until the files behind it change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any, TypeVar

MOST = 64
LARGEST = 64 << 20
_T = TypeVar("_T")


class Kept:
    """A few answers, by what they were made of; the one that was not asked for longest goes."""

    def __init__(self, most: int = MOST, largest: int = LARGEST) -> None:
        self._most, self._largest = most, largest
        self._turn = threading.Lock()
        self._answers: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(
        self, key: Hashable, make: Callable[[], _T], size: Callable[[_T], int] = lambda _: 0
    ) -> _T:
        """The answer of a key, made if it is not there; ``size`` tells what it takes."""
        with self._turn:
            if key in self._answers:
                self._answers.move_to_end(key)
                kept: _T = self._answers[key][0]
                return kept
        made = make()
        with self._turn:
            self._answers[key] = made, size(made)
            while len(self._answers) > 1 and self._is_full():
                self._answers.popitem(last=False)
        return made

    def _is_full(self) -> bool:
        whole = sum(taken for _, taken in self._answers.values())
        return len(self._answers) > self._most or whole > self._largest


def states(paths: Iterable[Path]) -> tuple[tuple[str, int, int, int], ...]:
    """What tells whether files are still those that they were."""
    found = []
    for path in paths:
        about = path.stat()
        found.append((str(path), about.st_ino, about.st_size, about.st_mtime_ns))
    return tuple(found)
