"""Compiled functions, cached on disk between runs.

numba caches beside the source or in the user's cache folder. If it can write to neither (a service
without a home that runs a package owned by root), it refuses to compile. citebed then uses a
private folder for temporary files, or no cache. No damage or full disk ends a command: the function
is compiled again.
"""

# mypy: disable-error-code="no-untyped-call, attr-defined"
# numba has no types.

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core.caching import FunctionCache


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function like numba's ``njit(cache=True, **options)``."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(**options)(function)
        cached = _open_cache(function)
        if cached is not None:
            dispatcher._cache = cached
        return dispatcher

    return decorate


def is_to_compile(dispatcher: Any) -> bool:
    """Return True if a function has a cache that does not have its compiled code yet."""
    return isinstance(dispatcher._cache, _SafeCache) and not dispatcher._cache.read_index()


def must_compile(dispatcher: Any) -> bool:
    """Return True if the first call of a function has to wait for the compiler."""
    is_cached = isinstance(dispatcher._cache, _SafeCache) and dispatcher._cache.read_index()
    return not dispatcher.signatures and not is_cached


class _SafeCache(FunctionCache):
    """numba's cache, without its errors."""

    def read_index(self) -> Any:
        """Return the cached versions for the source as it is now, or ``None``."""
        with contextlib.suppress(Exception):  # unpickling a damaged file can raise anything
            return self._cache_file._load_index()

    def load_overload(self, *given: Any) -> Any:
        try:
            return super().load_overload(*given)
        except Exception:  # unpickling a damaged file can raise anything
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, *given: Any) -> None:
        with contextlib.suppress(OSError):
            super().save_overload(*given)


def _open_cache(function: Callable[..., Any]) -> _SafeCache | None:
    with contextlib.suppress(RuntimeError):  # numba found no folder
        return _SafeCache(function)
    folder = _private_folder()
    if folder is None:
        return None
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        return _SafeCache(function)
    except RuntimeError:
        return None
    finally:
        config.CACHE_DIR = before


@cache
def _private_folder() -> Path | None:
    """Return a folder that only this user can write to, because cached code is executed."""
    try:
        folder = Path(tempfile.gettempdir()) / f"citebed-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found, above = folder.lstat(), folder.parent.stat().st_mode
    except OSError:
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    is_shared = found.st_mode & 0o077 or (above & 0o022 and not above & stat.S_ISVTX)
    return folder if is_ours and not is_shared else None
