"""A secret of the user's, kept outside of all collections: it tells what this user wrote.

A file that is to be acted upon later (a journal) carries a seal made with it. What came from
somebody else, or was changed, has no seal that fits.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
from functools import lru_cache
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.places import state_folder

_BYTES = 32
_NAME = "secret"


def seal(content: str) -> str:
    """What only this user, or this process where no secret can be kept, can say of a content."""
    return hmac.new(own_secret(), content.encode(), hashlib.sha256).hexdigest()


def is_sealed(content: str, found: object) -> bool:
    """Whether a seal is this user's, of this content."""
    return isinstance(found, str) and hmac.compare_digest(
        seal(content).encode(), found.encode("utf-8", "replace")
    )


def own_secret() -> bytes:
    """The user's secret, made when it is first asked for.

    Where none can be kept, or others may know it, the process has one of its own: what it seals is
    a stranger's to the next process, which says so where it matters.
    """
    try:
        return _kept(state_folder())
    except (OSError, CitebedError):  # the latter: there is no home
        return _of_process()


def forget() -> None:
    """Read the secret anew when it is next asked for, as a new process would."""
    _kept.cache_clear()
    _of_process.cache_clear()


@lru_cache(maxsize=1)
def _of_process() -> bytes:
    return secrets.token_bytes(_BYTES)


@lru_cache(maxsize=4)
def _kept(folder: Path) -> bytes:
    path = folder / _NAME
    if not os.path.lexists(path):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
    return _read(path)


def _make(path: Path) -> None:
    """The file, whole at once; of two processes that make it, the faster has made it."""
    draft = path.with_name(f".{_NAME}-{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        kind = os.fstat(handle)
        is_private = kind.st_uid == os.geteuid() and not stat.S_IMODE(kind.st_mode) & 0o077
        if not (stat.S_ISREG(kind.st_mode) and is_private and kind.st_size == _BYTES):
            raise PermissionError(f"{path} is no secret of this user's")
        return file.read(_BYTES)
