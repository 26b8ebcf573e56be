"""Code that numba compiles, kept from one run to the next wherever there is a place for it.

numba keeps it beside the source or in the user's cache folder. Where it may write to neither, as a
service without a home that runs a package of root's, it refuses to compile at all. Here a private
folder among the temporary files is taken then, or else nothing is kept. And nothing that happens to
what is kept, a full disk or damage, ends a command: the code is compiled anew.
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
    """A decorator as numba's ``njit(cache=True, **options)``, for which any place will do."""

    def decorate(function: Callable[..., Any]) -> Any:
        made = njit(**options)(function)
        kept = _kept(function)
        if kept is not None:
            made._cache = kept
        return made

    return decorate


def is_to_compile(made: Any) -> bool:
    """Whether a compiled function is yet to be compiled, and can be kept then."""
    return isinstance(made._cache, _Kept) and not made._cache.overloads()


def must_compile(made: Any) -> bool:
    """Whether the first call of a compiled function has to wait for the compiler."""
    return not made.signatures and not (isinstance(made._cache, _Kept) and made._cache.overloads())


class _Kept(FunctionCache):
    """numba's cache, whose failures are not ours."""

    def overloads(self) -> Any:
        """What is kept for the source as it is now."""
        with contextlib.suppress(Exception):  # a damaged file can make pickle raise anything
            return self._cache_file._load_index()

    def load_overload(self, *given: Any) -> Any:
        """The compiled function; ``None`` where it is missing or damaged."""
        try:
            return super().load_overload(*given)
        except Exception:  # a damaged file can make pickle raise anything
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, *given: Any) -> None:
        """Keep a compiled function, if that is possible."""
        with contextlib.suppress(OSError):
            super().save_overload(*given)


def _kept(function: Callable[..., Any]) -> _Kept | None:
    with contextlib.suppress(RuntimeError):  # numba: there is no place for it
        return _Kept(function)
    folder = _private_folder()
    if folder is None:
        return None
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        return _Kept(function)
    except RuntimeError:
        return None
    finally:
        config.CACHE_DIR = before


@cache
def _private_folder() -> Path | None:
    """A folder that nobody else can write to: what is kept there is run."""
    try:
        folder = Path(tempfile.gettempdir()) / f"citebed-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found, above = folder.lstat(), folder.parent.stat().st_mode
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    others = found.st_mode & 0o077 or (above & 0o022 and not above & stat.S_ISVTX)
    return folder if ours and not others else None
