"""Remembering a few of the things that were made lately, for whoever asks, in whichever thread; and
forgetting: giving memory back that is no longer used, and how much there is."""

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
        (found,) = self.get_all([key], lambda _: [make()])
        return found

    def get_all(self, keys: Sequence[K], make: Callable[[list[K]], Iterable[V]]) -> list[V]:
        """The values of keys; those that are not there are made at once."""
        with self._lock:
            known = {key: self._kept[key] for key in keys if key in self._kept}
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        if missing:
            known.update(zip(missing, make(missing), strict=True))
        with self._lock:
            for key in keys:  # which are the last now
                self._kept.pop(key, None)
                self._kept[key] = known[key]
            while len(self._kept) > self._size:
                del self._kept[next(iter(self._kept))]
        return [known[key] for key in keys]


def give_back() -> None:
    """Give memory that was freed back to the system, where the C library keeps it (glibc does, and
    a tenth of all that a large collection takes is such)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def free_memory() -> int:
    """The bytes of memory that this process may still take, as far as the system tells."""
    known = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        known += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    with contextlib.suppress(OSError, ValueError):  # what a container may have, if that is limited
        most, used = (int((_GROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        known.append(max(most - used, 0))
    return min(known)


_GROUP = Path("/sys/fs/cgroup")


def share_memory() -> None:
    """Let all threads take memory from the same places, before there are any: glibc has several for
    each, and what one thread freed in them the others do not get."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


_ARENA_MAX = -8
