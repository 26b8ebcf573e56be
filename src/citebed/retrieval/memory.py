"""Memory: an LRU cache that threads share, the free memory, and freed memory for the system."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_CONTAINER = Path("/sys/fs/cgroup")
_ARENA_MAX = -8  # M_ARENA_MAX of glibc


class LruCache(Generic[K, V]):
    """The values of the last ``size`` keys.

    Several threads may use it. Two that miss the same key at once may both compute its value.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[K, V] = {}
        self._lock = threading.Lock()

    def get(self, key: K, compute: Callable[[], V]) -> V:
        """Return the value of a key; compute it if it is missing."""
        (value,) = self.get_many([key], lambda _: [compute()])
        return value

    def get_many(self, keys: Sequence[K], compute: Callable[[list[K]], Iterable[V]]) -> list[V]:
        """Return the values of keys; compute all missing ones with one call."""
        with self._lock:
            known = {key: self._values[key] for key in keys if key in self._values}
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        if missing:
            known.update(zip(missing, compute(missing), strict=True))
        with self._lock:
            for key in keys:  # move each key to the end
                self._values.pop(key, None)
                self._values[key] = known[key]
            while len(self._values) > self._size:
                del self._values[next(iter(self._values))]
        return [known[key] for key in keys]


def trim_heap() -> None:
    """Return freed memory to the system; glibc keeps about a tenth of a large collection's."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def use_one_arena() -> None:
    """Let all threads allocate from one heap; call this before any thread starts.

    By default glibc uses several heaps, and threads cannot reuse memory that others freed.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def free_memory() -> int:
    """Return the bytes that this process can still allocate: the machine's or the container's."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        limits += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    with contextlib.suppress(OSError, ValueError):  # the limit may be "max"
        names = ("memory.max", "memory.current")
        limit, used = (int((_CONTAINER / name).read_text()) for name in names)
        limits.append(max(limit - used, 0))
    return min(limits)
