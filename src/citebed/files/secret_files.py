"""Secrets: created completely or not at all, checked when they are read, compared in one place.

A user's secrets are files in the state folder, outside of all collections: the key of the
workbench, and the secret that seals journals. Every comparison of a secret goes through
`is_same_secret`, to which an empty secret equals nothing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import logging
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.places import state_folder
from citebed.files.system_errors import translate_read_errors
from citebed.files.writing import create_private, translate_os_errors, wait_for_lock
from citebed.wording import printable

_LENGTH = 32
"""Bytes or characters of every secret in a file; a key that people see has 192 bits."""
_NAME = "secret"
_LOG = logging.getLogger("citebed")


def is_same_secret(given: str | bytes, secret: str | bytes) -> bool:
    """Compare a given text with a secret, in constant time; an empty secret equals nothing."""
    return bool(secret) and hmac.compare_digest(_as_bytes(given), _as_bytes(secret))


def _as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def parse_secret(text: object, where: str) -> bytes:
    """Return the 32 bytes that 64 hexadecimal digits of a database or backup stand for."""
    with contextlib.suppress(ValueError, TypeError):
        secret = bytes.fromhex(text)  # type: ignore[arg-type]
        if len(secret) == _LENGTH and any(secret):
            return secret
    raise CitebedError(
        f"the secret in {where} is damaged: it must be {2 * _LENGTH} hexadecimal digits, or anyone "
        "could forge the judges' links. Restore the campaign from a backup."
    )


def load_key(path: Path) -> str:
    """Return the key in a file, 32 characters; create it at the first call."""
    secret = _load(path, lambda: secrets.token_urlsafe(24).encode() + b"\n")
    if not secret.isascii() or not secret.decode("ascii").isprintable():
        raise _refused(path, "it is not text")
    return secret.decode("ascii")


def seal(content: str) -> str:
    """Return a signature of a content that only this user can make.

    A file that is acted on later (a journal) carries one. A file that came from somebody else, or
    was changed, has none that fits.
    """
    return hmac.new(own_secret(), content.encode(), hashlib.sha256).hexdigest()


def is_sealed(content: str, claimed: object) -> bool:
    """Return True if a signature is this user's, of this content."""
    return isinstance(claimed, str) and is_same_secret(claimed, seal(content))


def own_secret() -> bytes:
    """Return the user's secret; create it at the first call.

    Where it cannot be stored, or others may know it, the process has a secret of its own. The next
    process then treats this one's files as a stranger's, and says so where it matters.
    """
    try:
        return _stored(state_folder())
    except (OSError, CitebedError):  # the latter: there is no home
        return _of_process()


def forget() -> None:
    """Read the secret again at the next call, as a new process would."""
    _stored.cache_clear()
    _of_process.cache_clear()


@lru_cache(maxsize=1)
def _of_process() -> bytes:
    return secrets.token_bytes(_LENGTH)


@lru_cache(maxsize=4)
def _stored(folder: Path) -> bytes:
    return _load(folder / _NAME, lambda: secrets.token_bytes(_LENGTH))


def _load(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return the secret in a file; if there is none, create it once for all processes."""
    secret = _read(path)
    if secret is None:
        with translate_os_errors(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked_folder(path.parent):
                _create(path, make)
        secret = _read(path)
    if secret is None:
        raise _refused(path, "another program empties it")
    return secret


def _create(path: Path, make: Callable[[], bytes]) -> None:
    """Create the file, unless another process did so while this one waited for the lock."""
    if _read(path) is not None:
        return
    if os.path.lexists(path):
        _LOG.warning("note: '%s' was empty, so citebed replaced it by a new one", printable(path))
        path.unlink()
    with contextlib.suppress(FileExistsError):  # on a disk without locks another was faster
        create_private(path, make())


@contextlib.contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # not every disk has locks
            wait_for_lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _read(path: Path) -> bytes | None:
    """Return the secret in a file; ``None`` if there is no file, or if it is empty.

    Raise if others may know or choose the secret, or if it is not whole.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _refused(path, "it is a link") from None
        raise CitebedError(f"cannot read {printable(path)}: {error.strerror}") from error
    try:
        status = os.fstat(handle)
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISREG(status.st_mode):
            raise _refused(path, "it is not a plain file")
        if status.st_uid != os.geteuid():
            raise _refused(path, "it belongs to another user")
        if status.st_size == 0:
            return None
        if mode & 0o077:
            raise _refused(path, f"other users may read or change it (mode {mode:04o})")
        with translate_read_errors(path):
            content = os.read(handle, _LENGTH + 2)
    finally:
        os.close(handle)
    if len(content) < _LENGTH or content[_LENGTH:] not in (b"", b"\n"):
        raise _refused(path, f"it has {status.st_size} bytes and should have {_LENGTH}")
    if not any(content[:_LENGTH]):  # after a power failure the content may be missing
        raise _refused(path, "it contains only zero bytes")
    return content[:_LENGTH]


def _refused(path: Path, why: str) -> CitebedError:
    return CitebedError(
        f"{printable(path)} is no secret that citebed can use: {why}. Delete it, and citebed "
        "creates a new one; or name another folder in XDG_STATE_HOME."
    )
