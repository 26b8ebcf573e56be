"""Remembering a few of the things that were made lately, for whoever asks, in whichever thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Few(Generic[K, V]):
    """Values by key, the last ``size`` that were asked for."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[K, V] = {}
        self._lock = threading.Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key, made if it is not there.

        Two threads that ask for the same at once may both make it: nobody waits for another's.
        """
        with self._lock:
            if key in self._kept:
                self._kept[key] = self._kept.pop(key)  # which is the last now
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._size:
                del self._kept[next(iter(self._kept))]
        return made
