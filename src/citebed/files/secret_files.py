"""Secrets: created completely or not at all, checked when they are read, compared in one place.

A user's secrets are files in the state folder, outside all collections: the key of the workbench,
and the secret that signs journals. Every comparison of secrets uses `is_same_secret`, in which an
empty secret equals nothing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import ipaddress
import logging
import os
import secrets
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.environment import state_folder
from citebed.files.output_files import create_private, locked_folder, translate_write_errors
from citebed.files.system_errors import translate_read_errors
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


def address_block(address: str) -> str:
    """Return the block of addresses that one visitor can choose from, to count wrong passwords.

    That is an IPv4 address, the /64 network of an IPv6 address, or ``127.0.0.0/8``: every user of
    this machine can use all its 16 million addresses.
    """
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ascii(address.casefold())[1:-1][:80]  # databases refuse NUL and lone surrogates
    if isinstance(ip, ipaddress.IPv6Address):
        # A socket for both families reports IPv4 visitors as ::ffff:192.0.2.1.
        ip = ip.ipv4_mapped or ip
    if ip.is_loopback:
        return "127.0.0.0/8"
    if ip.version == 4:
        return str(ip)
    return str(ipaddress.ip_network((int(ip), 64), strict=False))


def parse_secret(text: object, where: str) -> bytes:
    """Return the 32 bytes that a database or backup stores as 64 hexadecimal digits."""
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
        raise _unusable(path, "it is not text")
    return secret.decode("ascii")


def seal(content: str) -> str:
    """Return a signature of a text that only this user can make.

    citebed signs files that it acts on later (journals). A file from another user, or a changed
    one, has no matching signature.
    """
    return hmac.new(own_secret(), content.encode(), hashlib.sha256).hexdigest()


def is_sealed(content: str, claimed: object) -> bool:
    """Return True if this user signed this text."""
    return isinstance(claimed, str) and is_same_secret(claimed, seal(content))


def own_secret() -> bytes:
    """Return the user's secret; create it at the first call.

    If it cannot be stored, or others may know it, this process uses a temporary secret. The next
    process then treats this one's files as a stranger's.
    """
    try:
        return _stored_secret(state_folder())
    except (OSError, CitebedError):  # the latter: the user has no home folder
        return _process_secret()


def forget() -> None:
    """Read the secret again at the next call, as a new process does."""
    _stored_secret.cache_clear()
    _process_secret.cache_clear()


@lru_cache(maxsize=1)
def _process_secret() -> bytes:
    return secrets.token_bytes(_LENGTH)


@lru_cache(maxsize=4)
def _stored_secret(folder: Path) -> bytes:
    return _load(folder / _NAME, lambda: secrets.token_bytes(_LENGTH))


def _load(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return the secret in a file, and create it once for all processes if it is missing."""
    secret = _read(path)
    if secret is None:
        with translate_write_errors(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked_folder(path.parent):
                if _read(path) is None:  # not created by another process meanwhile
                    if os.path.lexists(path):
                        what = "note: '%s' was empty, so citebed replaced it by a new one"
                        _LOG.warning(what, printable(path))
                        path.unlink()
                    with contextlib.suppress(FileExistsError):  # on a disk without locks
                        create_private(path, make())
        secret = _read(path)
    if secret is None:
        raise _unusable(path, "another program empties it")
    return secret


def _read(path: Path) -> bytes | None:
    """Return the secret in a file; ``None`` if the file is missing or empty.

    Raise if others may know or choose the secret, or if it is not whole.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _unusable(path, "it is a link") from None
        raise CitebedError(f"cannot read {printable(path)}: {error.strerror}") from error
    try:
        status = os.fstat(handle)
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISREG(status.st_mode):
            raise _unusable(path, "it is not a plain file")
        if status.st_uid != os.geteuid():
            raise _unusable(path, "it belongs to another user")
        if status.st_size == 0:
            return None
        if mode & 0o077:
            raise _unusable(path, f"other users may read or change it (mode {mode:04o})")
        with translate_read_errors(path):
            content = os.read(handle, _LENGTH + 2)
    finally:
        os.close(handle)
    if len(content) < _LENGTH or content[_LENGTH:] not in (b"", b"\n"):
        raise _unusable(path, f"it has {status.st_size} bytes and should have {_LENGTH}")
    if not any(content[:_LENGTH]):  # after a power failure the content may be missing
        raise _unusable(path, "it contains only zero bytes")
    return content[:_LENGTH]


def _unusable(path: Path, why: str) -> CitebedError:
    return CitebedError(
        f"{printable(path)} is not a usable secret: {why}. Delete it, and citebed "
        "creates a new one; or name another folder in XDG_STATE_HOME."
    )
