"""Remembering a few of the things that were made lately, for whoever asks, in whichever thread; and
forgetting: giving memory back that is no longer used."""

from __future__ import annotations

import contextlib
import ctypes
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


def give_back() -> None:
    """Give memory that was freed back to the system, where the C library keeps it (glibc does, and
    a tenth of all that a large collection takes is such)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
